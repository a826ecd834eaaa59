"""What an instruction may change: rather too much than too little."""

from permnet.binary.decode import Instruction
from permnet.binary.operands import GENERAL, Memory, Register

ALL = frozenset(whole for whole, _, _ in GENERAL.values())
PRESERVED = frozenset({"rbx", "rsp", "rbp", "r12", "r13", "r14", "r15"})

# Instructions that change registers which they do not name, and those of which only the flags or
# nothing matters.
_IMPLICIT = {
    "cdq": ("rdx",),
    "cqo": ("rdx",),
    "cwd": ("rdx",),
    "cwde": ("rax",),
    "cdqe": ("rax",),
    "cbw": ("rax",),
    "mul": ("rax", "rdx"),
    "div": ("rax", "rdx"),
    "idiv": ("rax", "rdx"),
    "push": ("rsp",),
    "pop": ("rsp",),
    "leave": ("rsp", "rbp"),
}
_QUIET = {"cmp", "test", "bt", "nop", "endbr64", "endbr32", "ucomiss", "ucomisd", "comiss"}
_QUIET |= {"comisd", "prefetcht0", "prefetchnta", "prefetchw", "pause", "ptest", "vucomisd"}
_PLAIN = {"mov", "movzx", "movsx", "movsxd", "movabs", "lea", "add", "sub", "and", "or", "xor"}
_PLAIN |= {"not", "neg", "inc", "dec", "shl", "sal", "shr", "sar", "rol", "ror", "adc", "sbb"}
_PLAIN |= {"bts", "btr", "btc", "bsf", "bsr", "bswap", "tzcnt", "lzcnt", "popcnt", "shld", "shrd"}
_PLAIN |= {"andn", "shlx", "shrx", "sarx", "rorx", "pop", "lahf", "movbe"}
_KEEPS_FLAGS = {
    "lea",
    "leave",
    "not",
    "push",
    "pop",
    "nop",
    "endbr64",
    "cdq",
    "cqo",
    "cdqe",
    "cwde",
}


def written(instruction: Instruction) -> tuple[frozenset[str], bool]:
    """Whole registers that an instruction may change, and whether it may change memory.

    A call preserves what the calling convention of Linux says.
    """
    mnemonic, operands = instruction.mnemonic, instruction.operands
    if mnemonic == "call":
        return ALL - PRESERVED, True
    if mnemonic in _QUIET:
        return frozenset(), False
    first = operands[0] if operands else None
    to_memory = isinstance(first, Memory) or mnemonic == "push"
    named = set(_IMPLICIT.get(mnemonic, ()))
    if isinstance(first, Register) and first.general and mnemonic != "push":
        named.add(first.general[0])
    known = (
        mnemonic in _PLAIN
        or mnemonic in _IMPLICIT
        or mnemonic.startswith(("set", "cmov"))
        or (mnemonic == "imul" and len(operands) > 1)
        or _is_vector(instruction)
    )
    if not known or instruction.prefix:
        return ALL, True
    if mnemonic == "imul":
        to_memory = False
    return frozenset(named), to_memory


def keeps_flags(instruction: Instruction) -> bool:
    """Whether what a comparison left behind is still there after an instruction."""
    mnemonic = instruction.mnemonic
    if mnemonic in _KEEPS_FLAGS or mnemonic.startswith(("mov", "cmov", "set")):
        return True
    return _is_vector(instruction) and "com" not in mnemonic and "test" not in mnemonic


def _is_vector(instruction: Instruction) -> bool:
    """Moves and arithmetic of vector registers; those that search strings change rcx."""
    operands = instruction.operands
    vectors = any(
        isinstance(operand, Register) and operand.name.startswith(("xmm", "ymm"))
        for operand in operands
    )
    return vectors and "str" not in instruction.mnemonic and "mask" not in instruction.mnemonic
