"""Many files gone through, in parallel: which can be read, and the switches of their functions."""

import os
import stat
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from itertools import groupby, islice
from operator import attrgetter
from pathlib import Path
from typing import Any, Literal

from permnet.binary.assembler import LONGEST_TEXT, assembled, check_preprocessed
from permnet.binary.binary import Binary, is_elf, open_binary
from permnet.ending import pool
from permnet.errors import PermnetError
from permnet.switches.claim import Claim, Switch
from permnet.switches.default import by_habit, is_open, vote
from permnet.switches.emulate import can_emulate
from permnet.switches.find import PROPOSERS, Proposer, find_all

PART = 200  # functions that a process is given at a time
Name = Literal["rules", "model", "both"]


@dataclass(frozen=True)
class FoundFunction:
    """A function with switches, or with what looks like one."""

    file: str
    name: str
    address: int
    switches: tuple[Switch, ...]
    relative: bool  # the file may be loaded anywhere: addresses count from its start

    def to_json(self) -> dict[str, Any]:
        return {
            "file": self.file,
            "name": self.name,
            "address": self.address,
            "switches": [switch.to_json() for switch in self.switches],
        }


@dataclass(frozen=True)
class Part:
    """What became of some functions of a file, or why the file cannot be read."""

    file: str
    count: int
    found: tuple[FoundFunction, ...] = ()
    error: str = ""

    def claims(self) -> Iterator[Claim]:
        for function in self.found:
            yield from (switch.claim for switch in function.switches if switch.claim)


def files_of(paths: Sequence[Path]) -> Iterator[Path]:
    """Files as given, and of folders the programs, libraries, objects and `.s` files in them.

    A folder without any is given as it is: that there are none is said when it is opened.
    """
    for path in paths:
        if not path.is_dir():
            yield path
            continue
        found = False
        for folder, _, names in os.walk(path):
            for name in sorted(names):
                file = Path(folder, name)
                if not file.is_symlink() and file.is_file() and _is_code(file):
                    found = True
                    yield file
        if not found:
            yield path


def _is_code(path: Path) -> bool:
    if path.suffix in (".s", ".S"):
        return True
    try:
        return is_elf(path)
    except OSError:
        return True  # it is said when it is opened


def scan(paths: Sequence[Path], jobs: int, proposer: Name = "rules") -> Iterator[Part]:
    """Parts of files in order, the last of each file with its number of functions."""
    for _, parts in groupby(_scanned(paths, jobs, proposer), attrgetter("file")):
        yield from _settled(parts)


def _settled(parts: Iterable[Part]) -> Iterator[Part]:
    """Parts of a file, with the defaults that only its other switches tell.

    From the first part on that has one they are held back until all are there.
    """
    votes, held = Counter[int](), list[Part]()
    for part in parts:
        for claim in part.claims():
            votes.update(vote(claim))
        if held or any(map(is_open, part.claims())):
            held.append(part)
        else:
            yield part
    for part in held:
        yield replace(part, found=tuple(_decided(function, votes) for function in part.found))


def _decided(function: FoundFunction, votes: Counter[int]) -> FoundFunction:
    switches = (
        replace(switch, claim=by_habit(switch.claim, votes)) if switch.claim else switch
        for switch in function.switches
    )
    return replace(function, switches=tuple(switches))


def _scanned(paths: Sequence[Path], jobs: int, proposer: Name) -> Iterator[Part]:
    tasks, scan_part = _tasks(paths), partial(_scan_part, proposer)
    first = list(islice(tasks, 2))
    if jobs == 1 or len(first) < 2:
        yield from map(scan_part, first)
        yield from map(scan_part, tasks)
        return
    with pool(jobs, _begin) as workers:
        yield from workers.imap(scan_part, [*first, *tasks])


def _begin() -> None:
    """Sets up a process among others."""
    os.environ["OMP_NUM_THREADS"] = "1"  # before torch is there


@lru_cache(1)
def proposers(name: Name) -> dict[str, Proposer]:
    """Those that are asked, the one whose word counts first before the other."""
    if name == "rules":
        return PROPOSERS
    from permnet.switches.model import shipped_reader  # needs torch

    reader: dict[str, Proposer] = {"model": shipped_reader()}
    return PROPOSERS | reader if name == "both" else reader


Task = tuple[str, int, int, str]


def _tasks(paths: Sequence[Path]) -> Iterator[Task]:
    """(file, first function, last, error) for each part of each file."""
    for path in paths:
        try:
            count = sum(1 for _ in _binary(str(path)).functions())
            for first in range(0, max(count, 1), PART):
                yield str(path), first, min(first + PART, count), ""
        except PermnetError as error:
            yield str(path), 0, 0, str(error)


def _scan_part(proposer: Name, task: Task) -> Part:
    file, first, last, error = task
    if error:
        return Part(file, 0, error=error)
    asked, emulate = proposers(proposer), can_emulate()
    binary = _binary(file)
    functions = islice(binary.functions(), first, last)
    # A model is asked about many at once; otherwise memory holds one function at a time.
    groups = ([one] for one in functions) if proposer == "rules" else [[*functions]]
    found = []
    for group in groups:
        try:
            switches = find_all(group, asked, emulate)
        except PermnetError as error:
            return Part(file, 0, error=str(error))
        found += [
            FoundFunction(file, function.name, function.address, tuple(of), binary.is_relative)
            for function, of in zip(group, switches, strict=True)
            if of
        ]
    return Part(file, last - first, tuple(found))


@lru_cache(1)
def _binary(file: str) -> Binary:
    path = Path(file)
    try:
        status = path.stat()
        if stat.S_ISDIR(status.st_mode):
            raise PermnetError("no ELF file and no .s file in it")
        if not stat.S_ISREG(status.st_mode):  # a pipe or a device may have no end
            raise PermnetError("it is not a regular file")
        if path.suffix in (".s", ".S"):
            if status.st_size > LONGEST_TEXT:
                raise PermnetError(f"more than {LONGEST_TEXT} bytes of assembly")
            text = path.read_text("utf-8", "replace")
            if path.suffix == ".S":
                check_preprocessed(text)
            return assembled(text)
    except OSError as error:
        raise PermnetError(f"cannot read it: {error.strerror}") from error
    with open_binary(path) as binary:
        return binary
