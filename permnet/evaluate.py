"""The figures of a model on a benchmark: free-running greedy decoding, and teacher-forced TA."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from torch import Tensor

from permnet.batch import Batch
from permnet.decode import greedy
from permnet.errors import PermnetError
from permnet.metrics import compare, summary
from permnet.models import Seq2Seq
from permnet.tasks.benchmarks import Split, seen_in_training
from permnet.tasks.benchmarks import benchmark as find_benchmark
from permnet.vocab import PAD, SPECIALS, Vocab

Progress = Callable[[int, int], None]
"""Called with the number of examples done, and of all."""


def evaluate(
    model: Seq2Seq,
    benchmark: str | Split,
    split: str = "validation",
    limit: int | None = None,
    *,
    vocab: Vocab,
    batch: int = 512,
    progress: Progress | None = None,
) -> dict[str, Any]:
    """TA, WEA and their like on a split given by name, or on one at hand, ready for JSON.

    `vocab` is the model's; it may hold more tokens than the benchmark's. The model stays on its
    device and keeps its mode.
    """
    if isinstance(benchmark, str):
        benchmark = find_benchmark(benchmark).split(split, limit)
    began = time.perf_counter()
    table = _translation(benchmark, vocab)
    inputs, targets = (
        torch.from_numpy(table[ids])
        for ids in (benchmark.examples.inputs, benchmark.examples.targets)
    )
    emitted = predict(model, inputs, targets.shape[1], batch, progress)
    ta, whole = compare(emitted.numpy(), targets.numpy())
    forced = _teacher_forced(model, Batch(inputs, targets), batch)
    return {
        "benchmark": str(benchmark.benchmark),
        "split": benchmark.name,
        "data_sha256": benchmark.sha256,
        **summary(ta, whole, benchmark.examples.lengths, seen_in_training(benchmark)),
        "teacher_forced_ta": forced,
        "seconds": round(time.perf_counter() - began, 3),
    }


def _translation(split: Split, vocab: Vocab) -> np.ndarray:
    """For each id of the benchmark the model's id of the same token."""
    missing = [token for token in split.vocab.tokens if token not in vocab]
    if missing:
        raise PermnetError(
            f"the model's vocabulary does not cover {split.benchmark}: {len(missing)} tokens are "
            f"missing, such as {missing[0]!r}; choose a model or a benchmark of the same size"
        )
    return np.array(vocab.encode([*SPECIALS, *split.vocab.tokens])[0])


@torch.no_grad()
def predict(
    model: Seq2Seq,
    inputs: Tensor,
    max_length: int,
    batch: int = 512,
    progress: Progress | None = None,
) -> Tensor:
    """Greedy answers (N, max_length) to inputs (N, L), on the CPU: up to `<eos>`, then `<pad>`."""
    answers = torch.full((len(inputs), max_length), PAD)
    with _evaluating(model) as device:
        for start in range(0, len(inputs), batch):
            rows = inputs[start : start + batch].to(device).long()
            ids = greedy(model, rows, max_length).ids
            answers[start : start + len(ids), : ids.shape[1]] = ids.cpu()
            if progress:
                progress(start + len(ids), len(inputs))
    return answers


@torch.no_grad()
def _teacher_forced(model: Seq2Seq, data: Batch, batch: int) -> float:
    """TA when every step is told the right previous token."""
    total = 0.0
    with _evaluating(model) as device:
        for rows in torch.arange(len(data)).split(batch):
            part = data.rows(rows)
            part = Batch(part.inputs.to(device), part.targets.to(device))
            real = part.targets != PAD
            right = (model(part.inputs, part.previous).argmax(-1) == part.targets) & real
            total += float((right.sum(1) / real.sum(1).double()).sum())
    return total / len(data)


@contextmanager
def _evaluating(model: Seq2Seq) -> Iterator[torch.device]:
    """Puts a model into evaluation mode for a block, and says which device it is on."""
    training = model.training
    model.eval()
    try:
        yield next(model.parameters()).device
    finally:
        model.train(training)
