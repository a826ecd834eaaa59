"""The processor that proofs run on: what instructions do to numbers with slopes."""

from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass, replace

from permnet.binary.decode import Instruction
from permnet.binary.operands import (
    GENERAL,
    Memory,
    Operand,
    Register,
    operation_bits,
)
from permnet.switches.claim import Scrutinee
from permnet.switches.contents import Contents, UnprovenError, Value
from permnet.switches.effects import keeps_flags, written
from permnet.switches.fixed import Known
from permnet.switches.intervals import ignoring

_FEW = 1 << 8  # values that are as well gone through one by one
_STOPS = {"call", "lcall", "ljmp", "ret", "retf", "retfq", "iret", "iretd", "iretq", "syscall"}
_STOPS |= {
    "sysenter",
    "sysexit",
    "sysret",
    "hlt",
    "ud0",
    "ud1",
    "ud2",
    "int",
    "int1",
    "int3",
    "into",
}
_STOPS |= {"loop", "loope", "loopne", "xbegin", "xabort"}
_EXTENDS = {"cdqe": ("eax", "rax"), "cwde": ("ax", "eax"), "cbw": ("al", "ax")}


@dataclass(frozen=True, slots=True)
class Flags:
    """`cmp` of two numbers, the left one `masked`; the result of `logic` or a `sum`; or a `bit`."""

    kind: str
    left: Value
    right: Value
    bits: int


