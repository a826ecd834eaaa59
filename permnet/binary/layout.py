"""Where the sections of an ELF file lie, those of objects too, which have no addresses yet."""

from dataclasses import dataclass

from permnet.binary import elf
from permnet.binary.elf import Elf, Section
from permnet.errors import PermnetError


@dataclass(frozen=True, slots=True)
class Region:
    """Bytes at an address; none where the file holds none, such as `.bss`."""

    section: Section
    address: int
    content: memoryview

    @property
    def end(self) -> int:
        return self.address + self.section.size


def linked_regions(file: Elf) -> list[Region]:
    return [
        Region(section, section.address, file.bytes(section))
        for section in file.sections
        if section.flags & elf.ALLOC
    ]


def object_regions(file: Elf) -> list[Region]:
    """Code, then data, each in the file's order: with one section of code it stays at 0."""
    regions, address, held = [], 0, 0
    loaded = [section for section in file.sections if section.flags & elf.ALLOC]
    for section in sorted(loaded, key=lambda section: not section.flags & elf.EXECUTE):
        content = file.bytes(section)
        held += len(content)
        if held > 2 * len(file.data):
            raise PermnetError("sections overlap to more than twice the file: it is damaged")
        align = max(16, section.align if section.align <= 4096 else 4096)
        address = -(-address // align) * align
        if address + section.size >= 1 << 31:
            raise PermnetError(f"the sections of an object have 2 GiB at most: {section.name!r}")
        regions.append(Region(section, address, memoryview(bytearray(content))))
        address += section.size
    return regions
