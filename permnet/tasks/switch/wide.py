"""Functions around one switch as people write them: a wider language than that of `program`.

    int f(unsigned p0, int *a0)             without locals, or with locals that start with nothing
    {                                       or with an expression;
        if (p0 > 9)                         statements before the switch;
            return -1;                      results that are expressions;
        switch (a0[p0] % 4) {               switches of more than parameters;
        case 0: return g0(p0 + 1);          blocks of nothing but `break`;
        case 1: break;                      calls with none to three arguments;
        default: a0[1] = p0 * 2 - 1;        parameters assigned, a last block that only ends, …
        }
        return 0;
    }

Unlike canonical C these are not the only programs with their assembly: `unsigned` and `int` may
leave no trace of which it was. What can be told is up to a compiler (decompiling/verify.py).
"""

from dataclasses import dataclass, field

from pycparser import c_ast

from permnet.tasks.switch import program, tree
from permnet.tasks.switch.draw import Draw
from permnet.tasks.switch.tree import Node

ARITIES = {"g0": 1, "g1": 2, "g2": 1, "g3": 3, "g4": 0, "g5": 2, "h0": 0, "h1": 1, "h2": 2, "h3": 3}

RESULTS = {"int": 0.5, "void": 0.27, "long": 0.11, "char": 0.06, "unsigned": 0.06}
PARAMETERS = {"int": 0.55, "long": 0.14, "char": 0.14, "unsigned": 0.17}
LOCALS = {"int": 0.68, "long": 0.16, "unsigned": 0.1, "char": 0.06}
HOW_MANY_LOCALS = {0: 0.36, 1: 0.38, 2: 0.2, 3: 0.06}
INITIAL = {"number": 0.5, "nothing": 0.28, "value": 0.22}
STYLES = {"mixed": 0.4, "result": 0.22, "return": 0.25, "call": 0.13}
"""What the blocks of a function have in common: the local that they set, or that all return."""
SCRUTINEES = {"parameter": 0.62, "local": 0.12, "binary": 0.16, "call": 0.07, "element": 0.03}
LABELS = {"small": 0.34, "ascii": 0.16, "sparse": 0.16, "wide": 0.1, "steps": 0.14, "bits": 0.1}
GROUPS = {1: 0.8, 2: 0.13, 3: 0.05, 4: 0.02}
DEFAULTS = {"absent": 0.27, "last": 0.68, "middle": 0.05}
SIZES = {1: 0.56, 2: 0.27, 3: 0.12, 4: 0.05}
OPERATORS = {"+": 6, "-": 4, "*": 3, "/": 1, "%": 1, "&": 1.5, "|": 1, "^": 0.7, "<<": 1, ">>": 1}
MASKS = (1, 2, 3, 4, 7, 8, 15, 16, 31, 32, 63, 64, 127, 128, 255)
DIVISORS = (2, 3, 4, 5, 7, 8, 10, 12, 16, 60, 100, 1000)
MOST_LABELS = 12
CANONICAL = 0.35
"""Share of functions in the language of `program`."""


def sample(draw: Draw) -> Node:
    """A function with 2 to 12 labels, fewer more often, or a canonical one with up to 20."""
    if draw.chance(CANONICAL):
        return program.sample(20, draw)
    while True:
        writer = _Writer(draw)
        function = writer.function()
        said = tree.tokens(function)
        if all(said.count(name) > 1 for name in writer.to_be_used):
            return function


