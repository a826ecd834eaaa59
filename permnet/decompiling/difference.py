"""Where what an answer compiles to differs from the assembly that it should be."""

import re
from collections.abc import Iterator, Mapping
from difflib import SequenceMatcher

from permnet.decompiling.machine import remade
from permnet.decompiling.pipeline import Decompiled
from permnet.decompiling.text import Function, Line
from permnet.decompiling.toolchain import Compiler
from permnet.errors import PermnetError
from permnet.tasks.switch.ctokens import lex

_LABEL = re.compile(r"(?<![\w.$@])\.[\w.$]+")


def difference(function: Function, answer: Decompiled, compiler: Compiler) -> list[str]:
    """Lines of the function that the answer's assembly has not, `-`, and the reverse, `+`.

    Each with its number in the file, or that of the line before it. Lines are aligned by all but
    the names of their labels. A label of the answer's is given the name of the one that it is
    aligned with, if there is one, else has a stroke behind its own.
    """
    try:
        tokens = lex(answer.c or "")
        behind = tokens.index("(") if "(" in tokens else 2
        (made,) = remade([([*tokens[: behind - 1], "f", *tokens[behind:]], function)], compiler)
        if made is None:
            return ["it is no C to the compiler"]
        found = list(_differing(function.lines, made.lines))
    except PermnetError as error:
        return [f"it cannot be compared: {error}"]
    return found or ["it reads alike, but the machine code differs"]


def _differing(wanted: list[Line], made: list[Line]) -> Iterator[str]:
    theirs, ours = ([_tokens(line) for line in lines] for lines in (wanted, made))
    masked = [_without_labels(lines) for lines in (theirs, ours)]
    blocks = SequenceMatcher(None, masked[0], masked[1], autojunk=False).get_matching_blocks()
    alike = [(block.a + k, block.b + k) for block in blocks for k in range(block.size)]
    names = {ours[j][0]: theirs[i][0] for i, j in alike if ours[j][-1] == ":"}
    named = [[_named(token, names) for token in tokens] for tokens in ours]
    same = [(i, j) for i, j in alike if theirs[i] == named[j]]
    at, made_at, number = 0, 0, wanted[0].number
    for i, j in [*same, (len(wanted), len(made))]:
        for line in wanted[at:i]:
            number = line.number
            yield f"- {number}: {line.text}"
        for line in made[made_at:j]:
            renamed = _LABEL.sub(lambda match: _named(match[0], names), line.text)
            yield f"+ {number}: {renamed}"
        if i < len(wanted):
            number = wanted[i].number
        at, made_at = i + 1, j + 1


def _named(token: str, names: Mapping[str, str]) -> str:
    return names.get(token, f"{token}'") if token[0] == "." else token


def _tokens(line: Line) -> list[str]:
    return [token.removesuffix("@PLT") for token in line.tokens]


def _without_labels(lines: list[list[str]]) -> list[tuple[str, ...]]:
    return [tuple("." if token[0] == "." else token for token in tokens) for tokens in lines]
