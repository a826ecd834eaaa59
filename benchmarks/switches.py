"""Scores of what finds switches, on the real set: rules, model, both, ascending order, angr.

    python -m benchmarks.switches DIR [--proposers rules ascending] [--angr PYTHON] [--out FILE]
    python -m benchmarks.switches DIR --answers mine=answers.json
    python -m benchmarks.switches DIR --proposers rules angr --angr PYTHON --sample 40

DIR is the folder that benchmarks/realset.py made. Rules, model and both are what `permnet switches
--proposer … --json` answers on its object files; any other program's answers are read from a file
in that format. What counts as right is in benchmarks/switch_match.py and docs/switches-realset.md.
"""

import argparse
import json
import random
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks import switch_match as match
from benchmarks.command import positive, run
from benchmarks.switch_lines import Origin, origins
from permnet.errors import PermnetError
from permnet.provenance import provenance
from permnet.switches.intervals import runs

COMMAND = ("rules", "model", "both")  # proposers of `permnet switches`
PROPOSERS = (*COMMAND, "ascending", "angr")
# Which switches are counted, and how; docs/switches-realset.md defines the parts.
PARTS = ("told", "clean", "single", "scored")
# Verdicts by which the machine code is what an answer says, and no other statement's tests are in
# it: the dump's own partition, or what gcc made of it afterwards.
IN_CODE = ("right", "joined", "parted")

MANY = 6  # runs of neighbouring labels in an answer, beyond which their number is not told apart

Answers = dict[tuple[str, str], list[dict[str, Any]]]  # (object file, function) → switches


@dataclass(frozen=True)
class Judged:
    """One true switch and what became of it."""

    record: dict[str, Any]
    true: dict[str, Any]
    answer: dict[str, Any] | None
    origin: Origin | None = None  # at -O2, if the object has lines

    def holds(self, check: Callable[[dict[str, Any], dict[str, Any]], bool]) -> bool:
        return self.answer is not None and check(self.true, self.answer)

    @property
    def proven(self) -> bool:
        return self.answer is not None and self.answer.get("status") == "proven"

    @property
    def verdict(self) -> str:
        """What the lines say of an answer: `right`, or why it is not the dump's partition."""
        if self.answer is None:
            return "unanswered"
        if match.same_partition(self.true, self.answer):
            return "right"
        return self.origin.verdict(self.true, self.answer) if self.origin else "unknown"

    def where(self) -> str:
        record = self.record
        return f"{record['object']} {record['function']} line {self.true['line']}"


def read(folder: Path) -> list[dict[str, Any]]:
    path = folder / "switches.jsonl"
    if not path.is_file():
        raise PermnetError(f"{path} is not there: make it with python -m benchmarks.realset")
    return [json.loads(line) for line in path.read_text().splitlines()]


def sampled(records: list[dict[str, Any]], count: int) -> list[dict[str, Any]]:
    """So many functions of each way of compiling, the same each time."""
    found = []
    for way in dict.fromkeys(record["way"] for record in records):
        of_way = [r for r in records if r["way"] == way and any(s["scored"] for s in r["switches"])]
        found += random.Random(0).sample(of_way, min(count, len(of_way)))
    return found


def indexed(answers: dict[str, Any], folder: Path) -> Answers:
    """Answers in the order of their addresses, by object file and function."""
    found: Answers = {}
    for function in answers["functions"]:
        path = Path(function["file"])
        path = path.resolve() if path.is_absolute() else (folder / path).resolve()
        if not path.is_relative_to(folder):
            continue
        place = (str(path.relative_to(folder)), function["name"])
        usable = [switch for switch in function["switches"] if switch.get("blocks")]
        found[place] = sorted(usable, key=lambda switch: switch.get("address") or 0)
    return found


def judged(records: list[dict[str, Any]], answers: Answers, folder: Path) -> Iterator[Judged]:
    """Every true switch that counts, with the answer meant for it."""
    known = _origins(records, answers, folder)
    for record in records:
        given = answers.get((record["object"], record["function"]), [])
        origin = known.get((record["object"], record["function"]))
        true = record["switches"]
        pairs = _paired(true, given, origin, record["way"])
        for switch, at in zip(true, pairs, strict=True):
            if switch["scored"]:
                yield Judged(record, switch, None if at is None else given[at], origin)


def _paired(
    true: list[match.Switch], given: list[match.Switch], origin: Origin | None, way: str
) -> list[int | None]:
    """The answer meant for each: at -O0, where code is not moved, by labels and order."""
    if way != "O2":
        return match.aligned(true, given)
    return match.pair(true, given, *([origin.may_be] if origin else []))


