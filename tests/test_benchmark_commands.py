"""What a user of a benchmark gets wrong is said in a line."""

import importlib
import sys
from pathlib import Path

import pytest
import torch

from benchmarks.command import run

README = Path(__file__).parent.parent / "README.md"


@pytest.mark.parametrize(
    ("typed", "told"),
    [
        ("called --limit 0", "a whole number above 0 is expected, not '0'"),
        ("decompilers --models {empty}", "decompilers: {empty}/config.json is missing"),
        ("decompilers --count 0", "a whole number above 0 is expected, not '0'"),
        ("handwritten --models nowhere", "handwritten: unknown model or folder 'nowhere'"),
        ("resolve --models nowhere", "resolve: unknown model or folder 'nowhere'"),
        ("resolve --rounds none", "a whole number above 0 is expected, not 'none'"),
        ("realset_twins {empty}", "{empty}/switches.jsonl"),
        ("switches {empty}", "{empty}/switches.jsonl is not there: make it with"),
        ("switch_data {empty}", "there is no {empty}/switch-6"),
        ("switch_mutations {readme}", "{readme}: not an ELF file"),
        ("switch_speed --folder {empty}", "{empty} has 0 programs, not 80: lower --count"),
        ("speed --presets nope", "no CUDA device is here"),
        ("tiles", "no CUDA device is here"),
    ],
)
def test_a_wrong_argument_is_no_traceback(
    typed: str, told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys
) -> None:
    (tmp_path / "empty").mkdir()
    names = {"empty": tmp_path / "empty", "readme": README}
    name, *arguments = (word.format(**names) for word in typed.split())
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(sys, "argv", [f"{name}.py", *arguments])
    with pytest.raises(SystemExit) as ended:
        run(importlib.import_module(f"benchmarks.{name}").main)
    assert ended.value.code == 2
    assert told.format(**names) in capsys.readouterr().err
