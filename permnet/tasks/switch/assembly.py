"""gcc's Intel-syntax assembly as tokens: functions cut out, directives dropped, labels renamed.

  cmp  QWORD PTR -8[rbp], 87        cmp QWORD PTR -8 [ rbp ] 87
  je   .L2                          je .L2
.L3:                                .L3 :
"""

import re
from collections.abc import Callable, Iterable

from permnet.errors import PermnetError
from permnet.tasks.switch.draw import Draw

LABEL_NAMES = 100  # shuffled labels are .L1 … .L100

_FUNCTION = re.compile(r"([A-Za-z_][\w.$]*):")
_LABEL = re.compile(r"\.L\d+")
_PUNCTUATION = re.compile(r"([\[\]])")

Lines = list[list[str]]


def functions(text: str) -> dict[str, Lines]:
    """The tokens of each function's lines, by its name."""
    found: dict[str, Lines] = {}
    lines: Lines | None = None
    for line in text.splitlines():
        start = _FUNCTION.match(line)
        if start:
            lines = found.setdefault(start[1], [])
        elif line.startswith("\t.size"):
            lines = None
        elif lines is not None and (tokens := lex_line(line)):
            lines.append(tokens)
    return found


def lex_line(line: str) -> list[str]:
    """The tokens of a line; none for a directive.

    >>> lex_line("cmp QWORD PTR -8[rbp], 87")
    ['cmp', 'QWORD', 'PTR', '-8', '[', 'rbp', ']', '87']
    """
    line = line.strip()
    if line.endswith(":"):
        return [line[:-1], ":"]
    if line.startswith("."):
        return []
    return _PUNCTUATION.sub(r" \1 ", line.replace(",", " ")).split()


def is_label(token: str) -> bool:
    return _LABEL.fullmatch(token) is not None


def labels(tokens: Iterable[str]) -> list[str]:
    """The `.L` labels in order of appearance."""
    return list(dict.fromkeys(filter(is_label, tokens)))


def renumbered(tokens: Iterable[str]) -> list[str]:
    """Labels named `.L1`, `.L2`, … by appearance: equal for functions that differ in names only.

    >>> renumbered("je .L9 jmp .L4 .L9 :".split())
    ['je', '.L1', 'jmp', '.L2', '.L1', ':']
    """
    return _renamed(tokens, lambda found: [f".L{i + 1}" for i in range(len(found))])


def alone(tokens: Iterable[str], bare_return: bool) -> list[str]:
    """Labels numbered as if the function were alone in its file.

    There gcc keeps `.L1` for the end of the function, where a `return` without a value jumps.
    """
    first = 1 if bare_return else 2

    def names(found: list[str]) -> list[str]:
        numbers = [int(label[2:]) for label in found]
        return [f".L{number - min(numbers) + first}" for number in numbers]

    return _renamed(tokens, names)


def shuffled(tokens: Iterable[str], draw: Draw) -> list[str]:
    """Labels renamed at random, out of `LABEL_NAMES` names."""

    def names(found: list[str]) -> list[str]:
        if len(found) > LABEL_NAMES:
            raise PermnetError(f"a function has at most {LABEL_NAMES} labels, not {len(found)}")
        return [f".L{i}" for i in draw.distinct(range(1, LABEL_NAMES + 1), len(found))]

    return _renamed(tokens, names)


def _renamed(tokens: Iterable[str], names: Callable[[list[str]], list[str]]) -> list[str]:
    tokens = list(tokens)
    found = labels(tokens)
    new = dict(zip(found, names(found), strict=True))
    return [new.get(token, token) for token in tokens]
