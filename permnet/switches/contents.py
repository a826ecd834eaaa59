"""What a run of a proof knows: numbers with slopes, and the stretch of x that they hold for."""

from collections.abc import Callable
from dataclasses import dataclass, replace

from permnet.binary.operands import GENERAL, Memory, Number, Operand, Register
from permnet.switches.claim import Scrutinee
from permnet.switches.fixed import Known

_FAR = 1 << 80  # beyond every number here


class UnprovenError(Exception):
    """Why a claim is not proven: it is wrong, or the code does what is not followed."""


@dataclass(frozen=True, slots=True)
class Value:
    """`number` at x and `slope` more with each step of x, of which the low `bits` are known.

    With a `base` it is an address: so much behind what that register held at the start. With a
    `mask` it is these bits of that number alone, of which only equality is followed.
    """

    number: int
    slope: int = 0
    base: str = ""
    bits: int = 64
    mask: int = 0


class Contents:
    """Of one run. `low` to `high` are the values of the scrutinee that take the same way as x."""

    def __init__(
        self,
        read: Callable[[int, int], bytes | None],
        scrutinee: Scrutinee,
        x: int,
        known: Known,
    ) -> None:
        self.x = x
        self.low, self.high = 0, (1 << scrutinee.bits) - 1
        self._read = read
        self._registers: dict[str, Value | None] = {n: Value(v) for n, v in known.constants.items()}
        self._cells: dict[tuple[str, int], Value] = {}
        value = self._wrapped(Value(x - scrutinee.offset, 1), scrutinee.bits)
        value = replace(value, bits=scrutinee.bits)
        if isinstance(scrutinee.place, Memory):
            address = self._address(scrutinee.place, 0)
            if address is None:
                raise UnprovenError("the scrutinee's place in memory is not followed")
            self._cells[address.base, address.number] = value
        else:
            whole, bits, low = GENERAL[scrutinee.place.name]
            if low or bits != scrutinee.bits:
                raise UnprovenError(f"{scrutinee.place.name} does not have {scrutinee.bits} bits")
            alone = known.bits.get(whole, 64) <= bits  # nothing stands above it
            self._registers[whole] = replace(value, bits=64) if alone else value
            for name, one in known.sums.items():
                if one.source == whole and (alone or one.bits <= bits):
                    self._registers[name] = self._wrapped(
                        Value(value.number + one.number, 1), one.bits
                    )

    # The stretch

    def _narrow(self, value: Value, least: int, most: int) -> None:
        """Keep to the x for which a value stays within bounds that hold it now."""
        if value.slope:
            below, above = value.number - least, most - value.number
            if value.slope < 0:
                below, above = above, below
            step = abs(value.slope)
            self.low = max(self.low, self.x - below // step)
            self.high = min(self.high, self.x + above // step)

    def _pinned(self, value: Value) -> int:
        """A number that nothing more is known of: for this x alone, if it depends on x."""
        if value.base:
            raise UnprovenError("a number comes from an address that is not known")
        if value.slope:
            self.low = self.high = self.x
        return value.number

    def _wrapped(self, value: Value, bits: int) -> Value:
        lap = value.number >> bits
        self._narrow(value, lap << bits, ((lap + 1) << bits) - 1)
        return Value(value.number - (lap << bits), value.slope)

    def _signed(self, value: Value, bits: int) -> Value:
        half = 1 << (bits - 1)
        if value.number < half:
            self._narrow(value, 0, half - 1)
            return value
        self._narrow(value, half, 2 * half - 1)
        return Value(value.number - 2 * half, value.slope)

    def _order(self, left: Value, right: Value) -> int:
        """Whether left is less (-1), the same (0) or more (1)."""
        if left.base or right.base:
            raise UnprovenError("an address that is not known is compared")
        difference = Value(left.number - right.number, left.slope - right.slope)
        if difference.number == 0:
            self._pinned(difference)
            return 0
        if difference.number < 0:
            self._narrow(difference, -_FAR, -1)
            return -1
        self._narrow(difference, 1, _FAR)
        return 1

    # Operands

    def _register(self, name: str) -> Value | None:
        if name not in GENERAL:
            return None
        whole, bits, low = GENERAL[name]
        value = self._registers.get(whole, Value(0, 0, whole))
        return None if value is None or value.mask else self._part(value, bits, low)

    def _masked(self, operand: Operand, bits: int) -> Value | None:
        """What a register holds if that is some bits of a number."""
        if not isinstance(operand, Register) or operand.general is None:
            return None
        whole, width, low = operand.general
        value = self._registers.get(whole)
        known = value is not None and value.mask and value.bits == width == bits and not low
        return value if known else None

    def _part(self, value: Value, bits: int, low: int = 0) -> Value | None:
        """Of a value the bits that are asked for, or the lower part of them that is known."""
        if value.base:
            return value if bits == 64 else None
        if low:
            known = value.bits >= low + bits
            return Value(self._pinned(value) >> low & ((1 << bits) - 1)) if known else None
        if value.bits < bits:
            return value
        return self._wrapped(value, bits)

    def _whole(self, operand: Operand, bits: int, end: int) -> Value | None:
        """An operand of which all bits are known."""
        value = self._value(operand, bits, end)
        return value if value is not None and value.bits >= bits else None

    def _set(self, name: str, value: Value | None) -> None:
        whole, bits, low = GENERAL[name]
        if value is not None and value.base and bits < 64:
            value = None
        if bits < 32 and value is not None:
            before = self._registers.get(whole, Value(0, 0, whole))
            if low:
                value = None
            elif value.mask:
                pass
            elif (
                before
                and not before.mask
                and before.bits == 64
                and value.bits >= bits
                and not (before.base or before.slope)
            ):
                value = Value(before.number >> bits << bits | value.number, value.slope)
            else:
                value = replace(value, bits=min(value.bits, bits))
        self._registers[whole] = value

    def _address(self, memory: Memory, end: int) -> Value | None:
        """Unknown registers in it are told apart by name."""
        if memory.segment:
            return None
        number, slope, bases = memory.displacement + (end if memory.base == "rip" else 0), 0, []
        known = 64
        for name, scale in ((memory.base, 1), (memory.index, memory.scale)):
            if name and name != "rip":
                part = self._register(name)
                if part is None:
                    return None
                number += part.number * scale
                slope += part.slope * scale
                known = min(known, part.bits)
                if part.base:
                    bases.append(f"{part.base}*{scale}")
        if bases:
            plain = known == 64 and not slope
            return Value(number, 0, "+".join(sorted(bases))) if plain else None
        return replace(self._wrapped(Value(number, slope), known), bits=known)

    def _load(self, memory: Memory, bits: int, end: int) -> Value | None:
        address = self._address(memory, end)
        if address is None or address.bits < 64:
            return None
        cell = self._cells.get((address.base, address.number))
        if cell is not None and not address.slope:
            return self._part(cell, bits)
        if address.base or bits > 64:
            return None
        content = self._read(self._pinned(address), bits // 8)
        return None if content is None else Value(int.from_bytes(content, "little"))

    def _store(self, memory: Memory, bits: int, value: Value | None, end: int) -> None:
        """Cells that may be another name for the same place are forgotten."""
        address = self._address(memory, end)
        if address is None or address.slope or address.bits < 64:
            self._cells.clear()
            return
        first, size = address.number, bits // 8
        self._cells = {
            (base, at): cell
            for (base, at), cell in self._cells.items()
            if base == address.base and (at + cell.bits // 8 <= first or first + size <= at)
        }
        if value is not None and (bits == 64 or not value.base):
            known = min(value.bits, bits)
            stored = Value(value.number, value.slope, value.base, known)
            self._cells[address.base, address.number] = stored

    def _value(self, operand: Operand, bits: int, end: int) -> Value | None:
        if isinstance(operand, Number):
            return Value(operand.value % (1 << bits))
        if isinstance(operand, Register):
            return self._register(operand.name)
        return self._load(operand, operand.bits or bits, end)
