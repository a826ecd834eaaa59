"""The rules that propose: what a dispatch says of a switch, and when it is none."""

from collections.abc import Iterator
from dataclasses import replace

from permnet.binary.operands import Memory, Register
from permnet.switches.alike import is_jump_between, same_code
from permnet.switches.asked import state_at, tested_at
from permnet.switches.claim import Block, Claim, Scrutinee
from permnet.switches.default import guessed_default
from permnet.switches.graph import Graph
from permnet.switches.intervals import Intervals, moved, size
from permnet.switches.place import places_of
from permnet.switches.regions import MOST_LABELS, Region
from permnet.switches.terms import Term, bits_of, split
from permnet.switches.terms import signed as signed_number

FEWEST_LABELS = 2
FEWEST_TESTS = 3  # for a chain of tests to look like a switch
_ROTATES = ("rol", "ror", "rorx")
MOST_PARTS = 1  # of a default, beside the one that most values go to


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
    copies = tuple(block for block in blocks if default and _is_copy(graph, region, block, default))
    blocks = [block for block in blocks if block not in copies]
    lost = [block for e in region.edges if e.kind == "lost" and (block := graph.block(e.target))]
    tabled = any(block.last.mnemonic == "jmp" for block in lost)
    if not tabled and not _is_switch(graph, region, blocks, copies):
        return
    for edge in region.edges:
        if edge.kind == "computed":
            raise RefusedError(
                f"values are compared at {edge.target:#x} without a jump: a part is computed"
            )
        if edge.kind == "lost":
            raise RefusedError(f"the test at {edge.target:#x} depends on more than its value")
    if any(one.mnemonic in _ROTATES for one in region.head.code):
        raise RefusedError("the value is rotated before its tests: labels at a stride")
    parts = [block for block in copies if default and not same_code(graph, block.target, default)]
    if len(parts) > MOST_PARTS or any(size(block.values) > MOST_LABELS for block in blocks):
        raise RefusedError("values beyond a bound lead to different blocks: comparisons of sizes")
    tests = {graph.block_of(test.last.address) for test in region.tests}
    has, called = (False, None)
    if default is not None:
        has, called = guessed_default(graph, tests, labelled, default)
    for claim in placed(graph, region, tuple(blocks), default, has, copies):
        yield replace(claim, called=called)


def placed(
    graph: Graph,
    region: Region,
    blocks: tuple[Block, ...],
    default: int | None,
    has_default: bool,
    copies: tuple[Block, ...],
) -> Iterator[Claim]:
    """What is said of a dispatch, with each place where its value lies, the last first."""
    signed = _is_signed(graph, region)
    places = [*_places(graph, region)]
    if not places:
        raise RefusedError("the value that is tested has no place of its own")
    summed, bits = _summed(graph, region), bits_of(region.x)
    counted, others = (
        tuple(replace(block, values=moved(block.values, -summed, bits)) for block in part)
        for part in (blocks, copies)
    )
    for start, place, added in places:
        scrutinee = Scrutinee(place, bits, signed, added - summed)
        yield Claim(start, scrutinee, counted, default, has_default, others)


def _places(graph: Graph, region: Region) -> Iterator[tuple[int, Register | Memory, int]]:
    """From where on the value has which place, and what added to what lies there is the value."""
    before = state_at(graph, region.head)
    base, offset = split(region.x)
    terms = [(region.x, 0)]
    if offset:
        terms.append((base, signed_number(offset, bits_of(base))))
    tested = tested_at(graph, region.head)
    base, offset = split(tested.left) if tested else (region.x, 0)
    if tested and offset and base == region.x:  # a sum may be all that is left of it
        terms.append((tested.left, -signed_number(offset, bits_of(base))))
    for term, added in terms:
        for start, place in places_of(region.head, before, term):
            yield start, place, added


def _is_copy(graph: Graph, region: Region, block: Block, default: int) -> bool:
    """Whether a block is another one for values without a label: optimisers part the default.

    A label is what a test singles out: by equality, a bit or a table, or as a whole range. What is
    left of a test, or lies beyond a bound, is none.
    """
    if graph.is_unoptimised:
        kinds = {edge.kind for edge in region.edges if edge.target == block.target}
        return kinds != {"hit"} and is_jump_between(graph, block.target, default)
    if size(block.values) > MOST_LABELS or same_code(graph, block.target, default):
        return True
    edges = [edge for edge in region.edges if edge.target == block.target]
    ranges = [_is_range(edge.values, bits_of(region.x)) for edge in edges]
    if any(e.kind == "order" and not one for e, one in zip(edges, ranges, strict=True)):
        return True  # on either side of a bound, of which no label can be
    return not any(
        edge.kind in ("hit", "lost") or one for edge, one in zip(edges, ranges, strict=True)
    )


def _summed(graph: Graph, region: Region) -> int:
    """What was added to the value before the dispatch, to count a table's entries from 0.

    Compilers keep the sum for a second switch, or make it early, and labels then count from it.
    """
    base = region.x[2] if region.x[0] == "trunc" else region.x
    if base[0] != "start" or not region.has_table or region.head.last.mnemonic not in ("ja", "jbe"):
        return 0
    known = graph.fixed.at(region.head.address)
    return known.sums[base[2]].number if base[2] in known.sums else 0


def _is_range(values: Intervals, bits: int) -> bool:
    """Whether values follow one another, as -1 and 0 do."""
    around = values[0][0] == 0 and values[-1][1] == (1 << bits) - 1
    return len(values) == 1 or (len(values) == 2 and around)


def _is_switch(
    graph: Graph, region: Region, blocks: list[Block], copies: tuple[Block, ...]
) -> bool:
    """Whether there is enough of it to be one, or to be told why it is none."""
    count = sum(size(block.values) for block in blocks)
    if len(region.tests) < 2 or count < FEWEST_LABELS:
        return False
    if len(blocks) == 1:
        if _is_range(blocks[0].values, bits_of(region.x)):
            return False  # an `if` with an `and`
        if not graph.is_unoptimised and count == FEWEST_LABELS:
            return False  # an `if` with an `or`
    if any(size(copy.values) > MOST_LABELS for copy in copies):
        return count >= FEWEST_TESTS  # else sizes are compared
    hits = sum(size(edge.values) for edge in region.edges if edge.kind == "hit")
    return hits >= FEWEST_TESTS or all(size(block.values) <= MOST_LABELS for block in blocks)


def _is_signed(graph: Graph, region: Region) -> bool:
    """Whether the value has a sign, as far as its tests tell; numbers of 32 and 64 bits do."""
    flags = tested_at(graph, region.head)
    tested = flags.left if flags else ()
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
