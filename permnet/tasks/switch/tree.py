"""Nodes of C syntax trees in the few shapes that the switch task is made of."""

from collections.abc import Sequence
from typing import Any, TypeAlias

from pycparser import c_ast
from pycparser.c_generator import CGenerator

from permnet.tasks.switch.ctokens import lex

Node: TypeAlias = Any  # a c_ast.Node; pycparser has no types


class _Generator(CGenerator):
    """pycparser's, without parentheses around the simple parts of `a ? b : c`."""

    def visit_TernaryOp(self, n: Node) -> str:
        asked, then, otherwise = map(
            self._parenthesize_unless_simple, (n.cond, n.iftrue, n.iffalse)
        )
        return f"{asked} ? {then} : {otherwise}"


def tokens(tree: Node) -> list[str]:
    """A syntax tree as C tokens."""
    return lex(_Generator().visit(tree))


def number(value: int) -> Node:
    constant = c_ast.Constant("int", str(abs(value)))
    return c_ast.UnaryOp("-", constant) if value < 0 else constant


def variable(name: str) -> Node:
    return c_ast.ID(name)


def binary(operator: str, left: Node, right: Node) -> Node:
    return c_ast.BinaryOp(operator, left, right)


def element(index: int) -> Node:
    """An element of the array parameter."""
    return c_ast.ArrayRef(c_ast.ID("a0"), number(index))


def assign(target: Node, value: Node, operator: str = "") -> Node:
    return c_ast.Assignment(operator + "=", target, value)


def call(name: str, arguments: Sequence[Node]) -> Node:
    return c_ast.FuncCall(c_ast.ID(name), c_ast.ExprList(list(arguments)) if arguments else None)


def choice(condition: Node, then: Sequence[Node], otherwise: Sequence[Node]) -> Node:
    """An `if`, with an `else` unless `otherwise` is empty."""
    alternative = c_ast.Compound(list(otherwise)) if otherwise else None
    return c_ast.If(condition, c_ast.Compound(list(then)), alternative)


def block(labels: Sequence[int] | None, statements: Sequence[Node]) -> list[Node]:
    """The labels of one block, with its statements behind the last; no labels mean `default`."""
    if labels is None:
        return [c_ast.Default(list(statements))]
    *shared, last = labels
    return [
        *(c_ast.Case(number(label), []) for label in shared),
        c_ast.Case(number(last), list(statements)),
    ]


def switch(scrutinee: Node, blocks: Sequence[tuple[Sequence[int] | None, Sequence[Node]]]) -> Node:
    cases = [node for labels, statements in blocks for node in block(labels, statements)]
    return c_ast.Switch(scrutinee, c_ast.Compound(cases))


def declaration(name: str, type: str, initial: Node | None = None) -> Node:
    *words, last = type.split()
    is_pointer = last == "*"
    inner = c_ast.TypeDecl(
        name, [], None, c_ast.IdentifierType(words if is_pointer else [*words, last])
    )
    return c_ast.Decl(
        name, [], [], [], [], c_ast.PtrDecl([], inner) if is_pointer else inner, initial, None
    )


def function(returns: str, parameters: Sequence[tuple[str, str]], body: Sequence[Node]) -> Node:
    """A function named `f`; parameters are pairs of name and type."""
    result = c_ast.TypeDecl("f", [], None, c_ast.IdentifierType(returns.split()))
    listed = c_ast.ParamList([declaration(name, type) for name, type in parameters])
    declared = c_ast.Decl("f", [], [], [], [], c_ast.FuncDecl(listed, result), None, None)
    return c_ast.FuncDef(declared, None, c_ast.Compound(list(body)))
