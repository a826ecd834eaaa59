"""Which statement of the source the tests of an answered switch were made for.

gcc gives each compare, bit test and table jump that it makes of a switch the line of that switch,
and no later pass changes it. So the line table of an object (`-g`, which leaves the code as it is)
tells whether an answer is about a switch at all, whether all tests of the switch are part of it,
and whether tests of other statements are.
"""

import subprocess
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from benchmarks.switch_match import Switch, difference, groups, labels
from permnet.binary.binary import Binary, open_binary
from permnet.errors import PermnetError
from permnet.switches.graph import Graph
from permnet.switches.jumps import jump_target

COLD = ".cold"  # what gcc calls the part of a function that it moves away


@dataclass(frozen=True)
class Lines:
    """The tests of a function: conditional jumps and jumps through tables, each with its line."""

    graph: Graph
    tests: Mapping[int, int | None]

    def dispatch(self, answer: Switch) -> frozenset[int]:
        """The tests between the beginning of an answer and its blocks."""
        ends = {*answer["targets"], answer["default"]}
        seen: set[int] = set()
        pending = [answer["address"]]
        while pending:
            block = self.graph.block(pending.pop())
            if block is None or block.address in seen:
                continue
            seen.add(block.address)
            pending += [a for a in block.successors if a not in ends]
        jumps = (self.graph.block(address) for address in seen)
        return frozenset(block.last.address for block in jumps if block) & self.tests.keys()

    def of(self, answer: Switch) -> set[int | None]:
        """The lines of the tests of an answer."""
        return {self.tests[test] for test in self.dispatch(answer)}


@dataclass(frozen=True)
class Origin:
    """What the lines of a function say of its true switches and of what was answered there."""

    lines: Lines
    answers: tuple[Switch, ...]

    def may_be(self, true: Switch, answer: Switch) -> bool:
        """Whether one test of an answer at least is the switch's own, as far as that is known."""
        return true["line"] is None or true["line"] in self.lines.of(answer)

    @cached_property
    def _answered(self) -> frozenset[int]:
        return frozenset().union(*map(self.lines.dispatch, self.answers))

    def verdict(self, true: Switch, answer: Switch) -> str:
        """Why a proven answer is not the partition of gcc's dump.

        `joined`: all tests of the switch are in answers, so values that get to one address are
        told apart no more: gcc made one block of several. `parted`: the switch's own tests send
        values of one block to several addresses: gcc copied it, or put a later test in front.
        `wider`: tests of other statements are part of the answer, and only they tell more apart.
        `unknown`: gcc's dump has no line for the switch. `wrong`: anything else.
        """
        line, kind = true["line"], difference(true, answer)
        if line is None:
            return "unknown"
        wider = self.lines.of(answer) != {line}
        missed = any(
            at == line for test, at in self.lines.tests.items() if test not in self._answered
        )
        if kind == "finer":
            return "wider" if wider else "parted"
        if missed:
            return "wrong"
        if kind == "coarser":
            return "joined"
        return "wider" if wider and _only_joined(true, answer) else "wrong"


def _only_joined(true: Switch, answer: Switch) -> bool:
    """Whether, of the switch's own labels, none of one block are told apart."""
    own = labels(true, true["bits"])
    blocks = [[*(group & own)] for group in groups(answer, true["bits"])]
    return difference(true, {"blocks": blocks}) == "coarser"


def origins(path: Path, answers: Mapping[str, Iterable[dict[str, Any]]]) -> dict[str, Origin]:
    """Of each function of an object, if it has lines and the answers say where they lead to."""
    found = {}
    with open_binary(path) as binary:
        if not any(section.name == ".debug_line" for section in binary.elf.sections):
            return {}
        graphs = {
            function.name: Graph(function)
            for function in binary.functions()
            if function.name.removesuffix(COLD) in answers
        }
        tests = {name: [*_tests(graph)] for name, graph in graphs.items()}
        line = _lines(path, binary, [test for listed in tests.values() for test in listed])
        for name, given in answers.items():
            usable = tuple(answer for answer in given if answer.get("targets"))
            if name in graphs and usable:
                every = [*tests[name], *tests.get(name + COLD, ())]
                lines = Lines(graphs[name], {test: line[test] for test in every})
                found[name] = Origin(lines, usable)
    return found


def _tests(graph: Graph) -> Iterable[int]:
    for block in graph.blocks:
        jumps = block.last.mnemonic.startswith("j")
        if block.is_conditional or (jumps and jump_target(block.last) is None):
            yield block.last.address


def _lines(path: Path, binary: Binary, addresses: Iterable[int]) -> dict[int, int | None]:
    """The line of each address, by `addr2line`, which counts from the start of a section."""
    by_section: dict[str, list[tuple[int, int]]] = {}
    for address in addresses:
        region = next(r for r in binary.regions if r.address <= address < r.end)
        place = (address, address - region.address)
        by_section.setdefault(region.section.name, []).append(place)
    found: dict[int, int | None] = {}
    for section, places in by_section.items():
        done = subprocess.run(
            ["addr2line", "-e", str(path), "-j", section],
            input="".join(f"{offset:#x}\n" for _, offset in places),
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        told = done.stdout.splitlines()
        if len(told) != len(places):
            raise PermnetError(f"addr2line does not tell the lines of {path}: {done.stderr}")
        for (address, _), line in zip(places, told, strict=True):
            number = line.rpartition(":")[2].split()[0]
            found[address] = int(number) or None if number.isdigit() else None
    return found
