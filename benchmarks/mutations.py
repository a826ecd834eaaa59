"""Are wrong answers ever marked verified? The true C of the shipped test sets, altered.

    python -m benchmarks.mutations [--count 1000] [--out results/verification.json]

Each alteration (two labels of different blocks swapped, a `break` moved, a number changed) is kept
only if the canonical form says that it is another program. None of them may verify, and all of the
unaltered must; as assembly, and as objects that are disassembled.
"""

import argparse
import json
import time
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import cycle, islice
from pathlib import Path
from typing import Any

import torch

from benchmarks.command import positive, run
from permnet.decompiling.machine import verified
from permnet.decompiling.source import disassembled
from permnet.decompiling.text import Function, functions
from permnet.decompiling.toolchain import Compiler
from permnet.provenance import provenance
from permnet.tasks.switch.canonical import canonical, parse
from permnet.tasks.switch.compiler import Stage, compile_c, find_compiler
from permnet.tasks.switch.ctokens import PRELUDE, layout, named
from permnet.tasks.switch.dataset import CORE, shipped
from permnet.tasks.switch.draw import Draw
from permnet.tasks.switch.expressions import OutsideDomainError
from permnet.tasks.switch.tree import tokens

TRIES = 20
BREAK = ["break", ";"]
Alteration = tuple[str, list[str], list[str]]
"""Its kind, and the C after and before it."""


def swap_labels(c: list[str], draw: Draw) -> list[str]:
    """Two `case` labels change places."""
    one, other = draw.distinct([i + 1 for i, token in enumerate(c) if token == "case"], 2)
    changed = list(c)
    changed[one], changed[other] = c[other], c[one]
    return changed


def move_break(c: list[str], draw: Draw) -> list[str]:
    """A `break` goes from one block to another, or goes, or comes."""
    labels = [i for i, token in enumerate(c) if token in ("case", "default")]
    ends = [i for i in labels if c[i - 1] in (";", "}")]  # of blocks but the last
    if not ends:
        return c
    taken, given = draw.pick(ends), draw.pick(ends)
    changed = list(c)
    for end in sorted({taken, given}, reverse=True):
        if changed[end - 2 : end] == BREAK:
            del changed[end - 2 : end]
        else:
            changed[end:end] = BREAK
    return changed


def change_number(c: list[str], draw: Draw) -> list[str]:
    at = draw.pick([i for i, token in enumerate(c) if token.lstrip("-").isdigit()])
    value = int(c[at])
    other = draw.pick((value - 1, value + 1, value + 10, -value, 2 * value + 3))
    return [*c[:at], str(other), *c[at + 1 :]]


KINDS: dict[str, Callable[[list[str], Draw], list[str]]] = {
    "swapped labels": swap_labels,
    "moved break": move_break,
    "changed number": change_number,
}


def alterations(seed: str = "mutations") -> Iterator[Alteration]:
    """Altered programs of all shipped sets and kinds in turn."""
    pairs = (
        pair
        for rows in zip(*(shipped(name).pairs() for name in CORE), strict=True)
        for pair in rows
    )
    for number, ((_, c), kind) in enumerate(zip(cycle(list(pairs)), cycle(KINDS), strict=False)):
        draw = Draw(f"{seed}/{number}")
        for _ in range(TRIES):
            changed = KINDS[kind](c, draw)
            if is_another(c, changed):
                yield kind, changed, c
                break


def is_another(c: list[str], changed: list[str]) -> bool:
    try:
        return tokens(canonical(parse(layout(changed)))) != c
    except OutsideDomainError:
        return False


def compiled(
    programs: list[list[str]], stage: Stage = "-S", prelude: str = PRELUDE
) -> list[Function]:
    """Programs as `permnet decompile` reads them, from one file below the prelude."""
    parts = (layout(named(c, f"part{i}")) for i, c in enumerate(programs))
    made = compile_c("\n".join([prelude, *parts]), stage=stage)
    found = functions(made.decode()) if stage == "-S" else disassembled(made)
    by_name = {function.name: function for function in found}
    return [by_name[f"part{i}"] for i in range(len(programs))]


def measure(count: int, stage: Stage) -> dict[str, Any]:
    began = time.perf_counter()
    kinds, changed, true = zip(*islice(alterations(), count), strict=True)
    read, compiler = compiled(list(true), stage), Compiler()
    altered = verified(list(zip(changed, read, strict=True)), compiler)
    unaltered = verified(list(zip(true, read, strict=True)), compiler)
    counts = Counter(kinds)
    wrong = Counter(kind for kind, verdict in zip(kinds, altered, strict=True) if verdict)
    return {
        "kinds": {kind: {"altered": counts[kind], "verified": wrong[kind]} for kind in KINDS},
        "altered": {"count": len(altered), "verified": sum(altered)},
        "unaltered": {"count": len(unaltered), "verified": sum(unaltered)},
        "seconds": round(time.perf_counter() - began, 1),
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=positive, default=1000)
    parser.add_argument("--out", type=Path)
    args = parser.parse_args()
    result: dict[str, Any] = {"what": "verification", "compiler": find_compiler()[1]}
    result |= {"assembly": measure(args.count, "-S"), "objects": measure(args.count, "-c")}
    print(json.dumps(result, indent=1))
    if args.out:
        text = json.dumps(result | provenance(torch.device("cpu")), indent=1)
        args.out.write_text(text + "\n")
    return int(any(result[kind]["altered"]["verified"] for kind in ("assembly", "objects")))


if __name__ == "__main__":
    run(main)
