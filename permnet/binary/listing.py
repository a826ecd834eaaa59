"""A function as text in gcc's manner, which the lexer of the switch data reads.

  401136:  83 7d fc 05   cmp dword ptr [rbp - 4], 5        cmp  DWORD PTR -4[rbp], 5
  40113a:  74 09         je 0x401145                       je   .L1

Label names are lost in machine code and given anew, by address. So is what gcc left no trace of: a
label that nothing jumps to, and which of two encodings of one instruction was meant. Code of an
object that holds an address as a number cannot be written so, nor bytes that are no instruction, or
one of another size than its text says.
"""

import re
from itertools import takewhile

from permnet.binary.binary import Function
from permnet.binary.decode import Instruction, instructions
from permnet.binary.operands import SIZES, Memory, Number, Operand, Register
from permnet.errors import PermnetError

# Names that gcc prefers for the same instruction.
_SYNONYMS = {"shl": "sal", "jae": "jnb", "setae": "setnb", "cmovae": "cmovnb"}
_SYNONYMS |= {"movsxd": "movsx"}
_SIZE_NAMES = {bits: name.upper() for name, bits in SIZES.items() if name != "xword"}
_NAME = re.compile(r"[\w.$@]+")
_OPERAND_SIZE = 0x66
_PREFIXES = (0x26, 0x2E, 0x36, 0x3E, 0x64, 0x65, _OPERAND_SIZE, 0x67, 0xF0, 0xF2, 0xF3)
_REX = 4
_DISTANCE = 4  # bytes of one in a jump or call
_UNSIGNED = ("shl", "shr", "sal", "sar", "rol", "ror")


def labelled_assembly(function: Function) -> str:
    """Lines of Intel syntax: `name:`, instructions, and `.L1:`, `.L2:`, … where jumps lead."""
    code = list(instructions(function))
    if (end := code[-1].end if code else function.address) != function.end:
        raise PermnetError(f"the byte at {end - function.address:#x} is no instruction")
    known = {instruction.address for instruction in code}
    targets = {t for i in code if (t := _target(i)) is not None and i.mnemonic != "call"}
    labels = {t: f".L{n}" for n, t in enumerate(sorted(targets & known), 1)}
    names = _Names(function, labels)
    if _plain(function.name).startswith("."):
        raise PermnetError(f"the name {function.name!r} is that of a label")
    lines = [f"{function.name}:"]
    for instruction in code:
        _check_relocations(function, instruction)
        _check_size(function, instruction)
        if instruction.address in labels:
            lines.append(f"{labels[instruction.address]}:")
        lines.append(f"\t{_line(instruction, names)}".rstrip())
    lines.append(f"\t.size\t{function.name}, .-{function.name}")
    return "\n".join(lines) + "\n"


def _check_relocations(function: Function, instruction: Instruction) -> None:
    """Refuses an instruction that a linker or loader makes another one than is written."""
    binary, place = function.binary, (instruction.address, instruction.end)
    target = _target(instruction)
    if target is not None:
        settled = _leads(function, instruction, target)
    else:
        spelled = any(isinstance(o, Memory) and o.base == "rip" for o in instruction.operands)
        reaches = binary.relative_at(instruction.end - _DISTANCE + 1, instruction.end)
        settled = not binary.relative_at(*place) or (spelled and not reaches)
    if not settled or binary.invented(*place):
        at = instruction.address - function.address
        raise PermnetError(
            f"`{instruction.mnemonic}` at {at:#x} holds an address that only a linker knows: "
            "link the object first"
        )


def _leads(function: Function, instruction: Instruction, target: int) -> bool:
    """Whether a jump or call leads where it seems to: within its section, or by a relocation of its
    distance and of nothing else."""
    binary, field = function.binary, _distance_at(instruction)
    near = not binary.is_object or binary.together(function.address, target)
    if field is None:
        return near and not binary.relative_at(instruction.address, instruction.end)
    if binary.relative_at(instruction.address, field):
        return False
    if binary.relative_at(field + 1, instruction.end):
        return False
    if not binary.relative_at(field, field + 1):
        return near
    return binary.named_at(field) is not None or binary.is_code(target)


def _distance_at(instruction: Instruction) -> int | None:
    """Where a jump or call has its distance; a short jump has none that is left to a linker."""
    return instruction.end - _DISTANCE if instruction.size > _DISTANCE else None


