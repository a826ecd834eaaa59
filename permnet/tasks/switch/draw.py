"""Random choices that are the same on every platform and Python version."""

import hashlib
import random
from collections.abc import Mapping, Sequence
from typing import TypeVar

T = TypeVar("T")


class Draw:
    """Choices seeded by a name; all come from `Random.random`, whose stream Python froze."""

    def __init__(self, name: str) -> None:
        seed = int.from_bytes(hashlib.sha256(name.encode()).digest(), "little")
        self._random = random.Random(seed).random

    def chance(self, share: float) -> bool:
        return self._random() < share

    def between(self, low: int, high: int) -> int:
        """A whole number, both ends included."""
        return low + int(self._random() * (high - low + 1))

    def pick(self, items: Sequence[T]) -> T:
        return items[self.between(0, len(items) - 1)]

    def weighted(self, weights: Mapping[T, float]) -> T:
        rest = self._random() * sum(weights.values())
        for item, weight in weights.items():
            rest -= weight
            if rest < 0:
                return item
        return item

    def shuffled(self, items: Sequence[T]) -> list[T]:
        return self.distinct(items, len(items))

    def distinct(self, items: Sequence[T], count: int) -> list[T]:
        """So many of the items, in random order."""
        left = list(items)
        for i in range(count):
            j = self.between(i, len(left) - 1)
            left[i], left[j] = left[j], left[i]
        return left[:count]
