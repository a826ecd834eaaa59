"""Which statement of the source the tests of an answered switch were made for.

gcc gives each compare, bit test and table jump that it makes of a switch the place of that switch,
and `-g`, which leaves the code as it is, writes it down. So the places of a function's tests tell
whether an answer is about a switch at all, whether all tests of the switch are part of an answer,
and whether tests of other statements are.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from benchmarks.switch_flow import may_meet
from benchmarks.switch_match import (
    DEFAULT,
    Switch,
    difference,
    groups,
    labels,
    narrowed,
    same_partition,
)
from permnet.binary.binary import open_binary
from permnet.switches.graph import Graph
from permnet.switches.jumps import jump_target

COLD = ".cold"  # what gcc calls the part of a function that it moves away

Place = tuple[int, int, int]  # file, line, column

_LOC = re.compile(r"\t\.loc (\d+) (\d+) (\d+)")
_TEST = re.compile(r"\t(?:j(?!mp\t)\w+\t|jmp\t(?:\[|r\w+$))")


def tests(listing: str) -> list[Place]:
    """The place of each test in a function's assembly (`-g`, Intel syntax), in order.

    >>> tests("f:\\n\\t.loc 1 7 3\\n\\tja\\t.L4\\n\\t.loc 1 9 5\\n\\tjmp\\t.L5\\n\\tjmp\\trax\\n")
    [(1, 7, 3), (1, 9, 5)]
    """
    place, found = (0, 0, 0), []
    for line in listing.splitlines():
        if told := _LOC.match(line):
            place = (int(told[1]), int(told[2]), int(told[3]))
        elif _TEST.match(line):
            found.append(place)
    return found


@dataclass(frozen=True)
class Origin:
    """What the places of a function's tests say of its switches and of what was answered."""

    graph: Graph
    places: Mapping[int, Place]  # of each conditional jump and each jump through a table
    answers: tuple[Switch, ...]

    def may_be(self, true: Switch, answer: Switch) -> bool:
        """Whether one test of an answer at least is the switch's own, as far as that is known."""
        return true["line"] is None or bool(self._own(true, answer))

    def verdict(self, true: Switch, answer: Switch) -> str:
        """Why a proven answer is not the partition of gcc's dump.

        `joined`: all tests of the switch are in answers, so nothing tells values apart any more
        that get to one address: gcc made one block of several. `parted`: the switch's own tests
        send values of one block to several addresses: gcc copied it, or put a later test in front.
        `dropped`: the same, and labels are missing whose block has others: gcc knew that these do
        not come here. `wider`: tests of other statements are part of the answer, and only they tell
        more apart.
        `unknown`: gcc's dump has no line for the switch. `wrong`: anything else.
        """
        if true["line"] is None:
            return "unknown"
        kind, own = difference(true, answer), self._own(true, answer)
        wider = self._places(answer) != own
        if kind == "finer":
            return "wider" if wider else "parted"
        left = [t for t, place in self.places.items() if place in own and t not in self._answered]
        if any(self._is_left_out(test, true, answer) for test in left):
            return "wrong"
        if kind == "coarser":
            return "joined"
        if wider and _only_joins(true, answer):
            return "wider"
        return "dropped" if _only_drops(true, answer) else "wrong"

    def _is_left_out(self, test: int, true: Switch, answer: Switch) -> bool:
        """Whether a value with a label may come to a test before an answer's tests, or behind them.

        Else the test is that of another copy of the switch, for values that come another way.
        """
        bits = true["bits"]
        leads = {
            narrowed(label, bits): target
            for block, target in zip(answer["blocks"], answer["targets"], strict=True)
            for label in block
            if label != DEFAULT
        }
        others = {answer["default"], *(copy["target"] for copy in answer["copies"])} - {None}
        behind = [{leads[x]} if x in leads else others for x in labels(true, bits)]
        return may_meet(self.graph, test, answer, set().union(*behind))

    def _own(self, true: Switch, answer: Switch) -> set[Place]:
        """Where those tests of an answer stand that are on the line of a switch."""
        return {place for place in self._places(answer) if place[1] == true["line"]}

    def _places(self, answer: Switch) -> set[Place]:
        return {self.places[test] for test in self._dispatch(answer)}

    @cached_property
    def _answered(self) -> frozenset[int]:
        return frozenset().union(*map(self._dispatch, self.answers))

    def _dispatch(self, answer: Switch) -> frozenset[int]:
        """The tests between the beginning of an answer and its blocks."""
        ends = {*answer["targets"], answer["default"]}
        seen: dict[int, int] = {}
        pending = [answer["address"]]
        while pending:
            block = self.graph.block(pending.pop())
            if block and block.address not in seen:
                seen[block.address] = block.last.address
                pending += [address for address in block.successors if address not in ends]
        return frozenset(seen.values()) & self.places.keys()


def _only_joins(true: Switch, answer: Switch) -> bool:
    """Whether, of the switch's own labels, none of one block are told apart."""
    own = labels(true, true["bits"])
    kept = {"blocks": [[*(group & own)] for group in groups(answer, true["bits"])]}
    return same_partition(true, kept) or difference(true, kept) == "coarser"


def _only_drops(true: Switch, answer: Switch) -> bool:
    """Whether an answer has no labels but the switch's, and as for these is right or joins some."""
    bits = true["bits"]
    named = labels(answer, bits)
    left = [[x for x in block if narrowed(x, bits) in named] for block in true["blocks"]]
    kept = [(block, goes) for block, goes in zip(left, true["goes"], strict=True) if block]
    rest = {**true, "blocks": [block for block, _ in kept], "goes": [goes for _, goes in kept]}
    if not named <= labels(true, bits):
        return False
    return same_partition(rest, answer) or difference(rest, answer) == "coarser"


def origins(
    path: Path, places: Mapping[str, list[Place]], answers: Mapping[str, list[Switch]]
) -> dict[str, Origin]:
    """Of each function of an object, given where its tests stand and what was answered."""
    found = {}
    with open_binary(path) as binary:
        graphs = {
            function.name: Graph(function)
            for function in binary.functions()
            if function.name.removesuffix(COLD) in places
        }
    for name, listed in places.items():
        usable = tuple(answer for answer in answers[name] if answer.get("targets"))
        parts = [graphs[part] for part in (name, name + COLD) if part in graphs]
        addresses = [address for graph in parts for address in _tests(graph)]
        if usable and len(addresses) == len(listed):
            at = dict(zip(addresses, map(tuple, listed), strict=True))
            found[name] = Origin(graphs[name], at, usable)
    return found


def _tests(graph: Graph) -> Iterator[int]:
    for instruction in graph.code:
        mnemonic = instruction.mnemonic
        if mnemonic.startswith("j") and (mnemonic != "jmp" or jump_target(instruction) is None):
            yield instruction.address
