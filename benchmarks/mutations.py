"""Are wrong answers ever marked verified? The true C of the shipped test sets, altered.

    python -m benchmarks.mutations [--count 1000] [--out results/verification.json]

Each alteration (two labels of different blocks swapped, a `break` moved, a number changed) is kept
only if the canonical form says that it is another program. None of them may verify, and all of the
unaltered must.
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

from permnet.decompiling.verify import verify
from permnet.provenance import provenance
from permnet.tasks.switch.canonical import OutsideDomainError, canonical, parse
from permnet.tasks.switch.compiler import find_compiler
from permnet.tasks.switch.ctokens import layout
from permnet.tasks.switch.dataset import SETS, shipped
from permnet.tasks.switch.draw import Draw
from permnet.tasks.switch.tree import tokens

TRIES = 20
BREAK = ["break", ";"]
Alteration = tuple[str, list[str], list[str], list[str]]
"""Its kind, the C after and before it, and the assembly."""


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
        for rows in zip(*(shipped(name).pairs() for name in SETS), strict=True)
        for pair in rows
    )
    for number, ((assembly, c), kind) in enumerate(
        zip(cycle(list(pairs)), cycle(KINDS), strict=False)
    ):
        draw = Draw(f"{seed}/{number}")
        for _ in range(TRIES):
            changed = KINDS[kind](c, draw)
            if is_another(c, changed):
                yield kind, changed, c, assembly
                break


def is_another(c: list[str], changed: list[str]) -> bool:
    try:
        return tokens(canonical(parse(layout(changed)))) != c
    except OutsideDomainError:
        return False


def measure(count: int) -> dict[str, Any]:
    began = time.perf_counter()
    rows = list(islice(alterations(), count))
    altered = verify([(changed, assembly) for _, changed, _, assembly in rows])
    unaltered = verify([(c, assembly) for _, _, c, assembly in rows])
    kinds = Counter(kind for kind, *_ in rows)
    wrong = Counter(kind for (kind, *_), verdict in zip(rows, altered, strict=True) if verdict)
    return {
        "what": "verification",
        "kinds": {kind: {"altered": kinds[kind], "verified": wrong[kind]} for kind in KINDS},
        "altered": {"count": len(rows), "verified": sum(altered)},
        "unaltered": {"count": len(rows), "verified": sum(unaltered)},
        "compiler": find_compiler()[1],
        "seconds": round(time.perf_counter() - began, 1),
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--out", type=Path)
    args = parser.parse_args()
    result = measure(args.count)
    print(json.dumps(result, indent=1))
    if args.out:
        text = json.dumps(result | provenance(torch.device("cpu")), indent=1)
        args.out.write_text(text + "\n")
    return 1 if result["altered"]["verified"] else 0


if __name__ == "__main__":
    raise SystemExit(main())
