"""Answers as text, which is C with comments, and as JSON."""

import json
from collections.abc import Sequence

from permnet.decompiling.pipeline import Decompiled
from permnet.decompiling.text import Function

LARGEST_COLUMN = 48  # of the comments that say where a line came from


def as_json(answers: Sequence[Decompiled]) -> str:
    functions = [answer.to_json() for answer in answers]
    return json.dumps({"functions": functions}, allow_nan=False) + "\n"


def as_text(
    function: Function,
    answer: Decompiled,
    with_map: bool = False,
    differing: Sequence[str] = (),
) -> str:
    """An answered function under a comment that says how far to trust it, and why no further."""
    c = answer.c or ""
    state = "verified" if answer.verified else "unverified"
    if not c.count("{") == c.count("}") > 0:  # the model said too little, or its answer is too long
        state += ", not a whole function"
    head = f"// {printable(answer.file)}: {printable(answer.name)}: {state}, "
    lines = c.splitlines()
    if with_map:
        came = dict(answer.map or [])
        texts = {line.number: _comment(line.text) for line in function.lines}
        width = min(max(map(len, lines), default=0), LARGEST_COLUMN)
        lines = [
            f"{line:{width}}  // {came[i]}: {texts[came[i]]}" if i in came else line
            for i, line in enumerate(lines, 1)
        ]
    head += f"confidence {100 * (answer.confidence or 0):.1f} %"
    return "\n".join([head, *(f"// {_comment(line)}" for line in differing), *lines]) + "\n"


def _comment(text: str) -> str:
    """As the end of a comment, which a backslash would carry on to the next line."""
    return printable(" ".join(text.split())).rstrip("\\")


def printable(text: str) -> str:
    """Names and lines of a file are not ours: nothing in them may act on a terminal."""
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)
