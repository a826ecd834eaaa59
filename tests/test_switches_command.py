"""`permnet switches`: files and folders, formats, what cannot be read, and no torch."""

import ast
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from permnet.cli import main
from permnet.switches.scan import PART, scan
from tests.test_binary import compiled
from tests.test_switches import PROGRAM, TRUE

FIELDS = {"address", "blocks", "targets", "default", "copies", "scrutinee", "status"}
FIELDS |= {"proposer", "reason", "note"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("code")
    compiled(made, PROGRAM, "-O0", "-c", name="plain.o")
    (made / "inner").mkdir()
    compiled(made, PROGRAM, "-O2", "-masm=intel", "-S", name="inner/text.s")
    (made / "notes.txt").write_text("no code")
    (made / "link.o").symlink_to(made / "plain.o")
    return made


def test_json_has_what_was_promised(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["switches", "--json", str(folder / "plain.o")]) == 0
    shown = capsys.readouterr()
    found = {f["name"]: f for f in json.loads(shown.out)["functions"]}
    assert found.keys() >= TRUE.keys()
    for name, true in TRUE.items():
        assert found[name]["file"] == str(folder / "plain.o")
        for switch, labels in zip(found[name]["switches"], true, strict=True):
            assert switch.keys() == FIELDS | {"seconds"}
            assert [block for block in switch["blocks"] if block != ["default"]] == labels
            assert switch["status"] == "proven"
            assert switch["scrutinee"].keys() == {"place", "bits", "signed", "offset", "start"}
            assert switch["scrutinee"]["start"] == switch["address"]
            assert len(switch["targets"]) == len(switch["blocks"])
            assert switch["targets"] == sorted(switch["targets"])
    assert "7 functions" not in shown.err
    assert shown.err.startswith(f"6 functions, {sum(map(len, TRUE.values())) + 1} switches")


def test_text_and_folders(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["switches", str(folder), "--jobs", "1"]) == 0
    shown = capsys.readouterr().out
    assert f"{folder / 'plain.o'}: sparse at " in shown
    assert f"{folder / 'inner' / 'text.s'}: sparse at " in shown
    assert "link.o" not in shown
    assert "102, 122" in shown
    assert shown.splitlines()[-1].startswith("12 functions, ")


def test_processes_give_what_one_gives(folder: Path) -> None:
    paths = [folder / "plain.o", folder / "inner" / "text.s", folder / "none"]
    one, two = (
        [
            (part.file, part.error, [(f.name, [s.claim for s in f.switches]) for f in part.found])
            for part in scan(paths, jobs)
        ]
        for jobs in (1, 2)
    )
    assert one == two
    assert one[2][1]


def test_workers_hear_of_no_ctrl_c_not_even_while_they_begin(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text(
        "import os, signal, sys\n"
        "if '--multiprocessing-fork' in sys.orig_argv:\n"
        "    os.kill(os.getpid(), signal.SIGINT)\n"
    )
    found = subprocess.run(
        [sys.executable, "-m", "permnet", "switches", str(folder), "--jobs", "2"],
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        cwd=Path(__file__).parent.parent,
        capture_output=True,
        text=True,
        timeout=100,  # without the rest they would be begun anew for ever
    )
    assert (found.returncode, found.stderr) == (0, "")


def test_a_file_of_many_functions_is_cut_into_parts(tmp_path: Path) -> None:
    many = "\n".join(f"int f{i}(void) {{ return {i}; }}" for i in range(2 * PART + 5))
    parts = list(scan([compiled(tmp_path, many, "-c")], jobs=1))
    assert [part.count for part in parts] == [PART, PART, 5]


@pytest.mark.parametrize("tool", ["ghidra", "ida"])
def test_scripts_are_python_and_set_what_was_found(
    tool: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    odd = folder / 'odd """\\ name.o'
    odd.write_bytes((folder / "plain.o").read_bytes())
    try:
        assert main(["switches", "--format", tool, str(odd)]) == 0
    finally:
        odd.unlink()
    script = capsys.readouterr().out
    ast.parse(script)
    calls: list[tuple[str, int, str]] = []
    run_script(script, tool, odd.name, calls)
    comments = [text for kind, _, text in calls if kind == "comment"]
    assert any("switch on" in text and "102, 122" in text for text in comments)
    labels = {text for kind, _, text in calls if kind == "label"}
    assert any(label.endswith("_case_minus_5") for label in labels)
    assert any(label.endswith("_default") for label in labels)
    assert all(label.replace("_", "").isalnum() for label in labels)
    assert all(address >= 0x100000 for _, address, _ in calls)


@pytest.mark.parametrize("tool", ["ghidra", "ida"])
def test_a_script_without_a_switch_says_so(
    tool: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    none = compiled(tmp_path, "int f(void) { return 1; }", "-c")
    assert main(["switches", "--format", tool, str(none)]) == 0
    run_script(capsys.readouterr().out, tool, none.name, [])
    assert capsys.readouterr().out == "permnet: no switch was found\n"


def test_a_script_for_two_files_of_one_name_is_refused(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    one, two = folder / "plain.o", tmp_path / "plain.o"
    two.write_bytes(one.read_bytes())
    assert main(["switches", "--format", "ida", str(one), str(two)]) == 2
    shown = capsys.readouterr()
    assert not shown.out
    assert f"{one} and {two} have one name" in shown.err


def run_script(script: str, tool: str, name: str, calls: list[tuple[str, int, str]]) -> None:
    """In a stand-in for the tool, which loads the file at 0x100000."""

    class Program:
        def getName(self) -> str:
            return name

        def getImageBase(self) -> "Program":
            return self

        def getOffset(self) -> int:
            return 0x100000

    class Ida:
        SN_NOCHECK = SN_NOWARN = 0
        get_root_filename = staticmethod(lambda: name)
        get_imagebase = staticmethod(lambda: 0x100000)
        set_cmt = staticmethod(lambda ea, text, _: calls.append(("comment", ea, text)))
        set_name = staticmethod(lambda ea, text, _: calls.append(("label", ea, text)))

    names = {
        "currentProgram": Program(),
        "toAddr": int,
        "setPreComment": lambda address, text: calls.append(("comment", address, text)),
        "createLabel": lambda address, text, _: calls.append(("label", address, text)),
    }
    modules = ("ida_nalt", "idaapi", "idc") if tool == "ida" else ()
    before = {module: sys.modules.get(module) for module in modules}
    sys.modules.update(dict.fromkeys(modules, Ida))  # type: ignore[arg-type]
    try:
        exec(script, names)
    finally:
        for module in modules:
            del sys.modules[module]
            if (old := before[module]) is not None:
                sys.modules[module] = old


def test_bad_files_are_a_line_each_and_the_others_go_on(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    whole = (folder / "plain.o").read_bytes()
    (tmp_path / "junk").write_bytes(b"\x7fELF" + b"\xff" * 400)
    (tmp_path / "half.o").write_bytes(whole[: len(whole) // 2])
    (tmp_path / "empty.o").touch()
    (tmp_path / "text").write_text("hello")
    (tmp_path / "bad.s").write_text("mov what, is this\n")
    (tmp_path / "bad.S").write_text("f:\n#if 0\n nop\n#endif\n ret\n")
    arm = bytearray(whole)
    arm[18] = 183
    (tmp_path / "arm.o").write_bytes(arm)
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "device.s").symlink_to("/dev/null")
    (tmp_path / "folder").mkdir()
    irregular = ["pipe", "device.s", "folder"]
    names = ["junk", "half.o", "empty.o", "text", "bad.s", "bad.S", "arm.o", "none", *irregular]
    bad = [str(tmp_path / name) for name in names]
    assert main(["switches", "--json", *bad, str(folder / "plain.o"), "--jobs", "1"]) == 1
    shown = capsys.readouterr()
    assert json.loads(shown.out)["functions"]
    lines = [line for line in shown.err.splitlines() if line.startswith("permnet: error: ")]
    assert len(lines) == len(bad)
    assert all(path in line for path, line in zip(bad, lines, strict=True))
    assert [line.rpartition(": ")[2] for line in lines[-3:]] == [
        *["it is not a regular file"] * 2,
        "no ELF file and no .s file in it",
    ]
    assert main(["switches", *bad, "--jobs", "1"]) == 2


def test_bad_requests(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for arguments, said in (
        ([], "no file"),
        (["--json", "--format", "ida", str(folder)], "choose one"),
        (["--jobs", "0", str(folder)], "1 or more"),
    ):
        assert main(["switches", *arguments]) == 2
        shown = capsys.readouterr()
        assert said in shown.err
        assert shown.err.count("\n") == 1
        assert not shown.out


def test_without_torch(folder: Path) -> None:
    code = (
        "import sys\n"
        "class Block:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name.partition('.')[0] == 'torch': raise ModuleNotFoundError(name, name=name)\n"
        "sys.meta_path.insert(0, Block())\n"
        "from permnet.cli import main\n"
        f"sys.exit(main(['switches', '--jobs', '1', {str(folder / 'plain.o')!r}]))"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    assert "proven" in run.stdout


def test_without_an_emulator(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("permnet.switches.scan.can_emulate", lambda: False)
    monkeypatch.setattr("permnet.switches.find.cross_check", None)
    (part,) = scan([folder / "plain.o"], jobs=1)
    assert {s.status for f in part.found for s in f.switches} == {"proven"}


def test_without_capstone_it_is_said_what_to_install(folder: Path) -> None:
    code = (
        "import sys\nsys.modules['capstone'] = None\nfrom permnet.cli import main\n"
        f"sys.exit(main(['switches', {str(folder / 'plain.o')!r}]))"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert run.returncode == 2
    assert "permnet[binary]" in run.stderr


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_changed_code_never_breaks_it(folder: Path, tmp_path: Path, data: st.DataObject) -> None:
    """Bytes of the code itself, too: whatever is then proven, the emulator agrees."""
    changed = bytearray((folder / "plain.o").read_bytes())
    for _ in range(data.draw(st.integers(1, 30))):
        changed[data.draw(st.integers(64, len(changed) - 1))] = data.draw(st.integers(0, 255))
    path = tmp_path / "changed.o"
    path.write_bytes(changed)
    for part in scan([path], jobs=1):
        for function in part.found:
            assert all("emulator" not in switch.reason for switch in function.switches)
