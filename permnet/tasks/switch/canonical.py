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

from pycparser import c_ast
from pycparser.c_parser import CParser, ParseError

from permnet.tasks.switch import tree
from permnet.tasks.switch.ctokens import PRELUDE
from permnet.tasks.switch.expressions import (
    COMMUTATIVE,
    MOST,
    WIDTHS,
    OutsideDomainError,
    Scope,
    leaf,
    number,
    outside,
    type_of,
)
from permnet.tasks.switch.tree import Node

Block = tuple[list[int] | None, list[Node]]


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
        self.function, self.scope = function, Scope(prelude)

    def result(self) -> Node:
        declared = self.function.decl
        if declared.storage or declared.funcspec or self.function.param_decls:
            outside("a function with storage, specifiers or old-style parameters")
        self.returns = type_of(declared.type)
        if self.returns not in ("void", "int", "long"):
            outside(f"a result of type {self.returns}")
        parameters = self._parameters(declared.type.args)
        body = list(self.function.body.block_items or [])
        count = next((i for i, n in enumerate(body) if not isinstance(n, c_ast.Decl)), len(body))
        declarations = [self._local(node, i) for i, node in enumerate(body[:count])]
        if not declarations:
            outside("a function without a local")
        if not body[count:] or not isinstance(body[count], c_ast.Switch):
            outside("something else than locals with a switch behind them")
        after, final = self._after(body[count + 1 :])
        switch = self._switch(body[count], ends=not after)
        if "a0" in self.scope.types and not self.scope.array_used:
            outside("an array that is never used")
        return tree.function(self.returns, parameters, [*declarations, switch, *after, *final])

    # Names

    def _parameters(self, listed: Node | None) -> list[tuple[str, str]]:
        parameters = []
        for node in listed.params if listed else []:
            if not isinstance(node, c_ast.Decl):
                outside("a function without parameters, or one without its name")
            type = type_of(node)
            if type in ("int *", "long *"):
                if "a0" in self.scope.types:
                    outside("two arrays", node)
                name = "a0"
            elif type in WIDTHS:
                name = f"p{sum(known[0] == 'p' for known in self.scope.types)}"
            else:
                outside("a parameter of another type than char, int, long, int * and long *", node)
            self.scope.declare(node.name, name, type)
            parameters.append((name, type))
        return parameters

    def _local(self, node: Node, index: int) -> Node:
        type = type_of(node)
        if type not in ("int", "long") or node.storage or node.quals:
            outside("a local that is not a plain int or long", node)
        initial = None if node.init is None else number(node.init)
        if initial is None:
            outside("a local that does not start with a number", node)
        self.scope.declare(node.name, f"v{index}", type)
        return tree.declaration(f"v{index}", type, tree.number(initial))

    # Statements

    def _assignment(self, node: Node) -> Node:
        operator = node.op.removesuffix("=")
        if isinstance(node.lvalue, c_ast.ArrayRef):
            if operator:
                outside("an element changed in place", node)
            return tree.assign(self.scope.element(node.lvalue), self.scope.atom(node.rvalue))
        target = self.scope.variable(node.lvalue)
        if target is None or target[0] != "v":
            outside("an assignment to anything but a local and an element", node)
        value = node.rvalue
        if operator:
            value = c_ast.BinaryOp(operator, node.lvalue, value)
        if isinstance(value, c_ast.BinaryOp):
            operator, left, right = self.scope.binary(value)
            shortened = self.scope.width(target) < self.scope.width(left)
            if value.op == "*" and operator == "<<" and shortened:
                outside("a product shortened to an int", node)  # gcc shortens the factor first
            if right == target and operator in COMMUTATIVE:
                left, right = target, left
            if left == target:
                return tree.assign(tree.variable(target), leaf(right), operator)
            result = tree.binary(operator, tree.variable(left), leaf(right))
        elif isinstance(value, c_ast.FuncCall):
            result = self.scope.call(value, statement=False)
        elif isinstance(value, c_ast.ArrayRef):
            result = self.scope.element(value)
        else:
            result = self.scope.atom(value)
            if isinstance(result, c_ast.ID) and result.name == target:
                outside("a local assigned to itself", node)
        return tree.assign(tree.variable(target), result)

    def _simple(self, node: Node) -> Node:
        if isinstance(node, c_ast.Assignment):
            return self._assignment(node)
        if isinstance(node, c_ast.FuncCall):
            return self.scope.call(node, statement=True)
        return outside("a statement other than assignment and call", node)

    def _statement(self, node: Node) -> Node:
        if not isinstance(node, c_ast.If):
            return self._simple(node)
        condition = self.scope.condition(node.cond)
        then = [self._simple(inner) for inner in _statements(node.iftrue)]
        otherwise = [self._simple(inner) for inner in _statements(node.iffalse)]
        return tree.choice(condition, then, otherwise) if then else outside("an empty if", node)

    def _returned(self, node: Node, final: bool) -> Node:
        if (node.expr is None) != (self.returns == "void"):
            outside("a return against the result's type", node)
        if node.expr is None:
            return c_ast.Return(None)
        value = self.scope.atom(node.expr)
        is_local = isinstance(value, c_ast.ID) and value.name[0] == "v"
        if final and not is_local:
            outside("a function that does not return a local at its end", node)
        if isinstance(value, c_ast.ID) and self.scope.types[value.name] != self.returns:
            outside("a return of another type than the function's", node)
        return c_ast.Return(value)

    def _after(self, nodes: Sequence[Node]) -> tuple[list[Node], list[Node]]:
        """The statement behind the switch, if any, and the final return, if any."""
        nodes, final = list(nodes), []
        if nodes and isinstance(nodes[-1], c_ast.Return):
            final = [self._returned(nodes.pop(), final=True)]
        elif self.returns != "void":
            outside("a function that does not return a local at its end")
        if len(nodes) > 1:
            outside("more than one statement behind the switch", nodes[1])
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
            outside("code behind the switch that is never reached")
        if blocks[-1][0] is None and not any(leaves[:-1]):
            outside("a default at the end that every path falls into")
        if sum(labels is None for labels, _ in blocks) > 1:
            outside("a second default")
        labels = [label for labels, _ in blocks for label in labels or []]
        if len(set(labels)) < len(labels) or not labels:
            outside("labels that repeat, or none")
        is_char = isinstance(scrutinee, c_ast.ID) and self.scope.types[scrutinee.name] == "char"
        bound = 127 if is_char else MOST
        if not all(-bound - 1 <= label <= bound for label in labels):
            outside("a label beyond the scrutinee's type")
        return tree.switch(scrutinee, blocks)

    def _scrutinee(self, node: Node) -> Node:
        if isinstance(node, c_ast.BinaryOp):
            operator, left, right = self.scope.binary(node)
        else:
            name = self.scope.variable(node)
            operator, left, right = "", name or outside("a scrutinee too deep", node), 0
        if left[0] != "p" or isinstance(right, str) or operator not in ("", "+", "-", "&"):
            outside("a scrutinee other than a parameter, + - & a number", node)
        named = tree.variable(left)
        return tree.binary(operator, named, tree.number(right)) if operator else named

    def _block(self, nodes: Sequence[Node], ends: bool) -> list[Node]:
        """A block's statements; `ends` says that the function ends with the switch."""
        body, end = list(nodes), None
        if body and isinstance(body[-1], (c_ast.Break, c_ast.Return)):
            end = body.pop()
        if not body:
            outside("a block without statements")
        statements = [self._statement(node) for node in body]
        if isinstance(end, c_ast.Return):
            result = self._returned(end, final=False)
            statements.append(c_ast.Break() if ends and result.expr is None else result)
        elif end:
            statements.append(c_ast.Break())
        return statements


def _blocks(body: Node) -> list[Block]:
    """Labels, None where `default` is among them, and statements of each block of a switch."""
    blocks: list[Block] = []
    labels: list[int] = []
    is_default = False
    for node in body.block_items or [] if isinstance(body, c_ast.Compound) else []:
        if isinstance(node, c_ast.Case):
            value = number(node.expr)
            labels.append(
                outside("a label that is no number", node.expr) if value is None else value
            )
        elif isinstance(node, c_ast.Default) and not is_default:
            is_default = True
        else:
            outside("a second default, or a statement before the first label", node)
        statements = _statements(c_ast.Compound(node.stmts))
        if statements:
            blocks.append((None if is_default else sorted(labels), statements))
            labels, is_default = [], False
    if labels or is_default or not blocks:
        outside("a block without statements")
    return blocks
