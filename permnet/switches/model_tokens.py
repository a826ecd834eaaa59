"""A dispatch as the tokens that the model reads, and its answer as a claim.

    cmp 5 je .L4 cmp 6 jge .L9 cmp 3 jne .L9 else .L2 blocks .L2 : jmp .L9 .L4 : ret .L9 : into
    3 ; 5 ; after ;

Before `blocks` stand the tests in order of address, whatever registers they are made with: `else`
names where the last jump of a test falls through to, unless another test stands there. Numbers are
written as labels: `sub 97 cmp 123 jae` is a jump if the value, less 97, is 26 or more. Whether a
bound is part of what is below or above it is written one way only, so that the ends of runs can be
copied. Jump tables are written out value by value and masks bit by bit. Behind `blocks` stands
every address that the tests lead to, in order: whether other code jumps (`into`) or falls (`onto`)
there, and how the code behind it ends.

The answer has for each of these its labels, in order of their first place in the question, and runs
that no test takes apart as `97 .. 123`, without the last number; or `default`; or `after` for the
code behind the switch. What a number is hardly matters, only where it stands.
"""

import re
from collections.abc import Collection, Iterator, Sequence

from permnet.binary.decode import Instruction
from permnet.errors import PermnetError
from permnet.switches.alike import same_code
from permnet.switches.asked import state_at
from permnet.switches.claim import Block, Claim, Scrutinee
from permnet.switches.graph import BasicBlock, Graph
from permnet.switches.intervals import Interval, Intervals, numbers, runs, size, union
from permnet.switches.jumps import jump_target
from permnet.switches.machine import Flags, State
from permnet.switches.regions import MOST_LABELS, Edge, Region
from permnet.switches.rules import FEWEST_LABELS, placed
from permnet.switches.terms import Term, bits_of, const, signed, split, value_of

BLOCKS, DEFAULT, AFTER, TO, END = "blocks", "default", "after", "..", ";"
LONGEST = 400  # tokens of a question
LONGEST_TABLE = 128
_BEYOND = {"jg": "jge", "ja": "jae", "jle": "jl", "jbe": "jb"}  # with the next number
_COUNT = (31, 63)  # of a shift's count the low bits are taken

_RUN = re.compile(r"(-?[0-9]{1,20})(?: \.\. (-?[0-9]{1,20}))?")
_LABELS = re.compile(rf"{_RUN.pattern}(?: {_RUN.pattern})*")


def scrutinee_of(graph: Graph, region: Region) -> Scrutinee:
    """How the labels of a dispatch are written; RefusedError if its value has no place."""
    return next(placed(graph, region, (), None, False, ())).scrutinee


def leaves(region: Region) -> list[int]:
    """The addresses that the tests lead to, in order."""
    return sorted(region.leaves())


def question(graph: Graph, region: Region, scrutinee: Scrutinee) -> list[str]:
    """The tokens of a dispatch; labels are named in order of appearance, to be renamed."""
    found, states = leaves(region), _states(graph, region)
    writer = _Writer(region.x, scrutinee)
    tokens: list[str] = []
    before = [test for test in region.tests if test.address < region.head.address]
    ordered = [*region.tests[len(before) :], *before]
    tests = {test.address for test in ordered}
    following = [test.address for test in ordered[1:]] + [-1]
    jumped = {target for test in ordered for target in test.successors[:1]}
    fallen = {test.end for test, after in zip(ordered, following, strict=True) if test.end != after}
    for test, after in zip(ordered, following, strict=True):
        if test.address in jumped | fallen:
            tokens += [writer.name(test.address), ":"]
        # A mere jump may be reached through a table.
        target, state = jump_target(test.last), states.get(test.address, State())
        tokens += writer.jump(test.last.mnemonic, state.flags)
        if target is None:
            tokens += _table(graph, region, test, state, writer)
        else:
            tokens.append(writer.name(target))
        if test.is_conditional and test.end != after:
            tokens += ["else", writer.name(test.end)]
    tokens.append(BLOCKS)
    for at, address in enumerate(found):
        tokens += [writer.name(address), ":"]
        others = [graph.block(a) for a in graph.predecessors.get(address, set()) - tests]
        jumps = [block for block in others if block and address in block.successors[:1]]
        tokens += ["into"] * bool(jumps) + ["onto"] * (len(others) > len(jumps))
        tokens += _ending(graph, address, found[at + 1 : at + 2], writer)
    return tokens


