"""The skeleton of a switch by rules, without a model: a yardstick for the models.

For what gcc -O0 -fno-jump-tables makes of one switch. The dispatch, which begins with the
function's first comparison, is run for one value of the scrutinee after another. Which values have
to be tried shows on the way: a comparison of the scrutinee plus `a` with `b` changes its mind near
`b - a` only, a bit test at every value. What reaches a block is its labels, what is left over the
default; whether that is a block of its own or simply what follows the switch is told by where the
blocks' `break`s lead.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import pairwise

from permnet.errors import PermnetError
from permnet.tasks.switch.assembly import Lines
from permnet.tasks.switch.skeleton import DEFAULT, Skeleton

LONGEST_PATH = 1_000  # instructions
MOST_LABELS = 1_000
MOST_VALUES = 10_000

_REGISTER = re.compile(r"([re]?)([abcd]x|[sd]i|[sb]p)|([abcd])l")
_NUMBER = re.compile(r"-?\d+")
_SIZES = {"BYTE": 8, "WORD": 16, "DWORD": 32, "QWORD": 64}


def solve(tokens: Sequence[str]) -> Skeleton:
    """The skeleton of the switch in a function's assembly."""
    try:
        return _solved(instructions(tokens))
    except (IndexError, KeyError, TypeError, ValueError) as error:
        if isinstance(error, PermnetError):
            raise
        raise PermnetError("this is not assembly as gcc writes it") from error


def _solved(lines: Lines) -> Skeleton:
    reached = _Dispatch(lines).blocks()
    cases = [place for place, labels in reached.items() if labels]
    blocks: Skeleton = []
    for place, labels in sorted(reached.items()):
        if labels:
            blocks.append([*labels])
        elif _is_default(lines, place, cases):
            blocks.append([DEFAULT])
    return blocks


def instructions(tokens: Sequence[str]) -> Lines:
    """Flat tokens as lines: a label and its colon, or a mnemonic and its operands."""
    lines: Lines = []
    for i, token in enumerate(tokens):
        is_mnemonic = token.isalpha() and token.islower() and not _REGISTER.fullmatch(token)
        if is_mnemonic or tokens[i + 1 : i + 2] == [":"]:
            lines.append([])
        lines[-1].append(token)
    return lines


# ---- running the dispatch -----------------------------------------------------------------------


@dataclass(frozen=True)
class _Operand:
    """A number, or where one is kept: a register's family such as `ax`, or a place in memory."""

    width: int
    value: int | None = None
    place: str = ""


@dataclass(frozen=True)
class _Value:
    """64 bits; `plus` says that they are the scrutinee plus so much.

    A `ragged` one depends on the scrutinee in another way than through comparisons.
    """

    bits: int
    plus: int | None = None
    ragged: bool = False


@dataclass(frozen=True)
class _Flags:
    left: _Value
    right: _Value
    width: int

    def hold(self, condition: str) -> bool:
        signed = [_signed(value.bits, self.width) for value in (self.left, self.right)]
        unsigned = [value.bits % (1 << self.width) for value in (self.left, self.right)]
        difference = _signed(self.left.bits - self.right.bits, self.width)
        return {
            "e": difference == 0,
            "ne": difference != 0,
            "g": signed[0] > signed[1],
            "ge": signed[0] >= signed[1],
            "l": signed[0] < signed[1],
            "le": signed[0] <= signed[1],
            "a": unsigned[0] > unsigned[1],
            "be": unsigned[0] <= unsigned[1],
            "s": difference < 0,
            "ns": difference >= 0,
        }[condition]

    @property
    def ragged(self) -> bool:
        return self.left.ragged or self.right.ragged


def _signed(bits: int, width: int) -> int:
    bits %= 1 << width
    return bits - (1 << width) if bits >> (width - 1) else bits


def _operands(line: Sequence[str]) -> tuple[_Operand, ...]:
    return _operands_of(tuple(line[1:]))


@lru_cache(10_000)
def _operands_of(tokens: tuple[str, ...]) -> tuple[_Operand, ...]:
    found = []
    rest = list(tokens)
    while rest:
        if rest[0] in _SIZES or "[" in rest[:2]:
            width, end = _SIZES.get(rest[0], 64), rest.index("]") + 1
            found.append(_Operand(width, place="".join(rest[2 if rest[0] in _SIZES else 0 : end])))
            rest = rest[end:]
            continue
        token = rest.pop(0)
        if register := _REGISTER.fullmatch(token):
            size, family, low = register.groups()
            width = 8 if low else {"r": 64, "e": 32, "": 16}[size]
            found.append(_Operand(width, place=family or f"{low}x"))
        elif _NUMBER.fullmatch(token):
            found.append(_Operand(64, value=int(token)))
        else:
            found.append(_Operand(64, place=token))
    return tuple(found)


