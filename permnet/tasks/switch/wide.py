"""Functions around one switch as people write them: a wider language than that of `program`.

    int f(unsigned p0, char *a0, int *a1)   without locals, or with locals that start with nothing
    {                                       or with an expression;
        if (p0 > 9 || a0[p0 - 1] == 45)     statements before the switch, some of which return;
            return -1;                      results that are expressions;
        h1(p0);
        switch (a0[p0] % 4) {               switches of more than parameters;
        case 0: return g0(p0 + 1);          blocks of nothing but `break`;
        case 1: break;                      calls with none to four arguments;
        default: a1[0] += p0 * 2 - 1;       parameters assigned, elements changed, `else if`;
        }
        return p0 == 3;                     truth as a value
    }

Unlike canonical C these are not the only programs with their assembly: `unsigned` and `int` may
leave no trace of which it was. What can be told is up to a compiler (decompiling/verify.py).
"""

from dataclasses import dataclass, field

from pycparser import c_ast

from permnet.tasks.switch import program, tree
from permnet.tasks.switch.draw import Draw
from permnet.tasks.switch.tree import Node
from permnet.tasks.switch.wide_values import (
    ARITIES,
    DIVISORS,
    MASKS,
    Values,
    is_char,
    is_unsigned,
)

VERSION = 2

# fmt: off
RESULTS = {
    "int": 0.5, "void": 0.25, "long": 0.08, "char": 0.04, "unsigned": 0.06,
    "unsigned char": 0.03, "short": 0.02, "unsigned long": 0.02,
}
PARAMETERS = {
    "int": 0.6, "long": 0.09, "char": 0.11, "unsigned": 0.1, "unsigned char": 0.05,
    "short": 0.02, "unsigned short": 0.015, "unsigned long": 0.015,
}
LOCALS = {
    "int": 0.71, "long": 0.11, "unsigned": 0.08, "char": 0.04, "unsigned char": 0.03,
    "short": 0.01, "unsigned short": 0.01, "unsigned long": 0.01,
}
# fmt: on
ELEMENTS = {"int": 10, "char": 4, "unsigned char": 4, "long": 2, "unsigned": 1, "short": 1}
HOW_MANY_PARAMETERS = {0: 1, 1: 7, 2: 9, 3: 5, 4: 1}
HOW_MANY_ARRAYS = {0: 0.7, 1: 0.2, 2: 0.08, 3: 0.02}
HOW_MANY_LOCALS = {0: 0.32, 1: 0.38, 2: 0.2, 3: 0.08, 4: 0.02}
HOW_MANY_BEFORE = {0: 0.52, 1: 0.2, 2: 0.15, 3: 0.09, 4: 0.04}
HOW_MANY_AFTER = {0: 0.68, 1: 0.18, 2: 0.1, 3: 0.04}
INITIAL = {"number": 0.45, "nothing": 0.32, "value": 0.23}
STYLES = {"mixed": 0.38, "result": 0.24, "return": 0.25, "call": 0.13}
"""What the blocks of a function have in common: the local that they set, or that all return."""
SCRUTINEES = {"parameter": 0.54, "local": 0.14, "binary": 0.15, "call": 0.08, "element": 0.09}
HOW_MANY_LABELS = {2: 6, 3: 11, 4: 15, 5: 13, 6: 10, 7: 7, 8: 6, 9: 3, 10: 3, 11: 1, 12: 2, 16: 1}
LABELS = {"small": 0.34, "ascii": 0.16, "sparse": 0.12, "wide": 0.1, "steps": 0.14, "bits": 0.08}
LABELS |= {"errors": 0.06}
GROUPS = {1: 0.76, 2: 0.13, 3: 0.05, 4: 0.03, 5: 0.01, 6: 0.01, 10: 0.01}
DEFAULTS = {"absent": 0.3, "last": 0.64, "middle": 0.06}
SIZES = {1: 0.52, 2: 0.29, 3: 0.13, 4: 0.06}
CANONICAL = 0.12
"""Share of functions in the language of `program`."""
_BRANCHING = {"if", "?", "&&", "||"}


