"""The compiler that answers are verified with, and what it is told beforehand."""

import re
from dataclasses import dataclass

from permnet.errors import PermnetError
from permnet.tasks.switch.compiler import FLAGS, compile_c
from permnet.tasks.switch.ctokens import PRELUDE, lex

_PROTOTYPE = re.compile(
    r"(?:void|char|int|long)(?: \*)? ([A-Za-z_]\w*) \( "
    r"(?:void|(?:char|int|long)(?: \*)?(?: , (?:char|int|long)(?: \*)?)*) \) ;",
    re.ASCII,
)


@dataclass(frozen=True)
class Compiler:
    """Its name, its flags and the prelude, which declares the functions that may be called."""

    cc: str = "gcc"
    flags: tuple[str, ...] = FLAGS
    prelude: str = PRELUDE

    @property
    def optimizes(self) -> bool:
        """Functions compiled together may then change each other."""
        levels = [flag for flag in self.flags if flag.startswith("-O")]
        return bool(levels) and levels[-1] != "-O0"

    def assembly(self, source: str) -> str:
        """What it makes of preprocessed C."""
        return compile_c(source, self.cc, self.flags).decode(errors="replace")


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


def prelude_with(text: str) -> str:
    """The prelude of the task with a user's prototypes, which take precedence."""
    return " ".join({**prototypes(PRELUDE), **prototypes(text)}.values())
