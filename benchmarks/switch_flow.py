"""Where a value that lies in registers may come to, as it is or as part of what is made of it."""

from collections.abc import Iterable, Iterator, Mapping, Set

from benchmarks.switch_match import Switch
from permnet.binary.decode import Instruction
from permnet.binary.operands import GENERAL, Memory, Operand, Register
from permnet.switches.effects import written
from permnet.switches.graph import BasicBlock, Graph
from permnet.switches.jumps import is_jump, jump_target

_MOVES = ("mov", "movzx", "movsx", "movsxd", "movabs", "lea")
_COMPARES = ("cmp", "test", "bt", "sub")

Held = frozenset[str]  # whole registers


class LostError(Exception):
    """The value is stored, or a jump leads nobody knows where: it may come anywhere."""


def may_meet(graph: Graph, test: int, answer: Switch, behind: Set[int]) -> bool:
    """Whether a value may come to a test before those of an answer, or from some of its blocks on.

    Where that cannot be said it may.
    """
    place = answer["scrutinee"]["place"].split()[0]
    block = graph.block(graph.block_of(test)) if graph.instruction(test) else None
    if place not in GENERAL or block is None:
        return True
    start = answer["scrutinee"]["start"]
    ends = {*answer["targets"], answer["default"]}
    try:
        dispatch = flow(graph, {start: frozenset({GENERAL[place][0]})}, ends)
        held = frozenset[str]().union(*dispatch.values())
        later = flow(graph, dict.fromkeys(behind, held))
        earlier = flow(graph, dict.fromkeys(block.successors, compared(block)))
    except LostError:
        return True
    if {start, graph.block_of(start)} & earlier.keys():
        return True
    came = [(at, held) for address, held in later.items() if (at := graph.block(address))]
    return any(at.last.address == test and after(at, held) for at, held in came)


def flow(graph: Graph, starts: Mapping[int, Held], stop: Iterable[int] = ()) -> dict[int, Held]:
    """Of each basic block that the value may come to, by address, the registers that have it.

    Blocks at `stop` are not gone into.
    """
    found, ends = dict(starts), set(stop)
    pending = list(starts)
    while pending:
        address = pending.pop()
        block = graph.block(address)
        if block is None:
            raise LostError  # in the part of the function that was moved away
        held = after(block, found[address])
        if not held:
            continue
        if block.last.mnemonic == "jmp" and jump_target(block.last) is None:
            raise LostError
        if block.last.mnemonic == "jmp" and not graph.instruction(block.successors[0]):
            continue  # another function goes on
        for successor in block.successors:
            known = found.get(successor, frozenset())
            if not held <= known:
                found[successor] = known | held
                pending += [successor] if successor not in ends else []
    return found


def after(block: BasicBlock, held: Held) -> Held:
    """The registers that have the value at the end of a block."""
    for instruction in block.code:
        held = held if is_jump(instruction) else _step(instruction, held)
    return held


def _step(instruction: Instruction, held: Held) -> Held:
    mnemonic, operands = instruction.mnemonic, instruction.operands
    changed, stores = written(instruction)
    if mnemonic == "call":
        return held - changed
    sources = operands[1:] if mnemonic in _MOVES else operands
    if held & {*_registers(sources)}:
        if stores and mnemonic != "push" and held & {*_registers(sources, addresses=False)}:
            raise LostError
        return held | changed
    narrow = any(isinstance(o, Register) and o.general and o.general[1] < 32 for o in operands[:1])
    return held if narrow else held - changed


def _registers(operands: Iterable[Operand], addresses: bool = True) -> Iterator[str]:
    for operand in operands:
        if isinstance(operand, Register) and operand.general:
            yield operand.general[0]
        elif isinstance(operand, Memory) and addresses:
            yield from (GENERAL[n][0] for n in (operand.base, operand.index) if n in GENERAL)


def compared(block: BasicBlock) -> Held:
    """The registers that the jump at the end of a block may depend on."""
    compares = [i for i in block.code if i.mnemonic in _COMPARES]
    operands = [operand for i in compares for operand in i.operands]
    if not operands or any(isinstance(operand, Memory) for operand in operands):
        raise LostError
    return frozenset(_registers(operands))
