"""Real switches with the truth beside them, out of Debian's source packages.

    python -m benchmarks.realset --out DIR [--set first] [--packages bzip2 lz4] [--results FILE]

Each package is fetched, built as it builds itself, and each of its C files compiled again with gcc
at -O0, at -O0 without jump tables, and at -O2. `DIR/switches.jsonl` then has a line for each
function with a switch and each way of compiling, and `DIR/objects` the object files that it names.
Labels are libclang's and gcc's own: where the two differ the switch is kept, marked, and not
scored. docs/switches-realset.md explains the fields. Nothing that was fetched is part of permnet.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

from benchmarks.command import positive, run
from benchmarks.realset_clang import SourceSwitch, source_switches
from benchmarks.realset_gcc import Dispatch, WrittenSwitch, lowered, written
from benchmarks.realset_packages import (
    SETS,
    Archive,
    Package,
    Unit,
    build,
)
from benchmarks.switch_lines import Place, tests
from benchmarks.switch_match import DEFAULT, pair
from permnet.errors import PermnetError, unknown
from permnet.provenance import provenance
from permnet.tasks.switch.compiler import find_compiler

# How gcc is called, and the dump that lists the switches it is about to turn into code.
WAYS = {
    "O0": (("-O0",), "switchlower_O0"),
    "O0-no-tables": (("-O0", "-fno-jump-tables"), "switchlower_O0"),
    "O2": (("-O2",), "switchlower1"),
}
FEWEST_LABELS = 2  # below it gcc makes an `if` of a switch

Record = dict[str, Any]


def compiled(package: str, objects: Path, unit: Unit, scratch: Path) -> list[Record]:
    """The functions with switches of a translation unit, compiled in each way.

    `scratch` is a folder of its own, whose name goes into those of the object files.
    """
    scratch.mkdir(parents=True, exist_ok=True)
    text = scratch / "unit.i"
    gcc(unit, "-E", "-o", str(text))
    source = source_switches(text)
    records = []
    for way, (options, stage) in WAYS.items():
        folder = objects / way
        folder.mkdir(parents=True, exist_ok=True)
        dumps = {name: scratch / f"{way}.{name}" for name in ("gimple", "lowered")}
        for dump in dumps.values():
            dump.unlink(missing_ok=True)
        assembly, made = scratch / f"{way}.s", folder / f"{scratch.name}-{unit.source.stem}.o"
        gcc(
            unit, *options, "-S", "-masm=intel", "-o", str(assembly),
            f"-fdump-tree-gimple-lineno={dumps['gimple']}",
            f"-fdump-tree-{stage}-details={dumps['lowered']}",
        )  # fmt: skip
        gcc(unit, *options, "-c", "-o", str(made))
        last = lowered(_read(dumps["lowered"]))
        listings = functions(assembly.read_text())
        places: dict[str, list[Place]] = {}
        if way == "O2":
            gcc(unit, *options, "-g", "-S", "-masm=intel", "-o", str(assembly))  # the same code
            with_lines = functions(assembly.read_text())
            places = {name: tests(listing) for name, listing in with_lines.items()}
            by_function = {name: optimised(found, source) for name, found in last.items()}
        else:
            first = written(_read(dumps["gimple"]), {switch.function for switch in source})
            by_function = {
                name: as_written(
                    [s for s in source if s.function == name], found, last.get(name, [])
                )
                for name, found in first.items()
            }
        records += [
            {
                "package": package,
                "file": unit.source.name,
                "function": name,
                "way": way,
                "flags": [*options, *unit.flags],
                "object": str(made.relative_to(objects.parent.parent)),
                "assembly": listings[name],
                "switches": switches,
                **({"tests": places[name]} if name in places else {}),
            }
            for name, switches in by_function.items()
            if switches and name in listings
        ]
    return records


def _read(path: Path) -> str:
    return path.read_text() if path.exists() else ""  # gcc writes no dump of nothing


def gcc(unit: Unit, *options: str) -> None:
    command = ["gcc", *unit.flags, "-w", *options, str(unit.source)]
    done = subprocess.run(command, cwd=unit.folder, capture_output=True, text=True, check=False)
    if done.returncode:
        raise PermnetError(f"gcc refuses {unit.source}:\n{done.stderr}")


def functions(assembly: str) -> dict[str, str]:
    """The lines of each function, by its name in the assembly."""
    found = {}
    for name in re.findall(r"^\t\.type\t([\w.$]+), @function$", assembly, re.MULTILINE):
        start, end = assembly.find(f"\n{name}:"), assembly.find(f"\n\t.size\t{name},")
        found[name] = assembly[start + 1 : end + 1]
    return found


def as_written(
    source: list[SourceSwitch], first: list[WrittenSwitch], last: list[Dispatch]
) -> list[Record]:
    """The switches of a function at -O0: what stands in its source, seen from both sides."""
    if len(source) != len(first):  # gcc drops code that is never reached
        return [_unknown(switch) for switch in source]
    partitions = [[*dispatch.targets.values()] for dispatch in last]
    found = pair(
        [{"blocks": switch.blocks, "bits": switch.bits} for switch in source],
        [{"blocks": partition} for partition in partitions],
    )
    return [
        _record(switch, seen, None if at is None else partitions[at], len(source))
        for switch, seen, at in zip(source, first, found, strict=True)
    ]


def _unknown(switch: SourceSwitch) -> Record:
    told = {"line": switch.line, "bits": switch.bits, "blocks": switch.blocks}
    return {**told, "agree": False, "scored": False}


def _record(
    switch: SourceSwitch, seen: WrittenSwitch, partition: list[tuple[int, ...]] | None, count: int
) -> Record:
    """As JSON values; docs/switches-realset.md says what each means."""
    groups = {frozenset(block) for block in seen.blocks if DEFAULT not in block}
    agree = switch.blocks == seen.blocks and not switch.scattered
    same = partition is not None and {frozenset(group) for group in partition} == groups
    scored = agree and same and len(switch.labels) >= FEWEST_LABELS
    plain = count == 1 and not switch.ranges and not switch.scattered
    return {
        "line": switch.line,
        "type": switch.type,
        "bits": switch.bits,
        "signed": switch.signed,
        "blocks": seen.blocks,
        "default": any(DEFAULT in block for block in seen.blocks),
        "goes": seen.goes,
        "empty": seen.empty,
        "exit": seen.exit,
        "lowered": partition,
        "depth": switch.depth,
        "several": count > 1,
        "ranges": switch.ranges,
        "scattered": switch.scattered,
        "agree": agree,
        "gone": partition is None,
        "scored": scored,
        "single": scored and plain,
        "clean": scored and plain and not any(seen.empty),
        "told": scored and plain and not any(seen.empty) and switch.told,
    }


def optimised(found: list[Dispatch], source: list[SourceSwitch]) -> list[Record]:
    """The switches of a function at -O2: only which labels go together can be compared.

    Inlining brings in those of other functions, and gcc makes switches of chains of `if`; their
    width is that of a switch with these labels in the source, or of an `int`.
    """
    switches = []
    for dispatch in found:
        blocks = sorted(dispatch.targets.values(), key=min)
        labels = {label for block in blocks for label in block}
        likely = [s for s in source if s.line == dispatch.line and labels <= {*s.labels}]
        switches.append(
            {
                "line": dispatch.line,
                "bits": likely[0].bits if likely else 32,
                "blocks": blocks,
                "goes": [str(i) for i in range(len(blocks))],
                "empty": [False] * len(blocks),
                "exit": "default",
                "in_source": bool(likely),
                "scored": len(labels) >= FEWEST_LABELS,
            }
        )
    return switches


def statistics(records: list[Record]) -> dict[str, Any]:
    """What the set holds, by way of compiling."""
    shown: dict[str, Any] = {}
    for way in WAYS:
        of_way = [record for record in records if record["way"] == way]
        switches = [switch for record in of_way for switch in record["switches"]]
        counts: Counter[str] = Counter(functions=len(of_way), switches=len(switches))
        for switch in switches:
            counts.update(name for name, value in switch.items() if value is True)
            counts["with_empty_block"] += any(switch.get("empty", ()))
            counts["inside_another"] += switch.get("depth", 0) > 0
        by_package = Counter(
            record["package"]
            for record in of_way
            for switch in record["switches"]
            if switch["scored"]
        )
        shown[way] = {**counts, "scored_by_package": dict(by_package)}
    return shown


def make(out: Path, packages: list[Package], jobs: int) -> tuple[list[Record], dict[str, str]]:
    """Fetch, build and compile; the records, and the version of each package."""
    archive = Archive(out / "apt")
    records, versions = [], {}
    for package in packages:
        start = time.monotonic()
        folder = out / "packages" / package.name
        try:
            version, source = archive.fetch(package, folder)
            units = build(package, source, folder)
        except PermnetError as error:
            print(f"{package.name}: left out: {error}", file=sys.stderr)
            continue
        objects = out / "objects" / package.name
        folders = [folder / "units" / str(number) for number in range(len(units))]
        compile_one = partial(compiled, package.name, objects)
        with ThreadPoolExecutor(jobs) as pool:
            made = [*chain.from_iterable(pool.map(compile_one, units, folders))]
        versions[package.name] = version
        seconds = time.monotonic() - start
        print(f"{package.name} {version}: {len(units)} files, {len(made)} records, {seconds:.0f} s")
        records += _unique(made)
    return records, versions


def _unique(records: list[Record]) -> list[Record]:
    """A function of a header is compiled with every file that includes it: the first is kept."""
    kept: dict[str, Record] = {}
    for record in records:
        told = [record["way"], record["function"], record["switches"]]
        kept.setdefault(json.dumps(told), record)
    return [*kept.values()]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--set", choices=SETS, default="development", help="which packages")
    parser.add_argument("--packages", nargs="+", metavar="NAME", help="only these")
    parser.add_argument("--jobs", type=positive, default=os.cpu_count() or 1)
    parser.add_argument("--results", type=Path, help="also write the statistics there")
    args = parser.parse_args()
    known = {package.name: package for package in SETS[args.set]}
    for name in args.packages or ():
        if name not in known:
            raise unknown("package", name, known)
    out = args.out.resolve()
    out.mkdir(parents=True, exist_ok=True)
    chosen = [known[name] for name in args.packages or known]
    start = time.monotonic()
    records, versions = make(out, chosen, args.jobs)
    if not records:
        raise PermnetError("no package could be built: see what was said of each above")
    path = out / "switches.jsonl"
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    shown = {"packages": versions, "statistics": statistics(records)}
    print(json.dumps(shown, indent=1), f"\n{path}")
    if args.results:
        import torch

        about = provenance(torch.device("cpu"))
        seconds = round(time.monotonic() - start)
        shown |= {"compiler": find_compiler()[1], "seconds": seconds, "provenance": about}
        args.results.write_text(json.dumps(shown, indent=1) + "\n")


if __name__ == "__main__":
    run(main)