class _Dispatch:
    """The part of a function that compares the scrutinee and jumps to the blocks."""

    def __init__(self, lines: Lines) -> None:
        self.lines = lines
        self.labels = {line[0]: i for i, line in enumerate(lines) if line[-1] == ":"}
        first = next((i for i, line in enumerate(lines) if line[0] in ("cmp", "test")), None)
        if first is None:
            raise PermnetError("there is no comparison, and so no switch")
        self.scrutinee = _operands(lines[first])[0]
        self.start = first
        self.end = self._end()
        if lines[first - 1][0] in ("add", "sub") and lines[first + 1][0] in ("seta", "ja"):
            # The subtraction is the switch's own, or it brings the smallest label of a range to 0.
            labels = [label for labels in self.blocks().values() for label in labels or []]
            self.start -= min(labels, default=1) == 0

    def _end(self) -> int:
        """Where the first line stands that is not part of the dispatch."""
        equals = 0  # comparisons for equality since the last one for order
        in_bits = False
        for i in range(self.start, len(self.lines)):
            line, before = self.lines[i], self.lines[i - 1][0]
            after = self.lines[i + 1][0] if i + 1 < len(self.lines) else ""
            if line[-1] == ":":
                if before != "jmp" or not self._goes_on(line[0], i):
                    return i
                equals, in_bits = 0, False
            elif line[0] == "jmp":
                if after not in self.labels:
                    return i + 1
            elif line[0][0] == "j":
                if in_bits:
                    last = line[0] == "je"
                else:
                    equals = equals + 1 if line[0] == "je" else 0
                    last = (line[0] in ("jne", "ja", "jbe") and before == "cmp") or equals == 2
                if last and after != "jmp":
                    return i + 1
            elif not self._belongs(line):
                return i
            in_bits |= line[0] in ("sal", "shr")
        return len(self.lines)

    def _goes_on(self, label: str, at: int) -> bool:
        """Whether a label amid the dispatch belongs to it: one comparison for order leads there."""
        jumps = [line for line in self.lines[self.start : at] if line[1:] == [label]]
        return [line[0] for line in jumps] in (["jg"], ["jl"], ["jge"], ["jle"], ["js"], ["jns"])

    def _belongs(self, line: Sequence[str]) -> bool:
        if line[0] not in _EFFECTS and line[0] not in ("cmp", "test") and line[0][:3] != "set":
            return False
        target, *sources = _operands(line)
        if line[0] not in ("cmp", "test") and "[" in target.place:
            return False
        places = [operand.place for operand in (target, *sources)]
        return all(place == self.scrutinee.place for place in places if "[" in place)

    def blocks(self) -> dict[int, list[int] | None]:
        """The line at which each block begins, and its labels; none for the default's."""
        width = self.scrutinee.width
        least, most = -(1 << (width - 1)), (1 << (width - 1)) - 1
        reached: dict[int, int] = {}
        waiting = [least, most]
        while waiting:
            x = waiting.pop()
            if x not in reached and least <= x <= most:
                if len(reached) > MOST_VALUES:
                    raise PermnetError(f"more than {MOST_VALUES} values have to be tried")
                reached[x], near = self._run(x)
                waiting += near
        default = reached[least]
        if reached[most] != default:
            raise PermnetError("no block takes the values that are left over")
        blocks: dict[int, list[int] | None] = {default: None}
        points = [*sorted(reached), most + 1]
        for x, following in pairwise(points):
            if reached[x] != default:
                if following - x > MOST_LABELS:
                    raise PermnetError(f"a block takes {following - x} values")
                labels = blocks.setdefault(reached[x], [])
                labels += range(x, following)  # type: ignore[operator]
        return blocks

    def _run(self, x: int) -> tuple[int, list[int]]:
        """The line of the block that takes x, and the values at which another path may begin."""
        width = self.scrutinee.width
        values = {self.scrutinee.place: _Value(x % (1 << 64), plus=0)}
        flags: _Flags | None = None
        near: list[int] = []
        at = self.start
        for _ in range(LONGEST_PATH):
            if not self.start <= at < self.end:
                return self._block(at), near
            line = self.lines[at]
            name, at = line[0], at + 1
            if line[-1] == ":":
                continue
            if name == "jmp":
                at = self._target(line)
            elif name[0] == "j":
                if flags is None:
                    raise PermnetError(f"`{' '.join(line)}` follows no comparison")
                near += [x + 1] if flags.ragged else _changes(flags, width)
                at = self._target(line) if flags.hold(name[1:]) else at
            elif name in ("cmp", "test"):
                left, right = (self._read(values, o) for o in _operands(line))
                if name == "test":  # of a register with itself
                    right = _Value(0)
                flags = _Flags(left, right, _operands(line)[0].width)
            elif name[:3] == "set":
                if flags is None:
                    raise PermnetError(f"`{' '.join(line)}` follows no comparison")
                near += [] if flags.ragged else _changes(flags, width)
                place = _operands(line)[0].place
                values[place] = _Value(int(flags.hold(name[3:])), ragged=flags.ragged)
            else:
                target, *sources = _operands(line)
                before = values.get(target.place, _Value(0))
                given = [self._read(values, source) for source in sources]
                values[target.place] = _EFFECTS[name](before, *given, target.width)
        raise PermnetError("the dispatch does not end")

    def _read(self, values: dict[str, _Value], operand: _Operand) -> _Value:
        if operand.value is not None:
            return _Value(operand.value % (1 << 64))
        if operand.place not in values:
            raise PermnetError(f"the dispatch reads {operand.place}, which is not the scrutinee")
        return values[operand.place]

    def _target(self, line: Sequence[str]) -> int:
        if line[1] not in self.labels:
            raise PermnetError(f"the label {line[1]} is never defined")
        return self.labels[line[1]]

    def _block(self, at: int) -> int:
        """The first line behind labels."""
        while at < len(self.lines) and self.lines[at][-1] == ":":
            at += 1
        return at


