"""How defaults are guessed where unoptimised code does not tell: one package left out at a time.

    python -m benchmarks.switch_defaults DIR… [--out results/switch-defaults.json]

Each DIR is a folder that benchmarks/realset.py made. Of its clean switches at -O0 those count whose
code does not tell whether a default is written. What is guessed then is what most switches of the
same kind have in the source (an assertion that fails, another call, no call), or first what most of
those of the same file have that call the same function and tell. The majorities of kinds are taken
from all packages, and from all but the one that is guessed at.
"""

import argparse
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks import switch_match as match
from benchmarks.command import run
from benchmarks.switches import read
from permnet.binary.binary import open_binary
from permnet.provenance import provenance
from permnet.switches.claim import Claim
from permnet.switches.default import FAILED, last_called, told_default
from permnet.switches.graph import Graph
from permnet.switches.regions import Region, Walker
from permnet.switches.rules import RefusedError, claims


@dataclass(frozen=True)
class Open:
    """A switch whose code does not tell, and what is known of it beside."""

    package: str
    kind: str
    votes: int  # of those that call the same function: in a default, less those behind a switch
    written: bool


def opens(folder: Path) -> Iterator[Open]:
    records: dict[str, dict[str, dict[str, Any]]] = {}
    for record in read(folder):
        if record["way"] == "O0":
            records.setdefault(record["object"], {})[record["function"]] = record
    for path, by_name in sorted(records.items()):
        votes: Counter[int] = Counter()
        found: list[tuple[str, int | None, str, bool]] = []
        with open_binary(folder / path) as binary:
            for function in binary.functions():
                graph = Graph(function)
                if not graph.is_unoptimised:
                    continue
                seen = [*_claims(graph)]
                record = by_name.get(function.name, {"switches": [], "package": ""})
                true = dict(_paired(record["switches"], [claim for claim, _ in seen]))
                for i, (claim, told) in enumerate(seen):
                    called = last_called(graph, claim.default or 0)
                    failed = called is not None and binary.name(called) == FAILED
                    if told is None and i in true:
                        kind = "no call" if called is None else "assertion" if failed else "call"
                        found.append((record["package"], called, kind, true[i]))
                    elif told is not None and called is not None and not failed:
                        votes[called] += 1 if told else -1
        for package, called, kind, written in found:
            counted = votes[called] if called is not None and kind == "call" else 0
            yield Open(package, kind, counted, written)


def _claims(graph: Graph) -> Iterator[tuple[Claim, bool | None]]:
    """In order of address, with what the code tells of the default."""
    for region in sorted(Walker(graph).regions(), key=lambda one: one.head.last.address):
        try:
            claim = next(claims(graph, region), None)
        except RefusedError:
            continue
        if claim:
            yield claim, _told(graph, region)


def _told(graph: Graph, region: Region) -> bool | None:
    default = region.default()
    if default is None:
        return False
    tests = {graph.block_of(test.last.address) for test in region.tests}
    return told_default(graph, tests, region.leaves().keys() - {default}, default)


def _paired(true: Sequence[dict[str, Any]], seen: Sequence[Claim]) -> Iterator[tuple[int, bool]]:
    """Of each answer that is a clean switch in order whether its default is written."""
    answers = [{"blocks": claim.labels()} for claim in seen]
    for switch, at in zip(true, match.aligned(true, answers), strict=True):
        if at is not None and switch["clean"] and match.in_order(switch, answers[at]):
            yield at, switch["default"]


def majorities(known: Iterable[Open], by_votes: bool) -> dict[str, bool]:
    """Of each kind whether most that votes do not decide have a default; so it is if none is."""
    counts: Counter[str] = Counter()
    for one in known:
        if not (by_votes and one.votes):
            counts[one.kind] += 1 if one.written else -1
    return {kind: counts[kind] >= 0 for kind in ("assertion", "call", "no call")}


def guess(one: Open, known: Iterable[Open], by_votes: bool) -> bool:
    return one.votes > 0 if by_votes and one.votes else majorities(known, by_votes)[one.kind]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folders", type=Path, nargs="+")
    parser.add_argument("--out", type=Path)
    args = parser.parse_args()
    sets = {folder.name: [*opens(folder.resolve())] for folder in args.folders}
    every = [one for found in sets.values() for one in found]
    result: dict[str, Any] = {}
    for name, found in sets.items():
        row: dict[str, int] = {"open": len(found)}
        for way, by_votes in (("kinds", False), ("votes", True)):
            row[f"{way}, in sample"] = sum(guess(x, every, by_votes) == x.written for x in found)
            row[f"{way}, left out"] = sum(
                guess(x, [y for y in every if y.package != x.package], by_votes) == x.written
                for x in found
            )
        voted = [one for one in found if one.votes]
        row["decided by votes"] = len(voted)
        row["of these right"] = sum((one.votes > 0) == one.written for one in voted)
        result[name] = row
        print(name, row)
    kinds = Counter(f"{x.kind}, {'default' if x.written else 'none'}" for x in every)
    print(dict(kinds))
    if args.out:
        import torch

        about = provenance(torch.device("cpu"))
        shown = {"sets": result, "kinds": dict(sorted(kinds.items())), "provenance": about}
        args.out.write_text(json.dumps(shown, indent=1) + "\n")


if __name__ == "__main__":
    run(main)
