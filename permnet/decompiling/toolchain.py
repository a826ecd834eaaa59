"""The compiler that answers are verified with, and what it is told beforehand."""

import re
import shlex
from dataclasses import dataclass, replace

from permnet.binary import Binary
from permnet.errors import PermnetError
from permnet.tasks.switch.compiler import FLAGS, compile_c, find_compiler, unused
from permnet.tasks.switch.ctokens import PRELUDE, lex

KEYWORD = re.compile(  # no name that C has for a function
    # Besides C's own words those of GNU C, reserved names, and macros that gcc begins with.
    r"__\w*|_[A-Z]\w*|linux|unix"
    "|asm|auto|break|case|char|const|continue|default|do|double|else|enum|extern|float|for|goto|if"
    "|inline|int|long|register|restrict|return|short|signed|sizeof|static|struct|switch|typedef"
    "|typeof|union|unsigned|void|volatile|while"
)
_TYPE = r"(?:(?:unsigned )?(?:char|short|int|long)|unsigned)(?: \*)?"
_PROTOTYPE = re.compile(
    rf"(?:void(?: \*)?|{_TYPE}) ([A-Za-z_]\w*) \( (?:void|{_TYPE}(?: , {_TYPE})*) \) ;", re.ASCII
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

    def check(self) -> None:
        """Refuse a compiler that is missing, or with these flags makes no object to compare."""
        find_compiler(self.cc)
        name = unused(self.prelude)
        source = f"{self.prelude}\nint {name}(void) {{ return 0; }}"
        try:
            made = Binary(memoryview(compile_c(source, self.cc, self.flags, "-c")))
            # Some flags leave none behind, -flto for one.
            reason = "" if made.labelled(name) else "what it makes is no machine code"
        except PermnetError as error:
            reason = str(error)
        if reason:
            raise PermnetError(
                f"{self.cc} with the flags {shlex.join(self.flags)!r} does not compile even "
                f"`return 0`: {reason}"
            )

    def declaring(self, text: str) -> "Compiler":
        """The same with these prototypes, too, which take precedence."""
        return replace(self, prelude=prelude_with(text, self.prelude))

    def assembly(self, source: str) -> str:
        """What it makes of preprocessed C."""
        return compile_c(source, self.cc, self.flags).decode(errors="replace")


def prototypes(text: str) -> dict[str, str]:
    """Each function that a text of prototypes declares, and its declaration.

    >>> prototypes("int g0(int); void put(char, long *);")
    {'g0': 'int g0 ( int ) ;', 'put': 'void put ( char , long * ) ;'}
    """
    given = " ".join(lex(text))
    matches = list(_PROTOTYPE.finditer(given))
    if " ".join(match[0] for match in matches) != given:
        raise PermnetError(
            f"prototypes are such as 'int get(int, long *); void put(char);', not {text!r}"
        )
    found: dict[str, str] = {}
    for match in matches:
        if (other := found.setdefault(match[1], match[0])) != match[0]:
            raise PermnetError(f"{match[1]} has two prototypes: {other!r} and {match[0]!r}")
    return found


def definitions(text: str) -> str:
    """Functions that are what a text of prototypes declares, and do nothing.

    >>> definitions("void h0(void); int get(int, long *);")
    'void h0 ( void ) { } int get ( int p0 , long * p1 ) { }'
    """
    return " ".join(_definition(declared) for declared in prototypes(text).values())


def _definition(declared: str) -> str:
    _, *types = types_of(declared)
    named = " , ".join(f"{of} p{i}" for i, of in enumerate(types)) or "void"
    return f"{declared.partition(' ( ')[0]} ( {named} ) {{ }}"


def types_of(declared: str) -> list[str]:
    """Those of the result and of the parameters of one of `prototypes`.

    >>> types_of("int get ( long * , int ) ;")
    ['int', 'long *', 'int']
    """
    head, parameters = declared.removesuffix(" ) ;").split(" ( ")
    return [head.rsplit(" ", 1)[0], *(each for each in parameters.split(" , ") if each != "void")]


def prelude_with(text: str, known: str = PRELUDE) -> str:
    """The known prototypes, those of the task, with others, which take precedence."""
    return " ".join({**prototypes(known), **prototypes(text)}.values())
