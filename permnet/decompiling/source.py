"""Functions out of what a user has: assembly in text, C (compiled first), objects and programs."""

import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from permnet.decompiling.syntax import tokens
from permnet.decompiling.toolchain import Compiler
from permnet.errors import PermnetError
from permnet.tasks.switch.compiler import CompileError, Stage

LARGEST = 64 << 20  # bytes of a file
LONGEST = 2_048  # lines of a function that are looked at

_COMMENT = re.compile(r"/\*.*?\*/|(?:#|//).*")
_LABEL = re.compile(r"\s*([\w.$@]+):")
_CODE = re.compile(r"\.text\b|\.section\s+\.?text|\.section[^#]*,\s*\"[a-wyz]*x")
_DATA = re.compile(r"\.(?:data|bss|rodata|section|pushsection)\b")


@dataclass(frozen=True)
class Line:
    """A label or an instruction, and the line of the file that it stands in, from 1."""

    number: int
    text: str

    @cached_property
    def tokens(self) -> list[str]:
        """In gcc's Intel spelling."""
        if self.text.endswith(":"):
            return [self.text[:-1], ":"]
        return tokens(self.text)


@dataclass(frozen=True)
class Function:
    """One function's assembly; labels that nothing jumps to are left out.

    `stage` says what a compiler has to make to be compared with it: assembly or an object.
    """

    file: str
    name: str
    lines: tuple[Line, ...] = field(repr=False)
    stage: Stage = "-S"

    @cached_property
    def tokens(self) -> list[list[str]]:
        """Those of each line of `kept`."""
        return [line.tokens for line in self.kept]

    @cached_property
    def kept(self) -> list[Line]:
        if len(self.lines) > LONGEST:
            raise PermnetError(
                f"it has {len(self.lines)} lines: functions of up to {LONGEST} are read"
            )
        used = {
            token
            for line in self.lines
            if not line.text.endswith(":")
            for token in line.tokens
            if token.startswith(".")
        }
        return [
            line for line in self.lines if not line.text.endswith(":") or line.text[:-1] in used
        ]


def functions(text: str, file: str = "<text>", stage: Stage = "-S") -> list[Function]:
    """The functions of assembly text, in order.

    A function begins at a label that is not local, in a section of code, and ends at its `.size`,
    at the next such label or with the section.
    """
    found: list[tuple[str, list[Line]]] = []
    lines: list[Line] | None = None
    in_code = True
    for number, statement in _statements(text):
        if statement.endswith(":"):
            if not statement.startswith("."):
                lines = []
                if in_code:
                    found.append((statement[:-1], lines))
            elif lines is not None:
                lines.append(Line(number, statement))
        elif statement.startswith("."):
            if _CODE.match(statement):
                in_code, lines = True, None
            elif _DATA.match(statement):
                in_code, lines = False, None
            elif statement.startswith(".size"):
                lines = None
        elif lines is not None:
            lines.append(Line(number, statement))
    return [
        Function(file, name, tuple(lines), stage)
        for name, lines in found
        if any(not line.text.endswith(":") for line in lines)
    ]


def _statements(text: str) -> Iterator[tuple[int, str]]:
    """Labels, with their colon, directives and instructions, without comments."""
    for number, line in enumerate(re.split(r"\r\n|\r|\n", text), 1):
        rest = line
        while label := _LABEL.match(rest):
            yield number, label[1] + ":"
            rest = rest[label.end() :]
        rest = rest.strip()
        if rest.startswith("."):  # may hold strings with anything in them
            yield number, rest
            continue
        for statement in _COMMENT.sub("", rest).split(";"):
            if statement := statement.strip():
                yield number, statement


def load(path: str) -> bytes:
    """The bytes of a file, or of standard input for `-`."""
    try:
        if path == "-":
            raw = sys.stdin.buffer.read(LARGEST + 1)
        else:
            if not Path(path).is_file():
                raise PermnetError(f"{path} is not a file")
            with open(path, "rb") as file:
                raw = file.read(LARGEST + 1)
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
    text = decoded(raw, shown)
    if Path(path).suffix in (".c", ".i"):
        text = compiled(text, shown, compiler)
    found = functions(text, shown)
    if not found:
        raise PermnetError(f"{shown} holds no function: assembly (gcc -S), C or ELF is expected")
    return found


def compiled(text: str, file: str, compiler: Compiler) -> str:
    """The assembly of a C file, which may use the prelude."""
    if directive := re.search(r"^\s*#\s*[a-z].*", text, re.M):
        raise PermnetError(
            f"{file} is not preprocessed, {directive[0].strip()[:80]!r}: give it what "
            "`gcc -E -P` makes of it"
        )
    try:
        return compiler.assembly(f"{compiler.prelude} {text}")
    except CompileError:  # its own declarations may differ
        try:
            return compiler.assembly(text)
        except CompileError as error:
            raise PermnetError(f"{compiler.cc} does not compile {file}: {error}") from error
