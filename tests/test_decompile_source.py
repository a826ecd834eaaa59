"""Reading assembly: every spelling becomes gcc's, and nothing that a file holds can do harm."""

from contextlib import suppress
from itertools import chain

import pytest
from hypothesis import given
from hypothesis import strategies as st

from permnet.decompiling.source import decoded, read
from permnet.decompiling.syntax import from_att, tokens
from permnet.decompiling.text import LONGEST, Line, functions
from permnet.decompiling.toolchain import Compiler, prelude_with, prototypes
from permnet.errors import PermnetError
from permnet.tasks.switch.assembly import lex_line
from permnet.tasks.switch.compiler import FLAGS, compile_c, find_compiler
from permnet.tasks.switch.ctokens import PRELUDE, layout, named
from permnet.tasks.switch.dataset import SETS, shipped

ATT = [flag for flag in FLAGS if flag != "-masm=intel"]


def made(flags: list[str]) -> str:
    """The assembly of some programs of each set."""
    programs = chain.from_iterable(list(shipped(name).pairs())[::50] for name in SETS)
    parts = (layout(named(c, f"part{i}")) for i, (_, c) in enumerate(programs))
    return compile_c("\n".join([PRELUDE, *parts]), flags=flags).decode()


def flat(text: str) -> dict[str, list[str]]:
    return {f.name: list(chain.from_iterable(f.tokens)) for f in functions(text)}


def test_gcc_s_own_spelling_stays_as_it_is() -> None:
    lines = [line for line in made(FLAGS).splitlines() if line[:1] == "\t" and line[1] != "."]
    assert len(lines) > 3000
    for line in lines:
        assert tokens(line) == lex_line(line)


def test_att_becomes_intel() -> None:
    intel, att = flat(made(FLAGS)), flat(made(ATT))
    assert len(intel) == 80
    assert intel == att


@pytest.mark.parametrize(
    "statement",
    [
        "mov DWORD PTR -20[rbp], edi",
        "mov dword ptr [rbp - 20], edi",
        "MOV DWORD PTR [rbp-0x14],edi",
        "mov\tDWORD PTR [rbp + -20] , edi",
        "movl %edi, -20(%rbp)",
        "movl\t%edi,-20(%rbp)",
    ],
)
def test_one_instruction_in_many_spellings(statement: str) -> None:
    assert " ".join(tokens(statement)) == "mov DWORD PTR -20 [ rbp ] edi"


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        ("lea rdx, [rax*8]", "lea rdx 0 [ 0+rax*8 ]"),
        ("lea rdx, 0[0+rax*8]", "lea rdx 0 [ 0+rax*8 ]"),
        ("leaq 0(,%rax,8), %rdx", "lea rdx 0 [ 0+rax*8 ]"),
        ("mov eax, DWORD PTR [rax+rdx*4+0x8]", "mov eax DWORD PTR 8 [ rax+rdx*4 ]"),
        ("movl 8(%rax,%rdx,4), %eax", "mov eax DWORD PTR 8 [ rax+rdx*4 ]"),
        ("mov eax, x[rip]", "mov eax x [ rip ]"),
        ("imull $23, %eax, %eax", "imul eax eax 23"),
        ("cmpq $-62, -8(%rbp)", "cmp QWORD PTR -8 [ rbp ] -62"),
        ("setne %al", "setne al"),
        ("sete -1(%rbp)", "sete BYTE PTR -1 [ rbp ]"),
        ("cltq", "cdqe"),
        ("retq", "ret"),
        ("callq f@PLT", "call f@PLT"),
        ("mov rax, 0x7fffffffffffffff", "mov rax 9223372036854775807"),
    ],
)
def test_spellings(statement: str, expected: str) -> None:
    assert tokens(statement) == expected.split()


@pytest.mark.parametrize("inside", ["rbp--4", "rbp-+4", "rbp++4", "rbp-"])
def test_signs_of_signs_are_not_read_as_others(inside: str) -> None:
    assert inside in tokens(f"add DWORD PTR [{inside}], 2")


@pytest.mark.parametrize(
    "statement",
    ["movaps %xmm0, %xmm1", "jmp *%rax", "movl $.LC0, %edi", "rep stosq", "movl x, %eax"],
)
def test_att_that_is_not_plain_is_refused_with_the_flag(statement: str) -> None:
    with pytest.raises(PermnetError, match="-masm=intel"):
        from_att(statement)


