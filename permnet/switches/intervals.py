"""Sets of numbers as sorted, disjoint, inclusive intervals."""

from collections.abc import Iterable

MOST_IGNORED = 8  # bits that a test for several numbers leaves out

Interval = tuple[int, int]
Intervals = tuple[Interval, ...]


def union(parts: Iterable[Interval]) -> Intervals:
    """
    >>> union([(7, 9), (1, 3), (4, 4)])
    ((1, 4), (7, 9))
    """
    merged: list[Interval] = []
    for low, high in sorted(parts):
        if merged and low <= merged[-1][1] + 1:
            merged[-1] = (merged[-1][0], max(high, merged[-1][1]))
        else:
            merged.append((low, high))
    return tuple(merged)


def moved(intervals: Intervals, distance: int, bits: int) -> Intervals:
    """So much added to each number, in so many bits.

    >>> moved(((0, 3), (7, 7)), -2, 8)
    ((0, 1), (5, 5), (254, 255))
    """
    found: list[Interval] = []
    for low, high in intervals:
        start = (low + distance) % (1 << bits)
        end = start + high - low
        found.append((start, min(end, (1 << bits) - 1)))
        if end >> bits:
            found.append((0, end % (1 << bits)))
    return union(found)


def size(intervals: Intervals) -> int:
    return sum(high - low + 1 for low, high in intervals)


def numbers(intervals: Intervals) -> list[int]:
    return [number for low, high in intervals for number in range(low, high + 1)]


def runs(values: Iterable[int]) -> Intervals:
    """The set of these numbers."""
    return union((value, value) for value in values)


def ignoring(mask: int, number: int, bits: int) -> list[int]:
    """All numbers of so many bits that are `number` under a mask, if few bits are left out.

    >>> ignoring(0b1101, 0b0001, 4)
    [1, 3]
    """
    out = (1 << bits) - 1 & ~mask
    if number & out or not 1 <= out.bit_count() <= MOST_IGNORED:
        return []
    found, part = [number], out
    while part:
        found.append(number | part)
        part = (part - 1) & out
    return sorted(found)
