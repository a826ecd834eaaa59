"""Examples a second of the shipped models on a CPU, batched against one by one.

    python -m benchmarks.resolve [--models PI10 PD10] [--out results/speed.json]

What is timed is all that `permnet resolve` does with a text once a model is loaded: reading it,
decoding, confidences and positions. Times are milliseconds an example, medians over rounds in which
both ways take turns; the yardstick is the same model asked one question at a time.
"""

import argparse
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from benchmarks.command import positive, run
from benchmarks.record import keep
from permnet.answers import Resolver
from permnet.checkpoint import describe, shipped
from permnet.provenance import provenance
from permnet.tasks.benchmarks import benchmark
from permnet.tasks.permutation import Task, to_tokens


def answering() -> list[str]:
    """The shipped models that answer questions, as those of switches do not."""
    return [name for name in shipped() if isinstance(describe(name).task, Task)]


def milliseconds(action: Callable[[], object]) -> float:
    began = time.perf_counter()
    action()
    return 1e3 * (time.perf_counter() - began)


def measure(name: str, examples: int, rounds: int) -> dict[str, Any]:
    """The row of one model."""
    resolver = Resolver.load(name)
    split = benchmark(resolver.checkpoint.run.benchmark).split("test", examples)
    texts = [" ".join(asked) for asked, _ in to_tokens(split.vocab, split.examples)]

    def batched() -> object:
        return resolver(texts)

    def one_by_one() -> object:
        return [resolver(text) for text in texts]

    assert [a.tokens for a in batched()] == [a.tokens for a in one_by_one()]  # and warmed up
    times = [(milliseconds(batched), milliseconds(one_by_one)) for _ in range(rounds)]
    ours, yardstick = (statistics.median(column) / examples for column in zip(*times, strict=True))
    return {
        "preset": name,
        "what": "resolve",
        "precision": "fp32",
        "ours_ms": round(ours, 4),
        "yardstick_ms": round(yardstick, 4),
        "ratio": round(yardstick / ours, 2),
        "examples_per_second": {"batched": round(1e3 / ours), "one_by_one": round(1e3 / yardstick)},
        "peak_gib": None,
        "floor_ms": None,
        "threads": torch.get_num_threads(),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--models", nargs="+", default=answering(), help="all that are shipped")
    parser.add_argument("--examples", type=positive, default=256)
    parser.add_argument("--rounds", type=positive, default=5)
    parser.add_argument("--out", type=Path)
    args = parser.parse_args()
    if not args.models:
        parser.error("no trained models come with this copy: name a checkpoint's folder")
    about = provenance(torch.device("cpu"))
    for name in args.models:
        row = measure(name, args.examples, args.rounds)
        print(row, flush=True)
        if args.out:
            same = {key: about[key] for key in ("hardware", "versions", "date")}
            keep(args.out, [row | same])


if __name__ == "__main__":
    run(main)
