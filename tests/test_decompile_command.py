"""`permnet decompile` as it is typed: output, exit codes, and everything that a file may be."""

import io
import json
import os
import re
import subprocess
import sys
from itertools import islice
from pathlib import Path

import pytest

from permnet.cli import main
from permnet.commands.decompile import MOST_REFUSED
from permnet.decompiling.pipeline import Pipeline
from permnet.decompiling.toolchain import Compiler
from permnet.tasks.switch.compiler import FLAGS, compile_c
from permnet.tasks.switch.ctokens import PRELUDE, layout, named
from permnet.tasks.switch.dataset import shipped
from permnet.tasks.switch.skeleton import skeleton
from tests.table_model import knowing, wrong

# In machine code two labels at one place are one: here are functions without such.
ONCE = (c for a, c in shipped("switch-6").pairs() if not re.search(r": \S+ :", " ".join(a)))
C = list(islice(ONCE, 3))
NAMES = ("one", "two", "three")
TEXT = compile_c(
    "\n".join([PRELUDE, *(layout(named(c, n)) for n, c in zip(NAMES, C, strict=True))])
).decode()
REFUSED = "odd:\n\tcmp eax, 1\n\tje .L1\n\tvaddps ymm0, ymm1\n.L1:\n\tret\n"


@pytest.fixture(autouse=True)
def model(monkeypatch: pytest.MonkeyPatch) -> None:
    """A model that knows `one` and `two`, and is wrong about `three`."""
    answers = {"one": [C[0]], "two": [wrong(C[1]), C[1]], "three": [wrong(C[2])]}

    def load(model: object, n_best: int, compiler: Compiler) -> Pipeline:
        return knowing(TEXT, answers, n_best=n_best, compiler=compiler)

    monkeypatch.setattr(Pipeline, "load", load)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "with spaces" / "größe.s"
    path.parent.mkdir()
    path.write_text(TEXT)
    return path


def pipe(monkeypatch: pytest.MonkeyPatch, data: bytes) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))


def run(capsys, *arguments: object) -> tuple[int, str, str]:
    code = main(["decompile", *map(str, arguments)])
    return code, *capsys.readouterr()


def one_error(capsys, *arguments: object) -> str:
    code, out, err = run(capsys, *arguments)
    assert (code, out) == (2, "")
    assert err.startswith("permnet: error: ")
    assert err.count("\n") == 1
    return err


# ---- output -------------------------------------------------------------------------------------


def test_text_is_c_with_a_word_on_each_function(capsys, file: Path) -> None:
    code, out, err = run(capsys, file)
    assert (code, err) == (0, "")
    heads = [line for line in out.splitlines() if line.startswith("//")]
    assert heads[0] == f"// {file}: one: verified, confidence 100.0 %"
    assert heads[1] == f"// {file}: two: verified, confidence 0.1 %"
    assert heads[2] == f"// {file}: three: unverified, confidence 100.0 %"
    compile_c(PRELUDE + out)  # all of it compiles


def test_unverified_answers_are_told_where_they_differ(capsys, file: Path) -> None:
    code, out, err = run(capsys, "--diff", file)
    assert (code, err) == (0, "")
    differing = [line for line in out.splitlines() if re.match(r"// [-+] \d+: ", line)]
    assert any("77" in line and line.startswith("// + ") for line in differing)
    assert out.index("three: unverified") < out.index(differing[0])
    compile_c(PRELUDE + out)
    plain = run(capsys, file)[1]
    assert [line for line in out.splitlines() if line not in differing] == plain.splitlines()


