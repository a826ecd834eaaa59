"""Machine code: text that an assembler reads otherwise than it was read is not verified."""

import re
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import replace
from itertools import chain, islice

import pytest

from permnet.binary import Binary
from permnet.binary import Function as MachineCode
from permnet.decompiling import machine
from permnet.decompiling import text as reader
from permnet.decompiling.machine import same_code
from permnet.decompiling.source import disassembled
from permnet.decompiling.text import Function, Source, functions
from permnet.decompiling.toolchain import Compiler, definitions
from permnet.decompiling.verify import same
from permnet.tasks.switch.compiler import FLAGS, Stage, compile_c, object_of
from permnet.tasks.switch.ctokens import PRELUDE, layout, lex, named
from permnet.tasks.switch.dataset import SETS, shipped
from tests.table_model import knowing, wrong

ATT = ("-O0", "-fno-jump-tables")
COMPILER = Compiler()
C = lex(
    "int f(int p0) { switch (p0) { case 3: p0 = g0(p0); break; case 7: h1(4); break; } "
    "return p0 - 300; }"
)


def confirmed(answers: Sequence[tuple[list[str], Function]], compiler: Compiler) -> list[bool]:
    """The verdicts on machine code alone, whatever was read."""
    return [
        ours is not None and machine.confirmed(ours, theirs, compiler)
        for ours, (_, theirs) in zip(machine.remade(answers, compiler), answers, strict=True)
    ]


def source(c: list[str], name: str) -> str:
    return layout(named(c, name))


def assembly(flags: tuple[str, ...] = FLAGS, cc: str = "gcc", before: str = PRELUDE) -> str:
    return compile_c(f"{before}\n{source(C, 'it')}", cc, flags).decode()


def only(text: str) -> Function:
    (function,) = (f for f in functions(text) if f.name == "it")
    return function


def verdict(text: str, compiler: Compiler = COMPILER) -> bool:
    return confirmed([(C, only(text))], compiler) == [True]


def machine_code(c: str) -> dict[str, MachineCode]:
    return {f.name: f for f in Binary(memoryview(compile_c(c, stage="-c"))).functions()}


def hidden(function: Function, text: str) -> bool:
    """The verdict where a function's text is not what was read of it."""
    return confirmed([(C, replace(function, source=Source(text)))], COMPILER) == [True]


@pytest.fixture
def gullible(monkeypatch) -> None:
    """A reader that takes all directives for harmless."""
    monkeypatch.setattr(reader, "_given_away", lambda *_: None)


@pytest.mark.parametrize(
    "flags", [FLAGS, ATT, (*FLAGS, "-fPIC", "-g"), (*FLAGS, "-fcf-protection")]
)
def test_what_the_compiler_makes_is_confirmed(flags: tuple[str, ...]) -> None:
    programs = [c for name in SETS for _, c in list(shipped(name).pairs())[::100]]
    text = [source(c, f"part{i}") for i, c in enumerate(programs)]
    found = functions(compile_c("\n".join([PRELUDE, *text]), "gcc", flags).decode())
    compiler = Compiler("gcc", flags)
    assert all(confirmed(list(zip(programs, found, strict=True)), compiler))
    shifted = [*found[1:], found[0]]
    assert not any(confirmed(list(zip(programs, shifted, strict=True)), compiler))


@pytest.mark.parametrize("stage", ["-S", "-c"])
def test_functions_below_what_they_call(stage: Stage) -> None:
    """gcc then keeps the stack on multiples of 8 only."""
    programs = {f"part{i}": c for i, (_, c) in enumerate(islice(shipped("switch-10").pairs(), 60))}
    text = "\n".join([definitions(PRELUDE), *(source(c, name) for name, c in programs.items())])
    made = compile_c(text, stage=stage)
    found = disassembled(made) if stage == "-c" else functions(made.decode())
    below = [(programs[f.name], f) for f in found if f.name in programs]
    moved = [machine.knows_callees(function) for _, function in below]
    assert 20 < sum(moved) < 60
    assert all(machine.verified(below, COMPILER))
    assert not any(machine.verified([(wrong(c), f) for c, f in below], COMPILER))
    optimizing = replace(COMPILER, flags=("-O1", *FLAGS[1:]))  # might look into what they call
    assert not any(machine.verified(below, optimizing))


