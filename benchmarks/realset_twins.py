"""Whether machine code tells if a default is written: each switch compiled with and without one.

    python -m benchmarks.realset_twins DIR [--out results/switch-twins.json]

DIR is the folder that benchmarks/realset.py made. Of each clean switch at -O0 the source is altered
the least that can be: a default at its end becomes the code behind the switch, or the code behind
it becomes its default. Where gcc then makes the same machine code of the function, byte for byte,
no reader of machine code can know which of the two it was.
"""

import argparse
import json
import subprocess
from collections import Counter
from pathlib import Path
from typing import Any

from benchmarks.command import run
from benchmarks.realset_clang import statements
from permnet.binary.binary import open_binary
from permnet.provenance import provenance


def twin(text: bytes, found: Any, has_default: bool) -> bytes | None:
    """The source with the default taken out of a switch, or put into it.

    None if there is none to be made: the default is not last, or nothing stands behind the switch.
    """
    end = found.body.extent.end.offset - 1  # its closing brace
    if has_default:
        last = [one for one in found.body.get_children() if one.kind.name == "DEFAULT_STMT"]
        if not last or any(
            one.kind.name == "CASE_STMT" and one.extent.start.offset > last[0].extent.start.offset
            for one in found.body.get_children()
        ):
            return None
        start = last[0].extent.start.offset
        colon = text.index(b":", start) + 1
        return text[:start] + b"} {" + text[colon:]
    outer = found.around.extent.end.offset - 1
    if not text[end + 1 : outer].strip():
        return None
    return text[:end] + b"default: {" + text[end + 1 : outer] + b"}}" + text[outer:]


def code(source: Path, flags: list[str], function: str) -> bytes | None:
    """The machine code of a function; None if gcc refuses the source."""
    made = source.with_suffix(".o")
    command = ["gcc", *flags, "-w", "-c", "-o", str(made), str(source)]
    if subprocess.run(command, capture_output=True, check=False).returncode:
        return None
    with open_binary(made) as binary:
        return next((bytes(f.code) for f in binary.functions() if f.name == function), None)


def compared(folder: Path, record: dict[str, Any]) -> dict[int, str]:
    """By the line of each clean switch of a function: whether its twin has the same code."""
    number, _, _ = Path(record["object"]).name.partition("-")
    unit = folder / "packages" / record["package"] / "units" / number / "unit.i"
    text = unit.read_bytes()
    flags = [flag for flag in record["flags"] if not flag.startswith(("-D", "-I", "-include"))]
    altered = unit.with_name("twin.i")
    found = {}
    for place in statements(unit, record["function"]):
        for switch in record["switches"]:
            if switch["line"] != place.line or not switch.get("clean"):
                continue
            changed = twin(text, place, switch["default"])
            if changed is None:
                found[place.line] = "none to be made"
                continue
            altered.write_bytes(changed)
            after = code(altered, flags, record["function"])
            before = code(unit, flags, record["function"])
            same = after is not None and after == before
            found[place.line] = "refused" if after is None else "same" if same else "different"
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--out", type=Path)
    args = parser.parse_args()
    lines = (args.folder / "switches.jsonl").read_text().splitlines()
    records = [one for one in map(json.loads, lines) if one["way"] == "O0"]
    counts: Counter[str] = Counter()
    listed = []
    for record in records:
        if not any(switch.get("clean") for switch in record["switches"]):
            continue
        for line, result in compared(args.folder, record).items():
            switch = next(one for one in record["switches"] if one["line"] == line)
            told = "told" if switch["told"] else "not told"
            written = "default" if switch["default"] else "none"
            counts[f"{told}, {written}: {result}"] += 1
            listed.append([record["object"], record["function"], line, told, written, result])
    print("\n".join(f"{count:>5} {name}" for name, count in sorted(counts.items())))
    if args.out:
        import torch

        result = {"counts": dict(sorted(counts.items())), "switches": listed}
        about = provenance(torch.device("cpu"))
        args.out.write_text(json.dumps({**result, "provenance": about}, indent=1) + "\n")


if __name__ == "__main__":
    run(main)
