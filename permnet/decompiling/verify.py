"""Verification: C is right when, compiled again, it gives the very assembly it was read from.

What a model wrote is untrusted. Only the few tokens of the task's own language, in the shape of one
function, get to the compiler; it only compiles, with limits and in a fresh folder
(tasks/switch/compiler.py), and nothing that it makes is ever run.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import chain, pairwise

from permnet.decompiling.source import functions
from permnet.errors import PermnetError
from permnet.tasks.switch.assembly import Lines
from permnet.tasks.switch.canonical import PRELUDE
from permnet.tasks.switch.compiler import BATCH, FLAGS, Stage, assemble, find_compiler
from permnet.tasks.switch.ctokens import layout, lex

_WORDS = frozenset(
    "int long char void switch case default break return if else ( ) { } [ ] , ; : "
    "= += -= *= &= |= ^= <<= >>= + - * & | ^ << >> == != > <=".split()
)
_NUMBER = re.compile(r"-?[0-9]{1,10}")
_VARIABLE = re.compile(r"[pv][0-9]|a0")
_PROTOTYPE = re.compile(
    r"(?:void|char|int|long)(?: \*)? ([A-Za-z_]\w*) \( "
    r"(?:void|(?:char|int|long)(?: \*)?(?: , (?:char|int|long)(?: \*)?)*) \) ;",
    re.ASCII,
)

C = Sequence[str]
"""A function `f` as tokens."""


@dataclass(frozen=True)
class Compiler:
    """What verification compiles with; the prelude declares the functions that may be called."""

    cc: str = "gcc"
    flags: tuple[str, ...] = FLAGS
    prelude: str = PRELUDE

    @property
    def optimizes(self) -> bool:
        """Functions compiled together may then change each other."""
        levels = [flag for flag in self.flags if flag.startswith("-O")]
        return bool(levels) and levels[-1] != "-O0"


def prototypes(text: str) -> dict[str, str]:
    """Each function that a text of prototypes declares, and its declaration.

    >>> prototypes("int g0(int); void put(char, long *);")
    {'g0': 'int g0 ( int ) ;', 'put': 'void put ( char , long * ) ;'}
    """
    given = " ".join(lex(text))
    found = {match[1]: match[0] for match in _PROTOTYPE.finditer(given)}
    if " ".join(found.values()) != given:
        raise PermnetError(
            f"prototypes are such as 'int get(int, long *); void put(char);', not {text!r}"
        )
    return found


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
    texts = list(dict.fromkeys(layout(answers[i][0]) for i in fit))
    size = 1 if compiler.optimizes else BATCH
    batches = (texts[first : first + size] for first in range(0, len(texts), size))
    made = chain.from_iterable(
        assemble(
            batch, compiler.prelude, compiler.cc, compiler.flags, stage, _READERS[stage]
        )
        for batch in batches
    )
    compiled = dict(zip(texts, made, strict=True))
    verdicts = [False] * len(answers)
    for i in fit:
        c, wanted = answers[i]
        lines = compiled[layout(c)]
        verdicts[i] = lines is not None and same(chain.from_iterable(lines), wanted)
    return verdicts


def acceptable(c: C, callable: Iterable[str]) -> bool:
    """Whether tokens are of the task's language and, by braces and semicolons, one function `f`."""
    names = {*callable}
    if len(c) < 2 or c[1] != "f" or c[-1] != "}" or "{" not in c:
        return False
    for token in (*c[:1], *c[2:]):
        if not (token in _WORDS or token in names or _VARIABLE.fullmatch(token)):
            if not _NUMBER.fullmatch(token):
                return False
    depth = 0
    for at, token in enumerate(c):
        depth += (token == "{") - (token == "}")
        if depth < 0 or (depth == 0 and token in (";", "}") and at < len(c) - 1):
            return False
    return depth == 0


def same(one: Iterable[str], other: Iterable[str]) -> bool:
    """Whether two functions differ in nothing but the names of their local labels."""
    return _plain(one) == _plain(other)


def _plain(tokens: Iterable[str]) -> list[str]:
    tokens = list(tokens)
    own = {label for label, colon in pairwise(tokens) if colon == ":"}
    names: dict[str, str] = {}
    return [
        names.setdefault(token, f":{len(names)}") if token in own else token for token in tokens
    ]


def _assembly(made: bytes) -> dict[str, Lines]:
    return {function.name: function.tokens for function in functions(made.decode())}


_READERS: dict[Stage, Callable[[bytes], dict[str, Lines]]] = {"-S": _assembly}
