"""Whether a claim is about a whole dispatch, or about what is left of one behind some tests."""

from collections.abc import Iterable, Iterator

from permnet.binary.decode import Instruction
from permnet.binary.operands import Number
from permnet.switches.arrivals import Way, serves
from permnet.switches.asked import asks_for_side, kinds_of, scrutinee, state_at
from permnet.switches.claim import Block, Claim
from permnet.switches.effects import read, written
from permnet.switches.graph import BasicBlock, Graph
from permnet.switches.intervals import size
from permnet.switches.jumps import is_jump, jump_target
from permnet.switches.machine import Flags, State
from permnet.switches.terms import Term, bits_of, trunc, value_of

MOST_TOLD_APART = 16  # labels of a block that tells one of them from the others
MOST_BEFORE = 16  # tests that are gone back through
MOST_BEHIND = 64  # and those that are followed to see where they lead

Code = tuple[Instruction, ...]


def test_before(graph: Graph, claim: Claim) -> int | None:
    """A test of the same dispatch that values have come from, if there is no other way.

    Compilers ask on which side of a number a value lies on the way to the tests for labels; what
    lies on the other side then leads to some of the same places. A condition of the source before
    a switch is for one value, or leads away. Where several tests lead is a block, unless each of
    them asks for a side.
    """
    start, between = claim.start, Code()
    for _ in range(MOST_BEFORE):
        ways = [*_before(graph, start, between)]
        tests = [test for test, _, _ in ways if test]
        several = len(ways) > 1  # optimisers copy tests, one for each way there
        if not tests or len(tests) < len(ways) or (several and graph.is_unoptimised):
            return None
        asked = [_asked(graph, claim, test, to, code, several) for test, to, code in ways if test]
        if several or asked[0] is not False:
            return tests[0].last.address if all(asked) else None
        start, between = tests[0].last.address, ways[0][2]
    return None


def goes_on(graph: Graph, block: Block) -> int | None:
    """A test that many values of a block come to before anything is done for them, if any.

    What it tests may be the value in a second register, or bits of it computed long before, and the
    claim knows nothing of these.
    """
    asked = _asked_first(graph, block.target)
    return asked[2] if asked and size(block.values) > MOST_TOLD_APART else None


def _asked_first(graph: Graph, address: int) -> tuple[Instruction, frozenset[str], int] | None:
    """The comparison that code begins with, what it is of that was there before, and its jump."""
    following = graph.stretch(address)
    if following is None or len(following.code) < 2 or not following.is_conditional:
        return None
    *before, compare, last = following.code
    changed = frozenset[str]().union(*(written(one)[0] for one in before))
    if compare.mnemonic not in ("cmp", "test", "bt") or any(written(one)[1] for one in before):
        return None
    return compare, read(compare) - changed, last.address


def further_test(graph: Graph, claim: Claim, ways: Iterable[Way]) -> int | None:
    """A place of values without a label that begins with one more test of them, if there is one.

    It tests what the tests on a way there were about, for one number, or else does nothing but lead
    on to another place of the claim.
    """
    others = {copy.target for copy in claim.copies} | {claim.default}
    places = others | {block.target for block in claim.blocks}
    for way in ways:
        asked = _asked_first(graph, way[-1]) if way[-1] in others else None
        following = graph.stretch(way[-1])
        if asked is None or following is None or not serves(graph, way, asked[1]):
            continue
        if _is_for_one(asked[0], following.last) or places & {*following.successors}:
            return asked[2]
    return None


def _is_for_one(compare: Instruction, jump: Instruction) -> bool:
    """Whether a test is for one number."""
    if jump.mnemonic not in ("je", "jne"):
        return False
    match compare.mnemonic, compare.operands:
        case "cmp", (_, Number()):
            return True
        case "test", (one, other):
            return one == other
    return False


def wider_test(graph: Graph, claim: Claim, ways: Iterable[Way]) -> int | None:
    """A comparison with a number that the width of the value has not, if there is one.

    Compilers know that width: other values come there too, from elsewhere.
    """
    last = (1 << claim.scrutinee.bits) - 1
    for at in {at for way in ways for at in way[:-1]}:
        block = graph.stretch(at)
        if block is None or not block.is_conditional or len(block.code) < 2:
            continue
        match block.code[-2].mnemonic, block.code[-2].operands:
            case "cmp", (_, Number(value)) if value > last:
                return block.last.address
    return None


def tested_again(graph: Graph, claim: Claim, ways: Iterable[Way]) -> int | None:
    """A test of the value behind work for values without a label, if it leads to labelled ones.

    A condition before a switch that is for smaller values, say, is made one with its first test:
    then each side has a dispatch of its own.
    """
    others = {copy.target for copy in claim.copies} | {claim.default}
    labelled: set[int | None] = {block.target for block in claim.blocks}
    stretches = {at: block for way in ways for at in way if (block := graph.stretch(at))}
    tests = {stretches[at].last.address for way in ways for at in way[:-1] if at in stretches}
    for way in {way[-1]: way for way in ways if way[-1] in others}.values():
        following = stretches.get(way[-1])
        if following is None or not following.is_conditional or following.last.address in tests:
            continue
        if all(one.mnemonic != "call" for one in following.code):  # a switch in the default
            continue
        state = State()
        value = state.value(claim.scrutinee.place, claim.scrutinee.bits, 0)
        for at in way[:-1]:
            _tested(state, stretches[at])
        _, x = _tested(state, following)
        if x is not None and _is_same(x, value):
            ends = following.successors
            if any(_leads(graph, end, state, x, labelled) for end in ends):
                return following.last.address
    return None