def test_what_nobody_declared_is_guessed_on_request(capsys, tmp_path: Path) -> None:
    path = tmp_path / "f.s"
    renamed = {"g0": "get", "g1": "pair", "h1": "put", "h0": "stop", "h2": "link", "g2": "seek"}
    path.write_text(re.sub(r"\b[gh]\d(?=@PLT)", lambda match: renamed[match[0]], TEXT))
    code, out, err = run(capsys, path)
    assert (code, out) == (1, "")
    assert re.search(r"which is not declared: add --proto '\w+ \w+\(.*\);' with its types", err)
    code, out, err = run(capsys, "--guess", path)
    assert code == 0
    assert out.count(": verified") == 2
    (told,) = err.splitlines()
    assert told.startswith("permnet: declared as their calls look: ")
    declared = told.partition("look: ")[2]
    assert compile_c(declared + out)
    proto = "long get(int, int, int);"  # what a user says counts
    code, out, err = run(capsys, "--guess", "--proto", proto, path)
    assert " get(" not in err
    code, out, err = run(capsys, "--guess", "--json", path)
    assert sum(row["verified"] for row in json.loads(out)["functions"]) == 2


@pytest.mark.parametrize("options", [["--cc", "no-such-compiler"], ["--cflags=-no-such-flag"]])
def test_without_a_compiler_there_is_nothing_to_compare(
    capsys, file: Path, options: list[str]
) -> None:
    code, out, err = run(capsys, "--diff", *options, file)
    assert (code, err.count("nothing is verified")) == (0, 1)
    assert [line for line in out.splitlines() if "unverified" not in line and "//" in line] == []


def test_json_has_no_differences(capsys, file: Path) -> None:
    assert "--diff" in one_error(capsys, "--diff", "--json", file)


def test_an_answer_that_is_cut_short_is_not_called_a_function(capsys, file, monkeypatch) -> None:
    def load(model: object, n_best: int, compiler: Compiler) -> Pipeline:
        return knowing(TEXT, {"one": [C[0][:-1]]}, n_best=n_best, compiler=compiler)

    monkeypatch.setattr(Pipeline, "load", load)
    for name in ("one", "two"):  # it knows nothing of the second
        _, out, _ = run(capsys, "-f", name, file)
        assert f": {name}: unverified, not a whole function, confidence " in out


def test_json_is_as_documented(capsys, file: Path) -> None:
    code, out, _ = run(capsys, "--json", file)
    assert code == 0
    (key, rows), *rest = json.loads(out).items()
    assert (key, rest) == ("functions", [])
    for row, name, c in zip(rows, NAMES, [C[0], C[1], wrong(C[2])], strict=True):
        assert list(row) == [
            *("file", "name", "c", "verified", "confidence", "skeleton", "map", "seconds", "error"),
        ]
        assert (row["file"], row["name"], row["error"]) == (str(file), name, None)
        assert row["c"] == layout(named(c, name))
        assert row["skeleton"] == skeleton(c)
        assert all(isinstance(a, int) and isinstance(b, int) for a, b in row["map"])
    assert [row["verified"] for row in rows] == [True, True, False]


def test_the_map_stands_beside_the_lines(capsys, file: Path) -> None:
    _, out, _ = run(capsys, "--map", "-f", "one", file)
    label = C[0][C[0].index("case") + 1]
    (line,) = (line for line in out.splitlines() if f"case {label}:" in line)
    number, _, text = line.partition("//")[2].partition(":")
    assert text.split() == TEXT.split("\n")[int(number) - 1].split()
    compile_c(PRELUDE + out)


def test_standard_input_many_files_and_one_name(capsys, file: Path, monkeypatch) -> None:
    pipe(monkeypatch, TEXT.replace("\n", "\r\n").encode())
    code, out, _ = run(capsys, "--json")
    assert code == 0
    assert [row["file"] for row in json.loads(out)["functions"]] == ["standard input"] * 3
    code, out, _ = run(capsys, "--json", "--function", "two", file, file)
    assert [row["name"] for row in json.loads(out)["functions"]] == ["two", "two"]
    assert "did you mean two" in one_error(capsys, "-f", "tow", file)