@dataclass
class _Writer:
    draw: Draw
    parameters: list[tuple[str, str]] = field(default_factory=list)
    locals: list[tuple[str, str]] = field(default_factory=list)
    has_array: bool = False
    to_be_used: list[str] = field(default_factory=list)
    """Names without a trace in the assembly unless something is done with them."""

    def function(self) -> Node:
        draw = self.draw
        self.returns = draw.weighted(RESULTS)
        types = [draw.weighted(PARAMETERS) for _ in range(draw.weighted({0: 1, 1: 9, 2: 7, 3: 3}))]
        self.parameters = [(f"p{i}", type) for i, type in enumerate(types)]
        listed = list(self.parameters)
        if draw.chance(0.2):
            self.has_array = True
            self.to_be_used.append("a0")
            type = draw.weighted({"int *": 5, "char *": 3, "long *": 2})
            listed.insert(draw.between(0, len(listed)), ("a0", type))
        self.style = draw.weighted(STYLES)
        if self.style == "return" and self.returns == "void":
            self.style = "call"
        declarations = [self._local(i) for i in range(draw.weighted(HOW_MANY_LOCALS))]
        if self.style == "result" and not self.locals:
            self.style = "mixed"
        before = self._before()
        # A `return` of nothing is a jump of its own only where something follows the switch.
        after = [self._simple() for _ in range(draw.weighted({0: 0.75, 1: 0.18, 2: 0.07}))]
        self.may_return = self.returns != "void" or bool(after)
        switch, is_left = self._switch()
        final = [] if self.returns == "void" else [c_ast.Return(self._result())]
        if not is_left:
            after, final = [], []
        return tree.function(self.returns, listed, [*declarations, *before, switch, *after, *final])

    def _local(self, index: int) -> Node:
        name, type = f"v{index}", self.draw.weighted(LOCALS)
        initial = self.draw.weighted(INITIAL)
        value = None
        if initial == "number":
            value = self._number(type)
        elif initial == "value":
            value = self._value()
        else:
            self.to_be_used.append(name)
        self.locals.append((name, type))
        return tree.declaration(name, type, value)

    def _before(self) -> list[Node]:
        draw = self.draw
        statements = []
        if draw.chance(0.12) and self.returns != "void":
            statements.append(tree.choice(self._condition(), [self._return()], []))
        if draw.chance(0.12):
            statements.append(self._changed())
        return statements

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
        self.end = draw.weighted({"break": 0.7, "return": 0.12, "either": 0.18})
        if self.style == "return":
            self.end = "return"
        if not self.may_return:
            self.end = "break"
        self.target = draw.pick(self.locals)[0] if self.locals else ""
        blocks = [(group, self._block(group is None)) for group in groups]
        last = blocks[-1][1]
        if len(last) > 1 and isinstance(last[-1], c_ast.Break) and draw.chance(0.4):
            last.pop()
        falls_out = not isinstance(last[-1], (c_ast.Break, c_ast.Return))
        breaks = any(isinstance(block[-1], c_ast.Break) for _, block in blocks)
        return tree.switch(asked, blocks), default == "absent" or falls_out or breaks

    def _scrutinee(self) -> tuple[Node, str]:
        draw = self.draw
        kind = draw.weighted(SCRUTINEES)
        known = self.parameters if kind != "local" or not self.locals else self.locals
        if kind == "element" and self.has_array:
            return self._element(), "char"
        if kind == "call" or not known:
            name = draw.pick(("g0", "g4", "g2") if self.parameters else ("g4",))
            return self._call(name), "int"
        name, type = draw.pick(known)
        if kind != "binary":
            return tree.variable(name), type
        operator = draw.pick(("&", "%", "+", "-", ">>"))
        if operator == "&":
            return tree.binary("&", tree.variable(name), tree.number(draw.pick(MASKS))), "unsigned"
        if operator == "%":
            divisor = draw.pick(DIVISORS)
            if type == "unsigned" and divisor & (divisor - 1) == 0:
                divisor += 1
            return tree.binary("%", tree.variable(name), tree.number(divisor)), "unsigned"
        most = 8 if operator == ">>" else draw.pick((5, 100))
        return tree.binary(operator, tree.variable(name), tree.number(draw.between(1, most))), (
            "int" if type == "char" else type
        )

    def _labels(self, type: str) -> list[int]:
        draw = self.draw
        count = 2 + min(int(draw.between(0, 10) * draw.between(20, 100) / 100), MOST_LABELS - 2)
        narrow, least = type == "char", 0 if type == "unsigned" else -(10**9)
        kind = draw.weighted({k: w for k, w in LABELS.items() if not (narrow and k == "wide")})
        if kind == "ascii":
            labels = draw.distinct(range(32, 127), count)
        elif kind == "bits":
            labels = [1 << i for i in range(min(count, 7 if narrow else 12))]
        elif kind == "small":
            first = draw.weighted({0: 0.4, 1: 0.45, -1: 0.05, 2: 0.1})
            labels = draw.distinct(range(first, first + count + draw.pick((0, 0, 1, 3))), count)
        elif kind == "steps":
            step = draw.pick((1, 2, 5, 10, 16, 100))
            first = draw.between(-100, 100 - step * count) if narrow else draw.between(-20, 600)
            labels = [first + step * i for i in range(count)]
        else:
            bound = 100 if kind == "sparse" else draw.pick((1000, 5000, 40000))
            labels = draw.distinct(range(-bound // 4, bound + 1), count)
        most = 127 if narrow else 2**31 - 1
        labels = [label for label in labels if max(least, -most - 1) <= label <= most]
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
        if draw.chance(0.25 if is_default else 0.05) and self.end != "return":
            return [c_ast.Break()]
        if self.style == "return":
            statements = [self._statement() for _ in range(draw.weighted({0: 8, 1: 2, 2: 1}))]
        elif self.style == "result":
            statements = [self._statement() for _ in range(draw.weighted({0: 8, 1: 2, 2: 1}))]
            statements.append(tree.assign(tree.variable(self.target), self._value(self.target)))
        elif self.style == "call":
            statements = [self._statement() for _ in range(draw.weighted({0: 5, 1: 2, 2: 1}))]
            statements.append(self._call(draw.pick([*ARITIES])))
        else:
            statements = [self._statement() for _ in range(draw.weighted(SIZES))]
        if end == "return":
            statements.append(self._return())
        elif not draw.chance(0.1):
            statements.append(c_ast.Break())
        return statements

    # Statements

    def _return(self) -> Node:
        return c_ast.Return(None if self.returns == "void" else self._result())

    def _result(self) -> Node:
        draw = self.draw
        if self.locals and draw.chance(0.4):
            return tree.variable(draw.pick(self.locals)[0])
        return self._number(self.returns) if draw.chance(0.5) else self._value()

    def _statement(self) -> Node:
        if not self.draw.chance(0.13):
            return self._simple()
        then = [self._simple() for _ in range(self.draw.between(1, 2))]
        if self.returns != "void" and self.draw.chance(0.3):
            then[-1] = self._return()
        otherwise = [self._simple()] if self.draw.chance(0.4) else []
        return tree.choice(self._condition(), then, otherwise)

    def _simple(self) -> Node:
        if not (self.parameters or self.locals) or self.draw.chance(0.22):
            return self._call(self.draw.pick([*ARITIES]))
        return self._changed()

    def _changed(self) -> Node:
        """An assignment; a call where there is nothing to assign to."""
        draw = self.draw
        if self.has_array and draw.chance(0.22):
            return tree.assign(self._element(), self._value())
        if not (self.parameters or self.locals):
            return self._call(draw.pick([*ARITIES]))
        known = self.locals if self.locals and draw.chance(0.85) else self.parameters or self.locals
        name, type = draw.pick(known)
        target = tree.variable(name)
        if draw.chance(0.55):
            return tree.assign(target, self._value(name))
        operator, right = self._right(name, type)
        return tree.assign(target, right, operator)

    def _call(self, name: str) -> Node:
        return tree.call(name, [self._argument() for _ in range(ARITIES[name])])

    def _argument(self) -> Node:
        if self.draw.chance(0.12):
            return self._binary()
        return self._variable() if self.draw.chance(0.65) else self._number()

    # Values

    def _value(self, target: str = "") -> Node:
        """An expression other than the target itself."""
        draw = self.draw
        kind = draw.weighted({"number": 30, "variable": 20, "binary": 34, "call": 12, "unary": 4})
        if self.has_array and draw.chance(0.15):
            return self._element()
        if kind == "call":
            return self._call(draw.pick([name for name in ARITIES if name[0] == "g"]))
        if kind == "unary":
            return c_ast.UnaryOp(draw.pick(("-", "-", "~")), self._variable_or_call(target))
        if kind == "variable":
            return self._variable_or_call(target)
        return self._number() if kind == "number" else self._binary(target)

    def _binary(self, target: str = "") -> Node:
        """Of a variable and another or a number, and at times of a third."""
        draw = self.draw
        known = [each for each in self.parameters + self.locals if each[0] != target]
        if not known:
            return self._number()
        name, type = draw.pick(known)
        operator, right = self._right(name, type)
        result = tree.binary(operator, tree.variable(name), right)
        if not draw.chance(0.18):
            return result
        name, type = draw.pick(self.parameters + self.locals)
        if draw.chance(0.5):
            further, last = self._right(name, type)
            return tree.binary(further, result, last)
        return tree.binary(draw.pick("+-*&|"), tree.variable(name), result)

    def _right(self, left: str, type: str) -> tuple[str, Node]:
        """An operator and what stands on its right."""
        draw = self.draw
        operator = draw.weighted(OPERATORS)
        others = [name for name, _ in self.parameters + self.locals if name != left]
        if others and operator not in ("<<", ">>") and draw.chance(0.4):
            return operator, tree.variable(draw.pick(others))
        if operator == "<<":
            return operator, tree.number(draw.between(2, 8))
        if operator == ">>":
            return operator, tree.number(draw.between(1, 8))
        value = draw.between(1, draw.pick((3, 10, 20, 100, 1000)))
        if operator in "/%":
            value = draw.pick(DIVISORS)
            if type == "unsigned" and value & (value - 1) == 0:  # else it is a shift or a mask
                value += 1
        elif operator == "&" and draw.chance(0.6):
            value = draw.pick(MASKS)
        elif operator == "*" and value != 2 and value & (value - 1) == 0:  # else it is a shift
            value += 2 if value == 1 else 1
        return operator, tree.number(value)

    def _condition(self) -> Node:
        draw = self.draw
        if draw.chance(0.12):
            return tree.binary(draw.pick(("&&", "||")), self._comparison(), self._comparison())
        return self._comparison()

    def _comparison(self) -> Node:
        draw = self.draw
        known = self.parameters + self.locals
        if not known or draw.chance(0.07):
            left: Node = self._call(draw.pick(("g0", "g1", "g4")))
            type = "int"
        else:
            name, type = draw.pick(known)
            left = tree.variable(name)
            if draw.chance(0.12):
                left = tree.binary("&", left, tree.number(draw.pick(MASKS)))
                return tree.binary(draw.pick(("==", "!=")), left, tree.number(0))
            others = [other for other, _ in known if other != name]
            if others and draw.chance(0.25):
                right = tree.variable(draw.pick(others))
                return tree.binary(draw.pick(("==", "!=", ">", "<=", "<", ">=")), left, right)
        if type != "unsigned" and draw.chance(0.2):
            return tree.binary(draw.pick(("<", ">=")), left, tree.number(0))
        operator = draw.pick(("==", "!=", ">", "<="))
        least = 1 if type == "unsigned" and operator in (">", "<=") else 0
        most = draw.pick((10, 100) if type == "char" else (10, 100, 1000))
        return tree.binary(operator, left, tree.number(draw.between(least, most)))

    def _element(self) -> Node:
        draw = self.draw
        indices = [name for name, type in self.parameters + self.locals if type in ("int", "long")]
        if indices and draw.chance(0.45):
            return c_ast.ArrayRef(tree.variable("a0"), tree.variable(draw.pick(indices)))
        return tree.element(
            draw.weighted({0: 5, 1: 2}) if draw.chance(0.5) else draw.between(0, 12)
        )

    def _variable(self) -> Node:
        known = self.parameters + self.locals
        return tree.variable(self.draw.pick(known)[0]) if known else self._number()

    def _variable_or_call(self, target: str) -> Node:
        known = [name for name, _ in self.parameters + self.locals if name != target]
        return tree.variable(self.draw.pick(known)) if known else self._call("g4")

    def _number(self, type: str = "int") -> Node:
        draw = self.draw
        if type != "unsigned" and draw.chance(0.12):
            return tree.number(-draw.between(1, draw.pick((2, 20))))
        most = draw.pick((10, 100, 120) if type == "char" else (3, 10, 20, 100, 1000))
        return tree.number(draw.between(0, most))
