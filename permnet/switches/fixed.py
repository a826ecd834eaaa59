"""What holds of registers whichever way control came: table addresses kept across loops, widths.

All ways through a function are followed at once, from its start on, with the constants that hold on
every way to a place, and with how many bits of a register may be other than 0. An indirect jump
leads to what its table of read-only data lists, if the table's address is such a constant, and else
to every place of the function. Code that is reached in no such way, as handlers of exceptions are,
is entered with nothing known. Taken for granted: a jump through a table does not read behind it,
and no other function jumps into the middle of this one but its own cold part, to which conditions
lead and which is followed too.
"""

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import takewhile
from typing import TYPE_CHECKING

from permnet.binary.decode import Instruction
from permnet.binary.operands import GENERAL, Memory, Number, Register, operation_bits
from permnet.switches.effects import written
from permnet.switches.jumps import ENDS, is_jump, is_padding, jump_target

if TYPE_CHECKING:
    from permnet.switches.graph import Graph

LONGEST_TABLE = 4096
MOST_BLOCKS = 20_000

Constants = dict[str, int]  # by the name of the whole register


@dataclass(frozen=True)
class Sum:
    """The low bits of a register and a constant; no register's, if it holds something else now."""

    source: str
    bits: int
    number: int


@dataclass(frozen=True)
class Known:
    """Of registers, by the name of the whole one.

    The `constants` that they hold, how many `bits` their number has at most, and the `sums` of
    another register and a constant.
    """

    constants: Constants = field(default_factory=Constants)
    bits: dict[str, int] = field(default_factory=dict)
    sums: dict[str, Sum] = field(default_factory=dict)

    def copy(self) -> "Known":
        return Known(dict(self.constants), dict(self.bits), dict(self.sums))

    def meet(self, other: "Known") -> "Known":
        """What holds whichever of the two does."""
        bits = {n: max(b, other.bits[n]) for n, b in self.bits.items() if n in other.bits}
        constants = dict(self.constants.items() & other.constants.items())
        both = {n: (one, other.sums[n]) for n, one in self.sums.items() if n in other.sums}
        sums = {
            n: one if one == two else _lost(one)
            for n, (one, two) in both.items()
            if _lost(one) == _lost(two)
        }
        return Known(constants, bits, sums)


class FixedRegisters:
    """What is known at each place of a function."""

    def __init__(self, graph: "Graph") -> None:
        self._graph = graph
        parts = graph.parts
        self._at = {one.address: one for part in parts for one in part.code}
        self._starts = sorted(block.address for part in parts for block in part.blocks)
        self._known: dict[int, Known] = {}
        self._named = {a for one in self._at.values() for a in _set(one).values()}
        if len(self._starts) > MOST_BLOCKS or any(map(self._leaves, self._at.values())):
            return
        while not self._settle():  # a table lists what was not known to be a place
            pass

    def at(self, address: int) -> Known:
        """What is known before the instruction at an address."""
        index = bisect_right(self._starts, address) - 1
        start = self._starts[index] if index >= 0 else address
        known = self._known.get(start, Known()).copy()
        for instruction in takewhile(lambda one: one.address < address, self._code(start)):
            _step(known, instruction)
        return known

    def _leaves(self, instruction: Instruction) -> bool:
        target = jump_target(instruction)
        conditional = is_jump(instruction) and instruction.mnemonic not in ENDS
        return conditional and target is not None and target not in self._at

    def _code(self, start: int) -> Iterator[Instruction]:
        """From a place to the next one, or to the jump before it."""
        following = bisect_right(self._starts, start)
        stop = self._starts[following] if following < len(self._starts) else None
        instruction = self._at.get(start)
        while instruction and instruction.address != stop:
            yield instruction
            if is_jump(instruction):
                return
            instruction = self._at.get(instruction.end)

    def _settle(self) -> bool:
        """Follow all ways until nothing changes; False if new places were found."""
        self._known = {}
        self._visit([(self._graph.function.address, Known())])
        for start in self._starts:
            if start not in self._known and not all(map(is_padding, self._code(start))):
                self._visit([(start, Known())])
        found = self._known.keys() - {*self._starts}
        self._starts = sorted({*self._starts, *found})
        return not found

    def _visit(self, pending: list[tuple[int, Known]]) -> None:
        while pending:
            start, given = pending.pop()
            before = self._known.get(start)
            known = given if before is None else before.meet(given)
            if known == before:
                continue
            self._known[start] = known
            after = known.copy()
            code = [*self._code(start)]
            for instruction in code:
                _step(after, instruction)
            pending += [(address, after) for address in self._successors(code, known)]

    def _successors(self, code: list[Instruction], known: Known) -> Iterator[int]:
        if not code:
            return
        last = code[-1]
        target = jump_target(last)
        if target is not None and target in self._at:
            yield target
        if last.mnemonic not in ENDS:
            yield last.end
        elif last.mnemonic == "jmp" and target is None:
            table = _table(code, known)
            yield from self._starts if table is None else self._listed(table)

    def _listed(self, table: int) -> Iterator[int]:
        """The addresses in a table of offsets, as many as lie in the function.

        It ends where something begins that the function names by its address, as the next table.
        """
        read = self._graph.function.binary.read_only
        for place in range(table, table + 4 * LONGEST_TABLE, 4):
            content = read(place, 4)
            if content is None or (place > table and place in self._named):
                return
            address = table + int.from_bytes(content, "little", signed=True)
            if address not in self._at:
                return
            yield address