def test_c_may_be_given_and_what_was_printed_is_c(capsys, file: Path) -> None:
    _, out, _ = run(capsys, file)
    again = file.with_suffix(".c")
    again.write_text(out)
    code, second, _ = run(capsys, again)
    assert code == 0
    assert second.replace(str(again), str(file)).splitlines()[:40] == out.splitlines()[:40]


def test_colours_on_a_terminal(file: Path, capsys, monkeypatch) -> None:
    _, plain, _ = run(capsys, file)
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "40")
    code, out, _ = run(capsys, file)
    assert code == 0
    assert len(re.findall(r"\x1b\[[\d;]*\b32\b[\d;]*mverified", out)) == 2
    assert len(re.findall(r"\x1b\[[\d;]*\b33\b[\d;]*munverified", out)) == 1
    assert re.sub(r"\x1b\[[\d;]*m", "", out) == plain


# ---- refusals -----------------------------------------------------------------------------------


def test_a_function_outside_the_domain_leaves_the_others(capsys, tmp_path: Path) -> None:
    path = tmp_path / "x.s"
    path.write_text(REFUSED + TEXT)
    code, out, err = run(capsys, path)
    assert code == 1
    assert out.count("// ") == 3
    assert err.count("\n") == 1
    assert "odd: outside the domain of the model: 'vaddps' in line 4" in err
    code, out, _ = run(capsys, "--json", path)
    assert code == 1
    rows = json.loads(out)["functions"]
    assert [row["error"] is None for row in rows] == [False, True, True, True]
    assert {rows[0][field] for field in ("c", "confidence", "skeleton", "map")} == {None}


def test_a_bad_file_among_many_leaves_the_others(capsys, file: Path, tmp_path: Path) -> None:
    code, out, err = run(capsys, tmp_path / "nowhere.s", file)
    assert code == 2
    assert out.count("// ") == 3
    assert "nowhere.s does not exist" in err


def test_json_is_printed_whatever_the_files_are(capsys, tmp_path: Path) -> None:
    for files in (["nowhere.s"], ["nowhere.s", "neither.s"]):
        code, out, err = run(capsys, "--json", *(tmp_path / name for name in files))
        assert (code, json.loads(out)) == (2, {"functions": []})
        assert err.count("does not exist") == len(files)
    made = tmp_path / "made.json"
    assert "does not exist" in one_error(capsys, "--json", "-o", made, tmp_path / "nowhere.s")
    assert not made.exists()


def test_c_on_standard_input_is_said_to_be_c(capsys, monkeypatch) -> None:
    pipe(monkeypatch, layout(C[0]).encode())
    assert "standard input looks like C, and is read as assembly" in one_error(capsys)


def test_a_compiler_with_flags_in_its_name(capsys, file: Path) -> None:
    _, _, err = run(capsys, "--cc", "gcc -O0", file)
    assert "'gcc -O0' is not installed: it is one program, flags go elsewhere" in err


def test_without_gcc_it_is_said(capsys, file: Path) -> None:
    code, out, err = run(capsys, "--cc", "no-such-cc", file)
    assert code == 0
    assert ": verified" not in out
    assert "nothing is verified: no-such-cc is not installed" in err


def test_flags_with_which_nothing_compiles_are_said(capsys, file: Path) -> None:
    code, out, err = run(capsys, "--cflags=-O0 -mbogus", file)
    assert code == 0
    assert ": verified" not in out
    assert err.count("nothing is verified: gcc with the flags '-O0 -mbogus' does not compile") == 1


HOSTILE = {
    "empty": (b"", "is empty"),
    "junk": (bytes(range(256)) * 40, "neither text nor ELF"),
    "prose": ("größer als\n".encode() * 50, "holds no function"),
    "data alone": (b"\t.data\nx:\n\t.long 5\n", "holds no function"),
}


@pytest.mark.parametrize("kind", HOSTILE)
def test_what_is_no_assembly(kind: str, capsys, tmp_path: Path, monkeypatch) -> None:
    raw, message = HOSTILE[kind]
    path = tmp_path / "x.s"
    path.write_bytes(raw)
    assert message in one_error(capsys, path)
    pipe(monkeypatch, raw)
    assert message in one_error(capsys)


