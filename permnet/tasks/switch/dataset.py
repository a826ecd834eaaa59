"""Examples of the switch task as arrays: stored, read, and put into a model's vocabulary.

A split keeps the tokens of all its examples as 16-bit ids into its own table of token names, so
nothing is lost. Which tokens a model knows is another matter: `vocabulary` takes the frequent ones
of a training split, and `SwitchSplit.encoded` lends ids to the rest, example by example.
"""

import hashlib
import json
import re
import zipfile
import zlib
from array import array
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, get_args

import numpy as np

from permnet.errors import PermnetError, unknown
from permnet.tasks.switch.reading import MARKS, MEANS, as_read
from permnet.tasks.switch.terse import UNSAID, in_full, terse
from permnet.vocab import EOS, SOS, SPECIALS, Vocab

Labels = Literal["shuffled", "raw"]
LABELS: tuple[Labels, ...] = get_args(Labels)
CORE = {"switch-6": 6, "switch-10": 10, "switch-20": 20}  # name: most labels of a switch
WIDE = "switch-wide"
SETS = {**CORE, WIDE: 20}
LEAST = 300
"""How often a number occurs in a training split that has a place in the vocabulary."""
SHIPPED = (*((name, "shuffled") for name in SETS), ("switch-6", "raw"))

_NUMBER = re.compile(r"-?\d+")
_ARRAYS = ("inputs", "input_lengths", "targets", "target_lengths")
Pair = tuple[list[str], list[str]]


@dataclass(frozen=True)
class Ragged:
    """Rows of different lengths: row i is `flat[offsets[i] : offsets[i + 1]]`."""

    flat: np.ndarray
    offsets: np.ndarray

    @classmethod
    def of(cls, flat: np.ndarray, lengths: np.ndarray) -> "Ragged":
        return cls(flat, np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)]))

    @property
    def lengths(self) -> np.ndarray:
        return np.diff(self.offsets)

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, i: int) -> np.ndarray:
        return self.flat[self.offsets[i] : self.offsets[i + 1]]

    def __iter__(self) -> Iterator[np.ndarray]:
        return (self[i] for i in range(len(self)))

    def first(self, count: int) -> "Ragged":
        """Its first rows."""
        return Ragged(self.flat[: self.offsets[count]], self.offsets[: count + 1])

    def padded(self, rows: np.ndarray, width: int) -> np.ndarray:
        """The rows that a mask chooses, as an array of that width with 0, `<pad>`, at the right."""
        out = np.zeros((np.count_nonzero(rows), width), self.flat.dtype)
        real = np.arange(width) < self.lengths[rows, None]
        out[real] = self.flat[np.repeat(rows, self.lengths)]
        return out

    def framed(self, first: tuple[int, ...], last: tuple[int, ...]) -> "Ragged":
        """Each row between the same ids."""
        lengths = self.lengths + len(first) + len(last)
        framed = Ragged.of(np.empty(lengths.sum(), self.flat.dtype), lengths)
        inner = np.ones(len(framed.flat), dtype=bool)
        for i, value in enumerate(first):
            framed.flat[framed.offsets[:-1] + i] = value
            inner[framed.offsets[:-1] + i] = False
        for i, value in enumerate(last):
            framed.flat[framed.offsets[1:] - len(last) + i] = value
            inner[framed.offsets[1:] - len(last) + i] = False
        framed.flat[inner] = self.flat
        return framed


