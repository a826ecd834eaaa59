"""Verification: C is right when, compiled again, it gives the very assembly it was read from.

What a model wrote is untrusted. Only the few tokens of the task's own language, in the shape of one
function, get to the compiler; it only compiles, with limits and in a fresh folder
(tasks/switch/compiler.py), and nothing that it makes is ever run.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from itertools import chain, pairwise
from typing import TypeVar

from permnet.decompiling.source import disassembled
from permnet.decompiling.text import Function, functions
from permnet.decompiling.toolchain import Compiler, prototypes
from permnet.errors import PermnetError
from permnet.tasks.switch.assembly import Lines
from permnet.tasks.switch.compiler import BATCH, Stage, compile_each, find_compiler
from permnet.tasks.switch.ctokens import layout

_TOKEN = re.compile(
    r"int|long|char|void|switch|case|default|break|return|if|else|[pv][0-9]|a0|-?[0-9]{1,10}"
    r"|[(){}\[\],;:>]|[-+*&|^]=?|(?:<<|>>)=?|=|==|!=|<="
)
T = TypeVar("T")
C = Sequence[str]
"""A function `f` as tokens."""


def verify(
    answers: Sequence[tuple[C, Sequence[str]]],
    compiler: Compiler | None = None,
    stage: Stage = "-S",
) -> list[bool]:
    """Whether each C, compiled again, gives the assembly beside it; both as tokens.

    Names of labels do not matter, everything else does. With `-c` the assembly is that of a
    disassembled object, and the C is compiled to an object and disassembled as well.
    """
    compiler = compiler or Compiler()
    find_compiler(compiler.cc)
    known = prototypes(compiler.prelude).keys()
    fit = [i for i, (c, _) in enumerate(answers) if acceptable(c, known)]
    compiled = compile_all((answers[i][0] for i in fit), _READERS[stage], compiler, stage)
    verdicts = [False] * len(answers)
    for i in fit:
        c, wanted = answers[i]
        lines = compiled[layout(c)]
        verdicts[i] = lines is not None and same(chain.from_iterable(lines), wanted)
    return verdicts


def compile_all(
    answers: Iterable[C], read: Callable[[bytes], Mapping[str, T]], compiler: Compiler, stage: Stage
) -> dict[str, T | None]:
    """What `read` finds of each C in what the compiler makes, by the text of the C."""
    texts = list(dict.fromkeys(map(layout, answers)))
    size = 1 if compiler.optimizes else BATCH
    batches = (texts[first : first + size] for first in range(0, len(texts), size))
    made = chain.from_iterable(
        compile_each(batch, read, compiler.prelude, compiler.cc, compiler.flags, stage)
        for batch in batches
    )
    return dict(zip(texts, made, strict=True))


def acceptable(c: C, callable: Iterable[str]) -> bool:
    """Whether tokens are of the task's language and, by braces and semicolons, one function `f`."""
    names = {*callable}
    if len(c) < 2 or c[1] != "f" or c[-1] != "}":
        return False
    if not all(token in names or _TOKEN.fullmatch(token) for token in (c[0], *c[2:])):
        return False
    depth = 0
    for at, token in enumerate(c):
        depth += (token == "{") - (token == "}")
        if depth < 0 or (depth == 0 and token in (";", "}") and at < len(c) - 1):
            return False
    return depth == 0


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


def _tokens(found: Iterable[Function]) -> dict[str, Lines]:
    tokens = {}
    for function in found:
        with suppress(PermnetError):  # instructions that no function of the task has
            tokens[function.name] = function.tokens
    return tokens


_READERS: dict[Stage, Callable[[bytes], dict[str, Lines]]] = {
    "-S": lambda made: _tokens(functions(made.decode(errors="replace"))),
    "-c": lambda made: _tokens(disassembled(made)),
}
