"""Step and decoding time at the paper's sizes, ours against the yardstick in the same run.

    python -m benchmarks.speed [--presets PI10 PD10] [--out results/speed.json] [--profile]

A training step is rows → forward → backward → clipping → AdamW on one batch; ours as `permnet
train` runs it, the yardstick eagerly (benchmarks/yardstick.py, fused AdamW, TF32, no host
synchronisation). Times are medians of CUDA events. The floor counts operations and bytes that no
version of the equations can leave out, over the rates of the chip; see `floor`.
"""

import argparse
import dataclasses
import statistics
import traceback
from collections.abc import Callable
from pathlib import Path

import torch
from lightning_fabric import Fabric
from torch.nn import functional as F

from benchmarks.command import needs_gpu, run
from benchmarks.record import keep
from benchmarks.yardstick import straightforward
from permnet.batch import Batch, resident
from permnet.build import build
from permnet.config import Run
from permnet.decode import Decoder
from permnet.errors import unknown
from permnet.experiments.presets import PRESETS
from permnet.provenance import provenance
from permnet.step import Optimiser, TrainStep
from permnet.tasks.benchmarks import benchmark
from permnet.tasks.permutation import Task

COPY, TF32 = 4.2e12, 400e12  # bytes and operations a second, as measured on an H200


def floor(run: Run, task: Task) -> float:
    """Seconds of a training step that no version goes below, with TF32 products.

    Operations: every product of the equations once forwards and twice backwards. Bytes: every
    matrix with a batch and a length axis written and read once forwards, and its gradient likewise
    backwards; the query attention reads M_e once per step, forwards and backwards, because the
    steps wait for each other and M_e fits on no chip.
    """
    vocab = len(task.vocab())
    b, h, n = run.train.batch, run.model.hidden, task.size
    li, t, d = task.input_width, task.target_width, 2 * h
    recurrent = 2 * li * 6 * h * h + t * 6 * d * d
    if run.model.name == "permnetd":
        products = 2 * t * li * (d + 2 * n + vocab)
        words = li * (d + n) + n * li + 2 * t * (li + d) + t * vocab
        reads = 0
    else:
        products = 4 * li * li * d + 2 * li**3 + 2 * li * d * d
        products += 2 * t * (2 * li * li + 3 * li * d + li * vocab + d * d) + t * 6 * d * d
        words = 2 * li * d + 3 * li * li + t * (2 * li + 2 * d + vocab)
        reads = 2 * t * li * d
    operations = 3 * b * (recurrent + products + 2 * t * d * vocab)
    return max(operations / TF32, 4 * b * (4 * words + reads) / COPY)


def milliseconds(f: Callable[[], object], least: int = 5, seconds: float = 1.5) -> float:
    """Median time of f on the device, warmed up."""
    for _ in range(2):
        f()
    times: list[float] = []
    while len(times) < least or (sum(times) < seconds * 1e3 and len(times) < 200):
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        f()
        end.record()
        end.synchronize()
        times.append(begin.elapsed_time(end))
    return statistics.median(times)


def ours(run: Run, task: Task, fabric: Fabric, data: Batch) -> Callable[[], object]:
    torch.manual_seed(0)
    model = build(run.model, task.vocab(), task).to(fabric.device)
    optimiser = Optimiser(model, run.train, fabric.device)
    module = fabric.setup_module(model)
    step = TrainStep(
        fabric, module, optimiser, [data], run.train, repeats=False, vary=lambda batch, _: batch
    )
    index = torch.randperm(len(data), device=fabric.device)[: run.train.batch]
    return lambda: step(0, index, run.train.rate, 0)


def yardstick(run: Run, task: Task, fabric: Fabric, data: Batch) -> Callable[[], object]:
    torch.manual_seed(0)
    model = straightforward(build(run.model, task.vocab(), task)).to(fabric.device)
    optimiser = torch.optim.AdamW(model.parameters(), run.train.rate, fused=True)
    index = torch.randperm(len(data), device=fabric.device)[: run.train.batch]

    def step() -> None:
        batch = data.rows(index)
        logits = model(batch.inputs, batch.previous)
        loss = F.cross_entropy(logits.flatten(0, 1), batch.targets.flatten())
        optimiser.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), run.train.clip)
        optimiser.step()

    return step


