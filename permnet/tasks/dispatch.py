"""Random C functions around one switch, of many more shapes than the decompiler's task has.

For the model that reads the dispatch of real switches (permnet/switches/model.py): what counts is
which labels lead where, so nothing here needs to be canonical. Beside the shapes of
`tasks/switch/program.py` there are unsigned and narrow types, empty blocks, loops around the
switch, `continue` and `goto`, and functions in which every block returns.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from permnet.tasks.switch.draw import Draw

DISPATCH = "switch-dispatch"
MOST_ADDRESSES = 64  # that a dispatch leads to
FEWEST_LABELS, MOST_LABELS = 2, 32
PRELUDE = "int g0(int); int g1(int, int); void h0(void); void h1(int); void h2(int, int);"

# Type of what is switched on: how often, and the labels that it can have.
TYPES = {
    "int": (0.4, -2000, 2000),
    "unsigned": (0.2, 0, 2000),
    "long": (0.1, -2000, 2000),
    "char": (0.1, -100, 127),
    "unsigned char": (0.1, 0, 255),
    "short": (0.05, -2000, 2000),
    "unsigned long": (0.05, 0, 2000),
}
LABELS = {"dense": 0.35, "sparse": 0.25, "gaps": 0.15, "ascii": 0.15, "wide": 0.1}
GROUPS = {1: 0.7, 2: 0.14, 3: 0.09, 6: 0.05, 10: 0.02}
DEFAULTS = {"absent": 0.35, "last": 0.45, "middle": 0.15, "first": 0.05}
SIZES = {0: 0.08, 1: 0.45, 2: 0.3, 3: 0.17}  # statements in a block
ENDS = {
    "mixed": {"break": 0.75, "return": 0.13, "fall": 0.12},
    "returns": {"return": 1.0},
    "loop": {"break": 0.6, "continue": 0.2, "return": 0.1, "fall": 0.1},
    "goto": {"break": 0.6, "goto": 0.2, "return": 0.1, "fall": 0.1},
}
SHAPES = {"mixed": 0.55, "returns": 0.2, "loop": 0.15, "goto": 0.1}

Blocks = tuple[tuple[int, ...] | None, ...]


@dataclass(frozen=True)
class Drawn:
    """A function named `f` as C, and its blocks in order: their labels, None for the default."""

    source: str
    blocks: Blocks


def partition(answer: Sequence[str]) -> list[set[str]]:
    """Which labels lead to which address, whether or not the rest is a default block.

    >>> partition("5 3 ; after ; 7 .. 9 ;".split()) == partition("3 5 ; default ; 7 .. 9 ;".split())
    True
    """
    text = " ".join(answer).replace(" .. ", "..").replace("after", "default")
    return [set(part.split()) for part in text.split(";")]


def sample(draw: Draw) -> Drawn:
    type = draw.weighted({name: weight for name, (weight, *_) in TYPES.items()})
    count = draw.between(FEWEST_LABELS, draw.pick((4, 8, 8, 20, MOST_LABELS)))
    blocks = _blocks(draw, _labels(draw, type, count))
    shape = draw.weighted(SHAPES)
    lines = []
    for block in blocks:
        names = ["default:"] if block is None else [f"case {label}:" for label in block]
        statements = [_statement(draw) for _ in range(draw.weighted(SIZES))]
        end = draw.weighted(ENDS[shape])
        ends = {"return": f"return {_value(draw)};", "fall": ";", "goto": "goto out;"}
        lines.append(" ".join([*names, *statements, ends.get(end, f"{end};")]))
    body = "\n".join([f"switch ({_scrutinee(draw)}) {{", *lines, "}"])
    after = " ".join(_statement(draw) for _ in range(draw.between(0, 2)))
    if shape == "loop":
        body = f"while (g0(v)) {{ h0(); {body} {after} }}"
        after = ""
    out = "h1(v); out:" if shape == "goto" else ""
    source = f"int f({type} x, int y, int *a) {{ int v = {draw.between(0, 50)}, w = y;\n"
    return Drawn(f"{source}{body}\n{after} {out} return v + w; }}", tuple(blocks))


def _labels(draw: Draw, type: str, count: int) -> list[int]:
    """Distinct labels in random order."""
    _, low, high = TYPES[type]
    kind = draw.weighted(LABELS)
    if kind == "ascii":
        return draw.distinct(range(32, 127), count)
    if kind in ("dense", "gaps"):
        step = 1 if kind == "dense" else draw.between(2, 6)
        span = step * count
        first = draw.between(max(low, -60), min(high, 300) - span)
        if draw.chance(0.6):  # as enumerations do, from 0 or a little above
            first = draw.between(0, 3)
        labels = list(range(first, first + span, step))
        return labels if draw.chance(0.3) else draw.shuffled(labels)
    bound = 100 if kind == "sparse" else 2000
    return draw.distinct(range(max(low, -bound), min(high, bound) + 1), count)


def _blocks(draw: Draw, labels: list[int]) -> list[tuple[int, ...] | None]:
    if draw.chance(0.3):
        labels = sorted(labels)  # so that those of a block are neighbours
    blocks: list[tuple[int, ...] | None] = []
    while labels:
        size = draw.weighted(GROUPS)
        blocks.append(tuple(sorted(labels[:size])))
        labels = labels[size:]
    place = draw.weighted(DEFAULTS)
    if place != "absent":
        places = {"last": len(blocks), "first": 0, "middle": draw.between(0, len(blocks))}
        blocks.insert(places[place], None)
    return blocks


def _scrutinee(draw: Draw) -> str:
    return draw.weighted({"x": 0.8, f"x + {draw.between(1, 9)}": 0.1, f"x & {2**10 - 1}": 0.1})


def _value(draw: Draw) -> str:
    return draw.pick(("v", "w", "y", "g0(v)", str(draw.between(-9, 99))))


def _statement(draw: Draw) -> str:
    number = draw.between(1, 99)
    return draw.pick(
        (
            f"v += {number};",
            f"w = v * {number};",
            f"v = {number};",
            f"a[{number % 9}] = v;",
            f"v = g1(w, {number});",
            f"h1({number});",
            "h2(v, w);",
            f"if (y > {number}) h0();",
            f"if (v == {number}) w++; else v--;",
        )
    )
