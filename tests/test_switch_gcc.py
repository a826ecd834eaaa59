"""What gcc makes of the programs: one assembly for one canonical program, and safely."""

import os
import subprocess
import sys
from itertools import chain
from pathlib import Path

import pytest

from permnet import limits
from permnet.errors import PermnetError
from permnet.tasks.switch import compiler
from permnet.tasks.switch.assembly import Lines, alone, labels, renumbered
from permnet.tasks.switch.canonical import canonical, parse
from permnet.tasks.switch.compiler import assemble, compile_c, find_compiler
from permnet.tasks.switch.ctokens import layout
from permnet.tasks.switch.draw import Draw
from permnet.tasks.switch.expressions import OutsideDomainError
from permnet.tasks.switch.program import sample
from permnet.tasks.switch.tree import tokens
from tests.neighbours import edited


def flat(lines: Lines | None) -> list[str]:
    assert lines is not None
    return list(chain.from_iterable(lines))


def assembly(programs: list[tuple[str, ...]]) -> list[tuple[str, ...]]:
    """Of C tokens, with labels renumbered."""
    made = []
    for i in range(0, len(programs), compiler.BATCH):
        made += assemble([layout(program) for program in programs[i : i + compiler.BATCH]])
    return [tuple(renumbered(flat(lines))) for lines in made]


PAPER = """\
long f(long p0)
{
    long v0 = 1;
    switch (p0) {
    case -62:
        v0 = 2;
    case -46:
        v0 = 3;
    case -30:
        v0 = 4;
    case 87:
        v0 = 5;
    case -72:
        v0 = 6;
    case -66:
        v0 = 7;
        break;
    }
    return v0;
}
"""


def test_the_dispatch_of_the_papers_appendix() -> None:
    (lines,) = assemble([PAPER])
    assert lines is not None
    jumps = [line for line in lines if line[0] in ("je", "jg", "jmp") or line[0] == "cmp"]
    compared = [line[-1] for line in jumps if line[0] == "cmp"]
    assert compared == ["87", "87", "-30", "-30", "-46", "-46", "-62", "-62", "-72", "-66"]
    assert jumps[0] == ["cmp", "QWORD", "PTR", "-24", "[", "rbp", "]", "87"]
    assert [line[-1] for line in jumps if line[0] != "cmp"] == (
        [".L2", ".L3", ".L4", ".L3", ".L5", ".L3", ".L6", ".L3", ".L7", ".L8", ".L3"]
    )
    assert [line[0] for line in lines if line[-1] == ":"] == (
        [".L6", ".L5", ".L4", ".L2", ".L7", ".L8", ".L3"]
    )


def test_labels_in_a_batch_become_those_of_a_file_alone() -> None:
    programs = [tokens(sample(6, Draw(f"alone/{i}"))) for i in range(24)]
    bare = ["return ;" in " ".join(program) for program in programs]
    assert 0 < sum(bare) < len(bare)
    together = assemble([layout(program) for program in programs])
    for program, lines, is_bare in zip(programs, together, bare, strict=True):
        (single,) = assemble([layout(program)])
        assert alone(flat(lines), is_bare) == flat(single)
        assert len(labels(flat(single))) > 1


def test_neighbours_differ_in_assembly_and_the_canonical_form_keeps_it() -> None:
    rewritten = distinct = 0
    for seed in range(12):
        draw = Draw(f"neighbours/{seed}")
        base = tokens(sample(4, draw))
        canonical_of = {tuple(base): tuple(base)}
        for _ in range(90):
            changed = edited(base, draw)
            try:
                canonical_of[tuple(changed)] = tuple(tokens(canonical(parse(layout(changed)))))
            except OutsideDomainError:
                continue
        programs = sorted({*canonical_of, *canonical_of.values()})
        made = dict(zip(programs, assembly(programs), strict=True))
        forms = set(canonical_of.values())
        assert len({made[form] for form in forms}) == len(forms)
        distinct += len(forms)
        for changed, form in canonical_of.items():
            if ends(changed) == ends(form):  # else gcc may mark the end of a block with a nop
                assert made[changed] == made[form], layout(changed)
                rewritten += changed != form
    assert distinct > 100
    assert rewritten > 5


