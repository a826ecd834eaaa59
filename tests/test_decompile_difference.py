"""Where what an answer compiles to differs from the assembly."""

from itertools import islice

import pytest

from permnet.decompiling.difference import difference
from permnet.decompiling.pipeline import Decompiled
from permnet.decompiling.source import disassembled
from permnet.decompiling.text import Function, functions
from permnet.decompiling.toolchain import Compiler
from permnet.tasks.switch.compiler import Stage, compile_c
from permnet.tasks.switch.ctokens import PRELUDE, layout
from permnet.tasks.switch.dataset import shipped

COMPILER = Compiler()
C = (
    "int f(int p0) { int v0 = 1; switch (p0) { case 3: v0 = g0(p0); break; case 7: v0 = 4; break; "
    "case 20: h0(); break; } return v0; }"
)


def made(c: str, stage: Stage = "-S") -> Function:
    text = compile_c(f"{PRELUDE} {c}", stage=stage)
    (function,) = disassembled(text) if stage == "-c" else functions(text.decode())
    return function


def differing(function: Function, c: str) -> list[str]:
    return difference(function, Decompiled("f.s", "f", c), COMPILER)


@pytest.mark.parametrize("stage", ["-S", "-c"])
def test_the_right_answer_does_not_differ(stage: Stage) -> None:
    for _, c in islice(shipped("switch-20").pairs(), 20):
        lines = differing(made(layout(c), stage), layout(c))
        assert lines == ["it reads alike, but the machine code differs"]  # nothing to tell


def test_a_line_too_many_is_told_by_the_one_before() -> None:
    function = made(C.replace("h0(); break;", "h0();"))
    call = next(line.number for line in function.lines if line.tokens[-1] == "h0@PLT")
    assert differing(function, C) == [f"+ {call}: nop"]
    assert differing(made(C), C.replace("h0(); break;", "h0();")) == [f"- {call + 1}: nop"]


def test_jumps_elsewhere_are_shown_with_the_labels_of_the_file() -> None:
    text = compile_c(f"{PRELUDE} {C}").decode()
    jumps = [line.split()[1] for line in text.splitlines() if line.startswith("\tje\t")]
    first, second = jumps[:2]
    swapped = text.replace(f"je\t{first}", "je\tX").replace(f"je\t{second}", f"je\t{first}")
    (function,) = functions(swapped.replace("je\tX", f"je\t{second}"))
    told = [" ".join(line.split()) for line in differing(function, C)]
    at = [line.number for line in function.lines if line.tokens[0] == "je"]
    assert {*told} == {  # and no other line
        f"- {at[0]}: je {second}",
        f"+ {at[0]}: je {first}",
        f"- {at[1]}: je {first}",
        f"+ {at[1]}: je {second}",
    }


def test_a_label_that_the_file_has_not_has_a_stroke() -> None:
    told = differing(made(C), C.replace("case 20:", "case 20: case 30:"))
    assert any("cmp DWORD PTR -20[rbp], 30" in " ".join(line.split()) for line in told)
    told = differing(made("int f(int p0) { return p0; }"), C)
    assert any(line.endswith("':") for line in told)


@pytest.mark.parametrize("c", ["", "int", "int f(", "int f(int p0) { return @; }"])
def test_what_is_no_c_is_said_to_be_none(c: str) -> None:
    (line,) = differing(made(C), c)
    assert "no C" in line or "no part of the C" in line
