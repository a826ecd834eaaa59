"""Registers that hold one constant wherever a dispatch may look: table addresses kept across loops.

A register with a single instruction in the function that changes it, by setting it to a constant
(calls change some registers and preserve others), holds that constant everywhere behind that
instruction: whatever way control takes from there on, nothing else sets it but the `pop`s before a
return. Code that control reaches only through the instruction is found by leaving it out of the
graph; as it cannot be known where indirect jumps lead, none of them may be reached without it.
"""

from typing import TYPE_CHECKING

from permnet.binary.decode import Instruction
from permnet.binary.operands import GENERAL, Memory, Number, Register
from permnet.switches.effects import written
from permnet.switches.jumps import is_jump, jump_target

if TYPE_CHECKING:
    from permnet.switches.graph import Graph

REGISTERS = frozenset(whole for whole, _, _ in GENERAL.values()) - {"rsp"}


def fixed_registers(graph: "Graph") -> dict[str, tuple[int, frozenset[int]]]:
    """Of each such register its constant and the blocks in which, from the start on, it holds."""
    setters: dict[str, list[Instruction]] = {name: [] for name in REGISTERS}
    for instruction in graph.code:
        if is_jump(instruction):
            continue
        for name in written(instruction)[0] & REGISTERS:
            if not _restores(graph, instruction, name):
                setters[name].append(instruction)
    found = {}
    for name, instructions in setters.items():
        if len(instructions) == 1 and (value := _constant(instructions[0], name)) is not None:
            behind = _only_behind(graph, instructions[0])
            if behind:
                found[name] = (value, behind)
    return found


def _constant(instruction: Instruction, name: str) -> int | None:
    match instruction.mnemonic, instruction.operands:
        case "lea", (Register(name=target), Memory(base="rip") as place) if target == name:
            return instruction.end + place.displacement
        case "mov", (Register(name=target), Number(value=value)):
            whole, bits, _ = GENERAL[target]
            return value % (1 << bits) if whole == name and bits >= 32 else None
    return None


def _restores(graph: "Graph", instruction: Instruction, name: str) -> bool:
    """A `pop` behind which only other ends of the function follow."""
    if instruction.mnemonic != "pop" or instruction.text != name:
        return False
    at: Instruction | None = instruction
    while at and at.mnemonic in ("pop", "mov", "xor", "add", "lea", "vzeroupper"):
        at = graph.instruction(at.end)
    if at is None:
        return False
    target = jump_target(at)
    leaves = target is not None and graph.instruction(target) is None
    return at.mnemonic == "ret" or (at.mnemonic == "jmp" and leaves)


def _only_behind(graph: "Graph", setter: Instruction) -> frozenset[int]:
    """Blocks that control reaches only through an instruction; none if that cannot be known."""
    reached: set[int] = set()
    pending = [graph.function.address]
    while pending:
        block = graph.block(pending.pop())
        if block is None or block.address in reached:
            continue
        reached.add(block.address)
        if setter in block.code:
            continue
        if block.last.mnemonic == "jmp" and jump_target(block.last) is None:
            return frozenset()
        pending += block.successors
    return frozenset(block.address for block in graph.blocks if block.address not in reached)
