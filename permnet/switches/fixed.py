"""Registers that hold one constant whichever way control came: table addresses kept across loops.

All ways through a function are followed at once, from its start on, with the constants that hold on
every way to a place. An indirect jump leads to what its table of read-only data lists, if the
table's address is such a constant, and else to every place of the function. Code that is reached in
no such way, as handlers of exceptions are, is entered with nothing known. Taken for granted: a jump
through a table does not read behind it, and no other function jumps into the middle of this one but
its own cold part, which is why nothing is known where a condition leads out of the function.
"""

from bisect import bisect_right
from collections.abc import Iterator
from itertools import takewhile
from typing import TYPE_CHECKING

from permnet.binary.decode import Instruction
from permnet.binary.operands import GENERAL, Memory, Number, Register
from permnet.switches.effects import written
from permnet.switches.jumps import ENDS, is_jump, is_padding, jump_target

if TYPE_CHECKING:
    from permnet.switches.graph import Graph

LONGEST_TABLE = 4096
MOST_BLOCKS = 20_000

Constants = dict[str, int]  # by the name of the whole register


class FixedRegisters:
    """The constants at each place of a function."""

    def __init__(self, graph: "Graph") -> None:
        self._graph = graph
        self._starts = sorted(block.address for block in graph.blocks)
        self._known: dict[int, Constants] = {}
        self._named = {a for one in graph.code for a in _set(one).values()}
        if len(self._starts) > MOST_BLOCKS or any(map(self._leaves, graph.code)):
            return
        while not self._settle():  # a table lists what was not known to be a place
            pass

    def at(self, address: int) -> Constants:
        """What is known before the instruction at an address."""
        index = bisect_right(self._starts, address) - 1
        start = self._starts[index] if index >= 0 else address
        known = dict(self._known.get(start, {}))
        for instruction in takewhile(lambda one: one.address < address, self._code(start)):
            _step(known, instruction)
        return known

    def _leaves(self, instruction: Instruction) -> bool:
        target = jump_target(instruction)
        conditional = is_jump(instruction) and instruction.mnemonic not in ENDS
        return conditional and target is not None and self._graph.instruction(target) is None

    def _code(self, start: int) -> Iterator[Instruction]:
        """From a place to the next one, or to the jump before it."""
        following = bisect_right(self._starts, start)
        stop = self._starts[following] if following < len(self._starts) else None
        instruction = self._graph.instruction(start)
        while instruction and instruction.address != stop:
            yield instruction
            if is_jump(instruction):
                return
            instruction = self._graph.instruction(instruction.end)

    def _settle(self) -> bool:
        """Follow all ways until nothing changes; False if new places were found."""
        self._known = {}
        self._visit([(self._graph.function.address, {})])
        for start in self._starts:
            if start not in self._known and not all(map(is_padding, self._code(start))):
                self._visit([(start, {})])
        found = self._known.keys() - {*self._starts}
        self._starts = sorted({*self._starts, *found})
        return not found

    def _visit(self, pending: list[tuple[int, Constants]]) -> None:
        while pending:
            start, given = pending.pop()
            before = self._known.get(start)
            known = given if before is None else dict(before.items() & given.items())
            if known == before:
                continue
            self._known[start] = known
            after = dict(known)
            code = [*self._code(start)]
            for instruction in code:
                _step(after, instruction)
            pending += [(address, after) for address in self._successors(code, known)]

    def _successors(self, code: list[Instruction], known: Constants) -> Iterator[int]:
        if not code:
            return
        last = code[-1]
        target = jump_target(last)
        if target is not None and self._graph.instruction(target):
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
            if self._graph.instruction(address) is None:
                return
            yield address


def _step(known: Constants, instruction: Instruction) -> None:
    """What is known behind an instruction."""
    if instruction.mnemonic.startswith("j"):
        return
    for name in written(instruction)[0]:
        known.pop(name, None)
    known |= _set(instruction)


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


def _table(code: list[Instruction], before: Constants) -> int | None:
    """The table that the jump at the end of a block goes through: its address plus an entry."""
    known, entries, sums = dict(before), Constants(), Constants()
    for instruction in code[:-1]:
        loaded = added = None
        match instruction.mnemonic, instruction.operands:
            case "movsxd", (Register(), Memory(bits=32, scale=4, displacement=0) as place):
                loaded = known.get(place.base)
            case "add", (Register(name=one), Register(name=other)):
                for entry, base in ((one, other), (other, one)):
                    if entry in entries and known.get(base) == entries[entry]:
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
