"""The one C function that stands for its assembly.

At -O0 gcc writes the same assembly for many C functions. In the domain of this task each of them
is brought to one form, so that assembly → C is a function:

* the function is `f`, its scalar parameters `p0`, `p1`, …, its array `a0`, its locals `v0`, …;
* numbers are decimal; the labels of a block ascend; labels beside `default` are dropped;
* the last block ends in `break` or `return`, and a `return;` that only leaves the switch is a
  `break` (gcc may mark these two with a `nop` more or less);
* `v op= e` stands for `v = v op e` and, where the operator commutes, `v = e op v`;
* of two operands that commute, the wider type stands first, and a number last;
* `x << n` stands for `x * 2ⁿ`, `x - 3` for `x + -3`;
* against numbers only `==`, `!=`, `>` and `<=` are used.

What cannot be told from the assembly at all is outside the domain: blocks without statements, an
array that is never used, code after the switch that is never reached, a `default` into which every
path falls, `x + x`, and so on. `OutsideDomainError` says what was met.
"""

from collections.abc import Sequence
from functools import lru_cache
from typing import NoReturn

from pycparser import c_ast
from pycparser.c_generator import CGenerator
from pycparser.c_parser import CParser, ParseError

from permnet.errors import PermnetError
from permnet.tasks.switch import tree
from permnet.tasks.switch.ctokens import PRELUDE
from permnet.tasks.switch.tree import Node

COMMUTATIVE = ("+", "*", "&", "|", "^")
OPERATORS = (*COMMUTATIVE, "-", "<<", ">>")
COMPARISONS = ("==", "!=", ">", "<=")
WIDTHS = {"char": 1, "int": 4, "long": 8}
MOST = 2**31 - 1  # the largest number in an instruction

Block = tuple[list[int] | None, list[Node]]


class OutsideDomainError(PermnetError):
    """C that is not, and cannot be brought, in the form of the switch task."""


def parse(text: str) -> Node:
    """The syntax tree of a text that is one function."""
    try:
        parts = CParser().parse(text).ext
    except (ParseError, RecursionError) as error:
        raise OutsideDomainError(f"this is not C: {error}") from error
    if len(parts) != 1 or not isinstance(parts[0], c_ast.FuncDef):
        raise OutsideDomainError("one function is expected, and nothing beside it")
    return parts[0]


def canonical(function: Node, prelude: str = PRELUDE) -> Node:
    """The function in canonical form; it may call what the prelude declares."""
    return _Canonical(function, prelude).result()


@lru_cache
def _signatures(prelude: str) -> dict[str, tuple[str, int]]:
    """Result type and number of arguments of each function of a prelude."""
    found = {}
    for declared in CParser().parse(prelude).ext:
        listed = declared.type.args.params if isinstance(declared.type, c_ast.FuncDecl) else ()
        if not all(isinstance(parameter, (c_ast.Typename, c_ast.Decl)) for parameter in listed):
            raise PermnetError(f"a prelude is prototypes with fixed parameters, not {prelude!r}")
        types = [_type(parameter) for parameter in listed]
        found[declared.name] = (_type(declared.type), 0 if types == ["void"] else len(types))
    return found


def _outside(what: str, node: Node | None = None) -> NoReturn:
    shown = f": {CGenerator().visit(node)}" if node is not None else ""
    raise OutsideDomainError(f"outside the domain of the switch task: {what}{shown}")


def _type(node: Node) -> str:
    """The type that a declaration names; signed is understood."""
    inner, star = node.type, ""
    if isinstance(inner, c_ast.PtrDecl):
        inner, star = inner.type, " *"
    if not isinstance(inner, c_ast.TypeDecl) or not isinstance(inner.type, c_ast.IdentifierType):
        _outside("a type other than char, int, long and pointers to them")
    names = [name for name in inner.type.names if name != "signed"]
    if len(names) == 2 and sorted(names) == ["int", "long"]:
        names.remove("int")
    return " ".join(names or ["int"]) + star


def _number(node: Node) -> int | None:
    """The value of a literal, with signs before it; None for anything else."""
    if isinstance(node, c_ast.UnaryOp) and node.op in ("-", "+"):
        value = _number(node.expr)
        return value if value is None or node.op == "+" else -value
    if not isinstance(node, c_ast.Constant) or node.type not in ("int", "long int", "char"):
        return None
    text = node.value
    if node.type == "char":
        return ord(text[1]) if len(text) == 3 else _outside("an escaped character", node)
    text = text.rstrip("lL")
    octal = len(text) > 1 and text[0] == "0" and text[1] in "01234567"
    value = int(text, 8 if octal else 0)
    return value if value <= MOST else _outside(f"a number above {MOST}", node)


