"""Whole trainings through the command line, and the shipped weights on a CPU: `make slow`."""

import json
import math
import os
import subprocess
import sys
import tarfile
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from permnet.checkpoint import describe, shipped
from permnet.tasks.permutation import Task

pytestmark = pytest.mark.slow


def permnet(*arguments: str, cwd: Path) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "permnet", *arguments],
        cwd=cwd,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("benchmark", ["PI1-4", "PD1-4"])
def test_a_permnet_learns_short_references_from_nothing(benchmark, tmp_path):
    permnet(
        *f"train {benchmark} --out run --device cpu --model.embedding 64 --model.hidden 32 "
        "--train.batch 256 --train.rate 0.003 --train.schedule cosine --train.epochs 6 "
        "--train.evaluate-every 1 --test-limit 1000".split(),
        cwd=tmp_path,
    )
    out = permnet(
        *f"eval run/last --benchmark {benchmark} --split test --limit 20000 --json".split(),
        cwd=tmp_path,
    )
    figures = json.loads(out)
    assert figures["unseen"]["count"] > 1000
    assert figures["unseen"]["wea"] >= 0.999


@pytest.mark.parametrize("name", [n for n in shipped() if isinstance(describe(n).task, Task)])
def test_shipped_weights_reach_their_figure(name, tmp_path):
    low, _ = describe(name).provenance["figures"]["wea_interval"]
    out = permnet(*f"eval {name} --split test --limit 2000 --json".split(), cwd=tmp_path)
    wrong = round(2000 * (1 - json.loads(out)["wea"]))
    # So many errors or more must not be a wonder at the low end of the printed interval.
    expected = 2000 * (1 - low)
    fewer = sum(math.exp(-expected) * expected**k / math.factorial(k) for k in range(wrong))
    assert 1 - fewer > 0.001


def wait_until(holds: Callable[[], bool]) -> None:
    """For a quarter of an hour at most: what is asserted then says what is wrong."""
    for _ in range(9000):
        if holds():
            return
        time.sleep(0.1)


def test_a_detached_campaign_outlives_its_shell_and_is_packed(tmp_path):
    script = str(Path(__file__).parents[1] / "runs" / "detached.sh")
    environment = os.environ | {"PYTHON": sys.executable}
    out, packed = tmp_path / "a campaign", tmp_path / "packed"

    def detached(*arguments: str) -> int:
        return subprocess.run([script, *arguments], env=environment, capture_output=True).returncode

    assert detached() == detached("start", str(out), "600") == 2
    assert detached("start", str(out), "600", "no-such-sweep") != 0
    assert detached("start", str(out), "soon", "smoke") != 0
    assert not (out / "log").exists()
    assert detached("start", str(out), "900", "smoke", "--test-limit", "100") == 0
    assert detached("wait", str(out), "0") == 0  # it goes on
    results = [out / f"runs/results/smoke-{name}.json" for name in ("PD1-10", "PI1-10")]
    assert not any(path.exists() for path in results)
    assert detached("wait", str(out), "900") == 0
    assert all(path.exists() for path in results)
    assert detached("pack", str(out)) == detached("show") == detached("halt", str(out)) == 2
    assert detached("wait", str(out)) == detached("wait", str(out), "soon") == 2
    assert detached("pack", str(out), str(packed), "no-such-run") != 0
    assert detached("pack", str(out), str(packed), "smoke-PI1-10") == 0
    with tarfile.open(packed / "results.tar.gz") as tar:
        assert {"log", "runs/results/smoke-PD1-10.json"} <= set(tar.getnames())
    with tarfile.open(packed / "smoke-PI1-10.tar.gz.aa") as tar:
        assert "runs/smoke-PI1-10/last/model.safetensors" in tar.getnames()
    assert detached("pack", str(out), str(packed), "begun") == 0
    assert not (packed / "begun.tar.gz.aa").exists()
    (out / "runs/smoke-PI1-10/result.json").unlink()  # as if it had not come to its end
    (out / "runs/smoke-PI1-10/answers").mkdir()
    (out / "runs/smoke-PI1-10/answers/set.jsonl").touch()
    assert b"smoke-PI1-10 {" in subprocess.check_output([script, "show", str(out)])
    assert detached("pack", str(out), str(packed), "begun") == 0
    with tarfile.open(packed / "results.tar.gz") as tar:
        assert "runs/smoke-PI1-10/answers/set.jsonl" in tar.getnames()
    with tarfile.open(packed / "begun.tar.gz.aa") as tar:
        folders = {name.split("/")[1] for name in tar.getnames()}
        assert folders == {"smoke-PI1-10"}


def test_a_detached_campaign_is_stopped(tmp_path):
    script = str(Path(__file__).parents[1] / "runs" / "detached.sh")
    environment = os.environ | {"PYTHON": sys.executable}
    log = tmp_path / "log"
    subprocess.run([script, "start", str(tmp_path), "900", "smoke"], env=environment, check=True)
    wait_until(lambda: log.exists() and "running" in log.read_text())
    subprocess.run([script, "stop", str(tmp_path)], check=True)
    wait_until(lambda: " finished, " in log.read_text())
    assert "2 unfinished, 0 failed" in log.read_text()
