"""Whether an answered switch is the true one.

A true switch is `{"blocks": [[3, 5], [1], ["default"]], "goes": [...], "exit": ..., "bits": 32}`:
blocks in source order, for each where control ends up that enters it, the same for a value without
a label, and the width of what is switched on. An answer has `blocks` alone, in the order of code.

A block that holds nothing but a jump has no code of its own: compilers send its labels to wherever
it leads, or keep a `nop` for it. Blocks with the same `goes` may therefore be answered as one or
apart, and such a one may be answered as the default where it goes to the same place.
"""

from collections.abc import Callable, Sequence
from typing import Any

DEFAULT = "default"
ALIKE = 1e-6  # what decides between two answers with the same labels
Switch = dict[str, Any]


def narrowed(label: int, bits: int) -> int:
    """A label as a signed number of so many bits, if it fits in them with or without sign.

    >>> [narrowed(label, 8) for label in (200, -56, 300)]
    [-56, -56, 300]
    """
    if not -(1 << (bits - 1)) <= label < 1 << bits:
        return label
    return (label + (1 << (bits - 1))) % (1 << bits) - (1 << (bits - 1))


def groups(switch: Switch, bits: int) -> list[frozenset[int]]:
    """The labels of each block in order, the default left out."""
    return [
        frozenset(narrowed(label, bits) for label in block)
        for block in switch["blocks"]
        if DEFAULT not in block
    ]


def labels(switch: Switch, bits: int) -> frozenset[int]:
    return frozenset().union(*groups(switch, bits))


def pair(
    true: Sequence[Switch],
    answered: Sequence[Switch],
    may_be: Callable[[Switch, Switch], bool] = lambda one, other: True,
) -> list[int | None]:
    """For each true switch of a function the answer that is meant for it, by their labels.

    The two with the largest share of labels in common belong together, the nearest in order where
    shares are equal; then the next, and so on. What has no label in common is never paired, nor
    what `may_be` says no to, which may know more than the labels.
    """
    candidates = []
    for i, one in enumerate(true):
        for j, other in enumerate(answered):
            left, right = labels(one, one["bits"]), labels(other, one["bits"])
            if left & right and may_be(one, other):
                candidates.append((-len(left & right) / len(left | right), abs(i - j), i, j))
    found: dict[int, int] = {}
    for *_, i, j in sorted(candidates):
        if i not in found and j not in found.values():
            found[i] = j
    return [found.get(i) for i in range(len(true))]


def aligned(true: Sequence[Switch], answered: Sequence[Switch]) -> list[int | None]:
    """The same where code stands in the order of the source, as nearly all does at -O0.

    Of all ways to pair in which no two pairs cross it is the one whose pairs have the largest
    shares of labels in common; where these are equal, that with more of the same blocks: an `if`
    before a switch may ask for the same labels.
    """
    best = [[0.0] * (len(answered) + 1) for _ in range(len(true) + 1)]
    score = [[0.0] * len(answered) for _ in true]
    for i, one in reversed([*enumerate(true)]):
        for j, other in reversed([*enumerate(answered)]):
            left, right = labels(one, one["bits"]), labels(other, one["bits"])
            if left & right:
                score[i][j] = len(left & right) / len(left | right)
                alike = {*groups(one, one["bits"])} == {*groups(other, one["bits"])}
                score[i][j] += ALIKE if alike else 0.0
            together = best[i + 1][j + 1] + score[i][j]
            best[i][j] = max(together, best[i + 1][j], best[i][j + 1])
    found: list[int | None] = [None] * len(true)
    i = j = 0
    while i < len(true) and j < len(answered):
        if score[i][j] and best[i][j] == best[i + 1][j + 1] + score[i][j]:
            found[i] = j
            i, j = i + 1, j + 1
        elif best[i][j] == best[i + 1][j]:
            i += 1
        else:
            j += 1
    return found


def in_order(true: Switch, answer: Switch) -> bool:
    """Every block with its labels, in the order of the source."""
    return groups(true, true["bits"]) == groups(answer, true["bits"])


def with_default(true: Switch, answer: Switch) -> bool:
    """The same, and the default where there is one, in its place."""

    def everything(switch: Switch) -> list[frozenset[int]]:
        blocks = [[] if DEFAULT in block else block for block in switch["blocks"]]
        return groups({"blocks": blocks}, true["bits"])

    return everything(true) == everything(answer)


def same_partition(true: Switch, answer: Switch) -> bool:
    """Each label with those of its block, and with no other that goes elsewhere."""
    bits = true["bits"]
    answered = groups(answer, bits)
    home = {label: i for i, group in enumerate(answered) for label in group}
    if home.keys() - labels(true, bits) or len(home) != sum(map(len, answered)):
        return False
    leads: dict[int | None, str] = {None: true["exit"]}  # None is the default
    for block, goes in zip(true["blocks"], true["goes"], strict=True):
        if DEFAULT in block:
            continue
        homes = {home.get(narrowed(label, bits)) for label in block}
        if len(homes) != 1 or leads.setdefault(homes.pop(), goes) != goes:
            return False
    return True


def in_order_but_for_empty(true: Switch, answer: Switch) -> bool:
    """The right partition, and the blocks that have code of their own in the source's order."""
    if not same_partition(true, answer):
        return False
    bits = true["bits"]
    kept = [
        frozenset(narrowed(label, bits) for label in block)
        for block, empty in zip(true["blocks"], true["empty"], strict=True)
        if DEFAULT not in block and not empty
    ]
    order = {label: i for i, group in enumerate(groups(answer, bits)) for label in group}
    places = [order[min(block)] for block in kept if min(block) in order]
    return places == sorted(places)


def difference(true: Switch, answer: Switch) -> str:
    """How a partition that is not the true one differs from it.

    `finer`: values of one true block are told apart, and nothing is joined, as when a block begins
    with a further test of the same value. `coarser`: only blocks are joined. Else `other`.
    """
    bits = true["bits"]
    home = {label: i for i, group in enumerate(groups(answer, bits)) for label in group}
    known = {
        narrowed(label, bits): goes
        for block, goes in zip(true["blocks"], true["goes"], strict=True)
        for label in block
        if label != DEFAULT
    }
    pairs = {(known.get(x, true["exit"]), home.get(x)) for x in known.keys() | home.keys()}
    pairs.add((true["exit"], None))
    if len({answered for _, answered in pairs}) == len(pairs):
        return "finer"
    return "coarser" if len({meant for meant, _ in pairs}) == len(pairs) else "other"
