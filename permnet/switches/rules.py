"""The rules that propose: follow the tests of one value from the first on, see where each leads.

A dispatch is a tree of tests of one value that changes nothing. From its first test on it is walked
with the set of values that get there; a test cuts the set in two, a jump table into many. What is
no test of that value any more, or is reached from elsewhere too, is a block of the switch.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from permnet.binary.operands import Memory, Register
from permnet.switches.claim import Block, Claim, Scrutinee
from permnet.switches.default import has_default
from permnet.switches.graph import BasicBlock, Graph
from permnet.switches.intervals import Interval, Intervals, size, union
from permnet.switches.machine import Flags, State
from permnet.switches.pieces import CONDITIONS, Evaluator, UnknownError, constants
from permnet.switches.place import places_of
from permnet.switches.terms import Term, bits_of, value_of

MOST_VISITS = 5_000
MOST_LABELS = 4096  # that lead to one block: more is a comparison of sizes, not a switch

_UNSIGNED = ("jb", "jae", "jbe", "ja")


@dataclass(frozen=True)
class Region:
    """A dispatch: where it starts, its tests, and the values that leave it at each address."""

    head: BasicBlock
    x: Term
    tests: tuple[BasicBlock, ...]
    leaves: dict[int, Intervals]


class RefusedError(Exception):
    """A place that looks like a switch and is none, or cannot be followed; says why."""


class Walker:
    """All dispatches of a function."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self._read = graph.function.binary.read_only

    def regions(self) -> Iterator[Region]:
        inside: set[int] = set()
        for block in self.graph.blocks:
            if block.address not in inside and (region := self.region(block)):
                inside |= {test.address for test in region.tests}
                yield region

    def region(self, head: BasicBlock) -> Region | None:
        """The dispatch that begins in a block; None if it does not end in a test of a number."""
        if not head.is_conditional:
            return None
        state = State()
        for instruction in head.code[:-1]:
            state.step(instruction)
        x = _scrutinee(state.flags, head.last.mnemonic)
        if x is None:
            return None
        return self._walk(head, state, x)

    def _walk(self, head: BasicBlock, state: State, x: Term) -> Region | None:
        everything = ((0, (1 << bits_of(x)) - 1),)
        evaluator = Evaluator(x, self._read)
        try:
            first = self._cut(head, state, everything, evaluator)
        except UnknownError:
            return None
        if len(first) < 2:
            return None
        forbidden: set[int] = set()
        while True:  # until no test is reached from elsewhere
            spread = self._spread(head, state, first, evaluator, forbidden)
            if spread is None:
                return None
            tests, leaves = spread
            reached = {
                address
                for address in tests
                if address != head.address
                and not self.graph.predecessors.get(address, set()) <= tests.keys()
            }
            if not reached:
                break
            forbidden |= reached
        ordered = tuple(sorted(tests.values(), key=lambda block: block.address))
        return Region(head, x, ordered, {a: union(v) for a, v in leaves.items()})

    def _spread(
        self,
        head: BasicBlock,
        state: State,
        first: dict[int, Intervals],
        evaluator: Evaluator,
        forbidden: set[int],
    ) -> tuple[dict[int, BasicBlock], dict[int, list[Interval]]] | None:
        """The tests that follow the first, but for those forbidden, and the values that leave.

        None if they do not end, as in a loop that waits for another value.
        """
        tests, leaves = {head.address: head}, dict[int, list[Interval]]()
        pending = [(target, values, state) for target, values in first.items()]
        for _ in range(MOST_VISITS):
            if not pending:
                return tests, leaves
            address, values, before = pending.pop()
            found = None
            if address not in forbidden and address != head.address:
                found = self._test(address, values, before, evaluator, tests)
            if found is None:
                leaves.setdefault(address, []).extend(values)
            else:
                block, after, parts = found
                tests[address] = block
                pending += [(target, part, after) for target, part in parts.items()]
        return None

    def _test(
        self,
        address: int,
        values: Intervals,
        before: State,
        evaluator: Evaluator,
        tests: dict[int, BasicBlock],
    ) -> tuple[BasicBlock, State, dict[int, Intervals]] | None:
        """A block that goes on with the dispatch, with where it sends which values."""
        block = self.graph.block(address)
        if block is None:
            return None
        # Behind a test the dispatch may also go on with a jump, or a test that is always decided.
        follows = any(test.end == address for test in tests.values())
        if len(block.code) == 1 and block.last.mnemonic == "jmp" and len(block.successors) == 1:
            return (block, before, {block.successors[0]: values}) if follows else None
        if not block.last.mnemonic.startswith("j"):
            return None
        state = before.copy()
        for instruction in block.code[:-1]:
            if instruction.mnemonic == "call" or not state.step(instruction):
                return None
        try:
            parts = self._cut(block, state, values, evaluator)
        except UnknownError:
            return None
        return (block, state, parts) if len(parts) > 1 or follows else None

    def _cut(
        self, block: BasicBlock, state: State, values: Intervals, evaluator: Evaluator
    ) -> dict[int, Intervals]:
        """The values that the jump at a block's end sends to each address."""
        parts: dict[int, list[Interval]] = {}
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
                    parts.setdefault(address, []).append((low, high))
        else:
            if state.flags is None or len(block.successors) != 2:
                raise UnknownError
            jumped, fallen = block.successors
            for over in values:
                for part, holds in evaluator.condition(last.mnemonic, state.flags, over):
                    parts.setdefault(jumped if holds else fallen, []).append(part)
        return {address: union(found) for address, found in parts.items()}


