"""What docs/switch.md says of the switch data: lengths, tokens, labels, and the canonical form.

    for set in switch-6 switch-10 switch-20; do permnet data $set --generate DIR; done
    permnet data switch-6 --labels raw --generate DIR
    python -m benchmarks.switch_data DIR [--out results/switch-data.json]

Lengths are those of the training splits. Which numbers a vocabulary should leave out is looked at
on the validation splits, and what that means for the test splits is told for the limit in use
alone. The canonical form is tried with gcc: test examples compiled again, and programs one or two
edits apart.
"""

import argparse
import json
import re
from collections.abc import Iterator, Sequence
from itertools import chain, pairwise
from pathlib import Path
from typing import Any

import numpy as np
import torch

from benchmarks.command import positive, run
from permnet.provenance import provenance
from permnet.tasks.switch.assembly import renumbered
from permnet.tasks.switch.canonical import canonical, parse
from permnet.tasks.switch.compiler import BATCH, assemble, find_compiler
from permnet.tasks.switch.ctokens import layout
from permnet.tasks.switch.dataset import (
    CORE,
    LEAST,
    Labels,
    SwitchSplit,
    file_name,
    load,
    vocabulary,
)
from permnet.tasks.switch.draw import Draw
from permnet.tasks.switch.expressions import OutsideDomainError
from permnet.tasks.switch.generate import RESERVED
from permnet.tasks.switch.program import sample
from permnet.tasks.switch.reading import MEANS, as_read
from permnet.tasks.switch.terse import terse
from permnet.tasks.switch.tree import tokens
from permnet.vocab import SPECIALS
from tests.neighbours import edited

DATA: tuple[tuple[str, Labels], ...] = (*((name, "shuffled") for name in CORE), ("switch-6", "raw"))
LIMITS = (50, 100, 200, LEAST, 500, 1000)
ROOM = 500
"""Reserved ids, so that none is short with any limit: how many are lent is what is asked."""
EDITS = 90  # programs that are tried around each drawn one

NUMBER = re.compile(r"-?\d+", re.ASCII)
LABEL = re.compile(r"\.L\d+", re.ASCII)
Program = tuple[str, ...]


def lengths(train: SwitchSplit) -> dict[str, Any]:
    """Median, 99th percentile and longest, in tokens; and how many numbers there are."""
    sides = {"assembly": train.inputs.lengths, "c": train.targets.lengths}
    return {
        side: [round(float(np.percentile(found, share))) for share in (50, 99, 100)]
        for side, found in sides.items()
    } | {"numbers": sum(NUMBER.fullmatch(token) is not None for token in train.tokens)}


def literal(split: SwitchSplit) -> float:
    """The share of the numbers in C that stand in the assembly."""
    there = total = 0
    for assembly, c in split.pairs():
        asked = {*assembly}
        numbers = [token for token in c if NUMBER.fullmatch(token)]
        there += sum(token in asked for token in numbers)
        total += len(numbers)
    return there / total


def unseen(train: SwitchSplit, split: SwitchSplit, least: int) -> dict[str, Any]:
    """What a vocabulary without numbers that occur less often means for the outputs of a split."""
    vocab = vocabulary(train, ROOM, least)
    inputs, targets, lent = split.encoded(vocab)
    outside = copied = 0
    for asked, answer in zip(inputs, targets, strict=True):
        rare = {*answer[(answer >= len(SPECIALS)) & (answer < vocab.first_token)].tolist()}
        outside += bool(rare)
        copied += bool(rare) and rare <= {*asked.tolist()}
    return {
        "least": least,
        "tokens": len(vocab.tokens),
        "outputs": outside,
        "all_stand_in_the_assembly": copied,
        "most_lent": max(map(len, lent)),
        "count": len(split),
    }


def spelled_labels(split: SwitchSplit) -> dict[str, int]:
    """Functions that lack a label in their assembly, before and after it is read."""
    counts = {"lacking": 0, "lacking_as_read": 0, "more_than_labels": 0, "count": len(split)}
    for assembly, c in split.pairs():
        labels = {c[i + 1] for i, token in enumerate(c) if token == "case"}
        read = as_read(assembly)[0]
        counts["lacking"] += not labels <= {*assembly}
        counts["lacking_as_read"] += not labels <= {*read}
        counts["more_than_labels"] += not set(_behind_marks(read)) <= labels
    return counts


def _behind_marks(read: Sequence[str]) -> Iterator[str]:
    said = False
    for token in read:
        said = token == MEANS or (said and NUMBER.fullmatch(token) is not None)
        if said and token != MEANS:
            yield token


