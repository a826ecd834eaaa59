"""Where a wrong answer is wrong, told by the compiler: so that the search knows where to go on.

At -O0 gcc translates one statement after another. So where the assembly of an answer first differs
from what it should be, there, or in what was declared before, the C differs, too; what stands
behind it need not be looked at yet. Of which line of C an instruction is, gcc says with `-g`.
"""

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from itertools import chain, pairwise

from permnet.decompiling.answer import token_lines
from permnet.decompiling.machine import knows_callees
from permnet.decompiling.search import Hint
from permnet.decompiling.text import Function
from permnet.decompiling.toolchain import Compiler
from permnet.decompiling.verify import C, recompiled, renumbered
from permnet.errors import PermnetError
from permnet.tasks.switch.ctokens import TYPES
from permnet.tasks.switch.terse import in_full

_LINE = re.compile(r"\s*\.loc\s+\d+\s+(\d+)\s")
Difference = tuple[float, set[int]]
"""The share of the assembly that is right, and the lines of C, from 0, that what follows is of."""

_VARIABLE = re.compile("[apv][0-9]")


def hints(answers: Sequence[tuple[list[str], Function]], compiler: Compiler) -> list[Hint | None]:
    """What can be told of answers, as models say them; None where it is nothing."""
    full = [in_full(said) for said, _ in answers]
    wrong = _first_differences([c for c, _ in full], [f for _, f in answers], compiler)
    return [
        None
        if at is None
        else Hint(at[0], frozenset(chain(*(_at_fault(c, places, line) for line in at[1]))))
        for (c, places), at in zip(full, wrong, strict=True)
    ]


def _first_differences(
    programs: Sequence[C], functions: Sequence[Function], compiler: Compiler
) -> list[Difference | None]:
    found: list[Difference | None] = [None] * len(programs)
    if compiler.optimizes:
        return found
    telling = replace(compiler, flags=(*compiler.flags, "-g"))
    ways = [knows_callees(function) for function in functions]
    for below in dict.fromkeys(ways):
        rows = [i for i, way in enumerate(ways) if way == below]
        made = recompiled([programs[i] for i in rows], telling, "-S", below=below)
        for i, ours in zip(rows, made, strict=True):
            if ours is not None:
                found[i] = _first_difference(ours, functions[i])
    return found


def _first_difference(ours: Function, theirs: Function) -> Difference | None:
    try:
        lines = _lines_of_c(ours)
        one, other = _by_line(ours), _by_line(theirs)
    except PermnetError:
        return None
    at = next((i for i, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), -1)
    if at < 0:
        at = min(len(one), len(other)) - 1
    # A label has no line of its own: it may be that what stands before it should go on.
    last = next((i for i in range(at, len(one)) if one[i][-1] != ":"), at)
    return at / max(len(other), 1), {lines[at], lines[last]}


def _by_line(function: Function) -> list[list[str]]:
    """Its tokens, labels numbered in order of appearance, line by line."""
    tokens = iter(renumbered(token.removesuffix("@PLT") for token in function.assembly))
    return [[next(tokens) for _ in line] for line in function.tokens]


def _lines_of_c(function: Function) -> list[int]:
    """The line of the C function, from 0, that each of its lines of assembly is of.

    It begins with the opening brace, which is line 1.
    """
    assert function.source is not None
    texts = function.source.lines
    told: list[int] = []
    at, brace, current = function.span[0] - 1, -1, 1
    for line in function.lines:
        for text in texts[at : line.number]:
            if match := _LINE.match(text):
                brace = int(match[1]) if brace < 0 else brace
                current = int(match[1]) - brace + 1
        at = line.number
        told.append(max(current, 0))
    return told


def _at_fault(c: Sequence[str], places: Sequence[int], line: int) -> Iterator[int]:
    """The tokens, of those that were said, that a line of C comes from, or its place in the whole.

    `places` are theirs in the C.
    """
    spans = token_lines(c)
    line = min(line, len(spans) - 1)
    starts = [c[begin] for begin, _ in spans]
    line_of = [next(i for i, (_, end) in enumerate(spans) if place < end) for place in places]
    body = next((i for i, start in enumerate(starts) if i > 1 and start not in TYPES), len(spans))
    if line < body:  # the frame: what is declared, and whether more is
        wanted = {*range(body)}
    elif starts[line] == "switch":  # all tests: every label, and whether there are more
        wanted = {line, *(i for i, start in enumerate(starts) if start in ("case", "default"))}
    else:  # with the labels above it, which say whether they are fallen into
        wanted = {line}
        while starts[min(wanted) - 1] in ("case", "default"):
            wanted.add(min(wanted) - 1)
    if not wanted & {*line_of}:  # such as a `break`, which is not said: what is said in its place
        wanted |= {next((i for i in line_of if i > line), line_of[-1])}
    for at, (before, this) in enumerate(pairwise([-1, *line_of])):
        # Also the first token behind, where the statement might go on, or another might stand.
        if this in wanted or before in wanted:
            yield at
    yield from _types(c, places, {*c[slice(*spans[line])]}, spans[body - 1][1])


def _types(
    c: Sequence[str], places: Sequence[int], names: Collection[str], end: int
) -> Iterator[int]:
    """The tokens of the types of some variables, which are declared before `end`."""
    wanted: set[int] = set()
    for place, token in enumerate(c[:end]):
        if token in names and _VARIABLE.fullmatch(token) and c[place - 1] in (*TYPES, "*"):
            begin = place - 1
            while c[begin] in (*TYPES, "*"):
                wanted.add(begin)
                begin -= 1
    return (at for at, place in enumerate(places) if place in wanted)
