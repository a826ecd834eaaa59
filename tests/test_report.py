"""The report: what it makes of results, of missing ones and of broken ones."""

import copy
import json
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from permnet.build import build
from permnet.checkpoint import SHIPPED, Checkpoint, save
from permnet.cli import main
from permnet.config import ModelConfig, Run, to_json
from permnet.experiments import SWEEPS, runs_of
from permnet.metrics import wilson
from permnet.report import measure
from permnet.report.figures import Figure, read_figures, verdict
from permnet.report.rows import collect
from permnet.report.speed import speed_sections
from permnet.report.svg import Line, heat_map, line_chart
from permnet.tasks.benchmarks import benchmark
from permnet.tasks.switch.benchmark import scored_on

RUNS = {name: run for runs in SWEEPS.values() for name, run in runs.items()}
KEYS = (
    *("table", "model", "benchmark", "variant", "recipe", "track", "seeds", "ta", "wea"),
    *("wea_worst_seed", "paper_ta", "paper_wea", "budget", "data_sha256", "file", "row"),
)


def result(name: str, wea: float, **changes: Any) -> dict[str, Any]:
    """What a sweep would have written, with made-up figures."""
    figures = {"ta": (1 + wea) / 2, "wea": wea, "count": 1000}
    point = {"wea": wea, "epoch": 90}
    return {
        "status": "finished",
        "run": to_json(RUNS[name]),
        "track": "fixed",
        "seconds": 12.5,
        "steps": 1200,
        "epochs": 100,
        "epochs_to_99": 20 if wea > 0.99 else None,
        "validation": {"last": point, "best": point},
        "hardware": {"device": "abacus"},
        "test": {
            **figures,
            "unseen": {"ta": None, "wea": None, "count": 0},
            "by_length": {"9": figures, "10": figures},
            "data_sha256": "d1",
        },
        "curve": [[600, 50, 6.1, 1.4, 0.5, 0.1, 10], [1200, 100, 12.5, 0.1, 0.9, wea, 10]],
        **changes,
    }


@pytest.fixture
def results(tmp_path: Path) -> Path:
    folder = tmp_path / "results"
    (folder / "runs").mkdir(parents=True)
    return folder


def put(results: Path, name: str, wea: float = 0.5, **changes: Any) -> Path:
    path = results / "runs" / f"{name}.json"
    path.write_text(json.dumps(result(name, wea, **changes)))
    return path


def report(results: Path, *options: str) -> int:
    return main(["report", "--results", str(results), "--out", str(results.parent), *options])


def rows(results: Path, capsys: pytest.CaptureFixture[str]) -> list[dict[str, Any]]:
    assert report(results, "--json") == 0
    printed: list[dict[str, Any]] = json.loads(capsys.readouterr().out)
    return printed


def text(results: Path) -> str:
    return (results.parent / "RESULTS.md").read_text()


def lines(results: Path) -> dict[tuple[str, str], list[str]]:
    """The table lines of RESULTS.md by section and row name."""
    found, section = {}, ""
    for line in (results.parent / "RESULTS.md").read_text().splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if line.startswith("## "):
            section = line[3:].split(".")[0]
        elif len(cells) == 15:
            found[section, cells[13].strip("`")] = cells
    return found


def switch_result(name: str, wea: float, **more: float) -> dict[str, Any]:
    """What a run on a switch set would have left, on its own set and on the smaller ones."""
    figures = {"ta": (1 + wea) / 2, "wea": wea, "skeleton": 0.75, "count": 1000, **more}
    by_length = {"2": figures, "5": {**figures, "wea": wea / 2}}
    tested = {**figures, "unseen": None, "by_length": by_length, "data_sha256": "d2"}
    smaller = dict.fromkeys(scored_on(RUNS[name].benchmark)[:-1], tested)
    return result(name, wea, test=tested, tests=smaller)


