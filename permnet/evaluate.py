"""The figures of a model on a benchmark: free-running greedy decoding, and teacher-forced TA."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from permnet.batch import Batch, Bucket, buckets, repeats
from permnet.decode import Decoder, trimmed
from permnet.errors import PermnetError
from permnet.metrics import compare, summary
from permnet.models import Seq2Seq
from permnet.scoring import Verify, switch_figures
from permnet.tasks.benchmarks import Split, seen_in_training
from permnet.tasks.find import find
from permnet.tasks.switch.dataset import SwitchSplit
from permnet.vocab import EOS, PAD, SPECIALS, Vocab

Progress = Callable[[int, int], None]
"""Called with the number of examples done, and of all."""


def evaluate(
    model: Seq2Seq,
    benchmark: str | Split | SwitchSplit,
    split: str = "validation",
    limit: int | None = None,
    *,
    vocab: Vocab,
    batch: int | None = None,
    progress: Progress | None = None,
    data: Path | None = None,
    verify: Verify | None = None,
) -> dict[str, Any]:
    """TA, WEA and their like on a split given by name, or on one at hand, ready for JSON.

    `vocab` is the model's; it may hold more tokens than the benchmark's. The model stays on its
    device and keeps its mode. `data` is the folder of a switch set's data, `verify` tells which
    answers to it recompile.
    """
    if isinstance(benchmark, str):
        benchmark = find(benchmark, data).split(split, limit)
    began = time.perf_counter()
    if isinstance(benchmark, SwitchSplit):
        answered, forced = answer_switches(model, benchmark, vocab, batch, progress)
        return {
            **switch_figures(benchmark, answered, verify),
            "teacher_forced_ta": forced,
            "seconds": round(time.perf_counter() - began, 3),
        }
    if verify is not None:
        raise PermnetError(f"only switch sets have C to compile, {benchmark.benchmark} has none")
    batch = batch or 512
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


def answer_switches(
    model: Seq2Seq,
    split: SwitchSplit,
    vocab: Vocab,
    batch: int | None = None,
    progress: Progress | None = None,
) -> tuple[list[list[str]], float]:
    """The model's answers to a switch split, in tokens up to `<eos>`, and teacher-forced TA."""
    device = next(model.parameters()).device
    batch = batch or (256 if device.type == "cuda" else 16)  # long inputs need memory
    inputs, targets, lent = split.encoded(vocab)
    answers: list[list[str]] = [[] for _ in range(len(split))]
    forced, done = 0.0, 0
    for bucket in buckets(inputs, targets, np.ones(len(split), dtype=bool), batch, device):
        emitted = predict(model, bucket.data.inputs, bucket.data.targets.shape[1], batch)
        for row, tokens in zip(bucket.rows, in_tokens(bucket, emitted, vocab, lent), strict=True):
            answers[row] = split.spelled(tokens)
        forced += len(bucket) * _teacher_forced(model, bucket.data, batch)
        done += len(bucket)
        if progress:
            progress(done, len(split))
    return answers, forced / len(split)


def in_tokens(
    bucket: Bucket, emitted: Tensor, vocab: Vocab, lent: list[dict[str, int]]
) -> Iterator[list[str]]:
    """The answers to a bucket (N, T), each up to its first `<eos>`."""
    for row, ids in zip(bucket.rows, emitted.tolist(), strict=True):
        end = ids.index(EOS) + 1 if EOS in ids else len(ids)
        yield vocab.decode(ids[:end], lent[row])


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
    decoder: Decoder | None = None,
) -> Tensor:
    """Greedy answers (N, max_length) to inputs (N, L), on the CPU: up to `<eos>`, then `<pad>`.

    Hand in a `decoder` of the model to keep what it captured from one call to the next.
    """
    answers = torch.full((len(inputs), max_length), PAD, device="cpu")
    decoder = decoder or Decoder(model)
    done = 0
    with _evaluating(model) as device:
        for rows in _batches(inputs, batch, device):
            ids = decoder(_fitted(inputs[rows], device), max_length).cpu()
            answers[rows.cpu(), : ids.shape[1]] = ids
            done = min(done + batch, len(inputs))
            if progress:
                progress(done, len(inputs))
    return answers


@torch.no_grad()
def _teacher_forced(model: Seq2Seq, data: Batch, batch: int) -> float:
    """TA when every step is told the right previous token."""
    shares = torch.zeros(len(data), dtype=torch.double, device="cpu")
    repeated = repeats(data)
    with _evaluating(model) as device:
        for rows in _batches(data.inputs, batch, device):
            at = rows.to(data.inputs.device)
            part = Batch(*(_fitted(ids[at], device) for ids in (data.inputs, data.targets)))
            real = part.targets != PAD
            said = model(part.inputs, part.previous, repeats=repeated).argmax(-1)
            right = (said == part.targets) & real
            shares[rows.cpu()] = (right.sum(1) / real.sum(1).double()).cpu()
    return float(shares.mean())


def _batches(inputs: Tensor, size: int, device: torch.device) -> Iterator[Tensor]:
    """The numbers of all rows, in batches of rows of like length: they end at like steps.

    On a GPU the last batch is filled up with rows of the one before, so that all have one shape.
    """
    order = (inputs != PAD).sum(1).argsort(stable=True)
    for start in range(0, len(order), size):
        first = max(0, min(start, len(order) - size)) if device.type == "cuda" else start
        yield order[first : start + size]


def _fitted(ids: Tensor, device: torch.device) -> Tensor:
    """Rows on the device; for a CPU no wider than the longest, for a GPU always of one width."""
    return ids.to(device).long() if device.type == "cuda" else trimmed(ids).to(device).long()


@contextmanager
def _evaluating(model: Seq2Seq) -> Iterator[torch.device]:
    """Puts a model into evaluation mode for a block, and says which device it is on."""
    training = model.training
    model.eval()
    try:
        yield next(model.parameters()).device
    finally:
        model.train(training)
