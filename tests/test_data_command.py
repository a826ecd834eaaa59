"""`permnet data` and `permnet score`, called as the command line calls them."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import IO

import pytest
import tyro

from permnet.cli import main
from permnet.commands.data import data
from permnet.commands.score import score
from permnet.errors import PermnetError
from permnet.tasks.benchmarks import benchmark
from permnet.tasks.permutation import to_tokens


def expected(name: str, split: str, limit: int) -> list[tuple[list[str], list[str]]]:
    chosen = benchmark(name).split(split, limit)
    return list(to_tokens(chosen.vocab, chosen.examples))


def test_text_on_standard_output(capsys: pytest.CaptureFixture[str]) -> None:
    assert tyro.cli(data, args=["pd10@1", "--limit", "2"]) == 0
    blocks = [
        f"Input: {' '.join(asked)}\nOutput: {' '.join(answer)}\n\n"
        for asked, answer in expected("PD10", "test", 2)
    ]
    assert capsys.readouterr().out == "".join(blocks)


def test_jsonl_file_is_what_score_reads(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "data.jsonl"
    args = ["PI1-10", "--split", "validation", "--limit", "20", "--format", "jsonl"]
    assert tyro.cli(data, args=[*args, "--out", str(out)]) == 0
    rows = [json.loads(line) for line in out.read_text().splitlines()]
    pairs = expected("PI1-10", "validation", 20)
    assert rows == [{"input": asked, "output": answer} for asked, answer in pairs]
    assert list(tmp_path.iterdir()) == [out]

    args = ["PI1-10", str(out), "--split", "validation", "--limit", "20"]
    assert tyro.cli(score, args=[*args, "--json"]) == 0
    figures = json.loads(capsys.readouterr().out)
    assert (figures["wea"], figures["count"]) == (1, 20)
    assert tyro.cli(score, args=args) == 0
    table = capsys.readouterr().out
    assert "PI1-10@1 validation" in table
    assert "100.00" in table


def test_parquet_file(tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    out = tmp_path / "data.parquet"
    assert data("PI_DICT", limit=3, format="parquet", out=out) == 0
    pairs = expected("PI_DICT", "test", 3)
    assert parquet.read_table(out).to_pydict() == {
        "input": [asked for asked, _ in pairs],
        "output": [answer for _, answer in pairs],
    }


def test_parquet_needs_a_file_and_pyarrow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(PermnetError, match="add --out"):
        data("PD10", format="parquet")
    monkeypatch.setattr("permnet.commands.data.find_spec", lambda name: None)
    with pytest.raises(PermnetError, match=r"pip install 'permnet\[parquet\]'"):
        data("PD10", format="parquet", out=tmp_path / "x")
    assert not list(tmp_path.iterdir())


def test_nothing_is_overwritten_unasked(tmp_path: Path) -> None:
    out = tmp_path / "kept"
    out.write_text("kept")
    with pytest.raises(PermnetError, match="exists: choose another name or add --force"):
        data("PD10", limit=1, out=out)
    assert out.read_text() == "kept"
    assert data("PD10", limit=1, out=out, force=True) == 0
    assert out.read_text().startswith("Input: <sos>")


def test_a_bad_request_writes_nothing(tmp_path: Path) -> None:
    out = tmp_path / "kept"
    out.write_text("kept")
    with pytest.raises(PermnetError, match="limit is 1 to 100000"):
        data("PD10", limit=0, out=out, force=True)
    with pytest.raises(PermnetError, match="unknown benchmark"):
        data("PD11", out=tmp_path / "new")
    assert [path.name for path in tmp_path.iterdir()] == ["kept"]
    assert out.read_text() == "kept"


@pytest.mark.parametrize("place", ["missing/file", "file/below", "", "x" * 300])
def test_unwritable_places_are_found_before_any_work(
    tmp_path: Path, place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setattr("permnet.commands.data._write", lambda *_: pytest.fail("worked first"))
    with pytest.raises(PermnetError, match="cannot write"):
        data("PD10", limit=1, out=tmp_path / place, force=True)
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


@pytest.mark.parametrize("place", ["", ".", "..", "/"])
def test_a_path_without_a_name_is_no_file(place: str) -> None:
    with pytest.raises(PermnetError, match=r"cannot write .*: it is not a regular file"):
        data("PD10", limit=1, out=Path(place))


def test_a_file_that_appears_meanwhile_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "file"

    def write(examples: object, format: object, file: IO[bytes]) -> None:
        out.write_text("of another")
        file.write(b"mine")

    monkeypatch.setattr("permnet.commands.data._write", write)
    with pytest.raises(PermnetError, match=r"has appeared .*: the output is in ") as caught:
        data("PD10", limit=1, out=out)
    assert out.read_text() == "of another"
    assert Path(str(caught.value).partition("is in ")[2]).read_text() == "mine"


def test_a_full_disk_leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("permnet.commands.data._write", full)
    with pytest.raises(PermnetError, match=r"cannot write .*: No space left on device"):
        data("PD10", limit=1, out=tmp_path / "file")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_command_that_is_ended_leaves_nothing_behind(
    number: signal.Signals, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("permnet.commands.data._write", lambda *_: signal.raise_signal(number))
    out = tmp_path / "file"
    before = signal.signal(number, signal.default_int_handler)
    try:
        with pytest.raises(SystemExit) as ended:
            main(["data", "PD10", "--out", str(out)])
        assert ended.value.code == 128 + number
        assert not list(tmp_path.iterdir())
        assert signal.signal(number, signal.SIG_IGN) is signal.default_int_handler
        assert main(["data", "PD10", "--out", str(out)]) == 0  # as under nohup
        assert out.exists()
    finally:
        signal.signal(number, before)


def test_a_reader_that_leaves_early_is_no_error() -> None:
    code = "import sys; from permnet.commands.data import data; sys.exit(data('PD10'))"
    read, write = os.pipe()
    process = subprocess.Popen([sys.executable, "-c", code], stdout=write, stderr=subprocess.PIPE)
    os.close(write)
    assert os.read(read, 6) == b"Input:"
    os.close(read)
    errors = process.communicate()[1]
    assert (process.returncode, errors) == (0, b"")
