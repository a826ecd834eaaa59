"""One function as instructions."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from permnet.binary.binary import Function
from permnet.binary.operands import Operand, parse_operands
from permnet.errors import PermnetError

if TYPE_CHECKING:
    from capstone import Cs

LONGEST_FUNCTION = 4 << 20  # bytes; a generated parser has a few hundred thousand


@dataclass(frozen=True, slots=True)
class Instruction:
    """As in Intel's manuals; `prefix` is `lock`, `rep`, `notrack` or the like, mostly empty."""

    address: int
    size: int
    prefix: str
    mnemonic: str
    text: str

    @property
    def end(self) -> int:
        return self.address + self.size

    @property
    def operands(self) -> tuple[Operand, ...]:
        return parse_operands(self.text)


def instructions(function: Function) -> Iterator[Instruction]:
    """Up to the end, or to the first byte that is no instruction."""
    if function.size > LONGEST_FUNCTION:
        raise PermnetError(f"{function.size} bytes long, more than {LONGEST_FUNCTION}")
    disassembled = _disassembler().disasm_lite(bytes(function.code), function.address)
    for address, size, mnemonic, text in disassembled:
        prefix, _, name = mnemonic.rpartition(" ")
        yield Instruction(address, size, prefix, name, text)


def need_disassembler() -> None:
    """An error if it is not installed."""
    _disassembler()


@lru_cache(1)
def _disassembler() -> "Cs":
    try:
        import capstone
    except ModuleNotFoundError as error:
        raise PermnetError("machine code needs capstone: pip install 'permnet[binary]'") from error
    return capstone.Cs(capstone.CS_ARCH_X86, capstone.CS_MODE_64)
