"""Functions out of what a user has: assembly in text, C (compiled first), objects and programs."""

import re
import sys
from dataclasses import replace
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from permnet.decompiling.text import LONGEST, Function, Line, functions
from permnet.decompiling.toolchain import Compiler
from permnet.errors import PermnetError
from permnet.tasks.switch.compiler import CompileError

if TYPE_CHECKING:
    from permnet.binary import Function as MachineCode

LARGEST = 64 << 20  # bytes of a file
LONGEST_INSTRUCTION = 15  # bytes


def load(path: str) -> bytes:
    """The bytes of a file, or of standard input for `-`."""
    try:
        if path == "-":
            raw = sys.stdin.buffer.read(LARGEST + 1)
        else:
            if not Path(path).exists():
                raise PermnetError(f"{path} does not exist")
            if not Path(path).is_file():
                raise PermnetError(f"{path} is no regular file; - reads standard input")
            with open(path, "rb") as file:
                raw = file.read(LARGEST + 1)
    except PermnetError:
        raise
    except (OSError, ValueError) as error:
        raise PermnetError(f"cannot read {path}: {error}") from error
    if len(raw) > LARGEST:
        raise PermnetError(f"{path} is larger than {LARGEST >> 20} MiB: give a part of it")
    return raw


def decoded(raw: bytes, file: str) -> str:
    """A file's text."""
    if not raw.strip():
        raise PermnetError(f"{file} is empty: assembly, C or an ELF file is expected")
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise PermnetError(
            f"{file} is neither text nor ELF: byte {raw[error.start]:#04x} at {error.start}"
        ) from error
    if "\0" in text:
        raise PermnetError(f"{file} is neither text nor ELF: byte 0x00 at {text.index(chr(0))}")
    return text


def read(path: str, compiler: Compiler) -> list[Function]:
    """The functions of a file, which may be assembly, C, an object or a program; `-` is stdin."""
    raw, shown = load(path), "standard input" if path == "-" else path
    if raw.startswith(b"\x7fELF"):
        found = disassembled(raw, shown)
    else:
        text = decoded(raw, shown)
        if Path(path).suffix in (".c", ".i"):
            text = compiled(text, shown, compiler)
        elif Path(path).suffix == ".S":
            raise PermnetError(
                f"{shown} is for the C preprocessor: give what `gcc -E` makes of it, as .s"
            )
        elif _LIKE_C.search(text):
            raise PermnetError(f"{shown} looks like C, and is read as assembly: name it .c")
        found = functions(text, shown)
    if not found:
        raise PermnetError(f"{shown} holds no function: assembly (gcc -S), C or ELF is expected")
    return found


def disassembled(raw: bytes, file: str = "<ELF>") -> list[Function]:
    """The functions of an object or a program."""
    if find_spec("capstone") is None:
        raise PermnetError(f"{file} is machine code, which needs: pip install 'permnet[binary]'")
    from permnet.binary import Binary

    try:
        return [
            Function(file, function.name, partial(_listed, function), code=function)
            for function in Binary(memoryview(raw)).functions()
        ]
    except PermnetError as error:
        raise PermnetError(f"{file}: {error}") from error


def _listed(function: "MachineCode") -> list[Line]:
    from permnet.binary import labelled_assembly

    if function.size > LONGEST * LONGEST_INSTRUCTION:
        raise PermnetError(
            f"it has {function.size} bytes: functions of up to {LONGEST} lines are read"
        )
    # A symbol's name may be none that a label has, such as `f@V1` in a shared library.
    (listed,) = functions(labelled_assembly(replace(function, name="f")))
    return listed.listing()


_C_COMMENT = re.compile(
    r"""/\*.*?(?:\*/|\Z)|//[^\n]*|("(?:\\.|[^"\\\n])*"?|'(?:\\.|[^'\\\n])*'?)""", re.S
)
# Spaces within a line only: a search that goes on from each of many empty lines would take long.
_DIRECTIVE = re.compile(r"^[^\S\n]*(?:#|%:|\?\?=)[^\S\n]*([a-z]+).*|\b(_Pragma)\b.*", re.M)
_SPLICE = re.compile(r"(?:\\|\?\?/)[^\S\n]*\n")
_LIKE_C = re.compile(
    r"^[^\S\n]*(?:(?:static|extern|inline|const|un?signed)\s+)*(?:int|long|char|void|short)[\s*]+\w+\s*\(",
    re.M,
)


def compiled(text: str, file: str, compiler: Compiler) -> str:
    """The assembly of a C file, which may use the prelude."""
    # Strings are kept, for what looks like a comment in them is none.
    plain = _C_COMMENT.sub(r"\1", _SPLICE.sub("", text))
    if directive := _DIRECTIVE.search(plain):
        shown = repr(directive[0].strip()[:80])
        if directive[1] in ("pragma", "ident", None):  # gcc -E leaves them
            raise PermnetError(f"{file}: {shown}: directives are not read, take it out")
        raise PermnetError(
            f"{file} is not preprocessed, {shown}: give it what `gcc -E -P` makes of it"
        )
    try:
        # On a line of its own: markers such as `# 1 "x.c"` have to begin theirs.
        return compiler.assembly(f"{compiler.prelude}\n{text}")
    except CompileError:  # its own declarations may differ
        try:
            return compiler.assembly(text)
        except CompileError as error:
            raise PermnetError(f"{compiler.cc} does not compile {file}: {error}") from error