@pytest.mark.parametrize("number", ["rax", "-8", "", "QWORD PTR -8[rbp]", "9" * 5_000, "8"])
def test_a_stack_is_never_too_odd_to_be_told(number: str) -> None:
    (function,) = functions(f"f:\n\tpush\trbp\n\tsub\trsp, {number}\n\tcall\tg0\n\tret\n")
    assert machine.knows_callees(function) == (number == "8")


HIDING = [
    ".set g0, h1",
    "g0 = g1",
    ".weakref g0, g1",
    ".macro leave\nnop\n.endm",
    ".macro cmp all:vararg\nnop\n.endm",
    ".irp x, leave\n.macro \\x\nnop\n.endm\n.endr",
    ".type it, @gnu_indirect_function",
]


@pytest.mark.usefixtures("gullible")
@pytest.mark.parametrize("directive", HIDING)
def test_code_that_directives_make_otherwise_than_it_looks(directive: str) -> None:
    plain = assembly()
    hiding = plain.replace("\t.text\n", f"\t.text\n{directive}\n", 1)
    shown, hidden = (list(chain.from_iterable(only(text).tokens)) for text in (plain, hiding))
    assert same(shown, hidden)
    assert verdict(plain)
    assert not verdict(hiding)


def test_any_byte_that_differs_is_seen() -> None:
    """In all ways to change one instruction, though the reader were to see none of it."""
    text = assembly()
    function = only(text)
    lines = text.split("\n")
    first, last = function.span
    for number in range(first, last):
        line = lines[number]
        if not line.startswith("\t") or line.lstrip().startswith("."):
            continue
        for other in ("\tnop", f"{line}\n\tnop", ""):
            changed = "\n".join([*lines[:number], other, *lines[number + 1 :]])
            # Behind the function's end nops are padding.
            same = other == line or (line, other) == ("\tret", "\tret\n\tnop")
            assert hidden(function, changed) == same


def test_a_pipeline_believes_the_assembler(gullible) -> None:
    text = assembly()
    for change, right in (("", True), (".set g0, g1\n", False)):
        (found,) = knowing(change + text, {"it": [C]}).each([only(change + text)])
        assert (found.c is not None, found.verified) == (True, right)


def test_bytes_that_a_disassembler_does_not_show() -> None:
    """Before a `mov` to memory, LOCK is no instruction; capstone drops it before REP."""
    text = assembly()
    hiding = text.replace("\tmov\tDWORD", "\t.byte 0xf0, 0xf3\n\tmov\tDWORD", 1)
    shown, hidden = (disassembled(object_of(t))[0] for t in (text, hiding))
    assert shown.tokens == hidden.tokens
    pipeline = knowing(text, {"it": [C]})
    assert [found.verified for found in pipeline.each([shown, hidden])] == [True, False]


def test_programs_are_compared_byte_by_byte_too(tmp_path) -> None:
    others = "int g0(int a) { return a; } void h1(int a) {} int main(void) { return 0; }"
    for name, text in (("it.s", assembly()), ("others.c", others)):
        (tmp_path / name).write_text(text)
    subprocess.run(["gcc", "-o", "it", "it.s", "others.c"], cwd=tmp_path, check=True)
    (function,) = (f for f in disassembled((tmp_path / "it").read_bytes()) if f.name == "it")
    assert confirmed([(C, function)], COMPILER) == [True]
    elsewhere = [token if token != "g0" else "g2" for token in C]
    assert confirmed([(elsewhere, function)], COMPILER) == [False]


def test_functions_of_a_shared_library_with_versions(tmp_path) -> None:
    """A linker writes `f@V1` and, where that is what the name means, `f@@V2`."""
    names = 'asm(".symver old,f@V1"); asm(".symver new,f@@V2");'
    bodies = (source(C, name) for name in ("old", "new"))
    (tmp_path / "made.i").write_text("\n".join([PRELUDE, names, *bodies]))
    (tmp_path / "versions").write_text("V1 {}; V2 {} V1;")
    command = ["gcc", *FLAGS, "-fPIC", "-shared", "-Wl,--version-script=versions", "made.i"]
    subprocess.run([*command, "-o", "made.so"], cwd=tmp_path, check=True)
    subprocess.run(["strip", "-N", "old", "-N", "new", "made.so"], cwd=tmp_path, check=True)
    found = disassembled((tmp_path / "made.so").read_bytes())
    assert [function.name for function in found] == ["f@V1", "f"]
    assert confirmed([(C, function) for function in found], COMPILER) == [True, True]
    assert found[0].tokens == found[1].tokens


