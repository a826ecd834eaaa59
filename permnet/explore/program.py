"""What the page is told of a program: the C of its functions, more candidates, and examples."""

from importlib.resources import files
from typing import Any

from permnet.decompiling.pipeline import Pipeline
from permnet.decompiling.text import functions
from permnet.errors import PermnetError

EXAMPLES = {
    "appendix.s": "the example of the paper's appendix",
    "switch-6.s": "a function of switch-6",
    "switch-10.s": "a function of switch-10",
    "switch-20.s": "a function of switch-20",
}

MOST = 20  # functions of a text


def program(pipeline: Pipeline, text: str) -> dict[str, Any]:
    """Every function's C as `permnet decompile --json` gives it; why nothing is verified, if so."""
    found = functions(text)
    if not found:
        raise PermnetError("there is no function in the text: paste what gcc -S makes of one")
    if len(found) > MOST:
        raise PermnetError(
            f"the text has {len(found)} functions, the page takes {MOST}: use permnet decompile"
        )
    answers = [answer.to_json() for answer in pipeline.each(found)]
    return {"functions": answers, "trouble": pipeline.trouble}


def candidates(pipeline: Pipeline, text: str, number: int) -> dict[str, Any]:
    """The n best answers to one function of a text, counted from 0."""
    found = functions(text)
    if not 0 <= number < len(found):
        raise PermnetError(f"the text has {len(found)} functions, there is no number {number}")
    return {"candidates": [answer.to_json() for answer in pipeline.candidates(found[number])]}


def examples() -> list[dict[str, str]]:
    """Programs to start from."""
    folder = files("permnet.explore") / "examples"
    return [
        {"title": title, "text": (folder / name).read_text("utf-8")}
        for name, title in EXAMPLES.items()
    ]
