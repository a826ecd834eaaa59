"""What an instruction may change: rather too much than too little."""

from permnet.binary.decode import Instruction
from permnet.binary.operands import GENERAL, Memory, Register

ALL = frozenset(whole for whole, _, _ in GENERAL.values())
FLAGS = "flags"
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
_PLAIN |= {"andn", "pop", "lahf", "movbe", "shlx", "shrx", "sarx", "rorx"}
_EXTENDS = {"cdq", "cqo", "cwd"}
_QUIET_SHIFTS = {"shlx", "shrx", "sarx", "rorx"}
_SETS = {"lea", "pop", "tzcnt", "lzcnt", "popcnt", *_QUIET_SHIFTS}
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
    *_QUIET_SHIFTS,
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
    if not _is_known(instruction):
        return ALL, True
    if mnemonic == "imul":
        to_memory = False
    return frozenset(named), to_memory


def read(instruction: Instruction) -> frozenset[str]:
    """Whole registers that an instruction may use, vectors and `flags` among them.

    Not those that a call is given.
    """
    mnemonic, operands = instruction.mnemonic, instruction.operands
    first = operands[0] if operands else None
    same = mnemonic in ("xor", "sub", "pxor", "xorps", "xorpd") and operands[1:] == (first,)
    if same or mnemonic in ("nop", "ud2"):
        return frozenset()
    found: set[str] = {*_IMPLICIT.get(mnemonic, ()), *(("rax",) if mnemonic in _EXTENDS else ())}
    if mnemonic.startswith(("j", "set", "cmov")) or mnemonic in ("adc", "sbb"):
        found |= set() if mnemonic == "jmp" else {FLAGS}
    elif mnemonic not in _QUIET | {"call"} and not _is_known(instruction):
        return ALL | {FLAGS}
    sets = mnemonic in _SETS or mnemonic.startswith(("mov", "cvt", "set"))
    for operand in operands:
        if isinstance(operand, Memory):
            found |= {GENERAL[name][0] for name in (operand.base, operand.index) if name in GENERAL}
        elif isinstance(operand, Register) and not (sets and operand is first):
            found.add(operand.general[0] if operand.general else vector(operand) or operand.name)
    return frozenset(found)


def vector(register: Register) -> str | None:
    """The whole vector register that one is part of."""
    return f"xmm{register.name[3:]}" if register.name.startswith(("xmm", "ymm")) else None


def _is_known(instruction: Instruction) -> bool:
    """Whether it changes what its operands and the lists here say, and no more."""
    mnemonic = instruction.mnemonic
    return not instruction.prefix and (
        mnemonic in _PLAIN
        or mnemonic in _IMPLICIT
        or mnemonic.startswith(("set", "cmov"))
        or (mnemonic == "imul" and len(instruction.operands) > 1)
        or _is_vector(instruction)
    )


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
