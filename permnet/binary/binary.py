"""A file of machine code as one space of addresses, with its functions, their names and bytes.

An object has no addresses yet: its sections are laid out one after another from 0, and its
relocations are applied, so that what follows need not know the difference. What it lacks (functions
of other files) gets addresses behind its end, by which it is named. As numbers these addresses mean
nothing: `invented` and `relative_at` tell where code holds one.
"""

import mmap
import re
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import numpy as np

from permnet.binary import elf
from permnet.binary.elf import read_elf
from permnet.binary.frames import function_ranges
from permnet.binary.layout import Region, linked_regions, object_regions
from permnet.binary.symbols import FUNCTION, INDIRECT, PLAIN, RESERVED, UNDEFINED, Symbols
from permnet.errors import PermnetError

_JUMP_THROUGH = re.compile(rb"(?:\xf3\x0f\x1e\xfa)?\xf2?\xff\x25")  # endbr64, bnd
STUB = 16  # bytes of an entry of a procedure linkage table
APART = 1 << 20  # bytes between outside names, so that none is reached from another

# Relocation: bytes written, relative to their own address or not.
_PATCHES = {1: (8, False), 2: (4, True), 4: (4, True), 9: (4, True), 41: (4, True), 42: (4, True)}
_PATCHES |= {10: (4, False), 11: (4, False), 24: (8, True)}
_GOT = (9, 41, 42)  # the address itself lies in a table that the linker makes
_JUMP_SLOT, _GLOBAL_DATA = 7, 6
_NO_RELOCATION = 0


@dataclass(frozen=True, slots=True)
class Function:
    """Machine code from `address` on; `binary` knows the names of what it refers to."""

    name: str
    address: int
    size: int
    code: memoryview = field(repr=False)
    binary: "Binary" = field(repr=False, compare=False)

    @property
    def end(self) -> int:
        return self.address + self.size


