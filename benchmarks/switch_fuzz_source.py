"""Random C functions with switches that are hard on optimisers and readers, and the truth.

Blocks fall through, share their ends by `goto`, are written twice or empty, return, leave loops or
never come back; the default may stand in the middle, be shared with labels or unreachable; the
value is an argument, lies in memory, comes from a call or is computed; other statements test it,
before the switch and behind it, and blocks have switches of their own.

What a block does is written out as text, up to the end of the function: two blocks with the same
text may be one block for a compiler. So are the truth's `goes` and `exit` (switch_match.py).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from permnet.tasks.switch.draw import Draw

PRELUDE = """
int g0(int); int g1(int, int); int next(void); void h0(void); void h1(int); void h2(int, int);
void die(int) __attribute__((noreturn));
struct node { long flags; int kind; unsigned char tag; short sub; struct node *next; };
extern int state; extern unsigned char byte;
"""

# Of what is switched on: its bits, and the least and greatest label drawn.
TYPES = {
    "int": (32, -2000, 2000),
    "unsigned": (32, 0, 2000),
    "long": (64, -2000, 2000),
    "unsigned long": (64, 0, 2000),
    "signed char": (8, -128, 127),
    "unsigned char": (8, 0, 255),
    "short": (16, -2000, 2000),
    "unsigned short": (16, 0, 2000),
}
COMMON = {name: 5.0 if name == "int" else 1.0 for name in TYPES}
PLACES = {"argument": 0.4, "memory": 0.12, "call": 0.12, "array": 0.1, "masked": 0.1, "sum": 0.16}
LABELS = {"dense": 0.35, "sparse": 0.2, "gaps": 0.15, "ascii": 0.15, "clusters": 0.15}
GROUPS = {1: 0.6, 2: 0.2, 3: 0.1, 5: 0.06, 9: 0.04}
DEFAULTS = {"absent": 0.3, "last": 0.35, "middle": 0.2, "shared": 0.07, "unreachable": 0.08}
ENDS = {
    "plain": {"break": 0.6, "return": 0.15, "fall": 0.12, "goto": 0.08, "die": 0.05},
    "returns": {"return": 0.9, "goto": 0.1},
    "loop": {"break": 0.5, "continue": 0.2, "return": 0.08, "fall": 0.12, "goto": 0.1},
}
SHAPES = {"plain": 0.5, "returns": 0.2, "loop": 0.3}
SIZES = {0: 0.1, 1: 0.5, 2: 0.3, 3: 0.1}  # statements in a block
MASK = 31

Truth = dict[str, Any]


@dataclass(frozen=True)
class Drawn:
    """A function `f`, its switches in order, and values that other statements test for."""

    source: str
    switches: tuple[Truth, ...]
    others: frozenset[int]


@dataclass
class _Block:
    labels: list[int]
    default: bool
    body: str
    end: str


class _Function:
    """What is drawn of one function."""

    def __init__(self, draw: Draw) -> None:
        self.draw = draw
        self.switches: list[Truth] = []
        self.used: set[int] = set()
        self.others: set[int] = set()
        self.marks = 100  # constants that statements are told apart by
        self.gotos = 0

    def mark(self) -> int:
        self.marks += 1
        return self.marks

    def drawn(self) -> Drawn:
        draw = self.draw
        kind = draw.weighted(COMMON)
        bits, low, high = TYPES[kind]
        shape = draw.weighted(SHAPES)
        place = draw.weighted(PLACES)
        given, value = "", "x"
        match place:
            case "memory":
                value = draw.pick(("p->kind", "p->tag", "p->sub", "state", "byte", "*a"))
                bits, low, high = TYPES[_MEMBERS[value]]
            case "call":
                given = f"x = {draw.pick(('next()', 'g0(z)', 'g1(v, w)'))};"
            case "array":
                given = "x = a[z];"
            case "masked":
                value, low, high = f"x & {MASK}", 0, MASK
            case "sum":
                value = draw.pick(("x + a[1]", "x * 2 + a[1]", "x >> 4"))
        if place == "sum" and bits < 32:
            bits = 32  # C computes with int
        if place == "masked" and bits < 32:
            bits = 32
        before = self._conditions(value, low, high) if draw.chance(0.3) else ""
        after = self._conditions(value, low, high) if draw.chance(0.1) else ""
        after += " ".join(self.statement() for _ in range(draw.between(0, 2)))
        leaves = "" if shape == "loop" else f"{after} return v + w;"
        outer = self.switch(value, bits, low, high, shape, leaves or f"{after} continue;", depth=0)
        if shape == "loop":
            head = draw.pick(
                ("while (g1(v, w))", "for (int i = 0; i < z; i++)", "do", "while (z--)")
            )
            tail = "while (v < z);" if head == "do" else ""
            body = f"{head} {{ {given} {before}\n{outer}\n{after} }} {tail} return v + w;"
        else:
            body = f"{given} {before}\n{outer}\n{leaves}"
        given = f"{kind} x, int y, int z, int *a, struct node *p"
        source = f"int f({given})\n{{ int v = z, w = 1;\n{body} }}"
        return Drawn(source, tuple(self.switches), frozenset(self.others))

    def statement(self) -> str:
        number = self.mark()
        # Nothing that a later statement could make idle, or that tells of what is switched on.
        return self.draw.pick(
            (
                f"v += {number};",
                f"w ^= v + {number};",
                f"a[v & 7] += {number};",
                f"v = g1(v, {number});",
                f"h1({number});",
                f"h1({number});",
                f"h2(v, {number});",
                f"if (z > {1000 * number}) h0();",
                f"p->flags += {number};",
            )
        )

    def _conditions(self, value: str, low: int, high: int) -> str:
        """Other statements that test the value."""
        draw = self.draw
        number = draw.between(max(low, -5), min(high, 130))
        kind = draw.pick(("==", "==", "<", ">", "range"))
        leave = draw.pick(("return v + w;", f"die({self.mark()});", f"h1({self.mark()});"))
        if kind == "==":
            self.others.add(number)
            return f"if (({value}) == {number}) {leave}"
        if kind == "range":
            self.others |= {*range(number, number + 10)}
            return f"if (({value}) >= {number} && ({value}) <= {number + 9}) {leave}"
        self.others |= {*(range(-2000, number) if kind == "<" else range(number + 1, 2001))}
        return f"if (({value}) {kind} {number}) {leave}"

    def switch(
        self, value: str, bits: int, low: int, high: int, shape: str, after: str, depth: int
    ) -> str:
        """A switch as C, its truth noted before those of the switches in it."""
        draw = self.draw
        truth: Truth = {"bits": bits, "line": 0}
        self.switches.append(truth)
        count = draw.between(2, draw.pick((4, 8, 8, 16, 30)) if not depth else 6)
        blocks = self._blocks(self._labels(low, high, count), shape, depth)
        for block in blocks:
            if block.end == "unreachable":
                continue
            block.body = " ".join(self.statement() for _ in range(draw.weighted(SIZES)))
            if depth == 0 and draw.chance(0.07):
                inner = self.switch("y", 32, -2000, 2000, "plain", "", depth=1)
                block.body += f" {inner}"
        for i, block in enumerate(blocks):  # the same code twice
            if block.end != "unreachable" and draw.chance(0.12):
                other = draw.pick(blocks)
                if "switch" not in other.body and other.end != "fall" and "goto" not in other.end:
                    blocks[i].body, blocks[i].end = other.body, other.end
        unreachable = any(block.default and block.end == "unreachable" for block in blocks)
        truth["unreachable"] = unreachable
        first = self.gotos
        self.gotos += len(blocks)
        lines = []
        for i, block in enumerate(blocks):
            names = [f"case {label}:" for label in block.labels]
            if block.default:
                names.insert(draw.between(0, len(names)), "default:")
            end = {"fall": ";", "unreachable": "__builtin_unreachable();"}.get(block.end, block.end)
            if block.end.startswith("goto"):
                end = f"goto L{first + int(block.end[5:])};"
            lines.append(" ".join([*names, f"L{first + i}:", block.body, end]))
        ways = [_followed(blocks, i, after) for i in range(len(blocks))]
        default = next((i for i, block in enumerate(blocks) if block.default), None)
        listed = [(b, way) for b, way in zip(blocks, ways, strict=True) if b.labels or b.default]
        reach = {*range(low, high + 1)}
        kept = [
            (["default"] if b.default else sorted(set(b.labels) & reach), way) for b, way in listed
        ]
        truth["blocks"] = [labels for labels, _ in kept if labels]
        truth["goes"] = [way for labels, way in kept if labels]
        truth["exit"] = after.strip() if default is None else ways[default]
        return "\n".join([f"switch ({value}) {{", *lines, "}"])

    def _labels(self, low: int, high: int, count: int) -> list[int]:
        """Distinct labels that no other switch of the function has."""
        draw = self.draw
        kind = draw.weighted(LABELS)
        start = draw.between(0, 3) if draw.chance(0.6) else draw.between(max(low, -40), 60)
        match kind:
            case "ascii":
                pool = [*range(33, 127)]
            case "dense":
                pool = [*range(start, start + count + draw.between(0, 2))]
            case "gaps":
                step = draw.between(2, 5)
                pool = [*range(start, start + step * count, step)]
            case "clusters":
                pool = [
                    first + i
                    for first in (start, start + 40, start + 70)
                    for i in range(count // 2 + 1)
                ]
            case _:
                pool = [*range(low, high + 1)]
        usable = [label for label in pool if low <= label <= high and label not in self.used]
        if len(usable) < 2:
            usable = [label for label in range(low, high + 1) if label not in self.used]
        found = draw.distinct(usable, min(count, len(usable)))
        self.used |= set(found)
        return sorted(found) if draw.chance(0.5) else found

    def _blocks(self, labels: Sequence[int], shape: str, depth: int) -> list[_Block]:
        draw, left = self.draw, list(labels)
        blocks: list[_Block] = []
        while left:
            size = draw.weighted(GROUPS)
            blocks.append(_Block(left[:size], False, "", ""))
            left = left[size:]
        place = draw.weighted(DEFAULTS)
        if depth and place == "unreachable":  # then so is what is around it
            place = "absent"
        if place == "shared":
            draw.pick(blocks).default = True
        elif place != "absent":
            at = draw.between(0, len(blocks)) if place == "middle" else len(blocks)
            blocks.insert(at, _Block([], True, "", ""))
        for i, block in enumerate(blocks):
            end = draw.weighted(ENDS[shape])
            last = len(blocks) - 1 - (place == "unreachable")  # that control comes to
            if i >= last and end in ("goto", "fall"):
                end = "break"
            if place == "unreachable" and block.default:
                end = "unreachable"
            ends = {
                "return": draw.pick(("return v + w + {0};", "return g1(v + w, {0});")),
                "die": "die(v + w + {0});",
                "goto": f"goto {draw.between(min(i + 1, last), last)}",
                "fall": "fall",
                "unreachable": "unreachable",
            }
            block.end = ends.get(end, f"{end};").format(self.mark())
        return blocks


_MEMBERS = {
    "p->kind": "int",
    "p->tag": "unsigned char",
    "p->sub": "short",
    "state": "int",
    "byte": "unsigned char",
    "*a": "int",
}


def _followed(blocks: Sequence[_Block], at: int, after: str) -> str:
    """What is done from a block on, as text."""
    done = []
    while True:
        block = blocks[at]
        done.append(block.body)
        if block.end == "fall":
            at += 1
        elif block.end.startswith("goto"):
            at = int(block.end[5:])
        else:
            done.append(after if block.end == "break;" else block.end)
            return " ".join(filter(None, map(str.strip, done)))


def sample(name: str) -> Drawn:
    """The function of a seed's name."""
    return _Function(Draw(name)).drawn()
