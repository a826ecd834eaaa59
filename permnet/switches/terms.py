"""Values as terms over what a piece of code started with, brought to one form where that is easy.

A term is a tuple: its kind, its bits, its parts, its size. Kinds: `const` value; `start` register,
what it held in the beginning; `load` address version, where each store begins a new version of
memory; `new` origin, of which nothing else is known; `zext`, `sext`, `trunc` term; `set` condition,
flags, which is 1 or 0; and `add`, `sub`, `and`, `or`, `xor`, `shl`, `shr`, `sar`, `mul` of two
terms, a constant second.
"""

from itertools import count
from typing import Any

LARGEST = 200  # a hash function unrolled would grow without end

Term = tuple[Any, ...]
_numbers = count()


def new(bits: int, name: object) -> Term:
    """A term of which nothing is known but where it came from."""
    return ("new", bits, name, 1)


def made(kind: str, bits: int, *parts: Any) -> Term:
    """A term of parts, with its size at the end; one that is too large is unknown."""
    size = 1 + sum(part[-1] for part in parts if isinstance(part, tuple))
    return (kind, bits, *parts, size) if size <= LARGEST else new(bits, next(_numbers))


def const(value: int, bits: int) -> Term:
    return ("const", bits, value % (1 << bits), 1)


def bits_of(term: Term) -> int:
    return int(term[1])


def value_of(term: Term) -> int | None:
    """The number that a term is; None if it is not constant."""
    return term[2] if term[0] == "const" else None


def signed(value: int, bits: int) -> int:
    return value - (1 << bits) if value >> (bits - 1) else value


def trunc(term: Term, bits: int) -> Term:
    kind, old = term[0], bits_of(term)
    if bits == old:
        return term
    if kind == "const":
        return const(term[2], bits)
    if kind in ("zext", "sext"):
        inner = term[2]
        if bits <= bits_of(inner):
            return trunc(inner, bits)
        return extended(inner, bits, kind == "sext")
    if kind == "trunc":
        return trunc(term[2], bits)
    if kind == "load":  # the low bytes come first
        return made("load", bits, *term[2:-1])
    if kind in ("add", "and", "or", "xor", "mul"):
        return binary(kind, trunc(term[2], bits), trunc(term[3], bits))
    if kind == "shl" and value_of(term[3]) is not None:
        return binary("shl", trunc(term[2], bits), trunc(term[3], bits))
    return made("trunc", bits, term)


def extended(term: Term, bits: int, sign: bool) -> Term:
    old = bits_of(term)
    if bits == old:
        return term
    if term[0] == "const":
        return const(signed(term[2], old) if sign else term[2], bits)
    if term[0] == "zext" or (term[0] == "sext" and sign):
        return made(term[0], bits, term[2])
    return made("sext" if sign else "zext", bits, term)


def binary(kind: str, left: Term, right: Term) -> Term:
    """An operation on two terms of the same bits, folded where it is constant."""
    bits = bits_of(left)
    a, b = value_of(left), value_of(right)
    if a is not None and b is not None:
        return const(compute(kind, a, b, bits), bits)
    if kind == "sub":
        if left == right:
            return const(0, bits)
        if b is None:
            return made("sub", bits, left, right)
        return binary("add", left, const(-b, bits))
    if a is not None and kind in ("add", "and", "or", "xor", "mul"):
        left, right, b = right, left, a
    if kind == "xor" and left == right:
        return const(0, bits)
    if b == 0 and kind in ("add", "or", "xor", "shl", "shr", "sar"):
        return left
    if b == 0 and kind in ("and", "mul"):
        return const(0, bits)
    if b == (1 << bits) - 1 and kind == "and":
        return left
    if left == right and kind in ("and", "or"):
        return left
    if b is not None and kind == "add" and left[0] == "add" and value_of(left[3]) is not None:
        return binary("add", left[2], const(b + left[3][2], bits))
    if b is None and kind == "add":  # constants come last
        (one, left_constant), (other, right_constant) = split(left), split(right)
        if left_constant or right_constant:
            summed = const(left_constant + right_constant, bits)
            return binary("add", binary("add", one, other), summed)
    if b is not None and kind == "shl":
        return binary("mul", left, const(1 << b, bits)) if b < bits else const(0, bits)
    if b is not None and kind == "and":  # it needs no more bits than the constant has
        needed = next(n for n in (8, 16, 32, 64) if b >> n == 0)
        if needed < bits:
            masked = binary("and", trunc(left, needed), const(b, needed))
            return extended(masked, bits, False)
    return made(kind, bits, left, right)


def split(term: Term) -> tuple[Term, int]:
    """A term as another one and a constant added to it."""
    if term[0] == "add" and (constant := value_of(term[3])) is not None:
        return term[2], constant
    return term, 0


def compute(kind: str, a: int, b: int, bits: int) -> int:
    """An operation on numbers without sign; shift counts are as given."""
    match kind:
        case "add":
            return a + b
        case "sub":
            return a - b
        case "and":
            return a & b
        case "or":
            return a | b
        case "xor":
            return a ^ b
        case "mul":
            return a * b
        case "shl":
            return a << b if b < bits else 0
        case "shr":
            return a >> b
        case "sar":
            return signed(a, bits) >> min(b, bits)
    raise ValueError(kind)
