"""Verification: right answers pass, wrong and hostile ones do not, and nothing is left behind."""

import os
import stat
import time
from itertools import islice
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.mutations import KINDS, alterations, compiled
from permnet import limits
from permnet.decompiling import verify as module
from permnet.decompiling.machine import verified
from permnet.decompiling.source import disassembled
from permnet.decompiling.text import functions
from permnet.decompiling.toolchain import Compiler
from permnet.decompiling.verify import acceptable, renumbered, same, verify
from permnet.errors import PermnetError
from permnet.tasks.switch import compiler as gcc
from permnet.tasks.switch.ctokens import layout, lex, named
from permnet.tasks.switch.dataset import SETS, shipped
from tests.test_decompile_machine import confirmed

NAMES = ("g0", "g1", "g2", "h0", "h1", "h2")
ASSEMBLY, GOOD = next(shipped("switch-6").pairs())


@pytest.mark.parametrize("name", SETS)
def test_the_true_c_is_verified(name: str) -> None:
    pairs = list(shipped(name).pairs())[::25]
    assert all(verify([(c, assembly) for assembly, c in pairs]))


def test_the_wide_language_is_acceptable() -> None:
    c = lex(
        "unsigned char f(short p0, int *a0, unsigned short *a1) { unsigned long v0;"
        " switch (a1[p0 - 1]) { case 1: a0[0] += 3; break; default: v0 = p0 ? 4 : a0[1]; }"
        " return v0 == 3; }"
    )
    (read,) = compiled([c], "-S")
    assert acceptable(c, NAMES)
    assert verify([(c, read.assembly), (["unsigned", *c[2:]], read.assembly)]) == [True, False]


@pytest.mark.parametrize(("stage", "count"), [("-S", 150), ("-c", 60)])
def test_altered_answers_are_not(stage: gcc.Stage, count: int) -> None:
    kinds, changed, true = zip(*islice(alterations(f"test {stage}"), count), strict=True)
    assert {*kinds} == {*KINDS}
    read = compiled(list(true), stage)
    assert all(verified(list(zip(true, read, strict=True)), Compiler()))
    assert not any(verified(list(zip(changed, read, strict=True)), Compiler()))
    # Nor does either of the two ways to look at it let them pass by itself.
    answers = list(zip(changed, (function.assembly for function in read), strict=True))
    assert not any(verify(answers, stage=stage))
    assert not any(confirmed(list(zip(changed, read, strict=True)), Compiler()))


def test_assembly_and_machine_code_are_judged_together() -> None:
    true = [c for _, c in islice(shipped("switch-6").pairs(), 4)]
    read = [*compiled(true[:2], "-S"), *compiled(true[2:], "-c")]
    answers = list(zip([*true[:3], true[0]], [read[0], read[2], read[2], read[3]], strict=True))
    assert verified(answers, Compiler()) == [True, False, True, False]


def test_names_of_labels_do_not_matter_and_where_they_lead_does() -> None:
    one, other, crossed = map(
        str.split,
        (
            "cmp eax 1 je .L1 jmp .L2 .L1 : nop .L2 : ret",
            "cmp eax 1 je .x jmp .L1 .x : nop .L1 : ret",
            "cmp eax 1 je .L2 jmp .L1 .L1 : nop .L2 : ret",
        ),
    )
    assert same(one, other)
    assert not same(one, crossed)
    assert not same(["lea", "rdi", ".LC0"], ["lea", "rdi", ".LC1"])  # not the function's own
    assert renumbered(one, ".L") == one


def test_one_that_does_not_compile_leaves_the_others() -> None:
    bad = [*GOOD[:-1], "v0", "}"]
    assert acceptable(bad, NAMES)
    answers = [(GOOD, ASSEMBLY), (bad, ASSEMBLY), (GOOD, ASSEMBLY), (GOOD[:-2], ASSEMBLY)]
    assert verify(answers) == [True, False, True, False]
    assert verify([]) == []


@pytest.mark.parametrize(
    "c",
    [
        "",
        "f",
        "int f",
        "int f()",
        "int g(int p0) { return p0; }",
        "int f(int p0) { return p0; } int p1;",
        "int f(int p0) { return p0; } int g0(int p0) { return p0; }",
        "int f(int p0) { return f(p0); }",
        "int f(int p0) { return system(p0); }",
        "int f(p0) int p0; { return p0; }",
        "int f(int p0) { return p0; }}",
        "int f(int p0) { goto p0; }",
        "unsigned f f(int p0) { return p0; }",
        "int f(int p0) { case 3: %: }",
        "int f(int *a0) { return a0 <: 3 ]; }",
        "int f(int p0) { return 99999999999; }",
        "int f(int p0) { while (1) { } }",
        "int f(int p0) { } { return p0; }",
    ],
)
def test_what_is_not_one_function_of_the_language_is_refused(c: str) -> None:
    assert not acceptable(lex(c), NAMES)


