"""The examples run as they stand."""

import ast
import importlib
import os
import subprocess
import sys
from pathlib import Path

import pytest

from permnet.decompiling.text import functions
from permnet.tasks.switch.compiler import compile_c
from permnet.tasks.switch.ctokens import PRELUDE, lex
from tests.table_model import knowing

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


def demo(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.syspath_prepend(str(EXAMPLES))
    return importlib.import_module("demo")


def test_the_demo_shows_puzzles(monkeypatch, capsys) -> None:
    monkeypatch.setattr(demo(monkeypatch), "shipped_decompilers", list)
    demo(monkeypatch).main()
    shown = capsys.readouterr().out
    assert "b c a" in shown.split("answer")[2]
    assert "switch" not in shown


def test_the_demo_leads_with_the_appendix(monkeypatch, capsys) -> None:
    text, c = ((EXAMPLES / f"appendix.{kind}").read_text() for kind in "sc")
    known = knowing(text, {"appendix": [lex(c.replace("appendix", "f"))]})
    module = demo(monkeypatch)
    monkeypatch.setattr(module, "shipped_decompilers", lambda: ["known"])
    monkeypatch.setattr(module.Pipeline, "load", lambda: known)
    module.main()
    shown = capsys.readouterr().out
    assert "appendix.s: appendix: verified, confidence 100.0 %" in shown
    case = next(line for line in shown.splitlines() if "case -62:" in line)
    assert case.endswith("cmp QWORD PTR -24[rbp], -62")


def test_the_appendix_is_what_gcc_makes_of_its_c() -> None:
    made = compile_c(PRELUDE + (EXAMPLES / "appendix.c").read_text()).decode()
    given = (EXAMPLES / "appendix.s").read_text()
    assert [f.tokens for f in functions(given)] == [f.tokens for f in functions(made)]
    paper = [87, 87, -30, -30, -46, -46, -62, -62, -72, -66]
    (lines,) = (f.tokens for f in functions(given))
    assert [int(line[-1]) for line in lines if line[0] == "cmp"] == paper
