"""Whether the code that values without a label reach is a `default` block or what follows.

Compilers write both the same; what tells them apart is who else goes there. The code behind a
switch is where the blocks' `break`s lead, a default block is not. Where every block returns nothing
tells, and the guess rests on habit: `default: return 0;` in the switch, a call behind it.
"""

from collections.abc import Collection

from permnet.switches.graph import BasicBlock, Graph
from permnet.switches.jumps import jump_target

_EPILOGUE = {"nop", "mov", "add", "lea", "leave", "pop", "ret", "endbr64"}


def has_default(
    graph: Graph, tests: Collection[int], targets: Collection[int], default: int
) -> bool:
    """A guess, from the addresses of a switch's tests and blocks and of what others reach."""
    if not graph.is_unoptimised:
        return graph.predecessors.get(default, set()) <= set(tests)
    if tests and default <= min(tests):
        return False  # a loop goes on: blocks stand behind the tests
    if not targets or default < max(targets):
        return True  # unoptimised code keeps the order of the source
    body = [block for block in graph.blocks if min(targets) <= block.address < default]
    if any(breaks_to(block, default) for block in body):
        return False
    away = {target for block in body if (target := jump_target(block.last)) is not None}
    code = graph.block(default)
    if code is None or not all(_returns(graph, target) for target in away if target > default):
        return True
    return all(instruction.mnemonic != "call" for instruction in code.code)


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
