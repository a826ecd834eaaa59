"""Machine code read back: functions, names, bytes, and the text that gcc would have written."""

import subprocess
from itertools import chain
from pathlib import Path

import pytest

from permnet.binary import Binary, assembled, instructions, labelled_assembly, open_binary
from permnet.binary.operands import Memory, Number, Register, parse_operands
from permnet.errors import PermnetError
from permnet.tasks.switch.assembly import functions, renumbered
from permnet.tasks.switch.compiler import FLAGS
from permnet.tasks.switch.ctokens import PRELUDE, layout
from permnet.tasks.switch.dataset import SETS, WIDE, shipped
from tests.machine_code import function_of

SOURCE = """
extern int elsewhere(int); extern int other; int here = 3; static const int table[3] = {7, 8, 9};
static __attribute__((noinline)) int inner(int x) { return table[x] + here; }
int f(int x) { if (x > 5) return elsewhere(x) + other; return inner(x); }
__attribute__((section(".text.far"))) int far(int x) { return f(x) + 1; }
"""
PROGRAM = """
int puts(const char *);
__attribute__((noinline)) int f(int x) { return x * 3; }
int main(int count, char **words) { puts(words[0]); return f(count); }
"""


def compiled(folder: Path, source: str, *flags: str, name: str = "made.o") -> Path:
    given = folder / "source.c"
    given.write_text(source)
    subprocess.run(["gcc", "-w", *flags, "-o", folder / name, given], check=True)
    return folder / name


def one_label_a_place(tokens: list[str]) -> list[str]:
    """Of labels side by side only the first: in machine code they are one address."""
    same: dict[str, str] = {}
    kept: list[str] = []
    for token, following in zip(tokens, [*tokens[1:], ""], strict=True):
        if following == ":" and kept[-1:] == [":"]:
            same[token] = kept[-2]
        elif not (token == ":" and kept[-1:] == [":"]):
            kept.append(token)
    return [same.get(token, token) for token in kept]


def tokens(lines: list[list[str]]) -> list[str]:
    return renumbered(one_label_a_place(list(chain.from_iterable(lines))))


@pytest.mark.parametrize("name", SETS)
def test_an_object_gives_the_tokens_that_gcc_wrote(name: str, tmp_path: Path) -> None:
    texts = [layout(c) for _, c in shipped(name).pairs()][:300]
    named = [text.replace(" f(", f" f{i}(", 1) for i, text in enumerate(texts)]
    source = "\n".join([PRELUDE, *named])
    written = functions(compiled(tmp_path, source, *FLAGS, "-S", name="made.s").read_text())
    with open_binary(compiled(tmp_path, source, *FLAGS, "-c")) as binary:
        made = {f.name: functions(labelled_assembly(f))[f.name] for f in binary.functions()}
    assert len(made) == 300
    differing = sum(tokens(made[f]) != tokens(written[f]) for f in made)
    # Two spellings that no code tells apart: `sar eax` for `sar eax, 1`, and numbers above 2^31.
    assert differing <= (30 if name == WIDE else 0)


def test_what_the_listing_says_assembles_again(tmp_path: Path) -> None:
    with open_binary(compiled(tmp_path, SOURCE, "-O0", "-c")) as binary:
        inner = next(f for f in binary.functions() if f.name == "inner")
    (again,) = assembled(labelled_assembly(inner)).functions()
    assert [(i.address, i.mnemonic) for i in instructions(again)] == [
        (i.address - inner.address, i.mnemonic) for i in instructions(inner)
    ]


def test_names_of_what_is_called_and_read(tmp_path: Path) -> None:
    with open_binary(compiled(tmp_path, SOURCE, "-O0", "-c")) as binary:
        text = {f.name: labelled_assembly(f) for f in binary.functions()}
    assert text.keys() == {"inner", "f", "far"}
    assert "call\telsewhere@PLT" in text["f"]
    assert "call\tinner" in text["f"]
    assert "other[rip]" in text["f"]
    assert "here[rip]" in text["inner"]
    assert "call\tf\n" in text["far"]  # from one section of code into another


