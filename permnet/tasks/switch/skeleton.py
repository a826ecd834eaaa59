"""The skeleton of a switch: which labels stand on which block, and where `default` is.

It is read off the tokens alone, so that any answer of a model has one, or none where its switch
cannot be followed.
"""

import re
from collections.abc import Sequence

from permnet.tasks.switch.ctokens import lex

DEFAULT = "default"
Skeleton = list[list[int | str]]

_NUMBER = re.compile(r"-?[0-9]{1,19}")


def skeleton(c: str | Sequence[str]) -> Skeleton | None:
    """The blocks of the one switch in C, in order: their labels, ascending, or `["default"]`.

    Labels beside `default` are dropped, as in the canonical form. None where there is no switch,
    more than one, or one whose labels and braces do not fit together.

    >>> skeleton("switch (p0) { case 3: v0 = 1; break; case 2: case 1: v0 = 2; default: h0(); }")
    [[3], [1, 2], ['default']]
    """
    tokens = lex(c) if isinstance(c, str) else list(c)
    body = _body(tokens)
    blocks: Skeleton = []
    depth = at = 0
    last_label = -1  # where the label before this token ended
    while at < len(body):
        if body[at] in ("case", DEFAULT):
            size = 3 if body[at] == "case" else 2
            label = _label(body[at : at + size])
            if label is None or depth:
                return None
            if last_label != at:
                blocks.append([])
            blocks[-1].append(label)
            at = last_label = at + size
        elif not blocks:
            return None
        else:
            depth += (body[at] == "{") - (body[at] == "}")
            at += 1
    return [[DEFAULT] if DEFAULT in labels else sorted(labels) for labels in blocks] or None


def _body(tokens: list[str]) -> list[str]:
    """What stands between the braces of the only switch; nothing if there is no such thing."""
    if tokens.count("switch") != 1 or "{" not in tokens[tokens.index("switch") :]:
        return []
    first = tokens.index("{", tokens.index("switch")) + 1
    depth = 1
    for at in range(first, len(tokens)):
        depth += (tokens[at] == "{") - (tokens[at] == "}")
        if depth == 0:
            return tokens[first:at]
    return []


def _label(tokens: list[str]) -> int | str | None:
    """The label that `case N :` or `default :` names."""
    if tokens[-1] != ":":
        return None
    if len(tokens) == 2:
        return DEFAULT
    return int(tokens[1]) if _NUMBER.fullmatch(tokens[1]) else None
