"""A function's instructions in basic blocks, and who jumps where."""

from bisect import bisect_right
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import dropwhile, islice, pairwise

from permnet.binary.binary import Function
from permnet.binary.decode import LONGEST_FUNCTION, Instruction, instructions
from permnet.binary.operands import SIZES, Memory, Number, operation_bits
from permnet.switches.fixed import FixedRegisters
from permnet.switches.jumps import (
    ENDS,
    is_idle,
    is_jump,
    is_mere_jump,
    is_padding,
    jump_target,
)

_OPENING = ("endbr64", "push", "sub")


@dataclass(frozen=True)
class BasicBlock:
    code: tuple[Instruction, ...]

    @property
    def address(self) -> int:
        return self.code[0].address

    @property
    def end(self) -> int:
        return self.code[-1].end

    @property
    def last(self) -> Instruction:
        return self.code[-1]

    @property
    def is_conditional(self) -> bool:
        return self.last.mnemonic.startswith("j") and self.last.mnemonic != "jmp"

    @property
    def is_padding(self) -> bool:
        """Nothing but what compilers put between blocks to align them."""
        return all(map(is_padding, self.code))

    @property
    def is_idle_jump(self) -> bool:
        """Nothing but a jump, and comparisons whose two ways lead there."""
        return is_mere_jump(self.last) and all(one.mnemonic == "cmp" for one in self.code[:-1])

    @property
    def successors(self) -> tuple[int, ...]:
        """Addresses known without looking at values: the jump's target first."""
        target = jump_target(self.last)
        jumped = () if target is None else (target,)
        falls = self.last.mnemonic not in ENDS
        return (*jumped, self.end) if falls else jumped


def _as_known(function: Function, instruction: Instruction) -> Instruction:
    """In an object, a comparison with an address of its as one with what nobody knows."""
    end, operands = instruction.end, instruction.operands
    # The immediate comes last: what is open before it is where memory is.
    if instruction.mnemonic not in ("cmp", "sub") or not function.binary.invented(end - 4, end):
        return instruction
    if not isinstance(operands[-1], Number):
        return instruction
    size = next(name for name, bits in SIZES.items() if bits == operation_bits(operands))
    left = instruction.text.rpartition(",")[0]
    return replace(instruction, text=f"{left}, {size} ptr fs:[0]")


class Graph:
    """Basic blocks of a function; a walk may also begin inside one."""

    def __init__(self, function: Function) -> None:
        self.function = function
        self.code = tuple(_as_known(function, each) for each in instructions(function))
        self._at = {instruction.address: i for i, instruction in enumerate(self.code)}
        leaders = {function.address}
        for instruction in self.code:
            if is_jump(instruction):
                leaders.add(instruction.end)
                if (target := jump_target(instruction)) is not None:
                    leaders.add(target)
        self._leaders = sorted(leaders & self._at.keys())

    @cached_property
    def blocks(self) -> tuple[BasicBlock, ...]:
        return tuple(block for address in self._leaders if (block := self.block(address)))

    @cached_property
    def predecessors(self) -> dict[int, set[int]]:
        """Of each address that is jumped or fallen to, the addresses of the blocks that do."""
        found: dict[int, set[int]] = {}
        for block in self.blocks:
            if block.is_padding and block.address not in found:
                continue
            for successor in block.successors:
                found.setdefault(successor, set()).add(block.address)
        return found

    @cached_property
    def parts(self) -> tuple["Graph", ...]:
        """This function and what conditions lead to outside it: its cold part."""
        targets = {
            target
            for block in self.blocks
            if block.is_conditional and (target := jump_target(block.last)) is not None
        }
        found = map(self.function.binary.function, targets - self._at.keys())
        outside = {part.address: part for part in found if part and part.size <= LONGEST_FUNCTION}
        outside.pop(self.function.address, None)
        return (self, *map(Graph, outside.values()))

    @cached_property
    def fixed(self) -> FixedRegisters:
        """What holds of registers, place by place."""
        return FixedRegisters(self)

    def block(self, address: int) -> BasicBlock | None:
        """From an address to the next jump or leader; None where no instruction starts."""
        first = self._at.get(address)
        if first is None:
            return None
        following = bisect_right(self._leaders, address)
        stop = (
            self._at[self._leaders[following]] if following < len(self._leaders) else len(self.code)
        )
        return BasicBlock(self.code[first:stop])

    def stretch(self, address: int) -> BasicBlock | None:
        """From an address to the next jump, past leaders; None where no instruction starts.

        A jump to a condition is gone past: two comparisons may share one.
        """
        code, block = tuple[Instruction, ...](), self.block(address)
        while block:
            shared = self.shared_condition(block.last)
            code += block.code[:-1] if shared else block.code
            block = shared or (None if is_jump(block.last) else self.block(block.end))
        return BasicBlock(code) if code else None

    def tests_at(self, address: int) -> BasicBlock | None:
        """From an address to the next jump; jumps to a place between do not end it if optimised."""
        return self.block(address) if self.is_unoptimised else self.stretch(address)

    def shared_condition(self, jump: Instruction) -> BasicBlock | None:
        """The condition that an unconditional jump leads to, if nothing stands before it there."""
        target = jump_target(jump) if jump.mnemonic == "jmp" else None
        block = self.block(target) if target is not None else None
        return block if block and len(block.code) == 1 and block.is_conditional else None

    def block_of(self, address: int) -> int:
        """The start of the block that an address lies in."""
        return self._leaders[bisect_right(self._leaders, address) - 1]

    def past_padding(self, address: int) -> int:
        """The first address from one on where something is done."""
        while (instruction := self.instruction(address)) and is_idle(instruction):
            address = instruction.end
        return address

    def instruction(self, address: int) -> Instruction | None:
        index = self._at.get(address)
        return None if index is None else self.code[index]

    @cached_property
    def is_unoptimised(self) -> bool:
        """Whether it looks like -O0: a frame pointer, and locals in the frame or idle compares."""
        opening = [(i.mnemonic, i.text) for i in self.code[:3] if i.mnemonic != "endbr64"]
        framed = opening[:2] == [("push", "rbp"), ("mov", "rbp, rsp")]
        if not framed or any(is_idle(i) and i.end > i.address + 1 for i in self.code):
            return False  # nothing is aligned within an unoptimised function
        body = dropwhile(lambda i: i.mnemonic in _OPENING or i.text[:8] == "rbp, rsp", self.code)
        saves = any(i.mnemonic == "mov" and _uses_frame(i, 0) for i in islice(body, 3))
        most = len(self.code)
        return (
            saves
            or self._compares_twice
            or 6 * sum(map(_uses_frame, self.code)) >= most
            or 40 * self._moves_twice >= most
        )

    @property
    def _moves_twice(self) -> int:
        """How often an address is moved on from where it was computed, as it is for each call."""
        return sum(
            one.mnemonic == "lea" and after.mnemonic == "mov" and after.operands[1:] == source
            for one, after in pairwise(self.code)
            if (source := one.operands[:1])
        )

    @property
    def _compares_twice(self) -> bool:
        """Whether a comparison is made again right behind its jump, as no optimiser does."""
        three = zip(self.code, self.code[1:], self.code[2:], strict=False)
        return any(
            one.mnemonic == again.mnemonic == "cmp" and one.text == again.text and is_jump(jump)
            for one, jump, again in three
        )


def _uses_frame(instruction: Instruction, first: int | None = None) -> bool:
    """Whether one of the operands, or the first one, lies in the frame."""
    operands = instruction.operands if first is None else instruction.operands[first : first + 1]
    return any(isinstance(o, Memory) and o.base == "rbp" for o in operands)
