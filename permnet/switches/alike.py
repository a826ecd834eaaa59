"""Whether two places in a function are the same code: optimisers copy short blocks."""

from dataclasses import replace

from permnet.binary.decode import Instruction
from permnet.binary.operands import Memory, Operand
from permnet.switches.graph import Graph
from permnet.switches.jumps import is_jump, jump_target

LONGEST_ENDING = 24  # instructions


def same_code(graph: Graph, one: int, other: int) -> bool:
    """Whether two places do the same until they meet or leave, the removal of the frame aside.

    An optimiser that makes the frame late has one end for values that came before it and another
    for the rest, and it copies short blocks. Without an optimiser equal blocks are two blocks.
    """
    if graph.is_unoptimised:
        return False
    for _ in range(LONGEST_ENDING):
        one, other = _next(graph, one), _next(graph, other)
        if one == other:
            return True
        left, right = graph.instruction(one), graph.instruction(other)
        if left is None or right is None:
            return False
        if (left.mnemonic, _operands(left)) != (right.mnemonic, _operands(right)):
            return False
        if is_jump(left):
            return left.mnemonic == "ret" or (left.mnemonic == "jmp" and bool(jump_target(left)))
        one, other = left.end, right.end
    return False


def _next(graph: Graph, address: int) -> int:
    """Where something is done next, past jumps and what removes the frame."""
    for _ in range(LONGEST_ENDING):
        instruction = graph.instruction(address)
        target = jump_target(instruction) if instruction else None
        if instruction is None:
            break
        if instruction.mnemonic == "jmp" and target is not None:
            address = target
        elif instruction.mnemonic in ("pop", "nop", "leave") or instruction.text[:3] == "rsp":
            address = instruction.end
        else:
            break
    return address


def _operands(instruction: Instruction) -> tuple[Operand, ...]:
    """With addresses that do not count from the instruction."""
    return tuple(
        replace(o, base="", displacement=o.displacement + instruction.end)
        if isinstance(o, Memory) and o.base == "rip"
        else o
        for o in instruction.operands
    )


def is_jump_between(graph: Graph, one: int, other: int) -> bool:
    """Whether one of two places is a mere jump to the other."""
    return any(
        (at := graph.block(here)) is not None
        and at.code[0].mnemonic == "jmp"
        and at.successors == (there,)
        for here, there in ((one, other), (other, one))
    )
