"""What a run trains on: its data on the device, stage by stage, and how answers are graded.

`Permutations` and `Switches` do the same for the two sorts of benchmarks.
"""

import hashlib
import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from permnet.batch import Batch, Bucket, buckets, lend, renamed, repeats, resident
from permnet.build import FIXED_LENGTH
from permnet.config import Run, TrainConfig
from permnet.evaluate import answer_switches, evaluate, in_tokens
from permnet.metrics import compare
from permnet.models import Seq2Seq
from permnet.scoring import grade, switch_figures
from permnet.tasks.benchmarks import Benchmark
from permnet.tasks.permutation import Examples, Task
from permnet.tasks.switch.benchmark import (
    SwitchBenchmark,
    cases,
    label_ids,
    scored_on,
    switch_benchmark,
)
from permnet.tasks.switch.dataset import Ragged, SwitchSplit
from permnet.vocab import SPECIALS

Answers = dict[str, list[list[str]]]
"""To the test splits of benchmarks, by name: the tokens of each answer."""

SOLVED = 0.99
"""Share of whole examples at which a growing length is solved, unless the run stops at another."""


@dataclass(frozen=True)
class Stage:
    """A length to train on: its resident data, how long at most and when it is solved."""

    length: int
    training: tuple[Bucket, ...]
    validation: tuple[Bucket, ...]
    repeats: bool
    """Whether a token that is asked for may stand more than once in its input."""
    epochs: int
    solved: float
    """Share of whole validation examples that ends the stage; above 1 for never."""
    patience: float
    """Epochs without a lower validation loss that end the stage."""


def _stage(
    config: TrainConfig,
    length: int,
    longest: int,
    training: list[Bucket],
    validation: list[Bucket],
    repeated: bool,
) -> Stage:
    full = length == longest
    epochs = config.epochs if full else config.grow_epochs
    solved = config.stop_when_solved or (2.0 if full else SOLVED)
    patience = config.patience * epochs if full and config.patience else math.inf
    data = tuple(training), tuple(validation)
    return Stage(length, *data, repeated, epochs, solved, patience)


class Permutations:
    """The examples of a permutation benchmark; growing lengths are drawn anew."""

    marks = ("ta", "wea")

    def __init__(self, run: Run, bench: Benchmark, device: torch.device) -> None:
        self.run, self.config, self.bench, self.device = run, run.train, bench, device
        self.vocab = bench.task.vocab(run.train.reserved)
        self.track = "fresh" if run.train.fresh or run.train.grow else "fixed"

    def stage(self, length: int) -> Stage:
        """That of a growing length, or of the full one: the benchmark itself."""
        task, config = self.bench.task, self.config
        full = length == task.longest
        if full:
            valid = self.bench.split("validation", config.evaluate_limit).examples
        else:
            task = self._task(length)
            valid = self._sample(task, config.evaluate_limit, "check", config.seed, length)
        if config.fresh or not full:
            train = self._sample(task, config.examples, "grow", config.seed, length)
        else:
            train = self.bench.split("train", config.examples).examples
        data = [self._resident(examples) for examples in (train, valid)]
        repeated = any(repeats(bucket.data) for bucket in data)
        return _stage(config, length, self.bench.task.longest, data[:1], data[1:], repeated)

    def refresh(self, stage: Stage, place: tuple[int, ...]) -> None:
        """New training examples in the place of the old: a captured step reads them there."""
        if not self.config.fresh:
            return
        (old,) = stage.training
        drawn = self._sample(self._task(stage.length), len(old), "fresh", *place)
        fresh = self._resident(drawn)
        old.data.inputs.copy_(fresh.data.inputs)
        old.data.targets.copy_(fresh.data.targets)

    def vary(self, batch: Batch, generator: torch.Generator) -> Batch:
        """A batch as one step of training sees it."""
        return lend(batch, self.vocab, self.config.unseen, generator)

    def grade(self, bucket: Bucket, emitted: Tensor) -> dict[str, np.ndarray]:
        """What is right in the answers (N, T) to validation examples, each under its name."""
        ta, whole = compare(emitted.numpy(), bucket.data.targets.cpu().numpy())
        return {"ta": ta, "wea": whole}

    def test(self, model: Seq2Seq, limit: int | None) -> tuple[dict[str, Any], Answers]:
        split = self.bench.split("test", limit)
        return {"test": evaluate(model, split, vocab=self.vocab, batch=self.config.batch)}, {}

    def _task(self, length: int) -> Task:
        task = self.bench.task
        if length == task.longest:
            return task
        shortest = length if task.shortest == task.longest else min(task.shortest, length)
        return replace(task, shortest=shortest, longest=length, tokens=task.size)

    def _sample(self, task: Task, count: int, *place: object) -> Examples:
        return task.sample(count, np.random.RandomState(derived(str(self.bench), *place)))

    def _resident(self, examples: Examples) -> Bucket:
        padded = self.device.type == "cuda" and self.run.model.without not in FIXED_LENGTH
        data = resident(
            examples.inputs,
            examples.targets,
            self.vocab,
            self.device,
            multiple=8 if padded else 1,
        )
        return Bucket(np.arange(len(data)), data)