def test_ten_megabytes_of_assembly(capsys, tmp_path: Path) -> None:
    path = tmp_path / "large.s"
    long = "long:\n" + "\tmov\teax, DWORD PTR -20[rbp]\n" * 50_000 + "\tret\n"
    many = "".join(f"part{i}:\n" + "\tadd\teax, 1\n" * 3000 + "\tret\n" for i in range(250))
    path.write_text(f"{TEXT}\t.text\n{long}{many}")
    assert path.stat().st_size > 9_000_000
    code, out, err = run(capsys, path)
    assert code == 1
    assert out.count("// ") == 3
    assert "long: outside the domain of the model: it has 50001 lines" in err
    assert err.count("\n") == MOST_REFUSED + 1
    assert "201 more functions are refused" in err


def test_a_name_of_a_file_is_only_a_name(capsys, tmp_path: Path) -> None:
    path = tmp_path / "a\nint evil;\x1b[31m;$(touch x)'\\.s"
    path.write_text(TEXT)
    code, out, _ = run(capsys, path)
    assert code == 0
    assert "\x1b" not in out
    assert "\nint evil" not in out
    compile_c(PRELUDE + out)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--cflags", "'"], "--cflags"),
        (["--cc", ""], "--cc '' names no compiler: give one, such as gcc, or leave it out"),
        (["--cc", "  "], "--cc '  ' names no compiler: give one, such as gcc, or leave it out"),
        (["--proto", "int f"], "prototypes are such as"),
        (["--proto", "#include <stdio.h>"], "no part of the C"),
        (["--n-best", "0"], "n-best is 1 to 100, not 0"),
    ],
)
def test_bad_options(capsys, file: Path, arguments: list[str], message: str) -> None:
    assert message in one_error(capsys, *arguments, file)


def test_nothing_to_read(capsys, monkeypatch) -> None:
    pipe(monkeypatch, b"")
    monkeypatch.setattr(sys.stdin, "isatty", lambda: True, raising=False)
    assert "nothing to decompile" in one_error(capsys)


# ---- machine code -------------------------------------------------------------------------------

DEFINED = (
    "int g0(int a) { return a; } int g1(int a, int b) { return a; } long g2(long a) { return a; }"
)
DEFINED += " void h0(void) { } void h1(int a) { } void h2(int a, int b) { }"


def built(folder: Path, *flags: str, name: str = "x.o", prelude: str = PRELUDE) -> Path:
    """An ELF file of the three functions."""
    source = folder / "x.c"
    programs = (layout(named(c, n)) for n, c in zip(NAMES, C, strict=True))
    source.write_text("\n".join([prelude, *programs]))
    command = ["gcc", *FLAGS, "-w", *flags, "-o", str(folder / name), str(source)]
    subprocess.run(command, check=True)
    return folder / name


@pytest.mark.parametrize("kind", ["object", "library"])
def test_machine_code(kind: str, capsys, tmp_path: Path) -> None:
    path = (
        built(tmp_path, "-c")
        if kind == "object"
        else built(tmp_path, "-shared", "-fPIC", "-nostdlib", name="x.so", prelude=DEFINED)
    )
    code, out, _ = run(capsys, "--json", path)
    rows = {row["name"]: row for row in json.loads(out)["functions"]}
    assert code == (0 if kind == "object" else 1)
    for name, c in zip(NAMES, C, strict=True):
        assert rows[name]["error"] is None
        assert rows[name]["verified"] == (name != "three")
        if name != "three":
            assert rows[name]["c"] == layout(named(c, name))


def test_machine_code_on_standard_input(capsys, tmp_path: Path, monkeypatch) -> None:
    pipe(monkeypatch, built(tmp_path, "-c").read_bytes())
    code, out, _ = run(capsys, "-f", "one")
    assert code == 0
    assert out.startswith("// standard input: one: verified")