@dataclass(frozen=True)
class SwitchSplit:
    """Assembly (`inputs`) and canonical C (`targets`), as ids into `tokens`."""

    name: str
    split: str
    labels: Labels
    compiler: str
    tokens: tuple[str, ...]
    inputs: Ragged
    targets: Ragged
    whole_sha256: str | None = None
    """What `sha256` says of the first examples of a split, if it is to name the whole."""

    def __len__(self) -> int:
        return len(self.inputs)

    def pairs(self) -> Iterator[Pair]:
        """The tokens of each example."""
        names = self.tokens
        for source, target in zip(self.inputs, self.targets, strict=True):
            yield [names[i] for i in source.tolist()], [names[i] for i in target.tolist()]

    def first(self, count: int) -> "SwitchSplit":
        """Its first examples."""
        return replace(self, inputs=self.inputs.first(count), targets=self.targets.first(count))

    def encoded(self, vocab: Vocab) -> tuple[Ragged, Ragged, list[dict[str, int]]]:
        """Inputs from `<sos>` to `<eos>`, targets up to `<eos>`, and what was lent in each example.

        They are what models read and write (reading.py, terse.py); `spelled` is the way back.

        Reserved ids go to unknown tokens in order of appearance, the input's first.
        """
        table = _Table((token, i) for i, token in enumerate(self.tokens))
        read, written = self.inputs, self.targets
        if self.is_c:
            read, said = self._as_read(table, MEANS in vocab), _Numbered(table)
            words = list(table)
            for assembly, c in zip(read, self.targets, strict=True):
                asked, meant = ([words[t] for t in row.tolist()] for row in (assembly, c))
                said.add(terse(meant, asked))
            written = said.rows()
        names = list(table)
        known = [vocab.encode([t])[0][0] if t in vocab else 0 for t in names]
        ids = np.array(known, dtype=np.uint16)
        inputs = Ragged(ids[read.flat], read.offsets)
        targets = Ragged(ids[written.flat], written.offsets)
        lent: list[dict[str, int]] = []
        for i in range(len(self)):
            given: dict[str, int] = {}
            for row, source in ((inputs[i], read[i]), (targets[i], written[i])):
                at = np.flatnonzero(row == 0)  # no ordinary token has the id of <pad>
                row[at], given = vocab.encode((names[t] for t in source[at]), given)
            lent.append(given)
        return inputs.framed((SOS,), (EOS,)), targets.framed((), (EOS,)), lent

    def _as_read(self, table: "_Table", spelled: bool) -> Ragged:
        """The inputs as models read them. Most are read as they are, and never made words."""
        at = np.flatnonzero(np.isin(self.inputs.flat, [table[w] for w in MARKS if w in table]))
        rows = list(self.inputs)
        for i in np.unique(np.searchsorted(self.inputs.offsets, at, "right") - 1):
            read = _Numbered(table)
            read.add(as_read([self.tokens[t] for t in rows[i].tolist()], spelled)[0])
            rows[i] = read.rows().flat
        lengths = np.fromiter(map(len, rows), np.int64)
        return Ragged.of(np.concatenate([self.inputs.flat[:0], *rows]), lengths)

    def spelled(self, tokens: list[str]) -> list[str]:
        """A model's answer as the targets are written: C in full."""
        return in_full(tokens)[0] if self.is_c else tokens

    @property
    def is_c(self) -> bool:
        """Whether the targets are programs, not lists of labels."""
        return self.name in SETS

    @property
    def sha256(self) -> str:
        """Of the tokens, whatever the file they lie in."""
        if self.whole_sha256 is not None:
            return self.whole_sha256
        digest = hashlib.sha256()
        for source, target in self.pairs():
            digest.update(f"{' '.join(source)}\t{' '.join(target)}\n".encode())
        return digest.hexdigest()


class _Table(dict[str, int]):
    """Token → number; a new token gets the next one."""

    def __missing__(self, token: str) -> int:
        return self.setdefault(token, len(self))


class _Numbered:
    """Rows of tokens as their numbers in a table."""

    def __init__(self, table: _Table) -> None:
        self.table, self.flat, self.lengths = table, array("H"), array("I")

    def add(self, tokens: list[str]) -> None:
        self.flat.extend([self.table[token] for token in tokens])
        self.lengths.append(len(tokens))

    def rows(self) -> Ragged:
        return Ragged.of(
            np.array(self.flat, dtype=np.uint16), np.array(self.lengths, dtype=np.uint32)
        )


def build(
    name: str, split: str, labels: Labels, compiler: str, pairs: Iterable[Pair]
) -> SwitchSplit:
    """A split of these examples; its table lists the tokens in order of appearance."""
    table = _Table()
    inputs, targets = _Numbered(table), _Numbered(table)
    for source, target in pairs:
        inputs.add(source)
        targets.add(target)
    return SwitchSplit(name, split, labels, compiler, tuple(table), inputs.rows(), targets.rows())


