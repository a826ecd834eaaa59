"""What an assembler makes of text: whether it is the code that was read of it.

The reader of assembly knows what compilers write, an assembler all that can be written. So where an
answer compiles to the text that was read, objects are compared as well: the answer's with that of
the function's own text. One that holds other code than it shows is not verified.
"""

import re
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from permnet.binary import elf
from permnet.decompiling.syntax import is_att
from permnet.decompiling.text import Function
from permnet.decompiling.toolchain import Compiler
from permnet.decompiling.verify import C, compile_all
from permnet.errors import PermnetError
from permnet.tasks.switch.compiler import object_of
from permnet.tasks.switch.ctokens import layout

Names = frozenset[str]

_LABELS, _SECTION = (0, 2), 3  # types of symbols: functions and labels without a type
_DISTANCES = (2, 4)  # types of relocations; the latter may lead through a stub of the linker's
_WIDE = 4  # bytes of a distance, which is counted from behind it
# What assemblers align with.
_PADDING = re.compile(
    rb"(?:\xcc|\x66*\x90|\x66*\x2e?\x66*\x0f\x1f"
    rb"(?:\x00|\x40\x00|\x44\x00\x00|\x80\x00{4}|\x84\x00{5}))*"
)


@dataclass(frozen=True)
class Place:
    """Where a function lies in a section: up to the next label, unless it is `sized`."""

    section: int
    start: int
    end: int
    sized: bool


class Object:
    """The code of an object: its functions, and what the distances in them lead to."""

    def __init__(self, made: bytes) -> None:
        self.file = elf.read_elf(memoryview(made))
        self.places: dict[str, Place] = {}
        self._labels: dict[tuple[int, int], set[str]] = defaultdict(set)
        self._named: dict[int, dict[int, Names]] = defaultdict(dict)
        for table, symbols in self.file.tables(elf.SYMBOL_TABLE):
            strings = self.file.linked(table)
            names = [self.file.string(strings, int(at)) for at in symbols["name"]]
            self._read_labels(names, symbols)
            self._read_relocations(names, symbols)
        self._offsets = {section: sorted(named) for section, named in self._named.items()}

    def content(self, place: Place) -> bytes:
        return bytes(self._section(place.section)[place.start : place.end])

    def open(self, place: Place, size: int) -> list[int]:
        """The offsets in the first bytes of a place at which a linker has to fill in something."""
        offsets = self._offsets.get(place.section, [])
        first, last = (bisect_left(offsets, at) for at in (place.start, place.start + size))
        return [offset - place.start for offset in offsets[first:last]]

    def leads_to(self, place: Place, offset: int) -> Names:
        """The names of what the distance at an offset of a place leads to."""
        at = place.start + offset
        if at in self._named[place.section]:
            return self._named[place.section][at]
        behind = at + _WIDE
        distance = int.from_bytes(self._section(place.section)[at:behind], "little", signed=True)
        return self._labelled(place.section, behind + distance)

    def _section(self, index: int) -> memoryview:
        return self.file.bytes(self.file.sections[index])

    def _labelled(self, section: int, at: int) -> Names:
        return frozenset(self._labels.get((section, at), ()))

    def _read_labels(self, names: list[str], symbols: np.ndarray) -> None:
        sections = self.file.sections
        labels = [
            (int(row["section"]), int(row["value"]), int(row["size"]), name)
            for name, row in zip(names, symbols, strict=True)
            if name and int(row["info"]) & 15 in _LABELS and int(row["section"]) < len(sections)
        ]
        starts: dict[int, list[int]] = defaultdict(list)
        for section, start, _, name in sorted(labels):
            self._labels[section, start].add(name)
            starts[section].append(start)
        for section, start, size, name in labels:
            if sections[section].flags & elf.EXECUTE:
                behind = bisect_right(starts[section], start)
                others = [*starts[section][behind : behind + 1], sections[section].size]
                end = start + size if size else others[0]
                self.places[name] = Place(section, start, end, size > 0)

    def _read_relocations(self, names: list[str], symbols: np.ndarray) -> None:
        for table, rows in self.file.tables(elf.RELOCATIONS):
            for offset, info, addend in rows.tolist():
                symbol, kind = info >> 32, info & 0xFFFFFFFF
                named: Names = frozenset()
                if kind in _DISTANCES and symbol < len(names):
                    row = symbols[symbol]
                    if int(row["info"]) & 15 == _SECTION:
                        named = self._labelled(int(row["section"]), addend + _WIDE)
                    elif addend == -_WIDE:
                        named = frozenset([names[symbol]])
                self._named[table.info][offset] = named


def same_code(one: Object, name: str, other: Object, its_name: str) -> bool:
    """Whether a function of an object that a compiler made is that of another object.

    Byte by byte, but for distances to names, which have to be to the same name; a function's own
    may differ.
    """
    here, there = one.places.get(name), other.places.get(its_name)
    if here is None or there is None:
        return False
    ours, theirs = bytearray(one.content(here)), bytearray(other.content(there))
    behind = bytes(theirs[len(ours) :])
    if behind and (there.sized or not _PADDING.fullmatch(behind)):
        return False
    calls = one.open(here, len(ours))
    if not {*other.open(there, len(ours))} <= {*calls}:
        return False
    del theirs[len(ours) :]
    for at in calls:
        wanted = {its_name if known == name else known for known in one.leads_to(here, at)}
        if not wanted & other.leads_to(there, at):
            return False
        ours[at : at + _WIDE] = theirs[at : at + _WIDE] = bytes(_WIDE)
    return ours == theirs


def confirmed(answers: Sequence[tuple[C, Function]], compiler: Compiler) -> list[bool]:
    """Whether each C makes the machine code that the assembler makes of the function's own text."""
    made = compile_all((c for c, _ in answers), _functions, compiler, "-c")
    verdicts = []
    for c, function in answers:
        ours, theirs = made[layout(c)], _own_object(function, compiler.cc)
        verdicts.append(bool(ours and theirs and same_code(*ours, theirs, function.name)))
    return verdicts


def _functions(made: bytes) -> dict[str, tuple[Object, str]]:
    held = Object(made)
    return {name: (held, name) for name in held.places}


def _own_object(function: Function, cc: str) -> Object | None:
    """That of the function's file, or where it has none of the function's lines alone."""
    syntax = "" if any(is_att(line.text) for line in function.lines) else ".intel_syntax noprefix\n"
    text = function.text.replace("\r\n", "\n")
    if (whole := _object(syntax + text, cc)) is not None:
        return whole
    first, last = function.span
    lines = text.split("\n")[first - 1 : last]
    return _object(syntax + "\n".join([".text", *lines, ""]), cc)


@lru_cache(maxsize=2)  # a file's functions come one after another
def _object(text: str, cc: str) -> Object | None:
    try:
        return Object(object_of(text, cc))
    except PermnetError:  # the assembler takes it for none
        return None
