"""Prototypes of functions that nobody declared, from their calls."""

import re
from itertools import islice

import pytest

from permnet.decompiling.callees import called, guessed
from permnet.decompiling.source import disassembled
from permnet.decompiling.text import Function, functions
from permnet.decompiling.toolchain import prototypes
from permnet.tasks.switch.compiler import Stage, compile_c
from permnet.tasks.switch.ctokens import PRELUDE, layout, named
from permnet.tasks.switch.dataset import SETS, WIDE, shipped


def made(c: str, stage: Stage = "-S") -> list[Function]:
    text = compile_c(c, stage=stage)
    return disassembled(text) if stage == "-c" else functions(text.decode())


def guess(c: str, *declared: str) -> list[str]:
    return [*guessed(made(c), declared).values()]


@pytest.mark.parametrize("stage", ["-S", "-c"])
@pytest.mark.parametrize("name", SETS)
def test_the_calls_of_many_functions_tell_all_of_the_prelude(name: str, stage: Stage) -> None:
    programs = [c for _, c in islice(shipped(name).pairs(), 300)]
    parts = [layout(named(c, f"part{i}")) for i, c in enumerate(programs)]
    found = made("\n".join([PRELUDE, *parts]), stage)
    told, known = prototypes(" ".join(guessed(found, ()).values())), prototypes(PRELUDE)
    if name == WIDE:
        # `g3(1, p0 % v0, v1)` sets a fourth register, and what `g7` returns is mostly shortened.
        assert {each for each in known if told[each] != known[each]} <= {"g3", "g5", "g6", "g7"}
    else:
        assert told == {each: known[each] for each in told}
        assert len(told) == 6
    counts = {name: count(text) for name, text in prototypes(PRELUDE).items()}
    for function in found:  # one alone need not tell of results, but of how many are given
        for callee, text in guessed([function], ()).items():
            assert count(text) == counts[callee] or (name, callee[1]) == (WIDE, "3")


def count(prototype: str) -> int:
    """Of its parameters."""
    return 0 if re.search(r"\( ?void", prototype) else prototype.count(",") + 1


@pytest.mark.parametrize(
    ("body", "prototype"),
    [
        ("void f(int p0) { it(p0); }", "void it(int);"),
        ("void f(int p0) { p0 = it(p0); }", "int it(int);"),
        ("int f(long p0) { return it(p0, 3); }", "int it(long, int);"),
        ("void f(long p0) { p0 += it(); }", "int it(void);"),
        ("int f(int p0) { if (it(p0)) { return 2; } return 3; }", "int it(int);"),
        ("int f(int p0, int p1) { int v0 = p0 * p1; it(p0 + p1); return v0; }", "void it(int);"),
        ("int f(int p0, int p1) { it(p0 << p1, p1 << p0); return 0; }", "void it(int, int);"),
        ("void f(int p0) { it(1, 2, 3, 4, 5, p0); }", "void it(int, int, int, int, int, int);"),
        ("void f(int p0) { it(p0); p0 = it(p0, 2L << 40); }", "int it(int, long);"),
    ],
)
def test_a_prototype_is_what_calls_have_in_common(body: str, prototype: str) -> None:
    assert guess(f"int it(); {body}") == [prototype]


def test_widths_are_those_of_the_registers() -> None:
    assert guess("long it(long); void f(long p0) { p0 = it(p0); }") == ["long it(long);"]
    assert guess("char it(int); void f(int p0) { p0 = it(p0); }") == ["char it(int);"]


def test_a_result_that_is_handed_on_is_one() -> None:
    blocks = "switch (p0) {{ case 1: {0}it(p0); {1} case 2: {0}3; {1} }} "
    assert guess(
        "int it(int); int f(int p0) { " + blocks.format("return ", "") + "return 0; }"
    ) == ["int it(int);"]
    assert guess(
        "long it(int); long f(int p0) { " + blocks.format("return ", "") + "return 1L << 40; }"
    ) == ["long it(int);"]
    assert guess(
        "void it(int); int f(int p0) { " + blocks.format("", "break;") + "return 0; }"
    ) == ["void it(int);"]
    assert guess("void it(int); void f(int p0) { " + blocks.format("", "break;") + "}") == [
        "void it(int);"
    ]
    assert guess("short it(short); void f(short p0) { p0 = it(p0); }") == ["short it(int);"]


@pytest.mark.parametrize("stage", ["-S", "-c"])
@pytest.mark.parametrize(
    "body",
    [
        "switch (p0) { case 1: return 3; case 2: return 4; } return it(p0, p1);",
        "switch (p0) { case 1: return it(p0, p1); } return g0(p0) * g0(p1);",
    ],
)
def test_a_result_at_the_end_is_handed_on(body: str, stage: Stage) -> None:
    """Behind it the end's label stands alone, or registers get back there what they held."""
    found = made(f"int g0(int); int it(int, int); int f(int p0, int p1) {{ {body} }}", stage)
    assert guessed(found, ["g0"]) == {"it": "int it(int, int);"}
    alone = "switch (p0) { case 1: it(1, 1); return; } it(p0, p1);"
    found = made(f"void it(int, int); void f(int p0, int p1) {{ {alone} }}", stage)
    assert guessed(found, ()) == {"it": "void it(int, int);"}


def test_a_register_may_be_read_in_part() -> None:
    assert guess("int it(int); void f(int p0, int p1) { p1 = it(p1) + p0 * 3 + 8; }") == [
        "int it(int);"
    ]
    assert guess("void it(int); int f(int p0) { it(p0); return p0 == 3; }") == ["void it(int);"]
    calls = "\tmov\tedi, 1\n\tcall\tit\n\tlea\tedx, 3[rax]\n\tmov\teax, edx\n\tret\n"
    (function,) = functions(f"f:\n{calls}")
    assert guessed([function], ()) == {"it": "int it(int);"}


def test_what_is_declared_or_has_no_name_of_c_is_left_out() -> None:
    assert guess("int it(int); void f(int p0) { p0 = it(p0); }", "it") == []
    calls = "\tmov\tedi, 1\n\tcall\t{}\n"
    names = ("a.b", "int", "__stack_chk_fail", "*rax", "[QWORD PTR 8[rax]]", "fine@PLT", "7x")
    (function,) = functions("f:\n" + "".join(map(calls.format, names)) + "\tret\n")
    assert guessed([function], ()) == {"fine": "void fine(int);"}


def test_a_function_that_cannot_be_read_says_nothing() -> None:
    (function,) = functions("f:\n\t,\n\tcall\tit\n\tret\n")
    assert guessed([function], ()) == {}


def test_who_is_called() -> None:
    assert [called(line) for line in (["call", "it@PLT"], ["call", "QWORD", "PTR"], ["ret"])] == [
        "it",
        None,
        None,
    ]


@pytest.mark.parametrize("end", ["", "\tjmp\t.L2\n.L2:\n\tret\n", "\tret\n", ".L2:\n"])
@pytest.mark.parametrize(
    "behind",
    ["jmp", "lea", "jmp\trax", "pop", "add\trsp", "sete", "mov", "lea\tedx", "call", "jmp\t.L2"],
)
def test_instructions_without_operands_do_no_harm(behind: str, end: str) -> None:
    (function,) = functions(f"f:\n\tcall\tit\n\t{behind}\n{end}")
    assert guessed([function], ()).keys() <= {"it"}