def test_switch_sets_have_a_section_of_their_own(
    results: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    name = "decompiler-switch-20-seed0"
    path = results / "runs" / f"{name}.json"
    path.write_text(json.dumps(switch_result(name, 0.9, recompiles=0.5)))
    assert report(results) == 0
    text = (results.parent / "RESULTS.md").read_text()
    section = text.split("## Switch statements out of assembly\n")[1].split("\n## ")[0]
    grid = [line.strip("|").split(" | ") for line in section.splitlines() if line[:1] == "|"]
    lines = {(cells[0].strip(), *cells[1:3]): cells[3:8] for cells in reversed(grid)}
    for tested_on in ("switch-6", "switch-10", "switch-20"):
        low, high = wilson(900, 1000)
        assert lines["decompiler", "switch-20", tested_on] == [
            f"90.000 [{100 * low:.3f}, {100 * high:.3f}]",
            *("95.000", "75.000", "50.000", "1,000"),
        ]
        assert lines["copy-decompiler", "switch-20", tested_on][:2] == ["not run", "–"]
    by_cases = text.split("## Switch statements out of assembly: by number of cases\n")[1]
    header, _, *rows = [line for line in by_cases.split("\n## ")[0].splitlines() if line]
    assert header.endswith("| figure | 2 | 3 | 4 | 5 |")
    assert "| decompiler | switch-20 | switch-10 | WEA | 90.0 | – | – | 45.0 |" in rows
    assert "| decompiler | switch-20 | switch-10 | recompiles | 50.0 | – | – | 50.0 |" in rows
    capsys.readouterr()
    assert report(results, "--json") == 0
    printed = {
        (row["model"], row["benchmark"], row["budget"]["rate"], row["budget"]["epochs"]): row
        for row in json.loads(capsys.readouterr().out)
        if row["table"] == "switch"
    }
    [row] = [row for row in printed.values() if row["seeds"]]
    assert (row["skeleton"], row["recompiles"], row["wea"]) == (0.75, 0.5, 0.9)
    assert row["tests"]["switch-6"]["recompiles"] == 0.5
    assert row["by_cases"]["5"]["wea"] == 0.45


def test_answers_that_were_not_compiled_show_no_figure(results: Path) -> None:
    name = "copy-decompiler-switch-6-raw-seed0"
    path = results / "runs" / f"{name}.json"
    path.write_text(json.dumps(switch_result(name, 1.0)))
    assert report(results) == 0
    text = (results.parent / "RESULTS.md").read_text()
    assert "| 100.000 | 75.000 | – | 1,000 |" in text
    path.write_text(json.dumps(switch_result(name, 1.0, skeleton=1.5)))
    assert report(results) == 2


def test_the_worst_seed_is_the_headline(results: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for seed, wea in enumerate((0.999, 0.25, 1.0)):
        put(results, f"permneti-PI10-seed{seed}", wea)
    [row] = [r for r in rows(results, capsys) if r["seeds"] and r["table"] == "table3"]
    assert tuple(row) == KEYS
    assert row["seeds"] == [0, 1, 2]
    assert row["wea"] == pytest.approx((0.999 + 0.25 + 1) / 3)
    assert row["ta"] == pytest.approx((1.999 + 1.25 + 2) / 6)
    assert row["wea_worst_seed"] == 0.25
    assert row["file"] == "results/runs/permneti-PI10-seed1.json"
    assert (row["model"], row["benchmark"], row["variant"]) == ("permneti", "PI10", None)
    assert (row["recipe"], row["track"]) == ("paper", "fixed")
    assert (row["paper_ta"], row["paper_wea"], row["data_sha256"]) == (1.0, 1.0, "d1")
    assert row["budget"]["steps"] == 1200
    assert row["row"] == "permneti-PI10"

    assert report(results) == 0
    line = lines(results)["Table 3", "permneti-PI10"]
    low, high = (100 * value for value in wilson(250, 1000))
    assert line[:4] == ["permneti", "PI10", "paper", "3"]
    assert line[4] == f"25.000 [{low:.3f}, {high:.3f}]"
    assert line[5] == "100.00"
    assert line[6] == f"-75.000 [{low - 100:+.3f}, {high - 100:+.3f}]"
    assert line[9] == f"{100 * row['wea']:.3f}"
    assert "WEA by seed 99.90, 25.00, 100.00; tested on 1,000 examples only" in line[14]


def test_the_same_result_stands_in_every_table_that_has_it(
    results: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    put(results, "permneti-PI10-seed0")
    assert [r["table"] for r in rows(results, capsys) if r["seeds"]] == ["table3", "table7"]


def test_our_own_recipe_stands_beside_the_paper_s_figure(
    results: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    put(results, "permneti-PI_DICT-long-seed0", 0.9982)
    [row] = [r for r in rows(results, capsys) if r["seeds"]]
    assert (row["recipe"], row["paper_ta"], row["paper_wea"]) == ("ours", 0.9994, 0.9972)
    assert report(results) == 0
    assert lines(results)["Table 5", "permneti-PI_DICT-long"][6].startswith("+0.100 [")


def test_cells_that_were_not_run_say_so(results: Path, capsys: pytest.CaptureFixture[str]) -> None:
    put(results, "permneti-PI20-seed1")
    everything = rows(results, capsys)
    empty = [row for row in everything if not row["seeds"]]
    assert len(empty) == len(everything) - 2
    assert all(row["wea"] is row["wea_worst_seed"] is row["file"] is None for row in empty)
    assert report(results) == 0
    table = lines(results)
    assert table["Table 3", "permneti-PI10"][4] == "not run"
    assert table["Table 3", "permneti-PI20"][3] == "1 of 3"


def test_rows_that_the_paper_leaves_empty_are_marked(results: Path) -> None:
    assert report(results) == 0
    table = lines(results)
    for name, marked in (
        ("Table 7", "permneti-PI20-without-m_d"),
        ("Table 7", "permneti-PI40-without-m_d-grown"),
        ("Table 6", "permnetd-PD40-without-m_ind-quick"),
        ("Table 1", "pointer-PD10"),
    ):
        assert table[name, marked][0].endswith(" †")
    for name, plain in (
        ("Table 7", "permneti-PI20-without-attn-grown"),
        ("Table 6", "permnetd-PD40-without-fixed-vocab"),
        ("Table 2", "permnetd-PD40-quick"),
        ("Tokens that do not matter (not in the paper)", "permnetd-PD10-noise"),
    ):
        assert not table[name, plain][0].endswith("†")
    said = [part for part in text(results).split("\n## ") if "† Ours alone" in part]
    assert [part[:7] for part in said] == ["Table 1", "Table 3", "Table 6", "Table 7"]


def test_a_run_that_was_cut_off_is_told_until_it_has_a_result(results: Path) -> None:
    assert report(results) == 0
    line = lines(results)["Table 1", "transformer-PD10-tf32"]
    assert line[3:5] == ["0", "cut off"]
    assert line[14].endswith(
        "no result: cut off after 490 of 500 epochs, with 61 % of the validation examples right"
    )
    assert lines(results)["Table 3", "gru-attention-PI20"][14].endswith("still on its plateau")
    assert "| cut off: 61 of validation (0.00) |" in text(results)
    put(results, "transformer-PD10-seed0", 0.25)  # in bf16; what was seen in TF32 was better
    assert report(results) == 0
    assert "| 25.000; cut off: 61 of validation (0.00) |" in text(results)
    put(results, "transformer-PD10-tf32-seed0", 0.5)
    assert report(results) == 0
    assert "cut off" not in " ".join(lines(results)["Table 1", "transformer-PD10-tf32"])
    assert "cut off: 61" not in text(results)


def test_seconds_on_a_gpu_and_on_a_cpu_stand_apart(results: Path) -> None:
    put(results, "permneti-PI10-seed0", seconds=16.9)
    put(results, "permneti-PI10-seed1", seconds=1224.6, hardware={"device": "cpu"})
    put(results, "permneti-PI10-seed2", seconds=1058.1, hardware={"device": "cpu"})
    assert report(results) == 0
    assert lines(results)["Table 3", "permneti-PI10"][12] == "17 GPU; 1,058–1,225 CPU"


def test_a_baseline_that_fails_is_not_solved(results: Path) -> None:
    put(results, "gru-PI10-seed0", 0.0)
    put(results, "copynet-PI10-seed0", 0.995)
    put(results, "permneti-PI10-seed0", 0.0)
    assert report(results) == 0
    table = lines(results)
    remark = "not solved in 1,200 steps (best validation WEA 0.00, epoch 90)"
    assert remark in table["Table 3", "gru-PI10"][14]
    assert "not solved" not in table["Table 3", "copynet-PI10"][14]
    assert "not solved" not in table["Table 3", "permneti-PI10"][14]


@pytest.mark.parametrize(
    ("stopped", "reason"),
    [
        (None, ""),
        ("patience", ", 50 % of its epochs without a lower validation loss"),
        ("time", ", its time limit of 240 s"),
    ],
)
def test_a_baseline_that_was_ended_says_by_what(
    results: Path, stopped: str | None, reason: str
) -> None:
    put(results, "gru-PI1-10-seed0", 0.0, stopped=stopped)
    assert report(results) == 0
    remark = lines(results)["Table 3", "gru-PI1-10"][14]
    assert remark.startswith(f"not solved in 1,200 steps{reason} (best")


@given(base=st.integers(0, 1000) | st.integers(985, 1000), ablated=st.integers(0, 1000))
def test_the_direction_of_an_ablation(
    tmp_path_factory: pytest.TempPathFactory, base: int, ablated: int
) -> None:
    folder = tmp_path_factory.mktemp("direction") / "results"
    (folder / "runs").mkdir(parents=True)
    put(folder, "permneti-PI10-seed0", base / 1000)
    put(folder, "permneti-PI10-without-mlogsoft-seed0", ablated / 1000)
    assert report(folder) == 0
    text = (folder.parent / "RESULTS.md").read_text()
    if 1.0 - max(base, ablated) / 1000 >= 0.01:  # the paper's full model has all of them
        assert "ablations go the way" not in text
        assert "below the paper's: without mlogsoft on PI10 (1)." in text
        return
    falls = base / 1000 - ablated / 1000 >= 0.01  # as in the paper
    assert f"{int(falls)} of 1 ablations go the way the paper says" in text
    said = "without mlogsoft on PI10 it falls in the paper and holds here"
    assert (said in text) == (not falls)


def test_an_ablation_is_held_against_the_full_model_in_its_own_recipe(results: Path) -> None:
    put(results, "permneti-PI10-seed0", 1.0)
    put(results, "permneti-PI10-without-mlogsoft-seed0", 0.5)
    put(results, "permneti-PI10-without-mlogsoft-small-seed0", 0.5)
    assert report(results) == 0
    text = (results.parent / "RESULTS.md").read_text()
    assert "At the paper's settings, 1 of 1 ablations go the way the paper says" in text
    assert "At our own" not in text
    put(results, "permneti-PI10-small-seed0", 1.0)
    put(results, "permneti-PI10-without-mlogsoft-small-seed0", 1.0)
    assert report(results) == 0
    text = (results.parent / "RESULTS.md").read_text()
    assert "At our own, 0 of 1 ablations go the way the paper says" in text


def test_ablations_say_how_soon_they_were_there(results: Path) -> None:
    for seed in range(2):
        put(results, f"permneti-PI10-seed{seed}", 1.0)
    put(results, "permneti-PI10-without-mlogsoft-seed0", 0.5)
    put(results, "permneti-PI10-without-fixed-vocab-seed0", 0.5)  # the paper says nothing of it
    assert report(results) == 0
    told = "without mlogsoft on PI10 – (full 20, 20; the paper: slower)."
    assert f"Epochs to 99 %, by seed, growing lengths counted: {told}" in text(results)


def test_an_ablation_is_held_against_the_same_seeds(results: Path) -> None:
    for seed, (full, without) in enumerate(((0.999, 0.988), (0.992, 0.983))):
        put(results, f"permneti-PI10-seed{seed}", full)
        put(results, f"permneti-PI10-without-mlogsoft-seed{seed}", without)
    assert report(results) == 0
    assert "0 of 1 ablations" in text(results)  # 0.992 less 0.983
    assert "in some seeds only" not in text(results)
    put(results, "permneti-PI10-without-mlogsoft-seed1", 0.5)
    assert report(results) == 0
    assert "1 of 1 ablations" in text(results)
    said = "At the paper's settings it falls in some seeds only: without mlogsoft on PI10 (1 of 2)."
    assert said in text(results)
    (results / "runs" / "permneti-PI10-without-mlogsoft-seed1.json").unlink()
    assert report(results) == 0
    assert "1 of 1 ablations" in text(results)  # 0.999 less 0.988, not 0.992 less 0.988
    put(results, "permneti-PI10-seed2", 0.9)
    assert report(results) == 0
    assert "Not counted at the paper's settings, since the full model's worst seed" in text(results)


def test_an_ablation_that_works_refutes_the_paper_though_the_full_model_fails(
    results: Path,
) -> None:
    put(results, "permneti-PI20-seed0", 0.9)
    put(results, "permneti-PI20-without-mlogsoft-seed0", 1.0)  # 0 in the paper
    put(results, "permneti-PI20-without-attn-seed0", 1.0)  # 100 in the paper
    assert report(results) == 0
    assert "0 of 1 ablations" in text(results)
    assert "without mlogsoft on PI20 it falls in the paper and holds here" in text(results)
    assert "below the paper's: without attn on PI20 (1)." in text(results)


def test_at_a_glance_the_best_own_recipe_stands_beside_the_paper_s(results: Path) -> None:
    put(results, "permneti-PI40-quick-seed0", 0.5)
    put(results, "permneti-PI40-long-seed0", 0.9)
    put(results, "permneti-PI40-long-seed1", 0.7)
    put(results, "permneti-PI10-small-seed0", 0.3, track="fresh")
    put(results, "permneti-PI10-without-m_d-small-seed0", 1.0)
    assert report(results) == 0
    text = (results.parent / "RESULTS.md").read_text().partition("## The baselines")[0]
    rows = {line.split(" | ")[0]: line.split(" | ") for line in text.splitlines()}
    assert rows["| PI40"][3].startswith("70.000")
    assert rows["| PI40"][4:] == ["fixed", "`permneti-PI40-long`", "2 |"]
    assert rows["| PI10"][3].startswith("30.000")
    assert rows["| PI10"][4:] == ["fresh", "`permneti-PI10-small`", "1 |"]
    assert rows["| PD10"][3:] == ["–", "–", "–", "0 |"]


def test_the_test_split_picks_no_recipe(results: Path) -> None:
    ends = ({"wea": 0.0, "epoch": 30}, {"wea": 1.0, "epoch": 30})
    behind, ahead = ({"last": at, "best": {"wea": 1.0, "epoch": 9}} for at in ends)
    put(results, "permneti-PI40-long-seed0", 0.9, validation=behind)
    put(results, "permneti-PI40-bounded-seed0", 0.8, validation=ahead)
    assert report(results) == 0
    assert "] | fixed | `permneti-PI40-bounded` | 2 |" in text(results)


def test_at_a_glance_baselines_stand_beside_the_paper_s_and_say_what_they_solve(
    results: Path,
) -> None:
    put(results, "gru-PI10-seed0", 0.2)
    put(results, "gru-PI10-rate0.001-seed0", 0.995)
    put(results, "copynet-PI10-seed0", 1.0)
    put(results, "pointer-PI10-seed0", 1.0)
    put(results, "transformer-PI10-seed0", 0.9)
    assert report(results) == 0
    text = (results.parent / "RESULTS.md").read_text().partition("## The baselines")[2]
    grid, _, rest = text.partition("## Table 1")[0].partition("\n\nSolved here")
    header, _, *rows = (line.strip("| ").split(" | ") for line in grid.splitlines()[2:])
    found = {row[0]: dict(zip(header, row, strict=True)) for row in rows}
    assert found["PI10"]["gru"] == "99.500 (0.00)"
    assert found["PI10"]["copynet"] == "100.000 (99.97)"
    assert found["PI10"]["pointer"] == "100.000"
    assert found["PI10"]["transformer"] == "90.000 (0.00)"
    assert found["PD1-10"]["gru"] == "not run (0.00)"
    assert found["PI_DICT"]["gru"] == "–"
    assert rest.split("\n\n")[0].endswith("not in the paper: gru on PI10.")


def test_runs_of_one_s_own_are_listed(results: Path) -> None:
    path = put(results, "permneti-PI10-seed0")
    path.rename(path.with_name("my-own.json"))
    assert report(results) == 0
    (line,) = re.findall(r"\| my-own \| PI10 \|.*", text(results))
    assert line.endswith("| 75.000 | 1,000 | 1,200 | 12 GPU |")


def test_check_fails_when_the_table_does_not_follow(
    results: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    put(results, "permneti-PI10-seed0", 0.5)
    assert report(results, "--check") == 1  # nothing was written yet
    assert not (results.parent / "RESULTS.md").exists()
    assert report(results) == 0
    assert report(results, "--check") == 0
    capsys.readouterr()
    for name in ("RESULTS.md", "report.html"):
        path = results.parent / name
        good = path.read_text()
        path.write_text(good.replace("50.000", "99.000", 1))
        assert report(results, "--check") == 1
        assert capsys.readouterr().err.count("\n") == 1
        path.write_text(good)
    (results.parent / "report.html").unlink()
    assert report(results, "--check") == 0
    put(results, "permneti-PI10-seed0", 0.51)
    assert report(results, "--check") == 1


@pytest.mark.parametrize(
    "options",
    [("--json", "--check"), ("--check", "--checkpoints", "."), ("--json", "--checkpoints", ".")],
)
def test_two_different_things_are_not_done_at_once(results: Path, options, capsys) -> None:
    put(results, "permneti-PI10-seed0", 0.5)
    assert report(results, *options) == 2
    assert f"{options[0]} and {options[1]} are two different things" in capsys.readouterr().err


def test_the_table_of_the_readme_is_renewed_and_checked(results: Path) -> None:
    readme = results.parent / "README.md"
    readme.write_text("Mine.\n")
    put(results, "permneti-PI10-seed0", 0.5)
    put(results, "permneti-PI10-small-seed0", 0.75)
    assert report(results) == 0
    assert readme.read_text() == "Mine.\n"
    readme.write_text("Mine.\n<!-- results -->\nold\n<!-- /results -->\nYours.\n")
    assert report(results, "--check") == 1
    assert report(results) == 0
    assert report(results, "--check") == 0
    before, table, after = re.split("<!-- /?results -->\n", readme.read_text())
    assert (before, after) == ("Mine.\n", "Yours.\n")
    header, _, paper, theirs, ours = (line.split(" | ") for line in table.splitlines())
    at = header.index("PI10")
    assert [row[at] for row in (paper, theirs, ours)] == ["100.00", "50.00", "75.00"]
    assert ours[header.index("PI20")] == "–"


def test_every_row_has_a_name_of_its_own(results: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = rows(results, capsys)
    assert len({(row["table"], row["row"]) for row in found}) == len(found)


def test_the_output_is_the_same_every_time(results: Path) -> None:
    for name in ("permneti-PI10-seed0", "gru-PI10-seed0", "permneti-PI100-grow-seed0"):
        put(results, name)
    texts = []
    for _ in range(2):
        assert report(results) == 0
        texts.append([(results.parent / f).read_text() for f in ("RESULTS.md", "report.html")])
    assert texts[0] == texts[1]


class Balanced(HTMLParser):
    """Fails on an element that is not closed in its place."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.polylines = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.polylines += tag == "polyline"
        assert not any(name in ("src", "href") and "data:" not in str(v) for name, v in attrs)
        if tag != "meta":
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        self.open.pop()

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_the_page_stands_alone_and_shows_every_curve(results: Path) -> None:
    put(results, "permneti-PI40-seed0")
    put(results, "permneti-PI100-grow-seed0", track="fresh")
    assert report(results) == 0
    page = (results.parent / "report.html").read_text()
    parser = Balanced()
    parser.feed(page)
    parser.close()
    assert parser.open == []
    assert "http" not in page
    # Two tables hold PI40, one PI100; each has a curve and, made up here, two lengths.
    assert parser.polylines == 6
    assert "prefers-color-scheme: dark" in page


def test_a_learning_curve_begins_at_the_full_length(results: Path) -> None:
    growing = [[100, 7, 1.0, 0.5, 1.0, 1.0, 4], [200, 13, 2.0, 0.5, 0.25, 0.0, 10]]
    put(results, "permneti-PI10-noise-grow-seed0", curve=[*growing, [300, 20, 3, 0, 1, 1, 10]])
    (drawn,) = collect(results).results
    assert [point.epoch for point in drawn.at_full_length] == [13, 20]
    assert report(results) == 0
    page = (results.parent / "report.html").read_text()
    (line,) = re.findall('<polyline points="([^"]*)"[^>]*><title>permneti-PI10-noise', page)[:1]
    assert len(line.split()) == 2


def test_rows_are_as_wide_as_their_widest_words(results: Path) -> None:
    put(results, "permneti-PI10-seed0")
    assert report(results) == 0
    page = (results.parent / "report.html").read_text()
    assert re.search(r"<td class=words>[\d.]+ \[[\d.]+,\u00a0[\d.]+\]</td>", page)
    assert "<td>PI10</td>" in page
    assert page.count("<table") == page.count('<div class="wide" tabindex="0"><table')


def test_titles_are_not_cut_off_and_code_is_code(tmp_path: Path) -> None:
    results = Path(__file__).parents[1] / "results"
    assert main(["report", "--results", str(results), "--out", str(tmp_path)]) == 0
    page = (tmp_path / "report.html").read_text()
    titles = re.findall('class="title">([^<]*)<', page)
    assert 10 < max(map(len, titles)) <= 40  # as wide as the page draws a chart
    assert "`" not in page


def test_charts_escape_what_they_are_given() -> None:
    assert "<script" not in line_chart("<script>", "<script>", [Line("<script>", 0, ((1, 0.5),))])
    drawn = heat_map("<script>", ["<script>"], ["<script>"], [[0.0]])
    assert "<script" not in drawn
    assert "data:image/png" in drawn


def _broken(change: Callable[[dict[str, Any]], object]) -> str:
    raw = copy.deepcopy(result("permneti-PI10-seed0", 0.5))
    change(raw)
    return json.dumps(raw)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "Expecting value"),
        ("{", "Expecting property name"),
        ("[]", "not the result of a finished run"),
        ('{"status": "unfinished"}', "not the result of a finished run"),
        ('{"status": "finished"}', "is not a result: KeyError"),
        ("[" * 100_000, "cannot read"),
        (_broken(lambda r: r.update(seconds=float("nan"))), "NaN is not a finite number"),
        (_broken(lambda r: r.update(seconds=1)).replace(": 1,", ": 1e999,"), "1e999"),
        (_broken(lambda r: r["test"].update(wea=1.5)), "fractions of 1 example or more"),
        (_broken(lambda r: r["test"].update(wea="1")), "test.wea: expected float"),
        (_broken(lambda r: r["test"].update(count=0)), "fractions of 1 example or more"),
        (_broken(lambda r: r.update(test=[])), "is not a result: TypeError"),
        (_broken(lambda r: r.update(track="mixed")), "result.track"),
        (_broken(lambda r: r.update(stopped="bored")), "result.stopped"),
        (_broken(lambda r: r.pop("steps")), "result: the field 'steps' is missing"),
        (_broken(lambda r: r["run"]["model"].update(name="lstm")), "run.model.name"),
        (_broken(lambda r: r["run"]["train"].update(rate=0.1)), "train.rate differs"),
        (_broken(lambda r: r["run"].update(benchmark="PI20")), "benchmark differs"),
        (_broken(lambda r: r.update(curve=[[1, 2]])), "zip()"),
        (_broken(lambda r: r.update(curve=[["a"] * 7])), "curve.step: expected int"),
        (_broken(lambda r: r["test"]["by_length"].update(ten={})), "invalid literal"),
    ],
)
def test_a_broken_result_is_one_line_of_error(
    results: Path, capsys: pytest.CaptureFixture[str], text: str, message: str
) -> None:
    (results / "runs" / "permneti-PI10-seed0.json").write_text(text)
    assert report(results) == 2
    error = capsys.readouterr().err
    assert "permneti-PI10-seed0.json" in error
    assert message in error
    assert error.count("\n") == 1
    assert not (results.parent / "RESULTS.md").exists()


def test_seeds_of_one_row_are_tested_on_the_same_data(
    results: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    put(results, "permneti-PI10-seed0")
    path = put(results, "permneti-PI10-seed1")
    path.write_text(path.read_text().replace('"d1"', '"d2"'))
    assert report(results) == 2
    assert "tested on different data" in capsys.readouterr().err


def test_files_that_are_no_results_are_left_alone(results: Path) -> None:
    (results / "other.json").write_text("[not JSON")
    (results / "runs" / "notes.txt").write_text("hello")
    assert collect(results).results == ()
    assert report(results) == 0
    assert "Nothing was run." in (results.parent / "RESULTS.md").read_text()


def test_a_missing_folder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert report(tmp_path / "nowhere") == 2
    assert "is not a folder" in capsys.readouterr().err


def test_a_row_can_be_trained_by_its_name(results: Path) -> None:
    for row in collect(results).rows:
        assert runs_of(row.cell.name) == row.cell.runs


def test_tables_need_no_torch(results: Path) -> None:
    put(results, "permneti-PI10-seed0")
    code = (
        "import sys\n"
        "for name in ('torch', 'matplotlib'): sys.modules[name] = None\n"
        "from permnet.commands.report import report\n"
        "from pathlib import Path\n"
        f"sys.exit(report(Path({str(results)!r}), Path({str(results.parent)!r})))"
    )
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)


def trained(
    folder: Path, name: str, where: str, without: str | None = None, **more: Any
) -> Checkpoint:
    """An untrained model as a checkpoint."""
    run = Run(where, ModelConfig(name=name, embedding=8, hidden=4, without=without, **more))
    task = benchmark(where).task
    torch.manual_seed(0)
    model = build(run.model, task.vocab(), task)
    save(folder, model, run, task.vocab(), {})
    return Checkpoint(run, task, task.vocab(), {}, model.eval())


def test_figures_are_measured_and_kept(results: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = results.parent / "checkpoints"
    trained(folder / "PD40", "permnetd", "PD40")
    trained(folder / "PI20", "permneti", "PI20")
    shutil.copytree(SHIPPED / "switch-dispatch", folder / "switch-dispatch")  # in no figure
    assert report(results, "--checkpoints", str(folder)) == 0
    text = (results.parent / "RESULTS.md").read_text()
    assert "Figure 4, of `PD40`: the largest weight stands on the diagonal in" in text
    assert "Figure 5, of `PI20`: the largest value of a query's column stands on the datum" in text
    assert "Figure 6: not measured." in text
    trained(folder / "ablation" / "last", "permneti", "PI10", "m_d")
    assert "Figure 6" not in measure.measure(folder)  # a run that is not finished
    (folder / "ablation" / "result.json").touch()
    assert report(results, "--checkpoints", str(folder)) == 0
    text = (results.parent / "RESULTS.md").read_text()
    assert "Figure 6, of `ablation`: " in text
    assert "the fixed-vocabulary part gives data tokens" in text
    assert report(results) == 0  # without the models: what was found is kept
    assert (results.parent / "RESULTS.md").read_text() == text
    assert (results.parent / "report.html").read_text().count("data:image/png") == 3
    assert report(results, "--check") == 0
    (results / "figures.json").write_text('{"Figure 4": {"title": 3}}')
    capsys.readouterr()
    assert report(results) == 2
    assert "figures.json: Figure 4.title: expected str" in capsys.readouterr().err


def test_a_model_with_additions_of_ours_is_in_no_figure_of_the_paper(tmp_path: Path) -> None:
    trained(tmp_path / "equal", "permneti", "PI20", equal=True)
    assert not measure.measure(tmp_path)
    trained(tmp_path / "plain", "permneti", "PI20")
    assert measure.measure(tmp_path)["Figure 5"].run == "plain"


@pytest.mark.parametrize(
    ("measured", "vocabulary", "said"),
    [
        (
            1.0,
            (),
            "The paper shows it on the pair of key and datum in every column: this model agrees.",
        ),
        (0.8, (), ": this model agrees in part."),
        (
            0.0,
            (0.9, -2.0, -3.0),
            "does not agree. It says that this part prefers data: this model agrees.",
        ),
        (0.0, (0.9, -2.0, 1.0), "prefers data: this model does not agree."),
    ],
)
def test_a_figure_agrees_with_the_paper_or_not(measured, vocabulary, said) -> None:
    drawn = Figure("M_dp", "", measured, "x", ("a",), ("a",), ((0.0,),), "x", vocabulary)
    assert verdict("Figure 6", drawn).endswith(said)


def test_the_figures_that_are_drawn_say_what_other_models_show() -> None:
    drawn = read_figures(Path(__file__).parents[1] / "results")
    for name, figure in drawn.items():
        assert verdict(name, figure).endswith("(`docs/log.md`).")


@pytest.mark.parametrize("model", ["PD40", "PI20"])
def test_figures_are_those_of_the_shipped_models(tmp_path: Path, model: str) -> None:
    shutil.copytree(SHIPPED / model, tmp_path / model)
    drawn = read_figures(Path(__file__).parents[1] / "results")
    ((name, figure),) = measure.measure(tmp_path).items()
    assert figure.run == drawn[name].run
    assert figure.measured == pytest.approx(drawn[name].measured, abs=0.001)


def test_figure_4_counts_the_diagonal(tmp_path: Path) -> None:
    model = trained(tmp_path / "PD40", "permnetd", "PD40")
    weight = model.model.get_parameter("resolver.emb_ind.weight")
    with torch.no_grad():
        weight.zero_()
        weight[-40:] = torch.eye(40)
        weight[-1, -1] = -2.0
    figure = measure.index_embedding(model, "PD40")
    assert figure.measured == 39 / 40
    assert "in 39 of 40 index rows (by absolute value in 40)" in figure.claim
    assert figure.rows[-40:] == tuple(map(str, range(40)))


def test_figure_5_follows_the_solver(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measure, "EXAMPLES", 20)
    seen = measure._Seen(trained(tmp_path / "PI10", "permneti", "PI10"))
    seen.m_dp = torch.zeros_like(seen.m_dp)
    for tokens, m_dp in zip(seen.tokens, seen.m_dp, strict=True):
        for column in range(tokens.index("<sep>") + 1, len(tokens) - 1):
            key = tokens.index(tokens[column])
            m_dp[key - 1, column], m_dp[key, column] = 2.0, 1.0
    assert seen.shares() == (1.0, 0.0)
    seen.m_dp = seen.m_dp.roll(1, dims=1)
    assert seen.shares() == (0.0, 1.0)
    assert seen.shares() != measure._Seen(trained(tmp_path / "x", "permneti", "PI10")).shares()


def test_figure_6_agrees_wherever_in_the_pair_the_largest_value_stands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(measure, "EXAMPLES", 20)
    monkeypatch.setattr(measure._Seen, "shares", lambda _: (0.25, 0.75))
    figure = measure.without_m_d(trained(tmp_path / "x", "permneti", "PI10", "m_d"), "x")
    assert "every column: this model agrees." in verdict("Figure 6", figure)


def test_the_vocabulary_part_is_averaged_over_the_data_steps(tmp_path: Path) -> None:
    model = trained(tmp_path / "PI10", "permneti", "PI10", "m_d")
    part: Any = model.model.get_submodule("vocabulary")
    with torch.no_grad():
        part.weight.zero_()
        part.bias.copy_(torch.tensor([9.0] + [1.0] * 3 + [2.0] * 10 + [-3.0] * 10))
    assert measure._Seen(model).vocabulary_logits() == pytest.approx((2.0, -3.0, 1.0))


def speed_results(folder: Path) -> Path:
    """A folder with what the benchmarks of speed write, made up."""
    about = {"hardware": {"device": "NVIDIA H200"}, "date": "2026-11-15T00:00:00+00:00"}
    step = {"preset": "PI10", "what": "train_step", "precision": "tf32", "ours_ms": 6.0} | about
    step |= {"yardstick_ms": 48.0, "ratio": 8.0, "peak_gib": 1.9, "floor_ms": 1.5}
    growth = [
        {"model": "permneti", "length": n, "ours_ms": 0.01 * n**2, "yardstick_ms": 2.0 * n,
         "peak_gib": 1.0}
        for n in (10, 40, 100, 200)
    ]  # fmt: skip
    solved = {"benchmark": "PI10", "seed": 0, "solved": True, "wea": 0.9991, "seconds": 12.5}
    failed = {"benchmark": "PD20", "seed": 1, "solved": False, "wea": 0.5, "seconds": 99.0}
    rows = [row | {"steps": 10} for row in (solved, failed)]
    folder.mkdir()
    (folder / "speed.json").write_text(json.dumps([step]))
    grown = {**about, "hidden": 128, "batch": 512, "rows": growth}
    (folder / "growth.json").write_text(json.dumps(grown))
    (folder / "solve.json").write_text(json.dumps({**about, "rows": rows}))
    return folder


def test_speed_is_told_with_the_exponents_of_growth(tmp_path):
    steps, growth, solving = speed_sections(speed_results(tmp_path / "results"))
    assert steps.rows[0][:7] == ("PI10", "tf32", "6.00", "48.00", "8.0 ×", "1.50", "25 %")
    assert "permneti, ours: n to the power of 2.00" in growth.notes[0]
    assert "permneti, straightforward: n to the power of 1.00" in growth.notes[0]
    assert [row[2] for row in solving.rows] == ["12.5", "not solved"]


def test_the_page_draws_growth_and_stays_well_formed(tmp_path):
    results = speed_results(tmp_path / "results")
    assert main(["report", "--results", str(results), "--out", str(tmp_path)]) == 0
    text = (tmp_path / "report.html").read_text()
    assert text.count("<polyline") == 2
    assert "Milliseconds of a step" in text


def test_a_broken_speed_file_is_named(tmp_path, capsys):
    results = speed_results(tmp_path / "results")
    (results / "growth.json").write_text('{"rows": [{}]}')
    assert main(["report", "--results", str(results), "--out", str(tmp_path)]) == 2
    assert "growth.json" in capsys.readouterr().err
