"""How models write C: such that what a reference decides can be pointed at.

    switch (p0) { case 3: case 5: v0 = 1; break; case 0: h0(); default: return v0; }
    switch (p0) { 5: 3: v0 = 1; 0: h0(); .L9, ret v0; }

A decoder chooses one token at a time, and its pointers take part only where that token stands in
the input. Whether a block has another label, whether an `else` comes or the next block, whether a
jump leaves the switch or the function: all of it is known by following a label. So

- a label is its number, without `case`: whether there is one is the same choice as which;
- a block ends in `break` unless something else is said, so that the choice is again between the
  next label and a statement; behind a label that is fallen into stands `,` in place of `:`;
- labels of one block stand as the assembly compares with them, not in ascending order: many
  numbers are names to a model, and which of two is the less it cannot know;
- `default` is the label that is jumped to for all other numbers;
- a last block that just ends has `,` behind it; one of nothing but `break` is `;`, and so is a
  `break` inside an `if`;
- in `a ? b : c` both signs are `?`, so that `:` stands behind labels alone;
- `return` is `ret`, which stands in the assembly where the jump leads;
- where a `return` returns nothing, it and `break` are the same instruction, a jump: in such
  functions both are said as the label that they jump to. The one that `break` leads to stands once
  more behind the switch, as it does in the assembly:

      switch (p0) { case 3: v0 = 1; break; case 5: h0(); return; case 0: h1(2); break; } h0();
      switch (p0) { 3: v0 = 1; .L7 5: h0(); .L4 0: h1(2); } .L7: h0();

The way back needs nothing but the tokens, and any tokens have one: a model's wrong answers, too.
"""

import re
from collections.abc import Collection, Sequence

from permnet.tasks.switch.reading import MEANS

UNSAID = ("case", "break", "return")
"""Words of C that models do not write."""

_NUMBER = re.compile(r"-?\d+", re.ASCII)
_LABEL = re.compile(r"\.L\d+", re.ASCII)
_BEFORE_STATEMENT = ("{", "}", ";", ":")
_FELL = ","
_STORES = ("mov", "add", "sub", "and", "or", "xor", "sal", "sar", "shr", "not", "neg")
_IN_SWITCH = 2  # braces that are open in a block


def terse(c: Sequence[str], assembly: Sequence[str]) -> list[str]:
    """Canonical C as models write it; the assembly is what gcc makes of it, as models read it."""
    c = _one_sign(c)
    jumps, default = _jumps(c, assembly), _default(c, assembly)
    said: list[str] = []
    statement, colon = "", ":"  # the first word of the statement at hand
    closing = _end_of_switch(c)
    depth = 0
    for i, token in enumerate(c):
        depth += (token == "{") - (token == "}")
        if i == closing and statement not in ("break", "return"):
            said.append(_FELL)
        if i and c[i - 1] in _BEFORE_STATEMENT:
            if token in ("case", "default") and c[i - 1] in (";", "}"):
                colon = ":" if statement in ("break", "return") else _FELL
            statement = token
        if token == ":":
            said.append(colon)
            colon = ":"
        elif token in jumps and (token == "return" or i + 2 != closing):
            said.append(jumps[token])  # the last block's `break` is no jump
        elif token == "default":
            said.append(default)
        elif token == "return":
            said.append("ret")
        elif token == "break" and (c[i - 1] == ":" or depth > _IN_SWITCH):
            said.append(";")
        elif token not in UNSAID and not (token == ";" and statement in ("break", *jumps)):
            said.append(token)
        if i == closing and jumps.get("break") in said:
            said += [jumps["break"], ":"]
    for group in _groups(said):
        labels = sorted((said[i] for i in group), key=lambda label: _compared(label, assembly))
        for i, label in zip(group, labels, strict=True):
            said[i] = label
    return said


def _one_sign(c: Sequence[str]) -> list[str]:
    """C with `?` for both signs of `a ? b : c`."""
    signs: list[str] = []
    asked = 0
    for token in c:
        asked = 0 if token == ";" else asked + (token == "?")
        closes = token == ":" and asked > 0
        signs.append("?" if closes else token)
        asked -= closes
    return signs


