"""The examples run as they stand."""

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
EXAMPLES = ROOT / "examples"


@pytest.mark.parametrize(("name", "most"), [("own_model", 40)])
def test_examples_stay_short(name: str, most: int) -> None:
    assert len((EXAMPLES / f"{name}.py").read_text().splitlines()) <= most


def test_a_model_of_ones_own_is_scored() -> None:
    run = subprocess.run(
        [sys.executable, str(EXAMPLES / "own_model.py"), "300", "2"],
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=True,
    )
    figures = ast.literal_eval(run.stdout)
    assert figures["benchmark"] == "PI10@1"
    assert figures["count"] == 300
    assert figures["ta"] > 0.02
