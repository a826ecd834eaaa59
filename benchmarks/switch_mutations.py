"""Altered claims against the proof: every one has to be rejected.

    python -m benchmarks.switch_mutations FILE… [--count 1000] [--out results/switch-mutations.json]

Claims that are proven are altered: a label moved to another block, dropped or added, two blocks
exchanged, a block or the default sent elsewhere, a second place of the default left out, the width,
the place or the offset of the value changed. The claims come from the files given, programs or
objects; any will do.
"""

import argparse
import json
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from random import Random

import torch

from benchmarks.command import positive, run
from permnet.binary import open_binary
from permnet.binary.operands import Memory, Register
from permnet.errors import PermnetError
from permnet.provenance import provenance
from permnet.switches.claim import Block, Claim
from permnet.switches.contents import UnprovenError
from permnet.switches.find import find_switches
from permnet.switches.graph import Graph
from permnet.switches.intervals import numbers, runs
from permnet.switches.proof import prove

KINDS = ("move", "drop", "add", "exchange", "retarget", "default", "width", "place")
KINDS += ("copy", "offset")


def altered(claim: Claim, kind: str, random: Random) -> Claim | None:
    """A claim that says something else; None if this one cannot be altered so."""
    blocks = list(claim.blocks)
    i = random.randrange(len(blocks))
    values = numbers(blocks[i].values)
    value = random.choice(values)
    last = (1 << claim.scrutinee.bits) - 1
    match kind:
        case "move" if len(blocks) > 1:
            j = random.choice([k for k in range(len(blocks)) if k != i])
            blocks[j] = Block(blocks[j].target, runs([*numbers(blocks[j].values), value]))
            blocks[i] = Block(blocks[i].target, runs(v for v in values if v != value))
            return replace(claim, blocks=tuple(b for b in blocks if b.values))
        case "drop":
            blocks[i] = Block(blocks[i].target, runs(v for v in values if v != value))
            return replace(claim, blocks=tuple(b for b in blocks if b.values))
        case "add":
            taken = [part for b in (*blocks, *claim.copies) for part in b.values]
            near = (value - 1, value + 1, random.randrange(last + 1))
            inside = [v for v in near if 0 <= v <= last]
            free = [v for v in inside if not any(low <= v <= high for low, high in taken)]
            if not free:
                return None
            blocks[i] = Block(blocks[i].target, runs([*values, random.choice(free)]))
            return replace(claim, blocks=tuple(blocks))
        case "exchange" if len(blocks) > 1:
            j = random.choice([k for k in range(len(blocks)) if k != i])
            blocks[i], blocks[j] = (
                replace(blocks[i], target=blocks[j].target),
                replace(blocks[j], target=blocks[i].target),
            )
            return replace(claim, blocks=tuple(blocks))
        case "retarget":
            blocks[i] = replace(blocks[i], target=blocks[i].target + random.choice((-1, 1, 4096)))
            return replace(claim, blocks=tuple(blocks))
        case "default" if claim.default is not None:
            return replace(claim, default=claim.default + random.choice((-1, 1, 4096)))
        case "copy" if claim.copies:
            return replace(claim, copies=claim.copies[1:])
        case "offset":
            moved = claim.scrutinee.offset + random.choice((-1, 1, 128))
            return replace(claim, scrutinee=replace(claim.scrutinee, offset=moved))
        case "width":
            bits = random.choice([b for b in (8, 16, 32, 64) if b != claim.scrutinee.bits])
            return replace(claim, scrutinee=replace(claim.scrutinee, bits=bits))
        case "place":
            place = claim.scrutinee.place
            if isinstance(place, Memory):
                place = replace(place, displacement=place.displacement + 64)
            else:
                place = Register(
                    {64: "r11", 32: "r11d", 16: "r11w", 8: "r11b"}[claim.scrutinee.bits]
                )
            return replace(claim, scrutinee=replace(claim.scrutinee, place=place))
    return None


def proven(paths: list[Path]) -> Iterator[tuple[Graph, Claim]]:
    for path in paths:
        try:
            with open_binary(path) as binary:
                for function in binary.functions():
                    for switch in find_switches(function):
                        if switch.claim and switch.status == "proven":
                            yield Graph(function), switch.claim
        except PermnetError as error:
            raise PermnetError(f"{path}: {error}") from error


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--count", type=positive, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path)
    args = parser.parse_args()
    start = time.monotonic()
    claims = list(proven(args.files))
    if not claims:
        raise PermnetError("no switch is proven in any of these files: name others")
    random = Random(args.seed)
    tried: Counter[str] = Counter()
    accepted = []
    while sum(tried.values()) < args.count:
        graph, claim = random.choice(claims)
        kind = random.choice(KINDS)
        wrong = altered(claim, kind, random)
        if wrong is None or wrong == claim:
            continue
        tried[kind] += 1
        try:
            prove(graph, wrong)
        except UnprovenError:
            continue
        accepted.append({"function": graph.function.name, "kind": kind, "start": claim.start})
    shown = {
        "claims": len(claims),
        "altered": sum(tried.values()),
        "rejected": sum(tried.values()) - len(accepted),
        "by_kind": dict(sorted(tried.items())),
        "accepted": accepted,
        "seed": args.seed,
        "seconds": round(time.monotonic() - start, 1),
    }
    print(json.dumps(shown, indent=1))
    if args.out:
        shown["provenance"] = provenance(torch.device("cpu"))
        args.out.write_text(json.dumps(shown, indent=1) + "\n")


if __name__ == "__main__":
    run(main)