def _two_signs(c: Sequence[str]) -> list[str]:
    """The way back: every second `?` of a statement is `:`."""
    signs: list[str] = []
    asked = False
    for token in c:
        signs.append(":" if token == "?" and asked else token)
        asked = (asked ^ (token == "?")) and token not in (";", "{", "}")
    return signs


def _groups(said: Sequence[str]) -> list[list[int]]:
    """Where the labels of each block stand that has several; only the first may be fallen into."""
    groups: list[list[int]] = []
    for colon in [i for i, token in enumerate(said) if token == ":" and i]:
        if not _NUMBER.fullmatch(said[colon - 1]):
            continue
        if groups and groups[-1][-1] == colon - 3:
            groups[-1].append(colon - 1)
        elif colon > 2 and said[colon - 2] == _FELL and _NUMBER.fullmatch(said[colon - 3]):
            groups.append([colon - 3, colon - 1])
        else:
            groups.append([colon - 1])
    return [group for group in groups if len(group) > 1]


def _compared(label: str, assembly: Sequence[str]) -> int:
    """Where a number is first compared with, or spelled out as a label; if nowhere, at the end."""
    found = (at for at, word in enumerate(assembly) if word == label and _is_tested(assembly, at))
    return next(found, len(assembly))


def _is_tested(assembly: Sequence[str], at: int) -> bool:
    """Whether a jump depends on the number that stands there, or it is a label spelled out."""
    following = assembly[at + 1] if at + 1 < len(assembly) else ""
    jumps = following[:1] == "j" and following != "jmp"
    return jumps or following == MEANS or _is_spelled(assembly, at)


def _is_spelled(assembly: Sequence[str], at: int) -> bool:
    """Whether a label that is spelled out stands there."""
    while _NUMBER.fullmatch(assembly[at]):
        at -= 1
    return assembly[at] == MEANS


def _default(c: Sequence[str], assembly: Sequence[str]) -> str:
    """The label of what is done if no label of the switch fits; `default` where none is found.

    It is where the first jump leads that is not taken for a label and not to other tests: one that
    is always taken, or for all but one number, or for numbers beyond a range. A bit that is tested
    is one of a label. Where there is no such jump it stands behind the tests, labelled or not.
    """
    labels = {c[i + 1] for i, token in enumerate(c) if token == "case"}
    for i in range(_dispatch(labels, assembly), len(assembly) - 1):
        word, to = assembly[i : i + 2]
        bit = i > 2 and assembly[i - 3] == "cmp" and assembly[i - 2] in ("al", "dl")
        beyond = word == "ja" and not _tests(labels, assembly, to)
        others = word == ("je" if bit else "jne") and not _is_spelled(assembly, i - 1)
        if _leaves(assembly, i):
            break
        if word == "jmp" or beyond or others:
            return to if _LABEL.fullmatch(to) else "default"
        if word == ":":
            return assembly[i - 1]
    return "default"


def _dispatch(labels: Collection[str], assembly: Sequence[str]) -> int:
    """Where the labels are told apart: of all tests those with the most labels among them."""
    best, begin = 0, 0
    most, tested = 0, set[str]()
    for i, word in enumerate(assembly):
        if word in labels and _is_tested(assembly, i):
            begin = begin if tested else i
            tested.add(word)
            if len(tested) > most:
                best, most = begin, len(tested)
        elif _leaves(assembly, i):
            tested = set()
    return best


def _tests(labels: Collection[str], assembly: Sequence[str], to: str) -> bool:
    """Whether what a jump leads to begins with a test for one of the labels."""
    at = next((i for i in range(len(assembly) - 1) if [*assembly[i : i + 2]] == [to, ":"]), -1)
    for i in range(at + 2, len(assembly) if at >= 0 else 0):
        if _leaves(assembly, i) or assembly[i][0] == "j":
            return False
        if assembly[i] in labels and _is_tested(assembly, i):
            return True
    return False


