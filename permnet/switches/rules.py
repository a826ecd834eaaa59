"""The rules that propose: what a dispatch says of a switch, and when it is none."""

from collections.abc import Iterator

from permnet.switches.claim import Block, Claim, Scrutinee
from permnet.switches.default import has_default, same_code
from permnet.switches.graph import Graph
from permnet.switches.intervals import size
from permnet.switches.machine import State
from permnet.switches.place import places_of
from permnet.switches.regions import MOST_LABELS, Region
from permnet.switches.terms import Term, bits_of, split
from permnet.switches.terms import signed as signed_number

FEWEST_LABELS = 2
FEWEST_TESTS = 3  # for a chain of tests to look like a switch


class RefusedError(Exception):
    """A place that looks like a switch and is none, or cannot be followed; says why."""


def claims(graph: Graph, region: Region) -> Iterator[Claim]:
    """What a dispatch says, the same with each place where its value lies, the last first.

    Nothing where it is too small to be a switch; RefusedError where it only looks like one.
    """
    if region.chain + 1 >= FEWEST_TESTS:
        raise RefusedError("other code stands between the tests: a chain of ifs")
    default = region.default()
    labelled = {a: values for a, values in region.leaves().items() if a != default}
    blocks = [Block(address, labelled[address]) for address in sorted(labelled)]
    copies = tuple(b for b in blocks if default and same_code(graph, b.target, default))
    blocks = [block for block in blocks if block not in copies]
    if not _is_switch(graph, region, blocks):
        return
    for edge in region.edges:
        if edge.kind == "lost":
            raise RefusedError(f"the test at {edge.target:#x} depends on more than its value")
    if any(size(block.values) > MOST_LABELS for block in blocks):
        raise RefusedError("values beyond a bound lead to different blocks: comparisons of sizes")
    tests = {test.address for test in region.tests}
    has = default is not None and has_default(graph, tests, labelled, default)
    yield from placed(graph, region, tuple(blocks), default, has, copies)


def placed(
    graph: Graph,
    region: Region,
    blocks: tuple[Block, ...],
    default: int | None,
    has_default: bool,
    copies: tuple[Block, ...],
) -> Iterator[Claim]:
    """What is said of a dispatch, with each place where its value lies, the last first."""
    signed = _is_signed(region)
    base, offset = split(region.x)
    places = [(start, place, 0) for start, place in places_of(region.head, region.x)]
    if offset:
        added = signed_number(offset, bits_of(base))
        places += [(start, place, added) for start, place in places_of(region.head, base)]
    if not places:
        raise RefusedError("the value that is tested has no place of its own")
    for start, place, added in places:
        scrutinee = Scrutinee(place, bits_of(region.x), signed, added)
        yield Claim(start, scrutinee, blocks, default, has_default, copies)


def _is_switch(graph: Graph, region: Region, blocks: list[Block]) -> bool:
    """Whether there is enough of it to be one, or to be told why it is none."""
    count = sum(size(block.values) for block in blocks)
    if len(region.tests) < 2 or count < FEWEST_LABELS:
        return False
    if not graph.is_unoptimised and count == FEWEST_LABELS and len(blocks) == 1:
        return False  # an `if` with an `or`
    hits = sum(size(edge.values) for edge in region.edges if edge.kind == "hit")
    return hits >= FEWEST_TESTS or all(size(block.values) <= MOST_LABELS for block in blocks)


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
    return bits_of(region.x) > 8


def _widenings(term: Term) -> Iterator[tuple[str, Term]]:
    if term and term[0] in ("zext", "sext"):
        yield term[0], term[2]
    for part in term[2:]:
        if isinstance(part, tuple):
            yield from _widenings(part)