def _states(graph: Graph, region: Region) -> dict[int, State]:
    """The state before the jump at the end of each test, on the way from the first."""
    tests = {test.address: test for test in region.tests}
    pending = [(region.head, state_at(graph, region.head))]
    states: dict[int, State] = {}
    while pending:
        test, state = pending.pop()
        for instruction in test.code[:-1]:
            state.step(instruction)
        states[test.address] = state
        for address in test.successors:
            if address in tests and address not in states:
                pending.append((tests[address], state.copy()))
    return states


class _Writer:
    """Names addresses, and writes what is known of the value `x` as labels."""

    def __init__(self, x: Term, scrutinee: Scrutinee) -> None:
        self._base, self._offset = _bare(x)
        self._scrutinee = scrutinee
        self._known: dict[int, str] = {}

    def name(self, address: int) -> str:
        return self._known.setdefault(address, f".L{len(self._known) + 1}")

    def number(self, value: int) -> str:
        return str(self._scrutinee.label(value % (1 << self._scrutinee.bits)))

    def subtracted(self, term: Term) -> int | None:
        """What has to be added to a term to have the value; None if it is another one."""
        base, offset = _bare(term)
        return self._offset - offset if base == self._base else None

    def jump(self, mnemonic: str, flags: Flags | None) -> list[str]:
        """What a jump depends on, and its name."""
        if mnemonic == "jmp" or flags is None:
            return [mnemonic]
        left, right = flags.left, value_of(flags.right)
        if left[0] == "set":
            return [*self.jump(left[2], Flags(*left[3:6])), "set", mnemonic]
        if flags.kind == "bit":
            return [*self._bits(left, flags.right), mnemonic]
        shift = self.subtracted(left)
        if shift is not None and right is not None:
            minus = ["sub", self.number(shift)] if shift else []
            bound = right + (mnemonic in _BEYOND)
            return [*minus, "cmp", self.number(bound + shift), _BEYOND.get(mnemonic, mnemonic)]
        left = _narrow(left)
        if left[0] == "and":
            shifted, mask = _narrow(left[2]), left[3]
            if shifted[0] in ("shl", "shr"):
                bits = mask if shifted[0] == "shl" else shifted[2]
                return [*self._bits(bits, shifted[3]), mnemonic]
            return ["and", *self._bits(mask, const(0, 64)), mnemonic]
        return ["cmp", mnemonic]

    def _bits(self, mask: Term, index: Term) -> list[str]:
        """The bits of a mask as the labels that they stand for."""
        bits, first = value_of(mask), self.subtracted(index) or 0
        if bits is None:
            return ["bits"]
        return ["bits", *(self.number(first + i) for i in range(64) if bits >> i & 1)]


def _bare(term: Term) -> tuple[Term, int]:
    """A term without widenings, and the number that is added to it."""
    base, offset = split(_narrow(term))
    offset, base = signed(offset, bits_of(base)), _narrow(base)
    # Of what lies in memory any number of bytes may be read.
    return (base if base[0] != "load" else ("load", *base[2:4])), offset


def _narrow(term: Term) -> Term:
    while term[0] in ("zext", "sext", "trunc") or (
        term[0] == "and" and value_of(term[3]) in _COUNT
    ):
        term = term[2]
    return term


def _within(term: Term, kind: str) -> Iterator[Term]:
    """The parts of a term that are of a kind, the outer ones first."""
    if term[0] == kind:
        yield term
    if term[0] != "new":
        for part in term[2:]:
            if isinstance(part, tuple):
                yield from _within(part, kind)


def _table(
    graph: Graph, region: Region, test: BasicBlock, state: State, writer: _Writer
) -> list[str]:
    """The entries of the jump table that a block reads; nothing if it is of no usual kind."""
    target = state.value(test.last.operands[0], 64, test.end)
    load = next(_within(target, "load"), None)
    if load is None:
        return []
    scaled, base = split(load[2])
    if scaled[0] != "mul" or (first := writer.subtracted(scaled[2])) is None:
        return []
    behind = {t.address: t.successors[0] for t in region.tests if len(t.successors) == 1}
    tokens, reached, width = ["table"], region.leaves(), bits_of(load) // 8
    for index in range(LONGEST_TABLE):
        entry = graph.function.binary.read_only(base + width * index, width)
        if entry is None:
            break
        address = int.from_bytes(entry, "little", signed=width < 8) + (base if width < 8 else 0)
        address = behind.get(address, address)
        value = (first + index) % (1 << bits_of(region.x))
        if not any(low <= value <= high for low, high in reached.get(address, ())):
            break
        tokens += [writer.number(value), writer.name(address)]
    return tokens


