"""Functions out of what a user has: assembly in text, C (compiled first), objects and programs."""

import re
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property, partial
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from permnet.decompiling.syntax import is_att, reads_alike, tokens
from permnet.decompiling.toolchain import Compiler
from permnet.errors import PermnetError
from permnet.tasks.switch.compiler import CompileError, Stage

if TYPE_CHECKING:
    from permnet.binary import Function as MachineCode

LARGEST = 64 << 20  # bytes of a file
LONGEST = 2_048  # lines of a function that are looked at
LONGEST_INSTRUCTION = 15  # bytes

_OPEN_STRING = r'"(?:\\[^\n]|[^"\\\n])*+'
_STRING = _OPEN_STRING + '"'
# To GNU as `/` begins a comment at the beginning of a line only; elsewhere it divides.
_COMMENT = re.compile(
    rf"({_OPEN_STRING}(\"?))|/\*.*?(?:\*/|\Z)|#[^\n]*|^[^\S\n]*/(?!\*)[^\n]*", re.S | re.M
)
# What it reads a name of a file from, and whatever else stands on the line.
_LINE_MARKER = re.compile(r"#\s*\d+\s*\"")
_PLAIN_MARKER = re.compile(r"#\s*\d+\s+\"[^\"\\;]*\"[\s\d]*")
_STATEMENT = re.compile(rf"(?:{_STRING}|[^;])+")
_ODD = re.compile(r"[^\S\t ]|'")  # white space that is none to it, and quotes of characters
_LABEL = re.compile(r'[ \t]*+("?)([\w.$]++)\1[ \t]*+:')
_WORD = re.compile(r"[\w.$]+")
_SYNTAX = re.compile(r"\.(intel|att)_syntax\b")
_OTHER_SYNTAX = re.compile(r"\.intel_syntax(?!\s+noprefix)\b|\.att_syntax\s+noprefix\b")
_SECTION = re.compile(r"\.(?:text|data|bss|rodata|section|pushsection)\b")
_CODE = re.compile(
    r"\.text\b|\.\w*section\s+\"?\.text(?:\.[\w.$]+)?\"?\s*$|\.\w*section[^#]*,\s*\"[a-wyz]*x"
)
# Directives that compilers write. Of others it is not known what they make of the text.
_KNOWN = re.compile(
    r"\.(?:cfi_\w+|text|data|bss|rodata|section|pushsection|popsection|previous|subsection|size|type"
    r"|file|ident|loc|intel_syntax|att_syntax|version|addrsig|addrsig_sym|gnu_attribute"
    r"|globl|global|local|weak|hidden|protected|internal|comm|lcomm|largecomm"
    r"|set|equ|equiv|weakref|symver|align|balign|p2align|zero|skip|space|fill|org|nops"
    r"|byte|value|word|short|hword|half|long|int|quad|octa|float|single|double|base64"
    r"|[248]byte|uleb128|sleb128|string|ascii|asciz)(?![\w.$])"
)
_NAMING = re.compile(
    r"\.(?:set|equ|equiv|weakref|symver|type|globl|global|weak|local|hidden|protected|internal|comm"
    r"|lcomm|largecomm)\b"
)
_RENAMING = re.compile(r"\.(?:set|equ|equiv|weakref|symver)\b")
_NAMED = re.compile(r"\.\w+[ \t]+(\"?)([\w.$]+)\1[ \t]*(?:,(.*))?")
_PLAIN_TYPE = re.compile(r"[ \t]*[@%](?:function|object|notype|tls_object)")
_EQUATION = re.compile(r"\"?([\w.$]+)\"?\s*=")
# Directives that put nothing into a function, or nops.
_SILENT = re.compile(
    r"\.(?:(?:cfi_\w+|loc|file|ident|globl|global|local|weak|hidden|type|intel_syntax|att_syntax)\b.*"
    r"|(?:p2align|align|balign)\s+\d+(?:\s*,\s*(?:0x90)?(?:\s*,\s*\d+)?)?)"
)


