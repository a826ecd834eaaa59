"""C functions one edit away from a given one, to look for two that share their assembly."""

from collections.abc import Iterator

from permnet.tasks.switch.draw import Draw

CLASSES = (
    ("int", "long", "char"),
    ("+", "-", "*", "&", "|", "^", "<<", ">>"),
    ("+=", "-=", "*=", "&=", "|=", "^=", "<<=", ">>=", "="),
    ("==", "!=", ">", "<=", "<", ">="),
    ("p0", "p1", "p2", "v0", "v1", "v2"),
    ("g0", "g2", "h1"),
    ("g1", "h2"),
)


def edited(tokens: list[str], draw: Draw) -> list[str]:
    """The tokens after one random edit; not always C."""
    at = draw.between(0, len(tokens) - 1)
    kind = draw.between(0, 6)
    token = tokens[at]
    statements = list(_statements(tokens))
    if kind == 0 and statements:  # drop a statement
        first, last = draw.pick(statements)
        return tokens[:first] + tokens[last:]
    if kind == 1 and len(statements) > 1:  # copy a statement to another place
        (first, last), (place, _) = draw.distinct(statements, 2)
        return tokens[:place] + tokens[first:last] + tokens[place:]
    if kind == 2:  # leave a block in another way, or not at all
        end = draw.pick(
            (["break", ";"], ["return", ";"], ["return", "v0", ";"], ["return", "3", ";"])
        )
        places = [last for _, last in statements]
        place = draw.pick(places) if places else at
        return tokens[:place] + end + tokens[place:]
    if kind == 3 and statements:  # move default, add one or drop it
        bare = [t for i, t in enumerate(tokens) if "default" not in tokens[max(i - 1, 0) : i + 1]]
        place = draw.pick([last for _, last in _statements(bare)])
        return bare if draw.chance(0.2) else [*bare[:place], "default", ":", *bare[place:]]
    if kind == 4 and 0 < at < len(tokens) - 1:  # swap operands
        return [*tokens[: at - 1], tokens[at + 1], token, tokens[at - 1], *tokens[at + 2 :]]
    if kind == 5:  # `v0 += e` written out
        if len(token) > 1 and token[-1] == "=" and token not in ("==", "!=", "<=", ">="):
            return [*tokens[:at], "=", tokens[at - 1], token[:-1], *tokens[at + 1 :]]
        return tokens
    if token.lstrip("-").isdigit():
        value = int(token)
        other = str(draw.pick((value - 1, value + 1, -value, 2 * value, 0, 1, 2, 4, 64)))
    else:
        other = draw.pick(next((alike for alike in CLASSES if token in alike), (token,)))
    return [*tokens[:at], other, *tokens[at + 1 :]]


def _statements(tokens: list[str]) -> Iterator[tuple[int, int]]:
    """Where the statements that end in a semicolon stand, those in the switch and behind it."""
    first = tokens.index("switch")
    for i in range(first, len(tokens)):
        if tokens[i] in ("{", "}", ":"):
            first = i + 1
        elif tokens[i] == ";":
            yield first, i + 1
            first = i + 1
