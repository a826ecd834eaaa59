"""Files and functions gone through: find, claim, prove."""

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from permnet.binary.binary import Function, open_binary
from permnet.switches.claim import Switch
from permnet.switches.cpu import UnprovenError
from permnet.switches.graph import Graph
from permnet.switches.proof import prove
from permnet.switches.rules import RefusedError, Walker, claims


def find_switches(function: Function) -> Iterator[Switch]:
    """The switches of a function by the rules, each with the verdict of the proof."""
    graph = Graph(function)
    start = time.perf_counter()
    for region in Walker(graph).regions():
        found = None
        reason = ""
        try:
            for claim in claims(graph, region):
                found = found or claim
                try:
                    prove(graph, claim)
                except UnprovenError as error:
                    reason = reason or str(error)
                else:
                    found, reason = claim, ""
                    break
        except RefusedError as error:
            yield Switch(
                region.head.address,
                None,
                "refused",
                "rules",
                str(error),
                time.perf_counter() - start,
            )
        if found:
            status = "unproven" if reason else "proven"
            yield Switch(found.start, found, status, "rules", reason, time.perf_counter() - start)
        start = time.perf_counter()


def scan_file(path: Path) -> dict[str, Any]:
    with open_binary(path) as binary:
        out = []
        for f in binary.functions():
            s = [s.to_json() for s in find_switches(f)]
            if s:
                out.append({"file": str(path), "name": f.name, "address": f.address, "switches": s})
    return {"functions": out}