@pytest.mark.parametrize(
    "token", ["#", "#include", "asm", "__asm__", '"', "\n", ";int", "<unk0>", ".L3", "0x10", "1e9"]
)
def test_no_foreign_token_gets_to_the_compiler(token: str, monkeypatch) -> None:
    monkeypatch.setattr(
        module, "compile_each", lambda sources, *_: [None for _ in sources if 1 / 0]
    )
    for at in range(len(GOOD)):
        assert verify([([*GOOD[:at], token, *GOOD[at:]], ASSEMBLY)]) == [False]


@given(st.lists(st.sampled_from([*GOOD, "f", "{", "}", ";", "\\", "#"]), max_size=30))
def test_what_is_accepted_is_one_function(inner: list[str]) -> None:
    c = ["int", "f", "(", "int", "p0", ")", "{", *inner, "}"]
    if acceptable(c, NAMES):
        assert not {"#", "\\"} & {*c}
        assert c.count("f") == 1
        depth = 0
        for token in inner:
            depth += (token == "{") - (token == "}")
            assert depth >= 0
        assert depth == 0


@pytest.mark.parametrize("stage", ["-S", "-c"])
@pytest.mark.parametrize("name", ["it", "permnet_0", "permnet_1"])
def test_what_is_read_may_have_the_names_that_are_compiled(stage: gcc.Stage, name: str) -> None:
    declared = "int permnet_0(int); int permnet_1(int); long permnet_(char);"
    answers, compiler = [], Compiler(prelude=declared)
    for i in range(2):
        c = lex(f"int f(int p0) {{ permnet_0({i}); permnet_(p0); return permnet_1(p0); }}")
        made = gcc.compile_c(f"{declared}\n{layout(named(c, name))}", stage=stage)
        (read,) = functions(made.decode()) if stage == "-S" else disassembled(made)
        answers.append((c, read))
    compiler.check()
    assert verified(answers, compiler) == [True, True]


def test_without_a_compiler_it_is_said() -> None:
    with pytest.raises(PermnetError, match="no-such-cc is not installed"):
        verify([(GOOD, ASSEMBLY)], Compiler(cc="no-such-cc"))


def test_under_optimisation_functions_are_compiled_one_by_one(monkeypatch) -> None:
    sizes = []

    def compile_each(sources, *_):
        sizes.append(len(sources))
        return [None] * len(sources)

    monkeypatch.setattr(module, "compile_each", compile_each)
    other = [*GOOD]
    other[other.index("case") + 1] = "3"
    answers = [(GOOD, ASSEMBLY), (other, ASSEMBLY), (GOOD, ASSEMBLY)]
    verify(answers)
    verify(answers, Compiler(flags=("-O2",)))
    assert sizes == [2, 1, 1]  # equal texts are compiled once


# ---- the compiler's cage ------------------------------------------------------------------------


def script(folder: Path, body: str) -> str:
    path = folder / "cc"
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return str(path)


@pytest.mark.usefixtures("system")
def test_nothing_that_a_compiler_started_outlives_its_time(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(limits, "SECONDS", 1)
    cc = script(tmp_path, f"sleep 600 & echo $! > {tmp_path}/pid; wait")
    monkeypatch.setattr(gcc, "find_compiler", lambda cc: (cc, ""))
    with pytest.raises(gcc.CompileError, match="longer than 2 seconds"):
        gcc.compile_c("int x;", cc)
    child = int((tmp_path / "pid").read_text())
    for _ in range(1000):  # its entry stays until someone has waited for it
        if not _runs(child):
            break
        time.sleep(0.01)
    assert not _runs(child)


def _runs(process: int) -> bool:
    try:
        return "Z" not in Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False


def test_a_compiler_works_in_a_folder_of_its_own_that_goes(tmp_path, monkeypatch) -> None:
    cc = script(tmp_path, f'pwd > {tmp_path}/where; echo "$TMPDIR" >> {tmp_path}/where; exit 1')
    monkeypatch.setattr(gcc, "find_compiler", lambda cc: (cc, ""))
    with pytest.raises(gcc.CompileError, match="it does not compile"):
        gcc.compile_c("int x;", cc)
    where = (tmp_path / "where").read_text().splitlines()
    assert where[0] == where[1] != os.getcwd()
    assert not Path(where[0]).exists()
