"""What stands in the statements of the wide language: numbers, values, conditions."""

from dataclasses import dataclass, field

from pycparser import c_ast

from permnet.tasks.switch import tree
from permnet.tasks.switch.draw import Draw
from permnet.tasks.switch.tree import Node

# fmt: off
ARITIES = {
    "g0": 1, "g1": 2, "g2": 1, "g3": 3, "g4": 0, "g5": 2, "g6": 4, "g7": 1,
    "h0": 0, "h1": 1, "h2": 2, "h3": 3, "h4": 4,
}
# fmt: on
"""The functions of the prelude, and how many arguments they take."""
WITH_RESULT = [name for name in ARITIES if name[0] == "g"]
OF_LONGS = ("g2", "g5")

VALUES = {"number": 30, "variable": 20, "binary": 34, "call": 12, "unary": 3, "truth": 3, "two": 1}
ARGUMENTS = {"variable": 55, "number": 28, "binary": 10, "call": 4, "element": 3}
OPERATORS = {"+": 6, "-": 4, "*": 3, "/": 1, "%": 1, "&": 1.5, "|": 1, "^": 0.7, "<<": 1, ">>": 1}
FURTHER = {**OPERATORS, "&": 4, "|": 2, "*": 2}
MASKS = (1, 2, 3, 4, 7, 8, 15, 16, 31, 32, 63, 64, 127, 128, 255, 512, 1023, 4095, 32768, 65535)
DIVISORS = (2, 3, 4, 5, 7, 8, 9, 10, 12, 16, 24, 50, 60, 100, 256, 400, 1000, 4096)
NUMBERS = {3: 27, 10: 22, 20: 10, 100: 17, 255: 6, 1000: 8, 65_536: 2, 1_000_000: 1}
"""Numbers up to so much; besides them there are round ones and characters."""
BOOLEANS = {1: 0.8, 2: 0.16, 3: 0.04}


def is_unsigned(type: str) -> bool:
    """Whether it is computed with without a sign: narrower ones become an `int` first."""
    return type in ("unsigned", "unsigned long")


def is_char(type: str) -> bool:
    return type.endswith("char")


