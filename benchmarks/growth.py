"""What a step costs as examples grow: python -m benchmarks.growth --out results/growth.json

The models keep their size and batch; only the length n changes. Ours and the yardstick, same run.
"""

import argparse
import json
from pathlib import Path

import numpy as np
import torch
from lightning_fabric import Fabric

from benchmarks.command import needs_gpu, run
from benchmarks.speed import measured, ours, yardstick
from permnet.batch import resident
from permnet.config import ModelConfig, Run, TrainConfig
from permnet.provenance import provenance
from permnet.tasks.permutation import Task

LENGTHS = (10, 20, 40, 100, 200)
HIDDEN, BATCH = 128, 512


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, required=True)
    args = parser.parse_args()
    needs_gpu()
    fabric = Fabric(accelerator="cuda", devices=1, precision="32-true")
    torch.set_float32_matmul_precision("high")
    about = {**provenance(torch.device("cuda")), "hidden": HIDDEN, "batch": BATCH}
    args.out.parent.mkdir(parents=True, exist_ok=True)
    rows = []
    for name, kind in (("permnetd", "direct"), ("permneti", "indirect")):
        for length in LENGTHS:
            task = Task(kind, length, length)
            run = Run(
                f"{name}-{length}",
                ModelConfig(name=name, embedding=HIDDEN, hidden=HIDDEN),
                TrainConfig(batch=BATCH),
            )
            examples = task.sample(BATCH, np.random.RandomState(0))
            arrays = (examples.inputs, examples.targets, task.vocab(), "cuda")
            time, peak = measured(ours, run, task, fabric, resident(*arrays, multiple=8))
            base, _ = measured(yardstick, run, task, fabric, resident(*arrays))
            rows.append(
                {
                    "model": name,
                    "length": length,
                    "ours_ms": round(time, 3),
                    "yardstick_ms": round(base, 3),
                    "peak_gib": round(peak, 2),
                }
            )
            print(rows[-1], flush=True)
            args.out.write_text(json.dumps({**about, "rows": rows}, indent=1) + "\n")


if __name__ == "__main__":
    run(main)
