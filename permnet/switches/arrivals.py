"""What values bring along to where they meet: a dispatch finds blocks and does nothing else.

Optimisers put work of a block between the tests: `mov eax, 4`, a test, and a `ret` that two blocks
share. Then the address that a value comes to is not all that tells the blocks apart. Each way from
the start of a dispatch to an address is gone through once, and what it leaves in registers is
numbered: the same instruction on the same contents leaves the same. Where two ways to an address
differ in a register, that register must be dead there.

What the tests themselves worked with is left over and means nothing to what is called, or to who
called the function. Anything else that a dispatch leaves behind was put there to be used, by a call
or a return too.
"""

from collections.abc import Collection, Iterable, Sequence
from typing import Any

from permnet.binary.decode import Instruction
from permnet.binary.operands import Memory, Operand, Register
from permnet.switches.effects import FLAGS, PRESERVED, keeps_flags, read, vector, written
from permnet.switches.graph import BasicBlock, Graph
from permnet.switches.jumps import is_idle, is_jump, jump_target

Way = tuple[int, ...]  # the address of the first instruction, and where each jump led

MOST_MOVES = 16  # instructions of a block's beginning
MEMORY = "memory"
GIVEN = {"rdi", "rsi", "rdx", "rcx", "r8", "r9", "rax", "r10", *(f"xmm{n}" for n in range(8))}
RETURNED = {"rax", "rdx", "xmm0", "xmm1"}


def difference(graph: Graph, ways: Iterable[Way]) -> tuple[int, str] | None:
    """An address, and a register or `memory` that ways there bring along differently, if any.

    The ways are all those of a dispatch.
    """
    numbers: dict[Any, int] = {}
    first: dict[int, Brought] = {}
    brought = [Brought(graph, way, numbers) for way in ways]
    served = set[int]().union(*(one.served for one in brought))
    for other in brought:
        one = first.setdefault(other.target, other)
        if name := _unlike(graph, one, other, served):
            return other.target, name
    return None


def _unlike(graph: Graph, one: "Brought", other: "Brought", served: set[int]) -> str | None:
    """What two ways to one address bring along differently, if that matters there."""
    for name in sorted(one.contents.keys() | other.contents.keys()):
        if one.content(name) == other.content(name):
            continue
        left = {way.contents[name] for way in (one, other) if name in way.contents}
        work = name != FLAGS and not left <= served
        if name == MEMORY or lives(graph, other.target, name, work):
            return name
    return None


def same_place(
    graph: Graph, ways: Iterable[Way], labelled: Collection[int]
) -> tuple[int, int] | None:
    """Two addresses that are one block, if any: the first does what was done on ways to the second.

    An optimiser puts the beginning of a block between the tests on some ways to it. Of two without
    a label that says nothing.
    """
    numbers: dict[Any, int] = {}
    by_target: dict[int, Way] = {}
    for way in ways:
        by_target.setdefault(way[-1], way)
    for target, way in sorted(by_target.items()):
        code, following = _leading(graph, target, by_target)
        if following is None or not {target, following} & {*labelled}:
            continue
        late = Brought(graph, way, numbers).moved(code, following)
        early = Brought(graph, by_target[following], numbers)
        if _unlike(graph, early, late, early.served | late.served) is None:
            return target, following
    return None


def _leading(
    graph: Graph, start: int, places: Collection[int]
) -> tuple[list[Instruction], int | None]:
    """What is done from one place on until another is reached; None if that is more than moves."""
    code: list[Instruction] = []
    address = start
    while len(code) < MOST_MOVES:
        instruction = graph.instruction(address)
        if instruction is None or instruction.mnemonic == "call":
            return code, None
        if is_jump(instruction):
            if instruction.mnemonic != "jmp" or (target := jump_target(instruction)) is None:
                return code, None
            address = target
        else:
            code.append(instruction)
            address = instruction.end
        if address in places:
            return code, address if address != start else None
    return code, None