class Switches:
    """The examples of a switch set in buckets of like length; it grows by the number of labels."""

    marks = ("ta", "wea", "skeleton")

    def __init__(self, run: Run, bench: SwitchBenchmark, device: torch.device) -> None:
        self.config, self.bench, self.device = run.train, bench, device
        self.vocab = bench.vocab(run.train.reserved)
        self.track = "fixed"
        training = bench.split("train", run.train.examples)
        self.validation = bench.split("validation", run.train.evaluate_limit)
        self.targets = [target for _, target in self.validation.pairs()]
        inputs, targets, _ = training.encoded(self.vocab)
        self.training_rows = inputs, targets, cases(training)
        inputs, targets, self.lent = self.validation.encoded(self.vocab)
        self.validation_rows = inputs, targets, cases(self.validation)
        groups = [[*range(len(SPECIALS), self.vocab.first_token)]]
        if bench.task.labels == "shuffled":
            groups.append(label_ids(self.vocab))
        self.groups = [torch.tensor(ids, device=device) for ids in groups if ids]

    def stage(self, length: int) -> Stage:
        """Of all examples those with at most so many case labels."""
        training = self._buckets(*self.training_rows, length, self.config.batch)
        validation = self._buckets(*self.validation_rows, length, 1)
        longest = self.bench.task.longest
        return _stage(self.config, length, longest, training, validation, repeated=True)

    def refresh(self, stage: Stage, place: tuple[int, ...]) -> None:
        """Nothing: the examples stay, `vary` makes them new."""

    def vary(self, batch: Batch, generator: torch.Generator) -> Batch:
        """A batch under other names of its labels, where they are shuffled, and of rare numbers."""
        return renamed(batch, self.groups, len(self.vocab), generator)

    def grade(self, bucket: Bucket, emitted: Tensor) -> dict[str, np.ndarray]:
        """What is right in the answers (N, T) to validation examples, each under its name."""
        said = in_tokens(bucket, emitted, self.vocab, self.lent)
        answers = [self.validation.spelled(tokens) for tokens in said]
        return grade(answers, [self.targets[row] for row in bucket.rows], self.bench.name)

    def test(self, model: Seq2Seq, limit: int | None) -> tuple[dict[str, Any], Answers]:
        """The figures on its own test split and those of the smaller sets with like labels, and
        the answers."""
        figures, answers = {}, {}
        for name in scored_on(self.bench.name):
            split = self._test_split(name, limit)
            answers[name], forced = answer_switches(model, split, self.vocab)
            figures[name] = {**switch_figures(split, answers[name]), "teacher_forced_ta": forced}
        own = figures.pop(self.bench.name)
        return {"test": own, "tests": figures}, answers

    def _test_split(self, name: str, limit: int | None) -> SwitchSplit:
        bench = switch_benchmark(name, self.bench.folder)
        return bench.split("test", limit and min(limit, bench.size("test")))

    def _buckets(
        self, inputs: Ragged, targets: Ragged, count: np.ndarray, length: int, least: int
    ) -> list[Bucket]:
        return buckets(inputs, targets, count <= length, least, self.device)


Material = Permutations | Switches


def material(run: Run, bench: Benchmark | SwitchBenchmark, device: torch.device) -> Material:
    if isinstance(bench, SwitchBenchmark):
        return Switches(run, bench, device)
    return Permutations(run, bench, device)


def derived(*parts: object) -> int:
    """A seed of 32 bits for one use: what it is for, the run's seed, and the place in the run."""
    text = "/".join(map(str, parts))
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:4], "little")