def _origins(
    records: list[dict[str, Any]], answers: Answers, folder: Path
) -> dict[tuple[str, str], Origin]:
    """Of each function whose tests have known places: those at -O2."""
    by_object: dict[str, dict[str, dict[str, Any]]] = {}
    for record in records:
        if "tests" in record and (record["object"], record["function"]) in answers:
            by_object.setdefault(record["object"], {})[record["function"]] = record
    found = {}
    for path, functions in by_object.items():
        places = {name: record["tests"] for name, record in functions.items()}
        given = {name: answers[path, name] for name in functions}
        for name, origin in origins(folder / path, places, given).items():
            found[path, name] = origin
    return found


def ascending(records: list[dict[str, Any]]) -> Answers:
    """Told which labels share a block, and no order: blocks by their labels, the default last."""

    def sorted_blocks(switch: dict[str, Any]) -> list[Any]:
        return [*sorted(b for b in switch["blocks"] if match.DEFAULT not in b), [match.DEFAULT]]

    return {
        (record["object"], record["function"]): [
            {"blocks": sorted_blocks(switch)} for switch in record["switches"]
        ]
        for record in records
    }


def scores(found: list[Judged]) -> dict[str, Any]:
    """Counts by way of compiling and part of the set."""
    shown: dict[str, Any] = {}
    for way in dict.fromkeys(one.record["way"] for one in found):
        of_way = [one for one in found if one.record["way"] == way]
        if way == "O2":
            shown[way] = {"scored": _optimised(of_way)}
        else:
            shown[way] = {part: _plain([one for one in of_way if one.true[part]]) for part in PARTS}
    return shown


def _plain(found: list[Judged]) -> dict[str, int]:
    right = [one for one in found if one.holds(match.in_order_but_for_empty)]
    return {
        "switches": len(found),
        "answered": sum(one.answer is not None for one in found),
        "in_order": sum(one.holds(match.in_order) for one in found),
        "with_default": sum(one.holds(match.with_default) for one in found),
        "partition": sum(one.holds(match.same_partition) for one in found),
        "right": len(right),
        "proven": sum(one.proven for one in found),
        "proven_and_right": sum(one.proven for one in right),
    }


def _optimised(found: list[Judged]) -> dict[str, int]:
    right = [one for one in found if one.holds(match.same_partition)]
    return {
        "switches": len(found),
        "answered": sum(one.answer is not None for one in found),
        "partition": len(right),
        "proven": sum(one.proven for one in found),
        "proven_and_right": sum(one.proven for one in right),
        "proven_and_right_in_code": sum(one.proven and one.verdict in IN_CODE for one in found),
    }


def wrong_but_proven(found: list[Judged]) -> list[dict[str, Any]]:
    """Each answer that was marked proven and is not what gcc's own dump says."""
    return [
        {
            "where": one.where(),
            "way": one.record["way"],
            "difference": match.difference(one.true, one.answer),
            "verdict": one.verdict,
            "true": one.true["blocks"],
            "answered": one.answer["blocks"],
        }
        for one in found
        if one.answer is not None and one.proven and not one.holds(match.same_partition)
    ]


def precision(
    records: list[dict[str, Any]], answers: Answers, folder: Path
) -> dict[str, dict[str, list[int]]]:
    """By way of compiling and number of runs of neighbouring labels: proven answers, and switches.

    What is proven counts as a switch if it is paired with one of gcc's dump, scored or not.
    """
    known = _origins(records, answers, folder)
    true = {(one["object"], one["function"]): one["switches"] for one in records}
    shown: dict[str, dict[str, list[int]]] = {}
    for place, given in sorted(answers.items()):
        origin = known.get(place)
        of_place = true.get(place, [])
        way = Path(place[0]).parts[2]
        pairs = _paired(of_place, given, origin, way)
        rows = shown.setdefault(way, {})
        for at, answer in enumerate(given):
            if answer["status"] == "proven":
                count = sum(len(runs(b)) for b in answer["blocks"] if match.DEFAULT not in b)
                row = rows.setdefault(f"{MANY} or more" if count >= MANY else str(count), [0, 0])
                row[0] += 1
                row[1] += at in pairs
    return shown


def only(found: list[Judged], others: list[Judged]) -> dict[str, list[str]]:
    """Where the first is right and the second is not: proven in the code, or with the default."""
    rights: dict[str, Callable[[Judged], bool]] = {
        "proven_and_right_in_code": lambda one: one.proven and one.verdict in IN_CODE,
        "clean_with_default": lambda one: (
            bool(one.true.get("clean")) and one.holds(match.with_default)
        ),
    }
    return {
        name: [a.where() for a, b in zip(found, others, strict=True) if right(a) and not right(b)]
        for name, right in rights.items()
    }


