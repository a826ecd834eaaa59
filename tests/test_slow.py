"""Whole trainings through the command line, and the shipped weights on a CPU: `make slow`."""

import json
import math
import subprocess
import sys
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
