"""Verification: C is right when, compiled again, it gives the very assembly it was read from.

What a model wrote is untrusted. Only the few tokens of the task's own language, in the shape of one
function, get to the compiler; it only compiles, with limits and in a fresh folder
(tasks/switch/compiler.py), and nothing that it makes is ever run.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from itertools import chain, pairwise

from permnet.decompiling.source import disassembled
from permnet.decompiling.text import Function, functions
from permnet.decompiling.toolchain import Compiler, definitions, prototypes
from permnet.errors import PermnetError
from permnet.tasks.switch.compiler import BATCH, Stage, compile_each, find_compiler
from permnet.tasks.switch.ctokens import layout

_TOKEN = re.compile(
    r"int|long|char|short|unsigned|void|switch|case|default|break|return|if|else|[apv][0-9]"
    r"|-?[0-9]{1,10}|[(){}\[\],;:~?]|[-+*/%&|^=!<>]=|(?:<<|>>)=?|[-+*/%&|^=<>]|&&|\|\|"
)
_OTHER_SPELLINGS = (("%", ":"), ("<", ":"))  # side by side these are `#` and `[`
C = Sequence[str]
"""A function `f` as tokens."""


def verify(
    answers: Sequence[tuple[C, Sequence[str]]],
    compiler: Compiler | None = None,
    stage: Stage = "-S",
) -> list[bool]:
    """Whether each C, compiled again, gives the assembly beside it; both as tokens.

    With `-c` the assembly is that of a disassembled object, and the C is compiled to an object and
    disassembled as well.
    """
    made = recompiled([c for c, _ in answers], compiler or Compiler(), stage)
    return [
        ours is not None and reads_as(ours, wanted)
        for ours, (_, wanted) in zip(made, answers, strict=True)
    ]


def recompiled(
    answers: Sequence[C], compiler: Compiler, stage: Stage, *, below: bool = False
) -> list[Function | None]:
    """What the compiler makes of each C; None of what it refuses, or is never shown.

    `below`: in a file in which what it calls stands above it, and calls nothing in turn.
    """
    find_compiler(compiler.cc)
    prelude = definitions(compiler.prelude) if below else compiler.prelude
    known = prototypes(compiler.prelude).keys()
    shown = [layout(c) if acceptable(c, known) else None for c in answers]
    texts = [text for text in dict.fromkeys(shown) if text is not None]
    size = 1 if compiler.optimizes else BATCH
    batches = (texts[first : first + size] for first in range(0, len(texts), size))
    read = _READERS[stage]
    each = chain.from_iterable(
        compile_each(batch, read, prelude, compiler.cc, compiler.flags, stage) for batch in batches
    )
    made = dict(zip(texts, each, strict=True))
    return [None if text is None else made[text] for text in shown]


def reads_as(made: Function, wanted: Iterable[str]) -> bool:
    """Whether it is this assembly. Names of labels do not matter, everything else does."""
    with suppress(PermnetError):  # instructions that no function of the task has
        return same(made.assembly, wanted)
    return False


def acceptable(c: C, callable: Iterable[str]) -> bool:
    """Whether tokens are of the task's language and, by braces and semicolons, one function `f`."""
    names, at = {*callable}, name_at(c)
    if at is None or c[-1] != "}":
        return False
    if not all(token in names or _TOKEN.fullmatch(token) for token in (*c[:at], *c[at + 1 :])):
        return False
    if any(pair in _OTHER_SPELLINGS for pair in pairwise(c)):
        return False
    depth = 0
    for at, token in enumerate(c):
        depth += (token == "{") - (token == "}")
        if depth < 0 or (depth == 0 and token in (";", "}") and at < len(c) - 1):
            return False
    return depth == 0


def name_at(c: C) -> int | None:
    """Where the function's name stands, behind a type of one word or two."""
    return next((at for at in (1, 2) if [*c[at : at + 1]] == ["f"]), None)


def same(one: Iterable[str], other: Iterable[str]) -> bool:
    """Whether two functions differ in nothing but the names of their local labels.

    `@PLT` says where a called function is defined, which is nothing of the caller's.
    """
    first, second = (
        renumbered(token.removesuffix("@PLT") for token in tokens) for tokens in (one, other)
    )
    return first == second


def renumbered(tokens: Iterable[str], prefix: str = ":") -> list[str]:
    """The tokens with the labels that they define named by number, in order of appearance."""
    tokens = list(tokens)
    own = {label for label, colon in pairwise(tokens) if colon == ":"}
    names: dict[str, str] = {}
    return [
        names.setdefault(token, f"{prefix}{len(names) + 1}") if token in own else token
        for token in tokens
    ]


def _by_name(found: Iterable[Function]) -> dict[str, Function]:
    return {function.name: function for function in found}


_READERS: dict[Stage, Callable[[bytes], dict[str, Function]]] = {
    "-S": lambda made: _by_name(functions(made.decode(errors="replace"))),
    "-c": lambda made: _by_name(disassembled(made)),
}
