"""Runs survive: a kill at any moment, full disks, and folders that are not theirs."""

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import permnet.fit
from permnet import runfolder
from permnet.errors import PermnetError
from tests.test_train import do, lines, small, without_seconds

RUN = small("PI10", grow=(3,), grow_epochs=2, epochs=2, reserved=2, unseen=0.3, evaluate_every=2)

CHILD = """
import sys
from pathlib import Path
import permnet.fit
from tests.test_resume import RUN
from tests.test_train import do
permnet.fit.CHECK_STEPS, permnet.fit.SAVE_SECONDS = 1, 0.0  # save after every step
print("ready", flush=True)
do(RUN, Path(sys.argv[1]), resume=Path(sys.argv[1]).exists())
"""


def start(folder: Path, code: str = CHILD) -> "subprocess.Popen[str]":
    root = Path(__file__).parent.parent
    return subprocess.Popen(
        [sys.executable, "-c", code, str(folder)],
        cwd=root,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_killed_at_random_moments_it_ends_as_if_nothing_had_happened(tmp_path: Path) -> None:
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    do(RUN, whole)
    chance, kills = random.Random(1), 0
    while not (killed / "result.json").exists():
        child = start(killed)
        assert child.stdout is not None
        assert child.stdout.readline() == "ready\n"
        if kills < 3:
            time.sleep(chance.uniform(0.1, 0.7))
            child.send_signal(signal.SIGKILL)
            kills += child.wait() == -signal.SIGKILL
        _, errors = child.communicate()
        assert child.returncode in (0, -signal.SIGKILL), errors
    assert kills > 0
    assert without_seconds(killed) == without_seconds(whole)
    for name in ("last", "best"):
        weights = [(folder / name / "model.safetensors").read_bytes() for folder in (whole, killed)]
        assert weights[0] == weights[1]
    results = [json.loads((f / "result.json").read_text()) for f in (whole, killed)]
    assert results[0]["steps"] == results[1]["steps"]
    for result in results:
        del result["test"]["seconds"]
    assert results[0]["test"] == results[1]["test"]


class Kill(BaseException):
    """The process ends here, so far as the run is concerned."""


def kill_at(place: int, monkeypatch: pytest.MonkeyPatch) -> Callable[[], int]:
    """Dies before the place-th change to the file system that saving makes; counts them."""
    count = 0

    def counted(f: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **options: Any) -> Any:
            nonlocal count
            count += 1
            if count == place:
                raise Kill
            return f(*args, **options)

        return call

    for owner, name in (
        (Path, "rename"),
        (Path, "replace"),
        (Path, "write_bytes"),
        (Path, "write_text"),
        (os, "fsync"),
    ):
        monkeypatch.setattr(owner, name, counted(getattr(owner, name)))
    return lambda: count


def test_every_place_between_two_writes_can_be_resumed_from(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = small("PD1-10", epochs=2, examples=64)
    do(run, tmp_path / "whole")
    with monkeypatch.context() as patch:
        count = kill_at(0, patch)
        do(run, tmp_path / "counted")
    assert count() > 30
    for place in range(1, count() + 1):
        folder = tmp_path / str(place)
        with monkeypatch.context() as patch:
            kill_at(place, patch)
            with pytest.raises(Kill):
                do(run, folder)
        do(run, folder, resume=True)
        assert without_seconds(folder) == without_seconds(tmp_path / "whole"), place
        shutil.rmtree(folder)


def test_a_torn_line_is_cut_off(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(permnet.fit, "CHECK_STEPS", 1)
    monkeypatch.setattr(permnet.fit.Clock, "enough_for", lambda self, _: self.budget is None)
    do(small(), tmp_path / "run", time_budget=1)
    with (tmp_path / "run" / "metrics.jsonl").open("a") as file:
        file.write('{"step": 8, "epo')
    do(small(), tmp_path / "run", resume=True)
    assert [line["epoch"] for line in lines(tmp_path / "run")] == [1, 2, 3]


def test_a_changed_config_is_named(tmp_path: Path) -> None:
    do(small(epochs=1), tmp_path / "run")
    with pytest.raises(PermnetError, match=r"train\.rate was 0\.01 and is now 0\.02"):
        do(small(epochs=1, rate=0.02), tmp_path / "run", resume=True)
    with pytest.raises(PermnetError, match=r"benchmark was 'PI1-10' and is now 'PI10'"):
        do(small("PI10", epochs=1), tmp_path / "run", resume=True)


def test_folders_that_cannot_be_used(tmp_path: Path) -> None:
    do(small(epochs=1), tmp_path / "run")
    with pytest.raises(PermnetError, match="already holds a run: add --resume"):
        do(small(epochs=1), tmp_path / "run")
    with pytest.raises(PermnetError, match=r"nothing to resume: .* does not exist"):
        do(small(), tmp_path / "nowhere", resume=True)
    (tmp_path / "foreign").mkdir()
    (tmp_path / "foreign" / "thesis.tex").write_text("years of work")
    for resume in (False, True):
        with pytest.raises(PermnetError, match=r"holds other things and no run\.json"):
            do(small(), tmp_path / "foreign", resume=resume)
    assert [p.name for p in (tmp_path / "foreign").iterdir()] == ["thesis.tex"]
    with pytest.raises(PermnetError, match="is not a folder"):
        do(small(), tmp_path / "foreign" / "thesis.tex")
    with pytest.raises(PermnetError, match="cannot write"):
        do(small(), Path("/proc/nothing/here"))
    assert not (tmp_path / "nowhere").exists()


def test_a_damaged_run_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(permnet.fit, "CHECK_STEPS", 1)
    monkeypatch.setattr(permnet.fit.Clock, "enough_for", lambda self, _: self.budget is None)
    for name in ("last/optimiser.safetensors", "last/position.json", "run.json"):
        folder = tmp_path / name.replace("/", "-")
        do(small(), folder, time_budget=1)
        (folder / name).write_bytes((folder / name).read_bytes()[:20])
        with pytest.raises(PermnetError, match="cannot re"):
            do(small(), folder, resume=True)


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("run.json", '{"format": 2}', r"run.json: its format is 2, this version reads 1: resume"),
        ("result.json", "{}", "result.json is not the result of a finished run: move it"),
        ("result.json", '{"status": "finished", "steps": 1}', "whole result .* has no seconds"),
        ("last/position.json", '{"last": 3}', "position.json.last: expected dict, found 3"),
        ("last/position.json", '{"steps": 1}', "unknown field of position.json 'steps'"),
        ("last/position.json", '{"step": "x"}', "position.json.step: expected int, found 'x'"),
        ("last/optimiser.safetensors", None, "the optimiser's state holds .*, of no weight"),
    ],
)
def test_files_of_other_versions_are_named(
    tmp_path: Path, name: str, text: str | None, message: str
) -> None:
    do(small(), tmp_path / "run", time_budget=1e-6)
    file = tmp_path / "run" / name
    if text is None:
        shutil.copy(file.with_name("model.safetensors"), file)
    else:
        file.write_text(text)
    with pytest.raises(PermnetError, match=message):
        do(small(), tmp_path / "run", resume=True)


def test_one_process_at_a_time(tmp_path: Path) -> None:
    about = {"data_sha256": {}}
    first = runfolder.RunFolder(tmp_path / "run", small(), about, resume=False)
    with pytest.raises(PermnetError, match="another process is training"):
        runfolder.RunFolder(tmp_path / "run", small(), about, resume=True)
    first.close()
    runfolder.RunFolder(tmp_path / "run", small(), about, resume=True).close()


def test_a_disk_too_small_is_found_before_training(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    usage = type("Usage", (), {"free": 1000})
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage)
    with pytest.raises(PermnetError, match="has 0 MiB left, the checkpoints of this run need 1"):
        do(small(), tmp_path / "run")
    assert not (tmp_path / "run" / "last").exists()


def test_a_disk_that_fills_up_leaves_the_checkpoint_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    do(small(), tmp_path / "whole")
    writes, write = 0, Path.write_bytes

    def full(path: Path, content: bytes) -> int:
        nonlocal writes
        writes += 1
        if writes <= 4:
            return write(path, content)
        write(path, content[: len(content) // 2])
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(Path, "write_bytes", full)
        with pytest.raises(PermnetError, match=r"cannot write .*: No space left on device"):
            do(small(), tmp_path / "run")
    do(small(), tmp_path / "run", resume=True)
    assert without_seconds(tmp_path / "run") == without_seconds(tmp_path / "whole")
