"""The tables of an ELF file: sections, symbols and relocations, each checked against the file.

Read here and not by a library, for the reader has to stay bounded on files made to hurt it, and to
be quick on large ones: tables become arrays straight from the file.
"""

import struct
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from permnet.errors import PermnetError

MAGIC = b"\x7fELF"
X86_64 = 62
OBJECT, PROGRAM, SHARED = 1, 2, 3
MACHINES = {3: "x86", 8: "MIPS", 20: "PowerPC", 21: "PowerPC64", 40: "ARM", 183: "AArch64"}
MACHINES |= {22: "s390", 243: "RISC-V", 258: "LoongArch"}

SYMBOL_TABLE, STRINGS, RELOCATIONS, NO_BITS, DYNAMIC_SYMBOLS = 2, 3, 4, 8, 11
OTHER_RELOCATIONS = (9, 0x40000014)  # kinds of tables that x86-64 does without
WRITE, ALLOC, EXECUTE = 1, 2, 4
ADDRESS_LIMIT = 1 << 47  # what a process of Linux may address

_HEADER = struct.Struct("<16sHHIQQQIHHHHHH")
_SECTION = struct.Struct("<IIQQQQIIQQ")
SYMBOL = np.dtype("<u4,u1,u1,<u2,<u8,<u8")
SYMBOL.names = ("name", "info", "other", "section", "value", "size")
RELOCATION = np.dtype("<u8,<u8,<i8")
RELOCATION.names = ("offset", "info", "addend")


@dataclass(frozen=True, slots=True)
class Section:
    name: str
    type: int
    flags: int
    address: int
    offset: int
    size: int
    link: int
    info: int
    align: int


@dataclass(frozen=True)
class Elf:
    """A file's bytes, its type and its sections."""

    data: memoryview
    type: int
    sections: tuple[Section, ...]

    def bytes(self, section: Section) -> memoryview:
        """What the file holds of a section, if it holds all of it."""
        if section.type == NO_BITS:
            return memoryview(b"")
        end = section.offset + section.size
        if end > len(self.data):
            raise PermnetError(
                f"section {section.name!r} ends at byte {end}, the file at {len(self.data)}: "
                "it is truncated or damaged"
            )
        return self.data[section.offset : end]

    def tables(self, type: int) -> Iterator[tuple[Section, np.ndarray]]:
        """Sections that are tables of symbols or relocations, with their rows."""
        row = RELOCATION if type == RELOCATIONS else SYMBOL
        for section in self.sections:
            if section.type == type:
                content = self.bytes(section)
                whole = len(content) - len(content) % row.itemsize
                yield section, np.frombuffer(content[:whole], dtype=row)

    def linked(self, section: Section) -> Section | None:
        """The section that another one refers to, such as the names of its symbols."""
        return self.sections[section.link] if section.link < len(self.sections) else None

    def linked_info(self, section: Section) -> Section | None:
        """The section that a table of relocations is about."""
        return self.sections[section.info] if section.info < len(self.sections) else None

    def string(self, table: Section | None, offset: int) -> str:
        """The name at an offset of a table of strings; what is not there is empty."""
        if table is None or table.type != STRINGS:
            return ""
        return _string(self.bytes(table), offset)


def read_elf(data: memoryview) -> Elf:
    """The tables of an x86-64 ELF file, or the error that says what it is instead."""
    if bytes(data[:4]) != MAGIC:
        raise PermnetError("not an ELF file")
    if len(data) < _HEADER.size:
        raise PermnetError(f"an ELF header has {_HEADER.size} bytes, the file only {len(data)}")
    fields = _HEADER.unpack(data[: _HEADER.size])
    ident, type, machine, start = fields[0], fields[1], fields[2], fields[6]
    entry_size, count, names = fields[11:14]
    if ident[4] != 2 or ident[5] != 1 or machine != X86_64:
        name = MACHINES.get(machine, f"machine {machine}")
        kind = f"{32 if ident[4] == 1 else 64}-bit, {'big' if ident[5] == 2 else 'little'}-endian"
        raise PermnetError(f"ELF for {name}, {kind}: only 64-bit x86-64 is read")
    if type not in (OBJECT, PROGRAM, SHARED):
        raise PermnetError(f"ELF of type {type}, not an object, a program or a shared library")
    rows = list(_rows(data, start, entry_size, count)) if start else []
    if not rows:
        raise PermnetError("the file has no section headers, which are needed to find its code")
    if names == 0xFFFF:
        names = rows[0][6]
    return Elf(data, type, tuple(_sections(data, rows, names)))


def _rows(data: memoryview, start: int, entry_size: int, count: int) -> Iterator[tuple[int, ...]]:
    if entry_size != _SECTION.size:
        raise PermnetError(f"section headers of {entry_size} bytes, not {_SECTION.size}")
    if start + _SECTION.size > len(data):
        raise PermnetError(f"section headers at byte {start}, past the end: the file is truncated")
    if count == 0:  # more than 65,279: the first header holds the number
        count = _SECTION.unpack_from(data, start)[5]
    if start + count * _SECTION.size > len(data):
        raise PermnetError(f"{count} section headers do not fit into the file: it is truncated")
    for i in range(count):
        yield _SECTION.unpack_from(data, start + i * _SECTION.size)


def _sections(data: memoryview, rows: list[tuple[int, ...]], names_index: int) -> Iterator[Section]:
    names = memoryview(b"")
    if names_index < len(rows):
        _, _, _, _, offset, size, *_ = rows[names_index]
        names = data[min(offset, len(data)) : min(offset + size, len(data))]
    for name, type, flags, address, offset, size, link, info, align, _ in rows:
        if flags & ALLOC and address + size > ADDRESS_LIMIT:
            raise PermnetError(
                f"section {_string(names, name)!r} has {size} bytes at {address:#x}, "
                f"beyond {ADDRESS_LIMIT:#x}: the file is damaged"
            )
        yield Section(_string(names, name), type, flags, address, offset, size, link, info, align)


def _string(table: memoryview, offset: int) -> str:
    """Up to the zero byte; names are cut at 1,024 bytes, C++ has no shame."""
    return bytes(table[offset : offset + 1024]).partition(b"\0")[0].decode(errors="replace")
