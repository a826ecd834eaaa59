"""Sweeps: what is done, skipped, resumed, shared out and carried home."""

import fcntl
import itertools
import json
import os
import signal
import subprocess
import sys
import tarfile
import threading
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

import permnet.fit
import permnet.plan
import permnet.sweep
import permnet.worker
from permnet.cli import main
from permnet.config import Run, to_json
from permnet.errors import PermnetError
from permnet.experiments import SWEEPS
from permnet.plan import plan
from permnet.runfolder import RunFolder, wait_until_free
from permnet.sweep import Outcome, sweep
from permnet.tasks.find import find
from tests.test_train import do, small

RUNS = {f"run{i}": small("PD1-10", epochs=1, seed=i) for i in range(3)}


def run(runs: dict[str, Run], folder: Path, **options: Any) -> Outcome:
    return sweep(runs, folder, device="cpu", test_limit=20, progress=False, **options)


def test_runs_are_done_a_few_at_a_time_and_carried_home(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = replace(RUNS["run0"], train=replace(RUNS["run0"].train, rate=-1.0))
    runs = {"broken": broken, **RUNS}
    do(RUNS["run1"], tmp_path / "run1", test_limit=10)  # finished before
    with monkeypatch.context() as patch:  # begun before
        patch.setattr(permnet.fit, "CHECK_STEPS", 1)
        patch.setattr(permnet.fit.Clock, "enough_for", lambda self, _: False)
        do(RUNS["run2"], tmp_path / "run2")
    assert {p.name: p.status for p in plan(runs, tmp_path)} == {
        "broken": "new",
        "run0": "new",
        "run1": "finished",
        "run2": "started",
    }
    outcome = run(runs, tmp_path, parallel=2, beside=1)
    assert set(outcome.finished) == set(RUNS)
    assert outcome.finished["run1"]["test"]["count"] == 10  # not done again
    assert outcome.finished["run0"]["test"]["count"] == 20
    assert outcome.finished["run2"]["steps"] == 8
    assert outcome.finished["run0"]["sharing"] == 3
    assert outcome.failed == {"broken": "train.rate is above 0, not -1.0"}
    assert {p.name for p in (tmp_path / "results").iterdir()} == {f"{name}.json" for name in RUNS}
    assert outcome.archive is not None
    with tarfile.open(outcome.archive) as tar:
        names = set(tar.getnames())
    for name in RUNS:
        assert {f"{name}/result.json", f"{name}/last/model.safetensors"} <= names
        assert f"{name}/last/optimiser.safetensors" not in names
    seconds = outcome.finished["run0"]["seconds"]
    assert plan(RUNS, tmp_path)[0].seconds == pytest.approx(seconds)


def test_a_result_says_which_command_makes_it_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    typed = ["/somewhere/permnet/__main__.py", "sweep", "mine", "--out", "a b"]
    monkeypatch.setattr(sys, "argv", typed)
    monkeypatch.setattr(permnet.plan, "runs_of", lambda name: {"run0": RUNS["run0"]})
    sweep("mine", tmp_path, device="cpu", test_limit=20, progress=False)
    told = json.loads((tmp_path / "results" / "run0.json").read_text())
    assert told["command"] == "permnet sweep run0"
    assert told["invoked_as"] == "permnet sweep mine --out 'a b'"
    run({"run1": RUNS["run1"]}, tmp_path)  # a list of one's own has no name
    told = json.loads((tmp_path / "results" / "run1.json").read_text())
    assert told["command"] == told["invoked_as"] == "permnet sweep mine --out 'a b'"


def test_a_finished_run_without_metrics_has_an_empty_curve(tmp_path: Path) -> None:
    do(RUNS["run0"], tmp_path / "run0")
    (tmp_path / "run0" / "metrics.jsonl").unlink()
    assert set(run({"run0": RUNS["run0"]}, tmp_path).finished) == {"run0"}
    assert json.loads((tmp_path / "results" / "run0.json").read_text())["curve"] == []


def test_an_estimate_is_that_of_a_like_run_and_no_longer_than_the_time_limit(
    tmp_path: Path,
) -> None:
    whole = RUNS["run0"]
    short = replace(whole, train=replace(whole.train, time_limit=5.0))
    ablated = replace(whole, model=replace(whole.model, without="m_ind"))
    (tmp_path / "known").mkdir()
    known = {"run": to_json(whole), "seconds": 50.0, "steps": 8}
    (tmp_path / "known" / "result.json").write_text(json.dumps(known))
    runs = {"run0": whole, "short": short, "ablated": ablated}
    assert [p.seconds for p in plan(runs, tmp_path)] == [50.0, 5.0, 50.0]
    (tmp_path / "ablated").mkdir()
    own = {"run": to_json(ablated), "seconds": 40.0, "steps": 8}
    (tmp_path / "ablated" / "result.json").write_text(json.dumps(own))
    assert [p.seconds for p in plan(runs, tmp_path)] == [50.0, 5.0, 40.0]


@pytest.mark.parametrize("whole", [True, False])
def test_no_run_is_begun_that_would_not_end_in_time(whole: bool, tmp_path: Path) -> None:
    long = replace(RUNS["run0"], train=replace(RUNS["run0"].train, epochs=2, examples=256))
    limited = replace(long, train=replace(long.train, batch=32, time_limit=400.0))
    begun = replace(long, train=replace(long.train, seed=1))
    for name, known in (("known", long), ("other", limited)):
        (tmp_path / name).mkdir()
        took = {"run": to_json(known), "seconds": 5000.0, "steps": 1}
        (tmp_path / name / "result.json").write_text(json.dumps(took))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(permnet.fit.Clock, "enough_for", lambda self, _: False)
        do(begun, tmp_path / "begun")
    unknown = replace(RUNS["run1"], model=replace(long.model, hidden=5))
    runs = {"long": long, "limited": limited, "begun": begun, "unknown": unknown}
    # A limit of 400 seconds is one of 1,200 where three runs share the device.
    outcome = run(runs, tmp_path, whole=whole, time_budget=1000.0, beside=2)
    assert outcome.unfinished == (["long", "limited"] if whole else [])
    assert {"begun", "unknown"} <= outcome.finished.keys()


def test_whole_is_about_a_time_budget(tmp_path: Path) -> None:
    with pytest.raises(PermnetError, match="whole is about a time budget"):
        run(RUNS, tmp_path / "sweep", whole=True)
    assert not (tmp_path / "sweep").exists()


def test_a_crash_of_one_run_leaves_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    start = permnet.sweep._start_worker
    crash = [sys.executable, "-c", "import os; input(); os._exit(9)"]
    commands = iter([crash])

    def crashing_first() -> Any:
        command = next(commands, None)
        if command is None:
            return start()
        pipe = permnet.sweep.subprocess.PIPE
        return permnet.sweep.subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True)

    monkeypatch.setattr(permnet.sweep, "_start_worker", crashing_first)
    outcome = run({k: RUNS[k] for k in ("run0", "run1")}, tmp_path)
    assert outcome.failed == {"run0": "its process ended with code 9"}
    assert set(outcome.finished) == {"run1"}


