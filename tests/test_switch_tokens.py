"""The lexers of the switch task, C and assembly, and what is done to labels."""

import doctest

import pytest
from hypothesis import given
from hypothesis import strategies as st

from permnet.errors import PermnetError
from permnet.tasks.switch import assembly, ctokens, dataset
from permnet.tasks.switch.assembly import (
    LABEL_NAMES,
    alone,
    functions,
    is_label,
    labels,
    lex_line,
    renumbered,
    shuffled,
)
from permnet.tasks.switch.ctokens import layout, lex
from permnet.tasks.switch.draw import Draw

WORDS = [
    "int",
    "long",
    "char",
    "void",
    "f",
    "p0",
    "v0",
    "a0",
    "g1",
    "switch",
    "case",
    "default",
    "break",
    "return",
    "if",
    "else",
]
SIGNS = [
    "+",
    "-",
    "*",
    "&",
    "|",
    "^",
    "<<",
    ">>",
    "=",
    "+=",
    "-=",
    "*=",
    "&=",
    "|=",
    "^=",
    "<<=",
    ">>=",
    "==",
    "!=",
    ">",
    "<=",
    "<",
    ">=",
    "(",
    ")",
    "[",
    "]",
    "{",
    "}",
    ",",
    ";",
    ":",
]
c_tokens = st.lists(
    st.sampled_from(WORDS) | st.sampled_from(SIGNS) | st.integers(-(10**6), 10**6).map(str)
)
assembly_tokens = st.lists(
    st.sampled_from(["mov", "eax", "[", "]", "-8", "PTR", ":"])
    | st.integers(0, 30).map(lambda i: f".L{i}")
)

SOURCE = """\
int f(int p0, long *a0)
{
    int v0 = -5;
    switch (p0 - 3) {
    case -62:
    case 87:
        if (v0 > 2) {
            a0[3] = v0;
        } else {
            v0 = g1(p0, -1);
        }
        break;
    default:
        v0 <<= 2;
        v0 = p0 * p1;
        break;
    }
    return v0;
}
"""


def test_c_as_tokens_and_back() -> None:
    tokens = lex(SOURCE)
    assert layout(tokens) == SOURCE
    assert tokens[:13] == [
        "int",
        "f",
        "(",
        "int",
        "p0",
        ",",
        "long",
        "*",
        "a0",
        ")",
        "{",
        "int",
        "v0",
    ]
    assert lex("v0 - 5") == ["v0", "-", "5"]


@given(c_tokens)
def test_any_c_tokens_survive_their_layout(tokens: list[str]) -> None:
    assert lex(layout(tokens)) == tokens
    assert layout(tuple(tokens)) == layout(tokens)


@pytest.mark.parametrize("text", ['"text"', "#include <x>", "v0 = 1; // é", "a\\b", "@"])
def test_what_is_not_c_of_the_task_is_named(text: str) -> None:
    with pytest.raises(PermnetError, match="is no part of the C of this task"):
        lex(text)


@given(st.text())
def test_the_c_lexer_never_fails_otherwise(text: str) -> None:
    try:
        tokens = lex(text)
    except PermnetError:
        return
    assert "".join(tokens) == "".join(text.split())


def test_functions_are_cut_out_and_directives_dropped() -> None:
    text = """\t.file\t"in.i"
\t.intel_syntax noprefix
\t.text
\t.globl\tf0
\t.type\tf0, @function
f0:
\tpush\trbp
\tmov\tDWORD PTR -36[rbp], edi
\tlea\trdx, 0[0+rax*4]
\tcall\th0@PLT
\tjmp\t.L11
.L11:
\tret
\t.size\tf0, .-f0
f1:
\tnop
\t.size\tf1, .-f1
\t.ident\t"GCC: 12"
"""
    assert functions(text) == {
        "f0": [
            ["push", "rbp"],
            ["mov", "DWORD", "PTR", "-36", "[", "rbp", "]", "edi"],
            ["lea", "rdx", "0", "[", "0+rax*4", "]"],
            ["call", "h0@PLT"],
            ["jmp", ".L11"],
            [".L11", ":"],
            ["ret"],
        ],
        "f1": [["nop"]],
    }


def test_a_line_as_in_the_paper() -> None:
    assert lex_line("\tcmp\tQWORD PTR -8[rbp], 87") == [
        "cmp",
        "QWORD",
        "PTR",
        "-8",
        "[",
        "rbp",
        "]",
        "87",
    ]
    assert lex_line("\t.cfi_startproc") == []


@given(assembly_tokens, st.text())
def test_renaming_keeps_which_labels_are_equal(tokens: list[str], seed: str) -> None:
    renamed = shuffled(tokens, Draw(seed))
    assert renamed == shuffled(tokens, Draw(seed))
    assert [t for t in renamed if not is_label(t)] == [t for t in tokens if not is_label(t)]
    pairs = {(a, b) for a, b in zip(tokens, renamed, strict=True) if is_label(a)}
    assert len(pairs) == len(labels(tokens)) == len(labels(renamed))
    assert {int(label[2:]) for label in labels(renamed)} <= set(range(1, LABEL_NAMES + 1))
    assert renumbered(renamed) == renumbered(tokens)
    assert labels(renumbered(tokens)) == [f".L{i + 1}" for i in range(len(labels(tokens)))]


def test_shuffling_uses_all_names_and_refuses_too_many() -> None:
    tokens = [f".L{i}" for i in range(LABEL_NAMES)]
    first, second = shuffled(tokens, Draw("a")), shuffled(tokens, Draw("b"))
    assert sorted(first) == sorted(second) == sorted(f".L{i + 1}" for i in range(LABEL_NAMES))
    assert first != second
    with pytest.raises(PermnetError, match=f"at most {LABEL_NAMES} labels, not {LABEL_NAMES + 1}"):
        shuffled([*tokens, ".L100"], Draw("a"))


def test_labels_as_if_alone() -> None:
    assert alone(["je", ".L19", ".L23", ":"], bare_return=False) == ["je", ".L2", ".L6", ":"]
    assert alone([".L19"], bare_return=True) == [".L1"]
    assert alone(["ret"], bare_return=False) == ["ret"]


def test_draws_are_frozen() -> None:
    draw = Draw("switch")
    assert [draw.between(1, 100) for _ in range(8)] == [51, 99, 5, 78, 71, 63, 47, 78]
    assert draw.distinct(range(10), 4) == [7, 0, 2, 5]
    assert draw.weighted({"a": 1, "b": 0}) == "a"


@pytest.mark.parametrize("module", [assembly, ctokens, dataset])
def test_the_examples_in_docstrings(module: object) -> None:
    result = doctest.testmod(module)  # type: ignore[arg-type]
    assert result.attempted
    assert not result.failed