@dataclass(frozen=True)
class Line:
    """A label or an instruction, and the line of the file that it stands in, from 1."""

    number: int
    text: str
    syntax: str = ""
    """`intel` or `att` where a directive says so."""

    @property
    def is_label(self) -> bool:
        return _LABEL.fullmatch(self.text) is not None

    @cached_property
    def tokens(self) -> list[str]:
        """In gcc's Intel spelling."""
        if self.is_label:
            return [self.text[:-1], ":"]
        found = [] if self.text.startswith(".") else tokens(self.text)
        if not found or found[-1] == ":":
            raise PermnetError(f"`{self.text[:80]}` in line {self.number} is no instruction")
        return found


@dataclass(frozen=True)
class Function:
    """One function's assembly, listed when it is first looked at.

    `stage` says what a compiler has to make to be compared with it: assembly or an object.
    """

    file: str
    name: str
    listing: Callable[[], list[Line]] = field(repr=False)
    stage: Stage = "-S"

    @cached_property
    def lines(self) -> list[Line]:
        """Without labels that nothing jumps to."""
        lines = self.listing()
        if len(lines) > LONGEST:
            raise PermnetError(f"it has {len(lines)} lines: functions of up to {LONGEST} are read")
        _check_syntax([line for line in lines if not line.is_label])
        used = {
            token
            for line in lines
            if not line.is_label
            for token in line.tokens
            if token.startswith(".")
        }
        return [line for line in lines if not line.is_label or line.text[:-1] in used]

    @cached_property
    def tokens(self) -> list[list[str]]:
        """Those of each line."""
        return [line.tokens for line in self.lines]


def _check_syntax(lines: list[Line]) -> None:
    """Refuses a function that the assembler would read in another syntax than is read here."""
    att = next((line for line in lines if is_att(line.text)), None)
    for line in lines:
        if is_att(line.text) or not reads_alike(line.text):
            other = "intel" if is_att(line.text) else "att"
            if line.syntax == other:
                raise PermnetError(
                    f"`{line.text[:80]}` in line {line.number} is not in the syntax that a "
                    f"directive before it sets, .{other}_syntax"
                )
            if att and not is_att(line.text):
                raise PermnetError(
                    f"`{line.text[:80]}` in line {line.number} is in Intel syntax, and "
                    f"`{att.text[:80]}` in line {att.number} in AT&T syntax: use one of them"
                )


def functions(text: str, file: str = "<text>", stage: Stage = "-S") -> list[Function]:
    """The functions of assembly text, in order.

    A function begins at a label that is not local, in a section of code, and ends at its `.size`,
    at the next such label or with the section.
    """
    found: list[tuple[str, list[Line]]] = []
    other_names: dict[str, int] = {}
    lines: list[Line] | None = None
    sections, syntax = _Sections(), ""
    for number, statement in _statements(text, file):
        if label := _LABEL.fullmatch(statement):
            if not (label[2][0] == "." or label[2][0].isdigit()):
                if found and all(line.is_label for line in found[-1][1]):
                    found.pop()
                lines = []
                if sections.code:
                    found.append((label[2], lines))
            elif lines is not None:
                lines.append(Line(number, statement))
            continue
        if other := _given_away(statement, f"{file}: `{statement[:80]}` in line {number}"):
            other_names.setdefault(other, number)
        if not statement.startswith("."):
            if lines is not None:
                lines.append(Line(number, statement, syntax))
        elif sections.switch(statement) or statement.startswith(".size"):
            lines = None
        elif _OTHER_SYNTAX.match(statement):
            raise PermnetError(
                f"{file}: `{statement[:80]}` in line {number}: in Intel syntax registers are "
                "read without %, .intel_syntax noprefix, in AT&T syntax with it"
            )
        elif now := _SYNTAX.match(statement):
            syntax = now[1].lower()
        elif lines is not None and not _SILENT.fullmatch(statement):
            lines.append(Line(number, statement, syntax))
    return [
        Function(file, name, partial(_listing, name, lines, other_names), stage)
        for name, lines in found
        if not all(line.is_label for line in lines)
    ]


