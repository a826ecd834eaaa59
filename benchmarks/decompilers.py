"""Decompilers side by side on the same functions, one core: who finds the switch, and how fast.

    python -m benchmarks.decompilers [--data switch-10] [--count 100] [--out FILE]

Rows: `permnet decompile` as it comes, the shipped models one by one or those after --models, the
rule-based solver, labels in ascending order, and angr, which needs an environment of its own:

    python -m venv out/angr
    out/angr/bin/pip install "angr==9.2.213" "bitstring<5" "pycparser==3.0"

Columns: the answer has one `switch`; its labels are on the right blocks, in whatever order
(partition); blocks in source order and the default right too (skeleton); C equal to the reference,
token by token; verified; verified with a wrong skeleton; seconds of one core for a function, all of
them given at once. Labels of a switch over `p + 16` may also be given for `p`. Ascending order is
told the labels and whether there is a default.
"""

import argparse
import ast
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import torch
from rich.console import Console
from rich.table import Table

from benchmarks.command import positive, run
from permnet.checkpoint import describe
from permnet.decompiling.pipeline import Pipeline, shipped_decompilers
from permnet.decompiling.rules import solve
from permnet.decompiling.text import functions
from permnet.errors import PermnetError
from permnet.provenance import provenance
from permnet.tasks.switch import dataset
from permnet.tasks.switch.compiler import compile_c, find_compiler
from permnet.tasks.switch.ctokens import PRELUDE, layout, lex, named
from permnet.tasks.switch.skeleton import DEFAULT, Skeleton, skeleton

ANGR = Path("out/angr/bin/python")
COLUMNS = ("switch", "partition", "skeleton", "same_c", "verified", "wrong_verified")


@dataclass(frozen=True)
class Program:
    """A function to decompile: its name, assembly and true C."""

    name: str
    assembly: list[str]
    c: list[str]

    @property
    def text(self) -> str:
        return layout(named(self.c, self.name))


@dataclass(frozen=True)
class Found:
    """What a decompiler made of one; None where it does not say."""

    skeleton: Skeleton | None
    c: list[str] | None = None
    verified: bool | None = None


@dataclass(frozen=True)
class Outcome:
    """The answers to all programs, and the CPU seconds they took.

    `wall` are the seconds one waits for a model to load, and then for the smallest function alone.
    """

    found: list[Found]
    seconds: float
    wall: dict[str, float] | None = None


Method = Callable[[list[Program]], Outcome]


