"""Scripts that put what was found into Ghidra and IDA: comments and labels at the addresses."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Literal

from permnet.switches.claim import DEFAULT, Switch
from permnet.switches.scan import FoundFunction

Tool = Literal["ghidra", "ida"]

_GHIDRA = '''\
# Comments and labels for switches, written by `permnet switches --format ghidra`.
# In Ghidra: Window, Script Manager, Run. Addresses count from the image base where there is one.
# @category permnet

import json

FOUND = json.loads(r"""{found}""")


def run(files):
    if not files:
        print("permnet: no switch was found")
        return
    name = currentProgram.getName()
    if name not in files and len(files) > 1:
        raise ValueError("nothing about %s here, only about %s" % (name, ", ".join(sorted(files))))
    entry = files.get(name) or list(files.values())[0]
    base = currentProgram.getImageBase().getOffset() if entry["relative"] else 0
    for address, comment in entry["comments"]:
        setPreComment(toAddr(base + address), comment)
    for address, label in entry["labels"]:
        createLabel(toAddr(base + address), label, False)


run(FOUND)
'''

_IDA = '''\
# Comments and labels for switches, written by `permnet switches --format ida`.
# In IDA: File, Script file. Addresses count from the image base where there is one.

import json

import ida_nalt
import idaapi
import idc

FOUND = json.loads(r"""{found}""")


def run(files):
    if not files:
        print("permnet: no switch was found")
        return
    name = ida_nalt.get_root_filename()
    if name not in files and len(files) > 1:
        raise ValueError("nothing about %s here, only about %s" % (name, ", ".join(sorted(files))))
    entry = files.get(name) or list(files.values())[0]
    base = idaapi.get_imagebase() if entry["relative"] else 0
    for address, comment in entry["comments"]:
        idc.set_cmt(base + address, comment, 1)
    for address, label in entry["labels"]:
        idc.set_name(base + address, label, idc.SN_NOCHECK | idc.SN_NOWARN)


run(FOUND)
'''


def script(tool: Tool, functions: Iterable[FoundFunction]) -> str:
    """Python that a disassembler runs."""
    files: dict[str, dict[str, Any]] = {}
    for function in functions:
        entry = files.setdefault(
            Path(function.file).name,
            {"relative": function.relative, "comments": [], "labels": []},
        )
        for switch in function.switches:
            entry["comments"].append((switch.address, _comment(switch)))
            entry["labels"] += _labels(switch)
    template = _GHIDRA if tool == "ghidra" else _IDA
    # ASCII without quotes of three, so that it can stand in the text of a script as it is.
    return template.replace("{found}", json.dumps(files))


def _comment(switch: Switch) -> str:
    claim = switch.claim
    if claim is None:
        return f"permnet: no switch: {switch.reason}"
    scrutinee = claim.scrutinee
    kind = "signed" if scrutinee.signed else "unsigned"
    lines = [f"permnet: switch on {scrutinee} ({scrutinee.bits} bits, {kind}), {switch.status}"]
    for labels, target in zip(claim.labels(), claim.targets(), strict=True):
        lines.append(f"  {', '.join(map(str, labels))} -> {target:#x}")
    if not claim.has_default and claim.default is not None:
        lines.append(f"  all others -> {claim.default:#x}")
    lines += [f"  other values too -> {copy.target:#x}" for copy in claim.copies]
    lines += [f"  {claim.note}"] * bool(claim.note)
    return "\n".join(lines)


def _labels(switch: Switch) -> list[tuple[int, str]]:
    claim = switch.claim
    if claim is None:
        return []
    named = []
    for labels, target in zip(claim.labels(), claim.targets(), strict=True):
        first = labels[0]
        case = first if first == DEFAULT else f"case_{first}".replace("-", "minus_")
        named.append((target, f"switch_{switch.address:x}_{case}"))
    return named
