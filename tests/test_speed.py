"""The benchmarks' own code: what is kept of their measurements, and that they run."""

import json
from pathlib import Path
from typing import Any

import torch

from benchmarks.record import keep
from benchmarks.resolve import measure
from permnet.build import build
from permnet.checkpoint import save
from permnet.config import ModelConfig, Run
from permnet.tasks.benchmarks import benchmark


def row(preset: str, ours_ms: float, precision: str = "tf32", device: str = "A") -> dict[str, Any]:
    return {
        "preset": preset,
        "what": "decode",
        "precision": precision,
        "ours_ms": ours_ms,
        "hardware": {"device": device, "cores": 2},
    }


def test_a_measurement_replaces_its_like_and_nothing_else(tmp_path: Path) -> None:
    file = tmp_path / "results" / "speed.json"
    keep(file, [row("PI10", 1.0), row("PD10", 2.0)])
    keep(file, [row("PD10", 3.0, device="B"), row("PI10", 4.0, "bf16"), row("PI10", 5.0)])
    assert json.loads(file.read_text()) == [
        row("PI10", 5.0),
        row("PD10", 2.0),
        row("PD10", 3.0, device="B"),
        row("PI10", 4.0, "bf16"),
    ]
    assert [path.name for path in file.parent.iterdir()] == ["speed.json"]


def test_resolving_is_measured(tmp_path: Path) -> None:
    run, task = Run("PI1-4", ModelConfig(embedding=8, hidden=4)), benchmark("PI1-4").task
    torch.manual_seed(0)
    save(tmp_path / "model", build(run.model, task.vocab(), task), run, task.vocab(), {})
    told = measure(str(tmp_path / "model"), examples=8, rounds=2)
    assert (told["what"], told["preset"]) == ("resolve", str(tmp_path / "model"))
    assert told["ours_ms"] > 0
    assert told["examples_per_second"].keys() == {"batched", "one_by_one"}