def _check_size(function: Function, instruction: Instruction) -> None:
    """Refuses a jump, call or return with a prefix by which it takes 16 bits of its address."""
    name = instruction.mnemonic
    if name not in ("call", "ret", "leave") and not name.startswith("j"):
        return
    at = instruction.address - function.address
    code = function.code[at : at + instruction.size]
    if _OPERAND_SIZE in takewhile(lambda byte: byte in _PREFIXES or byte >> 4 == _REX, code):
        raise PermnetError(f"`{name}` at {at:#x} has an operand-size prefix")


class _Names:
    """What addresses are called inside one function."""

    def __init__(self, function: Function, labels: dict[int, str]) -> None:
        self._binary, self._labels = function.binary, labels
        self._constants: dict[int, str] = {}

    def code(self, address: int, instruction: Instruction) -> str:
        """Where a jump or call leads; in an object by the name that it was written with."""
        binary = self._binary
        field = _distance_at(instruction)
        named = None if field is None else binary.named_at(field)
        if address in self._labels and not named:
            return self._labels[address]
        name = _plain(named or binary.called(address))
        if name.startswith(".") or binary.is_ambiguous(name):
            raise PermnetError(f"the name {name!r} is not that of one function")
        return f"{name}@PLT" if binary.is_outside(address) else name

    def data(self, address: int) -> tuple[str, int]:
        """A symbol and an offset; data without a name are `.LC0`, `.LC1`, … as gcc calls them."""
        if name := self._binary.name(address):
            return _plain(name), 0
        if found := self._binary.nearest(address):
            return _plain(found[0]), found[1]
        return self._constants.setdefault(address, f".LC{len(self._constants)}"), 0


def _plain(name: str | None) -> str:
    """A symbol's name, which in a file made by hand may hold anything, whole lines of code too."""
    if name and not _NAME.fullmatch(name):
        raise PermnetError(f"the name {name[:80]!r} is none that assembly has")
    return name or ""


def _target(instruction: Instruction) -> int | None:
    """Where a jump or call leads, if that is written in it."""
    if instruction.mnemonic != "call" and not instruction.mnemonic.startswith("j"):
        return None
    operand = instruction.operands[0] if instruction.operands else None
    return operand.value if isinstance(operand, Number) else None


def _line(instruction: Instruction, names: _Names) -> str:
    mnemonic = _SYNONYMS.get(instruction.mnemonic, instruction.mnemonic)
    if mnemonic == "nop" and not instruction.prefix:
        return "nop"
    target = _target(instruction)
    if target is not None:
        operands = names.code(target, instruction)
    else:
        bits = _bits(instruction)
        operands = ", ".join(_operand(o, instruction, bits, names) for o in instruction.operands)
    return f"{instruction.prefix} {mnemonic}\t{operands}".strip()


def _bits(instruction: Instruction) -> int:
    """The size at which an instruction takes its immediate: that of its first operand."""
    match instruction.operands:
        case (Register() as register, *_) if register.general:
            return register.general[1]
        case (Memory() as memory, *_):
            return memory.bits
    return 64


def _operand(operand: Operand, instruction: Instruction, bits: int, names: _Names) -> str:
    if isinstance(operand, Register):
        return operand.name
    if isinstance(operand, Number):
        if instruction.mnemonic in _UNSIGNED:
            return str(operand.value)
        value = operand.value % (1 << bits)
        return str(value - (1 << bits) if bits and value >> (bits - 1) else value)
    size = f"{_SIZE_NAMES.get(operand.bits, '')} PTR " if operand.bits else ""
    segment = f"{operand.segment}:" if operand.segment else ""
    return f"{size}{segment}{_place(operand, instruction, names)}"


def _place(memory: Memory, instruction: Instruction, names: _Names) -> str:
    """`-4[rbp]`, `[rax+rdx*4]`, `0[0+rax*4]`, `name[rip]`."""
    if memory.base == "rip":
        name, offset = names.data(instruction.end + memory.displacement)
        return f"{name}[rip{f'+{offset}' if offset else ''}]"
    if memory.segment and not memory.base and not memory.index:
        return str(memory.displacement)
    index = f"{memory.index}*{memory.scale}" if memory.scale > 1 else memory.index
    inside = "+".join(part for part in (memory.base or "0" * bool(index), index) if part)
    shown = memory.displacement or not memory.base
    return f"{memory.displacement if shown else ''}[{inside}]"
