"""Whether the code that values without a label reach is a `default` block or what follows.

Compilers write both the same; what tells them apart is who else goes there. The code behind a
switch is where the blocks' `break`s lead, a default block is not.
"""

from collections.abc import Collection

from permnet.switches.graph import Graph


def has_default(
    graph: Graph, tests: Collection[int], targets: Collection[int], default: int
) -> bool:
    """A guess, from the addresses of a switch's tests and blocks and of what others reach."""
    if graph.is_unoptimised and default < max(targets):
        return True  # unoptimised code keeps the order of the source
    others = graph.predecessors.get(default, set()) - set(tests)
    for address in others:
        block = graph.block(address)
        if block is None:
            continue
        falls = block.end == default
        if not falls or default in block.successors[:1] or block.last.mnemonic == "nop":
            return False
    return True
