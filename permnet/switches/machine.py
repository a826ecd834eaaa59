"""A block of code run on terms: what its registers and flags are at its end."""

from dataclasses import dataclass, field
from typing import Literal

from permnet.binary.decode import Instruction
from permnet.binary.operands import (
    GENERAL,
    Memory,
    Number,
    Operand,
    Register,
    operation_bits,
)
from permnet.switches.effects import keeps_flags, written
from permnet.switches.terms import (
    Term,
    binary,
    bits_of,
    const,
    extended,
    made,
    new,
    signed,
    split,
    trunc,
    value_of,
)

_ARITHMETIC = {"add": "add", "sub": "sub", "and": "and", "or": "or", "xor": "xor"}
_EXTENDS = {"cdqe": ("eax", "rax"), "cwde": ("ax", "eax"), "cbw": ("al", "ax")}
_SHIFTS = {"shl": "shl", "sal": "shl", "shr": "shr", "sar": "sar"}
_QUIET_SHIFTS = {"shlx": "shl", "shrx": "shr", "sarx": "sar"}  # leave flags alone

Effect = Literal["none", "frame", "memory"]


@dataclass(frozen=True)
class Flags:
    """What was last computed: `cmp` of two terms, the `result` of a sum, of `logic`, or a `bit`."""

    kind: str
    left: Term
    right: Term

    @property
    def parts(self) -> tuple[str, Term, Term]:
        return self.kind, self.left, self.right


