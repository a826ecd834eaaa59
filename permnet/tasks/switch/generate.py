"""Whole data sets of the switch task: drawn, compiled in parallel, de-duplicated, stored.

Work is cut into parts of 200 candidates, each a file of its own until the set is complete, so a
generation that was stopped goes on where it was. What a candidate is depends on its name alone
(`switch-6@1/train/17`), so neither the parts nor the number of processes change the data.
"""

import gzip
import hashlib
import json
import os
import shutil
from collections.abc import Callable, Iterator
from functools import partial
from itertools import chain, count
from pathlib import Path

from permnet.ending import pool
from permnet.errors import PermnetError, unknown
from permnet.tasks.switch import program, tree, wide
from permnet.tasks.switch.assembly import alone, renumbered, shuffled
from permnet.tasks.switch.compiler import BATCH, assemble, find_compiler
from permnet.tasks.switch.ctokens import layout
from permnet.tasks.switch.dataset import (
    LABELS,
    SETS,
    WIDE,
    Labels,
    Pair,
    build,
    file_name,
    save,
    vocabulary,
)
from permnet.tasks.switch.draw import Draw
from permnet.tasks.switch.tree import Node

VERSIONS = {WIDE: wide.VERSION}  # of what is drawn; 1 where it was never changed
# In the order in which they are de-duplicated: the test split does not depend on the others.
COUNTS = {"test": 10_000, "validation": 10_000, "train": 100_000}
RESERVED = 32

Part = tuple[str, range]  # split, numbers of the candidates


def generate(
    name: str,
    folder: Path,
    labels: Labels = "shuffled",
    jobs: int | None = None,
    counts: dict[str, int] = COUNTS,
    report: Callable[[int, int], None] = lambda done, total: None,
    batch: int = BATCH,
) -> list[Path]:
    """Make the splits of a data set and its vocabulary in a folder; the files made.

    `report` is told how many of how many parts, of `batch` candidates each, are done.
    """
    if name not in SETS:
        raise unknown("data set", name, SETS)
    if labels not in LABELS:
        raise unknown("kind of labels", labels, LABELS)
    if jobs is not None and jobs < 1:
        raise PermnetError(f"jobs is a number of processes, 1 or more, not {jobs}")
    _, compiler = find_compiler()
    paths = {split: folder / file_name(name, labels, split) for split in counts}
    listed = folder / f"{name}-{labels}-vocab.json"
    parts = folder / f"{name}-parts"
    for path in (*paths.values(), listed):
        if path.exists() and not parts.exists():  # else it is part of what was stopped
            raise PermnetError(f"{path} exists: choose another folder or remove it")
    parts.mkdir(parents=True, exist_ok=True)

    wanted = [
        (split, range(first, first + batch))
        for split, size in counts.items()
        for first in range(0, size, batch)
    ]
    _make_parts(name, parts, wanted, jobs or os.cpu_count() or 1, report)

    seen: set[bytes] = set()
    for split, size in counts.items():
        pairs = _unique(name, split, parts, size, seen, batch)
        made = build(name, split, labels, compiler, _labelled(name, split, labels, pairs))
        save(made, paths[split])
        if split == "train":
            listed.write_text(json.dumps(vocabulary(made, RESERVED).to_json()))
    shutil.rmtree(parts)
    return [path for path in (*paths.values(), listed) if path.exists()]


def _make_parts(
    name: str, folder: Path, wanted: list[Part], jobs: int, report: Callable[[int, int], None]
) -> None:
    missing = [part for part in wanted if not _path(folder, part).exists()]
    stored = len(wanted) - len(missing)
    report(stored, len(wanted))
    make = partial(_make_part, name, folder)
    with pool(max(min(jobs, len(missing)), 1)) as workers:
        for done, _ in enumerate(workers.imap_unordered(make, missing), stored + 1):
            report(done, len(wanted))


def _path(folder: Path, part: Part) -> Path:
    split, numbers = part
    return folder / f"{split}-{numbers.start:06}-{numbers.stop:06}.json.gz"


def _make_part(name: str, folder: Path, part: Part) -> None:
    """Draw and compile the candidates of one part: tokens of assembly, labels raw, and of C."""
    split, numbers = part
    drawn = [tree.tokens(_sample(name, Draw(_seed(name, split, i)))) for i in numbers]
    compiled = assemble([layout(c) for c in drawn])
    rows = []
    for c, lines in zip(drawn, compiled, strict=True):
        if lines is None:
            raise PermnetError(f"gcc refuses or cannot finish:\n{layout(c)}")
        bare_return = "return ;" in " ".join(c)
        rows.append((alone(chain.from_iterable(lines), bare_return), c))
    text = json.dumps({"compiler": find_compiler()[1], "rows": rows})
    path = _path(folder, part)
    partial_path = path.with_suffix(f".{os.getpid()}")
    partial_path.write_bytes(gzip.compress(text.encode(), compresslevel=1))
    partial_path.replace(path)


def _sample(name: str, draw: Draw) -> Node:
    return wide.sample(draw) if name == WIDE else program.sample(SETS[name], draw)


def _read_part(name: str, folder: Path, part: Part) -> list[Pair]:
    path = _path(folder, part)
    if not path.exists():
        _make_part(name, folder, part)
    try:
        stored = json.loads(gzip.decompress(path.read_bytes()))
        compiler, rows = stored["compiler"], stored["rows"]
    except (OSError, EOFError, ValueError, KeyError, TypeError) as error:
        raise PermnetError(f"{path} is damaged: remove it and start again") from error
    if compiler != find_compiler()[1]:
        raise PermnetError(
            f"{path} was made by {compiler}, and this is {find_compiler()[1]}: "
            f"remove {folder} to start again"
        )
    return [(source, target) for source, target in rows]


def _seed(name: str, split: str, number: int) -> str:
    return f"{name}@{VERSIONS.get(name, 1)}/{split}/{number}"


def _unique(
    name: str, split: str, folder: Path, size: int, seen: set[bytes], batch: int
) -> Iterator[tuple[int, Pair]]:
    """The first candidates, with their numbers, whose assembly was not seen before."""
    found = 0
    for first in count(0, batch):
        part = (split, range(first, first + batch))
        for number, pair in zip(part[1], _read_part(name, folder, part), strict=True):
            if found == size:
                return
            digest = hashlib.sha256(" ".join(renumbered(pair[0])).encode()).digest()[:16]
            if digest not in seen:
                seen.add(digest)
                found += 1
                yield number, pair


def _labelled(
    name: str, split: str, labels: Labels, numbered: Iterator[tuple[int, Pair]]
) -> Iterator[Pair]:
    for number, (source, target) in numbered:
        if labels == "shuffled":
            source = shuffled(source, Draw(f"{_seed(name, split, number)}/labels"))
        yield source, target
