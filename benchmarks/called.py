"""What becomes of functions that call what the training data do not: how many are verified.

    python -m benchmarks.called [--limit 40] [--functions 200] [--out results/called.json]

Out of the shipped test functions, as `permnet decompile` answers them: those that call one of
types that the training data have for none, declared by hand; those whose callees have other names
and are declared by `--guess`, from each function alone; and those that stand in their file below
what they call, where gcc keeps the stack otherwise.
"""

import argparse
import json
from collections.abc import Iterable
from itertools import islice
from pathlib import Path
from typing import Any

import torch
from rich.console import Console
from rich.table import Table

from benchmarks.command import positive, run
from benchmarks.mutations import compiled
from permnet.decompiling.callees import guessed
from permnet.decompiling.machine import knows_callees, verified
from permnet.decompiling.pipeline import Pipeline
from permnet.decompiling.toolchain import Compiler, definitions, prototypes
from permnet.provenance import provenance
from permnet.tasks.switch.compiler import find_compiler
from permnet.tasks.switch.ctokens import PRELUDE, lex
from permnet.tasks.switch.dataset import CORE, shipped

OTHER_TYPES = (  # in whose place, and what is called there
    ("g0", "int other(char);"),
    ("g0", "int other(long);"),
    ("g0", "long other(int);"),
    ("g0", "char other(int);"),
    ("g1", "long other(int, int);"),
    ("g1", "int other(int, char);"),
    ("g2", "int other(long);"),
    ("g2", "long other(char);"),
    ("h0", "int other(void);"),
    ("h1", "void other(char);"),
    ("h1", "void other(long);"),
    ("h2", "void other(int, long);"),
    ("h2", "void other(long, int);"),
)
OTHER_NAMES = {name: f"call_{name}" for name in prototypes(PRELUDE)}
C = list[str]


def programs(name: str) -> Iterable[C]:
    return (c for _, c in shipped(name).pairs())


def calling(c: C, names: dict[str, str]) -> C:
    return [names.get(token, token) for token in c]


def other_types(pipeline: Pipeline, limit: int) -> dict[str, Any]:
    """Functions of switch-6 in which one of those they call has other types, and says so."""
    rows = []
    for instead, declared in OTHER_TYPES:
        found = islice((c for c in programs("switch-6") if instead in c), limit)
        ours = [calling(c, {instead: "other"}) for c in found]
        compiler = Compiler().declaring(declared)
        answers = with_compiler(pipeline, compiler).each(compiled(ours, prelude=compiler.prelude))
        row = {"in_place_of": instead, "declared": declared, "count": len(ours)}
        rows.append(row | {"verified": sum(answer.verified for answer in answers)})
    return totals(rows)


def guesses(pipeline: Pipeline, limit: int) -> dict[str, Any]:
    """Functions whose callees nobody declares, each by itself."""
    declared = " ".join(calling(lex(PRELUDE), OTHER_NAMES))
    rows = []
    for name in CORE:
        ours = [
            calling(c, OTHER_NAMES)
            for c in islice(programs(name), limit)
            if OTHER_NAMES.keys() & set(c)
        ]
        right = 0
        for function in compiled(ours, prelude=declared):
            told = guessed([function], ())
            compiler = Compiler().declaring(" ".join(told.values()))
            (answer,) = with_compiler(pipeline, compiler).each([function])
            right += answer.verified
        rows.append({"set": name, "count": len(ours), "verified": right})
    return totals(rows)


def below(pipeline: Pipeline, limit: int) -> dict[str, Any]:
    """Functions below others under the names of what they call, which do nothing."""
    rows = []
    for name in CORE:
        ours = list(islice(programs(name), limit))
        above = definitions(PRELUDE)
        text, objects = compiled(ours, "-S", above), compiled(ours, "-c", above)
        answers = pipeline.each(text)
        rows.append(
            {
                "set": name,
                "count": len(ours),
                "on_another_stack": sum(map(knows_callees, text)),
                "true_c_verified": sum(verified(list(zip(ours, text, strict=True)), Compiler())),
                "true_c_verified_in_objects": sum(
                    verified(list(zip(ours, objects, strict=True)), Compiler())
                ),
                "verified": sum(answer.verified for answer in answers),
            }
        )
    return totals(rows)


def with_compiler(pipeline: Pipeline, compiler: Compiler) -> Pipeline:
    return Pipeline(pipeline.answerer, pipeline.n_best, compiler, pipeline.others)


def totals(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """The rows, and the sums of what they count."""
    counted = [name for name, value in rows[0].items() if isinstance(value, int)]
    return {"rows": rows, **{name: sum(row[name] for row in rows) for name in counted}}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--limit", type=positive, default=40, help="for each prototype (40)")
    parser.add_argument("--functions", type=positive, default=200, help="of each set (200)")
    parser.add_argument("--out", type=Path)
    args = parser.parse_args()
    torch.set_num_threads(1)
    pipeline = Pipeline.load()
    result: dict[str, Any] = {"what": "called", "compiler": find_compiler()[1]}
    result["other_types"] = other_types(pipeline, args.limit)
    result["guessed"] = guesses(pipeline, args.functions)
    result["below"] = below(pipeline, args.functions)
    table = Table("functions that call", "verified", "of")
    for what, label in (
        ("other_types", "one of other types"),
        ("guessed", "what is guessed"),
        ("below", "what stands above them"),
    ):
        table.add_row(label, str(result[what]["verified"]), str(result[what]["count"]))
    Console().print(table)
    if args.out:
        text = json.dumps(result | provenance(torch.device("cpu")), indent=1)
        args.out.write_text(text + "\n")


if __name__ == "__main__":
    run(main)
