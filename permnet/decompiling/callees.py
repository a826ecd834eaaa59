"""Prototypes for functions that nobody declared, from what their calls look like.

    mov     esi, 4
    mov     edi, eax
    call    get
    mov     DWORD PTR -4[rbp], eax

Two arguments of 32 bits and a result: `int get(int, int);`.
"""

import re
from collections.abc import Collection, Iterable, Sequence
from itertools import takewhile

from permnet.decompiling.text import Function
from permnet.decompiling.toolchain import KEYWORD
from permnet.errors import PermnetError

Instruction = Sequence[str]
"""As tokens, in gcc's Intel spelling."""

_ARGUMENTS = ("di", "si", "dx", "cx", "8", "9")  # the registers for them, in order
_TYPES = ("void", "char", "short", "int", "long")  # the narrower first
# What a register is a part of, and the type of its width.
_REGISTERS = {
    **{f"r{x}": (x, "long") for x in ("ax", *_ARGUMENTS)},
    **{f"e{x}": (x, "int") for x in ("ax", *_ARGUMENTS[:4])},
    **{f"r{x}d": (x, "int") for x in _ARGUMENTS[4:]},
    **{x: (x, "short") for x in ("ax", *_ARGUMENTS[:4])},
    **{f"r{x}w": (x, "short") for x in _ARGUMENTS[4:]},
    **{f"{x[0]}l": (x, "char") for x in ("ax", "cx", "dx")},
    **{f"{x}l": (x, "char") for x in ("di", "si")},
    **{f"r{x}b": (x, "char") for x in _ARGUMENTS[4:]},
}
_WORD = re.compile(r"[a-z]\w*")
_WHOLE = re.compile(r"r(?:[a-z]{2}|\d+)")  # registers of 64 bits
_C_NAME = re.compile(r"[A-Za-z_]\w*", re.ASCII)
_MOVES = re.compile(r"mov(?:abs|[sz]xd?)?|lea|set[a-z]+")
_READS_ONLY = ("cmp", "test", "push")
# The end of a function, where registers get back what they held before.
_UNWINDS = re.compile(r"(?:ret|leave|pop|add rsp)\b|mov (?:rbx|r1[2-5]) QWORD PTR")


def guessed(functions: Iterable[Function], declared: Collection[str]) -> dict[str, str]:
    """A prototype for each function that is called, not declared, and has a name of C.

    A parameter has the widest type that any call has there, the result likewise.
    """
    found: dict[str, list[str]] = {}
    for function in functions:
        try:
            lines = function.tokens
        except PermnetError:  # which is told where the function is asked about
            continue
        returned = _returned(lines)
        for at, line in enumerate(lines):
            name = called(line)
            if name is None or name in declared or not _is_c(name):
                continue
            one, other = (
                found.get(name, []),
                [_result(lines[at + 1 :], *returned), *_arguments(lines[:at])],
            )
            if len(one) < len(other):
                one, other = other, one
            found[name] = [*map(_wider, one, other), *one[len(other) :]]
    return {
        name: f"{types[0]} {name}({', '.join(types[1:]) or 'void'});"
        for name, types in found.items()
    }


def called(line: Instruction) -> str | None:
    """The function that an instruction calls."""
    return line[1].removesuffix("@PLT") if line[0] == "call" and len(line) == 2 else None


def _is_c(name: str) -> bool:
    return _C_NAME.fullmatch(name) is not None and not KEYWORD.fullmatch(name)


def _wider(*types: str) -> str:
    return max(types, key=_TYPES.index)


def _arguments(before: Sequence[Instruction]) -> list[str]:
    """The types of the registers that are set for a call, and not for an instruction on the way."""
    types: dict[str, str] = {}
    wanted: set[str] = set()
    for line in reversed(before):
        if _leaves(line) or (line[2:3] == ["PTR"] and line[0] not in _READS_ONLY):
            break  # another statement: what sets arguments stores nothing
        target = _REGISTERS.get(line[1]) if len(line) > 1 else None
        if target and target[0] in wanted:
            wanted.remove(target[0])
        elif target and line[0] not in _READS_ONLY:
            types.setdefault(*target)
        wanted |= {register for register, _ in _read(line)}
    return [types[r] for r in takewhile(types.__contains__, _ARGUMENTS)]


def _result(after: Sequence[Instruction], ends: Collection[str], returned: str) -> str:
    """As what the register of results is read first, if it is before it is written.

    Where the function returns at once, so does it: one that returns nothing has a `nop` there, or
    what stands before other jumps to its end is no result.
    """
    for line in after:
        if line[0] == "ret":
            return "int"
        if line[0] in ends or _jumps(line, ends):
            return returned
        if line[0] == "nop" or (_leaves(line) and line[0] != "leave"):
            break
        if line[0] in ("cdqe", "cdq", "cwde"):
            return "int"
        read = dict(_read(line))
        if "ax" in read:
            return read["ax"]
        if len(line) > 1 and _REGISTERS.get(line[1], "")[:1] == ("ax",):
            break
    return "void"


def _returned(lines: Sequence[Instruction]) -> tuple[set[str], str]:
    """The labels of a function's end, and as what it is given a result before jumps there.

    The widest: what is called and returned may be wider than the result, but not narrower.
    """
    end = len(lines)
    while end and _UNWINDS.match(" ".join(lines[end - 1])):
        end -= 1
    first = end
    while first and lines[first - 1][-1] == ":":
        first -= 1
    labels = {line[0] for line in lines[first:end]}
    results = ["void"]
    for at in range(min(first, len(lines) - 1)):
        line, ends = lines[at], at + 1 == first or _jumps(lines[at + 1], labels)
        if ends and line[0] not in _READS_ONLY and len(line) > 1:
            register, type = _REGISTERS.get(line[1], ("", ""))
            results += [type] if register == "ax" else []
    return labels, _wider(*results)


def _jumps(line: Instruction, labels: Collection[str]) -> bool:
    """Whether it does nothing but jump to one of the labels."""
    return line[0] == "jmp" and len(line) == 2 and line[1] in labels


def _leaves(line: Instruction) -> bool:
    return line[-1] == ":" or line[0][0] == "j" or line[0] in ("call", "ret", "leave")


def _read(line: Instruction) -> list[tuple[str, str]]:
    """The registers that an instruction reads, and how wide.

    `lea edx, 3[rax]` adds 3 to the lower half alone.
    """
    target_is_read = line[2:3] == ["PTR"] or not _MOVES.fullmatch(line[0])
    words = _WORD.findall(" ".join(line[1 if target_is_read else 2 :]))
    read = [_REGISTERS[word] for word in words if word in _REGISTERS]
    if line[0] == "lea" and read and not _WHOLE.fullmatch(line[1]):
        return [(register, "int") for register, _ in read]
    return read
