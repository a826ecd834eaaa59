"""A function as a question to a decompiler: is it one that a model can answer, and in which tokens?

Labels are renamed as in the training data, by a draw that depends on the code alone, so that their
names do not matter. Calls are asked under the names that the model was trained with: the function
of the prelude that is most alike stands in for those that the user declares. In the answer they
have their own names again, in the order in which the assembly calls them.
"""

import re
from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass
from itertools import chain, repeat

from permnet.decompiling.callees import called, guessed
from permnet.decompiling.text import Function, Line
from permnet.decompiling.toolchain import prototypes, types_of
from permnet.decompiling.verify import renumbered
from permnet.errors import PermnetError
from permnet.tasks.switch.assembly import shuffled
from permnet.tasks.switch.ctokens import PRELUDE
from permnet.tasks.switch.draw import Draw
from permnet.tasks.switch.reading import MEANS, as_read
from permnet.vocab import EOS, SOS, SPECIALS, Vocab

LONGEST = 2_048  # tokens; the longest function of the training data has 1,802

_NUMBER = re.compile(r"-?[0-9]{1,20}")
_REGISTER = re.compile(
    r"[re]?(?:[abcd]x|[sd]i|[sb]p)|r(?:[89]|1[0-5])[dwb]?|[abcd][lh]|[sd]il|[sb]pl"
)
_JUMP = re.compile(r"j[a-z]+")
_SHIFTS = ("sal", "shl", "sar", "shr")
_OF_WIDE = "unsigned"  # a word of C that tells models of the wide language from others
_PLT = "@PLT"


@dataclass(frozen=True)
class Question:
    """The ids of a function from `<sos>` to `<eos>`, and what it takes to read the answer.

    `numbers` holds the file's line of each id, 0 for the specials; `names` for each function of the
    prelude those for which it stands in, call by call.
    """

    function: Function
    ids: list[int]
    lent: dict[str, int]
    numbers: list[int]
    names: Mapping[str, list[str]]

    def read(self, ids: Iterable[int], vocab: Vocab) -> list[str]:
        """An answer as it was said, calls under the user's own names."""
        tokens = [token.removesuffix(_PLT) for token in vocab.decode(ids, self.lent)]
        calls = {name: chain(own, repeat(own[-1])) for name, own in self.names.items()}
        for at in _as_evaluated(tokens, calls):
            tokens[at] = next(calls[tokens[at]])
        return tokens


def ask(function: Function, vocab: Vocab, prelude: str = PRELUDE) -> Question:
    """The function as a question, or why it is outside the domain."""
    lines = [line for line in function.lines if line.tokens != ["endbr64"]]
    _check_instructions(lines, vocab)
    _check_jumps(lines)
    _check_words(lines, vocab)
    _check_shifts(lines, vocab)
    stand_ins = _stand_ins(function, lines, prelude, vocab)
    tokens, numbers = [], []
    names: dict[str, list[str]] = {}
    for line in lines:
        if (name := called(line.tokens)) is not None:
            names.setdefault(stand_ins[name], []).append(name)
        asked = _under_trained_names(_without_one(line.tokens), stand_ins)
        tokens += asked
        numbers += [line.number] * len(asked)
    if len(tokens) > LONGEST:
        raise PermnetError(f"it has {len(tokens)} tokens: functions of up to {LONGEST} are read")
    tokens = renumbered(tokens, ".L")
    named = shuffled(tokens, Draw(" ".join(tokens)))
    read, places = as_read(named, MEANS in vocab)
    ids, lent = vocab.encode([SPECIALS[SOS], *read, SPECIALS[EOS]])
    return Question(function, ids, lent, [0, *(numbers[place] for place in places), 0], names)


def _check_instructions(lines: list[Line], vocab: Vocab) -> None:
    """The first look, for what is no integer code is best known by its instructions."""
    for line in lines:
        first = line.tokens[0]
        if line.tokens[-1] != ":" and not _JUMP.fullmatch(first) and first not in vocab:
            raise _unknown(first, line)


def _check_words(lines: list[Line], vocab: Vocab) -> None:
    for line in lines:
        for token in line.tokens if line.tokens[0] != "call" else ():
            known = (token in vocab and token != MEANS) or token[0] == "."
            if not (known or _NUMBER.fullmatch(token)):
                raise _unknown(token, line)


def _unknown(token: str, line: Line) -> PermnetError:
    return PermnetError(
        f"{token[:80]!r} in line {line.number}, `{line.text[:80]}`, is unknown to the model: "
        "it reads what gcc -O0 makes of integer code"
    )


