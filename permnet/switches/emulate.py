"""A second opinion on a claim: its machine code executed by an emulator, on chosen values."""

import contextlib
from collections.abc import Iterable
from functools import cached_property
from importlib.util import find_spec
from random import Random
from typing import Any

from permnet.binary.binary import Binary
from permnet.binary.operands import GENERAL, Memory
from permnet.switches.claim import Claim
from permnet.switches.contents import UnprovenError
from permnet.switches.fixed import Known
from permnet.switches.intervals import numbers, size

PAGE = 4096
SCRATCH = 0x7E00_0000_0000  # where registers point that nothing is known of
ROOM = 1 << 20  # between two of them
MOST_STEPS = 5_000
MOST_VALUES = 1_000
RANDOM_VALUES = 32
MEMORY = 64 << 20
NOWHERE = (1 << 64) - 1


def can_emulate() -> bool:
    return find_spec("unicorn") is not None


def checked_values(claim: Claim, seed: int = 0) -> list[int]:
    """Labels and their neighbours, the ends of the range, and values at random."""
    last = (1 << claim.scrutinee.bits) - 1
    half = 1 << (claim.scrutinee.bits - 1)
    random = Random(seed)
    values = {0, 1, half - 1, half, last - 1, last}
    values |= {random.randrange(last + 1) for _ in range(RANDOM_VALUES)}
    for block in (*claim.blocks, *claim.copies):
        for low, high in block.values:
            values |= {low - 1, low, high, high + 1}
        if size(block.values) <= MOST_VALUES:
            values |= set(numbers(block.values))
    inside = sorted(value for value in values if 0 <= value <= last)
    return inside if len(inside) <= MOST_VALUES else random.sample(inside, MOST_VALUES)


def cross_check(
    binary: Binary, claim: Claim, known: Known, values: Iterable[int] | None = None
) -> None:
    """Silent if the emulator gets where the claim says; UnprovenError otherwise."""
    emulator = _Emulator(binary, claim, known)
    for value in checked_values(claim) if values is None else values:
        reached = emulator.run(value)
        if reached != claim.target(value):
            label = claim.scrutinee.label(value)
            where = "nowhere" if reached is None else f"to {reached:#x}"
            raise UnprovenError(f"the emulator leads {label} {where}")


class _Emulator:
    """One machine for all values: its memory is filled from the file when it is looked at."""

    def __init__(self, binary: Binary, claim: Claim, known: Known) -> None:
        import unicorn.unicorn as unicorn
        from unicorn import unicorn_const as kinds
        from unicorn import x86_const

        self._binary, self._claim, self._known = binary, claim, known
        self._constants = {
            name: getattr(x86_const, f"UC_X86_REG_{name.upper()}")
            for name in {whole for whole, _, _ in GENERAL.values()} | {"rip"}
        }
        self._error = unicorn.UcError
        self._ends = {block.target for block in (*claim.blocks, *claim.copies)}
        if claim.default is not None:
            self._ends.add(claim.default)
        self._reached: int | None = None
        self._left = 0
        self._mapped = 0
        self._machine = unicorn.Uc(kinds.UC_ARCH_X86, kinds.UC_MODE_64)
        self._machine.hook_add(kinds.UC_HOOK_MEM_UNMAPPED, self._map)
        self._machine.hook_add(kinds.UC_HOOK_CODE, self._step)

    @cached_property
    def _registers(self) -> dict[str, int]:
        names = sorted(self._constants.keys() - {"rip"})
        found = {name: SCRATCH + ROOM * (i + 1) for i, name in enumerate(names)}
        narrow = {name: found[name] % (1 << bits) for name, bits in self._known.bits.items()}
        return found | narrow | self._known.constants

    def run(self, value: int) -> int | None:
        """The claimed block that a value reaches first, if any."""
        self._reached, self._left = None, MOST_STEPS
        for name, content in self._registers.items():
            self._machine.reg_write(self._constants[name], content)
        self._place(value)
        with contextlib.suppress(self._error):  # it went where no memory or instruction is
            self._machine.emu_start(self._claim.start, NOWHERE, count=MOST_STEPS)
        return self._reached

    def _place(self, value: int) -> None:
        scrutinee = self._claim.scrutinee
        size = scrutinee.bits // 8
        value = (value - scrutinee.offset) % (1 << scrutinee.bits)
        if isinstance(scrutinee.place, Memory):
            self._machine_write(self._address(scrutinee.place), value.to_bytes(size, "little"))
            return
        whole = GENERAL[scrutinee.place.name][0]
        content = self._registers[whole] >> scrutinee.bits << scrutinee.bits | value
        self._machine.reg_write(self._constants[whole], content)
        for name, one in self._known.sums.items():
            if one.source == whole:
                summed = (content + one.number) % (1 << one.bits)
                self._machine.reg_write(self._constants[name], summed)

    def _address(self, place: Memory) -> int:
        base = self._registers.get(place.base, 0)
        index = self._registers.get(place.index, 0) * place.scale
        return (base + index + place.displacement) % (1 << 64)

    def _machine_write(self, address: int, content: bytes) -> None:
        for page in {address // PAGE, (address + len(content) - 1) // PAGE}:
            self._ensure(page * PAGE)
        self._machine.mem_write(address, content)

    def _step(self, machine: Any, address: int, size: int, data: object) -> None:
        self._left -= 1
        if address in self._ends and self._left < MOST_STEPS - 1:
            self._reached = address
            machine.emu_stop()

    def _map(
        self, machine: Any, access: int, address: int, size: int, value: int, data: object
    ) -> bool:
        try:
            for page in {address // PAGE, (address + size - 1) // PAGE}:
                self._ensure(page * PAGE)
        except self._error:
            return False
        return self._mapped <= MEMORY

    def _ensure(self, page: int) -> None:
        """Map a page, with what the file holds of it."""
        if any(first <= page <= last for first, last, _ in self._machine.mem_regions()):
            return
        self._mapped += PAGE
        self._machine.mem_map(page, PAGE)
        for region in self._binary.regions:
            low = max(page, region.address)
            high = min(page + PAGE, region.address + len(region.content))
            if low < high:
                start = low - region.address
                content = bytes(region.content[start : start + high - low])
                self._machine.mem_write(low, content)
