"""How models read assembly: such that the labels of a switch stand in it, to be pointed at.

gcc tests several labels at once where it can, and then some of them stand nowhere:

    test eax eax je .L4                             0
    cmp eax 60 jg .L9 cmp eax 58 jge .L4            58, 59 and 60
    cmp eax 3 ja .L9 cmp eax 0 jne .L4              1, 2 and 3
    sub eax 66 cmp eax 1 ja .L9                     66 and 67
    sub eax 76 mov edx 1 mov ecx eax sal rdx cl … and edx 41 cmp rdx 0 …    76, 79 and 81

So a register tested against itself is read as compared with 0, and behind a number that stands for
labels they are spelled out: `cmp eax 58 ∋ 59 60 jge .L4`, `cmp eax 1 ∋ 66 67 ja .L9`, `and edx 41 ∋
76 79 81`. What to make of them is left to the model. One that was trained before that has no `∋` in
its vocabulary, and reads no labels but those that stand there.
"""

import re
from collections.abc import Iterator, Sequence

MEANS = "∋"
FROM = ("jge", "jns", "jnb")  # to the labels of a range: a number or more
ABOVE = ("jg", "jne")  # the same where it is more than 0
MARKS = ("test", *FROM, "ja", "jbe", "cl", "jg")
"""Of these words one stands in all assembly that is not read as it is."""

_Labels = Iterator[tuple[int, Sequence[int]]]
_NUMBER = re.compile(r"-?\d+", re.ASCII)
_COMPARE = 12  # tokens that a comparison has at most, up to its jump
_NEAR = 20  # tokens between a difference and the mask that it is looked up in
_MASKED = 120  # tokens behind a bit that is shifted, in which masks are tried
_RANGE = 20  # labels that a range has at most


def as_read(assembly: Sequence[str], spelled: bool = True) -> tuple[list[str], list[int]]:
    """The tokens that models read, and where in the assembly each of them comes from.

    With labels spelled out, or without.

    >>> as_read(["test", "eax", "eax", "je", ".L3"])[0]
    ['cmp', 'eax', '0', 'je', '.L3']
    """
    words = list(assembly)
    labels: dict[int, Sequence[int]] = {}
    for i, word in enumerate(assembly):
        if word == "test" and len(assembly) > i + 2 and assembly[i + 1] == assembly[i + 2]:
            words[i], words[i + 2] = "cmp", "0"
        elif not spelled:
            continue
        elif word in FROM or (word in ABOVE and words[i - 1] == "0"):
            labels.update(_range(words, i))
        elif word in ("ja", "jbe"):
            labels.update(_difference(words, i))
        elif word == "cl":
            labels.update(_masks(words, i))
    read, places = words, list(range(len(words)))
    for i in sorted(labels, reverse=True):
        said = [MEANS, *(str(label) for label in labels[i] if str(label) != words[i])]
        read[i + 1 : i + 1] = said
        places[i + 1 : i + 1] = [i] * len(said)
    return read, places


def _range(words: Sequence[str], jump: int) -> _Labels:
    """`cmp x MOST jg … cmp x LEAST jge`, behind LEAST; `ja` and `jnb` of numbers without a sign."""
    begin, least = _compare(words, jump)
    before, most = _compare(words, begin - 2)
    if least is None or most is None or words[begin - 2] not in ("jg", "jns", "ja"):
        return
    least += words[jump] in ABOVE
    same = words[before + 1 : begin - 3] == words[begin + 1 : jump - 1]
    if not same or words[begin - 1 : begin] == words[jump + 1 : jump + 2]:
        return
    most -= words[begin - 2] == "jns"
    if 0 < most - least < _RANGE and not _is_mask(words, words[jump + 1 : jump + 2]):
        yield jump - 1, range(least, most + 1)


def _difference(words: Sequence[str], jump: int) -> _Labels:
    """`sub x LEAST cmp x COUNT ja`, behind COUNT."""
    begin, count = _compare(words, jump)
    if count is None or not 0 < count < _RANGE or begin < 3 or begin + 3 != jump:
        return
    if words[begin - 3] in ("sub", "add") and words[begin - 2] == words[begin + 1]:
        least = _taken_off(words, begin)
        yield jump - 1, range(least, least + count + 1)


def _masks(words: Sequence[str], shift: int) -> _Labels:
    """`sub x LEAST mov y 1 mov ecx x sal y cl … and z MASK`, or `mov y MASK mov ecx x shr y cl`."""
    if shift < 6 or words[shift - 5 : shift - 3] != ["mov", "ecx"]:
        return
    least = _taken_off(words, shift - 6)
    if words[shift - 2] == "shr" and (mask := _number(words[shift - 6])) is not None:
        yield shift - 6, _bits(mask, least)
    elif words[shift - 2] == "sal" and words[shift - 6] == "1":
        for i in range(shift, min(shift + _MASKED, len(words) - 2)):
            if words[i] in ("jmp", ":"):
                return
            if words[i] in ("and", "movabs") and (mask := _number(words[i + 2])) is not None:
                yield i + 2, _bits(mask, least)


def _bits(mask: int, least: int) -> list[int]:
    return [least + bit for bit in range(64) if mask >> bit & 1]


def _compare(words: Sequence[str], jump: int) -> tuple[int, int | None]:
    """Where the comparison with a number begins that a jump depends on, and the number."""
    number = _number(words[jump - 1]) if jump >= 3 else None
    for begin in range(jump - 3, max(jump - _COMPARE, -1), -1):
        if words[begin] == "cmp":
            return begin, number
    return 0, None


def _taken_off(words: Sequence[str], end: int) -> int:
    """What was last subtracted from a register, shortly before."""
    for i in range(end - 3, max(end - _NEAR, -1), -1):
        if words[i] in ("sub", "add") and words[i + 1][0] in "er" and words[i + 1] != "rsp":
            number = _number(words[i + 2])
            return 0 if number is None else number if words[i] == "sub" else -number
    return 0


def _is_mask(words: Sequence[str], label: Sequence[str]) -> bool:
    """Whether bits are tested at that label: then not all of a range are labels."""
    for i in range(len(words) - 1):
        if words[i + 1] == ":" and words[i] in label:
            return "cl" in words[i : i + _NEAR + 4]
    return False


def _number(word: str) -> int | None:
    return int(word) if _NUMBER.fullmatch(word) else None
