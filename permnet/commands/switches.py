"""`permnet switches`: the switches of programs and objects, recovered and proven."""

import os
import re
import sys
from collections import Counter
from collections.abc import Iterator
from json import dumps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from tyro.conf import Positional, arg

from permnet.display import progress_bar
from permnet.errors import PermnetError
from permnet.switches.claim import DEFAULT
from permnet.switches.intervals import runs

if TYPE_CHECKING:
    from permnet.switches.scan import FoundFunction, Name

Format = Literal["text", "ghidra", "ida"]


def switches(
    paths: Positional[Annotated[tuple[Path, ...], arg(metavar="PATH [PATH ...]")]],
    /,
    json: bool = False,
    format: Format = "text",
    proposer: Literal["rules", "model", "both"] = "rules",
    jobs: int | None = None,
) -> int:
    """Find switch statements in machine code, and prove them.

    Reads x86-64 ELF programs, libraries and objects, stripped ones too, and assembly (.s); of a
    folder all of these in it. Says of each switch which values lead to which block. It is *proven*
    if the machine code, followed for every value that there is, does exactly that; *unproven* if
    that could not be shown; *refused* with the reason if it only looks like a switch.

    A file that cannot be read is a line on standard error, the others go on; the exit code is then
    1, and 2 if there was no other.

    For example:

        permnet switches program
        permnet switches --json object.o library.so
        permnet switches /usr/lib/git-core --jobs 2
        permnet switches program --format ghidra > switches.py
        permnet switches program --proposer both

    Args:
        paths: Files and folders.
        json: Print one JSON object instead of text.
        format: Text, or a script that puts comments and labels into Ghidra or IDA.
        proposer: Who says what a dispatch does: hand-written rules, a model, or the model where
            the rules' word is not proven. What is proven is the same.
        jobs: How many processes; as many as there are cores unless given.
    """
    if not paths:
        raise PermnetError("no file given: permnet switches PATH…")
    if json and format != "text":
        raise PermnetError(f"--json and --format {format} are two different outputs: choose one")
    if jobs is not None and jobs < 1:
        raise PermnetError(f"jobs is a number of processes, 1 or more, not {jobs}")
    from permnet.binary.decode import need_disassembler
    from permnet.switches.scan import files_of
    from permnet.switches.scripts import script

    need_disassembler()
    if proposer != "rules" and (missing := _missing_model()):
        if proposer == "model":
            raise PermnetError(missing)
        print(f"permnet: the model is left out: {missing}", file=sys.stderr)
        proposer = "rules"
    files = list(files_of(paths))
    if format != "text":
        _need_own_names(files, format)
    counts: Counter[str] = Counter()
    found = _functions(files, jobs or os.cpu_count() or 1, proposer, counts)
    if json:
        print('{"functions": [')
        for i, function in enumerate(found):
            print(",\n" * bool(i) + dumps(function.to_json()), end="")
        print("\n]}")
    elif format == "text":
        for function in found:
            print(_text(function))
    else:
        print(script(format, found), end="")
    print(_summary(counts), file=sys.stdout if format == "text" and not json else sys.stderr)
    if counts["unreadable"] == len(files):
        return 2
    return 1 if counts["unreadable"] else 0


def _need_own_names(files: list[Path], tool: Format) -> None:
    """A script tells programs apart by their names, for a tool may have them from anywhere."""
    named: dict[str, Path] = {}
    for file in files:
        if (other := named.setdefault(file.name, file)) != file:
            raise PermnetError(
                f"{other} and {file} have one name, by which --format {tool} tells files apart: "
                "make a script for each"
            )


def _missing_model() -> str:
    """Why there is no model to ask; empty if there is one."""
    from permnet.switches.scan import proposers

    try:
        proposers("model")
    except ModuleNotFoundError as error:
        return f"it needs {error.name}: pip install torch safetensors"
    except PermnetError as error:
        return str(error)
    return ""


def _functions(
    files: list[Path], jobs: int, proposer: "Name", counts: "Counter[str]"
) -> Iterator["FoundFunction"]:
    """Functions with switches, as they are found; everything else is counted or said."""
    from permnet.switches.scan import scan

    ready: set[str] = set()
    with progress_bar(sys.stderr.isatty()) as show:
        for part in scan(files, jobs, proposer):
            ready.add(part.file)
            show(len(ready), len(files), part.file)
            if part.error:
                counts["unreadable"] += 1
                print(f"permnet: error: {part.file}: {_printable(part.error)}", file=sys.stderr)
            counts["functions"] += part.count
            for function in part.found:
                for switch in function.switches:
                    counts["switches"] += 1
                    counts[switch.status] += 1
                    counts[f"{switch.status}: {_kind(switch.reason)}"] += 1
                yield function


def _kind(reason: str) -> str:
    """A reason without the places and values that it names."""
    return re.sub(r"-?\b(0x[0-9a-f]+|\d+)\b", "…", reason)


def _summary(counts: "Counter[str]") -> str:
    """One line, the commonest reasons behind it."""
    parts = [f"{counts['functions']} functions", f"{counts['switches']} switches"]
    parts += [f"{counts[status]} {status}" for status in ("proven", "unproven", "refused")]
    if counts["unreadable"]:
        parts.append(f"{counts['unreadable']} files unreadable")
    reasons = Counter({k: v for k, v in counts.items() if ": " in k and not k.endswith(": ")})
    told = "; ".join(f"{count} {reason}" for reason, count in reasons.most_common(4))
    return ", ".join(parts) + (f" ({told})" if told else "")


def _text(function: "FoundFunction") -> str:
    lines = [f"{_printable(function.file)}: {_printable(function.name)} at {function.address:#x}"]
    for switch in function.switches:
        claim = switch.claim
        if claim is None:
            lines.append(f"  {switch.address:#x}  {switch.status}: {switch.reason}")
            continue
        kind = "signed" if claim.scrutinee.signed else "unsigned"
        reason = f": {switch.reason}" if switch.reason else ""
        note = f" ({claim.note})" if claim.note else ""
        lines.append(
            f"  {switch.address:#x}  switch on {claim.scrutinee}, {claim.scrutinee.bits} bits, "
            f"{kind}  {switch.status}{reason}{note}"
        )
        for labels, target in zip(claim.labels(), claim.targets(), strict=True):
            lines.append(f"    {target:#x}  {_shortened(labels)}")
        if claim.default is not None and not claim.has_default:
            lines.append(f"    {claim.default:#x}  behind the switch")
        lines += [f"    {copy.target:#x}  other values too" for copy in claim.copies]
    return "\n".join(lines)


def _shortened(labels: list[int | str]) -> str:
    """Runs of labels as `first…last`."""
    numbers = [label for label in labels if isinstance(label, int)]
    if len(numbers) < len(labels):
        return DEFAULT
    return ", ".join(
        str(low) if low == high else f"{low}, {high}" if low + 1 == high else f"{low}…{high}"
        for low, high in runs(numbers)
    )


def _printable(text: str) -> str:
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)