@given(st.text(max_size=60))
def test_any_statement_is_read_or_refused(statement: str) -> None:
    if statement.split():
        with suppress(PermnetError):
            assert all(Line(1, statement.strip()).tokens)


# ---- functions ----------------------------------------------------------------------------------

TEXT = """
	.file	"x.c"
	.intel_syntax noprefix
	.text
	.globl	f
	.type	f, @function
f:
.LFB0:
	.cfi_startproc
	push	rbp	# größer
	je	.L2 ; nop
.L1: .L2: ret
	.size	f, .-f
	.section	.rodata
table:
	.long	3
.LC0:
	.string	"; g: # //"
	.text
alias:
g:	/* one line */ ret
	.section	.text.startup,"ax",@progbits
main:
	ret
"""


def test_functions_are_cut_out() -> None:
    found = functions(TEXT, "x.s")
    assert [f.name for f in found] == ["f", "g", "main"]
    first = found[0]
    assert first.file == "x.s"
    assert first.tokens == [["push", "rbp"], ["je", ".L2"], ["nop"], [".L2", ":"], ["ret"]]
    assert [line.number for line in first.lines] == [10, 11, 11, 12, 12]


@pytest.mark.parametrize("directive", [".byte 0xeb, 5", ".skip 3", ".long 1", ".p2align 4, 0xc3"])
def test_what_may_put_bytes_into_a_function_is_not_passed_over(directive: str) -> None:
    (function,) = functions(f"f:\n\tnop\n\t{directive}\n\tret\n")
    with pytest.raises(PermnetError, match=r"in line 3 is no instruction"):
        _ = function.tokens


def test_what_stands_behind_a_directive_is_read() -> None:
    text = 'f:\n\t.p2align 4,,10; jmp .L2\n\t.loc 1 5 0 /* ; */; nop\n.L2: ret; .ident "; nop"\n'
    (function,) = functions(text)
    assert function.tokens == [["jmp", ".L2"], ["nop"], [".L2", ":"], ["ret"]]


def test_a_comment_of_several_lines_is_left_out_and_its_lines_are_counted() -> None:
    text = "f:\n\t.p2align 0 /* without\n\tadd eax, 2\n\t*/\n\tnop # /*\n\tret\n"
    (function,) = functions(text)
    assert function.tokens == [["nop"], ["ret"]]
    assert [line.number for line in function.lines] == [5, 6]


@pytest.mark.parametrize(
    "directive",
    [
        ".macro add",
        ".MACRO add",
        ".rept 0",
        ".irep x,1",
        '.incbin "x"',
        ".TEXT",
        ".sect .data",
        ".L4@PLT:",
        ".mri 1",
        '.set "\\\\h1",evil',
        '.symver"h1",evil@V1',
        '.type"f",@gnu_indirect_function',
        ".reloc f+1, R_X86_64_8, g",
        ".if 0",
        '.include "x"',
        ".code32",
        ".end",
        ".att_syntax noprefix",
    ],
)
def test_what_makes_other_text_of_the_text_is_refused(directive: str) -> None:
    with pytest.raises(PermnetError, match=r"in line 1: "):
        functions(f"\t{directive}\nf:\n\tadd eax, 2\n\tret\n")


def test_assembly_for_the_preprocessor_is_refused(tmp_path) -> None:
    text = "f:\n# if it were C\n\tadd eax, 2\n\tret\n"
    for name in ("a.s", "a.S"):
        (tmp_path / name).write_text(text)
    assert read(str(tmp_path / "a.s"), Compiler())
    with pytest.raises(PermnetError, match=r"a\.S is for the C preprocessor"):
        read(str(tmp_path / "a.S"), Compiler())


@pytest.mark.parametrize("line", [":", "a b:"])
def test_what_only_looks_like_a_label(line: str) -> None:
    (function,) = functions(f"f:\n\tnop\n{line}\n\tret\n")
    with pytest.raises(PermnetError, match=r"in line 3 is no instruction"):
        _ = function.tokens


def test_numbered_labels_are_local() -> None:
    (function,) = functions("f:\n\tje 1f\n1:\n\tret\n")
    assert function.tokens == [["je", "1f"], ["ret"]]


