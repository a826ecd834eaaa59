"""The canonical form: what is brought to it, what it refuses, and that samples have it."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from permnet.errors import PermnetError
from permnet.tasks.switch.canonical import canonical, parse
from permnet.tasks.switch.ctokens import layout, lex
from permnet.tasks.switch.draw import Draw
from permnet.tasks.switch.expressions import OutsideDomainError
from permnet.tasks.switch.program import sample
from permnet.tasks.switch.tree import tokens
from tests.neighbours import edited


def program(
    block: str = "v0 = 1;",
    after: str = "",
    scrutinee: str = "p0",
    cases: str = "case 1: {} break; case 2: v0 = 2; break;",
    head: str = "int f(int p0, long p1, char p2)",
    locals: str = "int v0 = 5; long v1 = 6;",
    end: str = "return v0;",
) -> str:
    filled = cases.format(block)
    return f"{head} {{ {locals} switch ({scrutinee}) {{ {filled} }} {after} {end} }}"


def brought(source: str) -> str:
    return " ".join(tokens(canonical(parse(source))))


STATEMENTS = {
    "v0 = v0 + 3;": "v0 += 3;",
    "v0 = 3 + v0;": "v0 += 3;",
    "v0 = p0 * v0;": "v0 *= p0;",
    "v0 = p1 + v0;": "v0 += p1;",
    "v0 = p0 - v0;": "v0 = p0 - v0;",
    "v0 += -3;": "v0 -= 3;",
    "v0 = p0 - -3;": "v0 = p0 + 3;",
    "v0 = p0 * 8;": "v0 = p0 << 3;",
    "v0 *= 4;": "v0 <<= 2;",
    "v0 = 0x1F;": "v0 = 31;",
    "v0 = 'a';": "v0 = 97;",
    "v0 = 017;": "v0 = 15;",
    "v1 = p0 + p1;": "v1 = p1 + p0;",
    "v1 = p0 - p1;": "v1 = p0 - p1;",
    "v1 = p2 & v0;": "v1 = v0 & p2;",
    "if (3 < v0) h0();": "if (v0 > 3) { h0(); }",
    "if (v0 >= 3) h0();": "if (v0 > 2) { h0(); }",
    "if (v0 < 3) { h0(); } else { }": "if (v0 <= 2) { h0(); }",
    "if (p0 == p1) h0();": "if (p1 == p0) { h0(); }",
    "if (p1 > p0) h0();": "if (p1 > p0) { h0(); }",
    "{ v0 = 1; { h0(); } ; }": "v0 = 1; h0();",
}


@pytest.mark.parametrize(("given", "wanted"), STATEMENTS.items())
def test_statements(given: str, wanted: str) -> None:
    assert brought(program(given)) == " ".join(lex(program(wanted)))


def test_names_labels_and_the_last_break() -> None:
    source = """
    signed long int decide(int *table, char c, int key) {
        long int best = -1; int x = 'z';
        switch (key & 0xf) {
            case 9: case 3: x = table[1]; break;
            case 7: default: case 5: x = key * 3; return c;
            case -4: best = x;
        }
        return best;
    }"""
    with pytest.raises(OutsideDomainError, match="return of another type"):
        canonical(parse(source))
    assert layout(tokens(canonical(parse(source.replace("return c", "return 5"))))) == (
        """\
