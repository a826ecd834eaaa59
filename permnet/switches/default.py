"""Whether the code that values without a label reach is a `default` block or what follows.

Compilers write both the same; what tells them apart is who else goes there. The code behind a
switch is where the blocks' `break`s lead, a default block is not. Where every block returns nothing
tells, and it is guessed: a default is written, unless the code is an assertion that fails. Other
switches of the same file know better: a function that is called in the default of one that tells,
or behind it, is called there in the others too.
"""

from collections import Counter
from collections.abc import Collection
from dataclasses import replace

from permnet.binary.operands import Number
from permnet.switches.claim import Called, Claim
from permnet.switches.graph import BasicBlock, Graph
from permnet.switches.jumps import jump_target

_EPILOGUE = {"nop", "mov", "add", "lea", "leave", "pop", "ret", "endbr64"}
FAILED = "__assert_fail"


def guessed_default(
    graph: Graph, tests: Collection[int], targets: Collection[int], default: int
) -> tuple[bool, Called | None]:
    """From the addresses of a switch's tests and blocks and of what others reach.

    With what is called there, for the guesses at other switches and theirs at this one.
    """
    if not graph.is_unoptimised:
        return graph.predecessors.get(default, set()) <= set(tests), None
    told = told_default(graph, tests, targets, default)
    function = last_called(graph, default)
    if function is None:
        return told is not False, None
    if graph.function.binary.name(function) == FAILED:
        return bool(told), None
    return told is not False, Called(function, told is not None)


def vote(claim: Claim) -> Counter[int]:
    """For the function called, if that is told: 1 in a default, -1 behind the switch."""
    if claim.called is None or not claim.called.told:
        return Counter()
    return Counter({claim.called.function: 1 if claim.has_default else -1})


def is_open(claim: Claim) -> bool:
    """Whether votes of other switches may tell the default."""
    return claim.called is not None and not claim.called.told


def by_habit(claim: Claim, votes: Counter[int]) -> Claim:
    """A claim with its default as in most switches of the file that call the same function."""
    if claim.called is None or claim.called.told or not votes[claim.called.function]:
        return claim
    return replace(claim, has_default=votes[claim.called.function] > 0)


def told_default(
    graph: Graph, tests: Collection[int], targets: Collection[int], default: int
) -> bool | None:
    """Whether unoptimised code has a default; None if it does not tell."""
    if tests and default <= min(tests):
        return False  # a loop goes on: blocks stand behind the tests
    if not targets or default < max(targets):
        return True  # unoptimised code keeps the order of the source
    body = [block for block in graph.blocks if min(targets) <= block.address < default]
    if any(breaks_to(block, default) for block in body):
        return False
    away = {target for block in body if (target := jump_target(block.last)) is not None}
    returns = all(_returns(graph, target) for target in away if target > default)
    return None if returns else True


def last_called(graph: Graph, address: int) -> int | None:
    """The function that the code at an address calls last, before it jumps."""
    block = graph.block(address)
    calls = [i.operands[0] for i in block.code if i.mnemonic == "call"] if block else []
    return calls[-1].value if calls and isinstance(calls[-1], Number) else None


def breaks_to(block: BasicBlock, target: int) -> bool:
    """By a jump, or by the `nop` that stands for a jump to the next instruction."""
    if block.last.mnemonic == "jmp":
        return target in block.successors
    return block.end == target and block.last.mnemonic == "nop"


def _returns(graph: Graph, address: int) -> bool:
    """Whether nothing but the function's end stands at an address.

    If a `nop` stands before it, that is where a switch at the end of the function ends: a `return`
    leads behind it.
    """
    block = graph.block(address)
    return (
        block is not None
        and block.last.mnemonic == "ret"
        and block.code[0].mnemonic != "nop"
        and all(i.mnemonic in _EPILOGUE and "ax" not in i.text[:3] for i in block.code)
    )
