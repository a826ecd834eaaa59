"""Machine code to work on: x86-64 ELF files and objects, function by function.

In the order in which data pass through them: `elf` reads the tables of a file, `layout` gives its
sections one space of addresses, `symbols` knows the names there, `frames` finds the starts of
functions that a stripped file still has, `binary` hands out functions, `decode` disassembles one,
`operands` says what its operands mean, `listing` writes it as gcc would, and `assembler` turns
assembly text into an object first.

Whatever a file says of itself is checked before it is believed: a hostile one costs no more time or
memory than an honest one of its size.
"""

from permnet.binary.assembler import assembled
from permnet.binary.binary import Binary, Function, is_elf, open_binary
from permnet.binary.decode import Instruction, instructions
from permnet.binary.listing import labelled_assembly

__all__ = [
    "Binary",
    "Function",
    "Instruction",
    "assembled",
    "instructions",
    "is_elf",
    "labelled_assembly",
    "open_binary",
]