@pytest.mark.parametrize("damage", ["", "<<<<<<< HEAD", "[]", '{"status": "finished"}'])
def test_a_finished_run_with_damaged_files_has_failed(tmp_path: Path, damage: str) -> None:
    (tmp_path / "run0").mkdir()
    (tmp_path / "run0" / "result.json").write_text(damage)
    outcome = run({name: RUNS[name] for name in ("run0", "run1")}, tmp_path)
    assert f"{tmp_path / 'run0'} cannot be read, remove it" in outcome.failed["run0"]
    assert list(outcome.finished) == ["run1"]  # which goes on
    (tmp_path / "run1" / "metrics.jsonl").write_text(damage or "{")
    assert "run1 cannot be read" in run({"run1": RUNS["run1"]}, tmp_path).failed["run1"]


def test_a_run_that_was_finished_with_other_settings_has_failed(tmp_path: Path) -> None:
    do(RUNS["run0"], tmp_path / "run0")
    result = (tmp_path / "run0" / "result.json").read_bytes()
    changed = replace(RUNS["run0"], train=replace(RUNS["run0"].train, rate=0.02))
    runs = {"run0": changed, "run1": RUNS["run1"]}
    assert [p.status for p in plan(runs, tmp_path)] == ["started", "new"]
    outcome = run(runs, tmp_path)
    assert outcome.failed == {
        "run0": f"cannot resume {tmp_path / 'run0'} with a changed config: train.rate was 0.01 and "
        "is now 0.02; give the old value, or choose a new folder"
    }
    assert list(outcome.finished) == ["run1"]  # which goes on
    assert (tmp_path / "run0" / "result.json").read_bytes() == result
    assert not (tmp_path / "results" / "run0.json").exists()


