"""Where the value that is switched on lies, and from which instruction on."""

from collections.abc import Iterator
from dataclasses import replace

from permnet.binary.decode import Instruction
from permnet.binary.operands import GENERAL, Memory, Register
from permnet.switches.effects import ALL, written
from permnet.switches.graph import BasicBlock
from permnet.switches.machine import State
from permnet.switches.terms import Term, bits_of, trunc

_NAMES = {(whole, bits): name for name, (whole, bits, low) in GENERAL.items() if low == 0}


def places_of(head: BasicBlock, before: State, x: Term) -> Iterator[tuple[int, Register | Memory]]:
    """Instructions of a block before which x has a place, and that place, the last one first.

    `before` is what is known where the block begins.
    What a call or the like leaves behind is not looked into: it is searched behind the last one.
    """
    states = [before]
    first = 0
    for i, instruction in enumerate(head.code[:-1]):
        state = states[-1].copy()
        if instruction.mnemonic == "call" or written(instruction)[0] == ALL:
            first = i + 1
        state.step(instruction)
        states.append(state)
    memory = None
    for i in reversed(range(first, len(head.code) - 1)):
        if memory and not _same_place(states[i], states[i + 1], memory):
            memory = None
        memory = _loaded(states[i], head.code[i], x) or memory
        if memory:
            yield head.code[i].address, memory
        elif register := _in_register(states[i], x):
            yield head.code[i].address, register


def _in_register(state: State, x: Term) -> Register | None:
    candidates = set(state.registers)
    if x[0] == "start":
        candidates.add(x[2])
    elif x[0] == "trunc" and x[2][0] == "start":
        candidates.add(x[2][2])
    for whole in sorted(candidates):
        if (whole, bits_of(x)) in _NAMES and trunc(state.whole(whole), bits_of(x)) == x:
            return Register(_NAMES[whole, bits_of(x)])
    return None


def _loaded(state: State, instruction: Instruction, x: Term) -> Memory | None:
    """The operand by which an instruction reads x from memory."""
    if instruction.mnemonic == "lea":
        return None
    for operand in instruction.operands:
        if isinstance(operand, Memory) and operand.bits >= bits_of(x):
            value = state.value(operand, operand.bits, instruction.end)
            if trunc(value, bits_of(x)) == x:
                place = replace(operand, bits=bits_of(x))
                if operand.base == "rip":
                    absolute = operand.displacement + instruction.end
                    return replace(place, base="", displacement=absolute)
                return place
    return None


def _same_place(before: State, after: State, memory: Memory) -> bool:
    names = [GENERAL[name][0] for name in (memory.base, memory.index) if name in GENERAL]
    return before.writes == after.writes and all(
        before.whole(name) == after.whole(name) for name in names
    )