def _statements(node: Node | None) -> list[Node]:
    """What stands in a branch or a bare compound, without braces and empty statements."""
    if node is None or isinstance(node, c_ast.EmptyStatement):
        return []
    if isinstance(node, c_ast.Compound):
        return [inner for item in node.block_items or [] for inner in _statements(item)]
    return [node]


class _Canonical:
    """Walks one function and rebuilds it."""

    def __init__(self, function: Node, prelude: str) -> None:
        self.function = function
        self.signatures = _signatures(prelude)
        self.names: dict[str, str] = {}
        self.types: dict[str, str] = {}  # of canonical names
        self.array_used = False

    def result(self) -> Node:
        declared = self.function.decl
        if declared.storage or declared.funcspec or self.function.param_decls:
            _outside("a function with storage, specifiers or old-style parameters")
        self.returns = _type(declared.type)
        if self.returns not in ("void", "int", "long"):
            _outside(f"a result of type {self.returns}")
        parameters = self._parameters(declared.type.args)
        body = list(self.function.body.block_items or [])
        count = next((i for i, n in enumerate(body) if not isinstance(n, c_ast.Decl)), len(body))
        declarations = [self._local(node, i) for i, node in enumerate(body[:count])]
        if not declarations:
            _outside("a function without a local")
        if not body[count:] or not isinstance(body[count], c_ast.Switch):
            _outside("something else than locals with a switch behind them")
        after, final = self._after(body[count + 1 :])
        switch = self._switch(body[count], ends=not after)
        if "a0" in self.types and not self.array_used:
            _outside("an array that is never used")
        return tree.function(self.returns, parameters, [*declarations, switch, *after, *final])

    # Names

    def _declare(self, given: str, name: str, type: str) -> None:
        if given in self.names:
            _outside(f"{given} is declared twice")
        self.names[given] = name
        self.types[name] = type

    def _parameters(self, listed: Node | None) -> list[tuple[str, str]]:
        parameters = []
        for node in listed.params if listed else []:
            if not isinstance(node, c_ast.Decl):
                _outside("a function without parameters, or one without its name")
            type = _type(node)
            if type in ("int *", "long *"):
                if "a0" in self.types:
                    _outside("two arrays", node)
                name = "a0"
            elif type in WIDTHS:
                name = f"p{sum(known[0] == 'p' for known in self.types)}"
            else:
                _outside("a parameter of another type than char, int, long, int * and long *", node)
            self._declare(node.name, name, type)
            parameters.append((name, type))
        return parameters

    def _local(self, node: Node, index: int) -> Node:
        type = _type(node)
        if type not in ("int", "long") or node.storage or node.quals:
            _outside("a local that is not a plain int or long", node)
        initial = None if node.init is None else _number(node.init)
        if initial is None:
            _outside("a local that does not start with a number", node)
        self._declare(node.name, f"v{index}", type)
        return tree.declaration(f"v{index}", type, tree.number(initial))

    def _variable(self, node: Node) -> str | None:
        """The canonical name of a scalar; None for anything else."""
        if not isinstance(node, c_ast.ID):
            return None
        name = self.names.get(node.name)
        if name is None or name == "a0":
            _outside("a name that is no scalar", node)
        return name

    # Expressions

    def _operand(self, node: Node) -> str | int:
        """A scalar's canonical name or a number."""
        value = _number(node)
        if value is not None:
            return value
        return self._variable(node) or _outside("an expression too deep", node)

    def _atom(self, node: Node) -> Node:
        return _leaf(self._operand(node))

    def _operands(self, node: Node) -> tuple[str, str, str | int]:
        """Operator, variable, and variable or number, in canonical order."""
        operator, left, right = node.op, self._operand(node.left), self._operand(node.right)
        if isinstance(left, int):
            if operator not in _MIRRORED:
                _outside("a number as left operand", node)
            operator, left, right = _MIRRORED[operator], right, left
        if isinstance(left, int) or left == right:
            _outside("an operation that folds", node)
        symmetric = operator in (*COMMUTATIVE, "==", "!=")
        if symmetric and isinstance(right, str) and self._width(left) < self._width(right):
            left, right = right, left
        return operator, left, right

    def _width(self, name: str) -> int:
        return WIDTHS[self.types[name]]

    def _binary(self, node: Node) -> tuple[str, str, str | int]:
        operator, left, right = self._operands(node)
        if operator not in OPERATORS:
            _outside(f"the operator {operator}", node)
        if isinstance(right, str):
            if operator in ("<<", ">>"):
                _outside("a shift by a variable", node)
            return operator, left, right
        if operator in ("+", "-") and right < 0:
            operator, right = "-" if operator == "+" else "+", -right
        if right < 1:
            _outside("an operation with a number that is not positive", node)
        if operator == "*" and right & (right - 1) == 0:
            operator, right = "<<", right.bit_length() - 1
        if operator in ("<<", ">>") and not 2 <= right <= 30:
            _outside("a shift by other than 2 to 30, or a multiplication that is one", node)
        return operator, left, right

    def _condition(self, node: Node) -> Node:
        if not isinstance(node, c_ast.BinaryOp) or node.op not in _MIRRORED:
            _outside("a condition that is no comparison", node)
        operator, left, right = self._operands(node)
        if isinstance(right, int):
            if operator in ("<", ">="):
                operator, right = {"<": "<=", ">=": ">"}[operator], right - 1
            if self.types[left] == "char" and not -128 < right < 127:
                _outside("a char compared with what no char exceeds", node)
        if operator not in COMPARISONS:
            _outside("a comparison that is none of == != > <=", node)
        return tree.binary(operator, tree.variable(left), _leaf(right))

    def _call(self, node: Node, statement: bool) -> Node:
        name = node.name.name if isinstance(node.name, c_ast.ID) else ""
        if name not in self.signatures:
            _outside("a call of a function that the prelude does not declare", node)
        result, arity = self.signatures[name]
        arguments = node.args.exprs if node.args else []
        if len(arguments) != arity or (result == "void" and not statement):
            _outside("a call against its prototype", node)
        return tree.call(name, [self._atom(argument) for argument in arguments])

    def _element(self, node: Node) -> Node:
        index = _number(node.subscript)
        known = isinstance(node.name, c_ast.ID) and self.names.get(node.name.name) == "a0"
        if not known or index is None or index < 0:
            _outside("an element that is not the array's at a number", node)
        self.array_used = True
        return tree.element(index)

    # Statements

    def _assignment(self, node: Node) -> Node:
        operator = node.op.removesuffix("=")
        if isinstance(node.lvalue, c_ast.ArrayRef):
            if operator:
                _outside("an element changed in place", node)
            return tree.assign(self._element(node.lvalue), self._atom(node.rvalue))
        target = self._variable(node.lvalue)
        if target is None or target[0] != "v":
            _outside("an assignment to anything but a local and an element", node)
        value = node.rvalue
        if operator:
            value = c_ast.BinaryOp(operator, node.lvalue, value)
        if isinstance(value, c_ast.BinaryOp):
            operator, left, right = self._binary(value)
            if right == target and operator in COMMUTATIVE:
                left, right = target, left
            if left == target:
                return tree.assign(tree.variable(target), _leaf(right), operator)
            result = tree.binary(operator, tree.variable(left), _leaf(right))
        elif isinstance(value, c_ast.FuncCall):
            result = self._call(value, statement=False)
        elif isinstance(value, c_ast.ArrayRef):
            result = self._element(value)
        else:
            result = self._atom(value)
            if isinstance(result, c_ast.ID) and result.name == target:
                _outside("a local assigned to itself", node)
        return tree.assign(tree.variable(target), result)

    def _simple(self, node: Node) -> Node:
        if isinstance(node, c_ast.Assignment):
            return self._assignment(node)
        if isinstance(node, c_ast.FuncCall):
            return self._call(node, statement=True)
        _outside("a statement other than assignment and call", node)

    def _statement(self, node: Node) -> Node:
        if not isinstance(node, c_ast.If):
            return self._simple(node)
        condition = self._condition(node.cond)
        then = [self._simple(inner) for inner in _statements(node.iftrue)]
        otherwise = [self._simple(inner) for inner in _statements(node.iffalse)]
        return tree.choice(condition, then, otherwise) if then else _outside("an empty if", node)

    def _returned(self, node: Node, final: bool) -> Node:
        if (node.expr is None) != (self.returns == "void"):
            _outside("a return against the result's type", node)
        if node.expr is None:
            return c_ast.Return(None)
        value = self._atom(node.expr)
        is_local = isinstance(value, c_ast.ID) and value.name[0] == "v"
        if final and not is_local:
            _outside("a function that does not return a local at its end", node)
        if isinstance(value, c_ast.ID) and self.types[value.name] != self.returns:
            _outside("a return of another type than the function's", node)
        return c_ast.Return(value)

    def _after(self, nodes: Sequence[Node]) -> tuple[list[Node], list[Node]]:
        """The statement behind the switch, if any, and the final return, if any."""
        nodes, final = list(nodes), []
        if nodes and isinstance(nodes[-1], c_ast.Return):
            final = [self._returned(nodes.pop(), final=True)]
        elif self.returns != "void":
            _outside("a function that does not return a local at its end")
        if len(nodes) > 1:
            _outside("more than one statement behind the switch", nodes[1])
        return [self._simple(node) for node in nodes], [node for node in final if node.expr]

    # The switch

    def _switch(self, node: Node, ends: bool) -> Node:
        scrutinee = self._scrutinee(node.cond)
        blocks = [
            (labels, self._block(statements, ends)) for labels, statements in _blocks(node.stmt)
        ]
        if not isinstance(blocks[-1][1][-1], (c_ast.Break, c_ast.Return)):
            blocks[-1][1].append(c_ast.Break())
        leaves = [isinstance(statements[-1], c_ast.Break) for _, statements in blocks]
        if any(labels is None for labels, _ in blocks) and not any(leaves):
            _outside("code behind the switch that is never reached")
        if blocks[-1][0] is None and not any(leaves[:-1]):
            _outside("a default at the end that every path falls into")
        if sum(labels is None for labels, _ in blocks) > 1:
            _outside("a second default")
        labels = [label for labels, _ in blocks for label in labels or []]
        if len(set(labels)) < len(labels) or not labels:
            _outside("labels that repeat, or none")
        is_char = isinstance(scrutinee, c_ast.ID) and self.types[scrutinee.name] == "char"
        bound = 127 if is_char else MOST
        if not all(-bound - 1 <= label <= bound for label in labels):
            _outside("a label beyond the scrutinee's type")
        return tree.switch(scrutinee, blocks)

    def _scrutinee(self, node: Node) -> Node:
        if isinstance(node, c_ast.BinaryOp):
            operator, left, right = self._binary(node)
        else:
            name = self._variable(node)
            operator, left, right = "", name or _outside("a scrutinee too deep", node), 0
        if left[0] != "p" or isinstance(right, str) or operator not in ("", "+", "-", "&"):
            _outside("a scrutinee other than a parameter, + - & a number", node)
        named = tree.variable(left)
        return tree.binary(operator, named, tree.number(right)) if operator else named

    def _block(self, nodes: Sequence[Node], ends: bool) -> list[Node]:
        """A block's statements; `ends` says that the function ends with the switch."""
        body, end = list(nodes), None
        if body and isinstance(body[-1], (c_ast.Break, c_ast.Return)):
            end = body.pop()
        if not body:
            _outside("a block without statements")
        statements = [self._statement(node) for node in body]
        if isinstance(end, c_ast.Return):
            result = self._returned(end, final=False)
            statements.append(c_ast.Break() if ends and result.expr is None else result)
        elif end:
            statements.append(c_ast.Break())
        return statements


_MIRRORED = {
    **{operator: operator for operator in (*COMMUTATIVE, "==", "!=")},
    ">": "<",
    "<": ">",
    ">=": "<=",
    "<=": ">=",
}  # what an operator becomes when its operands change places


def _leaf(operand: str | int) -> Node:
    return tree.variable(operand) if isinstance(operand, str) else tree.number(operand)


def _blocks(body: Node) -> list[Block]:
    """Labels, None where `default` is among them, and statements of each block of a switch."""
    blocks: list[Block] = []
    labels: list[int] = []
    is_default = False
    for node in body.block_items or [] if isinstance(body, c_ast.Compound) else []:
        if isinstance(node, c_ast.Case):
            value = _number(node.expr)
            labels.append(
                _outside("a label that is no number", node.expr) if value is None else value
            )
        elif isinstance(node, c_ast.Default) and not is_default:
            is_default = True
        else:
            _outside("a second default, or a statement before the first label", node)
        statements = _statements(c_ast.Compound(node.stmts))
        if statements:
            blocks.append((None if is_default else sorted(labels), statements))
            labels, is_default = [], False
    if labels or is_default or not blocks:
        _outside("a block without statements")
    return blocks