def from_command(proposer: str, folder: Path) -> dict[str, Any]:
    command = [sys.executable, "-m", "permnet", "switches", str(folder / "objects"), "--json"]
    done = subprocess.run(
        [*command, "--proposer", proposer], capture_output=True, text=True, check=False
    )
    if not done.stdout.strip():
        raise PermnetError(f"permnet switches --proposer {proposer}: {done.stderr.strip()}")
    return json.loads(done.stdout)


def from_angr(python: str, records: list[dict[str, Any]], folder: Path) -> dict[str, Any]:
    asked: dict[str, list[str]] = {}
    for record in records:
        asked.setdefault(str(folder / record["object"]), []).append(record["function"])
    script = str(Path(__file__).with_name("switches_angr.py"))
    try:
        done = subprocess.run(
            [python, script], input=json.dumps(asked), stdout=subprocess.PIPE, text=True, check=True
        )
    except (OSError, subprocess.CalledProcessError) as error:
        raise PermnetError(f"angr could not be run by {python}: {error}") from error
    return json.loads(done.stdout)


def table(rows: dict[str, dict[str, Any]]) -> str:
    """Percentages for people to read; the counts are in the file."""
    lines = []
    for way, part in (
        ("O0", "clean"), ("O0", "told"), ("O0-no-tables", "clean"), ("O0-no-tables", "told"),
        ("O0", "single"), ("O0", "scored"), ("O0-no-tables", "scored"), ("O2", "scored"),
    ):  # fmt: skip
        for name, ways in rows.items():
            counts = ways.get(way, {}).get(part)
            if not counts or not counts["switches"]:
                continue
            total = counts["switches"]
            shown = (
                f"{key} {100 * n / total:.1f}" for key, n in counts.items() if key != "switches"
            )
            lines.append(f"{way:<13}{part:<7}{name:<10} n={total:<5}" + "  ".join(shown))
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--proposers", nargs="*", choices=PROPOSERS, default=["rules", "ascending"])
    parser.add_argument("--answers", nargs="+", default=[], metavar="NAME=FILE")
    parser.add_argument("--angr", metavar="PYTHON", help="a Python that has angr")
    parser.add_argument("--sample", type=positive, metavar="N", help="N functions of each way only")
    parser.add_argument("--out", type=Path, help="write counts and cases there")
    args = parser.parse_args()
    folder = args.folder.resolve()
    records = read(folder)
    if args.sample is not None:
        records = sampled(records, args.sample)
    seconds: dict[str, float] = {}
    found: dict[str, list[Judged]] = {}
    precise: dict[str, Any] = {}
    for name in args.proposers:
        start = time.monotonic()
        if name == "ascending":
            answers = ascending(records)
        elif name == "angr" and args.angr is None:
            print("angr is left out: name a Python that has it with --angr", file=sys.stderr)
            continue
        elif name == "angr":
            answers = indexed(from_angr(args.angr, records, folder), folder)
        else:
            answers = indexed(from_command(name, folder), folder)
        seconds[name] = round(time.monotonic() - start, 1)
        found[name] = [*judged(records, answers, folder)]
        if name in COMMAND and args.sample is None:
            precise[name] = precision(records, answers, folder)
    for given in args.answers:
        name, _, path = given.partition("=")
        answers = indexed(json.loads(Path(path).read_text()), folder)
        found[name] = [*judged(records, answers, folder)]
    rows = {name: scores(ones) for name, ones in found.items()}
    wrong = {name: wrong_but_proven(ones) for name, ones in found.items()}
    print(table(rows))
    for name, ways in precise.items():
        for way, counts in ways.items():
            told = "  ".join(
                f"{key}: {right}/{count}" for key, (count, right) in sorted(counts.items())
            )
            print(f"{way:<13}{name}: switches among the proven, by runs of labels  {told}")
    for name, listed in wrong.items():
        kinds = Counter(f"{one['way']} {one['verdict']}" for one in listed)
        print(f"{name}: {len(listed)} proven and not what the dump says {dict(kinds)}")
        for one in listed:
            print(f"  {one['where']} ({one['difference']}, {one['verdict']})")
            print(f"    true     {one['true']}\n    answered {one['answered']}")
    if args.out:
        import torch

        about = provenance(torch.device("cpu"))
        result: dict[str, Any] = {
            "sample": args.sample,
            "scores": rows,
            "seconds": seconds,
            "proven_and_switches_by_runs_of_labels": precise,
            "wrong_but_proven": wrong,
        }
        for name, other in (("model", "rules"), ("rules", "model"), ("both", "rules")):
            if {name, other} <= found.keys():
                result[f"{name}_and_not_{other}"] = only(found[name], found[other])
        args.out.write_text(json.dumps({**result, "provenance": about}, indent=1) + "\n")


if __name__ == "__main__":
    run(main)