def test_intel_syntax_with_percent_signs_is_refused() -> None:
    assert functions("\t.intel_syntax noprefix\nf:\n\tret\n")
    for directive in (".intel_syntax", ".intel_syntax prefix"):
        with pytest.raises(PermnetError, match="intel_syntax noprefix"):
            functions(f"\t{directive}\nf:\n\tmov %eax, %ebx\n\tret\n")


def test_line_ends_do_not_matter() -> None:
    changed = functions(TEXT.replace("\n", "\r\n"))
    assert [f.lines for f in changed] == [f.lines for f in functions(TEXT)]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("f:\n\t# x\r\tmov eax, 8\n\tret\n", "line 2 has a carriage return in it"),
        ("f:\n\tret # \ud800\n", r"line 2 has '\\ud800' in it, half a character"),
        (
            'f:\n\t.ident "x\n\tmov eax, 8\n\t.ident "\n\tret\n',
            "line 2 has a string without an end",
        ),
        ("f:\n\t.cfi_escape '#; mov eax, 8\n\tret\n", 'line 2 has a "\'"'),
        ("f:\n\tcall g\u00a0\n\tret\n", "line 2 has a "),
        ('f:\n# 1 "a"; mov eax, 8\n\tret\n', "line 2 is a marker of lines with more"),
        ('f:\n# 1 "a" /*\n\tret\n# */\n', "line 2 is a marker of lines with more"),
        ('f:\n\t.ident "\\\n\tnop ; .ident "\n\tret\n', "line 2 has a string without an end"),
        ("#NO_APP\nf:\n/*\n\tnop\n#*/\n\tret\n", "begins with #NO_APP"),
        ('f:\n\tret\n"h1" 3\n', "line 3 is no statement"),
        ('f:\n\tnop # "\n\tret\n.ident "', "line 4 has a string without an end"),
    ],
)
def test_what_the_assembler_reads_as_other_lines_is_refused(text: str, message: str) -> None:
    with pytest.raises(PermnetError, match=message):
        functions(text)


def test_a_slash_begins_a_comment_only_at_the_beginning_of_a_line() -> None:
    (function,) = functions("f:\n / add eax, 2\n// nop\n\tmov eax, 8 //**/ 2\n\tret\n")
    assert function.tokens == [["mov", "eax", "8", "/", "2"], ["ret"]]


INTEL, ATT_LINE = "mov eax, ebx", "movl %ebx, %eax"


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ([".intel_syntax noprefix", ATT_LINE], "line 3 is not in the syntax .* .intel_syntax"),
        ([".att_syntax", INTEL], "line 3 is not in the syntax .* .att_syntax"),
        ([ATT_LINE, INTEL], "line 3 is in Intel syntax, and .* in line 2 in AT&T syntax"),
        (["push rbp", ATT_LINE], "line 2 is in Intel syntax"),
        (["push 5", ATT_LINE], "line 2 is in Intel syntax"),
        ([ATT_LINE, ".intel_syntax noprefix", "ret", ATT_LINE], "line 5 is not in the syntax"),
    ],
)
def test_a_function_has_one_syntax(lines: list[str], message: str) -> None:
    (function,) = functions("\n".join(["f:", *lines, "ret"]))
    with pytest.raises(PermnetError, match=message):
        _ = function.tokens


def test_what_reads_alike_in_both_syntaxes_may_stand_in_either() -> None:
    both = ["je .L2", "call g0@PLT", "cltq", ".L2: ret"]
    for directive, line in ((".att_syntax", ATT_LINE), (".intel_syntax noprefix", INTEL)):
        (function,) = functions("\n".join([directive, "f:", line, *both]))
        assert function.tokens[:2] == [["mov", "eax", "ebx"], ["je", ".L2"]]


@pytest.mark.parametrize(
    "statement",
    [
        *(".set g0, g2", ".equ g0, g2", "g0 = g2", ".weakref g0, g2", '"g0" = g2'),
        *(".type f, @gnu_indirect_function", ".type f, 10", '.type "f", @10'),
    ],
)
def test_a_function_with_a_name_that_is_given_to_something_else(statement: str) -> None:
    text = f"\t{statement}\nf:\n\tcall g0@PLT\n\tret\n\t.size f, .-f\ng:\n\tret\n"
    f, g = functions(text)
    assert g.tokens == [["ret"]]
    with pytest.raises(PermnetError, match=r"line 1 gives the name \w+ to something else"):
        _ = f.tokens


