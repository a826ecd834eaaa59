"""Who may import whom: imports only point left, and light things stay light."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import permnet

ROOT = Path(permnet.__file__).parent

ORDER = (
    "errors",
    "limits",
    "ending",
    "vocab",
    "tasks",
    "binary",
    "batch",
    "ops",
    "kernels",
    "models",
    "config",
    "settings",
    "build",
    "decode",
    "metrics",
    "scoring",
    "checkpoint",
    "switches",
    "evaluate",
    "answers",
    "decompiling",
    "display",
    "provenance",
    "runfolder",
    "material",
    "step",
    "fit",
    "train",
    "experiments",
    "worker",
    "plan",
    "sweep",
    "report",
    "explore",
    "plot",
    "commands",
    "cli",
    "__main__",
)


def part(module: str) -> str:
    """`permnet.tasks.solve` belongs to `tasks`."""
    return module.split(".")[1]


def imports(path: Path) -> set[str]:
    """The modules of this package that a file imports, anywhere in it."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path} imports relatively"
            module = node.module or ""
            found |= (
                {f"{module}.{alias.name}" for alias in node.names}
                if module == "permnet"
                else {module}
            )
    return {name for name in found if name.startswith("permnet.") and name != "permnet.__version__"}


@pytest.mark.parametrize(
    "path", sorted(ROOT.rglob("*.py")), ids=lambda path: str(path.relative_to(ROOT))
)
def test_imports_only_point_left(path: Path) -> None:
    here = path.relative_to(ROOT).parts[0].removesuffix(".py")
    if here == "__init__":  # names everything, imports nothing until asked
        return
    for module in imports(path):
        assert ORDER.index(part(module)) <= ORDER.index(here), f"{here} imports {module}"


def fresh(code: str) -> None:
    """Run code in a Python of its own."""
    run = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT.parent, capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stderr


EXTRAS = ("lightning_fabric", "torchmetrics", "pyarrow", "matplotlib", "pycparser", "fastapi")
EXTRAS += ("capstone", "unicorn")


def test_importing_the_package_imports_neither_torch_nor_an_extra() -> None:
    heavy = ("torch", "numpy", "rich", "tyro", *EXTRAS)
    fresh(f"import permnet, sys; assert not {{*{heavy}}} & {{*sys.modules}}")


def test_answering_does_not_load_torchs_compiler() -> None:
    """It takes longer to load than torch itself, and than any answer."""
    fresh(
        "import permnet, sys\n"
        "permnet.resolve('a 1 b 2 <sep> 2 1')\n"
        "assert 'torch._dynamo' not in sys.modules"
    )


def test_bad_settings_are_refused_without_torch() -> None:
    fresh(
        "import sys\n"
        "from permnet.cli import main\n"
        "for bad in ('--train.rate', '--devices', '--time-budget', '--test-limit'):\n"
        "    assert main(['train', 'PI10', '--out', '/nowhere', bad, '-1']) == 2\n"
        "assert 'torch' not in sys.modules"
    )


def test_the_core_needs_no_extra() -> None:
    fresh(
        "import sys\n"
        f"for extra in {EXTRAS}: sys.modules[extra] = None\n"  # importing it is then an error
        "import permnet.models, permnet.answers, permnet.evaluate, permnet.scoring, permnet.cli"
    )


def test_every_name_is_there() -> None:
    fresh(
        "import permnet\n"
        "assert all(callable(getattr(permnet, name)) for name in permnet.__all__)\n"
        "from permnet import *\n"
        "assert {*permnet.__all__} <= {*dir(permnet)}\n"
        "assert not hasattr(permnet, 'nothing')\n"
    )
