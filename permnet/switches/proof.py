"""The proof of a claim: its machine code run for every value of the scrutinee, stretch by stretch.

A run starts with one value x of the scrutinee and nothing else known. Each number in it also
carries its slope, how much it grows when x grows by one, and each step that holds only for some x
(a number that wraps, a sign, a comparison) narrows the stretch of values around x that go the very
same way. A run ends where a claimed block begins: the whole stretch gets there. The next run starts
behind the stretch, until the last value of the width is passed.

Nothing of the rules that propose is used to say yes. What has to be trusted is this module, `cpu`,
which runs an instruction, `fixed`, `effects`, and the reader of the file. `named` and `whole` can
only say no: what tests name, and whether the dispatch is all there.
"""

from bisect import bisect_right
from collections.abc import Iterator, Sequence

from permnet.switches.arrivals import Way, difference, same_place
from permnet.switches.claim import Claim
from permnet.switches.contents import UnprovenError
from permnet.switches.cpu import Cpu
from permnet.switches.fixed import Known
from permnet.switches.graph import Graph
from permnet.switches.intervals import Interval
from permnet.switches.jumps import is_idle, jump_target
from permnet.switches.named import Named
from permnet.switches.whole import further_test, goes_on, test_before, tested_again, wider_test

MOST_RUNS = 20_000
MOST_PASSED = 2_000_000  # tests on the ways of all runs
MOST_STEPS = 5_000  # of one run: the longest dispatch, and then some


class TooLongError(UnprovenError):
    """So many stretches of values that a proof from another place of the value would be as long."""


def prove(graph: Graph, claim: Claim) -> None:
    """Silent if exactly the claimed values reach each block; UnprovenError otherwise."""
    last = (1 << claim.scrutinee.bits) - 1
    expected = _expected(claim, last)
    if (test := test_before(graph, claim)) is not None:
        raise UnprovenError(f"the test at {test:#x} comes before: it is a part of a dispatch")
    starts = [low for (low, _), _ in expected]
    known = known_registers(graph, claim)
    named = Named(graph, claim)
    ways: set[Way] = set()
    x = runs = passed = 0
    while x <= last:
        runs += 1
        if runs > MOST_RUNS:
            raise TooLongError(f"more than {MOST_RUNS} stretches of values")
        cpu, way, by_size = _run(graph, claim, known, x)
        target = way[-1]
        ways.add(way)
        passed += len(way)
        if passed > MOST_PASSED:
            raise TooLongError(f"more than {MOST_PASSED} tests on the ways of all values")
        named.note(cpu, way, by_size)
        while x <= cpu.high:
            (_, end), wanted = expected[bisect_right(starts, x) - 1]
            if target != wanted:
                label = claim.scrutinee.label(x)
                claimed = "no block" if wanted is None else f"{wanted:#x}"
                raise UnprovenError(f"{label} leads to {target:#x}, not to {claimed}")
            x = min(end, cpu.high) + 1
    named.check()
    if found := difference(graph, sorted(ways)):
        raise UnprovenError(f"values come to {found[0]:#x} with different contents of {found[1]}")
    if not graph.is_unoptimised:
        _check_optimised(graph, claim, sorted(ways), named)


def _check_optimised(graph: Graph, claim: Claim, ways: Sequence[Way], named: Named) -> None:
    """What optimisers do to blocks and tests: a block in two places, a test behind the others."""
    labelled = {block.target for block in claim.blocks}
    if same := same_place(graph, ways, labelled):
        raise UnprovenError(f"{same[0]:#x} and {same[1]:#x} are one block, claimed to be two")
    if (at := wider_test(graph, claim, ways)) is not None:
        raise UnprovenError(f"the test at {at:#x} is of more than {claim.scrutinee.bits} bits")
    for further in (further_test, tested_again):
        if (at := further(graph, claim, ways)) is not None:
            raise UnprovenError(f"the test at {at:#x} goes on with the dispatch")
    for block in claim.blocks:
        if named.is_named(block.target):
            continue
        if (at := goes_on(graph, block)) is not None:
            raise UnprovenError(f"the test at {at:#x} is for some of the values that lead there")


