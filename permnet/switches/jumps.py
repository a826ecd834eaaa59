"""Instructions after which the next one is not, or not always, what follows."""

from permnet.binary.decode import Instruction
from permnet.binary.operands import Number

ENDS = {"jmp", "ljmp", "ret", "retf", "iretq", "hlt", "ud2", "int3"}
_LOOPS = {"loop", "loope", "loopne"}


def is_jump(instruction: Instruction) -> bool:
    mnemonic = instruction.mnemonic
    return mnemonic.startswith("j") or mnemonic in ENDS or mnemonic in _LOOPS


def is_idle(instruction: Instruction) -> bool:
    """What does nothing but fill."""
    return instruction.mnemonic == "nop" or (
        instruction.mnemonic == "xchg" and instruction.text == "ax, ax"
    )


def is_padding(instruction: Instruction) -> bool:
    """What compilers put between blocks to align them."""
    return instruction.mnemonic == "int3" or is_idle(instruction)


def jump_target(instruction: Instruction) -> int | None:
    """Where a jump leads, if that is written in it."""
    if not is_jump(instruction) or instruction.mnemonic in ("ret", "retf"):
        return None
    (operand,) = instruction.operands[:1] or (None,)
    return operand.value if isinstance(operand, Number) else None


def is_mere_jump(instruction: Instruction) -> bool:
    return instruction.mnemonic == "jmp" and jump_target(instruction) is not None
