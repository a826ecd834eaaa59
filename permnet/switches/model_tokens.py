"""A dispatch as the tokens that the model reads, and its answer as a claim.

    cmp 5 je .L4 cmp 5 jg .L9 cmp 3 jne .L9 else .L2 blocks .L2 : jmp .L9 .L4 : ret .L9 : into
    3 ; 5 ; after ;

Before `blocks` stand the tests in order of address, without their registers: `else` names where the
last jump of a test falls through to, unless another test stands there; jump tables are written out,
value by value, and masks bit by bit. Behind it stands every address that the tests lead to, in
order: whether other code jumps (`into`) or falls (`onto`) there, and how the code behind it ends.
The answer has for each of these its labels, `default`, or `after` for the code behind the switch.
"""

from collections.abc import Sequence

from permnet.binary.decode import Instruction
from permnet.binary.operands import Memory, Number, Register
from permnet.errors import PermnetError
from permnet.switches.claim import Block, Claim, Scrutinee
from permnet.switches.graph import BasicBlock, Graph
from permnet.switches.intervals import runs
from permnet.switches.jumps import jump_target
from permnet.switches.regions import Region

BLOCKS, DEFAULT, AFTER, END = "blocks", "default", "after", ";"
LONGEST_TABLE = 128
HEAD = 8  # instructions of the first test's block that can belong to it

_KEPT = ("cmp", "sub", "add", "dec", "inc", "and", "test", "bt", "lea", "shl", "shr", "sar", "not")
_FRAME = (Register("rsp"), Register("rbp"))
_MASKS = ("mov", "movabs", "and", "test")


def leaves(region: Region) -> list[int]:
    """The addresses that the tests lead to, in order."""
    return sorted(region.leaves())


def question(graph: Graph, region: Region, scrutinee: Scrutinee) -> list[str]:
    """The tokens of a dispatch; labels are named in order of appearance, to be renamed."""
    found = leaves(region)
    writer = _Writer(scrutinee)
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
        code = test.code[-HEAD:] if test is region.head else test.code
        for instruction in code:
            tokens += writer.instruction(instruction)
        if test.last.mnemonic == "jmp" and jump_target(test.last) is None:
            tokens += _table(graph, region, test, writer)
        elif test.is_conditional and test.end != after:
            tokens += ["else", writer.name(test.end)]
    tokens.append(BLOCKS)
    for at, address in enumerate(found):
        tokens += [writer.name(address), ":"]
        others = [graph.block(a) for a in graph.predecessors.get(address, set()) - tests]
        jumps = [block for block in others if block and address in block.successors[:1]]
        tokens += ["into"] * bool(jumps) + ["onto"] * (len(others) > len(jumps))
        tokens += _ending(graph, address, found[at + 1 : at + 2], writer)
    return tokens


class _Writer:
    """Names addresses, and writes numbers as labels of the value switched on are written."""

    def __init__(self, scrutinee: Scrutinee) -> None:
        self._scrutinee = scrutinee
        self._known: dict[int, str] = {}

    def name(self, address: int) -> str:
        return self._known.setdefault(address, f".L{len(self._known) + 1}")

    def number(self, value: int) -> int:
        bits = self._scrutinee.bits
        if not -(1 << (bits - 1)) <= value < 1 << bits:
            return value
        return self._scrutinee.label(value % (1 << bits))

    def instruction(self, instruction: Instruction) -> list[str]:
        """Its name and its numbers; nothing for one that only moves the value about."""
        mnemonic, operands = instruction.mnemonic, instruction.operands
        if mnemonic.startswith("j"):
            target = jump_target(instruction)
            return [mnemonic, self.name(target)] if target is not None else [mnemonic]
        if mnemonic.startswith("set"):
            return [mnemonic]
        if not operands or operands[0] in _FRAME:
            return []
        last = operands[-1]
        if mnemonic in ("mov", "movabs") and not isinstance(operands[0], Register):
            return []
        if mnemonic in _MASKS and isinstance(last, Number):
            bits = last.value % (1 << 64)
            if mnemonic != "and" or bits.bit_count() < 8:
                return [mnemonic, "bits", *(str(i) for i in range(64) if bits >> i & 1)]
        if mnemonic not in _KEPT:
            return []
        if isinstance(last, Number):
            return [mnemonic, str(self.number(last.value))]
        if mnemonic == "lea":
            if not isinstance(last, Memory) or last.base in ("rip", ""):
                return []
            return [mnemonic, str(last.displacement)]
        return [mnemonic]


