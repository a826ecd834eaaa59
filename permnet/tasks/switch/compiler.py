"""gcc, fed many functions at a time; it only compiles, nothing that it makes is ever run.

Each call works in a fresh folder, within limits of time, memory and output. Sources are handed over
as already preprocessed, so that no `#include` reads a file.
"""

import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import Literal, TypeVar

from permnet import limits
from permnet.errors import PermnetError
from permnet.limits import run_limited
from permnet.tasks.switch.assembly import Lines, functions
from permnet.tasks.switch.ctokens import PRELUDE

FLAGS = ("-O0", "-masm=intel", "-fno-asynchronous-unwind-tables", "-fno-jump-tables")
BATCH = 200  # functions that gcc gets at once: its start is then a small part of the time
Stage = Literal["-S", "-c"]
T = TypeVar("T")


class CompileError(PermnetError):
    """C that the compiler refuses, or cannot finish within the limits."""


@lru_cache
def find_compiler(cc: str = "gcc") -> tuple[str, str]:
    """Where the compiler lies, and the first line of what it says of its version."""
    path = shutil.which(cc)
    if path is None:
        if " " in cc:
            raise PermnetError(f"{cc!r} is not installed: it is one program, flags go elsewhere")
        hint = f": apt install {cc} (gcc 12 made the shipped data)" if cc == "gcc" else ""
        raise PermnetError(f"{cc} is not installed{hint}")
    path = str(Path(path).absolute())  # it is run in another folder
    try:
        run = subprocess.run(
            [path, "--version"],
            stdin=subprocess.DEVNULL,  # what is ours to read
            capture_output=True,
            check=False,
            timeout=limits.SECONDS,
        )
    except OSError as error:
        raise PermnetError(f"{cc} cannot be run: {error.strerror}") from error
    except subprocess.TimeoutExpired as error:
        raise PermnetError(f"{cc} --version takes longer than {error.timeout} seconds") from error
    return path, run.stdout.decode(errors="replace").partition("\n")[0]


def assemble(sources: Sequence[str]) -> list[Lines | None]:
    """The assembly of functions named `f`, in order; None for one that does not compile."""
    return compile_each(sources, lambda made: functions(made.decode()))


def compile_each(
    sources: Sequence[str],
    read: Callable[[bytes], Mapping[str, T]],
    prelude: str = PRELUDE,
    cc: str = "gcc",
    flags: Sequence[str] = FLAGS,
    stage: Stage = "-S",
) -> list[T | None]:
    """What `read` finds of functions named `f`, in order; None for one that does not compile.

    It reads what the compiler made of all of them: assembly, or an object with `-c`.
    """
    stem = unused("\n".join([prelude, *sources]))
    names = [f"{stem}{i}" for i in range(len(sources))]
    named = map(_named, sources, names)
    found: Mapping[str, T] = {}
    with suppress(CompileError):
        found = read(compile_c("\n".join([prelude, *named]), cc, flags, stage))
    if found.keys() >= set(names):  # the prelude may have functions, too
        return [found[name] for name in names]
    if len(sources) == 1:
        return [None]
    half = len(sources) // 2  # some do not compile: find out which
    parts = (part for part in (sources[:half], sources[half:]) if part)
    each = (compile_each(part, read, prelude, cc, flags, stage) for part in parts)
    return [made for part in each for made in part]


def unused(text: str) -> str:
    """What no name in a text of C begins with: functions named so are none that it calls.

    >>> unused("int g0(int);"), unused("int permnet_0(int);")
    ('permnet_', 'permnet__')
    """
    stem = "permnet_"
    while stem in text:
        stem += "_"
    return stem


def _named(source: str, name: str) -> str:
    return re.sub(r"\bf\b", name, source, count=1)


def compile_c(
    source: str, cc: str = "gcc", flags: Sequence[str] = FLAGS, stage: Stage = "-S"
) -> bytes:
    """What the compiler makes of preprocessed C: assembly, or an object with `-c`."""
    return _made("in.i", source, cc, (*flags, "-w", stage))


def object_of(assembly: str, cc: str = "gcc") -> bytes:
    """The object of assembly text; AT&T syntax, unless a directive says otherwise."""
    return _made("in.s", assembly, cc, ("-c",))


def _made(file: str, text: str, cc: str, options: Sequence[str]) -> bytes:
    compiler, _ = find_compiler(cc)
    with tempfile.TemporaryDirectory(prefix="permnet-") as folder:
        given, made, told = (Path(folder, name) for name in (file, "out", "messages"))
        given.write_text(text, "utf-8")
        command = [compiler, *options, "-o", made.name, given.name]
        try:
            with told.open("wb") as messages:
                run_limited(command, Path(folder), messages)
            return made.read_bytes()
        except subprocess.TimeoutExpired as error:
            raise CompileError(f"it takes longer than {error.timeout} seconds") from error
        except (subprocess.CalledProcessError, FileNotFoundError) as error:
            raise CompileError(_first_error(told)) from error


def _first_error(told: Path) -> str:
    with told.open(encoding="utf-8", errors="replace") as file:
        lines = file.read(10_000).splitlines()
    error = next((line for line in lines if "error:" in line), "it does not compile")
    return re.sub(r"^in\.[is]:", "", error)
