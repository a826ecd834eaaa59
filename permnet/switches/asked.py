"""What a test asks: the value that it is about, and which of its ways are for what it names."""

from collections.abc import Iterator
from typing import Literal

from permnet.switches.effects import keeps_flags
from permnet.switches.graph import BasicBlock, Graph
from permnet.switches.machine import Flags, State
from permnet.switches.pieces import CONDITIONS
from permnet.switches.terms import Term, binary, bits_of, const, extended, trunc, value_of

_UNSIGNED = ("jb", "jae", "jbe", "ja")
_FROM = ("jge", "jl", "jae", "jb", "jns", "js")  # tests that put what is equal above


Kind = Literal["hit", "miss", "order", "lost", "computed"]


def asks_for_side(graph: Graph, block: BasicBlock, constant: int, bits: int) -> bool:
    """Whether a test is on which side of a number the value lies that is known not to be it."""
    mnemonic = block.last.mnemonic
    if mnemonic in ("je", "jne", "jmp"):
        return False
    if all(map(keeps_flags, block.code[:-1])):
        return True  # of the comparison with that number
    tested = tested_at(graph, block)
    bound = value_of(tested.right) if tested else None
    if bound is None:
        return False
    # Above 4 is from 5 on.
    beside = 1 if mnemonic in _FROM else -1
    return bound in (constant, (constant + beside) % (1 << bits))


def depends(block: BasicBlock, state: State, x: Term) -> bool:
    """Whether the jump at the end of a block is through a table that x is an index of, or a mask.

    The index may be wider than what was compared with the table's length.
    """
    if block.is_conditional:
        flags = state.flags
        if flags is None:
            return False
        return any(
            holds(t, x) for t in [*_counts(flags.left), *[flags.right][: flags.kind == "bit"]]
        )
    operands = block.last.operands
    return any(holds(state.value(operand, 64, block.end), x) for operand in operands)


def is_of_part(flags: Flags | None, mnemonic: str, x: Term) -> bool:
    """Whether what is computed of x is compared with a number: a test for some of its values.

    A compiler leaves a bit or two out of x to test for two labels or four at once.
    """
    if flags is None or flags.kind == "bit" or mnemonic not in ("je", "jne"):
        return False
    computed = value_of(flags.left) is None and _is_made_of(flags.left, x)
    return value_of(flags.right) is not None and computed


def _is_made_of(term: Term, x: Term) -> bool:
    """Whether a term is computed of x and constants alone."""
    common = min(bits_of(term), bits_of(x))
    if value_of(term) is not None or trunc(term, common) == trunc(x, common):
        return True
    if term[0] in ("new", "load", "start", "set"):
        return False
    return all(_is_made_of(part, x) for part in term[2:] if isinstance(part, tuple))


def is_bit_test(flags: Flags | None, x: Term) -> bool:
    """Whether a test asks if x is one of the numbers of a mask's bits."""
    if flags is None:
        return False
    return holds(flags.right, x) if flags.kind == "bit" else any(_counts(flags.left))


def _counts(term: Term) -> Iterator[Term]:
    """By how much parts of a term are shifted."""
    if term[0] in ("shl", "shr", "sar"):
        yield term[3]
    for part in () if term[0] == "new" else term[2:]:
        if isinstance(part, tuple):
            yield from _counts(part)


def holds(term: Term, x: Term) -> bool:
    """Whether x, a low part of it, or what x is the low part of is in a term."""
    common = min(bits_of(term), bits_of(x))
    if trunc(term, common) == trunc(x, common):
        return True
    parts = () if term[0] == "new" else term[2:]
    return any(holds(part, x) for part in parts if isinstance(part, tuple))


def state_at(graph: Graph, block: BasicBlock) -> State:
    """What is known where a block begins."""
    known = graph.fixed.at(block.address)
    narrow = {
        name: extended(trunc(("start", 64, name, 1), bits), 64, False)
        for name, bits in known.bits.items()
    }
    state = State(narrow)
    sums = {
        name: binary("add", trunc(state.whole(one.source), one.bits), const(one.number, one.bits))
        for name, one in known.sums.items()
        if one.source
    }
    state.registers |= {name: extended(term, 64, False) for name, term in sums.items()}
    state.registers |= {name: const(value, 64) for name, value in known.constants.items()}
    return state


def tested_at(graph: Graph, block: BasicBlock) -> Flags | None:
    """What the jump at the end of a block depends on."""
    state = state_at(graph, block)
    for instruction in block.code[:-1]:
        state.step(instruction)
    return state.flags


def kinds_of(flags: Flags, mnemonic: str, x: Term) -> tuple[Kind, Kind]:
    """Of the two ways that a conditional jump may go: taken, not taken."""
    if flags.left[0] == "set":
        inner = kinds_of(Flags(*flags.left[3:6]), flags.left[2], x)
        return inner if mnemonic == "jne" else (inner[1], inner[0])
    if flags.kind == "bit":
        top = (value_of(flags.left) or 0) >> (bits_of(flags.left) - 8)
        inverted = top == 0xFF  # the bits of those that are not meant
        return ("hit", "miss") if (mnemonic == "jb") != inverted else ("miss", "hit")
    if mnemonic not in ("je", "jne"):
        return "order", "order"
    left = flags.left[2] if flags.left[0] == "zext" else flags.left
    masked = flags.kind != "cmp" and left[0] == "and" and x not in (left, flags.left)
    mask = value_of(left[3]) if masked and not any(_counts(left)) else None
    if mask and mask + (mask & -mask) & mask == 0:
        return "order", "order"  # no bit of a row is set: it is a small number
    shifted = masked and mask is None
    return ("hit", "miss") if (mnemonic == "je") != shifted else ("miss", "hit")


def scrutinee(flags: Flags | None, mnemonic: str) -> Term | None:
    """The value that a first test is about.

    Before a jump table compilers subtract the lowest label and compare without sign: then it is the
    value before that. Widened values are taken as narrow as they were.
    """
    if flags is None or mnemonic not in CONDITIONS:
        return None
    x = flags.left
    if x[0] == "set":
        return scrutinee(Flags(*x[3:6]), x[2])
    if flags.kind == "bit" or value_of(flags.right) is None:
        return None
    if mnemonic in _UNSIGNED and x[0] == "add" and value_of(x[3]) is not None:
        x = x[2]
    x = narrow(x)
    return None if value_of(x) is not None else x


def narrow(term: Term) -> Term:
    """What was read and then widened as it was before."""
    if term[0] in ("zext", "sext") and term[2][0] in ("load", "start", "trunc", "new"):
        return term[2]
    return term