def test_a_local_label_that_others_may_define() -> None:
    (function,) = functions("f:\n\tje .L2\n.L2: ret\n\t.size f, .-f\n\t.weak .L2\n")
    with pytest.raises(PermnetError, match=r"line 5 gives the name .L2 to something else"):
        _ = function.tokens


def test_code_in_a_section_without_code_is_none() -> None:
    text = '\t.section .textual,"a",@progbits\nf:\n\tret\n\t.section .text.g,"ax"\ng:\n\tret\n'
    assert [f.name for f in functions(text)] == ["g"]


def test_sums_of_numbers_that_are_too_large_are_not_formed() -> None:
    inside = "rbp-18446744073709551624+18446744073709551616"
    assert inside in tokens(f"xor QWORD PTR [{inside}], 5")


@pytest.mark.parametrize(
    ("there", "back"),
    [(".section .rodata", ".previous"), ('.pushsection .rodata,"a"', ".popsection")],
)
def test_code_goes_on_behind_other_sections(there: str, back: str) -> None:
    text = f"\t.text\nf:\n\tret\n\t{there}\ntable:\n\t.long 3\n\t{back}\ng:\n\tret\n"
    assert [f.name for f in functions(text)] == ["f", "g"]


@pytest.mark.parametrize("label", ["f :", '"f":', '\t"f" :'])
def test_labels_in_other_spellings(label: str) -> None:
    (function,) = functions(f"{label}\n.L1 :\n\tje .L1\n\tret\n")
    assert (function.name, function.tokens[0]) == ("f", [".L1", ":"])


@pytest.mark.parametrize("text", ["a:" * 10**6, "f:" + ".L1:" * 10**6, '"\\' * 10**6, '"' * 10**6])
def test_long_lines_take_no_time(text: str) -> None:
    with suppress(PermnetError):
        functions(text)


@pytest.mark.parametrize("operands", ["(%rax" + ",1" * 10**6 + "), %eax", "%eax" + "," * 10**6])
def test_long_operands_take_no_time(operands: str) -> None:
    with pytest.raises(PermnetError, match="not converted"):
        tokens(f"movl {operands}")
    tokens("mov DWORD PTR " + " " * 10**6 + "], 3")


@given(st.text(alphabet=st.sampled_from('fg.L12:; \n\t#%$,[]eaxmovjp/*"\\é'), max_size=200))
def test_any_text_is_read(text: str) -> None:
    with suppress(PermnetError):  # strings without an end
        for function in functions(text):
            with suppress(PermnetError):
                assert len(function.tokens) == len(function.lines)


def test_a_function_of_many_lines_is_refused_without_reading_it() -> None:
    (function,) = functions("f:\n" + "\tmovaps %xmm0, %xmm1\n" * 50_000)
    with pytest.raises(PermnetError, match=f"it has 50000 lines: functions of up to {LONGEST}"):
        _ = function.tokens


# ---- files --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        (b"", "is empty"),
        (b" \n\r\n", "is empty"),
        (b"\xff\xfe\x00junk", "neither text nor ELF: byte 0xff at 0"),
        (b"f:\n\tret\x00", "neither text nor ELF: byte 0x00 at 7"),
    ],
)
def test_what_is_no_text_is_said(raw: bytes, message: str) -> None:
    with pytest.raises(PermnetError, match=message):
        decoded(raw, "x.s")


def test_a_byte_order_mark_is_passed_over() -> None:
    assert decoded(b"\xef\xbb\xbff:\n\tret\n", "x.s").startswith("f:")


def test_c_is_compiled_first(tmp_path) -> None:
    path = tmp_path / "with spaces.c"
    path.write_text("long h(int x) { return g2(x); }")
    (function,) = read(str(path), Compiler())
    assert (function.file, function.name) == (str(path), "h")
    assert ["call", "g2@PLT"] in function.tokens
    path.write_text("int g2(int); int h(int x) { return g2(x); }")  # against the prelude
    assert len(read(str(path), Compiler())) == 1


