"""The command line: what it prints, what it answers to bad input, and its exit codes."""

import io
import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from permnet import __version__, checkpoint, cli
from permnet.answers import Resolver
from permnet.build import build
from permnet.checkpoint import save
from permnet.cli import COMMANDS, main
from permnet.config import ModelConfig, Run
from permnet.tasks.benchmarks import benchmark

ROOT = Path(__file__).parent.parent
QUESTIONS = ["a 1 b 2 c 3 <sep> 1 3 2", "b 2 <sep> 2", "d 4 a 1 <sep> 4 1"]


@pytest.fixture
def shipped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two untrained models in the place of the shipped ones."""
    torch.manual_seed(0)
    for where, name in {"PI1-4": "permneti", "PD1-4": "permnetd"}.items():
        run = Run(where, ModelConfig(name=name, embedding=8, hidden=4))
        task = benchmark(where).task
        model = build(run.model, task.vocab(), task)
        save(tmp_path / "shipped" / where, model, run, task.vocab(), {"figures": {"wea": 0.125}})
    monkeypatch.setattr(checkpoint, "SHIPPED", tmp_path / "shipped")
    return tmp_path / "shipped"


def pipe(monkeypatch: pytest.MonkeyPatch, content: bytes) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))


def one_error(capsys: pytest.CaptureFixture[str], message: str) -> None:
    """Nothing but one line of error was printed."""
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("permnet: error: ")
    assert err.count("\n") == 1
    assert message in err


def test_an_answer_as_text_and_as_json(shipped: Path, capsys) -> None:
    expected = Resolver.load("PI1-4")(QUESTIONS[0])
    assert main(["resolve", "--model", "pi1-4", QUESTIONS[0]]) == 0
    assert capsys.readouterr().out == " ".join(expected.tokens) + "\n"
    assert main(["resolve", "--model", str(shipped / "PI1-4"), "--json", QUESTIONS[0]]) == 0
    assert json.loads(capsys.readouterr().out) == {
        "output": expected.tokens,
        "confidence": expected.confidence,
        "positions": expected.positions,
    }


def test_several_texts_and_lines_are_answered_in_order(shipped: Path, capsys, monkeypatch) -> None:
    expected = [" ".join(a.tokens) for a in Resolver.load("PI1-4")(QUESTIONS)]
    assert main(["resolve", *QUESTIONS]) == 0
    assert capsys.readouterr().out.splitlines() == expected
    monkeypatch.setattr("permnet.commands.resolve.BLOCK", 2)
    pipe(monkeypatch, "\r\n".join(QUESTIONS).encode())
    assert main(["resolve"]) == 0
    assert capsys.readouterr().out.splitlines() == expected
    pipe(monkeypatch, b"")
    assert main(["resolve"]) == 0
    assert capsys.readouterr().out == ""


def test_a_bad_line_is_empty_and_the_rest_is_answered(shipped: Path, capsys, monkeypatch) -> None:
    expected = [" ".join(a.tokens) for a in Resolver.load("PI1-4")(QUESTIONS)]
    monkeypatch.setattr("permnet.commands.resolve.LONGEST_LINE", 100)
    bad = [b"", b"a 1 <sep> 7", b"\xff\xfe", b"a\x001 <sep> 1", b"a " * 200]
    lines = [line for pair in zip(map(str.encode, QUESTIONS), bad, strict=False) for line in pair]
    lines += bad[3:]
    pipe(monkeypatch, b"\n".join(lines) + b"\n")
    assert main(["resolve", "--model", "PI1-4"]) == 1
    out, err = capsys.readouterr()
    assert out.splitlines() == [*(x for text in expected for x in (text, "")), "", ""]
    messages = err.splitlines()
    assert [m.split(":")[2] for m in messages] == [f" line {n}" for n in (2, 4, 6, 7, 8)]
    for message, word in zip(
        messages, ["empty", "key '7'", "UTF-8", "'\\x00'", "longer than"], strict=True
    ):
        assert word in message
    assert all(message.isprintable() for message in messages)

    pipe(monkeypatch, b"\n".join(lines) + b"\n")
    assert main(["resolve", "--model", "PI1-4", "--json"]) == 1
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert ["error" in row for row in rows] == [False, True] * 3 + [True, True]
    assert main(["resolve", "nothing", *QUESTIONS]) == 1
    assert "text 1: " in capsys.readouterr().err


def test_a_named_model_warns_once_of_what_it_was_not_trained_on(shipped: Path, capsys) -> None:
    told = "permnet: warning: {}the model was trained on {}: answers to the like may be wrong\n"
    run = Run("PI10", ModelConfig(embedding=8, hidden=4))
    task = benchmark("PI10").task
    save(shipped / "PI10", build(run.model, task.vocab(), task), run, task.vocab(), {})
    assert main(["resolve", "--model", "PI10", QUESTIONS[0]]) == 0
    out, err = capsys.readouterr()
    assert out == " ".join(Resolver.load("PI10")(QUESTIONS[0]).tokens) + "\n"
    assert err == told.format("", "10 data, not 3")
    texts = ["a 1 b 2 <sep> 2 1", "a 1 b 2 <sep> 2", "a 1 a 2 <sep> 2 1"]
    assert main(["resolve", "--model", "PI1-4", *texts]) == 0
    out, err = capsys.readouterr()
    assert out.splitlines() == [" ".join(a.tokens) for a in Resolver.load("PI1-4")(texts)]
    assert err == told.format("text 2: ", "as many queries as data, not 1 for 2")
    assert main(["resolve", "--model", "PI1-4", texts[0]]) == 0
    assert main(["resolve", texts[0]]) == 0
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["resolve", ""], "the question is empty"),
        (["resolve", "a 1 <sep> 9"], "no shipped model covers the question"),
        (["resolve", "--model", "PI1-4", "a 1"], "one <sep>"),
        (["resolve", "--model", "PI1-4", "--json", "a 1"], "one <sep>"),
        (["resolve", "--model", "PI14", "a 1 <sep> 1"], "did you mean PI1-4"),
        (["resolve", "--model", __file__, "a 1 <sep> 1"], "is not a folder"),
        (["resolve", "--model", "/", "a 1 <sep> 1"], "/config.json is missing"),
        (["resolve", "--model", "\x1b[31m\n\udcff", "a 1 <sep> 1"], "unknown model"),
        (["eval", "PI1-4", "--limit", "0"], "limit is 1 to 100000"),
        (["eval", "PI1-4", "--limit", "-1"], "limit is 1 to 100000"),
        (["eval", "PI1-4", "--benchmark", "PI2O"], "did you mean PI20"),
        (["eval", "PI1-4", "--benchmark", "PI20"], "does not cover PI20@1"),
        (["data", "PI10", "--out", "/nowhere/at/all"], "cannot write"),
        (["evaluate"], "unknown command 'evaluate': did you mean eval"),
        (["--limit", "3"], "unknown command '--limit'"),
    ],
)
def test_bad_input_is_one_line_and_exit_code_2(
    shipped: Path, capsys, arguments: list[str], message: str
) -> None:
    assert main(arguments) == 2
    one_error(capsys, message)


def test_waiting_for_a_terminal_is_refused(capsys, monkeypatch) -> None:
    pipe(monkeypatch, b"")
    monkeypatch.setattr(sys.stdin, "isatty", lambda: True, raising=False)
    assert main(["resolve"]) == 2
    one_error(capsys, "nothing to resolve")


def test_eval_prints_the_figures(shipped: Path, capsys) -> None:
    assert main(["eval", "PI1-4", "--split", "validation", "--limit", "30", "--json"]) == 0
    figures = json.loads(capsys.readouterr().out)
    assert {"ta", "wea", "wea_interval", "teacher_forced_ta", "by_length", "unseen"} <= {*figures}
    assert (figures["benchmark"], figures["split"]) == ("PI1-4@1", "validation")
    assert figures["count"] == 30
    assert main(["eval", "PI1-4", "--benchmark", "PI1-10", "--limit", "30"]) == 0
    table = capsys.readouterr().out
    assert "PI1-10@1 test" in table
    assert "teacher forcing" in table


def test_models_lists_what_is_shipped(shipped: Path, capsys) -> None:
    assert main(["models", "--json"]) == 0
    rows = {row["name"]: row for row in json.loads(capsys.readouterr().out)}
    assert set(rows) == {"PI1-4", "PD1-4"}
    row = rows["PI1-4"]
    assert (row["model"], row["benchmark"]) == ("permneti", "PI1-4")
    assert row["figures"] == {"wea": 0.125}
    folder = shipped / "PI1-4"
    assert row["bytes"] == sum(path.stat().st_size for path in folder.iterdir())
    weights = checkpoint.load("PI1-4").model.state_dict()
    assert row["parameters"] == sum(tensor.numel() for tensor in weights.values())
    assert main(["models"]) == 0
    assert "12.50" in capsys.readouterr().out


def test_no_name_of_a_shipped_model_is_cut_off(capsys, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    assert main(["models"]) == 0
    rows = [line.split() for line in capsys.readouterr().out.splitlines()[1:]]
    assert [row[0] for row in rows] == checkpoint.shipped()
    assert ["switch-dispatch", "permneti", "switch-dispatch"] in [row[:3] for row in rows]
    monkeypatch.setenv("COLUMNS", "40")
    assert main(["models"]) == 0
    narrow = capsys.readouterr().out
    assert [line.split()[0] for line in narrow.splitlines() if line[0] in "Ps"] == [
        row[0] for row in rows
    ]
    assert "…" not in narrow


HELP = """
import contextlib, io, sys
from permnet.cli import COMMANDS, main
for arguments in [[], ["--help"], ["-h"], ["--version"]]:
    assert main(arguments) == 0