def _changes(flags: _Flags, width: int) -> list[int]:
    """The values of the scrutinee from which on a comparison with a number may end otherwise."""
    if flags.left.plus is None:
        return []
    number = flags.right.bits
    edges = (number, number + 1, 0, 1 << (flags.width - 1))
    return [_signed(edge - flags.left.plus, width) for edge in edges]


def _moved(_: _Value, given: _Value, width: int) -> _Value:
    return replace(given, bits=given.bits % (1 << width)) if width < 64 else given


def _added(before: _Value, given: _Value, width: int) -> _Value:
    plus = None if before.plus is None else before.plus + _signed(given.bits, width)
    return replace(before, bits=(before.bits + given.bits) % (1 << width), plus=plus)


def _subtracted(before: _Value, given: _Value, width: int) -> _Value:
    return _added(before, _Value(-given.bits % (1 << 64)), width)


def _worked_out(rule: Callable[[int, int], int]) -> Callable[[_Value, _Value, int], _Value]:
    def effect(before: _Value, given: _Value, width: int) -> _Value:
        ragged = any(value.ragged or value.plus is not None for value in (before, given))
        return _Value(rule(before.bits, given.bits) % (1 << width), ragged=ragged)

    return effect


_EFFECTS: dict[str, Callable[..., _Value]] = {
    **dict.fromkeys(("mov", "movabs", "movsx", "movzx"), _moved),
    "add": _added,
    "sub": _subtracted,
    "and": _worked_out(lambda a, b: a & b),
    **dict.fromkeys(("sal", "shl"), _worked_out(lambda a, b: a << (b % 64))),
    "shr": _worked_out(lambda a, b: a >> (b % 64)),
}


# ---- the default --------------------------------------------------------------------------------


def _is_default(lines: Lines, place: int, cases: Sequence[int]) -> bool:
    """Whether what is left over has a block of its own, and not just what follows the switch.

    If it has, and it is the last, some block before it leaves the switch: by a jump past it, as a
    `return` does too, but to the very end; or, if no other block does, straight into what follows
    the switch, which then stands there, behind a `nop`.
    """
    if place < max(cases):
        return True
    labels = {line[0]: i for i, line in enumerate(lines) if line[-1] == ":"}
    for line, following in pairwise(lines[min(cases) : place]):
        if line[0] == "nop" and following[0] != "jmp" and following[-1] != ":":
            return True
        if line[0] == "jmp" and labels[line[1]] > place and not _is_end(lines, labels[line[1]]):
            return True
    return False


def _is_end(lines: Lines, at: int) -> bool:
    """Whether only labels, with a `nop` between them, stand before the end of the function."""
    while lines[at][-1] == ":" or (lines[at][0] == "nop" and lines[at + 1][-1] == ":"):
        at += 1
    return lines[at][0] in ("leave", "pop")
