"""Whether the first test of a dispatch is a label's, or an `if` before the switch."""

from typing import TYPE_CHECKING

from permnet.binary.decode import Instruction
from permnet.binary.operands import GENERAL, Memory, Register
from permnet.switches.asked import asks_for_side, kinds_of, narrow, tested_at
from permnet.switches.default import breaks_to
from permnet.switches.effects import written
from permnet.switches.graph import Graph
from permnet.switches.intervals import size
from permnet.switches.jumps import is_mere_jump
from permnet.switches.terms import bits_of, signed, value_of

if TYPE_CHECKING:
    from permnet.switches.regions import Region

MOST_GONE = 20  # blocks of a condition before a switch


def is_apart(graph: Graph, region: "Region") -> bool:
    """Whether the first test is an `if` before the switch.

    A compiler that tests for one of many labels first then asks on which side of it the value
    lies, or goes through the labels in order.
    """
    flags = tested_at(graph, region.head)
    if _goes_on(graph, region):
        return True
    if flags is None or region.head.code[-2].mnemonic == "sub":
        return False
    if flags.kind != "cmp" and narrow(flags.left) != region.x:
        return False
    constant = value_of(flags.right)
    kinds = kinds_of(flags, region.head.last.mnemonic, region.x)
    if constant is None or "hit" not in kinds:
        return False
    missed = region.head.successors[kinds.index("miss")]
    following, hit = graph.tests_at(missed), region.head.successors[kinds.index("hit")]
    if graph.is_unoptimised and following and following.is_idle_jump:
        return False  # which an `if` has no need of
    if following and asks_for_side(graph, following, constant, bits_of(region.x)):
        return False
    if following != graph.block(missed) and _ends_loop(graph, region, hit):
        return True
    if graph.is_unoptimised and _leaves_body(graph, region, hit):
        return True
    if region.has_table and graph.is_unoptimised:
        return True  # it always asks for the side
    default = region.default()
    rest = [
        (low, high)
        for address, values in region.leaves().items()
        for low, high in values
        if address != default and (low, high) != (constant, constant)
    ]
    if not graph.is_unoptimised and size(region.leaves().get(hit, ())) > 1:
        return False  # it leads to a block of others
    if constant and rest and (region.has_table or region.has_mask):
        # A label outside it is tested before.
        bits = bits_of(region.x)
        labels = [signed(end, bits) for ends in rest for end in ends]
        return min(labels) < signed(constant, bits) < max(labels)
    sides = {low < constant for low, _ in rest}
    single = all(low == high for low, high in rest)
    if region.has_table and not graph.is_unoptimised and not _ends_loop(graph, region, hit):
        return False
    if not graph.is_unoptimised and _comes_to_sides(graph, region):
        return False
    return len(rest) > 2 or (len(sides) > 1 and not single)


def _comes_to_sides(graph: Graph, region: "Region") -> bool:
    """Whether tests for one number each come to all above the first one, then to all below it.

    That is a tree that needs no comparison of sizes, as its values are known to be few.
    """
    tests = [test for test in region.tests if not is_mere_jump(test.last)]
    numbers = [value_of(flags.right) for test in tests if (flags := tested_at(graph, test))]
    if {test.last.mnemonic for test in tests} - {"je", "jne"} or len(numbers) < len(tests):
        return False
    seen = [signed(number or 0, bits_of(region.x)) for number in numbers]
    above = [number > seen[0] for number in seen[1:]]
    return len({*above}) == 2 and above == sorted(above, reverse=True)


def _goes_on(graph: Graph, region: "Region") -> bool:
    """Whether one way from the first test is code that all leads to the other, a test."""
    tests = {test.address for test in region.tests} - {region.head.address}
    one, other = region.head.successors
    pairs = [(a, b) for a, b in ((one, other), (other, one)) if b in tests and a not in tests]
    return any(_all_leads(graph, a, b, region) for a, b in pairs)


def _all_leads(graph: Graph, start: int, end: int, region: "Region") -> bool:
    """Whether all ways from one place come to another, none of them back to the dispatch."""
    changed = {GENERAL[o.name][0] for o in _registers(region.head.code[-2]) if o.general}
    pending, seen = [start], {end}
    while pending:
        address = pending.pop()
        if address in seen:
            continue
        block = graph.block(address)
        if block is None or not block.successors or len(seen) > MOST_GONE:
            return False
        sets = [i for i in block.code if changed & written(i)[0] and not _may_read_again(i)]
        if sets or address == region.head.address:
            return False
        seen.add(address)
        pending += block.successors
    return True


def _leaves_body(graph: Graph, region: "Region", hit: int) -> bool:
    """Whether what is hit lies behind all blocks, and no `break` leads there.

    Without an optimiser a block of the switch without code is where its `break` leads.
    """
    others = [address for address in region.leaves() if address != hit]
    if len(others) < 3 or hit < max(others):  # with fewer it would be no switch without it
        return False
    body = [block for block in graph.blocks if min(others) <= block.address < hit]
    return not any(breaks_to(block, hit) for block in body)


def _ends_loop(graph: Graph, region: "Region", hit: int) -> bool:
    """Whether what is hit leaves a loop that the rest stays in, as `while (c)` does."""
    others = [address for address in region.leaves() if address != hit]
    return _reaches(graph, others, region) and not _reaches(graph, [hit], region)


def _reaches(graph: Graph, addresses: list[int], region: "Region") -> bool:
    """Whether ways from some addresses lead to a test of a dispatch."""
    last = [test.last for test in region.tests]
    tests = {graph.block_of(one.address) for one in last if not is_mere_jump(one)}
    pending, seen = list(addresses), set[int]()
    while pending:
        block = graph.block(pending.pop())
        if block is None or block.address in seen:
            continue
        if block.address in tests:
            return True
        seen.add(block.address)
        pending += block.successors
    return False


def _registers(instruction: Instruction) -> list[Register]:
    return [operand for operand in instruction.operands if isinstance(operand, Register)]


def _may_read_again(instruction: Instruction) -> bool:
    """Whether something is read, maybe what was read before; a call changes what is read then."""
    loads = any(isinstance(operand, Memory) for operand in instruction.operands[1:])
    return instruction.mnemonic == "call" or (instruction.mnemonic[:3] == "mov" and loads)
