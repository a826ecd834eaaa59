"""Dispatches: the tests of one value from the first on, and where each leads.

A dispatch is a tree of tests of one value that changes nothing. From its first test on it is walked
with the set of values that get there; a test cuts the set in two, a jump table into many. What is
no test of that value any more, or is reached from elsewhere too, is a block of the switch.
"""

from collections import Counter
from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace

from permnet.binary.operands import Memory, Register
from permnet.switches.apart import is_apart
from permnet.switches.asked import (
    Kind,
    depends,
    holds,
    is_bit_test,
    is_of_part,
    kinds_of,
    scrutinee,
    state_at,
    tested_at,
)
from permnet.switches.effects import FLAGS, read
from permnet.switches.graph import BasicBlock, Graph
from permnet.switches.intervals import Interval, Intervals, size, union
from permnet.switches.jumps import is_jump, jump_target
from permnet.switches.machine import State
from permnet.switches.pieces import Evaluator, UnknownError, constants
from permnet.switches.terms import Term, bits_of, value_of

_OF_BITS = ("bt", "shl", "shr", "shlx", "shrx")
MOST_ROUNDS = 50
MOST_VISITS = 5_000
MOST_TESTED = 4_000_000  # stretches of values, over all tests of a function: perl has 8,000
MOST_AGAIN = 100  # visits of one test: more are a loop's, and each holds all that was written
MOST_LABELS = 4096  # that lead to one block: more is a comparison of sizes, not a switch


@dataclass(frozen=True)
class Edge:
    """Values that a test sends to an address.

    A `hit` is by equality, a bit that is set or a jump table, a `miss` what is left of one; `order`
    is by comparison of sizes. What is `lost` goes on to a test that cannot be followed.
    """

    target: int
    values: Intervals
    kind: Kind


@dataclass(frozen=True)
class Region:
    """A dispatch: its first test, what it is about, all tests, and how values leave it.

    `chain` counts the tests of the same value that follow with other code between them.
    """

    head: BasicBlock
    x: Term
    tests: tuple[BasicBlock, ...]
    edges: tuple[Edge, ...]
    chain: int = 0

    @property
    def has_table(self) -> bool:
        """Whether one of the tests is a jump through a table."""
        return any(t.last.mnemonic == "jmp" and jump_target(t.last) is None for t in self.tests)

    @property
    def has_mask(self) -> bool:
        """Whether one of the tests is of the bits of a mask."""
        behind = [one for test in self.tests if test != self.head for one in test.code]
        return any(
            one.mnemonic in _OF_BITS and isinstance(one.operands[-1], Register) for one in behind
        )

    def leaves(self) -> dict[int, Intervals]:
        """The values that leave to each address."""
        found: dict[int, list[Interval]] = {}
        for edge in self.edges:
            found.setdefault(edge.target, []).extend(edge.values)
        return {address: union(values) for address, values in found.items()}

    def default(self) -> int | None:
        """Where most values go; None if every value is met by itself, as 256 bytes by a table."""
        if all(edge.kind == "hit" for edge in self.edges):
            return None
        leaves = self.leaves()
        return max(leaves, key=lambda address: size(leaves[address]))