@dataclass
class Values:
    """Random expressions of the variables at hand."""

    draw: Draw
    parameters: list[tuple[str, str]] = field(default_factory=list)
    locals: list[tuple[str, str]] = field(default_factory=list)
    arrays: list[tuple[str, str]] = field(default_factory=list)
    """With the types of their elements."""

    @property
    def variables(self) -> list[tuple[str, str]]:
        return self.parameters + self.locals

    def value(self, target: str = "") -> Node:
        """An expression other than the target itself."""
        draw = self.draw
        if self.arrays and draw.chance(0.2):
            return self.element()[0]
        kind = draw.weighted(VALUES)
        if kind == "number":
            return self.number()
        if kind == "call":
            return self.call(draw.pick(WITH_RESULT))
        if kind == "unary":
            return c_ast.UnaryOp(draw.pick("--~"), self.variable(target))
        if kind == "truth":
            return self.condition() if draw.chance(0.25) else self.comparison()
        if kind == "two":
            return c_ast.TernaryOp(self.comparison(), self.atom(), self.atom())
        return self.variable(target) if kind == "variable" else self.binary(target)

    def variable(self, target: str = "") -> Node:
        """Another than the target; a call where there is none."""
        known = [name for name, _ in self.variables if name != target]
        return tree.variable(self.draw.pick(known)) if known else self.call("g4")

    def atom(self) -> Node:
        return self.variable() if self.draw.chance(0.5) else self.number()

    def call(self, name: str) -> Node:
        return tree.call(name, [self.argument(name) for _ in range(ARITIES[name])])

    def argument(self, callee: str) -> Node:
        draw = self.draw
        if self.arrays and callee in OF_LONGS and draw.chance(0.3):
            return tree.variable(draw.pick(self.arrays)[0])  # an address is as wide as a `long`
        kind = draw.weighted(ARGUMENTS)
        if kind == "element" and self.arrays:
            return self.element()[0]
        if kind == "call" and callee not in ("g0", "g4"):  # which are what is called in a call
            return self.call(draw.pick(("g0", "g4")))
        if kind == "binary":
            return self.binary()
        return self.number() if kind == "number" or not self.variables else self.variable()

    # Operators

    def binary(self, target: str = "") -> Node:
        """Of a variable, an element or a call with something else, and at times of more."""
        draw = self.draw
        result, name, type = self._one_operator(target)
        for _ in range(draw.weighted({0: 0.74, 1: 0.19, 2: 0.07})):
            kind = draw.weighted({"left": 62, "right": 24, "both": 14})
            if kind == "left" or not self.variables:
                operator, right = self.right(name, type, FURTHER)
                result = tree.binary(operator, result, right)
            elif kind == "right":
                name, type = draw.pick(self.variables)
                result = tree.binary(draw.pick("++-*&||"), tree.variable(name), result)
            else:
                other, _, _ = self._one_operator()
                result = tree.binary(draw.pick("++-||^*"), result, other)
        return result

    def _one_operator(self, target: str = "") -> tuple[Node, str, str]:
        """With the name, if it has one, and the type of what stands on the left."""
        draw = self.draw
        known = [each for each in self.variables if each[0] != target]
        left: Node
        if self.arrays and draw.chance(0.15):
            left, type = self.element()
            name = ""
        elif known and not draw.chance(0.05):
            name, type = draw.pick(known)
            left = tree.variable(name)
        else:
            left, name, type = self.call(draw.pick(("g0", "g4"))), "", "int"
        operator, right = self.right(name, type)
        return tree.binary(operator, left, right), name, type

    def right(
        self, left: str, type: str, operators: dict[str, float] = OPERATORS
    ) -> tuple[str, Node]:
        """An operator and what stands on its right."""
        draw = self.draw
        operator = draw.weighted(operators)
        others = [name for name, _ in self.variables if name != left]
        is_shift = operator in ("<<", ">>")
        if others and draw.chance(0.12 if is_shift else 0.4):
            return operator, tree.variable(draw.pick(others))
        if is_shift:
            many = draw.pick((8, 8, 16, 24))
            return operator, tree.number(draw.between(1 + (operator == "<<"), many))
        if self.arrays and draw.chance(0.08):
            return operator, self.element()[0]
        value = max(self.magnitude(), 1)
        if operator in "/%":
            value = draw.pick(DIVISORS)
            if is_unsigned(type) and value & (value - 1) == 0:  # else it is a shift or a mask
                value += 1
        elif operator == "&" and draw.chance(0.75):
            value = draw.pick(MASKS)
        elif operator == "*" and value != 2 and value & (value - 1) == 0:  # else it is a shift
            value += 2 if value == 1 else 1
        return operator, tree.number(value)

    # Elements of arrays

    def element(self) -> tuple[Node, str]:
        """An element of an array, mostly the first, and its type."""
        draw = self.draw
        name, type = draw.pick(self.arrays)
        indices = [tree.variable(name) for name, type in self.variables if not is_char(type)]
        index: Node = tree.number(0 if draw.chance(0.6) else draw.between(1, 12))
        if indices and draw.chance(0.4):
            index = draw.pick(indices)
            if draw.chance(0.35):
                operator = draw.pick("+--&")
                number = draw.pick(MASKS) if operator == "&" else draw.between(1, 3)
                index = tree.binary(operator, index, tree.number(number))
        return c_ast.ArrayRef(tree.variable(name), index), type

    # Conditions

    def condition(self) -> Node:
        draw = self.draw
        found = self.comparison()
        for _ in range(draw.weighted(BOOLEANS) - 1):
            other, operator = self.comparison(), draw.pick(("&&", "||"))
            one, other = (found, other) if draw.chance(0.85) else (other, found)
            found = tree.binary(operator, one, other)
        return found

    def comparison(self) -> Node:
        draw = self.draw
        known = self.variables
        left: Node
        if self.arrays and draw.chance(0.18):
            left, type = self.element()
        elif not known or draw.chance(0.1):
            name = draw.pick(("g0", "g0", "g1", "g4", "g2"))
            left, type = self.call(name), "long" if name == "g2" else "int"
            if draw.chance(0.6):
                return tree.binary(draw.pick(("!=", "==")), left, tree.number(0))
        else:
            name, type = draw.pick(known)
            left = tree.variable(name)
            if draw.chance(0.1):
                left = tree.binary("&", left, tree.number(draw.pick(MASKS)))
                return tree.binary(draw.pick(("==", "!=")), left, tree.number(0))
            if draw.chance(0.05):
                operator, right = self.right(name, type)
                left = tree.binary(operator, left, right)
            others = [other for other, _ in known if other != name]
            if others and draw.chance(0.22):
                right = tree.variable(draw.pick(others))
                return tree.binary(draw.pick(("==", "!=", ">", "<=", "<", ">=")), left, right)
        if draw.chance(0.22):
            return tree.binary(draw.pick(("!=", "==")), left, tree.number(0))
        if not is_unsigned(type) and draw.chance(0.2):
            return tree.binary(draw.pick(("<", ">=")), left, tree.number(0))
        operator = draw.pick(("==", "!=", ">", "<="))
        # With nothing below 0 these are tests for 0.
        least = 1 if is_unsigned(type) and operator in (">", "<=") else 0
        return tree.binary(operator, left, tree.number(max(self.of_type(type), least)))

    # Numbers

    def number(self, type: str = "int") -> Node:
        draw = self.draw
        if type[:8] != "unsigned" and draw.chance(0.12):
            return tree.number(-draw.between(1, draw.pick((1, 2, 3, 40))))
        return tree.number(self.of_type(type))

    def of_type(self, type: str) -> int:
        """A number such as a variable of that type may hold, without a sign."""
        draw = self.draw
        if is_char(type) and draw.chance(0.6):
            return draw.between(32, 126)
        most = {"char": 127, "unsigned char": 255, "short": 2**15 - 1}.get(type, 2**31 - 1)
        return min(self.magnitude(), most)

    def magnitude(self) -> int:
        draw = self.draw
        if draw.chance(0.07):
            unit = draw.pick((10, 50, 100, 500, 1000, 3600, 10_000))
            return unit * draw.between(1, draw.pick((5, 20)))
        if draw.chance(0.04):
            return (1 << draw.between(4, 16)) - draw.pick((0, 0, 1))
        if draw.chance(0.05):
            return draw.between(32, 126)
        return draw.between(0, draw.weighted(NUMBERS))