def _check_jumps(lines: list[Line]) -> None:
    defined = {line.tokens[0] for line in lines if line.tokens[-1] == ":"}
    conditional = False
    for line in lines:
        if not _JUMP.fullmatch(line.tokens[0]) or line.tokens[-1] == ":":
            continue
        conditional |= line.tokens[0] != "jmp"
        if len(line.tokens) != 2 or not (line.tokens[1] in defined or line.tokens[1][0] == "."):
            raise PermnetError(
                f"`{line.text[:80]}` in line {line.number} jumps out of the function or through a "
                "table: compile with -O0 -fno-jump-tables"
            )
    for line in lines:
        missing = next((t for t in line.tokens if t[0] == "." and t not in defined), None)
        if missing:
            raise PermnetError(f"the label {missing} in line {line.number} is never defined")
    if not conditional:
        raise PermnetError("it has no conditional jump, and so no switch")


def _without_one(tokens: list[str]) -> list[str]:
    """A shift by 1 as gcc writes it, without a count."""
    return tokens[:-1] if tokens[0] in _SHIFTS and tokens[-1] == "1" else tokens


def _check_shifts(lines: list[Line], vocab: Vocab) -> None:
    """A shift by 1 is known to models of the wide language only."""
    if _OF_WIDE in vocab:
        return
    for line in lines:
        tokens = _without_one(line.tokens)
        if tokens[0] in _SHIFTS and not (tokens[-1] == "cl" or _NUMBER.fullmatch(tokens[-1])):
            raise PermnetError(
                f"`{line.text[:80]}` in line {line.number} shifts by 1: the model reads shifts "
                "by 2 and more"
            )


def _stand_ins(function: Function, lines: list[Line], prelude: str, vocab: Vocab) -> dict[str, str]:
    """For each function that is called the one of the training data that is most alike."""
    declared = prototypes(prelude)
    found: dict[str, str] = {}
    for line in lines:
        name = called(line.tokens)
        if line.tokens[0] == "call" and (name is None or _REGISTER.fullmatch(name)):
            raise PermnetError(f"`{line.text[:80]}` in line {line.number} calls through a pointer")
        if name is None or name in found:
            continue
        if name not in declared:
            raise PermnetError(
                f"line {line.number} calls {name}, which is not declared: add --proto "
                f"'{guessed([function], declared).get(name, 'int get(int);')}' with its types, or "
                "--guess"
            )
        found[name] = _most_alike(name, declared[name], vocab)
    return found


def _most_alike(name: str, declaration: str, vocab: Vocab) -> str:
    """With as many parameters, and a result or none; if there is none, the function itself.

    >>> _most_alike("put", "void put ( long , char ) ;", Vocab(("g1@PLT", "h2@PLT")))
    'h2'
    """
    types = types_of(declaration)
    found: dict[str, tuple[bool, int]] = {}
    for trained, other in ((each, types_of(text)) for each, text in prototypes(PRELUDE).items()):
        if len(types) == len(other) and trained + _PLT in vocab:
            differing = sum(one != two for one, two in zip(types, other, strict=True))
            found[trained] = ((types[0] == "void") != (other[0] == "void"), differing)
    return min(found, key=found.__getitem__, default=name)


def _as_evaluated(tokens: list[str], callees: Container[str]) -> list[int]:
    """Where the calls stand, in gcc's order: arguments before their call, the last one first.

    >>> _as_evaluated("g1 ( g0 ( 1 ) , g0 ( 2 ) ) + g0 ( 3 )".split(), ("g0", "g1"))
    [7, 2, 0, 13]
    """
    whole: list[int] = []
    opened: list[tuple[int, list[list[int]]]] = [(-1, [whole])]  # calls, and those in each argument
    for at, token in enumerate(tokens):
        if token in callees and tokens[at + 1 : at + 2] != ["("]:
            opened[-1][1][-1].append(at)
        elif token == "(":
            call = at - 1 if at and tokens[at - 1] in callees else -1
            opened.append((call, [[]]))
        elif token == "," and opened[-1][0] >= 0:
            opened[-1][1].append([])
        elif token in (")", ";") and len(opened) > 1:
            # An answer may be any tokens: a statement's end closes what is open.
            for _ in range(1 if token == ")" else len(opened) - 1):
                _close(opened)
    while len(opened) > 1:
        _close(opened)
    return whole


def _close(opened: list[tuple[int, list[list[int]]]]) -> None:
    call, arguments = opened.pop()
    opened[-1][1][-1] += [*chain(*reversed(arguments)), *([call] if call >= 0 else [])]


def _under_trained_names(tokens: list[str], stand_ins: Mapping[str, str]) -> list[str]:
    name = called(tokens)
    return tokens if name is None else ["call", stand_ins[name] + _PLT]