def test_a_learning_curve_is_rendered_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    do(RUNS["run0"], tmp_path / "run0")
    rendered, made = permnet.sweep.rendered, []

    def counted(result: dict[str, Any]) -> str:
        made.append(rendered(result))
        return made[-1]

    monkeypatch.setattr(permnet.sweep, "rendered", counted)
    run({"run0": RUNS["run0"]}, tmp_path)
    assert made == [(tmp_path / "results" / "run0.json").read_text()]


def test_without_time_nothing_is_started(tmp_path: Path) -> None:
    outcome = run(RUNS, tmp_path, time_budget=1)
    assert outcome.unfinished == list(RUNS)
    assert not (tmp_path / "run0").exists()


def test_time_budgets_are_above_0(tmp_path: Path) -> None:
    with pytest.raises(PermnetError, match="time_budget is above 0 seconds, not nan"):
        run(RUNS, tmp_path, time_budget=float("nan"))


def test_sigterm_stops_all_runs_with_checkpoints(tmp_path: Path) -> None:
    runs = {name: replace(r, train=replace(r.train, epochs=10**6)) for name, r in RUNS.items()}

    def when_begun() -> None:
        while not all((tmp_path / name / "last").exists() for name in ("run0", "run1")):
            time.sleep(0.05)
        os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=when_begun, daemon=True).start()
    outcome = run(runs, tmp_path, parallel=2)
    assert sorted(outcome.unfinished) == list(RUNS)
    assert not outcome.failed
    assert [p.status for p in plan(runs, tmp_path)] == ["started", "started", "new"]


