"""The switches of a function: regions found, claims proposed, claims proven."""

import time
from collections.abc import Callable, Iterable, Iterator, Mapping

from permnet.binary.binary import Function
from permnet.switches.claim import Claim, Status, Switch
from permnet.switches.cpu import UnprovenError
from permnet.switches.emulate import cross_check
from permnet.switches.graph import Graph
from permnet.switches.proof import known_registers, prove
from permnet.switches.regions import Region, Walker
from permnet.switches.rules import RefusedError, claims

# What is claimed of a dispatch, the likeliest first: the first that is proven is taken.
Proposer = Callable[[Graph, Region], Iterable[Claim]]

PROPOSERS: dict[str, Proposer] = {"rules": claims}


def find_switches(
    function: Function,
    proposers: Mapping[str, Proposer] = PROPOSERS,
    emulate: bool = False,
) -> Iterator[Switch]:
    """The switches of a function in order of address, each with the verdict of the proof.

    With `emulate`, what is proven is also executed, and no longer proven if that disagrees.
    """
    graph = Graph(function)
    for region in Walker(graph).regions():
        if found := _judged(graph, region, proposers, emulate):
            yield found


def _judged(
    graph: Graph, region: Region, proposers: Mapping[str, Proposer], emulate: bool
) -> Switch | None:
    start = time.perf_counter()
    best: Switch | None = None
    for name, proposer in proposers.items():
        try:
            for claim in proposer(graph, region):
                reason = _objection(graph, claim, emulate)
                seconds = time.perf_counter() - start
                status: Status = "unproven" if reason else "proven"
                if not reason:
                    return Switch(claim.start, claim, status, name, reason, seconds)
                best = best or Switch(claim.start, claim, status, name, reason, seconds)
        except RefusedError as error:
            seconds = time.perf_counter() - start
            address = region.head.last.address
            best = best or Switch(address, None, "refused", name, str(error), seconds)
    return best


def _objection(graph: Graph, claim: Claim, emulate: bool) -> str:
    """Why a claim is not proven; empty if it is."""
    try:
        prove(graph, claim)
        if emulate:
            cross_check(graph.function.binary, claim, known_registers(graph, claim))
    except UnprovenError as error:
        return str(error)
    return ""
