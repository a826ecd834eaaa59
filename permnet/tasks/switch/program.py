"""Random C functions around one switch, as canonical syntax trees.

Sampling is loose and `canonical` strict: what it refuses is drawn again.
"""

from dataclasses import dataclass, field

from pycparser import c_ast

from permnet.tasks.switch import tree
from permnet.tasks.switch.canonical import canonical
from permnet.tasks.switch.draw import Draw
from permnet.tasks.switch.expressions import COMPARISONS, OutsideDomainError
from permnet.tasks.switch.tree import Node

FEWEST_LABELS = 2
VALUED = {"g0": 1, "g1": 2, "g2": 1}  # functions of the prelude with a result: how many arguments
ALL = {**VALUED, "h0": 0, "h1": 1, "h2": 2}

TYPES = {"int": 0.5, "long": 0.3, "char": 0.2}
SCRUTINEES = {"": 0.7, "+": 0.1, "-": 0.1, "&": 0.1}
LABELS = {"sparse": 0.35, "wide": 0.2, "dense": 0.15, "gaps": 0.15, "ascii": 0.15}
GROUPS = {1: 0.85, 2: 0.1, 3: 0.05}
DEFAULTS = {"absent": 0.35, "last": 0.45, "middle": 0.2}
SIZES = {1: 0.45, 2: 0.32, 3: 0.16, 4: 0.07}  # statements in a block
ENDS = {"break": 0.72, "return": 0.13, "fall": 0.15}
STATEMENTS = {"assign": 0.32, "update": 0.26, "value": 0.14, "call": 0.16, "if": 0.12}
OPERATORS = {"+": 5, "-": 4, "*": 2, "&": 1, "|": 1, "^": 1, "<<": 1, ">>": 1}


def sample(longest: int, draw: Draw) -> Node:
    """A function with 2 to `longest` labels, uniformly many."""
    count = draw.between(FEWEST_LABELS, longest)
    while True:
        try:
            return canonical(_Sampler(draw).function(count))
        except OutsideDomainError:
            continue


