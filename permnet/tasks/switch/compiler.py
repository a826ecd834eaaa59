"""gcc, fed many functions at a time; it only compiles, nothing that it makes is ever run.

Each call works in a fresh folder, within limits of time, memory and output. Sources are handed over
as already preprocessed, so that no `#include` reads a file.
"""

import re
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

from permnet.errors import PermnetError
from permnet.limits import run_limited
from permnet.tasks.switch.assembly import Lines, functions
from permnet.tasks.switch.canonical import PRELUDE

FLAGS = ("-O0", "-masm=intel", "-fno-asynchronous-unwind-tables", "-fno-jump-tables")
BATCH = 200  # functions that gcc gets at once: its start is then a small part of the time


@lru_cache
def find_compiler(cc: str = "gcc") -> tuple[str, str]:
    """Where the compiler lies, and the first line of what it says of its version."""
    path = shutil.which(cc)
    if path is None:
        raise PermnetError(f"{cc} is not installed: apt install gcc (12 made the shipped data)")
    run = subprocess.run([path, "--version"], capture_output=True, text=True, check=False)
    return path, run.stdout.partition("\n")[0]


def assemble(
    sources: Sequence[str],
    prelude: str = PRELUDE,
    cc: str = "gcc",
    flags: Sequence[str] = FLAGS,
) -> list[Lines | None]:
    """The assembly of functions named `f`, in order; None for one that does not compile."""
    text = _compile(
        "\n".join([prelude, *(_named(source, f"f{i}") for i, source in enumerate(sources))]),
        cc,
        flags,
    )
    found = functions(text) if text is not None else {}
    names = [f"f{i}" for i in range(len(sources))]
    if found.keys() == set(names):
        return [found[name] for name in names]
    if len(sources) == 1:
        return [None]
    half = len(sources) // 2  # some do not compile: find out which
    parts = (part for part in (sources[:half], sources[half:]) if part)
    return [lines for part in parts for lines in assemble(part, prelude, cc, flags)]


def _named(source: str, name: str) -> str:
    return re.sub(r"\bf\b", name, source, count=1)


def _compile(source: str, cc: str, flags: Sequence[str]) -> str | None:
    """The assembly of a file; None if it does not compile."""
    compiler, _ = find_compiler(cc)
    with tempfile.TemporaryDirectory(prefix="permnet-") as folder:
        given, made = Path(folder, "in.i"), Path(folder, "out.s")
        given.write_text(source)
        try:
            run_limited(
                [compiler, *flags, "-w", "-S", "-o", made.name, given.name], folder=Path(folder)
            )
            return made.read_text()
        except (subprocess.CalledProcessError, subprocess.TimeoutExpired):
            return None