class Cpu(Contents):
    """One run, instruction by instruction."""

    def __init__(
        self,
        read: Callable[[int, int], bytes | None],
        scrutinee: Scrutinee,
        x: int,
        known: Known,
    ) -> None:
        super().__init__(read, scrutinee, x, known)
        self._flags: Flags | None = None
        # Whether the last jump was for what a test names: one value, bits of a mask, an entry of a
        # table. None where it was for what is less or more.
        self.named: bool | None = False
        self.missed = False  # whether it was for all but one value

    def address_of(self, instruction: Instruction) -> int:
        """Where an indirect jump leads."""
        target = self._whole(instruction.operands[0], 64, instruction.end)
        if target is None:
            raise UnprovenError(f"the jump at {instruction.address:#x} leads to what is not known")
        self.named, self.missed = True, False
        return self._pinned(target)

    def jumps(self, condition: str) -> bool:
        """Whether a jump is taken."""
        taken = self.holds(condition)
        flags = self._flags
        assert flags is not None
        named = condition in ("e", "b") if flags.kind == "bit" else condition == "e"
        if flags.kind == "logic" and not flags.left.slope:
            named = not named  # some bits of a mask are set
        by_size = flags.kind != "bit" and condition not in ("e", "ne")
        self.named = None if by_size else taken == named
        one = flags.kind in ("cmp", "sum") or (flags.kind == "logic" and bool(flags.left.slope))
        self.missed = one and self.named is False
        return taken

    def holds(self, condition: str) -> bool:
        """Whether a condition is met."""
        flags = self._flags
        if flags is None:
            raise UnprovenError("a jump depends on more than the scrutinee")
        left, right, bits = flags.left, flags.right, flags.bits
        if flags.kind == "masked":
            if condition not in ("e", "ne"):
                raise UnprovenError(f"j{condition} behind a mask is not followed")
            return self._is_one_of(left, right.number) == (condition == "e")
        if flags.kind == "bit":
            if condition not in ("b", "ae"):
                raise UnprovenError(f"j{condition} behind bt is not followed")
            return bool(left.number) == (condition == "b")
        if condition in ("s", "ns"):
            result = self._wrapped(
                Value(left.number - right.number, left.slope - right.slope), bits
            )
            negative = self._signed(result, bits).number < 0
            return negative == (condition == "s")
        if condition in ("e", "ne"):
            return (self._order(left, right) == 0) == (condition == "e")
        if flags.kind == "sum" or condition not in _ORDERS:
            raise UnprovenError(f"j{condition} is not followed here")
        orders, sign = _ORDERS[condition]
        if sign and not (left.base or right.base):
            left, right = self._signed(left, bits), self._signed(right, bits)
        return self._order(left, right) in orders

    def _is_one_of(self, value: Value, number: int) -> bool:
        """Whether a number is another under a mask: it is one of a few, or lies between two."""
        found = ignoring(value.mask, number, value.bits)
        after = bisect_left(found, value.number)
        if after < len(found) and found[after] == value.number:
            self._pinned(value)
            return True
        least = found[after - 1] + 1 if after else 0
        most = found[after] - 1 if after < len(found) else (1 << value.bits) - 1
        self._narrow(value, least, most)
        return False

    def step(self, instruction: Instruction) -> None:
        """Run an instruction other than a jump."""
        mnemonic, operands, end = instruction.mnemonic, instruction.operands, instruction.end
        if mnemonic in _STOPS:
            raise UnprovenError(f"values run into {mnemonic} at {instruction.address:#x}")
        bits = operation_bits(operands)
        if mnemonic in _EXTENDS:
            narrow, wide = _EXTENDS[mnemonic]
            self._set(wide, self._extended(self._register(narrow), narrow, wide))
            return
        if mnemonic in ("cmp", "test", "bt"):
            self._compare(mnemonic, operands, bits, end)
            return
        first = operands[0] if operands else None
        if mnemonic == "push" and bits == 64:
            value = self._value(operands[0], 64, end)
            stack = self._register("rsp")
            self._set("rsp", None if stack is None else Value(stack.number - 8, 0, stack.base))
            self._store(Memory(64, "", "rsp", "", 1, 0), 64, value, end)
        elif mnemonic == "mov" and isinstance(first, Memory) and not instruction.prefix:
            self._store(first, first.bits, self._value(operands[1], first.bits, end), end)
        elif isinstance(first, Register) and first.general and mnemonic.startswith("set"):
            self._set(first.name, self._condition(mnemonic[3:]))
        elif (
            isinstance(first, Register)
            and first.general
            and not instruction.prefix
            and mnemonic in _FOLLOWED
        ):
            self._set(first.name, self._result(mnemonic, operands, bits, end))
        else:
            changed, memory = written(instruction)
            self._registers |= dict.fromkeys(changed)
            if memory:
                self._cells.clear()
            if not keeps_flags(instruction):
                self._flags = None

    def _condition(self, condition: str) -> Value | None:
        return None if self._flags is None else Value(int(self.holds(condition)))

    def _extended(self, value: Value | None, narrow: str, wide: str) -> Value | None:
        if value is None or value.bits < GENERAL[narrow][1]:
            return None
        signed = self._signed(value, GENERAL[narrow][1])
        return self._wrapped(signed, GENERAL[wide][1])

    def _compare(self, mnemonic: str, operands: tuple[Operand, ...], bits: int, end: int) -> None:
        left = self._whole(operands[0], bits, end)
        right = self._value(operands[1], bits, end)
        self._flags = None
        masked = self._masked(operands[0], bits) if mnemonic == "cmp" else None
        if masked and right and right.bits >= bits and not (right.slope or right.base):
            self._flags = Flags("masked", masked, right, bits)
            return
        # Of the number of a bit only the low ones count.
        if left is None or right is None or right.bits < (8 if mnemonic == "bt" else bits):
            return
        if mnemonic == "cmp":
            self._flags = Flags("cmp", left, right, bits)
        elif mnemonic == "test":
            both = left if operands[0] == operands[1] else self._and(left, right, bits)
            if both is not None:
                self._flags = Flags("masked" if both.mask else "logic", both, Value(0), bits)
        elif isinstance(operands[0], Register) and not (left.base or right.base):
            bit = self._pinned(left) >> self._pinned(right) % bits & 1
            self._flags = Flags("bit", Value(bit), Value(0), bits)

    def _and(self, left: Value, right: Value, bits: int) -> Value | None:
        if left.base or right.base:
            return None
        for value, mask in ((left, right), (right, left)):
            if not mask.slope and mask.number & (mask.number + 1) == 0:
                return self._wrapped(value, mask.number.bit_length())
            many = value.slope and not mask.slope and self.high - self.low > _FEW
            if many and ignoring(mask.number, 0, bits):
                return replace(value, bits=bits, mask=mask.number)
        return Value(self._pinned(left) & self._pinned(right))

    def _result(
        self, mnemonic: str, operands: tuple[Operand, ...], bits: int, end: int
    ) -> Value | None:
        """What goes into the first operand, a register; flags are set on the way."""
        if mnemonic == "lea":
            assert isinstance(operands[1], Memory)
            address = self._address(operands[1], end)
            return None if address is None else self._part(address, bits)
        if mnemonic in ("mov", "movabs"):
            return self._value(operands[1], bits, end)
        if mnemonic in ("movzx", "movsx", "movsxd"):
            narrow = operation_bits(operands[1:])
            value = self._whole(operands[1], narrow, end)
            if value is None or value.base:
                return None
            return (
                value if mnemonic == "movzx" else self._wrapped(self._signed(value, narrow), bits)
            )
        if mnemonic in _QUIET_SHIFTS:
            shifted, count = (self._whole(operand, bits, end) for operand in operands[1:])
            if shifted is None or count is None or shifted.base or count.base:
                return None
            by = self._pinned(count) & (63 if bits == 64 else 31)
            return self._shifted(mnemonic[:3], shifted, by, bits)
        if mnemonic in ("xor", "sub") and operands[0] == operands[1]:
            self._flags = Flags("logic", Value(0), Value(0), bits)
            return Value(0)
        left = self._value(operands[0], bits, end)
        right = Value(1)
        if mnemonic == "imul":
            self._flags = None
            if len(operands) < 3:
                return None
            left, factor = self._whole(operands[1], bits, end), self._whole(operands[2], bits, end)
            if left is None or factor is None or left.base:
                return None
            return self._wrapped(
                Value(left.number * factor.number, left.slope * factor.number), bits
            )
        if len(operands) > 1:
            found = self._value(operands[1], 8 if mnemonic in _SHIFTS else bits, end)
            if left is None or found is None:
                self._flags = None
                return None
            right = found
        if left is None:
            self._flags = None
            return None
        return self._computed(mnemonic, left, right, bits)

    def _computed(self, mnemonic: str, left: Value, right: Value, bits: int) -> Value | None:
        if mnemonic in ("add", "inc", "sub", "dec"):
            return self._sum(mnemonic in ("add", "inc"), left, right, bits, mnemonic == "sub")
        self._flags = None
        if left.base or right.base:
            return None
        if right.bits < (8 if mnemonic in _SHIFTS else bits):
            return None
        if left.bits < bits:
            if mnemonic != "and" or right.slope or right.number >> left.bits:
                return None
            left = replace(left, bits=64)
        if mnemonic in _SHIFTS:
            count = self._pinned(right) & (63 if bits == 64 else 31)
            result = self._shifted(mnemonic, left, count, bits)
            if count:
                self._flags = Flags("sum", result, Value(0), bits)
            return result
        if mnemonic == "and":
            found = self._and(left, right, bits)
        elif mnemonic == "or":
            found = Value(self._pinned(left) | self._pinned(right))
        else:
            found = Value(self._pinned(left) ^ self._pinned(right))
        if found is not None:
            self._flags = Flags("masked" if found.mask else "logic", found, Value(0), bits)
        return found

    def _sum(
        self, plus: bool, left: Value, right: Value, bits: int, compares: bool
    ) -> Value | None:
        self._flags = None
        sign = 1 if plus else -1
        if left.base or right.base:
            if right.base or right.slope or bits < 64:
                return None
            return self._moved(left, sign * right.number)
        known = min(left.bits, right.bits, bits)
        result = self._wrapped(
            Value(left.number + sign * right.number, left.slope + sign * right.slope), known
        )
        if known < bits:
            return replace(result, bits=known)
        if compares:
            self._flags = Flags("cmp", left, right, bits)
        else:
            self._flags = Flags("sum", result, Value(0), bits)
        return result

    def _moved(self, address: Value, distance: int) -> Value:
        """An address so many bytes on; a distance of 64 bits may be negative."""
        distance = (distance + (1 << 63)) % (1 << 64) - (1 << 63)
        return Value(address.number + distance, 0, address.base)

    def _shifted(self, mnemonic: str, value: Value, count: int, bits: int) -> Value:
        if mnemonic in ("shl", "sal"):
            return self._wrapped(Value(value.number << count, value.slope << count), bits)
        if mnemonic == "shr":
            return Value(self._pinned(value) >> count)
        number = self._pinned(value)
        signed = number - (1 << bits) if number >> (bits - 1) else number
        return Value((signed >> count) % (1 << bits))


_SHIFTS = ("shl", "sal", "shr", "sar")
_FOLLOWED = {"lea", "mov", "movabs", "movzx", "movsx", "movsxd", "xor", "sub", "add", "inc", "dec"}
_QUIET_SHIFTS = ("shlx", "shrx", "sarx")  # leave flags alone
_FOLLOWED |= {"and", "or", "imul", *_SHIFTS, *_QUIET_SHIFTS}
_ORDERS = {
    "b": ((-1,), False),
    "ae": ((0, 1), False),
    "be": ((-1, 0), False),
    "a": ((1,), False),
    "l": ((-1,), True),
    "ge": ((0, 1), True),
    "le": ((-1, 0), True),
    "g": ((1,), True),
}
