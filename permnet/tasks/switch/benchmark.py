"""The switch sets as benchmarks: named, with the splits that lie in a folder or in the package.

`switch-20` has shuffled labels, `switch-6-raw` those of gcc; `switch-wide` is C as people write it.
`switch-dispatch` asks for the labels of each block instead of C (permnet/switches/model_tokens.py).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

import numpy as np

from permnet.errors import PermnetError, unknown
from permnet.tasks.dispatch import DISPATCH, MOST_ADDRESSES, partition
from permnet.tasks.switch.assembly import is_label
from permnet.tasks.switch.dataset import (
    CORE,
    LABELS,
    SETS,
    SHIPPED,
    Labels,
    SwitchSplit,
    file_name,
    load,
    shipped,
    vocabulary,
)
from permnet.tasks.switch.skeleton import skeleton
from permnet.vocab import Vocab

NAMES = {
    name if labels == "shuffled" else f"{name}-{labels}": (name, labels)
    for name in SETS
    for labels in LABELS
} | {DISPATCH: (DISPATCH, "shuffled")}
# Most labels of a switch; of a dispatch, addresses that it leads to.
_LONGEST = SETS | {DISPATCH: MOST_ADDRESSES}
SPLITS = ("train", "validation", "test")


@dataclass(frozen=True)
class SwitchTask:
    """Switches of at most `longest` labels; how the assembly names its own."""

    longest: int
    labels: Labels


@dataclass(frozen=True)
class SwitchBenchmark:
    """A switch set; without a folder it has nothing but the test examples that ship."""

    name: str
    folder: Path | None = None

    def __str__(self) -> str:
        return self.name

    @property
    def task(self) -> SwitchTask:
        name, labels = NAMES[self.name]
        return SwitchTask(_LONGEST[name], labels)

    def split(self, split: str, limit: int | None = None) -> SwitchSplit:
        """The split, or its first examples."""
        whole, sha256 = self._whole(split)
        if limit is not None and not 1 <= limit <= len(whole):
            raise PermnetError(f"limit is 1 to {len(whole)}, the size of the split, not {limit}")
        return whole if limit is None else replace(whole.first(limit), whole_sha256=sha256)

    def size(self, split: str) -> int:
        return len(self._whole(split)[0])

    def sha256(self, split: str) -> str:
        """Of the whole split."""
        return self._whole(split)[1]

    def vocab(self, reserved: int) -> Vocab:
        """The frequent tokens of the training split.

        Of dispatches only the commonest numbers: any other has to be copied, so that a model does
        not depend on which numbers it was trained with.
        """
        least = {DISPATCH: self.size("train") // 8}.get(self.name, 300)
        return vocabulary(self.split("train"), reserved, least)

    def _whole(self, split: str) -> tuple[SwitchSplit, str]:
        if split not in SPLITS:
            raise unknown("split", split, SPLITS)
        name, labels = NAMES[self.name]
        path = self.folder / file_name(name, labels, split) if self.folder else None
        ships = split == "test" and name in SETS
        if not ships and (path is None or not path.exists()):
            make = f"permnet data {name} --labels {labels} --generate DIR"
            if name == DISPATCH:
                make = "python -m permnet.switches.model_data DIR"
            raise PermnetError(
                f"{path or f'the {split} split of {self.name}'} is not there: "
                f"{make} makes it, and --data DIR says where it is"
            )
        if path is None or not path.exists():
            return _shipped(name, labels)
        return _read(path, path.stat().st_mtime_ns)


def benchmark_name(split: SwitchSplit) -> str:
    return next(name for name, key in NAMES.items() if key == (split.name, split.labels))


def scored_on(name: str) -> list[str]:
    """The set itself and the smaller ones with the same labels, of which test examples ship."""
    of_set, labels = NAMES[name]
    if name == DISPATCH:
        return [name]
    return [
        other
        for other, key in NAMES.items()
        if other == name
        or (key[0] in CORE and CORE[key[0]] <= SETS[of_set] and key[1] == labels and key in SHIPPED)
    ]


def is_switch(name: str) -> bool:
    return name.startswith("switch")


def switch_benchmark(name: str, folder: Path | None = None) -> SwitchBenchmark:
    if name not in NAMES:
        raise unknown("switch set", name, NAMES)
    return SwitchBenchmark(name, folder)


@lru_cache(maxsize=4)  # reading and hashing the largest takes ten seconds, and sweeps do it often
def _read(path: Path, modified: int) -> tuple[SwitchSplit, str]:
    split = load(path)
    return split, split.sha256


@lru_cache(maxsize=4)
def _shipped(name: str, labels: Labels) -> tuple[SwitchSplit, str]:
    split = shipped(name, labels)
    return split, split.sha256


def cases(split: SwitchSplit) -> np.ndarray:
    """The number of case labels in each example's C; of addresses in an answer of a dispatch."""
    counted = ";" if split.name == DISPATCH else "case"
    case = np.array([token == counted for token in split.tokens], dtype=np.int64)
    before = np.concatenate([[0], np.cumsum(case[split.targets.flat])])
    return np.diff(before[split.targets.offsets])


def outline(name: str) -> Callable[[Sequence[str]], object]:
    """What an answer says of labels and blocks, whatever else stands in it."""
    return partition if name == DISPATCH else skeleton


def label_ids(vocab: Vocab) -> list[int]:
    """The ids of the assembly's labels."""
    return [i for i in range(len(vocab)) if is_label(vocab.name(i))]