def spent() -> float:
    """Seconds of CPU, programs that were started included: other work on a machine is not."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


def timed(answer: Callable[[Program], Skeleton | None]) -> Method:
    def method(programs: list[Program]) -> Outcome:
        began = spent()
        found = [Found(answer(program)) for program in programs]
        return Outcome(found, spent() - began)

    return method


def by_rules(program: Program) -> Skeleton | None:
    try:
        return solve(program.assembly)
    except PermnetError:
        return None


def ascending(program: Program) -> Skeleton | None:
    true = skeleton(program.c) or []
    labels = sorted(label for block in true for label in block if label != DEFAULT)
    return [*([label] for label in labels), *([[DEFAULT]] if [DEFAULT] in true else [])]


def by_model(model: str | None) -> Method:
    def method(programs: list[Program]) -> Outcome:
        text = compile_c("\n".join([PRELUDE, *(p.text for p in programs)])).decode()
        smallest = min(functions(text), key=lambda function: len(function.lines))
        loading = time.perf_counter()
        pipeline = Pipeline.load(model)
        loaded = time.perf_counter()
        pipeline.each([smallest])
        alone = time.perf_counter()
        began = spent()
        answers = pipeline.each(functions(text))
        seconds = spent() - began
        found = [Found(a.skeleton, _lexed(a.c), a.verified) for a in answers]
        wall = {"load": round(loaded - loading, 3), "small_function": round(alone - loaded, 3)}
        return Outcome(found, seconds, wall)

    return method


def _lexed(c: str | None) -> list[str] | None:
    try:
        return lex(c or "")
    except PermnetError:  # a model may say anything
        return None


def by_angr(python: Path) -> Method:
    def method(programs: list[Program]) -> Outcome:
        worker = Path(__file__).with_name("angr_worker.py")
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "programs.o")
            path.write_bytes(
                compile_c("\n".join([PRELUDE, *(p.text for p in programs)]), stage="-c")
            )
            done = subprocess.run(
                [python, worker, path, *(p.name for p in programs)],
                env=os.environ | {"OMP_NUM_THREADS": "1"},
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                text=True,
                check=True,
            )
        rows = [json.loads(line) for line in done.stdout.splitlines()]
        found = [Found(loose_skeleton(row["c"] or "")) for row in rows]
        return Outcome(found, sum(row["seconds"] for row in rows))

    return method


def loose_skeleton(c: str) -> Skeleton | None:
    """The skeleton of C that is not of the task: comments, other numbers, goto labels."""
    c = re.sub(r"//.*|/\*.*?\*/|\"(?:\\.|[^\"\\])*\"", "", c)
    c = re.sub(r"\bcase\s+([^:]+):", lambda match: f" case {_label(match[1])} : ", c)
    return skeleton(re.findall(r"-?\w+|\S", c))


def _label(text: str) -> int:
    value = ast.literal_eval(text.strip())
    value = ord(value) if isinstance(value, str) else value
    for width in (32, 64):  # negative ones are often shown without a sign
        if 1 << (width - 1) <= value < 1 << width:
            return value - (1 << width)
    return value


def partition(blocks: Skeleton) -> set[frozenset[int | str]]:
    return {frozenset(block) for block in blocks if block != [DEFAULT]}


def truths(program: Program) -> list[Skeleton]:
    """The true skeleton, and the same in terms of the parameter where a number is added to it."""
    true = skeleton(program.c) or []
    operator, number = program.c[program.c.index("switch") + 3 :][:2]
    if operator not in ("+", "-"):
        return [true]
    shift = int(operator + number)
    shifted = [[x if isinstance(x, str) else x - shift for x in block] for block in true]
    return [true, shifted]


def scored(programs: list[Program], outcome: Outcome) -> dict[str, Any]:
    """How many are right in each column; null where a decompiler does not say."""
    counts: dict[str, int | None] = dict.fromkeys(COLUMNS)

    def count(column: str, yes: bool) -> None:
        counts[column] = (counts[column] or 0) + yes

    for program, found in zip(programs, outcome.found, strict=True):
        count("switch", found.skeleton is not None)
        said = found.skeleton or []
        count("partition", any(partition(said) == partition(t) for t in truths(program)))
        right = said in truths(program)
        count("skeleton", right)
        if found.verified is not None:
            count(
                "same_c",
                found.c is not None and found.c == named(program.c, program.name),
            )
            count("verified", found.verified)
            count("wrong_verified", found.verified and not right)
    return {
        "count": len(programs),
        **counts,
        "seconds_per_function": round(outcome.seconds / len(programs), 5),
        "wall_seconds": outcome.wall,
    }


def rules_on(folder: Path, name: str) -> dict[str, Any]:
    """The row of the rules on the validation split, to which they were not fitted."""
    pairs = dataset.load(folder / dataset.file_name(name, "shuffled", "validation")).pairs()
    programs = [Program(f"part{i}", assembly, c) for i, (assembly, c) in enumerate(pairs)]
    return scored(programs, timed(by_rules)(programs))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", default="switch-10", choices=dataset.SETS)
    parser.add_argument("--count", type=positive, default=100)
    parser.add_argument("--models", nargs="*", help="checkpoints' folders; the shipped ones")
    parser.add_argument("--angr", type=Path, default=ANGR, help="the Python that has angr")
    parser.add_argument("--validation", type=Path, help="also try the rules on a folder's examples")
    parser.add_argument("--out", type=Path)
    args = parser.parse_args()
    torch.set_num_threads(1)
    models = shipped_decompilers() if args.models is None else args.models
    if not models:
        print("models skipped: none is shipped, and --models names none", file=sys.stderr)
    methods: dict[str, Method] = {}
    if models and args.models is None:
        methods["permnet decompile"] = by_model(None)
    methods |= {
        f"{describe(model).run.model.name} {Path(model).name}": by_model(model) for model in models
    }
    methods |= {"rules": timed(by_rules), "ascending order": timed(ascending)}
    if args.angr.exists():
        methods["angr"] = by_angr(args.angr)
    else:
        print(f"angr skipped: there is no {args.angr} (see --help)", file=sys.stderr)

    pairs = islice(dataset.shipped(args.data).pairs(), args.count)
    programs = [Program(f"part{i}", assembly, c) for i, (assembly, c) in enumerate(pairs)]
    rows = {}
    for name, method in methods.items():
        rows[name] = scored(programs, method(programs))
        print(name, rows[name], file=sys.stderr, flush=True)
    if args.validation:
        rows["rules, validation split"] = rules_on(args.validation, args.data)
    table = Table(args.data, *COLUMNS, "s/function")
    for name, row in rows.items():
        shown = ("–" if row[column] is None else str(row[column]) for column in COLUMNS)
        table.add_row(f"{name} ({row['count']})", *shown, f"{row['seconds_per_function']:.4f}")
    Console().print(table)
    if args.out:
        about = provenance(torch.device("cpu"))
        result = {"data": args.data, "compiler": find_compiler()[1], "rows": rows, **about}
        kept = json.loads(args.out.read_text()) if args.out.exists() else {}
        args.out.write_text(json.dumps(kept | {args.data: result}, indent=1) + "\n")


if __name__ == "__main__":
    run(main)
