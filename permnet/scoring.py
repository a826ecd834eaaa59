"""Score anyone's output on a frozen split."""

import json
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from permnet.errors import PermnetError
from permnet.metrics import compare, summary
from permnet.tasks.benchmarks import benchmark, seen_in_training
from permnet.vocab import PAD, SOS, SPECIALS, Vocab

UNKNOWN = -1  # no target has it


def score(
    benchmark_name: str,
    predictions: Iterable[Sequence[str]] | str | Path,
    split: str = "test",
    limit: int | None = None,
) -> dict[str, Any]:
    """TA, WEA with its interval, the same on unseen examples and by length, and the data's digest.

    `predictions` holds the output tokens of each example of the split, in order: lists, or the path
    of a JSON Lines file of rows `{"output": [tokens]}`. A leading `<sos>` may be left out; without
    `<eos>` the model did not stop, which is one wrong token; a token outside the vocabulary is
    wrong.

        score("PI20", [["c", "a", "b", "<eos>"], …], limit=1000)
    """
    chosen = benchmark(benchmark_name).split(split, limit)
    targets = chosen.examples.targets
    if isinstance(predictions, str | Path):
        predictions = _read(Path(predictions))
    emitted = _encode(predictions, chosen.vocab, targets.shape)
    ta, whole = compare(emitted, targets)
    return {
        "benchmark": str(chosen.benchmark),
        "split": chosen.name,
        "data_sha256": chosen.sha256,
        **summary(ta, whole, chosen.examples.lengths, seen_in_training(chosen)),
    }


def _encode(
    predictions: Iterable[Sequence[str]], vocab: Vocab, shape: tuple[int, ...]
) -> np.ndarray:
    """Ids of the rows, cut at the width of the targets, where nothing right can follow."""
    ids = {vocab.name(i): i for i in range(len(vocab))}
    emitted = np.full(shape, PAD, dtype=np.int64)
    rows, width = shape
    count = 0
    for count, tokens in enumerate(predictions, start=1):
        if not (isinstance(tokens, list | tuple) and all(isinstance(t, str) for t in tokens)):
            raise PermnetError(f"prediction {count}: an output is a list of token strings")
        if count <= rows:
            first = 1 if tokens and tokens[0] == SPECIALS[SOS] else 0
            row = [ids.get(token, UNKNOWN) for token in tokens[first : first + width]]
            emitted[count - 1, : len(row)] = row
    if count != rows:
        raise PermnetError(
            f"{count} predictions for {rows} examples: write one row for each, in order, "
            "or set the limit to the number you have"
        )
    return emitted


def _read(path: Path) -> Iterator[Any]:
    try:
        with path.open("rb") as lines:
            for number, line in enumerate(lines, start=1):
                yield _row(line, f"{path}, line {number}")
    except OSError as error:
        raise PermnetError(f"cannot read {path}: {error.strerror}") from error


def _row(line: bytes, where: str) -> Any:
    try:
        row = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise PermnetError(f"{where}: not JSON: {error}") from error
    if not isinstance(row, dict) or "output" not in row:
        raise PermnetError(f'{where}: a row is {{"output": [tokens]}}')
    return row["output"]
