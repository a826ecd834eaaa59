"""Terms as functions of one number x: piece by piece linear, over intervals of x.

A piece (low, high, slope, first) is the function that is `first` at x = low and grows by `slope`
with each step up to x = high, and stays within the bits of the term all the way.
"""

from collections.abc import Callable, Iterator

from permnet.switches.intervals import Interval, ignoring, union
from permnet.switches.machine import Flags
from permnet.switches.terms import (
    Term,
    binary,
    bits_of,
    compute,
    const,
    signed,
    split,
    trunc,
    value_of,
)

MOST_PIECES = 4096

# A condition as the orders of left and right under which it holds, and whether they have a sign.
CONDITIONS = {
    "je": ({0}, False),
    "jne": ({-1, 1}, False),
    "jb": ({-1}, False),
    "jae": ({0, 1}, False),
    "jbe": ({-1, 0}, False),
    "ja": ({1}, False),
    "jl": ({-1}, True),
    "jge": ({0, 1}, True),
    "jle": ({-1, 0}, True),
    "jg": ({1}, True),
    "js": ({-1}, True),
    "jns": ({0, 1}, True),
}

Piece = tuple[int, int, int, int]
Read = Callable[[int, int], bytes | None]


class UnknownError(Exception):
    """The term depends on something other than x, or on x in a way that is not followed."""


