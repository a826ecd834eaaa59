"""How models read assembly and write C: such that what a reference decides can be pointed at.

    switch (p0) { case 3: case 5: v0 = 1; break; case 0: h0(); default: return; }
    switch (p0) { 3: 5: v0 = 1; 0: h0(); default, ret; }

A decoder chooses one token at a time, and its pointers take part only where that token stands in
the input. Whether a block has another label, whether an `else` comes or the next block, whether a
jump leaves the switch or the function: all of it is known by following a label. So

- a label is its number, without `case`: whether there is one is the same choice as which;
- a block ends in `break` unless something else is said, so that the choice is again between the
  next label and a statement; behind a label that is fallen into stands `,` in place of `:`;
- `return` is `ret`, which stands in the assembly where the jump leads;
- a register tested against itself is read as compared with 0, which then stands there, too.

The way back needs nothing but the tokens, and any tokens have one: a model's wrong answers, too.
"""

import re
from collections.abc import Sequence

UNSAID = ("case", "break", "return")
"""Words of C that models do not write."""

_NUMBER = re.compile(r"-?\d+", re.ASCII)
_BEFORE_STATEMENT = ("{", "}", ";", ":")
_FELL = ","


def compared(assembly: Sequence[str]) -> list[str]:
    """Assembly as models read it, with as many tokens.

    >>> compared(["test", "eax", "eax", "je", ".L3"])
    ['cmp', 'eax', '0', 'je', '.L3']
    """
    read = list(assembly)
    for i, (word, one, other) in enumerate(zip(assembly, assembly[1:], assembly[2:], strict=False)):
        if word == "test" and one == other:
            read[i], read[i + 2] = "cmp", "0"
    return read


def terse(c: Sequence[str]) -> list[str]:
    """Canonical C as models write it."""
    said: list[str] = []
    statement, colon = "", ":"  # the first word of the statement at hand
    for before, token in zip(["", *c], c, strict=False):
        if before in _BEFORE_STATEMENT:
            if token in ("case", "default") and before in (";", "}"):
                colon = ":" if statement in ("break", "return") else _FELL
            statement = token
        if token == ":":
            said.append(colon)
            colon = ":"
        elif token == "return":
            said.append("ret")
        elif token not in UNSAID and not (token == ";" and statement == "break"):
            said.append(token)
    return said


def in_full(said: Sequence[str]) -> tuple[list[str], list[int]]:
    """The C that is meant, and where in it the tokens stand that were said."""
    c: list[str] = []
    places: list[int] = []
    statement, labelled = "", False
    depth, switch = 0, 0  # braces that are open, and inside the switch; 0 outside of it
    for i, token in enumerate(said):
        begins = bool(c) and c[-1] in _BEFORE_STATEMENT
        label = begins and (token == "default" or bool(_NUMBER.fullmatch(token)))
        fallen = label and i + 1 < len(said) and said[i + 1] == _FELL
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
