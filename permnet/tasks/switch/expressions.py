"""Names, types and expressions of canonical C: what the statements of canonical.py are made of."""

from functools import lru_cache
from typing import NoReturn

from pycparser import c_ast
from pycparser.c_generator import CGenerator
from pycparser.c_parser import CParser

from permnet.errors import PermnetError
from permnet.tasks.switch import tree
from permnet.tasks.switch.tree import Node

COMMUTATIVE = ("+", "*", "&", "|", "^")
OPERATORS = (*COMMUTATIVE, "-", "<<", ">>")
COMPARISONS = ("==", "!=", ">", "<=")
WIDTHS = {"char": 1, "int": 4, "long": 8}
MOST = 2**31 - 1  # the largest number in an instruction

_MIRRORED = {
    **{operator: operator for operator in (*COMMUTATIVE, "==", "!=")},
    ">": "<",
    "<": ">",
    ">=": "<=",
    "<=": ">=",
}  # what an operator becomes when its operands change places


class OutsideDomainError(PermnetError):
    """C that is not, and cannot be brought, in the form of the switch task."""


def outside(what: str, node: Node | None = None) -> NoReturn:
    shown = f": {CGenerator().visit(node)}" if node is not None else ""
    raise OutsideDomainError(f"outside the domain of the switch task: {what}{shown}")


def type_of(node: Node) -> str:
    """The type that a declaration names; signed is understood."""
    inner, star = node.type, ""
    if isinstance(inner, c_ast.PtrDecl):
        inner, star = inner.type, " *"
    if not isinstance(inner, c_ast.TypeDecl) or not isinstance(inner.type, c_ast.IdentifierType):
        outside("a type other than char, int, long and pointers to them")
    names = [name for name in inner.type.names if name != "signed"]
    if len(names) == 2 and sorted(names) == ["int", "long"]:
        names.remove("int")
    return " ".join(names or ["int"]) + star


def number(node: Node) -> int | None:
    """The value of a literal, with signs before it; None for anything else."""
    if isinstance(node, c_ast.UnaryOp) and node.op in ("-", "+"):
        value = number(node.expr)
        return value if value is None or node.op == "+" else -value
    if not isinstance(node, c_ast.Constant) or node.type not in ("int", "long int", "char"):
        return None
    text = node.value
    if node.type == "char":
        return ord(text[1]) if len(text) == 3 else outside("an escaped character", node)
    text = text.rstrip("lL")
    octal = len(text) > 1 and text[0] == "0" and text[1] in "01234567"
    value = int(text, 8 if octal else 0)
    return value if value <= MOST else outside(f"a number above {MOST}", node)


def leaf(operand: str | int) -> Node:
    return tree.variable(operand) if isinstance(operand, str) else tree.number(operand)


@lru_cache
def _signatures(prelude: str) -> dict[str, tuple[str, int]]:
    """Result type and number of arguments of each function of a prelude."""
    found = {}
    for declared in CParser().parse(prelude).ext:
        listed = declared.type.args.params if isinstance(declared.type, c_ast.FuncDecl) else ()
        if not all(isinstance(parameter, (c_ast.Typename, c_ast.Decl)) for parameter in listed):
            raise PermnetError(f"a prelude is prototypes with fixed parameters, not {prelude!r}")
        types = [type_of(parameter) for parameter in listed]
        found[declared.name] = (type_of(declared.type), 0 if types == ["void"] else len(types))
    return found


class Scope:
    """The names of one function, and what expressions over them are in canonical form."""

    def __init__(self, prelude: str) -> None:
        self.signatures = _signatures(prelude)
        self.names: dict[str, str] = {}
        self.types: dict[str, str] = {}  # of canonical names
        self.array_used = False

    def declare(self, given: str, name: str, type: str) -> None:
        if given in self.names:
            outside(f"{given} is declared twice")
        self.names[given] = name
        self.types[name] = type

    def variable(self, node: Node) -> str | None:
        """The canonical name of a scalar; None for anything else."""
        if not isinstance(node, c_ast.ID):
            return None
        name = self.names.get(node.name)
        if name is None or name == "a0":
            outside("a name that is no scalar", node)
        return name

    def _operand(self, node: Node) -> str | int:
        """A scalar's canonical name or a number."""
        value = number(node)
        if value is not None:
            return value
        return self.variable(node) or outside("an expression too deep", node)

    def atom(self, node: Node) -> Node:
        return leaf(self._operand(node))

    def _operands(self, node: Node) -> tuple[str, str, str | int]:
        """Operator, variable, and variable or number, in canonical order."""
        operator, left, right = node.op, self._operand(node.left), self._operand(node.right)
        if isinstance(left, int):
            if operator not in _MIRRORED:
                outside("a number as left operand", node)
            operator, left, right = _MIRRORED[operator], right, left
        if isinstance(left, int) or left == right:
            outside("an operation that folds", node)
        symmetric = operator in (*COMMUTATIVE, "==", "!=")
        if symmetric and isinstance(right, str) and self.width(left) < self.width(right):
            left, right = right, left
        return operator, left, right

    def width(self, name: str) -> int:
        return WIDTHS[self.types[name]]

    def binary(self, node: Node) -> tuple[str, str, str | int]:
        operator, left, right = self._operands(node)
        if operator not in OPERATORS:
            outside(f"the operator {operator}", node)
        if isinstance(right, str):
            if operator in ("<<", ">>"):
                outside("a shift by a variable", node)
            return operator, left, right
        if operator in ("+", "-") and right < 0:
            operator, right = "-" if operator == "+" else "+", -right
        if right < 1:
            outside("an operation with a number that is not positive", node)
        if operator == "*" and right & (right - 1) == 0:
            operator, right = "<<", right.bit_length() - 1
        if operator in ("<<", ">>") and not 2 <= right <= 30:
            outside("a shift by other than 2 to 30, or a multiplication that is one", node)
        return operator, left, right

    def condition(self, node: Node) -> Node:
        if not isinstance(node, c_ast.BinaryOp) or node.op not in _MIRRORED:
            outside("a condition that is no comparison", node)
        operator, left, right = self._operands(node)
        if isinstance(right, int):
            if operator in ("<", ">="):
                operator, right = {"<": "<=", ">=": ">"}[operator], right - 1
            if self.types[left] == "char" and not -128 < right < 127:
                outside("a char compared with what no char exceeds", node)
        if operator not in COMPARISONS:
            outside("a comparison that is none of == != > <=", node)
        return tree.binary(operator, tree.variable(left), leaf(right))

    def call(self, node: Node, statement: bool) -> Node:
        name = node.name.name if isinstance(node.name, c_ast.ID) else ""
        if name not in self.signatures:
            outside("a call of a function that the prelude does not declare", node)
        result, arity = self.signatures[name]
        arguments = node.args.exprs if node.args else []
        if len(arguments) != arity or (result == "void" and not statement):
            outside("a call against its prototype", node)
        return tree.call(name, [self.atom(argument) for argument in arguments])

    def element(self, node: Node) -> Node:
        index = number(node.subscript)
        known = isinstance(node.name, c_ast.ID) and self.names.get(node.name.name) == "a0"
        if not known or index is None or index < 0:
            outside("an element that is not the array's at a number", node)
        self.array_used = True
        return tree.element(index)