def ends(program: tuple[str, ...]) -> list[str]:
    return [token for token in program if token in ("break", "return")]


def test_one_that_does_not_compile_leaves_the_others() -> None:
    good = PAPER
    sources = [good, "int f(int p0) { return q; }", good, "int f(int p0) {", good]
    made = assemble(sources)
    assert [lines is None for lines in made] == [False, True, False, True, False]
    assert renumbered(flat(made[4])) == renumbered(flat(made[0]))
    assert assemble([]) == []


def test_no_file_is_read_and_none_is_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "x.h").write_text("int q;")
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(scratch))
    assert assemble([f'#include "{tmp_path}/x.h"\nint f(int p0) {{ return q; }}']) == [None]
    assert assemble(["int f(int p0) { return p0; }"]) != [None]
    assert not list(scratch.iterdir())


@pytest.mark.usefixtures("system")
def test_limits_hold(monkeypatch: pytest.MonkeyPatch) -> None:
    source = "int f(int p0) { return p0; }"
    assert assemble([source]) != [None]
    for limit, value in (("MEMORY", 8 << 20), ("OUTPUT", 100)):
        with monkeypatch.context() as patch:
            patch.setattr(limits, limit, value)
            assert assemble([source]) == [None]


@pytest.fixture
def wrapper(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A compiler of the current folder, whose version is not UTF-8."""
    path = tmp_path / "cc"
    path.write_bytes(
        b'#!/bin/sh\n[ "$1" = --version ] && printf "cc \\344 1\\nmore" || exec gcc "$@"\n'
    )
    path.chmod(0o755)
    monkeypatch.chdir(tmp_path)
    find_compiler.cache_clear()
    return path


def test_a_compiler_may_be_given_from_here_and_its_version_be_any_bytes(wrapper: Path) -> None:
    assert find_compiler("./cc") == (str(wrapper), "cc \N{REPLACEMENT CHARACTER} 1")
    assert b"permnet_0:" in compile_c("int permnet_0(void) { return 0; }", "./cc")


def test_a_compiler_that_cannot_be_run(wrapper: Path) -> None:
    wrapper.write_text("no program")
    with pytest.raises(PermnetError, match=r"\./cc cannot be run: Exec format error"):
        find_compiler("./cc")


def test_a_compiler_is_asked_its_version_without_our_input_and_not_for_ever(
    wrapper: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wrapper.write_text("#!/bin/sh\ncat\necho cc 1\n")
    monkeypatch.setattr(limits, "SECONDS", 1)
    reading, writing = os.pipe()
    ours = os.dup(0)
    os.dup2(reading, 0)
    try:
        assert find_compiler("./cc") == (str(wrapper), "cc 1")
        find_compiler.cache_clear()
        wrapper.write_text("#!/bin/sh\nexec sleep 600\n")
        with pytest.raises(PermnetError, match=r"\./cc --version takes longer than 1 seconds"):
            find_compiler("./cc")
    finally:
        os.dup2(ours, 0)
        for descriptor in (reading, writing, ours):
            os.close(descriptor)


def test_source_is_utf_8_in_any_locale() -> None:
    code = (
        "from permnet.tasks.switch.compiler import compile_c\n"
        "assert 'f\\xf6:'.encode() in compile_c('int f\\xf6(void) { return 0; }')\n"
    )
    plain = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    subprocess.run([sys.executable, "-c", code], env={**os.environ, **plain}, check=True)


def test_without_gcc_it_is_said_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    with pytest.raises(PermnetError, match="gcc is not installed: apt install gcc"):
        find_compiler.__wrapped__("gcc")
    with pytest.raises(PermnetError, match=r"no-such-cc is not installed$"):
        find_compiler("no-such-cc")
