"""Seconds from nothing to 99.9 % of whole validation examples, alone on a GPU.

python -m benchmarks.solve [--seeds 3] --out results/solve.json

The paper's settings, looked at more often and stopped when solved. Time runs from the call of
`train`, data made and kernels compiled, until the evaluation that finds it solved is over; what the
test split takes afterwards is not counted.
"""

import argparse
import dataclasses
import json
import tempfile
import time
from pathlib import Path
from typing import Any

import torch

from benchmarks.command import needs_gpu, positive, run
from permnet.config import to_json
from permnet.experiments.presets import PRESETS
from permnet.provenance import provenance
from permnet.train import train

SOLVED = 0.999
LOOKS = {"PI10": 5, "PI20": 2, "PD10": 25, "PD20": 25}
"""Epochs between looks at the validation split."""


def solve(name: str, seed: int, folder: Path) -> dict[str, Any]:
    preset = PRESETS[f"perm{'netd' if name.startswith('PD') else 'neti'}/{name}"]
    settings = dataclasses.replace(
        preset.train, seed=seed, stop_when_solved=SOLVED, evaluate_every=LOOKS[name]
    )
    run = dataclasses.replace(preset, train=settings)
    begin = time.monotonic()
    result = train(run, folder, test_limit=1000, progress=False)
    looks = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
    return {
        "benchmark": name,
        "seed": seed,
        "solved": looks[-1]["wea"] >= SOLVED,
        "wea": looks[-1]["wea"],
        "seconds": round(looks[-1]["seconds"], 2),
        "seconds_with_test": round(time.monotonic() - begin, 2),
        "steps": result["steps"],
        "run": to_json(run),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=positive, default=3)
    parser.add_argument("--benchmarks", nargs="+", default=list(LOOKS), choices=list(LOOKS))
    parser.add_argument("--out", type=Path, required=True)
    args = parser.parse_args()
    needs_gpu()
    rows: list[dict[str, Any]] = []
    for seed in range(args.seeds):
        for name in args.benchmarks:
            with tempfile.TemporaryDirectory() as folder:
                rows.append(solve(name, seed, Path(folder) / "run"))
            shown = {key: value for key, value in rows[-1].items() if key != "run"}
            print(shown, flush=True)
            about = provenance(torch.device("cuda"))
            args.out.parent.mkdir(parents=True, exist_ok=True)
            args.out.write_text(json.dumps({**about, "rows": rows}, indent=1) + "\n")


if __name__ == "__main__":
    run(main)