def decoding(run: Run, task: Task, fabric: Fabric, data: Batch) -> Callable[[], object]:
    torch.manual_seed(0)
    model = build(run.model, task.vocab(), task).to(fabric.device).eval()
    inputs = data.rows(torch.arange(run.train.batch, device=fabric.device)).inputs
    decoder = Decoder(model)
    return lambda: decoder(inputs, task.target_width)


def yardstick_decoding(run: Run, task: Task, fabric: Fabric, data: Batch) -> Callable[[], object]:
    torch.manual_seed(0)
    model = straightforward(build(run.model, task.vocab(), task)).to(fabric.device)
    inputs = data.rows(torch.arange(run.train.batch, device=fabric.device)).inputs
    return lambda: model.decode(inputs, task.target_width)


def measured(make: Callable[..., Callable[[], object]], *args: object) -> tuple[float, float]:
    """Milliseconds and the peak memory in GiB."""
    torch.cuda.empty_cache()
    torch.cuda.reset_peak_memory_stats()
    time = milliseconds(make(*args))
    return time, torch.cuda.max_memory_allocated() / 2**30


def profile(f: Callable[[], object]) -> None:
    from torch.profiler import ProfilerActivity
    from torch.profiler import profile as record

    f()
    with record(activities=[ProfilerActivity.CUDA]) as seen:
        f()
        torch.cuda.synchronize()
    print(
        seen.key_averages().table(sort_by="cuda_time_total", row_limit=25, max_name_column_width=70)
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    names = ["PI100", "PD100", "PI40", "PI10", "PD10"]
    parser.add_argument("--presets", nargs="+", default=names)
    kinds = ["tf32", "fp32", "bf16"]
    parser.add_argument("--precision", nargs="+", default=["tf32"], choices=kinds)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--profile", action="store_true")
    parser.add_argument("--only-ours", action="store_true")
    args = parser.parse_args()
    needs_gpu()
    fabrics = {
        precision: Fabric(
            accelerator="cuda",
            devices=1,
            precision="bf16-mixed" if precision == "bf16" else "32-true",
        )
        for precision in args.precision
    }
    torch.set_float32_matmul_precision("high")
    torch.backends.cudnn.allow_tf32 = True
    about = provenance(torch.device("cuda"))
    for name in args.presets:
        known = f"perm{'netd' if name.startswith('PD') else 'neti'}/{name}"
        if known not in PRESETS:
            raise unknown("preset", known, PRESETS)
        preset = PRESETS[known]
        task = benchmark(name).task
        split = benchmark(name).split("train", limit=20_000)
        arrays = (split.examples.inputs, split.examples.targets, split.vocab, "cuda")
        exact, data = resident(*arrays), resident(*arrays, multiple=8)
        for precision in args.precision:
            fabric = fabrics[precision]
            train = dataclasses.replace(preset.train, precision=precision)
            run = dataclasses.replace(preset, train=train)
            for what, fast, slow in (
                ("train_step", ours, yardstick),
                ("decode", decoding, yardstick_decoding),
            ):
                try:
                    time, peak = measured(fast, run, task, fabric, data)
                    if args.profile and what == "train_step":
                        profile(fast(run, task, fabric, data))
                    base = None
                    if not args.only_ours:
                        base, _ = measured(slow, run, task, fabric, exact)
                except Exception:
                    traceback.print_exc()
                    continue
                least = floor(run, task) * 1e3 if what == "train_step" else None
                row = {
                    "preset": name,
                    "what": what,
                    "precision": precision,
                    "ours_ms": round(time, 3),
                    "yardstick_ms": base and round(base, 3),
                    "ratio": base and round(base / time, 2),
                    "peak_gib": round(peak, 2),
                    "floor_ms": least and round(least, 3),
                    "hardware": about["hardware"],
                    "versions": about["versions"],
                    "date": about["date"],
                }
                shown = ("preset", "what", "precision", "ours_ms", "yardstick_ms", "ratio",
                         "peak_gib", "floor_ms")  # fmt: skip
                print({key: row[key] for key in shown}, flush=True)
                if args.out:
                    keep(args.out, [row])


if __name__ == "__main__":
    run(main)