def vocabulary(train: SwitchSplit, reserved: int, least: int = LEAST) -> Vocab:
    """All words of a training split that a model reads or writes, and the numbers that occur at
    least so often in it."""
    inputs, targets = (
        np.bincount(side.flat, minlength=len(train.tokens))
        for side in (train.inputs, train.targets)
    )
    kept = [
        (-count, token)
        for count, token in zip((inputs + targets).tolist(), train.tokens, strict=True)
        if token not in UNSAID and (count >= least or not _NUMBER.fullmatch(token))
    ]
    words = (token for _, token in sorted(kept))
    return Vocab((*words, *((MEANS,) if train.is_c else ())), reserved)


def file_name(name: str, labels: str, split: str) -> str:
    return f"{name}-{labels}-{split}.npz"


def save(split: SwitchSplit, path: Path) -> None:
    """Write a split; the file has its name only when it is complete.

    An `.npz` as NumPy reads it, but packed by bzip2, which makes it a third smaller.
    """
    about = {
        "name": split.name,
        "split": split.split,
        "labels": split.labels,
        "compiler": split.compiler,
        "tokens": split.tokens,
    }
    partial = path.with_name(f".{path.name}.part")
    arrays = {
        "about": np.frombuffer(json.dumps(about).encode(), dtype=np.uint8),
        "inputs": split.inputs.flat,
        "input_lengths": split.inputs.lengths.astype(np.uint16),
        "targets": split.targets.flat,
        "target_lengths": split.targets.lengths.astype(np.uint16),
    }
    with zipfile.ZipFile(partial, "w", zipfile.ZIP_BZIP2, compresslevel=9) as file:
        for name, values in arrays.items():
            # A fixed date, so that equal data are equal files.
            member = zipfile.ZipInfo(f"{name}.npy", (1980, 1, 1, 0, 0, 0))
            member.compress_type = zipfile.ZIP_BZIP2
            with file.open(member, "w") as part:
                np.lib.format.write_array(part, values, allow_pickle=False)
    partial.replace(path)


def load(path: Path) -> SwitchSplit:
    """Read what `save` wrote."""
    try:
        with path.open("rb") as stored, np.load(stored, allow_pickle=False) as file:
            about = json.loads(file["about"].tobytes())
            inputs, input_lengths, targets, target_lengths = (file[name] for name in _ARRAYS)
        if {ids.dtype for ids in (inputs, targets)} != {np.dtype(np.uint16)}:
            raise ValueError("ids are not of 16 bits")
        split = SwitchSplit(
            about["name"],
            about["split"],
            about["labels"],
            about["compiler"],
            tuple(about["tokens"]),
            Ragged.of(inputs, input_lengths),
            Ragged.of(targets, target_lengths),
        )
    except FileNotFoundError as error:
        raise PermnetError(f"there is no {path}") from error
    except (
        OSError,
        ValueError,
        KeyError,
        TypeError,
        EOFError,
        zipfile.BadZipFile,
        zlib.error,
    ) as e:
        raise PermnetError(f"{path} is damaged or no data of the switch task: {e}") from e
    for side in (split.inputs, split.targets):
        if side.offsets[-1] != len(side.flat) or np.any(side.flat >= len(split.tokens)):
            raise PermnetError(f"{path} is damaged: its lengths or ids do not fit together")
    if len(split.inputs) != len(split.targets):
        raise PermnetError(f"{path} is damaged: inputs and targets differ in number")
    return split


def shipped(name: str, labels: Labels = "shuffled") -> SwitchSplit:
    """The first 1,000 test examples, which come with the package.

    >>> len(shipped("switch-10"))
    1000
    """
    if name not in SETS:
        raise unknown("data set", name, SETS)
    if (name, labels) not in SHIPPED:
        raise PermnetError(
            f"{name} with {labels} labels does not ship, only switch-6 has both: "
            f"permnet data {name} --labels {labels} --generate DIR makes it"
        )
    return load(Path(__file__).parent / "data" / file_name(name, labels, "test"))


def with_specials(pair: Pair) -> Pair:
    """The tokens as they are printed and scored, from `<sos>` to `<eos>`."""
    sos, eos = SPECIALS[SOS], SPECIALS[EOS]
    source, target = pair
    return [sos, *source, eos], [sos, *target, eos]
