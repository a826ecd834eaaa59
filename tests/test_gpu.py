"""The record of the GPU tests, on tests that need none."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from tests import gpu

TESTS = """
import pytest
def test_good(): pass
def test_bad(): assert 1 == 2
def test_elsewhere(): pytest.skip("not here")
@pytest.fixture
def broken(): raise ValueError("cannot begin")
def test_unprepared(broken): pass
"""


def record(folder: Path, tests: str) -> tuple[int, dict[str, object]]:
    """In a process of its own, as pytest within pytest would share its state."""
    (folder / "test_some.py").write_text(tests)
    code = (
        "import sys, torch; from pathlib import Path; from tests.gpu import record\n"
        "sys.exit(record(sys.argv[2:], torch.device('cpu'), Path(sys.argv[1])))"
    )
    file = folder / "results" / "gpu-test.json"
    done = subprocess.run(
        [sys.executable, "-c", code, str(file), str(folder), "-p", "no:cacheprovider"],
        cwd=Path(__file__).parent.parent,
        capture_output=True,
        text=True,
    )
    return done.returncode, json.loads(file.read_text())


def test_what_fails_is_recorded(tmp_path: Path) -> None:
    code, told = record(tmp_path, TESTS)
    assert code == 1
    assert (told["passed"], told["failed"], told["skipped"]) == (1, 2, 1)
    failures = told["failures"]
    assert isinstance(failures, list)
    assert [failure["test"].split("::")[1] for failure in failures] == [
        "test_bad",
        "test_unprepared",
    ]
    assert "assert 1 == 2" in failures[0]["reason"]
    assert set(told) >= {"date", "hardware", "versions", "source_sha256"}


@pytest.mark.parametrize(
    ("tests", "code", "failed"), [("def test_good(): pass", 0, 0), ("import nowhere", 2, 1)]
)
def test_a_file_that_cannot_be_read_is_a_failure(
    tests: str, code: int, failed: int, tmp_path: Path
) -> None:
    found, told = record(tmp_path, tests)
    assert (found, told["failed"]) == (code, failed)


def test_files_run_side_by_side_and_a_lost_process_is_a_failure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def alone(file: str, out: Path) -> int:
        if file == "killed":
            return -9
        failures = [{"test": file, "reason": "wrong"}] if file == "bad" else []
        told = {"date": "today", "passed": 3, "failed": len(failures), "skipped": 1}
        out.write_text(json.dumps({**told, "failures": failures}))
        return len(failures)

    monkeypatch.setattr(gpu, "_alone", alone)
    out = tmp_path / "all.json"
    assert gpu.side_by_side(["good", "fine"], 2, out) == 0
    assert gpu.side_by_side(["good", "bad", "killed"], 2, out) == 1
    told = json.loads(out.read_text())
    assert (told["date"], told["passed"], told["failed"], told["skipped"]) == ("today", 6, 2, 2)
    assert [failure["test"] for failure in told["failures"]] == ["bad", "killed"]


def test_without_a_gpu_nothing_is_run_or_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert gpu.main([]) == 2
    assert "no CUDA device is here" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []
