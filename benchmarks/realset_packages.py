"""Debian source packages: fetched by name, unpacked and built, with the compiler's flags recorded.

Nothing of the machine's package configuration is touched: apt gets copies of the machine's own
lists of sources, with sources asked for beside binaries, and keeps its state in a private folder.
A wrapper called `gcc`, first in the path, notes how the package's own build calls the compiler.
"""

import os
import re
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from permnet.errors import PermnetError

Command = tuple[str, ...]


@dataclass(frozen=True)
class Package:
    """A source package, and the commands of its own build."""

    name: str
    make: Command
    configure: tuple[Command, ...] = ()
    folder: str = "."
    patched: bool = True  # with Debian's changes


DEVELOPMENT = (
    # Debian's changes to lua are to its Makefile, and need libtool.
    Package("lua5.4", ("make", "-C", "src", "linux"), patched=False),
    Package("zlib", ("make", "static", "all"), (("./configure", "--static"),)),
    Package(
        "jq",
        ("make",),
        (
            ("autoreconf", "-i"),
            ("./configure", "--without-oniguruma", "--disable-docs", "--disable-shared"),
        ),
    ),
    # And those to expat expect its other way of configuring.
    Package(
        "expat",
        ("make",),
        (("cmake", "-DEXPAT_BUILD_DOCS=OFF", "."),),
        folder="expat",
        patched=False,
    ),
    Package("tcc", ("make", "tcc"), (("./configure", "--cc=gcc"),)),
    Package("cjson", ("make", "static", "test")),
)

FIRST_HELD_OUT = (
    Package("bzip2", ("make", "bzip2", "bzip2recover")),
    Package("lz4", ("make", "lz4")),
    Package("mawk", ("make",), (("./configure",),)),
    Package("less", ("make",), (("./configure",),)),
    Package("dash", ("make",), (("autoreconf", "-i"), ("./configure",))),
)

# What autotools and texinfo would make is in the packages, and is taken as it is.
_AS_PACKED = (
    "make",
    *(f"{tool}=:" for tool in ("ACLOCAL", "AUTOCONF", "AUTOHEADER", "AUTOMAKE", "MAKEINFO")),
)

SECOND_HELD_OUT = (
    Package("bc", _AS_PACKED, (("./configure",),)),
    Package("ed", ("make",), (("./configure",),)),
    Package("file", ("make",), (("autoreconf", "-i"), ("./configure",))),
    Package("patch", _AS_PACKED, (("./configure",),)),
    Package("sed", ("make",), (("./configure",),)),
)

THIRD_HELD_OUT = (
    Package("byacc", ("make",), (("./configure",),)),
    Package("flex", _AS_PACKED, (("./configure", "--disable-nls"),)),
    Package("gzip", _AS_PACKED, (("./configure",),)),
    Package("libyaml", ("make",), (("autoreconf", "-i"), ("./configure",))),
    Package("xz-utils", _AS_PACKED, (("./configure", "--disable-nls", "--disable-shared"),)),
)

FOURTH_HELD_OUT = (
    Package("hiredis", ("make",)),
    Package("jansson", ("make",), (("autoreconf", "-i"), ("./configure",))),
    Package("libonig", ("make",), (("autoreconf", "-i"), ("./configure", "--disable-shared"))),
    Package("pcre2", _AS_PACKED, (("./configure", "--disable-shared"),)),
    Package("yajl", ("make",), (("cmake", "."),)),
)

FIFTH_HELD_OUT = (
    Package("diffutils", _AS_PACKED, (("./configure", "--disable-nls"),)),
    Package("gawk", (*_AS_PACKED, "SUBDIRS=support ."), (("./configure", "--disable-nls"),)),
    Package("http-parser", ("make", "library", "test_g")),
    Package("libconfig", _AS_PACKED, (("./configure", "--disable-cxx"),)),
    Package("m4", _AS_PACKED, (("./configure",),)),
)

# Held-out sets are chosen by name, for a build without further dependencies, before anything of
# them is looked at. All have been looked into since they were scored.
SETS = {
    "development": DEVELOPMENT,
    "first": FIRST_HELD_OUT,
    "second": SECOND_HELD_OUT,
    "third": THIRD_HELD_OUT,
    "fourth": FOURTH_HELD_OUT,
    "fifth": FIFTH_HELD_OUT,
}

_WRAPPER = """#!/bin/sh
if [ -n "$REALSET_LOG" ]; then printf '%s\\0' "$#" "$PWD" "$@" >> "$REALSET_LOG"; fi
exec {compiler} "$@"
"""

# What an option of the compiler says about output, optimisation, debugging or warnings is ours.
_DROPPED = re.compile(
    r"-(c|S|E|O.*|g.*|W.*|w|pipe|M.*|flto.*|f(no-)?jump-tables|D_FORTIFY_SOURCE.*)"
)
_WITH_VALUE = ("-o", "-MF", "-MT", "-MQ")


@dataclass(frozen=True)
class Unit:
    """A translation unit: where it was compiled, what, and with which of its own flags."""

    folder: Path
    source: Path
    flags: tuple[str, ...]


def run(command: Sequence[str], folder: Path, log: Path, **environment: str) -> str:
    """Its output; everything it printed is also added to the log."""
    if command[0].startswith("./") and not (folder / command[0]).is_file():
        raise PermnetError(f"there is no {command[0]} in {folder}")
    done = subprocess.run(
        command,
        cwd=folder,
        env={**os.environ, "LC_ALL": "C", **environment},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        check=False,
    )
    with log.open("a") as file:
        file.write(f"$ {' '.join(command)}\n{done.stdout}")
    if done.returncode:
        last = "\n".join(done.stdout.strip().splitlines()[-5:])
        raise PermnetError(f"{command[0]} failed, all it said is in {log}:\n{last}")
    return done.stdout