def _table(graph: Graph, region: Region, test: BasicBlock, writer: _Writer) -> list[str]:
    """The entries of the jump table that a block reads; nothing if it is of no usual kind."""
    base, relative = None, False
    for instruction in test.code:
        for operand in instruction.operands:
            if not isinstance(operand, Memory):
                continue
            if instruction.mnemonic == "lea" and operand.base == "rip":
                base, relative = instruction.end + operand.displacement, True
            elif operand.scale == 8 and operand.bits == 64 and not relative:
                base = operand.displacement if not operand.base else base
    if base is None:
        return []
    tokens, first = ["table"], _offset(region, test, writer)
    targets = region.leaves().keys()
    size = 4 if relative else 8
    for index in range(LONGEST_TABLE):
        entry = graph.function.binary.read_only(base + size * index, size)
        if entry is None:
            break
        value = int.from_bytes(entry, "little", signed=relative)
        address = base + value if relative else value
        if address not in targets:
            break
        tokens += [str(first + index), writer.name(address)]
    return tokens


def _offset(region: Region, test: BasicBlock, writer: _Writer) -> int:
    """The label of a table's first entry: what was subtracted last before its bound was tested."""
    before = [block for block in region.tests if block.address < test.address][-1:]
    for block in (test, *before):
        for instruction in reversed(block.code):
            operands = instruction.operands
            if not operands or operands[0] in _FRAME:
                continue
            last = operands[-1]
            if instruction.mnemonic in ("sub", "add") and isinstance(last, Number):
                value = writer.number(last.value)
                return value if instruction.mnemonic == "sub" else -value
            if isinstance(last, Memory) and not last.bits and last.base not in ("rip", ""):
                return -last.displacement
    return 0


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


def answer(claim: Claim, found: Sequence[int]) -> list[str]:
    """The tokens that say what a claim says, leaf by leaf."""
    labels = {block.target: block.values for block in claim.blocks}
    tokens: list[str] = []
    for address in found:
        if address == claim.default:
            tokens += [DEFAULT if claim.has_default else AFTER, END]
        else:
            values = [claim.scrutinee.label(v) for low, high in labels[address]
                      for v in range(low, high + 1)]  # fmt: skip
            tokens += [*map(str, sorted(values)), END]
    return tokens


def claimed(tokens: Sequence[str], found: Sequence[int], like: Claim) -> Claim:
    """What an answer says of the addresses `found`; place and width of the value are `like`'s."""
    parts: list[list[str]] = [[]]
    for token in tokens:
        if token == END:
            parts.append([])
        else:
            parts[-1].append(token)
    if parts.pop() or len(parts) != len(found):
        raise PermnetError(f"{len(found)} addresses need as many answers, not {len(parts)}")
    blocks, default, written = [], None, False
    for address, part in zip(found, parts, strict=True):
        if part in ([DEFAULT], [AFTER]) and default is None:
            default, written = address, part == [DEFAULT]
        elif part and all(token.lstrip("-").isdecimal() for token in part):
            modulus = 1 << like.scrutinee.bits
            blocks.append(Block(address, runs({int(token) % modulus for token in part})))
        else:
            raise PermnetError(f"{' '.join(part)!r} is neither labels nor the one default")
    if default is None:
        raise PermnetError("no address is said to take the values without a label")
    return Claim(like.start, like.scrutinee, tuple(blocks), default, written)
