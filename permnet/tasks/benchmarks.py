"""The frozen benchmarks: every split is the same bytes everywhere, forever.

A change to what a name stands for is a new version (`PI20@2`) beside the old one. `DATASHEET.md`
tells how they were made.
"""

import hashlib
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal, get_args

import numpy as np

from permnet.errors import PermnetError, unknown
from permnet.tasks.permutation import Examples, Task
from permnet.vocab import Vocab

SplitName = Literal["train", "validation", "test"]
SPLITS: tuple[SplitName, ...] = get_args(SplitName)
SPLIT_SIZE = 100_000


@dataclass(frozen=True)
class Split:
    """Examples of a benchmark, the vocabulary of their ids and the digest of the full split."""

    benchmark: "Benchmark"
    name: SplitName
    examples: Examples
    sha256: str

    @property
    def vocab(self) -> Vocab:
        return self.benchmark.task.vocab()


@dataclass(frozen=True)
class Benchmark:
    """A task with three fixed samples of it; its string is the versioned name, `PI20@1`."""

    name: str
    task: Task
    version: int = 1

    def __str__(self) -> str:
        return f"{self.name}@{self.version}"

    def split(self, name: str, limit: int | None = None) -> Split:
        """The split, or its first `limit` examples; the arrays are shared and read-only."""
        if name not in SPLITS:
            raise unknown("split", name, SPLITS)
        if limit is not None and not 1 <= limit <= SPLIT_SIZE:
            raise PermnetError(f"limit is 1 to {SPLIT_SIZE}, the size of a split, not {limit}")
        examples, sha256 = _full_split(self, name)
        return Split(self, name, examples[:limit], sha256)

    def size(self, name: str) -> int:
        return SPLIT_SIZE

    def sha256(self, name: str) -> str:
        """Of the whole split."""
        return self.split(name).sha256


BENCHMARKS = tuple(
    Benchmark(name, task)
    for name, task in {
        "PD1-4": Task("direct", 1, 4, tokens=10),
        "PD1-10": Task("direct", 1, 10),
        "PD10": Task("direct", 10, 10),
        "PD20": Task("direct", 20, 20),
        "PD40": Task("direct", 40, 40),
        "PD100": Task("direct", 100, 100),
        "PI1-4": Task("indirect", 1, 4, tokens=10),
        "PI1-10": Task("indirect", 1, 10),
        "PI10": Task("indirect", 10, 10),
        "PI20": Task("indirect", 20, 20),
        "PI40": Task("indirect", 40, 40),
        "PI100": Task("indirect", 100, 100),
        "PI_DICT": Task("dict", 10, 10),
        "PD10-noise": Task("direct", 10, 10, noise=10),
        "PI10-noise": Task("indirect", 10, 10, noise=10),
    }.items()
)


def benchmark(name: str) -> Benchmark:
    """The benchmark of that name, with or without its version, in upper or lower case.

    >>> print(benchmark("pi20"))
    PI20@1
    """
    bare, at, version = name.partition("@")
    named = [known for known in BENCHMARKS if known.name.lower() == bare.lower()]
    if not named:
        raise unknown("benchmark", bare, [known.name for known in BENCHMARKS])
    if not at:
        return named[-1]
    for known in named:
        if str(known.version) == version:
            return known
    raise unknown(f"version of {named[0].name}", version, [str(known.version) for known in named])


def seen_in_training(split: Split) -> np.ndarray:
    """Per example whether the same input also stands in the training split."""
    train = split.benchmark.split("train").examples
    return np.isin(_as_scalars(split.examples.inputs), _as_scalars(train.inputs))


def _as_scalars(rows: np.ndarray) -> np.ndarray:
    """Each row as one value of raw bytes, to be compared as a whole."""
    return np.ascontiguousarray(rows).view(np.dtype((np.void, rows.itemsize * rows.shape[1])))[:, 0]


def _seed(name: str) -> int:
    """The first 32 bits, little-endian, of the SHA-256 of the split's name, `PI20@1/test`."""
    return int.from_bytes(hashlib.sha256(name.encode()).digest()[:4], "little")


@lru_cache(maxsize=3)
def _full_split(source: Benchmark, name: str) -> tuple[Examples, str]:
    random = np.random.RandomState(_seed(f"{source}/{name}"))
    examples = source.task.sample(SPLIT_SIZE, random)
    digest = hashlib.sha256()
    for array in (examples.inputs, examples.targets):
        array.flags.writeable = False
        digest.update(f"{array.dtype.str}{array.shape}".encode())
        digest.update(array.tobytes())
    return examples, digest.hexdigest()
