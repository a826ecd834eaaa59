"""Functions cut out of assembly text, and their lines.

Text is read as compilers write it. A directive that they do not write may make any code of it, and
makes the file refused; one that gives a name to something else, the functions with that name.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import NamedTuple

from permnet.binary import Binary
from permnet.binary import Function as MachineCode
from permnet.decompiling.statements import LABEL, statements
from permnet.decompiling.syntax import is_att, reads_alike, tokens
from permnet.errors import PermnetError
from permnet.tasks.switch.compiler import Stage

LONGEST = 2_048  # lines of a function that are looked at

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
_RENAMING = re.compile(r"\.(?:set|equ|equiv|weakref|symver)\b")
_SHARING = re.compile(r"\.(?:globl|global|weak|local|hidden|protected|internal|l?comm|largecomm)\b")
_NAMED = re.compile(r"\.\w+[ \t]+(\"?)([\w.$]+)\1[ \t]*(?:,(.*))?")
_PLAIN_TYPE = re.compile(r"[ \t]*[@%](?:function|object|notype|tls_object)")
_EQUATION = re.compile(r"\"?([\w.$]+)\"?\s*=")
# Directives that put nothing into a function, or nops.
_SILENT = re.compile(
    r"\.(?:(?:cfi_\w+|loc|file|ident|globl|global|local|weak|hidden|type)\b.*"
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
        return LABEL.fullmatch(self.text) is not None

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
class Source:
    """A file's whole text, and what assemblers made of it, so that they are asked once."""

    text: str
    objects: dict[tuple[str, str], Binary | None] = field(default_factory=dict)

    @cached_property
    def lines(self) -> list[str]:
        return self.text.split("\n")


@dataclass(frozen=True)
class Function:
    """One function's assembly, listed when it is first looked at.

    Of assembly `source` is the whole file, and `span` the function's first line in it and its last;
    of an object or a program, `code` is the function's.
    """

    file: str
    name: str
    listing: Callable[[], list[Line]] = field(repr=False)
    source: Source | None = field(default=None, repr=False, compare=False)
    span: tuple[int, int] = (0, 0)
    code: MachineCode | None = field(default=None, repr=False, compare=False)

    @property
    def stage(self) -> Stage:
        """What a compiler has to make to be compared with it: assembly or an object."""
        return "-c" if self.code else "-S"

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

    @property
    def assembly(self) -> list[str]:
        """All tokens: what an answer has to compile to."""
        return [token for line in self.tokens for token in line]


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


def functions(text: str, file: str = "<text>") -> list[Function]:
    """The functions of assembly text, in order.

    A function begins at a label that is not local, in a section of code, and ends at its `.size`,
    at the next such label or with the section.
    """
    found: list[_Found] = []
    other_names: dict[str, int] = {}
    lines: list[Line] | None = None
    source = Source(text.replace("\r\n", "\n"))
    sections, syntax = _Sections(), ""
    for number, statement in statements(text, file):
        if label := LABEL.fullmatch(statement):
            if not (label[2][0] == "." or label[2][0].isdigit()):
                if found and found[-1].is_empty:
                    found.pop()
                lines = []
                if sections.code:
                    found.append(_Found(label[2], number, lines))
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
            syntax = now[1]
        elif lines is not None and not _SILENT.fullmatch(statement):
            lines.append(Line(number, statement, syntax))
    return [
        Function(
            file,
            one.name,
            partial(_listing, one.name, one.lines, other_names),
            source=source,
            span=(one.first, one.lines[-1].number),
        )
        for one in found
        if not one.is_empty
    ]


class _Found(NamedTuple):
    """A function's name, the line of its label, and its lines as they come."""

    name: str
    first: int
    lines: list[Line]

    @property
    def is_empty(self) -> bool:
        return all(line.is_label for line in self.lines)


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
    is_type, renames = statement.startswith(".type"), _RENAMING.match(statement)
    if not (is_type or renames or _SHARING.match(statement)):
        return None
    named = _NAMED.fullmatch(statement)
    if not named:
        raise PermnetError(f"{shown}: its name cannot be read")
    name, rest = named[2], named[3] or ""
    if is_type:
        return None if _PLAIN_TYPE.fullmatch(rest) else name
    if renames:
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
