"""The symbols of an ELF file: the names of what is defined in it, by address."""

from collections.abc import Sequence
from functools import cached_property

import numpy as np

from permnet.binary import elf
from permnet.binary.elf import Elf, Section
from permnet.binary.layout import Region

PLAIN, FUNCTION, SECTION_SYMBOL, FILE_SYMBOL, INDIRECT = 0, 2, 3, 4, 10
UNDEFINED, RESERVED = 0, 0xFF00
LOCAL = 0
_NOTHING = Section("", 0, 0, 0, 0, 0, 0, 0, 0)

Rows = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]


class Symbols:
    """Each has a number, by which its name is found: names are read when they are asked for."""

    def __init__(self, file: Elf, regions: Sequence[Region]) -> None:
        self.file, self.regions = file, regions
        self.tables = [
            next(file.tables(kind), (_NOTHING, np.zeros(0, elf.SYMBOL)))
            for kind in (elf.SYMBOL_TABLE, elf.DYNAMIC_SYMBOLS)
        ]
        """The full table, which a stripped file lacks, and that of what is loaded or shared."""

    def name_of(self, row: int, table: int) -> str:
        section, rows = self.tables[table]
        name = self.file.string(self.file.linked(section), int(rows["name"][row]))
        return name.partition("@@")[0]  # which a linker writes before the version meant by the name

    def name(self, number: int) -> str:
        """The name of a symbol; a negative number is none's."""
        return "" if number < 0 else self.name_of(*divmod(number, 2))

    def at(self, address: int) -> str | None:
        """The name of what lies at an address."""
        starts, _, numbers = self._shown
        i = int(np.searchsorted(starts, address))
        if i < len(starts) and starts[i] == address:
            return self.name(int(numbers[i]))
        return None

    def nearest(self, address: int) -> tuple[str, int] | None:
        """The name of what an address lies in, and how far in it lies."""
        starts, sizes, numbers = self._shown
        i = int(np.searchsorted(starts, address, side="right")) - 1
        if i < 0 or not address < starts[i] + max(int(sizes[i]), 1):
            return None
        name = self.name(int(numbers[i]))
        return (name, address - int(starts[i])) if name else None

    def labelled(self, name: str) -> tuple[int, int] | None:
        """Where the code with a label begins and ends: by its size, or else at the next label."""
        if name not in self._labels:
            return None
        start, size = self._labels[name]
        others = self._shown[0]
        behind = int(np.searchsorted(others, start, side="right"))
        limit = int(others[behind]) if behind < len(others) else elf.ADDRESS_LIMIT
        return start, start + size if size else limit

    def is_ambiguous(self, name: str) -> bool:
        """Whether several places have that name."""
        return name in self._ambiguous

    @cached_property
    def defined(self) -> Rows:
        """Address, size, kind and number of each symbol that is defined here."""
        columns: list[tuple[np.ndarray, ...]] = []
        for table, (_, rows) in enumerate(self.tables):
            at = np.flatnonzero((rows["section"] != UNDEFINED) & (rows["section"] < RESERVED))
            at = at[np.argsort(rows["info"][at] >> 4 == LOCAL, kind="stable")]  # global names win
            kept = rows[at]
            address = kept["value"].astype(np.int64)
            if self.file.type == elf.OBJECT:
                bases = {r.section: r.address for r in self.regions}
                base = np.array([bases.get(s, -1) for s in self.file.sections], dtype=np.int64)
                section = np.minimum(kept["section"], len(base) - 1)
                address = np.where(base[section] < 0, -1, address + base[section])
            size, kind, number = kept["size"].astype(np.int64), kept["info"] & 15, at * 2 + table
            columns.append((address, size, kind, number))
        address, size, kind, number = (
            np.concatenate([np.zeros(0, np.int64), *part])
            for part in (zip(*columns, strict=True) if columns else ((), (), (), ()))
        )
        inside = (address >= 0) & (size >= 0) & (size < elf.ADDRESS_LIMIT)
        return address[inside], size[inside], kind[inside], number[inside]

    @cached_property
    def _shown(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Address, size and number of one symbol for each address, by address."""
        address, size, kind, number = self.defined
        shown = (kind != SECTION_SYMBOL) & (kind != FILE_SYMBOL) & (kind != INDIRECT)
        address, size, number = address[shown], size[shown], number[shown]
        starts, first = np.unique(address, return_index=True)
        return starts, size[first], number[first]

    @cached_property
    def _labels(self) -> dict[str, tuple[int, int]]:
        address, size, kind, number = self.defined
        found: dict[str, tuple[int, int]] = {}
        for i in np.flatnonzero((kind == FUNCTION) | (kind == PLAIN)):
            found.setdefault(self.name(int(number[i])), (int(address[i]), int(size[i])))
        return found

    @cached_property
    def _ambiguous(self) -> set[str]:
        found: dict[str, int] = {}
        address, _, kind, number = self.defined
        shown = (kind != SECTION_SYMBOL) & (kind != FILE_SYMBOL)
        return {
            name
            for at, n in zip(address[shown].tolist(), number[shown].tolist(), strict=True)
            if found.setdefault(name := self.name(n), at) != at
        }