@dataclass
class State:
    """Terms in registers; what is in none of them is as it was at the start."""

    registers: dict[str, Term] = field(default_factory=dict)
    flags: Flags | None = None
    at: int = 0
    stored: dict[tuple[str, int], Term] = field(default_factory=dict)
    writes: tuple[tuple[Term, int] | None, ...] = ()  # address and bits; None may be anywhere

    def copy(self) -> "State":
        return State(dict(self.registers), self.flags, self.at, dict(self.stored), self.writes)

    def version(self, address: Term, bits: int) -> int:
        """How many writes there were up to the last that may have changed what lies there."""
        base, low = split(address)
        for count in range(len(self.writes), 0, -1):
            write = self.writes[count - 1]
            if write is None or split(write[0])[0] != base:
                return count
            distance = signed((split(write[0])[1] - low) % (1 << 64), 64)
            if -write[1] < 8 * distance < bits:
                return count
        return 0

    def whole(self, name: str) -> Term:
        return self.registers.get(name, ("start", 64, name, 1))

    def register(self, name: str) -> Term:
        if name not in GENERAL:
            return new(64, (self.at, name))
        whole, bits, low = GENERAL[name]
        term = self.whole(whole)
        return trunc(binary("shr", term, const(low, 64)), bits)

    def address(self, memory: Memory, end: int) -> Term:
        if memory.segment:
            return new(64, (self.at, memory))
        parts = const(memory.displacement + (end if memory.base == "rip" else 0), 64)
        if memory.index:
            index = extended(self.register(memory.index), 64, False)
            parts = binary("add", binary("mul", index, const(memory.scale, 64)), parts)
        if memory.base and memory.base != "rip":
            base = extended(self.register(memory.base), 64, False)
            parts = binary("add", base, parts)
        return parts

    def value(self, operand: Operand, bits: int, end: int) -> Term:
        """An operand as a term; numbers have the bits of the operation."""
        if isinstance(operand, Number):
            return const(operand.value, bits)
        if isinstance(operand, Register):
            return self.register(operand.name)
        return self._load(self.address(operand, end), operand.bits or bits)

    def _load(self, address: Term, bits: int) -> Term:
        slot = _slot(address)
        if slot is not None:
            name, low = slot
            if slot in self.stored and bits_of(self.stored[slot]) >= bits:
                return trunc(self.stored[slot], bits)
            if any(n == name and _overlap(low, bits, at, t) for (n, at), t in self.stored.items()):
                return new(bits, (self.at, slot))
        return made("load", bits, address, self.version(address, bits))

    def _store(self, address: Term, term: Term) -> None:
        """Into the frame, where slots are told apart; elsewhere anything may have changed."""
        slot = _slot(address)
        if slot is None:
            self.writes += ((address, bits_of(term)),)
            self.stored.clear()
            return
        name, low = slot
        bits = bits_of(term)
        self.stored = {
            (n, at): t
            for (n, at), t in self.stored.items()
            if n == name and not _overlap(low, bits, at, t)
        }
        self.stored[slot] = term

    def set(self, name: str, term: Term) -> None:
        if name not in GENERAL:
            return
        whole, bits, low = GENERAL[name]
        if bits == 64:
            self.registers[whole] = term
        elif bits == 32:
            self.registers[whole] = extended(term, 64, False)
        else:
            mask = const(~(((1 << bits) - 1) << low), 64)
            kept = binary("and", self.whole(whole), mask)
            moved = binary("shl", extended(term, 64, False), const(low, 64))
            self.registers[whole] = binary("or", kept, moved)

    def step(self, instruction: Instruction) -> Effect:
        """Run an instruction other than a jump; what it changed beside registers and flags."""
        mnemonic, operands, end = instruction.mnemonic, instruction.operands, instruction.end
        bits = operation_bits(operands)
        self.at = instruction.address
        first = operands[0] if operands else None
        if mnemonic in ("cmp", "test", "bt") and len(operands) == 2:
            left, right = (self.value(operand, bits, end) for operand in operands)
            if mnemonic == "cmp":
                self.flags = Flags("cmp", left, right)
            elif mnemonic == "test":
                self.flags = Flags("logic", binary("and", left, right), const(0, bits))
            else:
                register = isinstance(first, Register)
                self.flags = Flags("bit", left, right) if register else None
            return "none"
        if mnemonic in _EXTENDS:
            narrow, wide = _EXTENDS[mnemonic]
            self.set(wide, extended(self.register(narrow), GENERAL[wide][1], True))
            return "none"
        if isinstance(first, Register) and first.general and not instruction.prefix:
            result = self._result(mnemonic, operands, bits, end)
            if result is not None:
                self.set(first.name, result)
                return "none"
        if mnemonic == "mov" and isinstance(first, Memory):
            address = self.address(first, end)
            stored = self.value(operands[1], first.bits, end)
            if value_of(stored) is not None:  # what is tested next is a variable all the same
                stored = new(first.bits, (self.at, "stored"))
            self._store(address, stored)
            return "memory" if _slot(address) is None else "frame"
        if mnemonic == "push" and bits == 64:
            pushed = self.value(operands[0], 64, end)
            self.registers["rsp"] = binary("add", self.whole("rsp"), const(-8, 64))
            self._store(self.whole("rsp"), pushed)
            return "frame"
        if mnemonic.startswith("set") and isinstance(first, Register) and self.flags:
            self.set(first.name, made("set", 8, "j" + mnemonic[3:], *self.flags.parts))
            return "none"
        changed, memory = written(instruction)
        for name in changed:
            self.registers[name] = new(64, (self.at, name))
        if memory:
            self.writes += (None,)
            self.stored.clear()
        self.flags = self.flags if keeps_flags(instruction) else None
        return "memory" if memory else "none"

    def _result(
        self, mnemonic: str, operands: tuple[Operand, ...], bits: int, end: int
    ) -> Term | None:
        """What an instruction leaves in its first operand, a register; None if not followed."""
        match mnemonic, operands:
            case (("mov" | "movabs"), (_, source)):
                return self.value(source, bits, end)
            case (("movzx" | "movsx" | "movsxd"), (_, source)):
                return extended(self.value(source, 32, end), bits, mnemonic != "movzx")
            case "lea", (_, Memory() as memory):
                return trunc(self.address(memory, end), bits)
            case (("inc" | "dec"), (register,)):
                one = const(1 if mnemonic == "inc" else -1, bits)
                result = binary("add", self.value(register, bits, end), one)
                self.flags = Flags("result", result, const(0, bits))
                return result
            case _, (register, source) if mnemonic in _ARITHMETIC:
                left, right = (self.value(operand, bits, end) for operand in operands)
                result = binary(_ARITHMETIC[mnemonic], left, right)
                if mnemonic == "sub":
                    self.flags = Flags("cmp", left, right)
                else:
                    kind = "result" if mnemonic == "add" else "logic"
                    self.flags = Flags(kind, result, const(0, bits))
                return result
            case _, (register, source) if mnemonic in _SHIFTS:
                left, right = self.value(register, bits, end), self.value(source, 8, end)
                result = _shifted(_SHIFTS[mnemonic], left, right)
                self.flags = Flags("result", result, const(0, bits))
                return result
            case _, (_, shifted, count) if mnemonic in _QUIET_SHIFTS:
                left, right = self.value(shifted, bits, end), self.value(count, bits, end)
                return _shifted(_QUIET_SHIFTS[mnemonic], left, right)
        return None


def _shifted(kind: str, term: Term, count: Term) -> Term:
    """A term shifted by the low bits of another one, as many as count."""
    bits = bits_of(term)
    counted = binary("and", trunc(count, 8), const(63 if bits == 64 else 31, 8))
    return binary(kind, term, extended(counted, bits, False))


def _slot(address: Term) -> tuple[str, int] | None:
    """A register of the frame and the distance from it."""
    base, offset = address, 0
    if address[0] == "add" and address[3][0] == "const":
        base, offset = address[2], signed(address[3][2], 64)
    return (base[2], offset) if base[0] == "start" and base[2] in ("rbp", "rsp") else None


def _overlap(low: int, bits: int, other: int, term: Term) -> bool:
    return low < other + bits_of(term) // 8 and other < low + bits // 8
