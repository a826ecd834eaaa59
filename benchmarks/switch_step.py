"""A training step of the decompilers, by length: time, memory, and where the time goes.

    python -m benchmarks.switch_step [--out results/switch_step.json] [--models decompiler]
    python -m benchmarks.switch_step --buckets 3 --cells 2048 4096 8192 --programs 512 2048

The step is the one `permnet train` captures, on shipped examples of switch-20, in its buckets. An
epoch is estimated from the shares of the buckets among them. First the kernels' gradients are
compared with those of the plain path. Times are medians of CUDA events.
"""

import argparse
import itertools
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from lightning_fabric import Fabric

from benchmarks.command import needs_gpu, positive, run
from benchmarks.speed import milliseconds
from permnet.batch import Batch, Bucket, buckets, renamed
from permnet.build import build
from permnet.config import ModelConfig, TrainConfig
from permnet.kernels import triton_writer, writer
from permnet.ops import cross_entropy
from permnet.provenance import provenance
from permnet.step import Optimiser, TrainStep
from permnet.tasks.switch.benchmark import label_ids, switch_benchmark
from permnet.tasks.switch.dataset import vocabulary

EXAMPLES = 100_000  # of an epoch
KERNELS = 12


class Bench:
    """Shipped examples on the device, and steps on them."""

    def __init__(self, hidden: int, device: str) -> None:
        split = switch_benchmark("switch-20").split("test")
        # Made of the shipped examples, it is as large as the training split's.
        self.vocab = vocabulary(split, reserved=40, least=8)
        inputs, targets, _ = split.encoded(self.vocab)
        self.task = switch_benchmark("switch-20").task
        self.buckets = buckets(inputs, targets, np.ones(len(split), bool), 16, device)
        self.count, self.hidden, self.device = len(split), hidden, device
        self.labels = torch.tensor(label_ids(self.vocab), device=device)

    def model(self, name: Any) -> torch.nn.Module:
        torch.manual_seed(0)
        return build(ModelConfig(name, 128, self.hidden), self.vocab, self.task).to(self.device)

    def vary(self, batch: Batch, generator: torch.Generator) -> Batch:
        return renamed(batch, [self.labels], len(self.vocab), generator)

    def step(self, name: str, precision: str, batch: int, bucket: Bucket) -> Callable[[], object]:
        fabric = Fabric(
            accelerator=torch.device(self.device).type,
            devices=1,
            precision="bf16-mixed" if precision == "bf16" else "32-true",
        )
        torch.set_float32_matmul_precision("highest" if precision == "fp32" else "high")
        model = self.model(name)
        config = TrainConfig(batch=batch)
        optimiser = Optimiser(model, config, fabric.device)  # type: ignore[arg-type]
        step = TrainStep(
            fabric, fabric.setup_module(model), optimiser, [bucket.data], config, True, self.vary
        )
        rows = torch.arange(batch, device=self.device) % len(bucket)
        return lambda: step(0, rows, 1e-4, 0)


def agreement(bench: Bench, name: str) -> float:
    """The largest difference of a gradient, kernels against the plain path, relative to it."""
    found, parts = [], writer._parts
    data = bench.buckets[0].data.rows(torch.arange(8, device=bench.device))
    torch.set_float32_matmul_precision("highest")
    for plain in (False, True):
        writer._parts = (lambda h: (writer._Plain, writer._Cells)) if plain else parts
        model = bench.model(name)
        cross_entropy(model(data.inputs, data.previous), data.targets).backward()
        found.append([p.grad for p in model.parameters()])
    writer._parts = parts
    torch.set_float32_matmul_precision("high")
    return max(float((a - b).abs().max() / b.abs().max()) for a, b in zip(*found, strict=True))


def breakdown(f: Callable[[], object]) -> list[dict[str, Any]]:
    """The kernels that take longest in one step."""
    from torch.profiler import ProfilerActivity, profile

    with profile(activities=[ProfilerActivity.CUDA]) as seen:
        f()
        torch.cuda.synchronize()
    events = sorted(seen.key_averages(), key=lambda e: -e.device_time_total)[:KERNELS]
    return [
        {"kernel": e.key[:60], "calls": e.count, "ms": round(e.device_time_total / 1e3, 2)}
        for e in events
    ]


def measured(
    bench: Bench, name: str, precision: str, batch: int, bucket: Bucket, profiled: bool
) -> dict[str, Any]:
    torch.cuda.empty_cache()
    torch.cuda.reset_peak_memory_stats()
    began = time.monotonic()
    step = bench.step(name, precision, batch, bucket)
    ms = milliseconds(step, least=3, seconds=0.5)
    return {
        "model": name,
        "precision": precision,
        "batch": batch,
        "input_length": bucket.data.inputs.shape[1],
        "target_length": bucket.data.targets.shape[1],
        "ms": round(ms, 2),
        "examples_per_second": round(1e3 * batch / ms),
        "peak_gib": round(torch.cuda.max_memory_allocated() / 2**30, 2),
        "seconds_in_all": round(time.monotonic() - began, 1),
        "kernels": breakdown(step) if profiled else [],
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path)
    models = ["decompiler", "copy-decompiler"]
    parser.add_argument("--models", nargs="+", default=models, choices=models)
    parser.add_argument(
        "--precision", nargs="+", default=["tf32"], choices=["tf32", "fp32", "bf16"]
    )
    parser.add_argument("--batch", type=positive, nargs="+", default=[128, 512])
    parser.add_argument("--hidden", type=positive, default=128)
    parser.add_argument("--buckets", type=int, nargs="+", help="their numbers; all unless given")
    parser.add_argument("--profile", type=int, default=3, help="the bucket whose kernels are told")
    parser.add_argument("--cells", type=int, nargs="+", default=[triton_writer.CELLS])
    parser.add_argument("--programs", type=int, nargs="+", default=[triton_writer.PROGRAMS])
    parser.add_argument("--held", type=int, nargs="+", default=[triton_writer.HELD])
    args = parser.parse_args()
    needs_gpu()
    bench = Bench(args.hidden, "cuda")
    numbers = args.buckets or range(len(bench.buckets))
    told: dict[str, Any] = {"provenance": provenance(torch.device("cuda")), "rows": []}
    for name in args.models:
        told[f"agreement {name}"] = agreement(bench, name)
        print(f"{name}: gradients agree to {told[f'agreement {name}']:.2e}", flush=True)
    for sizes in itertools.product(args.cells, args.programs, args.held):
        triton_writer.CELLS, triton_writer.PROGRAMS, triton_writer.HELD = sizes
        for name, precision, batch in itertools.product(args.models, args.precision, args.batch):
            epoch = 0.0
            for number in numbers:
                bucket = bench.buckets[number]
                try:
                    row = measured(bench, name, precision, batch, bucket, number == args.profile)
                except torch.OutOfMemoryError as error:
                    print(f"{name} {precision} batch {batch}, bucket {number}: {error}"[:200])
                    epoch = float("nan")
                    continue
                epoch += len(bucket) / bench.count * EXAMPLES / batch * row["ms"] / 1e3
                told["rows"].append({"sizes": sizes, "bucket": number, **row})
                print(*sizes, number, *(v for k, v in row.items() if k != "kernels"), flush=True)
                for kernel in row["kernels"]:
                    print("   ", *kernel.values(), flush=True)
                if args.out:
                    args.out.parent.mkdir(parents=True, exist_ok=True)
                    args.out.write_text(json.dumps(told, indent=1) + "\n")
            if not args.buckets:
                print(f"{name} {precision} batch {batch}: an epoch takes about {epoch:.1f} s")


if __name__ == "__main__":
    run(main)
