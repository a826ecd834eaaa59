"""`permnet data`: a frozen split as text, JSON Lines or Parquet; the switch data are made here."""

import json
import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from itertools import islice
from pathlib import Path
from typing import IO, Annotated, Literal

from tyro.conf import Positional, arg

from permnet.commands.files import replacing
from permnet.display import progress_bar
from permnet.errors import PermnetError, unknown
from permnet.tasks.benchmarks import SplitName
from permnet.tasks.benchmarks import benchmark as find_benchmark
from permnet.tasks.permutation import to_tokens
from permnet.tasks.switch.dataset import SETS, Labels, file_name, load, shipped, with_specials

Format = Literal["text", "jsonl", "parquet"]
Pair = tuple[list[str], list[str]]


def data(
    benchmark: Positional[Annotated[str, arg(metavar="BENCHMARK")]],
    /,
    split: SplitName = "test",
    limit: int | None = None,
    format: Format = "text",
    out: Path | None = None,
    force: bool = False,
    labels: Labels | None = None,
    data: Path | None = None,
    generate: Path | None = None,
    jobs: int | None = None,
) -> int:
    """Write a benchmark's examples.

    As text an example is a line `Input: …`, a line `Output: …` and an empty one; as JSON Lines it
    is `{"input": [tokens], "output": [tokens]}`; as Parquet it has the same two columns.

    The switch data (assembly in, C out) are switch-6, -10, -20 and -wide. 1,000 test examples
    of each ship; --generate makes all of them, with gcc, and --data reads what it made. A
    generation that was stopped goes on when it is started again.

    For example:

        permnet data PI20 --limit 3
        permnet data PI20 --split train --format jsonl --out train.jsonl
        permnet data PD10@1 --format parquet --out test.parquet
        permnet data switch-10 --limit 3
        permnet data switch-20 --generate DIR --jobs 2
        permnet data switch-20 --data DIR --split train --limit 3

    Args:
        benchmark: Its name, such as PI20, PI20@1 or switch-10.
        split: Which examples.
        limit: Only the first so many.
        format: How to write them; Parquet needs --out.
        out: The file to write instead of standard output.
        force: Overwrite the file if it exists.
        labels: Switch data only: how the assembly's labels are named, shuffled unless given.
        data: Switch data only: the folder to read from.
        generate: Switch data only: the folder to make all splits in, 120,000 examples.
        jobs: How many processes generate; as many as there are cores unless given.
    """
    if generate is not None:
        others = {"--limit": limit, "--out": out, "--data": data, "--force": force or None}
        if given := [name for name, value in others.items() if value is not None]:
            raise PermnetError(f"--generate DIR makes all splits, whole: leave out {given[0]}")
        return _generate(benchmark, generate, labels or "shuffled", jobs)
    if jobs is not None:
        raise PermnetError("--jobs is for --generate DIR")
    if format == "parquet":
        if out is None:
            raise PermnetError("--format parquet is not text for a terminal: add --out FILE")
        if find_spec("pyarrow") is None:
            raise PermnetError("--format parquet needs pyarrow: pip install 'permnet[parquet]'")
    examples = _examples(benchmark, split, limit, labels, data)
    with _standard_output() if out is None else replacing(out, force) as file:
        _write(examples, format, file)
    return 0


def _examples(
    name: str, split: SplitName, limit: int | None, labels: Labels | None, folder: Path | None
) -> Iterator[Pair]:
    """The examples, as printed; a name is looked up at once, examples are made when asked for."""
    if name in SETS:
        return _switch_examples(name, split, limit, labels or "shuffled", folder)
    if name.startswith("switch"):
        raise unknown("switch data", name, SETS)
    chosen = find_benchmark(name)
    if labels or folder:
        raise PermnetError(f"--labels, --data and --generate are for {', '.join(SETS)}, not {name}")

    def pairs() -> Iterator[Pair]:
        made = chosen.split(split, limit)
        yield from to_tokens(made.vocab, made.examples)

    return pairs()


def _switch_examples(
    name: str, split: SplitName, limit: int | None, labels: Labels, folder: Path | None
) -> Iterator[Pair]:
    if folder is None and split != "test":
        raise PermnetError(
            f"only test examples of {name} ship: make the {split} split with "
            f"permnet data {name} --generate DIR, then add --data DIR"
        )
    found = load(folder / file_name(name, labels, split)) if folder else shipped(name, labels)
    if limit is not None and not 1 <= limit <= len(found):
        more = "" if folder else "; --generate DIR makes 10,000"
        raise PermnetError(f"limit is 1 to {len(found)}, the size of the split, not {limit}{more}")
    return map(with_specials, islice(found.pairs(), limit))


def _generate(name: str, folder: Path, labels: Labels, jobs: int | None) -> int:
    if name not in SETS:
        raise PermnetError(f"--generate is for {', '.join(SETS)}, not {name}")
    if find_spec("pycparser") is None:
        raise PermnetError("--generate needs pycparser: pip install 'permnet[switch]'")
    from permnet.tasks.switch.generate import generate

    with progress_bar(sys.stderr.isatty()) as show:
        made = generate(
            name, folder, labels, jobs, report=lambda done, total: show(done, total, name)
        )
    print(*made, sep="\n")
    return 0


def _write(examples: Iterable[Pair], format: Format, file: IO[bytes]) -> None:
    if format == "parquet":
        import pyarrow as pa
        import pyarrow.parquet as pq

        inputs, outputs = zip(*examples, strict=True)
        strings = pa.list_(pa.string())
        table = {"input": pa.array(inputs, strings), "output": pa.array(outputs, strings)}
        pq.write_table(pa.table(table), file)
        return
    for asked, answer in examples:
        if format == "text":
            text = f"Input: {' '.join(asked)}\nOutput: {' '.join(answer)}\n\n"
        else:
            text = json.dumps({"input": asked, "output": answer}) + "\n"
        file.write(text.encode())


@contextmanager
def _standard_output() -> Iterator[IO[bytes]]:
    """Standard output, whose reader may leave early, as `head` does."""
    try:
        yield sys.stdout.buffer
        sys.stdout.flush()
    except BrokenPipeError:
        # Python flushes once more when it exits: give it somewhere to flush to.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