class Evaluator:
    """Terms as functions of the term `x`; `read` gives the bytes of read-only memory."""

    def __init__(self, x: Term, read: Read) -> None:
        self.x, self._read = x, read
        # A term may also be a number of its low bits, or that and a constant.
        self._parts = {}
        for bits in (8, 16, 32, 64):
            if bits <= bits_of(x):
                base, offset = split(trunc(x, bits))
                self._parts[base] = offset

    def pieces(self, term: Term, over: Interval) -> list[Piece]:
        low, high = over
        if term == self.x:
            return [(low, high, 1, low)]
        base, offset = split(term)
        if base in self._parts:
            return _wrapped((low, high, 1, low + offset - self._parts[base]), bits_of(term))
        if (value := value_of(term)) is not None:
            return [(low, high, 0, value)]
        if (masked := self._masked(term)) is not None:
            return self.pieces(masked, over)
        kind, bits, *parts = term
        if kind in ("zext", "sext", "trunc"):
            inner = self.pieces(parts[0], over)
            if kind == "zext":
                return inner
            return _limited(_cast(kind, piece, bits_of(parts[0]), bits) for piece in inner)
        if kind == "load":
            return self._load(bits, parts[0], over)
        if kind == "set":
            held = self.condition(parts[0], Flags(*parts[1:4]), over)
            return [(low, high, 0, int(holds)) for (low, high), holds in held]
        if kind in ("add", "sub", "mul", "and", "or", "xor", "shl", "shr", "sar"):
            return self._binary(kind, bits, parts[0], parts[1], over)
        raise UnknownError

    def _masked(self, term: Term) -> Term | None:
        """Some bits of what x is some bits of, as bits of x, if x has them all."""
        if term[0] != "and" or self.x[0] != "and" or term[2] != self.x[2]:
            return None
        mask, bits = value_of(self.x[3]), value_of(term[3])
        if mask is None or bits is None or bits & ~mask:
            return None
        return binary("and", self.x, term[3])

    def _load(self, bits: int, address: Term, over: Interval) -> list[Piece]:
        found = []
        for low, high, _, place in constants(self.pieces(address, over)):
            content = self._read(place, bits // 8)
            if content is None:
                raise UnknownError
            found.append((low, high, 0, int.from_bytes(content, "little")))
        return found

    def _binary(self, kind: str, bits: int, a: Term, b: Term, over: Interval) -> list[Piece]:
        found: list[Piece] = []
        for left in self.pieces(a, over):
            for right in self.pieces(b, left[:2]):
                shared = _cut(left, *right[:2])
                if kind in ("add", "sub") or (kind == "mul" and right[2] == 0):
                    found += _wrapped(_combined(kind, shared, right), bits)
                else:
                    both = [shared] if right[2] == 0 else [(*right[:2], 1, 0)]
                    for low, high, *_ in constants(both):
                        one, other = _cut(shared, low, high)[3], _cut(right, low, high)[3]
                        found.append((low, high, 0, compute(kind, one, other, bits) % (1 << bits)))
                if len(found) > MOST_PIECES:
                    raise UnknownError
        return found

    def compare(self, a: Term, b: Term, over: Interval, sign: bool) -> list[tuple[Interval, int]]:
        """Intervals of x over which a < b (-1), a = b (0) or a > b (1)."""
        found: list[tuple[Interval, int]] = []
        bits = bits_of(a)
        for left in _signs(self.pieces(a, over), bits, sign):
            for right in _signs(self.pieces(b, left[:2]), bits, sign):
                shared = _cut(left, *right[:2])
                difference = _combined("sub", shared, right)
                found += _crossing(difference)
                if len(found) > MOST_PIECES:
                    raise UnknownError
        return found

    def _is_one_of(
        self, term: Term, numbers: list[int], over: Interval
    ) -> Iterator[tuple[Interval, bool]]:
        """Intervals of x, and whether a term is one of some numbers over them."""
        bits = bits_of(term)
        hits = union(
            part
            for number in numbers
            for part, order in self.compare(term, const(number, bits), over, False)
            if order == 0
        )
        start, last = over
        for low, high in hits:
            if start < low:
                yield (start, low - 1), False
            yield (low, high), True
            start = high + 1
        if start <= last:
            yield (start, last), False

    def condition(
        self, mnemonic: str, flags: Flags, over: Interval
    ) -> Iterator[tuple[Interval, bool]]:
        """Intervals of x, and whether the condition of a jump holds over them."""
        if flags.kind == "bit":
            if mnemonic not in ("jb", "jae"):
                raise UnknownError
            bits = bits_of(flags.left)
            count = binary("and", flags.right, const(bits - 1, bits))
            tested = binary("and", binary("shr", flags.left, count), const(1, bits))
            for low, high, _, value in constants(self.pieces(tested, over)):
                yield (low, high), bool(value) == (mnemonic == "jb")
            return
        if mnemonic not in CONDITIONS:
            raise UnknownError
        orders, sign = CONDITIONS[mnemonic]
        left, right = flags.left, flags.right
        if flags.kind == "result" and mnemonic not in ("je", "jne", "js", "jns"):
            raise UnknownError
        if mnemonic in ("je", "jne") and (several := _several(left, right)):
            for part, equal in self._is_one_of(left[2], several, over):
                yield part, equal == (mnemonic == "je")
            return
        if flags.kind == "cmp" and mnemonic in ("js", "jns"):
            left, right = binary("sub", left, right), const(0, bits_of(left))
        for part, order in self.compare(left, right, over, sign):
            yield part, order in orders


def _several(left: Term, right: Term) -> list[int]:
    """The numbers that are the same as `right` but for bits that a mask in `left` leaves out.

    None if that is no such test, or the numbers are few enough to be gone through.
    """
    number = value_of(right)
    mask = value_of(left[3]) if left[0] == "and" else None
    if mask is None or number is None or bits_of(left) <= 8:
        return []
    return ignoring(mask, number, bits_of(left))


def constants(pieces: list[Piece]) -> Iterator[Piece]:
    """The same function in pieces that do not grow."""
    steps = 0
    for low, high, slope, first in pieces:
        if slope == 0:
            yield low, high, 0, first
            continue
        steps += high - low + 1
        if steps > MOST_PIECES:
            raise UnknownError
        yield from ((x, x, 0, first + slope * (x - low)) for x in range(low, high + 1))


def _limited(parts: Iterator[list[Piece]]) -> list[Piece]:
    found: list[Piece] = []
    for part in parts:
        found += part
        if len(found) > MOST_PIECES:
            raise UnknownError
    return found


def _cut(piece: Piece, low: int, high: int) -> Piece:
    start, end, slope, first = piece
    new = max(start, low)
    return (new, min(end, high), slope, first + slope * (new - start))


def _combined(kind: str, left: Piece, right: Piece) -> Piece:
    """Of two pieces over the same interval; the result may leave its bits."""
    low, high, slope, first = left
    _, _, other_slope, other = right
    if kind == "mul":
        return (low, high, slope * other, first * other)
    sign = 1 if kind == "add" else -1
    return (low, high, slope + sign * other_slope, first + sign * other)


def _wrapped(piece: Piece, bits: int) -> list[Piece]:
    """Cut where the value passes a multiple of 2^bits, each part brought back into the bits."""
    low, high, slope, first = piece
    modulus = 1 << bits
    found: list[Piece] = []
    while low <= high:
        lap = first // modulus
        if slope > 0:
            steps = ((lap + 1) * modulus - 1 - first) // slope
        elif slope < 0:
            steps = (first - lap * modulus) // -slope
        else:
            steps = high - low
        end = min(high, low + steps)
        found.append((low, end, slope, first - lap * modulus))
        first += slope * (end + 1 - low)
        low = end + 1
        if len(found) > MOST_PIECES:
            raise UnknownError
    return found


def _cast(kind: str, piece: Piece, old: int, new: int) -> list[Piece]:
    if kind == "trunc":
        return _wrapped(piece, new)
    return [
        (low, high, slope, signed(first, old) % (1 << new))
        for low, high, slope, first in _halves(piece, old)
    ]


def _halves(piece: Piece, bits: int) -> list[Piece]:
    """Cut where the sign bit changes."""
    low, high, slope, first = piece
    half = 1 << (bits - 1)
    if slope > 0 and first < half:
        end = low + (half - 1 - first) // slope
    elif slope < 0 and first >= half:
        end = low + (first - half) // -slope
    else:
        return [piece]
    if end >= high:
        return [piece]
    return [(low, end, slope, first), (end + 1, high, slope, first + slope * (end + 1 - low))]


def _signs(pieces: list[Piece], bits: int, sign: bool) -> Iterator[Piece]:
    """The same values, with sign if asked for."""
    for piece in pieces:
        if not sign:
            yield piece
            continue
        for low, high, slope, first in _halves(piece, bits):
            yield low, high, slope, signed(first, bits)


def _crossing(piece: Piece) -> list[tuple[Interval, int]]:
    """Where a linear function is below, at and above zero."""
    low, high, slope, first = piece
    if slope == 0:
        return [((low, high), (first > 0) - (first < 0))]
    at = -first // slope  # floor of where it crosses, in steps from low
    exact = first + slope * at == 0
    before, after = (-1, 1) if slope > 0 else (1, -1)
    last_before = low + at - 1 if exact else low + at
    parts = [((low, min(high, last_before)), before)]
    if exact:
        parts.append(((low + at, low + at), 0))
    parts.append(((max(low, low + at + 1), high), after))
    return [((a, b), order) for (a, b), order in parts if a <= b and low <= a and b <= high]