def test_ctrl_c_does_so_too_and_workers_do_not_hear_of_it(tmp_path: Path) -> None:
    root, folder = Path(__file__).parent.parent, tmp_path / "run0"
    command = [sys.executable, "-c", KILLED, str(tmp_path)]
    sweeping = subprocess.Popen(
        command, cwd=root, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    try:
        while not steps_saved(folder):
            assert sweeping.poll() is None
            time.sleep(0.05)
        os.killpg(sweeping.pid, signal.SIGINT)  # as a terminal does
        assert "run0: unfinished\n" in sweeping.communicate()[1]
    finally:
        sweeping.kill()
        sweeping.wait()
    with permnet.sweep._start_worker() as worker:
        worker.send_signal(signal.SIGINT)  # while it begins
        worker.communicate()
    assert worker.returncode == 0


# A job in the background of a shell begins without SIGINT.
KILLED = """
import signal, sys
from pathlib import Path
from tests.test_sweep import ENDLESS, run
signal.signal(signal.SIGINT, signal.default_int_handler)
run(ENDLESS, Path(sys.argv[1]))
"""
ENDLESS = {"run0": replace(RUNS["run0"], train=replace(RUNS["run0"].train, epochs=10**6))}


def steps_saved(folder: Path) -> int:
    """The steps of the last checkpoint, 0 if there is none or it is just being replaced."""
    try:
        return int(json.loads((folder / "last" / "position.json").read_text())["step"])
    except OSError:
        return 0


def test_after_a_kill_the_worker_ends_too_and_the_same_sweep_goes_on(tmp_path: Path) -> None:
    root, folder = Path(__file__).parent.parent, tmp_path / "run0"
    sweeping = [subprocess.Popen([sys.executable, "-c", KILLED, str(tmp_path)], cwd=root)]
    try:
        while not steps_saved(folder):
            assert sweeping[0].poll() is None
            time.sleep(0.05)
        sweeping[0].kill()
        sweeping[0].wait()
        wait_until_free(folder, 120)
        with (folder / ".lock").open("r+") as lock:  # an error if the worker still trains
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        before = steps_saved(folder)
        assert before
        sweeping.append(subprocess.Popen([sys.executable, "-c", KILLED, str(tmp_path)], cwd=root))
        while steps_saved(folder) <= before:
            assert sweeping[1].poll() is None
            time.sleep(0.05)
        sweeping[1].terminate()
        assert sweeping[1].wait() == 0
    finally:
        for process in sweeping:
            process.kill()
            process.wait()
    assert (tmp_path / "sweep.tar.gz").exists()


def test_a_worker_waits_for_another_that_is_ending(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    ending = RunFolder(tmp_path / "run0", RUNS["run0"], {"data_sha256": {}}, resume=False)
    (tmp_path / "run0" / "run.json").unlink()
    monkeypatch.setattr(time, "sleep", lambda _: ending.close())
    job = {"run": to_json(RUNS["run0"]), "folder": str(tmp_path / "run0"), "data": None}
    job |= {"deadline": None, "device": "cpu", "sharing": 1, "test_limit": 20, "origin": None}
    assert permnet.worker._answer(job)["status"] == "finished"
    assert "another process is training in" in capsys.readouterr().err


def test_shards_are_a_partition(tmp_path: Path) -> None:
    names = [[p.name for p in plan("table1", tmp_path, (i, 4))] for i in range(1, 5)]
    assert sorted(itertools.chain(*names)) == sorted(SWEEPS["table1"])
    assert max(map(len, names)) - min(map(len, names)) <= 1
    for shard in ((0, 4), (5, 4)):
        with pytest.raises(PermnetError, match="a shard is i/n with i from 1 to n"):
            plan("table1", tmp_path, shard)


def test_the_dry_run_prints_the_list(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    result = {"run": to_json(SWEEPS["smoke"]["smoke-PD1-10"])}
    (tmp_path / "known").mkdir()
    (tmp_path / "known" / "result.json").write_text(
        json.dumps({**result, "seconds": 50.0, "steps": 8, "hardware": {"device": "abacus"}})
    )
    assert main(["sweep", "smoke", "--dry-run", "--out", str(tmp_path)]) == 0
    first, second, total = capsys.readouterr().out.splitlines()
    assert first == "smoke-PD1-10  new       at most 16 steps  100 s on abacus"
    assert second.split() == ["smoke-PI1-10", "new", "at", "most", "16", "steps", "unknown"]
    assert total == "2 of 2 runs left, 100 s for the 1 known"


def test_bad_requests(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for arguments, message in (
        (["tabel1"], "did you mean table1"),
        ([""], "unknown sweep '' (known: smoke"),
        (["smoke", "--shard", "one"], "a shard is i/n, such as 2/8, not 'one'"),
        (["smoke", "--shard", "3/2"], "with i from 1 to n, not 3/2"),
        (["smoke", "--parallel", "0"], "parallel is 1 or more, not 0"),
        (["smoke", "--beside", "-1"], "beside is 0 or more, not -1"),
        (["smoke", "--time-budget", "-5"], "time_budget is above 0 seconds, not -5"),
    ):
        for also in ([], ["--dry-run"]):
            assert main(["sweep", *arguments, "--out", str(tmp_path / "out"), *also]) == 2
            assert message in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_what_no_run_could_do_is_refused_once_before_any_begins(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 0)
    assert main(["sweep", "smoke", "--out", str(tmp_path / "out"), "--device", "cuda"]) == 2
    message = "permnet: error: this machine has no GPU: leave out --device cuda\n"
    assert capsys.readouterr() == ("", message)
    (tmp_path / "file").touch()
    for out in (tmp_path / "file", tmp_path / "file" / "below"):
        assert main(["sweep", "smoke", "--out", str(out)]) == 2
        told = capsys.readouterr().err
        assert told.startswith(f"permnet: error: cannot write {out}: ")
        assert told.count("\n") == 1
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_every_listed_run_is_of_a_known_benchmark() -> None:
    for runs in SWEEPS.values():
        for name, listed in runs.items():
            assert find(listed.benchmark).name in name


def test_of_several_lists_only_what_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    names = ("table6", "permneti-PI10", "table7")
    runs = SWEEPS["table6"] | SWEEPS["table7"]
    assert {p.name: p.run for p in plan(names, tmp_path)} == runs
    there = "permneti-PI10-without-attn-seed0"
    changed = "permnetd-PD10-without-m_e-seed0"
    other = replace(runs[changed], train=replace(runs[changed].train, rate=0.5))
    (tmp_path / "results").mkdir()
    for name, done in ((there, runs[there]), (changed, other)):
        result = {"run": to_json(done), "seconds": 1.0, "steps": 1}
        (tmp_path / "results" / f"{name}.json").write_text(json.dumps(result))
    left = {p.name for p in plan(names, tmp_path, missing=True)}
    assert left == runs.keys() - {there}
    assert main(["sweep", *names, "--missing", "--dry-run"]) == 0
    out = capsys.readouterr().out
    assert there not in out
    assert f"{changed} " in out
    assert f"{len(left)} of {len(left)} runs left" in out


@pytest.mark.parametrize(
    "damage",
    ["", "{", '{"run": 3, "seconds": 1, "steps": 1}', '{"run": {"x": 1}}', "RUN 0", "RUN null"],
)
def test_a_damaged_result_is_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, damage: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "results").mkdir()
    name, listed = next(iter(SWEEPS["table7"].items()))
    if damage.startswith("RUN"):
        steps = damage.split()[1]
        damage = f'{{"run": {json.dumps(to_json(listed))}, "seconds": 1, "steps": {steps}}}'
    (tmp_path / "results" / "damaged.json").write_text(damage)
    (planned,) = plan({name: listed}, tmp_path, missing=True)
    assert (planned.name, planned.seconds) == (name, None)


def test_a_result_from_before_a_setting_existed_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "results").mkdir()
    name, listed = next(iter(SWEEPS["table7"].items()))
    raw = to_json(listed)
    del raw["model"]["equal"], raw["train"]["z_loss"]
    result = {"run": raw, "seconds": 50.0, "steps": 100}
    (tmp_path / "results" / f"{name}.json").write_text(json.dumps(result))
    assert plan({name: listed}, tmp_path, missing=True) == []
    (planned,) = plan({name: listed}, tmp_path)
    assert planned.seconds == planned.steps / 2


def test_several_lists_make_one_archive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(permnet.plan, "runs_of", lambda name: {name: RUNS[name]})
    outcome = run(("run0", "run2"), tmp_path)
    assert set(outcome.finished) == {"run0", "run2"}
    assert outcome.archive == tmp_path / "sweep.tar.gz"


def test_a_sweep_without_a_name(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["sweep"]) == 2
    assert "name a list, such as smoke" in capsys.readouterr().err
