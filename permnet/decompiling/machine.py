"""Machine code as the judge of what was read: whether it is that of the answer, byte by byte.

The reader of assembly knows what compilers write, an assembler all that can be written; and of
machine code a disassembler may not show all. So where an answer compiles to what was read, its
object is compared with the function's own code. Of text it is what the assembler makes of it, and
of the answer's assembly, too: compilers that write objects themselves choose other jumps. Code that
holds other code than it shows is not verified.
"""

import re
from collections.abc import Sequence

from permnet.binary import Binary
from permnet.binary import Function as MachineCode
from permnet.decompiling.syntax import is_att
from permnet.decompiling.text import Function, Source
from permnet.decompiling.toolchain import Compiler
from permnet.decompiling.verify import C, reads_as, recompiled
from permnet.errors import PermnetError
from permnet.tasks.switch.compiler import object_of

_DISTANCE = 4  # bytes of a call's, which is counted from behind it
_FRAME = re.compile(r"sub rsp ([0-9]{1,10})")
# What assemblers align the next function with.
_PADDING = re.compile(
    rb"(?:\xcc|\x66*\x90|\x66*\x2e?\x66*\x0f\x1f"
    rb"(?:\x00|\x40\x00|\x44\x00\x00|\x80\x00{4}|\x84\x00{5}))*"
)


def verified(answers: Sequence[tuple[C, Function]], compiler: Compiler) -> list[bool]:
    """Whether each C gives its function, when compiled again: as it was read, and byte by byte."""
    return [
        ours is not None and reads_as(ours, theirs.assembly) and confirmed(ours, theirs, compiler)
        for ours, (_, theirs) in zip(remade(answers, compiler), answers, strict=True)
    ]


def remade(answers: Sequence[tuple[C, Function]], compiler: Compiler) -> list[Function | None]:
    """What the compiler makes of each C: text for a function of text, else an object's."""
    made: list[Function | None] = [None] * len(answers)
    ways = [(f.stage, not compiler.optimizes and knows_callees(f)) for _, f in answers]
    for way in dict.fromkeys(ways):
        rows = [i for i, other in enumerate(ways) if other == way]
        stage, below = way
        found = recompiled([answers[i][0] for i in rows], compiler, stage, below=below)
        for i, ours in zip(rows, found, strict=True):
            made[i] = ours
    return made


def knows_callees(function: Function) -> bool:
    """Whether it calls from a stack at no multiple of 16.

    That is gcc's way where it has compiled what is called before, and found that it needs no more.
    """
    depth, calls = 8, False  # the address to return to
    for line in function.tokens:
        calls |= line[0] == "call"
        if line[0] == "push":
            depth += 8
        elif frame := _FRAME.fullmatch(" ".join(line)):
            depth += int(frame[1])
    return calls and depth % 16 != 0


def confirmed(ours: Function, theirs: Function, compiler: Compiler) -> bool:
    """Whether both are the same machine code, that of text being what the assembler makes of it."""
    one, other = (each.code or _assembled(each, compiler.cc) for each in (ours, theirs))
    return bool(one and other and same_code(one, other))


def same_code(ours: MachineCode, theirs: MachineCode) -> bool:
    """Whether a function that a compiler made is that of another object.

    Byte by byte, but for distances to names, which have to be to the same name; a function's own
    may differ.
    """
    one, other, size = ours.binary, theirs.binary, ours.size
    if not _PADDING.fullmatch(theirs.code[size:]):
        return False
    ours_open = {at - ours.address for at in one.filled_in(ours.address, ours.end)}
    theirs_open = {at - theirs.address for at in other.filled_in(theirs.address, theirs.end)}
    if not theirs_open <= ours_open or one.invented(ours.address, ours.end):
        return False
    here, there = bytearray(ours.code), bytearray(theirs.code[:size])
    for at in ours_open:
        wanted, found = _leads_to(ours, at), _leads_to(theirs, at)
        if not wanted or found != (theirs.name if wanted == ours.name else wanted):
            return False
        here[at : at + _DISTANCE] = there[at : at + _DISTANCE] = bytes(_DISTANCE)
    return here == there


def _leads_to(function: MachineCode, at: int) -> str | None:
    """The name of what the distance at an offset of a function leads to."""
    behind = at + _DISTANCE
    distance = int.from_bytes(function.code[at:behind], "little", signed=True)
    address = function.address + at
    binary, target = function.binary, address + _DISTANCE + distance
    named = binary.named_at(address)
    return named or (binary.name(target) if binary.is_object else binary.called(target))


def _assembled(function: Function, cc: str) -> MachineCode | None:
    file = _own_object(function, function.source, cc) if function.source else None
    return file.labelled(function.name) if file else None


def _own_object(function: Function, source: Source, cc: str) -> Binary | None:
    """That of the function's file, or where it has none of the function's lines alone."""
    syntax = "" if any(is_att(line.text) for line in function.lines) else ".intel_syntax noprefix"
    if (syntax, cc) not in source.objects:
        source.objects[syntax, cc] = _object([syntax, source.text], cc)
    if (whole := source.objects[syntax, cc]) is not None:
        return whole
    first, last = function.span
    return _object([syntax, ".text", *source.lines[first - 1 : last]], cc)


def _object(lines: Sequence[str], cc: str) -> Binary | None:
    try:
        return Binary(memoryview(object_of("\n".join([*lines, ""]), cc)))
    except PermnetError:  # the assembler takes it for none
        return None
