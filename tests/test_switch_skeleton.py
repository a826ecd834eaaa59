"""The skeleton out of tokens against the one out of the syntax tree."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pycparser import c_ast

from permnet.tasks.switch.canonical import parse
from permnet.tasks.switch.ctokens import layout
from permnet.tasks.switch.dataset import SETS, shipped
from permnet.tasks.switch.skeleton import skeleton
from permnet.tasks.switch.tree import tokens


def out_of_the_tree(text: str) -> list[list[int | str]]:
    """Cases and defaults that carry no statement belong to the next one that does."""
    (switch,) = (n for n in parse(text).body.block_items if isinstance(n, c_ast.Switch))
    blocks, labels = [], []
    for node in switch.stmt.block_items:
        is_case = isinstance(node, c_ast.Case)
        labels.append(int("".join(tokens(node.expr))) if is_case else "default")
        if node.stmts:
            blocks.append(labels)
            labels = []
    assert not labels
    return blocks


@pytest.mark.parametrize("name", SETS)
def test_it_is_that_of_the_syntax_tree(name: str) -> None:
    for _, c in list(shipped(name).pairs())[::7]:
        assert skeleton(c) == skeleton(layout(c)) == out_of_the_tree(layout(c))


@pytest.mark.parametrize(
    ("c", "expected"),
    [
        ("switch (p0) { case -1: h0(); }", [[-1]]),
        ("switch (p0) { case 2: case -1: case 0: h0(); }", [[-1, 0, 2]]),
        ("switch (p0) { case 1: default: h0(); case 2: h0(); }", [["default"], [2]]),
        ("switch (p0) { case 1: if (v0 > 1) { h0(); } case 2: }", [[1], [2]]),
        ("h0();", None),
        ("switch (p0) { }", None),
        ("switch (p0) { h0(); case 1: h0(); }", None),
        ("switch (p0) { case 1: h0();", None),
        ("switch (p0) { case p0: h0(); }", None),
        ("switch (p0) { case 1 h0(); }", None),
        ("switch (p0) { default h0(); }", None),
        ("switch (p0) { case 1: { case 2: h0(); } }", None),
        ("switch (p0) { case 1: h0(); } switch (p0) { case 1: h0(); }", None),
        (f"switch (p0) {{ case {'9' * 5000}: h0(); }}", None),
        ("switch", None),
    ],
)
def test_what_a_model_may_say(c: str, expected: object) -> None:
    assert skeleton(c) == expected


WORDS = ["switch", "case", "default", "1", "-2", ":", "{", "}", "(", ")", ";", "p0"]


@given(st.lists(st.sampled_from(WORDS), max_size=20))
def test_any_tokens_are_answered(c: list[str]) -> None:
    found = skeleton(["switch", "{", *c])
    labels = [label for block in found or [] for label in block]
    assert len(labels) <= c.count("case") + c.count("default")
    assert found != []
