"""What an operand is: a register, a number, or a place in memory."""

import re
from dataclasses import dataclass
from functools import lru_cache

SIZES = {"byte": 8, "word": 16, "dword": 32, "fword": 48, "qword": 64, "tbyte": 80}
SIZES |= {"xword": 80, "xmmword": 128, "ymmword": 256, "zmmword": 512}

_MEMORY = re.compile(r"(?:(?:(\w+) )?ptr )?(?:(\w\w):)?\[([^\]]*)\]")
_TERM = re.compile(r"([+-]?)\s*(\w+)(?:\*(\d))?\s*")

# Name of a register: the 64-bit one that it is part of, its bits, the lowest of them.
GENERAL: dict[str, tuple[str, int, int]] = {}
for _letter in "abcd":
    _whole = f"r{_letter}x"
    GENERAL |= {_whole: (_whole, 64, 0), f"e{_letter}x": (_whole, 32, 0)}
    GENERAL |= {f"{_letter}x": (_whole, 16, 0), f"{_letter}l": (_whole, 8, 0)}
    GENERAL[f"{_letter}h"] = (_whole, 8, 8)
for _name in ("si", "di", "bp", "sp"):
    _whole = f"r{_name}"
    GENERAL |= {_whole: (_whole, 64, 0), f"e{_name}": (_whole, 32, 0)}
    GENERAL |= {_name: (_whole, 16, 0), f"{_name}l": (_whole, 8, 0)}
for _number in range(8, 16):
    _whole = f"r{_number}"
    GENERAL |= {_whole: (_whole, 64, 0), f"{_whole}d": (_whole, 32, 0)}
    GENERAL |= {f"{_whole}w": (_whole, 16, 0), f"{_whole}b": (_whole, 8, 0)}


@dataclass(frozen=True, slots=True)
class Register:
    name: str

    @property
    def general(self) -> tuple[str, int, int] | None:
        """The whole register, the bits and their position; None for vectors and the like."""
        return GENERAL.get(self.name)


@dataclass(frozen=True, slots=True)
class Number:
    """An immediate as it is printed: signed or not, to be taken at the size of its operation."""

    value: int


@dataclass(frozen=True, slots=True)
class Memory:
    """`bits` at segment : base + index · scale + displacement; 0 bits for `lea` and `nop`."""

    bits: int
    segment: str
    base: str
    index: str
    scale: int
    displacement: int


Operand = Register | Number | Memory


@lru_cache(65536)
def parse_operands(text: str) -> tuple[Operand, ...]:
    """
    >>> parse_operands("dword ptr [rbp - 0x14], 5")[1]
    Number(value=5)
    """
    return tuple(_operand(part.strip()) for part in text.split(",")) if text else ()


def _operand(text: str) -> Operand:
    memory = _MEMORY.fullmatch(text)
    if memory is None:
        try:
            return Number(int(text, 0))
        except ValueError:
            return Register(text)
    size, segment, inside = memory.groups()
    base = index = ""
    scale, displacement = 1, 0
    for sign, name, times in _TERM.findall(inside):
        if name[0].isdigit():
            displacement += -int(name, 0) if sign == "-" else int(name, 0)
        elif times or base:
            index, scale = name, int(times or 1)
        else:
            base = name
    return Memory(SIZES.get(size, 0), segment or "", base, index, scale, displacement)


def operation_bits(operands: tuple[Operand, ...]) -> int:
    """The size of an operation, from its first operand."""
    match operands:
        case (Register() as register, *_) if register.general:
            return register.general[1]
        case (Memory() as memory, *_):
            return memory.bits or 64
    return 64