def test_a_stripped_program_s_functions_are_named_by_address(capsys, tmp_path: Path) -> None:
    flags = ("-shared", "-fPIC", "-nostdlib", "-s", "-fvisibility=hidden")
    path = built(tmp_path, *flags, "-fasynchronous-unwind-tables", name="x.so", prelude=DEFINED)
    code, out, err = run(capsys, path)
    assert (code, out) == (1, "")
    assert "calls sub_" in err
    assert "which is not declared: add --proto" in err
    code, out, err = run(capsys, "--guess", path)  # `one` and `two`, but for their names
    assert out.count(": verified") == 2
    assert re.search(r"^permnet: declared as their calls look: .*\bsub_\w+\(", err)
    bare = built(tmp_path, *flags, name="y.so", prelude=DEFINED)  # not even unwind tables
    assert "holds no function" in one_error(capsys, bare)


def test_truncated_machine_code(capsys, tmp_path: Path) -> None:
    raw = built(tmp_path, "-c").read_bytes()
    path = tmp_path / "cut.o"
    for length in (4, 16, 63, 64, 200, len(raw) // 2, len(raw) - 1):
        path.write_bytes(raw[:length])
        code, _, err = run(capsys, path)
        assert code in (0, 1, 2)
        assert "Traceback" not in err
        assert length > 64 or (code == 2 and str(path) in err)


def test_another_architecture(capsys, tmp_path: Path) -> None:
    raw = bytearray(built(tmp_path, "-c").read_bytes())
    raw[18:20] = (183).to_bytes(2, "little")  # AArch64
    path = tmp_path / "arm.o"
    path.write_bytes(raw)
    assert "x86-64" in one_error(capsys, path)


def test_without_the_extra_it_is_named(capsys, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr("permnet.decompiling.source.find_spec", lambda name: None)
    assert "pip install 'permnet[binary]'" in one_error(capsys, built(tmp_path, "-c"))


# ---- files that are written ---------------------------------------------------------------------


def test_nothing_is_overwritten_without_force(capsys, file: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.c"
    assert run(capsys, "-o", out, file) == (0, "", "")
    written = out.read_text()
    assert written.count("// ") == 3
    out.write_text("mine")
    assert "exists: choose another name or add --force" in one_error(capsys, "-o", out, file)
    assert out.read_text() == "mine"
    assert run(capsys, "-o", out, "--force", file)[0] == 0
    assert out.read_text() == written


@pytest.mark.parametrize("force", [[], ["--force"]])
@pytest.mark.parametrize("target", ["mine.c", "nothing.c"])
def test_a_symbolic_link_is_not_written_to(
    capsys, file: Path, tmp_path: Path, force: list[str], target: str
) -> None:
    (tmp_path / "mine.c").write_text("mine")
    link = tmp_path / "link.c"
    link.symlink_to(tmp_path / target)
    assert "it is a symbolic link" in one_error(capsys, "-o", link, *force, file)
    assert link.is_symlink()
    assert (tmp_path / "mine.c").read_text() == "mine"
    assert not (tmp_path / "nothing.c").exists()


def test_a_bad_input_leaves_no_file(capsys, tmp_path: Path) -> None:
    out = tmp_path / "out.c"
    one_error(capsys, "-o", out, tmp_path / "nowhere.s")
    assert os.listdir(tmp_path) == []


# ---- alone --------------------------------------------------------------------------------------

ALONE = """
import sys
for extra in ("pycparser", "capstone", "elftools", "matplotlib", "lightning_fabric"):
    sys.modules[extra] = None
from permnet.cli import main
raise SystemExit(main(["decompile", "--model", "/nowhere", sys.argv[1]]))
"""


def test_it_needs_no_extra(file: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", ALONE, file],
        cwd=Path(__file__).parents[1],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 2
    assert done.stderr.startswith("permnet: error: unknown model or folder '/nowhere'")
