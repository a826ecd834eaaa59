"""What becomes of functions that were written by hand: how many come back as verified C.

    python -m benchmarks.handwritten [--models NAME…] [--out results/handwritten.json]

benchmarks/handwritten/ has three times 120 functions around one switch each, written as people
write them and by somebody who had not seen what the training data are drawn from. What is drawn was
widened after a look at the first 120, and nobody looked at the second before the model was trained;
by now they have been looked at, too, the third have not. They are compiled and decompiled as with
`permnet decompile --guess FILE.c`: as the package comes, and by each of its models alone.
"""

import argparse
import json
from collections import Counter
from pathlib import Path
from typing import Any

import torch
from rich.console import Console
from rich.table import Table

from benchmarks.command import run
from benchmarks.decompilers import spent
from permnet.decompiling.callees import guessed
from permnet.decompiling.pipeline import Decompiled, Pipeline, shipped_decompilers
from permnet.decompiling.source import read
from permnet.decompiling.toolchain import Compiler
from permnet.provenance import provenance
from permnet.tasks.switch.compiler import find_compiler

FOLDER = Path(__file__).parent / "handwritten"
FILES = {name: sorted((FOLDER / name).glob("*.c")) for name in ("first", "second", "third")}
WHAT = ("verified", "unverified", "refused")
SHIPPED = "as shipped"


def decompiled(which: str, model: str | None) -> list[Decompiled]:
    """What becomes of each function, file by file."""
    found = []
    for path in FILES[which]:
        functions = read(str(path), Compiler())
        guesses = guessed(functions, ())
        compiler = Compiler().declaring(" ".join(guesses.values()))
        found += Pipeline.load(model, compiler=compiler).each(functions)
    return found


def row(which: str, model: str | None) -> dict[str, Any]:
    began = spent()
    found = decompiled(which, model)
    seconds = spent() - began
    counts = Counter(
        "verified" if one.verified else "unverified" if one.error is None else "refused"
        for one in found
    )
    return {
        **{what: counts[what] for what in WHAT},
        "count": len(found),
        "seconds_per_function": round(seconds / len(found), 3),
        "names": sorted(one.name for one in found if one.verified),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--models", nargs="*", help="names or folders; the shipped ones")
    parser.add_argument("--out", type=Path)
    args = parser.parse_args()
    torch.set_num_threads(1)
    asked: dict[str, str | None] = {} if args.models else {SHIPPED: None}
    asked |= {Path(name).name: name for name in args.models or shipped_decompilers()}
    sets = {which: {name: row(which, model) for name, model in asked.items()} for which in FILES}
    table = Table("functions written by hand", "", *WHAT, "s/function")
    for which, rows in sets.items():
        for name, counts in rows.items():
            table.add_row(
                f"the {which} {counts['count']}",
                name,
                *(str(counts[what]) for what in WHAT),
                f"{counts['seconds_per_function']:.3f}",
            )
    Console().print(table)
    if args.out:
        about = provenance(torch.device("cpu"))
        result = {"compiler": find_compiler()[1], "sets": sets, **about}
        args.out.write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    run(main)