@pytest.mark.parametrize("static", ["", "static "])
@pytest.mark.parametrize("section", [(), ("-ffunction-sections",)])
def test_calls_of_functions_of_the_same_file(static: str, section: tuple[str, ...]) -> None:
    before = f"{PRELUDE} int g0(int p0) {{ return p0; }}\n".replace("int g0", f"{static}int g0")
    text = assembly((*FLAGS, *section), before=before)
    assert verdict(text)
    assert not verdict(text.replace("call\tg0", "call\tg0+1"))


@pytest.mark.parametrize("static", ["", "static "])
def test_a_function_that_calls_itself_under_another_name(static: str) -> None:
    c = "int f(int p0) { if (p0 > 3) { p0 = f(p0); } return p0; }"
    others = "int g1(int p0) { return it(p0); } int g0(int);"
    theirs = machine_code(f"{static}{c.replace('f(', 'it(')} {others}")
    ours = machine_code(c)["f"]
    assert same_code(ours, theirs["it"])
    assert not same_code(ours, theirs["g1"])
    (elsewhere,) = machine_code(f"int g0(int); {c.replace('= f(', '= g0(')}").values()
    assert not same_code(elsewhere, theirs["it"])


def bare(text: str) -> str:
    """As pages show it: instructions and labels alone."""
    return "".join(line + "\n" for line in text.split("\n") if re.match(r"\.?\w+:|\t[a-z]", line))


@pytest.mark.parametrize("flags", [FLAGS, ATT])
def test_listings_without_directives(flags: tuple[str, ...]) -> None:
    compiler = Compiler("gcc", flags)
    text = bare(assembly(flags))
    assert "." not in text.replace(".L", "")
    assert verdict(text, compiler)
    assert verdict(text.replace("\n", "\r\n"), compiler)
    assert verdict(f"{text}other:\n\tpush rbp\n" if flags is FLAGS else text, compiler)
    assert not verdict(text.replace("leave", "nop\n\tleave"), compiler)


def test_what_stands_behind_a_function_has_to_be_padding() -> None:
    text = bare(assembly())
    assert verdict(f"{text}\t.p2align 4\nother:\n\tret\n")
    assert not verdict(f"{text}\tret\nother:\n\tret\n")
    for byte, right in (("0x90", True), ("0xcc", True), ("0xc3", False), ("0", False)):
        assert hidden(only(text), f"{text}\t.byte {byte}\nother:\n\tret\n") == right


@pytest.mark.parametrize("other", ["\tfrobnicate eax\n\tret\n", "\t.addrsig\n", "it:\n\tret\n"])
def test_a_file_that_is_none_to_the_assembler(other: str) -> None:
    """The function's own lines are asked then, and still have to be what was read."""
    text = assembly()
    broken = f"{text}\nother:\n{other}"
    function = next(f for f in functions(broken) if f.name == "it")
    assert confirmed([(C, function)], COMPILER) == [True]
    changed = broken.replace("cmp\t", "cmp\t1+", 1)
    function = next(f for f in functions(changed) if f.name == "it")
    assert confirmed([(C, function)], COMPILER) == [False]


def test_an_assembler_is_asked_once_about_a_file(monkeypatch) -> None:
    """In whatever order the functions of many files come."""
    asked = []
    monkeypatch.setattr(machine, "object_of", lambda text, cc: asked.append(cc) or object_of(text))
    files = [functions(assembly().replace("it", f"it{i}")) for i in range(4)]
    answers = [(C, function) for (function,) in files] * 2
    assert all(confirmed(answers, COMPILER))
    assert len(asked) == len(files) + 1  # and once about all answers


def test_lines_that_are_none_to_the_assembler_are_not_confirmed() -> None:
    text = assembly().replace("\tleave\n", "\tfrobnicate eax\n")
    assert not verdict(text)


@pytest.mark.skipif(not shutil.which("clang-14"), reason="clang-14 is not installed")
def test_another_compiler_and_its_assembler() -> None:
    compiler = Compiler("clang-14", ("-O0", "-masm=intel", "-fno-jump-tables"))
    text = assembly(compiler.flags, compiler.cc)
    assert ".addrsig" in text
    assert verdict(text, compiler)
    assert not verdict(text.replace("-300", "-301").replace(" 300", " 301"), compiler)