def _scrutinee(flags: Flags | None, mnemonic: str) -> Term | None:
    """The value that a first test is about.

    Before a jump table compilers subtract the lowest label and compare without sign: then it is the
    value before that. Widened values are taken as narrow as they were.
    """
    if flags is None or mnemonic not in CONDITIONS:
        return None
    x = flags.left
    if x[0] == "set":
        return _scrutinee(Flags(*x[3:6]), x[2])
    if flags.kind == "bit" or value_of(flags.right) is None:
        return None
    if mnemonic in _UNSIGNED and x[0] == "add" and value_of(x[3]) is not None:
        x = x[2]
    while x[0] in ("zext", "sext"):
        x = x[2]
    return None if value_of(x) is not None else x


def claims(graph: Graph, region: Region) -> Iterator[Claim]:
    """What a dispatch says, the same with each place where its value lies, the last first.

    Nothing where it is too small to be a switch; RefusedError where it only looks like one.
    """
    default = max(region.leaves, key=lambda address: size(region.leaves[address]))
    labelled = {a: values for a, values in region.leaves.items() if a != default}
    count = sum(map(size, labelled.values()))
    if len(region.tests) < 2 or count < 2 or len(labelled) + (count > 2) < 2:
        return
    if any(size(values) > MOST_LABELS for values in labelled.values()):
        raise RefusedError("values beyond a bound lead to different blocks: comparisons of sizes")
    blocks = tuple(Block(address, labelled[address]) for address in sorted(labelled))
    tests = {test.address for test in region.tests}
    has = has_default(graph, tests, labelled, default)
    signed = _is_signed(region)
    places = list(places_of(region.head, region.x))
    if not places:
        raise RefusedError("the value that is tested has no place of its own")
    for start, place in places:
        yield Claim(start, Scrutinee(place, bits_of(region.x), signed), blocks, default, has)


def _is_signed(region: Region) -> bool:
    """Whether the value has a sign, as far as its tests tell; numbers of 32 and 64 bits do."""
    state = State()
    for instruction in region.head.code[:-1]:
        state.step(instruction)
    tested = state.flags.left if state.flags else ()
    widened = {kind for kind, inner in _widenings(tested) if inner == region.x}
    if widened:
        return "sext" in widened
    jumps = {test.last.mnemonic for test in region.tests}
    if jumps & {"jl", "jge", "jle", "jg"}:
        return True
    return bits_of(region.x) >= 32


def _widenings(term: Term) -> Iterator[tuple[str, Term]]:
    if term and term[0] in ("zext", "sext"):
        yield term[0], term[2]
    for part in term[2:]:
        if isinstance(part, tuple):
            yield from _widenings(part)
