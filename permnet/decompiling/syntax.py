"""One spelling for x86-64 assembly: gcc's Intel syntax, as tokens.

    mov  DWORD PTR -20[rbp], edi         gcc -masm=intel
    mov  dword ptr [rbp - 0x14], edi     clang, disassemblers
    movl %edi, -20(%rbp)                 AT&T

all become `mov DWORD PTR -20 [ rbp ] edi`.
"""

import re

from permnet.errors import PermnetError
from permnet.tasks.switch.assembly import lex_line

_MEMORY = re.compile(r"(?:([a-z]+)\s+ptr\s++)?([^\[\]]*)\[([^\[\]]*)\]", re.I | re.A)
_TERM = re.compile(r"([+-]?)([^+-]+)")
_TERMS = re.compile(r"[+-]?[^+-]+(?:[+-][^+-]+)*")
_NUMBER = re.compile(r"[+-]?(?:0x[0-9a-f]{1,16}|0|[1-9][0-9]{0,19})", re.I | re.A)
_NAME = re.compile(r"[\w.$@]+")
_SIGIL = re.compile(r"[\s,(*][%$]")

_ATT_MEMORY = re.compile(r"([^()]*)\((%\w+)?(?:,(%\w+)(?:,([1248]))?)?\)")
_ATT_COMMA = re.compile(r",(?![^(]{0,80}\))")  # not those of an address, which is short
_SIZES = {"b": "BYTE", "w": "WORD", "l": "DWORD", "q": "QWORD"}
_SUFFIXED = re.compile(
    r"(mov|add|sub|and|or|xor|cmp|test|imul|mul|idiv|div|neg|not|inc|dec|sal|shl|sar|shr|lea|push"
    r"|pop|movabs)([bwlq])"
)
_EXTENDED = re.compile(r"(mov[sz])([bwl])([wlq])")
_RENAMED = {
    "cltq": "cdqe",
    "cltd": "cdq",
    "cqto": "cqo",
    "cwtl": "cwde",
    **{f"{name}q": name for name in ("ret", "leave", "call", "jmp")},
}
_BARE = re.compile(r"j[a-z]+|call|ret|leave|nop|endbr64|cmov[a-z]+|cdqe|cdq|cqo|cwde")
_SETS = re.compile(r"set[a-z]+")


def tokens(statement: str) -> list[str]:
    """The tokens of one instruction; its operands show which syntax it is in.

    >>> tokens("mov dword ptr [rbp - 0x14], edi")
    ['mov', 'DWORD', 'PTR', '-20', '[', 'rbp', ']', 'edi']
    """
    if is_att(statement):
        statement = from_att(statement)
    mnemonic, rest = _parts(statement)
    operands = [_operand(part) for part in rest.split(",")] if rest else []
    name = mnemonic.lower()
    return lex_line(" ".join([_RENAMED.get(name, name), ", ".join(operands)]))


def is_att(statement: str) -> bool:
    """Whether registers or numbers in it are written as in AT&T syntax."""
    return _SIGIL.search(statement) is not None


def reads_alike(statement: str) -> bool:
    """Whether it means the same in both syntaxes: without operands, or a plain jump or call."""
    mnemonic, rest = _parts(statement)
    return not rest or mnemonic[0] in "jJ" or mnemonic.lower().startswith("call")


def _parts(statement: str) -> tuple[str, str]:
    """The mnemonic and its operands."""
    first, *rest = statement.split(None, 1)
    return first, rest[0] if rest else ""


def _operand(text: str) -> str:
    text = text.strip()
    if _NUMBER.fullmatch(text):
        return str(int(text, 0))
    memory = _MEMORY.fullmatch(text)
    if not memory:
        return text
    size, before, inside = ("".join((part or "").split()) for part in memory.groups())
    number = _NUMBER.fullmatch(before)
    displacement, registers = 0, []
    terms = ((f"{before}+" if number else "") + inside).replace("+-", "-")
    if not _TERMS.fullmatch(terms):  # signs of signs
        return text
    for sign, term in _TERM.findall(terms):
        if _NUMBER.fullmatch(term):
            if abs(int(term, 0)) >> 32:  # an assembler's sums have 64 bits, or do not wrap
                return text
            displacement += int(sign + str(int(term, 0)))
        elif sign == "-":
            return text
        else:
            registers.append(term.lower())
    if len(registers) == 1 and "*" in registers[0]:  # gcc writes 0[0+rax*8]
        registers.insert(0, "0")
        before = str(displacement)
    elif number or not before:
        before = str(displacement) if displacement else ""
    elif displacement:
        before = f"{before}{displacement:+}"
    return (f"{size.upper()} PTR " if size else "") + f"{before}[{'+'.join(registers)}]"


def from_att(statement: str) -> str:
    """An AT&T instruction in Intel syntax; an error where that is not plain.

    >>> from_att("movsbl -36(%rbp), %edx")
    'movsx edx, BYTE PTR -36[rbp]'
    """
    mnemonic, rest = _parts(statement)
    operands = [part.strip() for part in _ATT_COMMA.split(rest)] if rest else []
    size = ""
    if extended := _EXTENDED.fullmatch(mnemonic):
        mnemonic, size = extended[1] + "x", _SIZES[extended[2]]
    elif suffixed := _SUFFIXED.fullmatch(mnemonic):
        mnemonic = suffixed[1]
        size = "" if mnemonic == "lea" else _SIZES[suffixed[2]]
    elif _SETS.fullmatch(mnemonic):
        size = "BYTE"
    else:
        mnemonic = _RENAMED.get(mnemonic, mnemonic)
        if not _BARE.fullmatch(mnemonic):
            raise _inconvertible(statement)
    converted = [_from_att(operand, size, statement) for operand in reversed(operands)]
    return f"{mnemonic} {', '.join(converted)}".strip()


def _from_att(operand: str, size: str, statement: str) -> str:
    if operand[:1] in ("$", "%"):
        value = operand[1:]
        plain = _NUMBER if operand[0] == "$" else _NAME
        if plain.fullmatch(value):
            return value
        raise _inconvertible(statement)
    memory = _ATT_MEMORY.fullmatch(operand)
    if not memory:
        if not size and _NAME.fullmatch(operand):  # where a jump or call leads
            return operand
        raise _inconvertible(statement)
    displacement, base, index, scale = (part or "" for part in memory.groups())
    registers = [base[1:] or "0"]
    if index:
        registers.append(index[1:] + (f"*{scale}" if scale not in ("", "1") else ""))
    inside = f"{displacement.strip()}[{'+'.join(registers)}]"
    return f"{size} PTR {inside}" if size else inside


def _inconvertible(statement: str) -> PermnetError:
    return PermnetError(
        f"AT&T syntax that is not converted, `{statement[:80]}`: "
        "write Intel syntax (gcc -S -masm=intel)"
    )
