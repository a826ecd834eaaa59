"""The model card of the shipped models follows from them and from the results."""

import importlib
import json
from pathlib import Path

import pytest

from permnet.checkpoint import SHIPPED, describe, shipped
from permnet.tasks.permutation import Task

ROOT = Path(__file__).parents[1]


@pytest.fixture
def ship(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.syspath_prepend(str(ROOT / "runs"))
    return importlib.import_module("ship")


def test_the_card_is_what_the_code_writes(ship) -> None:
    assert (SHIPPED / "README.md").read_text() == ship.card()


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("PI20", "`permneti-PI20-quick`, seed 1"),
        ("PD1-4", "-dirty | no row: a small example"),
        ("PI10", "| – | `permneti-PI10`, seed 0"),
        ("switch-dispatch", "`permneti-switch-dispatch-seed0`, in no table"),
    ],
)
def test_the_card_says_where_a_model_comes_from(ship, name: str, said: str) -> None:
    assert said in ship.origin(name)


@pytest.mark.parametrize("name", shipped())
def test_a_shipped_model_is_of_the_run_in_the_results(name: str) -> None:
    made = describe(name).provenance
    result = ROOT / "results" / "runs" / f"{made['run_name']}.json"
    if result.exists():
        ran = json.loads(result.read_text())
        for key in ("commit", "date", "seed", "steps"):
            assert made[key] == ran[key]


def test_the_models_that_resolve_are_small_enough_to_ship() -> None:
    paths = [SHIPPED / name for name in shipped() if isinstance(describe(name).task, Task)]
    files = [path for folder in paths for path in folder.iterdir()]
    assert sum(path.stat().st_size for path in files) <= 13 * 2**20