def _leaves(assembly: Sequence[str], at: int) -> bool:
    """Whether no test for labels goes on there: a call, a store, a result, the end."""
    word, before = assembly[at], assembly[at - 1]
    if word == "jmp":  # behind a value that is returned
        return before == "]" or (bool(_NUMBER.fullmatch(before)) and assembly[at - 3] != "cmp")
    stored = [*assembly[at + 2 : at + 3]] == ["PTR"]
    return word in ("call", "leave", "ret") or (word in _STORES and stored)


def _jumps(c: Sequence[str], assembly: Sequence[str]) -> dict[str, str]:
    """What `break` and `return` jump to in a function whose switch has a `return` of nothing.

    There gcc's last label is the end of the function, and the end of the switch the last one with
    code behind it: a statement follows the switch, or `return` would be no jump of its own.
    """
    end = _end_of_switch(c)
    inside = c[c.index("switch") : end] if "switch" in c else ()
    if c[:1] != ["void"] or "return" not in inside or list(c[end + 1 :]) == ["}"]:
        return {}
    followed = list(zip(assembly, assembly[1:], assembly[2:], strict=False))
    labels = [(token, code) for token, colon, code in followed if colon == ":"]
    coded = [label for label, code in labels[:-1] if code != "nop" and not _LABEL.fullmatch(code)]
    return {"break": coded[-1], "return": labels[-1][0]} if coded else {}


def _end_of_switch(c: Sequence[str]) -> int:
    """Where its closing brace stands, of C in full or as it is said."""
    depth = 0
    for i in range(c.index("switch") if "switch" in c else len(c), len(c)):
        depth += (c[i] == "{") - (c[i] == "}")
        if c[i] == "}" and depth == 0:
            return i
    return len(c)


def in_full(said: Sequence[str]) -> tuple[list[str], list[int]]:
    """The C that is meant, and where in it the tokens stand that were said.

    Those of the label behind the switch have the place of its brace.
    """
    ascending, moved = list(said), list(range(len(said)))
    for group in _groups(said):
        for i, origin in zip(group, sorted(group, key=lambda i: int(said[i])), strict=True):
            ascending[i], moved[origin] = said[origin], i
    c, places = _in_full(ascending)
    return _two_signs(c), [places[i] for i in moved]


def _in_full(said: Sequence[str]) -> tuple[list[str], list[int]]:
    end = _end_of_switch(said) + 1
    behind = said[end] if said[end + 1 : end + 2] == [":"] and _LABEL.fullmatch(said[end]) else ""
    c: list[str] = []
    places: list[int] = []
    statement, labelled, passed = "", False, False
    depth, switch = 0, 0  # braces that are open, and inside the switch; 0 outside of it
    for i, token in enumerate(said):
        begins = bool(c) and c[-1] in _BEFORE_STATEMENT
        following = said[i + 1] if i + 1 < len(said) else ""
        if begins and depth == switch > 0 and following in (":", _FELL) and _LABEL.fullmatch(token):
            token = "default"
        if passed or (begins and _LABEL.fullmatch(token) and following == ":"):
            places.append(len(c) - 1)
            passed = not passed
            continue
        if begins and token == _FELL and following == "}":
            statement = "ret"
            places.append(len(c) - 1)
            continue
        if begins and token == ";":
            statement = "ret"
            places.append(len(c))
            c += ["break", ";"]
            continue
        if begins and _LABEL.fullmatch(token):
            statement = "ret"
            places.append(len(c))
            c += ["break" if token == behind else "return", ";"]
            continue
        label = begins and (token == "default" or bool(_NUMBER.fullmatch(token)))
        fallen = label and following == _FELL
        closes = token == "}" and depth == switch > 0
        ended = begins and c[-1] in (";", "}") and statement != "ret"
        if ended and (closes or (label and not fallen)):
            c += ["break", ";"]
        if label and token != "default":
            c.append("case")
        if begins:
            statement = token
        places.append(len(c))
        c.append({"ret": "return", _FELL: ":" if labelled else _FELL}.get(token, token))
        labelled = label
        if token == "{":
            depth += 1
            switch = switch or (depth if statement == "switch" else 0)
        elif token == "}":
            depth -= 1
            switch = 0 if closes else switch
    return c, places