def known_registers(graph: Graph, claim: Claim) -> Known:
    """What holds of registers where a dispatch begins."""
    return graph.fixed.at(claim.start)


def _expected(claim: Claim, last: int) -> list[tuple[Interval, int | None]]:
    """Every value's target, in stretches from 0 to the last."""
    targets = [block.target for block in (*claim.blocks, *claim.copies)]
    if len({*targets, claim.default}) != len(targets) + 1:
        raise UnprovenError("two blocks are claimed at one address")
    claimed = sorted(
        (interval, block.target)
        for block in (*claim.blocks, *claim.copies)
        for interval in block.values
    )
    if any(not block.values for block in claim.blocks):
        raise UnprovenError("a block is claimed that no value leads to")
    found: list[tuple[Interval, int | None]] = []
    free = 0
    for (low, high), target in claimed:
        if not free <= low <= high <= last:
            raise UnprovenError(f"{low} to {high} is claimed twice, or is no value of the width")
        if free < low:
            found.append(((free, low - 1), claim.default))
        found.append(((low, high), target))
        free = high + 1
    if free <= last:
        found.append(((free, last), claim.default))
    return found


def _run(graph: Graph, claim: Claim, known: Known, x: int) -> tuple[Cpu, Way, tuple[bool, ...]]:
    """The processor at the end of a run, and the way that it went to a claimed address.

    With each part of the way whether a comparison of sizes led there.
    """
    ends = {block.target for block in (*claim.blocks, *claim.copies)} | {claim.default}
    cpu = Cpu(graph.function.binary.read_only, claim.scrutinee, x, known)
    way: tuple[tuple[int, bool], ...] = ((claim.start, False),)
    for address, jumped in _path(graph, cpu, claim.start):
        if jumped:
            filled = graph.past_padding(way[-1][0]) != way[-1][0]
            way = (*(way[:-1] if filled else way), (address, cpu.named is None))
        if address in ends and address != claim.start:
            if not jumped:
                raise UnprovenError(f"values come to {address:#x} through other code")
            return cpu, tuple(at for at, _ in way), tuple(by for _, by in way)
    raise UnprovenError(f"{claim.scrutinee.label(x)} reaches no block in {MOST_STEPS} steps")


def _path(graph: Graph, cpu: Cpu, address: int) -> Iterator[tuple[int, bool]]:
    """The addresses that a run comes by, and whether it came there by a jump, taken or not.

    A dispatch is tests and nothing else: an unconditional jump stands right behind a test, or else
    the code before it belongs to a block of the switch.
    """
    jumped = False
    tested = -1  # the end of the last test, where it was not taken
    for _ in range(MOST_STEPS):
        yield address, jumped
        instruction = graph.instruction(address)
        if instruction is None:
            raise UnprovenError(f"values leave the function to {address:#x}, which is not claimed")
        if is_idle(instruction) and not graph.is_unoptimised:  # there it stands for a block
            address = instruction.end
            continue
        if shared := graph.shared_condition(instruction):  # two comparisons have one jump
            address = shared.address
            continue
        mnemonic = instruction.mnemonic
        jumped = mnemonic.startswith("j")
        if mnemonic == "jmp":
            target = jump_target(instruction)
            if target is not None and tested != address:
                raise UnprovenError(f"the jump at {address:#x} is not part of a dispatch")
            address = cpu.address_of(instruction) if target is None else target
        elif mnemonic.startswith("j"):
            target = jump_target(instruction)
            if target is None:
                raise UnprovenError(f"{mnemonic} at {address:#x} is not followed")
            tested = instruction.end
            address = target if cpu.jumps(mnemonic[1:]) else instruction.end
        else:
            if mnemonic == "cmp" and tested == address:  # one whose two ways lead to one place
                tested = instruction.end
            cpu.step(instruction)
            address = instruction.end