@pytest.mark.parametrize("flags", [(), ("-no-pie",), ("-static-pie", "-nostartfiles", "-nostdlib")])
def test_stripped_programs_keep_their_functions(flags: tuple[str, ...], tmp_path: Path) -> None:
    source = PROGRAM + ("int puts(const char *s) { return *s; }" if len(flags) > 1 else "")
    path = compiled(tmp_path, source, "-O2", "-s", *flags, name="program")
    with open_binary(path) as stripped:
        found = list(stripped.functions())
    path = compiled(tmp_path, source, "-O2", *flags, name="program")
    with open_binary(path) as whole:
        named = {f.name: f for f in whole.functions()}
    for name in ("f", "main"):
        (same,) = [f for f in found if f.address == named[name].address]
        assert same.name == f"sub_{same.address:x}"
        assert bytes(same.code) == bytes(named[name].code)
    if len(flags) < 2:
        (main,) = [f for f in found if f.address == named["main"].address]
        assert "call\tputs@PLT" in labelled_assembly(main)


@pytest.mark.parametrize(
    "code",
    [
        "mov QWORD PTR -8[rbp], OFFSET elsewhere",
        "add DWORD PTR -4[rbp], elsewhere-.",
        "movabs rax, OFFSET elsewhere",
        "add BYTE PTR [rbp], 0; .reloc .-1, R_X86_64_8, elsewhere",
        "mov eax, DWORD PTR table[rax*4]",
        "call elsewhere+0x7ffff000",
    ],
)
def test_a_number_that_only_a_linker_knows_is_not_made_up(code: str) -> None:
    (function,) = assembled(f"f:  nop\n    {code}\n    ret\n").functions()
    with pytest.raises(PermnetError, match="only a linker knows"):
        labelled_assembly(function)


HARMFUL = {
    "behind the end": "1: .byte 0xe8; .long 0x102000-(1b-f)\nret",
    "beside a name": "call f+0x102000\nret",
    "by way of a table's slot": ".byte 0xe8; .long 0\n.reloc .-4, R_X86_64_GOTPCREL, g-4\nret",
    "by way of a label": 'call ".L9"\nret',
    "over the next instruction": "call g\n.reloc .-1, R_X86_64_PC32, g\nmov eax, 5\nret",
    "in a short jump": ".byte 0xeb, 0\n.reloc .-1, R_X86_64_PC8, g\nret",
    "before it": ".byte 0x48, 0x66; ret",
}


@pytest.mark.parametrize("what", HARMFUL)
def test_code_that_is_another_when_it_is_linked_or_run(what: str) -> None:
    with pytest.raises(PermnetError):
        labelled_assembly(function_of(HARMFUL[what]))


def test_code_elsewhere_keeps_its_name_and_nop_its_prefix() -> None:
    function = function_of('.byte 0xf0, 0x0f, 0x1f, 0\ncall g\nret\n.section .other, "ax"\ng: ret')
    assert "\tlock nop" in labelled_assembly(function)
    assert "call\tg" in labelled_assembly(function)


def test_a_call_of_an_alias_keeps_its_name() -> None:
    code = "call hook\nret\n.weak hook\n.type hook, @function\nhook:\n.globl g\ng: ret"
    assert "call\thook" in labelled_assembly(function_of(code))


@pytest.mark.parametrize("code", ["ret", "leave", "call g", "je g", "jmp g"])
def test_an_operand_size_that_the_text_does_not_show_is_refused(code: str) -> None:
    assert labelled_assembly(function_of(f".byte 0x3e; {code}\nret\ng: nop"))
    with pytest.raises(PermnetError, match="has an operand-size prefix"):
        labelled_assembly(function_of(f".byte 0x66; {code}\nret\ng: nop"))


def test_bytes_that_are_no_instruction_are_not_left_out() -> None:
    with pytest.raises(PermnetError, match="the byte at 0x1 is no instruction"):
        labelled_assembly(function_of("ret; .byte 6"))


@pytest.mark.parametrize("name", ["g0; nop", "a b"])
def test_names_of_symbols_add_no_code(name: str) -> None:
    function = function_of(f'call "{name}"\nret')
    with pytest.raises(PermnetError, match="is none that assembly has"):
        labelled_assembly(function)


def test_a_place_behind_a_name_is_not_the_next_name() -> None:
    text = "f:  call one\n    call two\n    ret\n"
    (function,) = assembled(text).functions()
    lines = labelled_assembly(function).splitlines()
    assert [line.split()[1] for line in lines if "call" in line] == ["one@PLT", "two@PLT"]
    (function,) = assembled(text.replace("two", "one+16")).functions()
    with pytest.raises(PermnetError, match="only a linker knows"):
        labelled_assembly(function)