def _ending(graph: Graph, address: int, following: list[int], writer: _Writer) -> list[str]:
    """How the code between a block's address and the next one's ends."""
    block = graph.block(address)
    last: Instruction | None = None
    while block is not None:
        last = block.last
        if following and block.end >= following[0]:
            break
        if not following and last.mnemonic in ("jmp", "ret"):
            break
        block = graph.block(block.end)
    if last is None:
        return []
    if last.mnemonic == "jmp" and (target := jump_target(last)) is not None:
        return ["jmp", writer.name(target)]
    return [last.mnemonic] if last.mnemonic in ("jmp", "ret", "nop") else []


def answer(
    region: Region,
    scrutinee: Scrutinee,
    asked: Sequence[str],
    defaults: Collection[int],
    has_default: bool,
) -> list[str]:
    """The answer to a question `asked`, if values without a label lead to the addresses given."""
    places = {token: i for i, token in reversed([*enumerate(asked)])}

    def place(run: Interval) -> tuple[int, int]:
        low, high = run
        ends = (low,) if low == high else (low, high + 1)
        return min(places.get(str(label), len(asked)) for label in ends), low

    tokens: list[str] = []
    for address in leaves(region):
        if address in defaults:
            tokens += [DEFAULT if has_default else AFTER, END]
            continue
        edges = [edge for edge in region.edges if edge.target == address]
        found = [run for edge in edges for run in _runs(edge, scrutinee)]
        for low, high in sorted(found, key=place):
            tokens += [str(low)] if low == high else [str(low), TO, str(high + 1)]
        tokens.append(END)
    return tokens


def _runs(edge: Edge, scrutinee: Scrutinee) -> list[Interval]:
    """The labels on an edge, as runs where they are not tested one by one."""
    labels = union((scrutinee.label(low), scrutinee.label(high)) for low, high in edge.values)
    if edge.kind != "hit":
        return [*labels]
    return [(label, label) for label in numbers(labels)]


def claimed(
    tokens: Sequence[str], graph: Graph, region: Region, scrutinee: Scrutinee
) -> Iterator[Claim]:
    """What an answer says of a dispatch, with each place where its value lies.

    Of several addresses for values without a label the one that most lead to is the default. The
    others do the same or are reached by values beyond a bound, which is more than a proof asks for.
    """
    found = leaves(region)
    parts: list[list[str]] = [[]]
    for token in tokens:
        if token == END:
            parts.append([])
        else:
            parts[-1].append(token)
    if parts.pop() or len(parts) != len(found):
        raise PermnetError(f"{len(found)} addresses need as many answers, not {len(parts)}")
    told = dict(zip(found, parts, strict=True))
    blocks = [Block(a, _values(part, scrutinee)) for a, part in told.items() if not _is_rest(part)]
    reached = region.leaves()
    rest = sorted((a for a in found if _is_rest(told[a])), key=lambda a: -size(reached[a]))
    words = {told[address][0] for address in rest}
    if len(words) != 1:
        raise PermnetError("values without a label need one answer, `default` or `after`")
    for address in rest[1:]:
        if size(reached[address]) <= MOST_LABELS and not same_code(graph, address, rest[0]):
            raise PermnetError(f"the labels that lead to {address:#x} are said to be none")
    copies = tuple(Block(address, reached[address]) for address in rest[1:])
    if sum(size(block.values) for block in blocks) < FEWEST_LABELS:
        raise PermnetError(f"a switch has {FEWEST_LABELS} labels or more")
    yield from placed(graph, region, tuple(blocks), rest[0], words == {DEFAULT}, copies)


def _is_rest(part: list[str]) -> bool:
    return part in ([DEFAULT], [AFTER])


def _values(part: list[str], scrutinee: Scrutinee) -> Intervals:
    """The values without sign that labels and runs of labels stand for."""
    match = _LABELS.fullmatch(" ".join(part))
    if match is None:
        raise PermnetError(f"{' '.join(part)!r} is neither labels nor `default` nor `after`")
    modulus = 1 << scrutinee.bits
    values: set[int] = set()
    for low, high in _RUN.findall(match[0]):
        first, beyond = int(low), int(high) if high else int(low) + 1
        if not 1 <= beyond - first <= MOST_LABELS:
            raise PermnetError(f"{first} .. {beyond} is no run of 1 to {MOST_LABELS} labels")
        values |= {label % modulus for label in range(first, beyond)}
    return runs(values)
