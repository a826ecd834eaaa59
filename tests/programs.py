"""The appendix's example in C, and a decompiler that knows it by heart."""

from functools import cache
from pathlib import Path

from permnet.decompiling.pipeline import Pipeline
from permnet.explore.models import Models
from permnet.explore.program import examples
from permnet.tasks.switch.ctokens import lex
from tests.table_model import knowing

APPENDIX_C = (Path(__file__).parent.parent / "examples" / "appendix.c").read_text()
SWAPPED_C = APPENDIX_C.replace("-62", "?").replace("-72", "-62").replace("?", "-72")
APPENDIX = examples()[0]["text"]
REFUSED = "\n\t.text\ng:\n\tfld1\n\tret\n"


@cache
def pipeline() -> Pipeline:
    """Its first answer is right; the second has two labels swapped."""
    answers = [lex(c.replace("appendix", "f")) for c in (APPENDIX_C, SWAPPED_C)]
    return knowing(APPENDIX, {"appendix": answers}, n_best=2)


class WithDecompiler(Models):
    """The shipped models, and the decompiler `table`."""

    def pipeline(self, name: str) -> Pipeline:
        return pipeline() if name == "table" else super().pipeline(name)

    def listed(self):
        about = {"architecture": "decompiler", "without": None, "benchmark": "switch-6"}
        return [*super().listed(), {"name": "table", "kind": None, **about}]
