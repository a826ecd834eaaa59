"""`permnet data`: a frozen split as text, JSON Lines or Parquet."""

import json
import os
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import IO, Annotated, Literal

from tyro.conf import Positional, arg

from permnet.errors import PermnetError
from permnet.tasks.benchmarks import Split, SplitName
from permnet.tasks.benchmarks import benchmark as find_benchmark
from permnet.tasks.permutation import to_tokens

Format = Literal["text", "jsonl", "parquet"]


def data(
    benchmark: Positional[Annotated[str, arg(metavar="BENCHMARK")]],
    /,
    split: SplitName = "test",
    limit: int | None = None,
    format: Format = "text",
    out: Path | None = None,
    force: bool = False,
) -> int:
    """Write a benchmark's examples.

    As text an example is a line `Input: …`, a line `Output: …` and an empty one; as JSON Lines it
    is `{"input": [tokens], "output": [tokens]}`; as Parquet it has the same two columns.

    For example:

        permnet data PI20 --limit 3
        permnet data PI20 --split train --format jsonl --out train.jsonl
        permnet data PD10@1 --format parquet --out test.parquet

    Args:
        benchmark: Its name, such as PI20 or PI20@1.
        split: Which 100,000 examples.
        limit: Only the first so many.
        format: How to write them; Parquet needs --out.
        out: The file to write instead of standard output.
        force: Overwrite the file if it exists.
    """
    chosen = find_benchmark(benchmark)
    if format == "parquet":
        if out is None:
            raise PermnetError("--format parquet is not text for a terminal: add --out FILE")
        if find_spec("pyarrow") is None:
            raise PermnetError("--format parquet needs pyarrow: pip install 'permnet[parquet]'")
    if out is None:
        with _standard_output() as file:
            _write(chosen.split(split, limit), format, file)
    else:
        with _replacing(out, force) as file:
            _write(chosen.split(split, limit), format, file)
    return 0


def _write(split: Split, format: Format, file: IO[bytes]) -> None:
    examples = to_tokens(split.vocab, split.examples)
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


@contextmanager
def _replacing(out: Path, force: bool) -> Iterator[IO[bytes]]:
    """A file that takes its name only when it is complete; trouble is found before any work."""
    partial = out.with_name(f".{out.name}.{os.getpid()}.part")
    try:
        if out.exists() and not out.is_file():
            raise PermnetError(f"cannot write {out}: it is not a regular file")
        if out.exists() and not force:
            raise PermnetError(f"{out} exists: choose another name or add --force")
        with ExitStack() as stack:
            file = partial.open("xb")
            stack.callback(partial.unlink, missing_ok=True)
            with file:
                yield file
            partial.replace(out)
    except OSError as error:
        raise PermnetError(f"cannot write {out}: {error.strerror or error}") from error