@pytest.mark.parametrize(
    ("c", "message"),
    [
        ("#include </etc/passwd>\nint f;", "is not preprocessed"),
        ("/* */ # include </etc/passwd>\nint f;", "is not preprocessed"),
        ('char c = \'"\', *s = "/*";\n#include <x>\nint f; /* */', "is not preprocessed"),
        (
            "  # pragma GCC optimize 3\nint f;",
            "'# pragma GCC optimize 3': directives are not read, take it out",
        ),
        ('%: pragma GCC pch_preprocess "x"\nint f;', "directives are not read"),
        ('#\\\npragma GCC pch_preprocess "x"\nint f;', "directives are not read"),
        ('_Pragma("GCC pch_preprocess") int f;', "directives are not read"),
        ("int f(", "gcc does not compile .*: 1:1: error: "),
        ("int x;", "holds no function"),
    ],
)
def test_c_that_cannot_be_compiled(tmp_path, c: str, message: str) -> None:
    path = tmp_path / "x.c"
    path.write_text(c)
    with pytest.raises(PermnetError, match=message):
        read(str(path), Compiler())


def test_what_only_looks_like_a_directive(tmp_path) -> None:
    path = tmp_path / "x.c"
    path.write_text("/* a\n# include below\n/* */ // */ /*\nint h(int x) { return x; }")
    assert len(read(str(path), Compiler())) == 1


def test_markers_of_lines_leave_the_prelude(tmp_path) -> None:
    path, c = tmp_path / "x.i", "long h(int x) { return g2(x); }"
    path.write_text(c)
    (plain,) = read(str(path), Compiler())
    path.write_text(f'# 0 "x.c"\n# 1 "x.c"\n{c}')
    (marked,) = read(str(path), Compiler())
    assert marked.tokens == plain.tokens


def test_comments_without_an_end_take_no_time(tmp_path) -> None:
    path = tmp_path / "x.c"
    for c in ("/*" * 10**6, '"\\' * 10**6, "\n" * 10**6 + "x"):
        path.write_text(c)
        with pytest.raises(PermnetError, match="does not compile"):
            read(str(path), Compiler())


def test_a_folder_and_nothing_are_no_files(tmp_path) -> None:
    for path in (tmp_path, tmp_path / "x.s", "\0"):
        with pytest.raises(PermnetError, match=r"no regular file|does not exist|cannot read"):
            read(str(path), Compiler())


# ---- prototypes ---------------------------------------------------------------------------------


def test_prototypes_take_precedence() -> None:
    prelude = prelude_with("long g0(long *); void put(char,int);")
    found = prototypes(prelude)
    assert found["g0"] == "long g0 ( long * ) ;"
    assert found["put"] == "void put ( char , int ) ;"
    assert found["h0"] == prototypes(PRELUDE)["h0"]


def test_a_prototype_may_be_given_twice_but_not_two_of_one_name() -> None:
    text = "int get(int); int get( int );"
    assert prelude_with(text) == prelude_with("int get(int);")
    with pytest.raises(PermnetError, match=r"get has two prototypes: 'int get .*' and 'long get"):
        prelude_with("int get(int); long get(int);")


@pytest.mark.parametrize(
    "text",
    [
        "int f",
        "int f(int) { }",
        "#include <x>",
        "int f(int x);",
        "int f(...);",
        "x y(int);",
        "int;",
    ],
)
def test_what_is_no_prototype_is_refused(text: str) -> None:
    with pytest.raises(PermnetError):
        prelude_with(text)


# ---- the compiler -------------------------------------------------------------------------------


@pytest.mark.parametrize("flags", [FLAGS, ("-O2",)])
def test_a_compiler_that_compiles_is_fine(flags: tuple[str, ...]) -> None:
    Compiler(flags=flags, prelude=prelude_with("int printf(int);")).check()


@pytest.mark.parametrize(
    ("compiler", "message"),
    [
        (Compiler("no-such-cc"), "no-such-cc is not installed"),
        (Compiler("false"), "^false with the flags '-O0 .*' does not compile even `return 0`: "),
        (Compiler("true"), "does not compile even"),
        (Compiler(flags=("-O0", "-mbogus")), "'-O0 -mbogus' does not .*: gcc: error: .*-mbogus"),
        (Compiler(flags=("-flto",)), "what it makes is no machine code"),
        (Compiler(flags=("-mx32",)), "ELF for .*, 32-bit"),
        (Compiler(prelude="int"), "does not compile even"),
    ],
)
def test_a_compiler_that_compiles_nothing_is_said(compiler: Compiler, message: str) -> None:
    with pytest.raises(PermnetError, match=message):
        compiler.check()


def test_a_compiler_without_an_assembler_is_said(tmp_path, monkeypatch) -> None:
    (tmp_path / "gcc").symlink_to(find_compiler()[0])
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(PermnetError, match=r"does not compile even .*'as'"):
        Compiler().check()