def serves(graph: Graph, way: Way, names: Iterable[str]) -> bool:
    """Whether tests on a way depended on what one of some registers holds at its end."""
    brought = Brought(graph, way, {})
    return any(brought.content(name) in brought.served for name in names)


class Brought:
    """What one way leaves behind: numbers of contents, equal ones for what is the same.

    `served` are those that a test of the way depends on.
    """

    def __init__(self, graph: Graph, way: Way, numbers: dict[Any, int]) -> None:
        self._numbers = numbers
        self.contents: dict[str, int] = {}
        self.served: set[int] = set()
        self._made_of: dict[int, tuple[int, ...]] = {}
        *starts, self.target = way
        for start in starts:
            block = graph.stretch(start)
            for instruction in block.code if block else ():
                if not is_idle(instruction):
                    self._step(instruction)

    def moved(self, code: Iterable[Instruction], target: int) -> "Brought":
        """The same with more code behind it."""
        for instruction in code:
            if not is_idle(instruction):
                self._step(instruction)
        self.target = target
        return self

    def content(self, name: str) -> int:
        return self.contents.get(name, self._number(("start", name)))

    def _number(self, what: Any) -> int:
        return self._numbers.setdefault(what, len(self._numbers))

    def _step(self, instruction: Instruction) -> None:
        parts = tuple(self.content(name) for name in sorted(read(instruction)))
        if instruction.mnemonic.startswith("j"):
            self._serve(parts)
            return
        operands = instruction.operands
        if instruction.mnemonic != "lea" and any(isinstance(o, Memory) for o in operands):
            parts += (self.content(MEMORY),)
        near = any(isinstance(o, Memory) and o.base == "rip" for o in operands)
        where = instruction.end if near else 0
        done = (instruction.mnemonic, instruction.text, where, parts)
        changed, stores = written(instruction)
        names = [*changed, *_vectors(operands), *([MEMORY] if stores else [])]
        for name in names + ([] if keeps_flags(instruction) else [FLAGS]):
            self.contents[name] = self._number(done)
            self._made_of[self.contents[name]] = parts

    def _serve(self, parts: Sequence[int]) -> None:
        pending = list(parts)
        while pending:
            number = pending.pop()
            if number not in self.served:
                self.served.add(number)
                pending += self._made_of.get(number, ())


def lives(graph: Graph, address: int, name: str, work: bool) -> bool:
    """Whether what a register holds is used from an address on.

    For `work` it is enough that one way may use it, what is called or returned to among them. What
    is left over from tests is looked for up to the next jump: only some ways behind it are taken.
    """
    seen, pending = set[int](), [address]
    while pending:
        start = pending.pop()
        if start in seen:
            continue
        seen.add(start)
        block = next((found for part in graph.parts if (found := part.block(start))), None)
        if block is None:
            return work  # another function goes on
        used = _used(block, name, work)
        if used:
            return True
        if used is None and work:
            pending += block.successors
            if block.last.mnemonic == "jmp" and jump_target(block.last) is None:
                return True  # through a table
    return False


def _used(block: BasicBlock, name: str, work: bool) -> bool | None:
    """Whether a block uses what a register holds; None if it leaves it alone."""
    for instruction in block.code:
        if instruction.mnemonic == "call":
            if name not in PRESERVED:
                return work and name in GIVEN
        elif instruction.mnemonic in ("ret", "ud2"):
            return work and name in RETURNED and instruction.mnemonic == "ret"
        elif name in read(instruction):
            return True
        elif is_jump(instruction) or is_idle(instruction):
            continue
        elif name == FLAGS:
            if not keeps_flags(instruction):
                return False
        elif name in {*written(instruction)[0], *_vectors(instruction.operands)}:
            first = instruction.operands[0] if instruction.operands else None
            narrow = isinstance(first, Register) and first.general and first.general[1] < 32
            if not (narrow and work):
                return False
    return None


def _vectors(operands: Sequence[Operand]) -> list[str]:
    """The vector register that an instruction sets."""
    first = operands[0] if operands else None
    name = vector(first) if isinstance(first, Register) else None
    return [name] if name else []