def _given_away(statement: str, shown: str) -> str | None:
    """The name that a statement gives to something else: another function, or a choice at run time.

    Refuses statements in which that cannot be seen, and directives that compilers do not write.
    """
    if not statement.startswith("."):
        equation = _EQUATION.match(statement)
        if statement.startswith('"') and not equation:
            raise PermnetError(f"{shown} is no statement")
        return equation[1] if equation else None
    if equation := _EQUATION.match(statement):
        return equation[1]
    if not _KNOWN.match(statement):
        raise PermnetError(
            f"{shown}: assembly is read as compilers write it, and this may make other code of it"
        )
    if not _NAMING.match(statement):
        return None
    named = _NAMED.fullmatch(statement)
    if not named:
        raise PermnetError(f"{shown}: its name cannot be read")
    name, rest = named[2], named[3] or ""
    if statement.startswith(".type"):
        return None if _PLAIN_TYPE.fullmatch(rest) else name
    if _RENAMING.match(statement):
        return name
    return next((word for word in _WORD.findall(statement)[1:] if word.startswith(".")), None)


def _listing(name: str, lines: list[Line], other_names: dict[str, int]) -> list[Line]:
    """The lines of a function, none of whose names the file gives to something else."""
    if other_names:
        for line in (Line(0, name), *lines):
            for word in _WORD.findall(line.text):
                if word in other_names:
                    raise PermnetError(
                        f"line {other_names[word]} gives the name {word} to something else"
                    )
    return list(lines)


class _Sections:
    """Whether code is being written, as directives go to another section and back."""

    def __init__(self) -> None:
        self.code, self._previous = True, True
        self._left: list[tuple[bool, bool]] = []

    def switch(self, statement: str) -> bool:
        """Whether the statement goes to a section."""
        if _SECTION.match(statement):
            if statement.startswith(".push"):
                self._left.append((self.code, self._previous))
            self.code, self._previous = _CODE.match(statement) is not None, self.code
        elif statement.startswith(".popsection") and self._left:
            self.code, self._previous = self._left.pop()
        elif statement.startswith(".previous"):
            self.code, self._previous = self._previous, self.code
        else:
            return False
        return True


def _statements(text: str, file: str) -> Iterator[tuple[int, str]]:
    """Labels, with their colon, directives and instructions, without comments."""
    text = text.replace("\r\n", "\n")
    if "\r" in text:
        raise PermnetError(
            f"{file}: line {_line_at(text, text.index(chr(13)))} has a carriage return in it: "
            "lines end in a line feed"
        )

    def without(comment: re.Match[str]) -> str:
        """A string as it is; of a comment the ends of its lines, so that they can be counted."""
        string, said = comment[1], comment[0]
        if string and not comment[2]:
            raise PermnetError(
                f"{file}: line {_line_at(text, comment.start())} has a string without an end"
            )
        if _LINE_MARKER.match(said) and not _PLAIN_MARKER.fullmatch(said):
            raise PermnetError(
                f"{file}: line {_line_at(text, comment.start())} is a marker of lines with more"
            )
        return string or " " + "\n" * comment[0].count("\n")

    if text.startswith("#NO_APP"):
        raise PermnetError(f"{file} begins with #NO_APP: its comments would be none")
    for number, line in enumerate(_COMMENT.sub(without, text).split("\n"), 1):
        if odd := _ODD.search(re.sub(_STRING, "", line) if '"' in line else line):
            raise PermnetError(f"{file}: line {number} has a {odd[0]!r}, which is not read")
        for statement in _STATEMENT.findall(line):
            at = 0
            while label := _LABEL.match(statement, at):
                yield number, label[2] + ":"
                at = label.end()
            if rest := statement[at:].strip():
                yield number, rest


def _line_at(text: str, at: int) -> int:
    return text.count("\n", 0, at) + 1


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
            Function(file, function.name, partial(_listed, function), "-c")
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
    (listed,) = functions(labelled_assembly(function))
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
