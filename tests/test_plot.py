"""Pictures of trained models: they show the model's own numbers, in every format."""

import errno
import json
import subprocess
import sys
from pathlib import Path
from typing import IO

import numpy as np
import pytest
import torch

from permnet import plot
from permnet.checkpoint import load
from permnet.cli import main
from permnet.errors import PermnetError
from permnet.explore.record import sample
from tests.test_resolve import small

ROOT = Path(__file__).parent.parent
RESULT = ROOT / "results" / "runs" / "permneti-PI20-seed0.json"
QUESTION = "a 2 b 1 c 3 <sep> 1 3 2"
LINE = {"step": 3, "epoch": 1, "seconds": 1.5, "loss": 2.0, "ta": 0.25, "wea": 0.125, "stage": 4}
STARTS = {"png": b"\x89PNG", "svg": b"<?xml", "pdf": b"%PDF"}


def image(figure) -> np.ndarray:
    return np.asarray(figure.axes[0].get_images()[0].get_array())


def names(axis) -> list[str]:
    return [label.get_text() for label in axis.get_ticklabels()]


def test_m_dp_is_the_model_s_and_its_boxes_are_the_solver_s() -> None:
    trained = load("PI1-4")
    figure = plot.m_dp(trained, QUESTION)
    ids, _ = trained.vocab.encode(["<sos>", *QUESTION.split(), "<eos>"])
    with torch.no_grad():
        m_dp = trained.model.encode(torch.tensor([ids])).resolver.m_dp[0]
    assert np.array_equal(image(figure), m_dp[1:7, 8:11].numpy())
    axes = figure.axes[0]
    assert names(axes.xaxis) == ["1", "3", "2"]
    assert names(axes.yaxis) == ["a", "2", "b", "1", "c", "3"]
    corners = [tuple(np.add(box.get_xy(), 0.5)) for box in axes.patches]
    assert corners == [(0, 2), (1, 4), (2, 0)]
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("query", "data and their keys")


def test_the_rows_of_m_dp_end_at_sep_whatever_noise_follows() -> None:
    trained = small("PI10-noise").checkpoint
    axes = plot.m_dp(trained, "a 2 ~1 b 1 <sep> ~3 ~0 1 ~7 2").axes[0]
    assert names(axes.yaxis) == ["a", "2", "~1", "b", "1"]
    assert names(axes.xaxis) == ["1", "2"]
    corners = [tuple(np.add(box.get_xy(), 0.5)) for box in axes.patches]
    assert corners == [(0, 3), (1, 0)]


def test_roles_are_shares_of_every_token() -> None:
    trained = load("PI10")
    text = sample(trained.task, 0)
    axes = plot.roles(trained, text).axes[0]
    assert names(axes.xaxis) == ["<sos>", *text.split(), "<eos>"]
    heights = np.array([[bar.get_height() for bar in bars] for bars in axes.containers])
    ids, _ = trained.vocab.encode(names(axes.xaxis))
    with torch.no_grad():
        label = trained.model.encode(torch.tensor([ids])).resolver.m_label[0]
    assert np.allclose(heights, label.numpy().T)
    assert [bars.get_label() for bars in axes.containers] == list(plot.ROLES)


def test_the_index_embedding_is_the_weight() -> None:
    trained = load("PD1-4")
    figure = plot.index_embedding(trained)
    weight = trained.model.get_parameter("resolver.emb_ind.weight").detach().numpy()
    assert np.array_equal(image(figure), weight)
    assert names(figure.axes[0].yaxis)[-1] == "9"


def test_curves_come_from_results_and_from_runs_under_way(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    lines = [json.dumps(LINE), json.dumps(LINE | {"epoch": 2, "wea": 0.5})]
    (tmp_path / "run" / "metrics.jsonl").write_text("\n".join(lines) + '\n{"step": 9, "ep')
    figure = plot.learning_curves([RESULT, tmp_path / "run"])
    left, right = figure.axes
    stored = json.loads(RESULT.read_text())["curve"]
    assert right.lines[0].get_ydata().tolist() == [100 * point[5] for point in stored]
    assert left.lines[1].get_xdata().tolist() == [1, 2]
    assert right.lines[1].get_ydata().tolist() == [12.5, 50.0]
    assert [line.get_label() for line in left.lines] == ["permneti-PI20-seed0", "run"]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("metrics.jsonl", "", "no learning curve"),
        ("metrics.jsonl", "nonsense\n", "does not hold evaluations"),
        ("metrics.jsonl", '{"step": 1}\n', "does not hold evaluations"),
        ("metrics.jsonl", json.dumps(LINE | {"ta": "x"}) + "\n", "expected float"),
        ("else", "", "cannot read"),
    ],
)
def test_a_run_without_a_curve_says_so(tmp_path: Path, name, content, message) -> None:
    (tmp_path / name).write_text(content)
    with pytest.raises(PermnetError, match=message):
        plot.curve(tmp_path)


