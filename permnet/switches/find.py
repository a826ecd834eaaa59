"""The switches of functions: dispatches found, claims proposed, claims proven."""

import time
from collections.abc import Callable, Iterable, Mapping, Sequence

from permnet.binary.binary import Function
from permnet.errors import PermnetError
from permnet.switches.claim import Claim, Switch
from permnet.switches.contents import UnprovenError
from permnet.switches.emulate import cross_check
from permnet.switches.graph import Graph
from permnet.switches.proof import TooLongError, known_registers, prove
from permnet.switches.regions import Region, Walker
from permnet.switches.rules import RefusedError, claims

Dispatch = tuple[Graph, Region]
# What is claimed of each dispatch, the likeliest first: the first that is proven is taken.
Proposer = Callable[[Sequence[Dispatch]], Sequence[Iterable[Claim]]]


def rules(dispatches: Sequence[Dispatch]) -> list[Iterable[Claim]]:
    return [claims(graph, region) for graph, region in dispatches]


PROPOSERS: dict[str, Proposer] = {"rules": rules}


def find_switches(
    function: Function,
    proposers: Mapping[str, Proposer] = PROPOSERS,
    emulate: bool = False,
) -> list[Switch]:
    """The switches of a function in order of address, each with the verdict of the proof.

    With `emulate`, what is proven is also executed, and no longer proven if that disagrees.
    """
    return find_all([function], proposers, emulate)[0]


def find_all(
    functions: Sequence[Function], proposers: Mapping[str, Proposer], emulate: bool
) -> list[list[Switch]]:
    """The same of several functions, all of whose dispatches a proposer is given at once."""
    walked = [_dispatches(function) for function in functions]
    every = [dispatch for dispatches in walked for dispatch in dispatches]
    proposed = {name: iter(proposer(every)) for name, proposer in proposers.items()}
    found: list[list[Switch]] = []
    for dispatches in walked:
        judged = (
            _judged(*dispatch, {name: next(all_of) for name, all_of in proposed.items()}, emulate)
            for dispatch in dispatches
        )
        found.append([switch for switch in judged if switch])
    return found


def _dispatches(function: Function) -> list[Dispatch]:
    try:
        graph = Graph(function)
        return [(graph, region) for region in Walker(graph).regions()]
    except PermnetError as error:
        raise PermnetError(f"{function.name}: {error}") from error


def _judged(
    graph: Graph, region: Region, proposed: Mapping[str, Iterable[Claim]], emulate: bool
) -> Switch | None:
    start = time.perf_counter()
    best: Switch | None = None
    for name, claimed in proposed.items():
        try:
            for claim in claimed:
                objection = _objection(graph, claim, emulate)
                seconds = time.perf_counter() - start
                if objection is None:
                    return Switch(claim.start, claim, "proven", name, "", seconds)
                reason = str(objection)
                best = best or Switch(claim.start, claim, "unproven", name, reason, seconds)
                if isinstance(objection, TooLongError):
                    break
        except RefusedError as error:
            seconds = time.perf_counter() - start
            address = region.head.last.address
            best = best or Switch(address, None, "refused", name, str(error), seconds)
    return best


def _objection(graph: Graph, claim: Claim, emulate: bool) -> UnprovenError | None:
    """Why a claim is not proven; None if it is."""
    try:
        prove(graph, claim)
        if emulate:
            cross_check(graph.function.binary, claim, known_registers(graph, claim))
    except UnprovenError as error:
        return error
    return None