@dataclass
class _Sampler:
    draw: Draw
    parameters: list[tuple[str, str]] = field(default_factory=list)
    locals: list[tuple[str, str]] = field(default_factory=list)
    has_array: bool = False

    def function(self, count: int) -> Node:
        draw = self.draw
        types = [draw.weighted(TYPES) for _ in range(draw.between(1, 3))]
        self.parameters = [(f"p{i}", type) for i, type in enumerate(types)]
        self.has_array = draw.chance(0.25)
        listed = list(self.parameters)
        if self.has_array:
            place = draw.between(0, len(listed))
            listed.insert(place, ("a0", draw.pick(("int *", "long *"))))
        self.locals = [
            (f"v{i}", draw.pick(("int", "int", "long"))) for i in range(draw.between(1, 3))
        ]
        declarations = [
            tree.declaration(name, type, tree.number(draw.between(-20, 100)))
            for name, type in self.locals
        ]
        result, returns = (None, "void") if draw.chance(0.3) else draw.pick(self.locals)
        scrutinee = draw.pick(self.parameters)
        switch = self._switch(scrutinee, count, returns)
        after = [self._simple()] if draw.chance(0.4) else []
        final = [c_ast.Return(tree.variable(result))] if result else []
        return tree.function(returns, listed, [*declarations, switch, *after, *final])

    def _switch(self, scrutinee: tuple[str, str], count: int, returns: str) -> Node:
        draw = self.draw
        name, type = scrutinee
        operator = draw.weighted(SCRUTINEES)
        asked = tree.variable(name)
        if operator:
            asked = tree.binary(operator, asked, tree.number(self._operand()))
        labels = self._labels(count, narrow=type == "char" and not operator)
        groups: list[list[int] | None] = [*self._groups(labels)]
        default = draw.weighted(DEFAULTS)
        if default == "last":
            groups.append(None)
        elif default == "middle" and len(groups) > 1:
            groups.insert(draw.between(1, len(groups) - 1), None)
        return tree.switch(asked, [(group, self._block(returns)) for group in groups])

    def _labels(self, count: int, narrow: bool) -> list[int]:
        """Distinct labels in random order; narrow ones fit in a char."""
        draw = self.draw
        kind = draw.weighted({k: w for k, w in LABELS.items() if not (narrow and k == "wide")})
        if kind == "ascii":
            return draw.distinct(range(32, 127), count)
        if kind in ("sparse", "wide"):
            bound = 100 if kind == "sparse" else 2000
            return draw.distinct(range(-bound, bound + 1), count)
        step = 1 if kind == "dense" else draw.between(2, 5 if narrow else 10)
        first = draw.between(-100, 100 - step * (count - 1)) if narrow else draw.between(-50, 100)
        return draw.shuffled(range(first, first + step * count, step))

    def _groups(self, labels: list[int]) -> list[list[int]]:
        """The labels of each block: mostly one, at times two or three, neighbours or not."""
        groups = []
        while labels:
            size = self.draw.weighted(GROUPS)
            if self.draw.chance(0.5):
                labels = sorted(labels, key=lambda label: abs(label - labels[0]))
                group, rest = labels[:size], labels[size:]
                labels = self.draw.shuffled(rest)
            else:
                group, labels = labels[:size], labels[size:]
            groups.append(group)
        return groups

    def _block(self, returns: str) -> list[Node]:
        statements = [self._statement() for _ in range(self.draw.weighted(SIZES))]
        end = self.draw.weighted(ENDS)
        if end == "break":
            statements.append(c_ast.Break())
        elif end == "return":
            statements.append(c_ast.Return(self._returned(returns)))
        return statements

    def _returned(self, returns: str) -> Node | None:
        if returns == "void":
            return None
        same = [name for name, type in self.locals + self.parameters if type == returns]
        if same and self.draw.chance(0.5):
            return tree.variable(self.draw.pick(same))
        return tree.number(self.draw.between(-20, 100))

    def _statement(self) -> Node:
        if self.draw.chance(STATEMENTS["if"]):
            then = [self._simple() for _ in range(self.draw.between(1, 2))]
            otherwise = [self._simple()] if self.draw.chance(0.5) else []
            return tree.choice(self._condition(), then, otherwise)
        return self._simple()

    def _simple(self) -> Node:
        draw = self.draw
        target = tree.variable(draw.pick(self.locals)[0])
        if self.has_array and draw.chance(0.2):
            element = tree.element(draw.between(0, 12))
            if draw.chance(0.5):
                return tree.assign(element, self._atom())
            return tree.assign(target, element)
        kind = draw.weighted({k: w for k, w in STATEMENTS.items() if k != "if"})
        if kind == "assign":
            others = [n for n, _ in self.parameters + self.locals if n != target.name]
            form = draw.pick(("number", "variable", "binary", "binary"))
            if form == "number":
                return tree.assign(target, tree.number(draw.between(-20, 1000)))
            if form == "variable":
                return tree.assign(target, tree.variable(draw.pick(others)))
            operator, right = self._right(left := draw.pick(others))
            return tree.assign(target, tree.binary(operator, tree.variable(left), right))
        if kind == "update":
            operator, right = self._right(target.name)
            return tree.assign(target, right, operator)
        name = draw.pick([*(VALUED if kind == "value" else ALL)])
        called = tree.call(name, [self._atom() for _ in range(ALL[name])])
        return tree.assign(target, called) if kind == "value" else called

    def _right(self, left: str) -> tuple[str, Node]:
        """An operator and what stands on its right."""
        draw = self.draw
        operator = draw.weighted(OPERATORS)
        if operator in ("<<", ">>"):
            return operator, tree.number(draw.between(2, 6))
        others = [name for name, _ in self.parameters + self.locals if name != left]
        if others and draw.chance(0.5):
            return operator, tree.variable(draw.pick(others))
        value = self._operand()
        while operator == "*" and value & (value - 1) == 0:
            value = self._operand()
        return operator, tree.number(value)

    def _operand(self) -> int:
        """A positive number, most often small."""
        return self.draw.between(1, self.draw.pick((20, 100, 1000)))

    def _atom(self) -> Node:
        if self.draw.chance(0.7):
            return tree.variable(self.draw.pick(self.parameters + self.locals)[0])
        return tree.number(self.draw.between(-20, self.draw.pick((20, 100, 1000))))

    def _condition(self) -> Node:
        draw = self.draw
        left, type = draw.pick(self.parameters + self.locals)
        others = [name for name, _ in self.parameters + self.locals if name != left]
        if draw.chance(0.3):
            right = tree.variable(draw.pick(others))
        else:
            right = tree.number(draw.between(0, 100 if type == "char" else 1000))
        return tree.binary(draw.pick(COMPARISONS), tree.variable(left), right)