class Binary:
    """The functions of an ELF file and the bytes at its addresses."""

    def __init__(self, data: memoryview) -> None:
        self.elf = read_elf(data)
        self.is_object = self.elf.type == elf.OBJECT
        self.is_relative = self.elf.type != elf.PROGRAM
        self._outside: dict[str, int] = {}
        self._written: dict[bool, np.ndarray] = {}  # where addresses were, by whether relative
        self._named: dict[int, str] = {}  # what the distance at an address is one to
        self.regions = object_regions(self.elf) if self.is_object else linked_regions(self.elf)
        self._symbols = Symbols(self.elf, self.regions)
        if sum(len(region.content) for region in self._code) > 2 * len(data):
            raise PermnetError(
                "sections of code overlap to more than twice the file: it is damaged"
            )
        if self.is_object:
            self._relocate()
        else:
            self._written = {True: np.zeros(0, np.int64), False: self._loaded()}

    def functions(self) -> Iterator[Function]:
        """In order of address, without overlaps: an inner symbol ends the function around it."""
        starts = self._function_table[0]
        for region in self._code:
            first, last = np.searchsorted(starts, [region.address, region.end])
            for i in range(first, last):
                if found := self._function(region, i):
                    yield found

    def _function(self, region: Region, i: int) -> Function | None:
        """The one that begins at a row of the table, if it has any code in a region."""
        starts, sizes, names = self._function_table
        start = int(starts[i])
        end = min(start + int(sizes[i]), region.end)
        if i + 1 < len(starts):
            end = min(end, int(starts[i + 1]))
        offset, size = start - region.address, end - start
        if size <= 0 or offset < 0:
            return None
        name = self._symbols.name(int(names[i])) or f"sub_{start:x}"
        return Function(name, start, size, region.content[offset : offset + size], self)

    def function(self, address: int) -> Function | None:
        """The function that an address lies in."""
        at = int(np.searchsorted(self._function_table[0], address, side="right")) - 1
        regions = [region for region in self._code if region.address <= address < region.end]
        found = self._function(regions[0], at) if regions and at >= 0 else None
        return found if found and address < found.end else None

    def labelled(self, name: str) -> Function | None:
        """The code with a label, up to its size or else to the next label."""
        start, end = self._symbols.labelled(name) or (0, 0)
        region = self._region(start, 1)
        if region is None or not (start < end and region.section.flags & elf.EXECUTE):
            return None
        end = min(end, region.end)
        content = region.content[start - region.address : end - region.address]
        return Function(name, start, end - start, content, self)

    def read_only(self, address: int, size: int) -> bytes | None:
        """Bytes that no running program can change; None where there are none."""
        region = self._region(address, size)
        if region is None or region.section.flags & elf.WRITE:
            return None
        offset = address - region.address
        return bytes(region.content[offset : offset + size])

    def invented(self, start: int, end: int) -> bool:
        """Whether code here holds a number that only a linker knows, and an object leaves open."""
        return bool(self._written_in(False, start, end))

    def relative_at(self, start: int, end: int) -> bool:
        """Whether code here holds a distance to what a name stands for."""
        return bool(self._written_in(True, start, end))

    def filled_in(self, start: int, end: int) -> list[int]:
        """The addresses of code here at which a linker or loader has to write something."""
        return sorted(at for kind in (True, False) for at in self._written_in(kind, start, end))

    def _written_in(self, relative: bool, start: int, end: int) -> list[int]:
        written = self._written[relative]
        first, last = np.searchsorted(written, [start, end])
        found: list[int] = written[first:last].tolist()
        return found

    def named_at(self, address: int) -> str | None:
        """The name that an object gives for the distance at an address, which a linker fills in."""
        return self._named.get(address)

    def together(self, one: int, other: int) -> bool:
        """Whether two addresses lie in one section, so that no linker moves them apart."""
        region = self._region(one, 1)
        return region is not None and region.address <= other < region.end

    def is_ambiguous(self, name: str) -> bool:
        """Whether several places here have that name."""
        return self._symbols.is_ambiguous(name)

    def _loaded(self) -> np.ndarray:
        """Where the loader of a linked file writes into code."""
        tables = self.elf.tables(elf.RELOCATIONS)
        at = [rows["offset"].astype(np.int64) for table, rows in tables if table.flags & elf.ALLOC]
        offsets = np.concatenate([np.zeros(0, np.int64), *at])
        code = [r for r in self.regions if r.section.flags & elf.EXECUTE]
        inside = [offsets[(offsets >= r.address) & (offsets < r.end)] for r in code]
        return np.sort(np.concatenate([np.zeros(0, np.int64), *inside]))

    def is_code(self, address: int) -> bool:
        region = self._region(address, 1)
        return region is not None and bool(region.section.flags & elf.EXECUTE)

    def name(self, address: int) -> str | None:
        """Of a function or a datum at an address, here or elsewhere."""
        return self._outside_names.get(address) or self._symbols.at(address)

    def called(self, address: int) -> str:
        """What a call of an address is a call of; what has no name is named by the address."""
        known = self.is_object or self.is_code(address)
        return (self.name(address) if known else None) or f"sub_{address:x}"

    def is_outside(self, address: int) -> bool:
        """Whether the name at an address is defined in another file."""
        return address in self._outside_names

    def nearest(self, address: int) -> tuple[str, int] | None:
        """The named datum that an address lies in, and how far in it lies."""
        return self._symbols.nearest(address)

    def _region(self, address: int, size: int) -> Region | None:
        for region in self.regions:
            if region.address <= address and address + size <= region.address + len(region.content):
                return region
        return None

    @cached_property
    def _code(self) -> list[Region]:
        """Without the stubs through which other files' functions are called."""
        code = [r for r in self.regions if r.section.flags & elf.EXECUTE and len(r.content)]
        code = [r for r in code if not r.section.name.startswith((".plt", ".init", ".fini"))]
        return sorted(code, key=lambda region: region.address)

    @cached_property
    def _function_table(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Starts, sizes and symbols of functions, by address; symbol -1 for one without a name."""
        address, size, kind, number = self._symbols.defined
        named, chosen = ((kind == what) & (size > 0) for what in (FUNCTION, INDIRECT))
        # The code at an indirect function's name is not that function, but chooses one.
        chooses = np.stack([address[chosen], size[chosen]], axis=1)
        unnamed = np.array([*chooses.tolist(), *self._framed()], np.int64).reshape(-1, 2)
        if self.is_object and not named.any() and not len(unnamed):
            return self._unmarked()
        starts = np.concatenate([address[named], unnamed[:, 0]])
        sizes = np.concatenate([size[named], unnamed[:, 1]])
        names = np.concatenate([number[named], np.full(len(unnamed), -1)])
        _, first = np.unique(starts, return_index=True)  # symbols come first, so they win
        return starts[first], sizes[first], names[first]

    def _unmarked(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Functions of an object that tells none: code from each label, or start of code, on."""
        address, _, kind, number = self._symbols.defined
        plain = kind == PLAIN
        starts = np.concatenate([address[plain], [region.address for region in self._code]])
        names = np.concatenate([number[plain], np.full(len(self._code), -1)])
        starts, first = np.unique(starts.astype(np.int64), return_index=True)
        return starts, np.full(len(starts), 1 << 31), names[first]

    def _framed(self) -> Iterator[tuple[int, int]]:
        for region in self.regions:
            if region.section.name == ".eh_frame":
                for start, size in function_ranges(region.content, region.address):
                    if start + size <= elf.ADDRESS_LIMIT:
                        yield start, size

    @cached_property
    def _outside_names(self) -> dict[int, str]:
        named = {address: name for name, address in self._outside.items()}
        return named if self.is_object else named | self._stubs()

    def _stubs(self) -> dict[int, str]:
        """Names of the stubs of a linked file, by the slots that they jump through."""
        slots: dict[int, str] = {}
        for section, rows in self.elf.tables(elf.RELOCATIONS):
            symbols = self.elf.linked(section)
            if symbols is None or symbols.type != elf.DYNAMIC_SYMBOLS:
                continue
            table = self._symbols.tables[1][1]
            kind = rows["info"] & 0xFFFFFFFF
            for row in rows[(kind == _JUMP_SLOT) | (kind == _GLOBAL_DATA)]:
                i = int(row["info"]) >> 32
                if i < len(table):
                    slots[int(row["offset"])] = self._symbols.name_of(i, 1)
        stubs = dict(slots)  # a call may also go through the slot itself
        for region in self.regions:
            if region.section.name.startswith(".plt"):
                for offset in range(0, len(region.content) - STUB + 1, 8):
                    entry = bytes(region.content[offset : offset + STUB])
                    if jump := _JUMP_THROUGH.match(entry):
                        (distance,) = struct.unpack_from("<i", entry, jump.end())
                        slot = region.address + offset + jump.end() + 4 + distance
                        if slot in slots:
                            stubs.setdefault(region.address + offset, slots[slot])
        return stubs

    def _relocate(self) -> None:
        """Write addresses where an object leaves them open."""
        regions = {region.section: region for region in self.regions}
        free = max((region.end for region in self.regions), default=0)
        free = -(-free // 4096) * 4096 + 4096
        table = self._symbols.tables[0][1]
        apart = max(STUB, min(APART, (1 << 30) // (2 * len(table) + 1) // STUB * STUB))
        written: dict[bool, list[int]] = {False: [], True: []}
        for section in self.elf.sections:
            target = self.elf.linked_info(section)
            if section.type in elf.OTHER_RELOCATIONS and target and target.flags & elf.EXECUTE:
                raise PermnetError(f"relocations of type {section.type:#x} are not read")
        for section, rows in self.elf.tables(elf.RELOCATIONS):
            target = self.elf.linked_info(section)
            if target is None or target not in regions:
                continue
            region = regions[target]
            for row in rows:
                offset, info, addend = (int(row[n]) for n in ("offset", "info", "addend"))
                symbol, kind = info >> 32, info & 0xFFFFFFFF
                size, relative = _PATCHES.get(kind, (0, False))
                if kind == _NO_RELOCATION or offset >= len(region.content):
                    continue
                if target.flags & elf.EXECUTE:
                    written[relative].append(region.address + offset)
                if not size or symbol >= len(table) or offset + size > len(region.content):
                    continue
                index = int(table["section"][symbol])
                base = 0
                if relative and size == 4 and addend == -4 and kind not in _GOT:
                    self._named[region.address + offset] = self._symbols.name_of(symbol, 0)
                if kind in _GOT or index == UNDEFINED or index >= RESERVED:
                    name = self._symbols.name_of(symbol, 0) + "@GOTPCREL" * (kind in _GOT)
                    base = self._outside.setdefault(name, free + apart * len(self._outside))
                    if relative and abs(addend) >= apart // 2:  # may be beside another name
                        written[False].append(region.address + offset)
                elif index < len(self.elf.sections) and self.elf.sections[index] in regions:
                    base = regions[self.elf.sections[index]].address + int(table["value"][symbol])
                value = base + addend - (region.address + offset if relative else 0)
                content = region.content[offset : offset + size]
                content[:] = (value % (1 << 8 * size)).to_bytes(size, "little")
        self._written = {key: np.sort(np.array(at, np.int64)) for key, at in written.items()}


def is_elf(path: Path) -> bool:
    """Whether a file begins as an ELF file does."""
    with path.open("rb") as file:
        return file.read(4) == elf.MAGIC


@contextmanager
def open_binary(path: Path) -> Iterator[Binary]:
    """An ELF file, mapped rather than read: only what is looked at takes memory."""
    try:
        with path.open("rb") as file:
            mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    except OSError as error:
        raise PermnetError(f"cannot read it: {error.strerror}") from error
    except ValueError as error:  # an empty file cannot be mapped
        raise PermnetError("the file is empty") from error
    # Views of it live as long as the functions handed out: the last one closes it.
    yield Binary(memoryview(mapped))