def test_read_only_bytes_are_those_that_no_program_can_change(tmp_path: Path) -> None:
    with open_binary(compiled(tmp_path, SOURCE, "-O0", "-c")) as binary:
        starts = {binary.name(a): a for r in binary.regions for a in range(r.address, r.end, 4)}
        assert binary.read_only(starts["table"], 4) == (7).to_bytes(4, "little")
        assert binary.read_only(starts["here"], 4) is None
        assert binary.read_only(1 << 40, 4) is None
        assert binary.nearest(starts["table"] + 5) == ("table", 5)


def test_functions_never_overlap(tmp_path: Path) -> None:
    text = """
    .type a, @function
a:  nop
    .type b, @function
b:  nop
    ret
    .size a, .-a
    .size b, 400
    """
    a, b = assembled(text).functions()
    assert (a.name, a.size, b.name, b.size) == ("a", 1, "b", 2)


def test_of_two_names_the_global_one_is_taken() -> None:
    text = """
    .type hidden, @function
    .type shown, @function
    .globl shown
hidden:
shown: ret
    .size hidden, 1
    .size shown, 1
    """
    (function,) = assembled(text).functions()
    assert function.name == "shown"


def test_what_chooses_an_indirect_function_is_not_that_function(tmp_path: Path) -> None:
    source = """
    static int one(int x) { return x; }
    static void *choose(void) { return one; }
    int f(int) __attribute__((ifunc("choose")));
    int main(void) { choose(); return f(3); }
    """
    program = compiled(tmp_path, source, "-O0", "-no-pie", name="made")
    for flags, name in (([], "choose"), (["-N", "choose"], "sub_")):
        subprocess.run(["objcopy", *flags, program, tmp_path / "other"], check=True)
        with open_binary(tmp_path / "other") as binary:
            found = {function.name: function for function in binary.functions()}
        lines = map(str.split, labelled_assembly(found["main"]).splitlines())
        chosen, other = (words[1] for words in lines if words[0] == "call")
        assert chosen.startswith(name)
        assert chosen in found
        assert not {"f", other} & {*found}


def test_assembly_without_directives_is_a_function() -> None:
    (bare,) = assembled("mov eax, DWORD PTR -4[rbp]\nje .L2\nret").functions()
    assert [i.mnemonic for i in instructions(bare)] == ["mov", "je", "ret"]
    (named,) = assembled("f:\n ret\n").functions()
    assert named.name == "f"
    (att,) = assembled(".att_syntax\nmovl $5, %eax\n").functions()
    assert next(instructions(att)).text == "eax, 5"


@pytest.mark.parametrize(
    "text",
    [
        '.incbin "/etc/passwd"',
        '.INCLUDE "x"',
        "nop; .macro a",
        '/*\n.string "*/ .incbin"',
        ".rept 9",
    ],
)
def test_assembly_reads_no_other_file(text: str) -> None:
    with pytest.raises(PermnetError, match="is not allowed here"):
        assembled(text)


def test_a_string_may_speak_of_directives() -> None:
    assert list(assembled('f: ret\n.section .rodata\n.string ".include \\"x\\""\n').functions())


def test_bad_assembly_is_an_error() -> None:
    with pytest.raises(PermnetError, match="does not accept"):
        assembled("mov eax, what is this")


def test_operands() -> None:
    assert parse_operands("eax, 0x10") == (Register("eax"), Number(16))
    assert parse_operands("dword ptr fs:[rbp + rax*4 - 0x14]") == (
        Memory(32, "fs", "rbp", "rax", 4, -20),
    )
    assert parse_operands("[rax*8 + 0x10]") == (Memory(0, "", "", "rax", 8, 16),)
    assert Register("ah").general == ("rax", 8, 8)
    assert Register("xmm0").general is None


def test_another_machine_is_named(tmp_path: Path) -> None:
    data = bytearray(compiled(tmp_path, SOURCE, "-c").read_bytes())
    data[18] = 183
    with pytest.raises(PermnetError, match="AArch64"):
        Binary(memoryview(data))
    data[4] = 1
    with pytest.raises(PermnetError, match="32-bit"):
        Binary(memoryview(data))