def bare_returns(split: SwitchSplit) -> dict[str, int]:
    """Functions with a `return` of nothing whose jumps, as models say them, stand in order."""
    counts = {"functions": 0, "in_order": 0, "count": len(split)}
    for assembly, c in split.pairs():
        if c[0] != "void" or "return" not in c:
            continue
        said = terse(c, as_read(assembly)[0])
        following = [*said[1:], ""]
        jumps = [
            token
            for token, after in zip(said, following, strict=True)
            if LABEL.fullmatch(token) and after not in (":", ",")
        ]
        targets = iter(b for a, b in pairwise(assembly) if a == "jmp")
        counts["functions"] += 1
        counts["in_order"] += all(jump in targets for jump in jumps)
    return counts


def compiled(programs: Sequence[Program]) -> list[Program | None]:
    """Their assembly, labels renumbered."""
    made = chain.from_iterable(
        assemble([layout(list(program)) for program in programs[i : i + BATCH]])
        for i in range(0, len(programs), BATCH)
    )
    return [None if one is None else tuple(renumbered(chain.from_iterable(one))) for one in made]


def recompiled(split: SwitchSplit) -> dict[str, int]:
    """How many of the examples' C give the assembly they were made from, label names aside."""
    pairs = list(split.pairs())
    made = compiled([tuple(c) for _, c in pairs])
    same = sum(
        found == tuple(renumbered(assembly))
        for found, (assembly, _) in zip(made, pairs, strict=True)
    )
    return {"same": same, "count": len(pairs)}


def neighbours(drawn: int) -> dict[str, int]:
    """Around each of so many programs: do different canonical forms share their assembly, and does
    C that is brought to the canonical form keep its own?"""
    counts = dict.fromkeys(("programs", "forms", "shared", "rewritten", "changed"), 0)
    for number in range(drawn):
        draw = Draw(f"switch-data/{number}")
        base = tuple(tokens(sample([*CORE.values()][number % len(CORE)], draw)))
        form_of = dict(_forms(base, draw))
        programs = sorted({*form_of, *form_of.values()})
        made = dict(zip(programs, compiled(programs), strict=True))
        forms = {*form_of.values()}
        counts["programs"] += 1
        counts["forms"] += len(forms)
        counts["shared"] += len(forms) - len({made[form] for form in forms})
        for program, form in form_of.items():
            if program != form and _ends(program) == _ends(form):
                counts["rewritten"] += 1
                counts["changed"] += made[program] != made[form]
    return counts


def _forms(base: Program, draw: Draw) -> Iterator[tuple[Program, Program]]:
    """A program and others one or two edits away, with their canonical forms."""
    yield base, base
    for number in range(EDITS):
        changed = edited(list(base), draw)
        if number % 2:
            changed = edited(changed, draw)
        try:
            yield tuple(changed), tuple(tokens(canonical(parse(layout(changed)))))
        except OutsideDomainError:
            continue


def _ends(program: Program) -> list[str]:
    """Where these differ gcc may write a `nop` more or less."""
    return [token for token in program if token in ("break", "return")]


def measure_set(folder: Path, name: str, labels: Labels) -> dict[str, Any]:
    path = folder / file_name(name, labels, "train")
    train = load(path)
    validation, test = (load(folder / file_name(name, labels, s)) for s in ("validation", "test"))
    known = {"compiler": train.compiler, "sha256": {s.split: s.sha256 for s in (validation, test)}}
    assert json.loads((folder / f"{name}-{labels}-vocab.json").read_text()) == (
        vocabulary(train, RESERVED).to_json()
    )
    return known | {
        "bytes": path.stat().st_size,
        "lengths": lengths(train),
        "literal": literal(test),
        "limits": [unseen(train, validation, least) for least in LIMITS],
        "unseen": unseen(train, test, LEAST),
        "spelled": spelled_labels(validation),
        "bare_returns": bare_returns(validation),
        "recompiled": recompiled(test),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, help="where `permnet data … --generate` put them")
    parser.add_argument("--drawn", type=positive, default=600, help="programs looked around")
    parser.add_argument("--out", type=Path)
    args = parser.parse_args()
    result: dict[str, Any] = {"what": "switch-data", "compiler": find_compiler()[1], "sets": {}}
    for name, labels in DATA:
        row = measure_set(args.folder, name, labels)
        result["sets"][name if labels == "shuffled" else f"{name}-{labels}"] = row
        print(name, labels, json.dumps(row), flush=True)
    result["neighbours"] = neighbours(args.drawn)
    print(json.dumps(result["neighbours"]), flush=True)
    if args.out:
        text = json.dumps(result | provenance(torch.device("cpu")), indent=1)
        args.out.write_text(text + "\n")


if __name__ == "__main__":
    run(main)