def _step(known: Known, instruction: Instruction) -> None:
    """What is known behind an instruction."""
    if instruction.mnemonic.startswith("j"):
        return
    width, summed = _width(known, instruction), _summed(known, instruction)
    changed = written(instruction)[0]
    for name in changed:
        known.constants.pop(name, None)
        known.bits.pop(name, None)
        known.sums.pop(name, None)
    known.constants.update(_set(instruction))
    known.bits.update(width)
    known.sums.update(summed)
    for name, one in known.sums.items():
        if one.source in changed:
            known.sums[name] = _lost(one)


def _set(instruction: Instruction) -> Constants:
    """The register that an instruction sets to a constant, if it does."""
    match instruction.mnemonic, instruction.operands:
        case "lea", (Register(name=target), Memory(base="rip", index="") as place):
            if target in GENERAL and GENERAL[target][1] == 64:
                return {target: instruction.end + place.displacement}
        case (("mov" | "movabs"), (Register(name=target), Number(value=value))) if (
            target in GENERAL
        ):
            whole, bits, _ = GENERAL[target]
            if bits >= 32:
                return {whole: value % (1 << bits)}
    return {}


def _width(known: Known, instruction: Instruction) -> dict[str, int]:
    """How many bits the register that an instruction sets may have, if fewer than 64.

    Whatever sets the low half of a register makes the high half 0.
    """
    mnemonic, operands = instruction.mnemonic, instruction.operands
    target = operands[0] if operands else None
    if not isinstance(target, Register) or target.general is None or instruction.prefix:
        return {}
    if mnemonic not in _WIDENS and not mnemonic.startswith("cmov"):
        return {}
    whole, bits, _ = target.general
    if bits < 32 or (mnemonic == "imul" and len(operands) == 1):
        return {}
    found = bits
    match mnemonic, operands:
        case "mov", (_, Register(name=source)) if source in GENERAL:
            found = min(bits, known.bits.get(GENERAL[source][0], 64))
        case "movzx", (_, source):
            found = operation_bits((source,))
        case "and", (_, Number(value=mask)) if mask >= 0:
            found = min(bits, next(b for b in (8, 16, 32, 64) if mask >> b == 0))
    return {whole: found} if found < 64 else {}


def _summed(known: Known, instruction: Instruction) -> dict[str, Sum]:
    """The register that an instruction makes the sum of a register and a constant, if it does."""
    match instruction.mnemonic, instruction.operands:
        case "lea", (Register(general=(whole, bits, _)), Memory(base=base, index="") as place):
            made = Sum(GENERAL[base][0], bits, place.displacement) if base in GENERAL else None
        case ("add" | "sub") as sign, (Register(general=(whole, bits, _)), Number(value=number)):
            before = known.sums.get(whole)
            added = number if sign == "add" else -number
            if before and before.source and before.bits == bits:
                made = Sum(before.source, bits, before.number + added)
            else:
                made = Sum("", bits, added)
        case "mov", (Register(general=(whole, bits, _)), Register(general=(source, _, _))):
            before = known.sums.get(source)
            made = before if before and before.bits == bits else Sum(source, bits, 0)
        case _:
            return {}
    return {whole: made} if made and bits >= 32 and not instruction.prefix else {}


def _lost(one: Sum) -> Sum:
    return Sum("", one.bits, one.number)


_WIDENS = {"mov", "movzx", "movsx", "lea", "add", "sub", "and", "or", "xor", "neg", "not", "inc"}
_WIDENS |= {"dec", "shl", "shr", "sar", "imul"}


def _table(code: list[Instruction], before: Known) -> int | None:
    """The table that the jump at the end of a block goes through: its address plus an entry."""
    known, entries, sums = before.copy(), Constants(), Constants()
    for instruction in code[:-1]:
        loaded = added = None
        match instruction.mnemonic, instruction.operands:
            case "movsxd", (Register(), Memory(bits=32, scale=4, displacement=0) as place):
                loaded = known.constants.get(place.base)
            case "add", (Register(name=one), Register(name=other)):
                for entry, base in ((one, other), (other, one)):
                    if entry in entries and known.constants.get(base) == entries[entry]:
                        added = entries[entry]
        _step(known, instruction)
        for name in written(instruction)[0]:
            entries.pop(name, None)
            sums.pop(name, None)
        match instruction.operands:
            case (Register(name=target), *_):
                if loaded is not None:
                    entries[target] = loaded
                if added is not None:
                    sums[target] = added
    match code[-1].operands:
        case (Register(name=target),):
            return sums.get(target)
    return None