class Walker:
    """All dispatches of a function."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self._read = graph.function.binary.read_only
        # Registers are saved late where a dispatch needs none; locals of -O0 are no such thing.
        self._allowed = ("none",) if graph.is_unoptimised else ("none", "frame")
        self._tested = 0

    def regions(self) -> Iterator[Region]:
        """In order of their first tests; one that is part of another is left out."""
        inside: set[int] = set()
        found: dict[int, Region] = {}
        for block in self.graph.blocks:
            if block.address in inside:
                continue
            region = self.region(block)
            if region and not is_apart(self.graph, region):
                tests = {self.graph.block_of(test.last.address) for test in region.tests}
                chained = self._chained(region)
                inside |= tests | chained
                if not self.graph.is_unoptimised and self._begins_tree(region):
                    found = {at: one for at, one in found.items() if not self._is_part(one, tests)}
                found[block.address] = replace(region, chain=len(chained))
        yield from found.values()

    def _begins_tree(self, region: Region) -> bool:
        """Whether the first test is a comparison of sizes."""
        flags = tested_at(self.graph, region.head)
        return flags is not None and "order" in kinds_of(flags, region.head.last.mnemonic, region.x)

    def _is_part(self, region: Region, tests: Collection[int]) -> bool:
        """Whether a dispatch goes on with another one that nothing else leads to."""
        head = region.head.address
        return head in tests and self.graph.predecessors.get(head, set()) <= set(tests)

    def _chained(self, region: Region) -> set[int]:
        """The further tests of a chain of `if`, `else if`: what one misses the next one tries."""
        found: set[int] = set()
        while self.graph.is_unoptimised and len(region.tests) == 1:
            missed = [edge.target for edge in region.edges if edge.kind == "miss"]
            block = self.graph.block(missed[0]) if missed else None
            following = self.region(block) if block else None
            if following is None or following.x != region.x or len(following.tests) > 1:
                break
            if following.head.address in found:
                break
            found.add(following.head.address)
            region = following
        return found

    def region(self, head: BasicBlock) -> Region | None:
        """The dispatch that begins in a block; None if it does not end in a test of a number.

        Nor where too much was looked at: from each test of a chain one may have to look at all.
        """
        if not head.is_conditional or self._tested > MOST_TESTED:
            return None
        state = state_at(self.graph, head)
        for instruction in head.code[:-1]:
            state.step(instruction)
        x = scrutinee(state.flags, head.last.mnemonic)
        if x is None:
            return None
        evaluator = Evaluator(x, self._read)
        everything = ((0, (1 << bits_of(x)) - 1),)
        try:
            first = self._cut(head, state, everything, evaluator)
        except UnknownError:
            return None
        # Which blocks belong depends on the others: from all that might down to those that do.
        forbidden, ends = set[int](), {block.end for block in self.graph.blocks}
        for _ in range(MOST_ROUNDS):
            spread = self._spread(head, state, first, evaluator, forbidden, ends)
            if spread is None:
                return None
            tests, edges = spread
            before = (len(forbidden), ends)
            blocks = {edge.target for edge in edges}  # a block of the switch may go on testing
            forbidden |= {
                address
                for address in tests.keys() - {head.address}
                if address in blocks or self._is_met(address, tests.keys())
            }
            ends = self._closed({test.end for test in tests.values()})
            if (len(forbidden), ends) == before:
                ordered = tuple(sorted(tests.values(), key=lambda block: block.address))
                return Region(head, x, ordered, tuple(edges))
        return None

    def _closed(self, ends: set[int]) -> set[int]:
        """With the ends of jumps that stand behind a test that is always decided."""
        for end in list(ends):
            block = self.graph.block(end)
            if block and len(block.code) == 1 and block.last.mnemonic == "jmp":
                ends.add(block.end)
        return ends

    def _is_met(self, address: int, tests: Collection[int]) -> bool:
        """Whether several ways lead to a block: a dispatch is a tree, they meet at its leaves."""
        predecessors = self.graph.predecessors.get(address, set())
        inside = len(predecessors & set(tests))
        # An optimiser copies the first test of a loop, and the others then have two before them.
        return inside > 1 or (self.graph.is_unoptimised and inside < len(predecessors))

    def _spread(
        self,
        head: BasicBlock,
        state: State,
        first: list[Edge],
        evaluator: Evaluator,
        forbidden: set[int],
        ends: set[int],
    ) -> tuple[dict[int, BasicBlock], list[Edge]] | None:
        """The tests that follow the first, but for those forbidden, and how values leave them.

        `ends` are the ends of what may be a test. None if the tests do not end, as in a loop that
        waits for another value.
        """
        tests, leaving, ends = {head.address: head}, list[Edge](), set(ends)
        pending = [(edge, state) for edge in first]
        visits: Counter[int] = Counter()
        for _ in range(MOST_VISITS):
            if not pending:
                return tests, leaving
            edge, before = pending.pop()
            found = None
            if edge.target not in forbidden | {head.address}:
                found = self._test(edge, before, evaluator, edge.target in ends)
            if found is None or isinstance(found, Edge):
                leaving.append(found or self._left(edge, before, evaluator.x))
            else:
                block, after, edges = found
                tests[block.address] = block
                visits[block.address] += 1
                if visits[block.address] > MOST_AGAIN:
                    return None
                if block.is_idle_jump and self._goes_on_at(block):
                    ends |= {*block.successors}
                pending += [(edge, after) for edge in edges]
        return None

    def _test(
        self, edge: Edge, before: State, evaluator: Evaluator, follows: bool
    ) -> tuple[BasicBlock, State, list[Edge]] | Edge | None:
        """A block that goes on with the dispatch, and how values leave it; None for a leaf.

        Where it follows another test it may also be a mere jump, or decided for all values that
        are left. Unoptimised dispatches are all in one piece.
        """
        self._tested += len(edge.values)
        block = self.graph.tests_at(edge.target)
        if block is None or (self.graph.is_unoptimised and not follows):
            return None
        if block.is_idle_jump:
            (target,) = block.successors
            return (block, before, [replace(edge, target=target)]) if follows else None
        if edge.kind == "hit":
            return None
        if not block.last.mnemonic.startswith("j"):
            return None
        state = before.copy()
        for instruction in block.code[:-1]:
            if instruction.mnemonic == "call" or state.step(instruction) not in self._allowed:
                return None
        try:
            edges = self._cut(block, state, edge.values, evaluator)
        except UnknownError:
            bounded = edge.kind == "order" and size(edge.values) <= MOST_LABELS
            lost = (bounded or not block.is_conditional) and depends(block, state, evaluator.x)
            lost = lost or is_of_part(state.flags, block.last.mnemonic, evaluator.x)
            return replace(edge, kind="lost") if lost else None
        piece = block == self.graph.block(edge.target)
        decided = piece and (follows or is_bit_test(before.flags, evaluator.x))
        return (block, state, edges) if len(edges) > 1 or decided else None

    def _goes_on_at(self, jump: BasicBlock) -> bool:
        """Whether a jump behind a test leads to the same comparison, with other code between."""
        (target,) = jump.successors
        before, after = self.graph.predecessors.get(jump.address, set()), self.graph.block(target)
        if len(before) != 1 or self.graph.predecessors.get(target) != {jump.address}:
            return False
        test = self.graph.block(*before)
        texts = [one.code[-2].text for one in (test, after) if one and len(one.code) > 1]
        return len(texts) == 2 and texts[0] == texts[1]

    def _left(self, edge: Edge, before: State, x: Term) -> Edge:
        """An edge that leaves a dispatch, `computed` if its block goes on comparing x, jumpless."""
        block = self.graph.block(edge.target)
        if edge.kind == "hit" or block is None or self.graph.is_unoptimised:
            return edge
        state = before.copy()
        for instruction in block.code:
            flags = state.flags
            if FLAGS in read(instruction) and not is_jump(instruction) and flags:
                compared = flags.left[0] != "set" and value_of(flags.right) is not None
                about = flags.right if flags.kind == "bit" else flags.left
                asked = (compared or flags.kind == "bit") and holds(about, x)
                if asked and state.at >= block.address:
                    return replace(edge, kind="computed")
            if instruction.mnemonic == "call" or is_jump(instruction):
                return edge
            state.step(instruction)
        return edge

    def _cut(
        self, block: BasicBlock, state: State, values: Intervals, evaluator: Evaluator
    ) -> list[Edge]:
        """How the jump at a block's end sends values on."""
        parts: dict[tuple[int, Kind], list[Interval]] = {}
        last = block.last
        if last.mnemonic == "jmp":
            (operand,) = last.operands
            if not isinstance(operand, (Register, Memory)):
                raise UnknownError
            target = state.value(operand, 64, last.end)
            for over in values:
                for low, high, _, address in constants(evaluator.pieces(target, over)):
                    if not self.graph.function.binary.is_code(address):
                        raise UnknownError
                    parts.setdefault((address, "hit"), []).append((low, high))
        else:
            if state.flags is None or len(block.successors) != 2:
                raise UnknownError
            jumped, fallen = block.successors
            kinds = kinds_of(state.flags, last.mnemonic, evaluator.x)
            for over in values:
                for part, holds in evaluator.condition(last.mnemonic, state.flags, over):
                    way = (jumped, kinds[0]) if holds else (fallen, kinds[1])
                    parts.setdefault(way, []).append(part)
        return [
            Edge(self._begins(address), union(found), kind)
            for (address, kind), found in parts.items()
        ]

    def _begins(self, address: int) -> int:
        """Where the code at an address begins; unoptimised, a `nop` stands for a block."""
        unoptimised = self.graph.is_unoptimised
        return address if unoptimised else self.graph.past_padding(address)