def sample(draw: Draw) -> Node:
    """A function with 2 to 16 labels, fewer more often, or a canonical one with up to 20."""
    if draw.chance(CANONICAL):
        return program.sample(20, draw)
    while True:
        writer = _Writer(draw)
        function = writer.function()
        said = tree.tokens(function)
        if all(said.count(name) > 1 for name in writer.to_be_used):
            return function


@dataclass
class _Writer(Values):
    to_be_used: list[str] = field(default_factory=list)
    """Names without a trace in the assembly unless something is done with them."""

    def function(self) -> Node:
        draw = self.draw
        self.returns = draw.weighted(RESULTS)
        types = [draw.weighted(PARAMETERS) for _ in range(draw.weighted(HOW_MANY_PARAMETERS))]
        self.parameters = [(f"p{i}", type) for i, type in enumerate(types)]
        elements = [draw.weighted(ELEMENTS) for _ in range(draw.weighted(HOW_MANY_ARRAYS))]
        self.arrays = [(f"a{i}", type) for i, type in enumerate(elements)]
        self.to_be_used += [name for name, _ in self.arrays]
        self.style = draw.weighted(STYLES)
        if self.style == "return" and self.returns == "void":
            self.style = "call"
        declarations = [self._local(i) for i in range(draw.weighted(HOW_MANY_LOCALS))]
        if self.style == "result" and not self.locals:
            self.style = "mixed"
        before = self._before()
        # What a jump in the switch leads to is told by labels, of which there are to be no more.
        self.may_return, self.may_leave = self.returns != "void", False
        after = [self._after() for _ in range(draw.weighted(HOW_MANY_AFTER))]
        if after and not self.may_return:
            words = tree.tokens(c_ast.Compound(after))
            self.may_return = _BRANCHING.isdisjoint(words)
        self.may_leave = True
        switch, is_left = self._switch()
        final = [] if self.returns == "void" else [c_ast.Return(self._result())]
        if not is_left:
            after, final = [], []
        body = [*declarations, *before, switch, *after, *final]
        return tree.function(self.returns, self._listed(), body)

    def _listed(self) -> list[tuple[str, str]]:
        """The parameters, arrays anywhere among them."""
        listed = list(self.parameters)
        places = [self.draw.between(0, len(listed)) for _ in self.arrays]
        arrays = [(name, f"{type} *") for name, type in self.arrays]
        for place, array in reversed([*zip(sorted(places), arrays, strict=True)]):
            listed.insert(place, array)
        return listed

    def _local(self, index: int) -> Node:
        name, type = f"v{index}", self.draw.weighted(LOCALS)
        initial = self.draw.weighted(INITIAL)
        value = None
        if initial == "number":
            value = self.number(type)
        elif initial == "value":
            value = self.value()
        else:
            self.to_be_used.append(name)
        self.locals.append((name, type))
        return tree.declaration(name, type, value)

    # Before and after the switch

    def _before(self) -> list[Node]:
        draw = self.draw
        self.may_return, self.may_leave = True, False
        statements: list[Node] = []
        for name in self.to_be_used:  # a local that began with nothing
            if name[0] == "v" and draw.chance(0.35):
                statements.append(tree.assign(tree.variable(name), self.value(name)))
        for _ in range(draw.weighted(HOW_MANY_BEFORE)):
            kind = draw.weighted({"guard": 0.34, "call": 0.26, "change": 0.3, "if": 0.1})
            if kind == "guard":
                then = [self._simple() for _ in range(draw.weighted({0: 0.75, 1: 0.2, 2: 0.05}))]
                statements.append(tree.choice(self.condition(), [*then, self._return()], []))
            elif kind == "call":
                statements.append(self._called())
            else:
                statements.append(self._changed() if kind == "change" else self._choice())
        return statements

    def _after(self) -> Node:
        return self._choice() if self.draw.chance(0.25) else self._simple()

    # The switch

    def _switch(self) -> tuple[Node, bool]:
        """It, and whether what follows is ever reached."""
        draw = self.draw
        asked, type = self._scrutinee()
        groups: list[list[int] | None] = [*self._groups(self._labels(type))]
        default = draw.weighted(DEFAULTS)
        if default == "last":
            groups.append(None)
        elif default == "middle":
            groups.insert(draw.between(0, len(groups) - 1), None)
        self.end = draw.weighted({"break": 0.66, "return": 0.12, "either": 0.18, "fall": 0.04})
        if self.style == "return":
            self.end = "return"
        elif self.end == "return" and self.returns == "void":
            self.end = "either"
        if self.end in ("return", "either") and not self.may_return:
            self.end = "break"
        self.target = draw.pick(self.locals)[0] if self.locals else ""
        blocks = [(group, self._block(group is None)) for group in groups]
        last = blocks[-1][1]
        if self.returns == "void" and isinstance(last[-1], c_ast.Return):
            last[-1] = c_ast.Break()  # somewhere the switch ends
        if len(last) > 1 and isinstance(last[-1], c_ast.Break) and draw.chance(0.4):
            last.pop()
        falls_out = not isinstance(last[-1], (c_ast.Break, c_ast.Return))
        breaks = "break" in tree.tokens(tree.switch(asked, blocks))
        return tree.switch(asked, blocks), default == "absent" or falls_out or breaks

    def _scrutinee(self) -> tuple[Node, str]:
        draw = self.draw
        kind = draw.weighted(SCRUTINEES)
        known = self.parameters if kind != "local" or not self.locals else self.locals
        if kind == "element" and self.arrays:
            return self.element()
        if kind == "call" or not known:
            name = draw.pick(("g0", "g4", "g4", "g1", "g2"))
            return self.call(name), "int"
        name, type = draw.pick(known)
        if kind != "binary":
            return tree.variable(name), type
        left: Node = tree.variable(name)
        if draw.chance(0.25):
            further, right = self.right(name, type)
            left = tree.binary(further, left, right)
        operator = draw.pick(("&", "&", "%", "%", "/", "+", "-", ">>"))
        if operator == "&":
            return tree.binary("&", left, tree.number(draw.pick(MASKS))), "unsigned"
        if operator in "%/":
            divisor = draw.pick(DIVISORS)
            if is_unsigned(type) and divisor & (divisor - 1) == 0:
                divisor += 1
            return tree.binary(operator, left, tree.number(divisor)), "unsigned"
        most = 12 if operator == ">>" else draw.pick((5, 100))
        return tree.binary(operator, left, tree.number(draw.between(1, most))), (
            "int" if type.endswith(("char", "short")) else type
        )

    def _labels(self, type: str) -> list[int]:
        draw = self.draw
        count, narrow = draw.weighted(HOW_MANY_LABELS), is_char(type)
        kind = draw.weighted({k: w for k, w in LABELS.items() if not (narrow and k == "wide")})
        if kind == "ascii":
            labels = draw.distinct(range(32, 127), count)
            if draw.chance(0.1):
                labels[0] = draw.pick((0, 9, 10, 13, 27))
        elif kind == "bits":
            labels = [0, *(1 << i for i in range(16))][draw.between(0, 1) :][:count]
        elif kind == "small":
            first = draw.weighted({0: 0.4, 1: 0.45, -1: 0.05, 2: 0.1})
            labels = draw.distinct(range(first, first + count + draw.pick((0, 0, 1, 3))), count)
        elif kind == "steps":
            step = draw.pick((1, 2, 5, 10, 16, 100, 1000))
            first = draw.between(-100, 100) if narrow else draw.between(-20, 600)
            labels = [first + step * i for i in range(count)]
        elif kind == "errors":
            labels = [-label for label in draw.distinct(range(1, 41), count)]
        else:
            bound = 100 if kind == "sparse" else draw.pick((255, 1000, 5000, 40_000, 200_000))
            least = 0 if draw.chance(0.6) else -bound // 4
            labels = draw.distinct(range(least, bound + 1), count)
        most = {"char": 127, "unsigned char": 255, "short": 2**15 - 1}.get(type, 2**31 - 1)
        least = 0 if type.startswith("unsigned") else -most - 1
        labels = [label for label in labels if least <= label <= most]
        if len(labels) < 2:
            labels = [3, 4]
        return sorted(labels) if draw.chance(0.7) else draw.shuffled(labels)

    def _groups(self, labels: list[int]) -> list[list[int]]:
        groups = []
        while labels:
            size = self.draw.weighted(GROUPS)
            groups.append(sorted(labels[:size]))
            labels = labels[size:]
        return groups

    def _block(self, is_default: bool) -> list[Node]:
        draw = self.draw
        end = self.end if self.end != "either" else draw.pick(("break", "return"))
        if draw.chance(0.22 if is_default else 0.05) and self.end != "return":
            return [c_ast.Break()]
        if self.style == "return":
            statements = [self._statement() for _ in range(draw.weighted({0: 8, 1: 2, 2: 1}))]
        elif self.style == "result":
            statements = [self._statement() for _ in range(draw.weighted({0: 8, 1: 2, 2: 1}))]
            statements.append(tree.assign(tree.variable(self.target), self.value(self.target)))
        elif self.style == "call":
            statements = [self._statement() for _ in range(draw.weighted({0: 5, 1: 2, 2: 1}))]
            statements.append(self._called())
        else:
            statements = [self._statement() for _ in range(draw.weighted(SIZES))]
        if end == "return":
            statements.append(self._return())
        elif not draw.chance(0.85 if end == "fall" else 0.1):
            statements.append(c_ast.Break())
        return statements

    # Statements

    def _return(self) -> Node:
        return c_ast.Return(None if self.returns == "void" else self._result())

    def _result(self) -> Node:
        draw = self.draw
        if self.locals and draw.chance(0.4):
            return tree.variable(draw.pick(self.locals)[0])
        return self.number(self.returns) if draw.chance(0.5) else self.value()

    def _statement(self) -> Node:
        return self._choice() if self.draw.chance(0.17) else self._simple()

    def _choice(self, depth: int = 0) -> Node:
        """An `if`; inside it there may be others, `else if` above all."""
        draw = self.draw
        nests = depth < 2
        then = [self._simple() for _ in range(draw.between(1, 2))]
        if nests and draw.chance(0.07):
            then[0] = self._choice(depth + 1)
        if self.may_return and draw.chance(0.35):
            then[-1] = self._return()
        elif self.may_leave and draw.chance(0.08):
            then[-1] = c_ast.Break()
        otherwise: list[Node] = []
        if draw.chance(0.38):
            more = nests and draw.chance(0.4)
            otherwise = [self._choice(depth + 1) if more else self._simple()]
        return tree.choice(self.condition(), then, otherwise)

    def _simple(self) -> Node:
        return self._called() if self.draw.chance(0.27) else self._changed()

    def _called(self) -> Node:
        return self.call(self.draw.pick([*ARITIES]))

    def _changed(self) -> Node:
        """An assignment; a call where there is nothing to assign to."""
        draw = self.draw
        if self.arrays and draw.chance(0.36 if self.variables else 1.0):
            target, type = self.element()
            name = ""
        elif self.variables:
            often = self.locals if self.locals and draw.chance(0.82) else self.parameters
            name, type = draw.pick(often or self.locals)
            target = tree.variable(name)
        else:
            return self._called()
        if draw.chance(0.58):
            return tree.assign(target, self.value(name))
        operator, right = self.right(name, type)
        kind = draw.weighted({"one": 30, "more": 12, "simple": 58})
        if kind == "one":  # `++` and `--` of variables are the same, of `a0[1]` they are not
            operator, right = draw.pick("++-"), tree.number(1)
        elif kind == "more":
            operator, right = draw.pick("++-|&^"), self.value(name)
        return tree.assign(target, right, operator)
