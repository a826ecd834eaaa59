"""Assembly text as statements, as GNU `as` cuts it up: without comments, strings as they are.

Files are not trusted: what it would read as something else than it looks like is refused, such as
code in a string over several lines, behind a marker of lines, after a letter that seems a space.
"""

import re
from collections.abc import Iterator

from permnet.errors import PermnetError

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
_HALF = re.compile("[\ud800-\udfff]")  # of two, as JSON spells some; UTF-8 has none
LABEL = re.compile(r'[ \t]*+("?)([\w.$]++)\1[ \t]*+:')


def statements(text: str, file: str) -> Iterator[tuple[int, str]]:
    """Labels, with their colon, directives and instructions, without comments."""
    text = text.replace("\r\n", "\n")
    if "\r" in text:
        raise PermnetError(
            f"{file}: line {_line_at(text, text.index(chr(13)))} has a carriage return in it: "
            "lines end in a line feed"
        )
    if half := _HALF.search(text):
        raise PermnetError(
            f"{file}: line {_line_at(text, half.start())} has {half[0]!r} in it, half a character"
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
            while label := LABEL.match(statement, at):
                yield number, label[2] + ":"
                at = label.end()
            if rest := statement[at:].strip():
                yield number, rest


def _line_at(text: str, at: int) -> int:
    return text.count("\n", 0, at) + 1