@pytest.mark.parametrize(
    "content", ["[]", "{}", '{"curve": 3}', '{"curve": [3]}', '{"curve": [[1, 2]]}', "nothing"]
)
def test_a_file_without_a_curve_says_so(tmp_path: Path, content) -> None:
    (tmp_path / "result.json").write_text(content)
    with pytest.raises(PermnetError, match=r"no learning curve|cannot read"):
        plot.curve(tmp_path / "result.json")


@pytest.mark.parametrize("kind", STARTS)
def test_the_command_writes_each_format_the_same_every_time(kind, tmp_path, capsys) -> None:
    out = tmp_path / f"picture.{kind}"
    arguments = ["plot", "m_dp", "--model", "PI1-4", "--example", QUESTION, "--out", str(out)]
    assert main(arguments) == 0
    assert capsys.readouterr().out == f"{out}\n"
    first = out.read_bytes()
    assert first.startswith(STARTS[kind])
    assert main(arguments) == 2
    assert "exists" in capsys.readouterr().err
    assert main([*arguments, "--force"]) == 0
    assert out.read_bytes() == first


def test_tokens_are_drawn_as_they_are_written(tmp_path: Path) -> None:
    figure = plot.m_dp(load("PI1-4"), "$x^2$ <b> $\\nonsense{$ 2 <sep> 2 <b>")
    plot.write(figure, tmp_path / "odd.svg")  # mathematics that is none would be an error
    assert names(figure.axes[0].yaxis)[2] == "$\\nonsense{$"


def test_letters_that_no_font_has_are_a_warning_of_one_line(tmp_path: Path, capsys) -> None:
    question = ["--example", "\u65e5 1 \u65e5\u672c 2 <sep> 2 1", "--out", str(tmp_path / "x.svg")]
    assert main(["plot", "m_dp", "--model", "PI1-4", *question]) == 0
    told = capsys.readouterr().err.splitlines()
    assert len(told) == 2
    assert all(line.startswith("permnet: warning: Glyph ") for line in told)


def test_a_picture_is_replaced_when_the_new_one_is_complete(
    tmp_path: Path, capsys, monkeypatch: pytest.MonkeyPatch
) -> None:
    out, link = tmp_path / "x.png", tmp_path / "link.png"
    out.write_bytes(b"old")
    link.symlink_to(out)
    drawn = ["plot", "index-embedding", "--model", "PD10", "--force", "--out"]

    def full(self: object, file: IO[bytes], **_: object) -> None:
        file.write(b"new")
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("matplotlib.figure.Figure.savefig", full)
    assert main([*drawn, str(out)]) == 2
    assert main([*drawn, str(link)]) == 2
    told = capsys.readouterr().err.splitlines()
    assert "No space left" in told[0]
    assert "it is a symbolic link" in told[1]
    assert out.read_bytes() == b"old"
    assert sorted(tmp_path.iterdir()) == [link, out]


def test_the_other_pictures_from_the_command_line(tmp_path: Path) -> None:
    for arguments in (
        ["roles", "--model", "PI10"],
        ["index-embedding", "--model", "PD10"],
        ["curves", str(RESULT)],
    ):
        out = tmp_path / f"{arguments[0]}.png"
        assert main(["plot", *arguments, "--out", str(out)]) == 0
        assert out.stat().st_size > 5000


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["m_dp"], "name one with --model"),
        (["m_dp", str(RESULT), "--model", "PI10"], "name one with --model"),
        (["m_dp", "--model", "PD10"], "no M_dp"),
        (["roles", "--model", "PD10"], "no roles"),
        (["roles", "--model", "PI10", "--example", "a 1"], "one <sep>"),
        (["m_dp", "--model", "PI1-4", "--example", ""], "the question is empty"),
        (["index-embedding", "--model", "PI10"], "no index embedding"),
        (["index-embedding", "--model", "PD10", "--example", "a"], "--example is for"),
        (["curves"], "curves are of runs"),
        (["curves", "/nothing.json"], "cannot read /nothing.json"),
        (["curves", str(RESULT), "--model", "PI10"], "curves are of runs"),
    ],
)
def test_bad_input_is_one_line_and_exit_code_2(arguments, message, tmp_path, capsys) -> None:
    out = tmp_path / "x.png"
    assert main(["plot", *arguments, "--out", str(out)]) == 2
    told, err = capsys.readouterr()
    assert (told, err.count("\n")) == ("", 1)
    assert message in err
    assert not out.exists()


@pytest.mark.parametrize(("name", "message"), [("x.gif", "does not end in"), ("a/x.png", "cannot")])
def test_files_that_cannot_be_written(name, message, tmp_path, capsys) -> None:
    out = tmp_path / name
    assert main(["plot", "index-embedding", "--model", "PD10", "--out", str(out)]) == 2
    assert message in capsys.readouterr().err


def test_without_matplotlib_it_says_what_to_install() -> None:
    code = (
        "import importlib.util as u; real = u.find_spec\n"
        "u.find_spec = lambda n: None if n == 'matplotlib' else real(n)\n"
        "from permnet.cli import main\n"
        "raise SystemExit(main(['plot', 'curves', 'x', '--out', 'x.png']))"
    )
    run = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert run.returncode == 2
    assert "permnet[plot]" in run.stderr