for name in COMMANDS:
    out = io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.suppress(SystemExit):
        assert main([name, "--help"]) == 0
    assert "For example:" in out.getvalue(), name
    assert f"    permnet {name}" in out.getvalue(), name
assert "torch" not in sys.modules
"""


def test_help_shows_examples_and_does_not_import_torch() -> None:
    run = subprocess.run(
        [sys.executable, "-c", HELP], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stderr
    for name in COMMANDS:
        assert f"    {name} " in run.stdout


def test_help_exits_with_0_and_a_bad_option_with_2(capsys) -> None:
    for name in COMMANDS:
        with pytest.raises(SystemExit) as exit:
            main([name, "--help"])
        assert exit.value.code == 0
        assert main([name, "--no-such-option"]) == 2


def test_the_version(capsys) -> None:
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"permnet {__version__}\n"


def test_run_as_a_module_into_a_pipe_that_closes() -> None:
    command = [sys.executable, "-m", "permnet", "data", "PI100", "--limit", "2000"]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, cwd=ROOT, stdout=pipe, stderr=pipe) as run:
        assert run.stdout.readline().startswith(b"Input: <sos> ")
        run.stdout.close()
        assert run.wait() == 0
        assert run.stderr.read() == b""


@pytest.mark.parametrize(
    ("closed", "command", "code"),
    [("<&-", "decompile", 2), ("<&-", "resolve", 0), (">&-", "data PI10 --limit 1", 0)],
)
def test_what_is_closed_when_it_starts_is_empty(closed: str, command: str, code: int) -> None:
    shell = f'exec "$1" -m permnet {command} {closed}'
    run = subprocess.run(
        ["sh", "-c", shell, "sh", sys.executable], cwd=ROOT, capture_output=True, check=False
    )
    assert run.returncode == code
    assert b"Traceback" not in run.stderr


PLAIN = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}


@pytest.mark.parametrize("arguments", [["--help"], ["report", "--check"]])
def test_any_text_is_read_and_printed_where_the_locale_has_no_letters_for_it(arguments) -> None:
    command = [sys.executable, "-m", "permnet", *arguments]
    run = subprocess.run(
        command, cwd=ROOT, env={**os.environ, **PLAIN}, capture_output=True, check=False
    )
    assert (run.returncode, run.stderr) == (0, b"")
    if "--help" in arguments:
        assert rb"usage: permnet COMMAND \u2026" in run.stdout


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_full_disk_is_one_line() -> None:
    with open("/dev/full", "w") as full:
        run = subprocess.run(
            [sys.executable, "-m", "permnet", "--version"],
            cwd=ROOT,
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert run.returncode == 2
    assert run.stderr.count("\n") == 1
    assert "No space left" in run.stderr


def test_an_interrupt_is_quiet(monkeypatch, capsys) -> None:
    monkeypatch.setitem(cli.COMMANDS, "models", lambda: signal.raise_signal(signal.SIGINT))
    # A shell starts what runs in its background with interrupts ignored.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        assert main(["models"]) == 130
    finally:
        signal.signal(signal.SIGINT, before)
    assert capsys.readouterr() == ("", "")


@pytest.mark.skipif("PI1-4" not in checkpoint.shipped(), reason="no trained model is shipped")
def test_the_first_example_of_the_help(capsys) -> None:
    assert main(["resolve", "a 1 b 2 c 3 <sep> 1 3 2"]) == 0
    assert capsys.readouterr().out == "a c b\n"


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ("train PI10 --out x --model.name permnetq", "'permnetq'.*--model.name.*permneti"),
        ("train PI10 --out x --train.epoch 3", "--train.epoch, 3.*--train.epochs"),
        ("train PI10", "Missing.*--out"),
        ("data PI10 --limit many", "--limit"),
    ],
)
def test_a_bad_option_is_one_line(arguments, told, capsys) -> None:
    assert main(arguments.split()) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert re.fullmatch(rf"permnet: error: .*{told}.*\(see permnet \w+ --help\)\n", err)
