"""What the settings of a training may be.

This module does not import torch, so that the command line refuses bad ones at once.
"""

import itertools
import math

from permnet.config import TrainConfig
from permnet.errors import PermnetError
from permnet.tasks.benchmarks import SPLITS, Benchmark
from permnet.tasks.switch.benchmark import SwitchBenchmark, cases


def check_processes(devices: int, nodes: int, time_budget: float | None) -> None:
    """Refuses numbers of processes and of seconds with which nothing can be trained."""
    if time_budget is not None and not time_budget > 0:
        raise PermnetError(f"time_budget is above 0 seconds, not {time_budget}")
    if devices < 1 or nodes < 1:
        raise PermnetError(f"devices and nodes are 1 or more, not {devices} and {nodes}")


def check_settings(
    config: TrainConfig,
    bench: Benchmark | SwitchBenchmark,
    processes: int,
    test_limit: int | None,
) -> None:
    """Refuses settings that cannot work on a benchmark, whichever the model."""
    c, longest = config, bench.task.longest
    sizes = {name: bench.size(name) for name in SPLITS}
    drawn = isinstance(bench, Benchmark)
    lengths = (0, *c.grow, longest)
    rules = (
        ("epochs", c.epochs >= 1, "1 or more"),
        ("examples", c.examples >= 1, "1 or more"),
        ("batch", 1 <= c.batch <= c.examples, f"1 to {c.examples}, the number of examples"),
        ("batch", c.batch % processes == 0, f"a multiple of the {processes} processes"),
        ("rate", 0 < c.rate < math.inf, "above 0"),
        ("warmup", c.warmup >= 0, "0 or more"),
        ("clip", 0 <= c.clip < math.inf, "0 or more, and finite"),
        ("weight_decay", 0 <= c.weight_decay < math.inf, "0 or more, and finite"),
        ("z_loss", 0 <= c.z_loss < math.inf, "0 or more, and finite"),
        ("unseen", 0 <= c.unseen <= 1, "0 to 1"),
        ("unseen", not c.unseen or c.reserved, "0 unless train.reserved is above 0"),
        ("unseen", not c.unseen or drawn, "0 for switch sets, whose rare numbers have such ids"),
        ("fresh", not c.fresh or drawn, "for permutations only"),
        (
            "examples",
            c.fresh or c.examples <= sizes["train"],
            f"at most {sizes['train']}, the split",
        ),
        (
            "grow",
            all(a < b for a, b in itertools.pairwise(lengths)),
            f"lengths that grow, from 1 and below the full length {longest}",
        ),
        ("grow_epochs", c.grow_epochs >= 1, "1 or more"),
        ("stop_when_solved", 0 <= c.stop_when_solved <= 1, "0 to 1"),
        ("patience", 0 <= c.patience <= 1, "0 to 1"),
        ("time_limit", 0 <= c.time_limit < math.inf, "0 or more"),
        ("evaluate_every", c.evaluate_every >= 1, "1 or more"),
        (
            "evaluate_limit",
            1 <= c.evaluate_limit <= sizes["validation"],
            f"1 to {sizes['validation']}",
        ),
        ("seed", 0 <= c.seed < 2**64, "0 or more, in 64 bits"),
    )
    for name, holds, wanted in rules:
        if not holds:
            raise PermnetError(f"train.{name} is {wanted}, not {getattr(c, name)}")
    if test_limit is not None and not 1 <= test_limit <= sizes["test"]:
        raise PermnetError(f"test_limit is 1 to {sizes['test']}, not {test_limit}")
    if c.grow and isinstance(bench, SwitchBenchmark):
        _check_first_length(c, bench)


def _check_first_length(config: TrainConfig, bench: SwitchBenchmark) -> None:
    """Refuses a length to begin with that too few examples of a switch set have."""
    c, length = config, config.grow[0]
    for split, used, least in (
        ("train", c.examples, c.batch),
        ("validation", c.evaluate_limit, 1),
    ):
        found = int((cases(bench.split(split, used)) <= length).sum())
        if found < least:
            raise PermnetError(
                f"train.grow begins at {length}, and {found} of the first {used} examples for "
                f"{split} are no longer: {least} are needed, begin with a greater length"
            )