class Archive:
    """The machine's package archives, asked for sources."""

    def __init__(self, state: Path) -> None:
        for tool in ("apt-get", "dpkg-source"):
            if shutil.which(tool) is None:
                raise PermnetError(f"{tool} is not installed: the set is made on Debian or Ubuntu")
        self.state = state
        parts = state / "sources"
        for folder in (parts, state / "lists" / "partial", state / "archives" / "partial"):
            folder.mkdir(parents=True, exist_ok=True)
        own = Path("/etc/apt")
        listed = [own / "sources.list", *sorted((own / "sources.list.d").glob("*"))]
        for path in listed:
            if path.suffix in (".list", ".sources") and path.is_file():
                (parts / path.name).write_text(with_sources(path.read_text()))
        self.options = [
            f"-o{name}={value}"
            for name, value in {
                "Dir::Etc::sourcelist": "/dev/null",
                "Dir::Etc::sourceparts": parts,
                "Dir::State": state,
                "Dir::State::lists": state / "lists",
                "Dir::State::status": "/var/lib/dpkg/status",
                "Dir::Cache": state,
                "APT::Sandbox::User": "root",
            }.items()
        ]
        self.log = state / "log"
        run(["apt-get", *self.options, "update"], state, self.log)

    def fetch(self, package: Package, folder: Path) -> tuple[str, Path]:
        """The version and the unpacked folder of the newest version that the archive holds."""
        shown = run(["apt-cache", *self.options, "showsrc", package.name], self.state, self.log)
        versions = list(dict.fromkeys(re.findall(r"^Version: (\S+)", shown, re.MULTILINE)))
        # Newest first: a mirror may list a version whose files it has not got.
        for version in reversed(_ascending(versions)):
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir(parents=True)
            asked = f"{package.name}={version}"
            try:
                run(
                    ["apt-get", *self.options, "source", "--download-only", asked],
                    folder,
                    self.log,
                )
            except PermnetError as error:
                problem = error
                continue
            unpacked = folder / "source"
            keep = () if package.patched else ("--skip-patches",)
            described = next(folder.glob("*.dsc"))
            run(
                ["dpkg-source", *keep, "-x", described.name, unpacked.name],
                folder,
                self.log,
            )
            return version, unpacked
        if not versions:
            raise PermnetError(f"the archive has no source package {package.name!r}")
        raise problem


def with_sources(listed: str) -> str:
    """A list of package archives that asks for sources too, in either of apt's two formats.

    >>> with_sources("deb [arch=amd64] http://host/debian stable main\\n").splitlines()[1]
    'deb-src [arch=amd64] http://host/debian stable main'
    >>> with_sources("Types: deb\\nURIs: http://host/debian\\n").splitlines()[0]
    'Types: deb deb-src'
    """
    listed = re.sub(r"^Types:\s*deb\s*$", "Types: deb deb-src", listed, flags=re.MULTILINE)
    return re.sub(r"^deb(\s.*)$", r"deb\1\ndeb-src\1", listed, flags=re.MULTILINE)


def _ascending(versions: list[str]) -> list[str]:
    """By dpkg's own order of versions."""
    done: list[str] = []
    for version in versions:
        older = sum(
            subprocess.run(["dpkg", "--compare-versions", other, "lt", version]).returncode == 0
            for other in done
        )
        done.insert(older, version)
    return done


def build(package: Package, source: Path, scratch: Path) -> list[Unit]:
    """Build a package, and say what was compiled."""
    for command in (*package.configure, package.make):
        if not command[0].startswith("./") and shutil.which(command[0]) is None:
            raise PermnetError(f"{package.name} needs {command[0]}: install it, or leave it out")
    compiler = shutil.which("gcc")
    if compiler is None:
        raise PermnetError("gcc is not installed: apt install gcc")
    wrappers, log, calls = scratch / "bin", scratch / "log", scratch / "calls"
    wrappers.mkdir(parents=True, exist_ok=True)
    for name in ("gcc", "cc"):
        (wrappers / name).write_text(_WRAPPER.format(compiler=compiler))
        (wrappers / name).chmod(0o755)
    path = f"{wrappers}:{os.environ['PATH']}"
    folder = source / package.folder
    for command in package.configure:
        run(command, folder, log, PATH=path, CC="gcc")
    calls.write_bytes(b"")
    run(package.make, folder, log, PATH=path, REALSET_LOG=str(calls))
    found: dict[Path, Unit] = {}
    for unit in units(calls.read_bytes()):
        found.setdefault(unit.source, unit)
    return [*found.values()]


def units(calls: bytes) -> Iterator[Unit]:
    """The C files of recorded calls of the compiler, each with the flags that matter."""
    fields = iter(calls.decode().split("\0")[:-1])
    for count in fields:
        folder = Path(next(fields))
        arguments = [next(fields) for _ in range(int(count))]
        flags, sources, words = [], [], iter(arguments)
        for word in words:
            if word in _WITH_VALUE:
                next(words, None)
            elif word.endswith(".c"):
                sources.append(folder / word)
            elif word.startswith("-") and not _DROPPED.fullmatch(word):
                flags.append(word)
                if word in ("-I", "-D", "-U", "-include", "-isystem", "-x"):
                    flags.append(next(words, ""))
        for path in sources:
            if path.is_file():
                # A link keeps its name: what it leads to may not end in .c.
                yield Unit(folder, path.parent.resolve() / path.name, tuple(flags))
