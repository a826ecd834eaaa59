"""C of the switch task as tokens, and tokens as C.

    int f(int p0)                           int f ( int p0 ) { int v0 = -5 ; switch …
    {
        int v0 = -5;
        switch (p0) {
        …

A number and its sign are one token, so that a negative `case` label can be copied as a whole. The
layout depends on nothing but the tokens, and any tokens have one: a model's wrong answers, too.
"""

import re
from collections.abc import Sequence

from permnet.errors import PermnetError

# What programs may call; the compiler sees it first.
PRELUDE = (
    "int g0(int); int g1(int, int); long g2(long); void h0(void); void h1(int); void h2(int, int); "
    # Only what wide.py writes calls these.
    "int g3(int, int, int); int g4(void); long g5(long, long); void h3(int, int, int); "
    "int g6(int, int, int, int); long g7(int); void h4(int, int, int, int);"
)

_TOKEN = re.compile(
    r"[A-Za-z_]\w*|-?\d+|(?:<<|>>|[-+*/%&|^=!<>])=|<<|>>|&&|\|\||[-+*/%&|^=!<>~?.,;:()\[\]{}]",
    re.ASCII,
)
_SPACE = re.compile(r"\s*")
_KEYWORDS = {"if", "switch", "return", "case", "else"}
TYPES = {"char", "int", "long", "short", "unsigned", "void"}


def lex(text: str) -> list[str]:
    """The tokens of C without comments, strings and directives.

    >>> lex("v0 = a0[3]; case -62: v0 <<= 2;")
    ['v0', '=', 'a0', '[', '3', ']', ';', 'case', '-62', ':', 'v0', '<<=', '2', ';']
    """
    tokens = []
    at = _SPACE.match(text).end()  # type: ignore[union-attr]
    while at < len(text):
        token = _TOKEN.match(text, at)
        if not token:
            raise PermnetError(f"{text[at]!r} at character {at} is no part of the C of this task")
        tokens.append(token[0])
        at = _SPACE.match(text, token.end()).end()  # type: ignore[union-attr]
    return tokens


def named(c: Sequence[str], name: str) -> list[str]:
    """The function `f` under another name."""
    return [name if token == "f" else token for token in c]


def layout(tokens: Sequence[str]) -> str:
    """The tokens as C text, a statement a line; `lex` gives them back.

    gcc marks with a `nop` where control leaves one source line for another, so which line a token
    stands on is part of what is compiled.
    """
    lines: list[str] = []
    line = ""
    depth = 0
    asked = 0  # `?` whose `:` is to come
    for i, token in enumerate(tokens):
        if token == "}":
            depth = max(depth - 1, 0)
        if not line:
            line = "    " * max(depth - (token in ("case", "default")), 0) + token
        elif token == "{" and depth == 0:
            lines.append(line)
            line = token
        else:
            spaced = asked if token == ":" else _spaced(tokens[max(i - 2, 0) : i], token)
            line += (" " if spaced else "") + token
        if token == "{":
            depth += 1
        following = tokens[i + 1] if i + 1 < len(tokens) else ""
        if token == "?":
            asked += 1
        elif token == ":" and asked:
            asked -= 1
        elif token in ("{", ";", ":") or (token == "}" and following != "else"):
            asked = 0
            lines.append(line)
            line = ""
    return "\n".join([*lines, line] if line else lines) + "\n"


def _spaced(before: Sequence[str], token: str) -> bool:
    """Whether a space stands between the last of the one or two tokens before and this one."""
    last = before[-1]
    if token in (",", ";", ")", "]", "[") or last in ("(", "["):
        return False
    if last == "*" and before[0] in TYPES:
        return not _is_word(token)
    return token != "(" or last in _KEYWORDS or not _is_word(last)


def _is_word(token: str) -> bool:
    return token[0].isalpha() or token[0] == "_"