def _before(
    graph: Graph, address: int, code: Code
) -> Iterator[tuple[BasicBlock | None, int, Code]]:
    """Tests that lead to an address, each with its way there and the code on it.

    None for any other way there. `code` is what comes behind the address.
    """
    first = graph.block(graph.block_of(address))
    inside = tuple(i for i in first.code if i.address < address) if first else ()
    pending = [(graph.block_of(address), (*inside, *code))]
    seen: set[int] = set()
    while pending:
        at, code = pending.pop()
        before = graph.predecessors.get(at, set())
        if at in seen or not before:
            yield None, at, ()
            return
        seen.add(at)
        for start in before:
            block = graph.block(start)
            if block and block.is_conditional:
                yield block, at, code
            elif block:
                pending.append((start, (*_without_jump(block), *code)))


def _without_jump(block: BasicBlock) -> Code:
    return block.code[:-1] if is_jump(block.last) else block.code


def _asked(
    graph: Graph, claim: Claim, test: BasicBlock, to: int, between: Code, copied: bool = False
) -> bool | None:
    """Whether a test is on which side of a number the value of a claim lies, as in its dispatch.

    None if it is of another value, or leads away; it is not if it is for one value. Where a test is
    copied, or is of some bits of the value, the other side need only go on with tests of it.
    """
    whole = _with_way(graph, test)
    state = state_at(graph, whole)
    flags, x = _tested(state, whole)
    if flags is None or x is None:
        return None
    after = state.copy()
    for instruction in between:
        after.step(instruction)
    value = after.value(claim.scrutinee.place, claim.scrutinee.bits, 0)
    if not _is_same(x, value):
        return None
    kinds = kinds_of(flags, test.last.mnemonic, x)
    is_part = _is_part(x, value)
    if "order" not in kinds and not is_part:
        number, following = value_of(flags.right), graph.stretch(claim.start)
        if kinds[test.successors.index(to)] == "hit":
            return None
        if number is None or following is None:
            return False
        return asks_for_side(graph, following, number, bits_of(x))
    places = {block.target for block in (*claim.blocks, *claim.copies)} | {claim.default}
    other = next((one for one in test.successors if one != to), to)
    if (copied or is_part) and _tests(graph, other, state, x):
        return True
    return True if _leads(graph, other, state, x, places) else None


def _is_part(one: Term, other: Term) -> bool:
    """Whether a term has some of the bits of a value of which another one has more."""
    (some, of), (more, whole) = _mask(one), _mask(other)
    bits = min(bits_of(of), bits_of(whole))
    return 0 != some != more and some & more == some and trunc(of, bits) == trunc(whole, bits)


def _mask(term: Term) -> tuple[int, Term]:
    """The bits that a term has of another, and that one; 0 if it is no such part."""
    while term[0] in ("zext", "trunc"):
        term = term[2]
    mask = value_of(term[3]) if term[0] == "and" else None
    return (mask, term[2]) if mask else (0, term)


def _tests(graph: Graph, address: int, state: State, x: Term) -> bool:
    """Whether code begins with a test of x."""
    block = graph.stretch(_resolved(graph, address))
    if block is None or not block.is_conditional:
        return False
    _, y = _tested(state.copy(), block)
    return y is not None and _is_same(x, y)


def _leads(graph: Graph, start: int, state: State, x: Term, places: set[int | None]) -> bool:
    """Whether tests of x from an address on lead to one of some places."""
    pending, seen = [(start, state)], set[int]()
    while pending and len(seen) < MOST_BEHIND:
        address, before = pending.pop()
        address = _resolved(graph, address)
        if address in places:
            return True
        block = graph.stretch(address)
        if address in seen or block is None or not block.is_conditional:
            continue
        seen.add(address)
        after = before.copy()
        _, y = _tested(after, block)
        if y is not None and _is_same(x, y):
            pending += [(successor, after) for successor in block.successors]
    return False


def _with_way(graph: Graph, test: BasicBlock) -> BasicBlock:
    """A test and the code on the way there: the only one, or else the one that falls there."""
    code, at, seen = test.code, test.address, set[int]()
    while at not in seen:
        seen.add(at)
        before = [block for one in graph.predecessors.get(at, ()) if (block := graph.block(one))]
        before = before if len(before) == 1 else [one for one in before if one.end == at]
        for block in before:
            code, at = (*_without_jump(block), *code), block.address
    return BasicBlock(code)


def _tested(state: State, block: BasicBlock) -> tuple[Flags | None, Term | None]:
    """What the jump at the end of a block depends on, and the value that it is about."""
    for instruction in block.code[:-1]:
        state.step(instruction)
    return state.flags, scrutinee(state.flags, block.last.mnemonic)


def _is_same(one: Term, other: Term) -> bool:
    """Whether two terms are of one value, as it is, with a constant added or some bits of it."""
    left, right = _root(one), _root(other)
    bits = min(bits_of(left), bits_of(right))
    return trunc(left, bits) == trunc(right, bits)


def _root(term: Term) -> Term:
    while term[0] in ("zext", "sext", "trunc") or (
        term[0] in ("add", "and", "shr", "sar") and value_of(term[3]) is not None
    ):
        term = term[2]
    return term


def _resolved(graph: Graph, address: int) -> int:
    """Where a mere jump leads."""
    block = graph.block(address)
    if block and len(block.code) == 1 and block.last.mnemonic == "jmp":
        return jump_target(block.last) or address
    return address
