"""Score anyone's output on a frozen split."""

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from permnet.errors import PermnetError
from permnet.metrics import compare, summary
from permnet.tasks.benchmarks import seen_in_training
from permnet.tasks.find import find
from permnet.tasks.switch.benchmark import SwitchBenchmark, benchmark_name, cases, outline
from permnet.tasks.switch.dataset import SwitchSplit
from permnet.vocab import EOS, PAD, SOS, SPECIALS, Vocab

UNKNOWN = -1  # no target has it
Verify = Callable[[Sequence[tuple[Sequence[str], Sequence[str]]]], list[bool]]
"""Tells of each C whether it gives the assembly beside it: `permnet.decompiling.verify.verify`."""


def score(
    name: str,
    predictions: Iterable[Sequence[str]] | str | Path,
    split: str = "test",
    limit: int | None = None,
    data: Path | None = None,
    verify: Verify | None = None,
) -> dict[str, Any]:
    """TA, WEA with its interval, the same on unseen examples and by length, and the data's digest.

    `predictions` holds the output tokens of each example of the split, in order: lists, or the path
    of a JSON Lines file of rows `{"output": [tokens]}`. A leading `<sos>` may be left out; without
    `<eos>` the model did not stop, which is one wrong token; a token outside the vocabulary is
    wrong.

    On switch sets there is also the share of right skeletons, and a length is the number of case
    labels. Their test splits are the 1,000 examples that ship, or those in the folder `data`. With
    `verify` there is the share of answers that recompile to their input, too.

        score("PI20", [["c", "a", "b", "<eos>"], …], limit=1000)
    """
    found = find(name, data)
    if isinstance(predictions, str | Path):
        predictions = _read(Path(predictions))
    if isinstance(found, SwitchBenchmark):
        of_switches = found.split(split, limit)
        rows = list(_checked(predictions, len(of_switches)))
        return switch_figures(of_switches, rows, verify)
    if verify is not None:
        raise PermnetError(f"only switch sets have C to compile, {name} has none")
    chosen = found.split(split, limit)
    targets = chosen.examples.targets
    emitted = _encode(predictions, chosen.vocab, targets.shape)
    ta, whole = compare(emitted, targets)
    return {
        "benchmark": str(chosen.benchmark),
        "split": chosen.name,
        "data_sha256": chosen.sha256,
        **summary(ta, whole, chosen.examples.lengths, seen_in_training(chosen)),
    }


def switch_figures(
    split: SwitchSplit, outputs: Sequence[Sequence[str]], verify: Verify | None = None
) -> dict[str, Any]:
    """The figures of answers to a switch split: tokens up to `<eos>`, which says that it stopped.

    Without `verify` whether they recompile is not tried, and there is no such figure.
    """
    sources, targets = zip(*split.pairs(), strict=True)
    marks = grade(outputs, targets, split.name)
    if verify is not None:
        verdicts = verify([(_program(c), s) for c, s in zip(outputs, sources, strict=True)])
        marks["recompiles"] = np.array(verdicts)
    return {
        "benchmark": benchmark_name(split),
        "split": split.split,
        "data_sha256": split.sha256,
        "compiler": split.compiler,
        **summary(marks.pop("ta"), marks.pop("wea"), cases(split), **marks),
    }


def _program(output: Sequence[str]) -> Sequence[str]:
    """The C of an answer; nothing where it did not stop."""
    eos = SPECIALS[EOS]
    return output[: output.index(eos)] if eos in output else ()


def grade(
    outputs: Sequence[Sequence[str]], targets: Sequence[Sequence[str]], name: str
) -> dict[str, np.ndarray]:
    """TA, WEA and whether the skeleton is right, of each answer in tokens up to `<eos>`.

    `name` is that of the set.
    """
    of = outline(name)
    rows = [_grade(output, target, of) for output, target in zip(outputs, targets, strict=True)]
    ta, whole, right = zip(*rows, strict=True) if rows else ((), (), ())
    return {"ta": np.array(ta), "wea": np.array(whole), "skeleton": np.array(right)}


def _grade(
    output: Sequence[str], target: Sequence[str], of: Callable[[Sequence[str]], object]
) -> tuple[float, bool, bool]:
    eos = SPECIALS[EOS]
    said = list(output[: output.index(eos) + 1] if eos in output else output)
    wanted = [*target, eos]
    matches = sum(a == b for a, b in zip(said, wanted, strict=False))
    return matches / len(wanted), said == wanted, of(said) == of(wanted)


def _encode(
    predictions: Iterable[Sequence[str]], vocab: Vocab, shape: tuple[int, ...]
) -> np.ndarray:
    """Ids of the rows, cut at the width of the targets, where nothing right can follow."""
    ids = {vocab.name(i): i for i in range(len(vocab))}
    emitted = np.full(shape, PAD, dtype=np.int64)
    for emitted_row, tokens in zip(emitted, _checked(predictions, len(emitted)), strict=True):
        row = [ids.get(token, UNKNOWN) for token in tokens[: shape[1]]]
        emitted_row[: len(row)] = row
    return emitted


def _checked(predictions: Iterable[Sequence[str]], rows: int) -> Iterator[Sequence[str]]:
    """As many outputs as there are examples, each without a leading `<sos>`."""
    count = 0
    for count, tokens in enumerate(predictions, start=1):
        if not (isinstance(tokens, list | tuple) and all(isinstance(t, str) for t in tokens)):
            raise PermnetError(f"prediction {count}: an output is a list of token strings")
        if count <= rows:
            yield tokens[1:] if tokens and tokens[0] == SPECIALS[SOS] else tokens
    if count != rows:
        raise PermnetError(
            f"{count} predictions for {rows} examples: write one row for each, in order, "
            "or set the limit to the number you have"
        )


def _read(path: Path) -> Iterator[Any]:
    try:
        if path.exists() and not path.is_file():  # opening a pipe may wait for ever
            raise PermnetError(f"cannot read {path}: it is not a regular file")
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
