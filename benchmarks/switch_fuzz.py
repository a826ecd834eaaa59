"""Drawn switches, compiled in many ways: does what is proven say what the source says?

    python -m benchmarks.switch_fuzz [--count 2000] [--seed 0] [--show] [--out FILE]

Functions are drawn as C (benchmarks/switch_fuzz_source.py), compiled with gcc and clang at several
levels, and `permnet switches` is asked. Every answer that is proven and does not send the labels
where the source does is listed: a proof that proves too little, found without spending packages.
"""

import argparse
import json
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks import switch_match as match
from benchmarks.command import positive, run
from benchmarks.switch_fuzz_source import PRELUDE, Drawn, sample
from permnet.binary import open_binary
from permnet.switches.find import find_switches
from permnet.tasks.switch.compiler import compile_c, find_compiler
from permnet.tasks.switch.draw import Draw

BATCH = 25  # functions compiled at once
COMPILERS = ("gcc", "clang-14")
LEVELS = ("-O0", "-O1", "-O2", "-O3", "-Os")
EXTRAS = ((), (), (), ("-fno-jump-tables",), ("-march=haswell",), ("-fPIC",), ("-fno-pic",))

Way = tuple[str, ...]  # a compiler and its flags


@dataclass(frozen=True)
class Found:
    """A true switch, the proven answer meant for it if there is one, and what it is worth."""

    name: str
    way: Way
    source: str
    true: dict[str, Any]
    answer: dict[str, Any] | None
    verdict: str


def verdict(drawn: Drawn, true: dict[str, Any], answer: dict[str, Any] | None) -> str:
    """`right`; `parted` if a block is several; `explained` by other tests of the value; `wrong`."""
    if answer is None:
        return "unanswered"
    if true["unreachable"]:  # all other values may be led anywhere
        return "right" if _tells_apart(true, answer) else "wrong"
    if match.same_partition(true, answer):
        return "right"
    if match.same_partition(_without_exits(true), answer):
        return "right"  # a block that does nothing, of which some labels were joined to the default
    same = match.labels(answer, true["bits"]) == match.labels(true, true["bits"])
    if same and match.difference(true, answer) == "finer":
        return "parted"
    others = {match.narrowed(other, true["bits"]) for other in drawn.others}
    others |= _elsewhere(drawn, true)
    kept = {"blocks": [*map(list, _without(match.groups(answer, true["bits"]), others))]}
    pairs = zip(true["blocks"], true["goes"], strict=True)
    rest = [([x for x in block if x not in others], goes) for block, goes in pairs]
    left = {**true, "blocks": [b for b, _ in rest if b], "goes": [g for b, g in rest if b]}
    return "explained" if others and match.same_partition(left, kept) else "wrong"


def _tells_apart(true: dict[str, Any], answer: dict[str, Any]) -> bool:
    """Whether no labels that do different things are said to lead to one block."""
    bits = true["bits"]
    goes = {
        match.narrowed(label, bits): way
        for block, way in zip(true["blocks"], true["goes"], strict=True)
        for label in block
        if label != match.DEFAULT
    }
    return all(
        len({goes[label] for label in group & goes.keys()}) <= 1
        for group in match.groups(answer, bits)
    )


def _without_exits(true: dict[str, Any]) -> dict[str, Any]:
    """With a block for each label whose block does what is done without one."""
    parted = []
    for block, goes in zip(true["blocks"], true["goes"], strict=True):
        single = goes == true["exit"] and match.DEFAULT not in block
        parted += [([label], goes) for label in block] if single else [(block, goes)]
    return {**true, "blocks": [one for one, _ in parted], "goes": [goes for _, goes in parted]}


def _elsewhere(drawn: Drawn, true: dict[str, Any]) -> set[int]:
    """The labels of the function's other switches."""
    return {
        match.narrowed(label, true["bits"])
        for other in drawn.switches
        if other["blocks"] is not true["blocks"]
        for label in match.labels(other, other["bits"])
    } - match.labels(true, true["bits"])


def _without(groups: Sequence[frozenset[int]], others: set[int]) -> Iterator[frozenset[int]]:
    return (group - others for group in groups if group - others)


def way_of(number: int, seed: int) -> Way:
    """How a batch of functions is compiled."""
    draw = Draw(f"switch-fuzz/{seed}/way/{number}")
    return (draw.pick(COMPILERS), draw.pick(LEVELS), *draw.pick(EXTRAS))


def judged(names: Sequence[str], way: Way) -> Iterator[Found]:
    """What becomes of the switches of some functions, compiled together."""
    drawn = [sample(name) for name in names]
    text = [one.source.replace("int f(", f"int f{i}(", 1) for i, one in enumerate(drawn)]
    compiler, *flags = way
    with tempfile.TemporaryDirectory(prefix="permnet-") as folder:
        path = Path(folder, "out.o")
        path.write_bytes(compile_c("\n".join([PRELUDE, *text]), compiler, flags, "-c"))
        with open_binary(path) as binary:
            functions = {function.name: function for function in binary.functions()}
            for i, one in enumerate(drawn):
                if f"f{i}" not in functions:  # it is the same as another
                    continue
                switches = [s.to_json() for s in find_switches(functions[f"f{i}"])]
                given = [s for s in switches if s["blocks"] and s["status"] == "proven"]
                pairs = match.pair(one.switches, given)
                for true, at in zip(one.switches, pairs, strict=True):
                    answer = None if at is None else given[at]
                    told = verdict(one, true, answer)
                    yield Found(names[i], way, text[i], true, answer, told)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=positive, default=2000, help="functions")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--show", action="store_true", help="the source of what is wrong")
    parser.add_argument("--out", type=Path)
    args = parser.parse_args()
    start = time.monotonic()
    counts: dict[str, Counter[str]] = {}
    wrong: list[dict[str, Any]] = []
    for number in range(0, args.count, BATCH):
        names = [f"switch-fuzz/{args.seed}/{i}" for i in range(number, number + BATCH)]
        for found in judged(names, way_of(number // BATCH, args.seed)):
            key = " ".join(found.way[:2])
            counts.setdefault(key, Counter())[found.verdict] += 1
            if found.verdict == "wrong":
                assert found.answer is not None
                shown = {
                    "name": found.name,
                    "way": " ".join(found.way),
                    "true": found.true["blocks"],
                    "answered": found.answer["blocks"],
                    "address": hex(found.answer["address"]),
                }
                wrong.append(shown)
                print(*(f"{k}: {v}" for k, v in shown.items()), sep="\n  ")
                if args.show:
                    print(found.source)
    rows = {key: dict(sorted(told.items())) for key, told in sorted(counts.items())}
    total = sum(map(Counter, rows.values()), Counter[str]())
    print(json.dumps(rows, indent=1), dict(total))
    if args.out:
        import torch

        from permnet.provenance import provenance

        result = {
            "functions": args.count,
            "compilers": [find_compiler(name)[1] for name in COMPILERS],
            "verdicts": rows,
            "wrong": wrong,
            "seconds": round(time.monotonic() - start),
            "provenance": provenance(torch.device("cpu")),
        }
        args.out.write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    run(main)
