"""The data that the model of switches learns from: drawn C, compiled in many ways, as tokens.

    python -m permnet.switches.model_data DIR [--jobs 2] [--train 100000]

Nothing of it comes from real programs. A drawn switch becomes an example if the dispatch that is
found in its machine code tells the drawn labels apart; which of its addresses take values without a
label, and whether there is a default, is taken from the source.
"""

import argparse
import hashlib
import os
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import chain, count
from pathlib import Path

from permnet.binary.binary import Function, open_binary
from permnet.ending import pool
from permnet.switches.graph import Graph
from permnet.switches.intervals import numbers, size
from permnet.switches.model_tokens import LONGEST, answer, question, scrutinee_of
from permnet.switches.regions import Region, Walker
from permnet.switches.rules import RefusedError
from permnet.switches.terms import bits_of
from permnet.tasks.dispatch import DISPATCH, MOST_ADDRESSES, PRELUDE, Blocks, Drawn, sample
from permnet.tasks.switch.assembly import LABEL_NAMES, labels, renumbered, shuffled
from permnet.tasks.switch.compiler import find_compiler
from permnet.tasks.switch.dataset import Pair, build, file_name, save
from permnet.tasks.switch.draw import Draw

NAME, VERSION = DISPATCH, 2
BATCH = 100  # functions compiled at once
Way = tuple[str, ...]  # a compiler and its flags
WAYS: tuple[Way, ...] = tuple(
    (compiler, level, *tables)
    for compiler in ("gcc", "clang-14")
    for level in ("-O0", "-O1", "-O2")
    for tables in ((), ("-fno-jump-tables",))
)
COUNTS = {"test": 10_000, "validation": 10_000, "train": 100_000}


Made = tuple[Graph, Region, Pair]


def examples(drawn: list[Drawn], way: Way) -> list[Pair | None]:
    """The example that each function gives; None where its dispatch is not as it was drawn."""
    return [made and made[2] for made in dispatches(drawn, way)]


def dispatches(drawn: list[Drawn], way: Way) -> list[Made | None]:
    """The same with the dispatch that each is about."""
    compiler, *flags = way
    text = [drawn.source.replace("int f(", f"int f{i}(", 1) for i, drawn in enumerate(drawn)]
    with tempfile.TemporaryDirectory(prefix="permnet-") as folder:
        source, made = Path(folder, "in.c"), Path(folder, "out.o")
        source.write_text("\n".join([PRELUDE, *text]))
        command = [find_compiler(compiler)[0], *flags, "-w", "-c", "-o", str(made), str(source)]
        subprocess.run(command, check=True, stdin=subprocess.DEVNULL, capture_output=True)
        with open_binary(made) as binary:
            functions = {function.name: function for function in binary.functions()}
            return [_example(functions[f"f{i}"], one.blocks) for i, one in enumerate(drawn)]


def _example(function: Function, blocks: Blocks) -> Made | None:
    graph = Graph(function)
    for region in Walker(graph).regions():
        defaults = _defaults(region, blocks)
        if defaults is None:
            continue
        try:
            scrutinee = scrutinee_of(graph, region)
        except RefusedError:
            continue
        asked = question(graph, region, scrutinee)
        fits = len(region.leaves()) <= MOST_ADDRESSES and len(labels(asked)) <= LABEL_NAMES
        if fits and len(asked) <= LONGEST:
            pair = asked, answer(region, scrutinee, asked, defaults, None in blocks)
            return graph, region, pair
    return None


def _defaults(region: Region, blocks: Blocks) -> list[int] | None:
    """Where values without a label lead; None if the region is not the switch that was drawn.

    Optimisers make one block of several, with the default too, and take blocks apart.
    """
    last = (1 << bits_of(region.x)) - 1
    meant = [{label & last for label in block} for block in blocks if block is not None]
    every = set[int]().union(*meant)
    defaults, found = [], set[int]()
    for address, intervals in region.leaves().items():
        values = set(numbers(intervals)) if size(intervals) <= len(every) else None
        if values is not None and values <= every:
            touched = [block for block in meant if block & values]
            if len(touched) > 1 and not set().union(*touched) <= values:
                return None
            found |= values
        elif all(edge.kind == "hit" for edge in region.edges if edge.target == address):
            return None  # a label that was not drawn
        else:
            defaults.append(address)
    whole = all(block <= found or not block & found for block in meant)
    return defaults if defaults and whole and 2 * len(found) > len(every) else None


def generate(
    folder: Path,
    jobs: int,
    counts: dict[str, int],
    ways: Sequence[Way] = WAYS,
    batch: int = BATCH,
) -> list[Path]:
    """Make the splits in a folder; they depend on the compilers' versions, not on `jobs`."""
    versions = ", ".join(find_compiler(name)[1] for name in dict.fromkeys(way[0] for way in ways))
    folder.mkdir(parents=True, exist_ok=True)
    seen: set[bytes] = set()
    paths = []
    with pool(jobs) as workers:
        for split, size in counts.items():
            # Round by round: a pool takes all that it is offered, and the numbers never end.
            rounds = (range(first, first + 4 * jobs) for first in count(0, 4 * jobs))
            make = partial(_part, split, ways, batch)
            parts = chain.from_iterable(workers.map(make, batches, 1) for batches in rounds)
            pairs = _unique(split, size, seen, parts)
            path = folder / file_name(NAME, "shuffled", split)
            save(build(NAME, split, "shuffled", versions, pairs), path)
            paths.append(path)
    return paths


def _part(split: str, ways: Sequence[Way], batch: int, number: int) -> list[Pair | None]:
    """A batch of candidates, all compiled in one way."""
    first = number * batch
    drawn = [sample(Draw(_seed(split, i))) for i in range(first, first + batch)]
    return examples(drawn, ways[number % len(ways)])


def _seed(split: str, number: int) -> str:
    return f"{NAME}@{VERSION}/{split}/{number}"


def _unique(
    split: str, size: int, seen: set[bytes], parts: Iterator[list[Pair | None]]
) -> Iterator[Pair]:
    """The first examples whose question was not seen before, their labels renamed at random."""
    found = 0
    for number, pair in enumerate(chain.from_iterable(parts)):
        if pair is None:
            continue
        source, target = pair
        digest = hashlib.sha256(" ".join(renumbered(source)).encode()).digest()[:16]
        if digest in seen:
            continue
        seen.add(digest)
        yield shuffled(source, Draw(f"{_seed(split, number)}/labels")), target
        found += 1
        if found == size:
            return


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    for split, most in COUNTS.items():
        parser.add_argument(f"--{split}", type=int, default=most, help="how many examples")
    args = parser.parse_args()
    counts = {split: getattr(args, split) for split in COUNTS}
    for path in generate(args.folder, args.jobs, counts):
        print(path)


if __name__ == "__main__":
    main()