long f(int *a0, char p0, int p1)
{
    long v0 = -1;
    int v1 = 122;
    switch (p1 & 15) {
    case 3:
    case 9:
        v1 = a0[1];
        break;
    default:
        v1 = p1 * 3;
        return 5;
    case -4:
        v0 = v1;
        break;
    }
    return v0;
}
"""
    )


def test_a_return_that_leaves_the_switch_only_is_a_break() -> None:
    void = {"head": "void f(int p0)", "end": "", "locals": "int v0 = 5;"}
    cases = "case 1: {} return; case 2: v0 = 2; break;"
    assert brought(program(cases=cases, **void)) == brought(program(**void))
    assert "return ;" in brought(program(cases=cases, after="h0();", **void))
    assert brought(program(**{**void, "end": "return;"})) == brought(program(**void))


OUTSIDE = {
    "expression too deep": program("v0 = p0 + p1 * 2;"),
    "that folds": program("v0 = p0 + p0;"),
    "number as left operand": program("v0 = 5 - p0;"),
    "not positive": program("v0 = p0 + 0;"),
    "shift by other than 2 to 30": program("v0 = p0 * 2;"),
    "a product shortened to an int": program("v0 = p1 * 4;"),
    "shift by a variable": program("v0 = p0 << p1;"),
    "the operator /": program("v0 = p0 / 3;"),
    "assigned to itself": program("v0 = v0;"),
    "anything but a local": program("p0 = 3;"),
    "no scalar": program("v0 = q;"),
    "the prelude does not declare": program("system(3);"),
    "against its prototype": program("v0 = h1(3);"),
    "none of == != > <=": program("if (v0 < p0) h0();"),
    "no comparison": program("if (v0) h0();"),
    "no char exceeds": program("if (p2 > 200) h0();"),
    "an empty if": program("if (v0 > 3) {}"),
    "other than assignment and call": program("while (1) h0();"),
    "without statements": program(cases="case 1: break; case 2: v0 = 3; break;"),
    "second default": program(cases="default: v0 = 1; break; default: v0 = 2; break;"),
    "before the first label": program(cases="h0(); case 1: v0 = 1;"),
    "never reached": program(cases="case 1: h0(); return 1; default: h0(); return 2;"),
    "every path falls into": program(cases="case 1: h0(); default: v0 = 1; break;"),
    "labels that repeat": program(cases="case 1: h0(); break; case 1: v0 = 1; break;"),
    "label that is no number": program(cases="case p0: h0(); break;"),
    "beyond the scrutinee's type": program(scrutinee="p2", cases="case 200: h0(); break;"),
    "scrutinee other than": program(scrutinee="v0"),
    "a scrutinee too deep": program(scrutinee="g0(3)"),
    "array that is never used": program(head="int f(int p0, int *t)"),
    "two arrays": program(head="int f(int p0, int *t, int *u)"),
    "without a local": program(locals="", end="return 3;"),
    "not a plain int or long": program(locals="unsigned v0 = 3;"),
    "start with a number": program(locals="int v0;"),
    "return a local at its end": program(end="return 3;"),
    "behind the switch": program(after="h0(); h0();"),
    "a result of type char": program(head="char f(int p0)"),
    "declared twice": program(locals="int v0 = 3; int v0 = 4;"),
    "this is not C": "int f( {",
    "one function": "int x;",
    "number above": program("v0 = 3000000000;"),
}


@pytest.mark.parametrize(("reason", "source"), OUTSIDE.items())
def test_what_is_outside_is_named(reason: str, source: str) -> None:
    with pytest.raises(OutsideDomainError, match=re.escape(reason)):
        canonical(parse(source))


def test_other_prototypes() -> None:
    source = program("v0 = mine(p0, 3);")
    assert "mine ( p0 , 3 )" in " ".join(tokens(canonical(parse(source), "int mine(int, int);")))
    with pytest.raises(PermnetError, match="prototypes"):
        canonical(parse(source), "int mine(int, ...);")


@settings(max_examples=60)
@given(st.sampled_from([6, 10, 20]), st.integers(0, 10**9))
def test_samples_are_canonical(longest: int, seed: int) -> None:
    function = sample(longest, Draw(str(seed)))
    written = tokens(function)
    assert tokens(canonical(function)) == written
    assert tokens(canonical(parse(layout(written)))) == written
    assert 2 <= written.count("case") <= longest


@settings(max_examples=60)
@given(st.integers(0, 10**9))
def test_canonical_is_idempotent_and_refuses_politely(seed: int) -> None:
    draw = Draw(str(seed))
    changed = edited(edited(tokens(sample(4, draw)), draw), draw)
    try:
        once = tokens(canonical(parse(layout(changed))))
    except OutsideDomainError:
        return
    assert tokens(canonical(parse(layout(once)))) == once


def test_samples_show_everything_the_task_speaks_of() -> None:
    written = [" ".join(tokens(sample(10, Draw(f"all/{i}")))) for i in range(300)]
    everything = "\n".join(written)
    for part in (
        *[
            "char",
            "int",
            "long",
            "int *",
            "long *",
            "void f",
            "default",
            "else",
            "break",
            "+",
            "-",
            "*",
            "&",
            "<<",
            ">>=",
            "^=",
        ],
        *("g0 (", "g1 (", "g2 (", "h0 ( )", "h1 (", "h2 (", "a0 [ 12 ] =", "= a0 [", "if (", "| "),
        *("==", "!=", ">", "<=", "return ;", "return -", "return p", "switch ( p1 &"),
    ):
        assert part in everything, part
    assert len(set(written)) == 300
    labels = {int(label) for label in re.findall(r"case (-?\d+)", everything)}
    assert min(labels) < -1500
    assert max(labels) > 1500
    assert {text.count("case") for text in written} == set(range(2, 11))
