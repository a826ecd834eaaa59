"""The README's commands do what it shows, and its figures are those of the results."""

import json
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text()
# What makes a README's training a test's: the same command, on little data.
SMALL = shlex.split(
    "--train.epochs 1 --train.examples 512 --train.batch 256 --train.evaluate-limit 50 "
    "--test-limit 50 --device cpu"
)


def console() -> list[tuple[list[str], str]]:
    """The README's permnet commands, each with the output shown under it."""
    found: list[tuple[list[str], str]] = []
    for block in re.findall(r"```console\n(.*?)```", README, re.S):
        for line in block.splitlines():
            if line.startswith("$ "):
                found.append((shlex.split(line[2:], comments=True), ""))
            else:
                command, shown = found[-1]
                found[-1] = command, f"{shown}{line}\n"
    return [(command[1:], shown) for command, shown in found if command[0] == "permnet"]


def run(arguments: list[str], cwd: Path) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "permnet", *arguments], cwd=cwd, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def commands(*names: str) -> list[tuple[list[str], str]]:
    return [(command, shown) for command, shown in console() if command[0] in names]


@pytest.mark.parametrize(("command", "shown"), commands("resolve", "data", "models"))
def test_commands_print_what_is_shown(command, shown, tmp_path):
    pattern = ".*".join(map(re.escape, shown.strip().split("…")))
    assert re.fullmatch(pattern if shown else ".+", run(command, tmp_path).strip(), re.S)


@pytest.mark.parametrize(("command", "shown"), commands("decompile"))
def test_decompiling_prints_what_is_shown(command, shown):
    pattern = ".*".join(map(re.escape, shown.strip().split("…")))
    assert re.fullmatch(pattern, run(command, ROOT).strip(), re.S)


def test_training_commands_work_one_after_the_other(tmp_path):
    for command, _ in commands("train"):
        run([*command, *SMALL], tmp_path)
    for command, _ in commands("eval"):
        figures = json.loads(run([*command, "--limit", "50"], tmp_path))
        assert figures["benchmark"] == "PI10@1"
    for command, _ in commands("sweep"):
        assert "permneti-PI10-seed0" in run([*command, "--dry-run"], tmp_path)


def test_python_examples_run(tmp_path, monkeypatch):
    (block,) = re.findall(r"```python\n(.*?)```", README, re.S)
    split = run(["data", "PI20", "--format", "jsonl"], tmp_path)
    (tmp_path / "predictions.jsonl").write_text(split)
    monkeypatch.chdir(tmp_path)
    exec(block, {})


def test_figures_are_those_of_the_results(tmp_path):
    rows = json.loads(run(["report", "--json", "--results", str(ROOT / "results")], tmp_path))
    best, given = {}, {}
    for row in rows:
        if row["model"].startswith("permnet") and row["variant"] is None and row["seeds"]:
            key = row["recipe"], row["benchmark"]
            runs = [ROOT / f"results/runs/{row['row']}-seed{seed}.json" for seed in row["seeds"]]
            chosen_by = min(json.loads(p.read_text())["validation"]["last"]["wea"] for p in runs)
            if key not in best or chosen_by > best[key][0]:
                best[key] = chosen_by, row["wea_worst_seed"], row["track"]
            given[row["benchmark"]] = row["paper_wea"]
    table = README.partition("<!-- results -->")[2].partition("<!-- /results -->")[0]
    lines = [[c.strip() for c in line.split("|")[1:-1]] for line in table.strip().splitlines()]
    body = {line[0]: line[1:] for line in lines[2:]}
    for benchmark, cell in zip(lines[0][1:], body["the paper"], strict=True):
        assert cell == f"{100 * given[benchmark]:.2f}"
    for name, recipe in (("its settings", "paper"), ("our settings", "ours")):
        for benchmark, cell in zip(lines[0][1:], body[name], strict=True):
            found = best.get((recipe, benchmark))
            assert cell == ("–" if found is None else f"{100 * found[1]:.2f}"), (name, benchmark)
    *some, last = (name for name in lines[0][1:] if best["ours", name][2] == "fresh")
    said = f"{', '.join(some)} and {last} were trained on more than the frozen 100,000 examples"
    assert said in " ".join(README.split())
    frozen = {row["row"]: 100 * row["wea_worst_seed"] for row in rows if row["track"] == "fixed"}
    ten, forty = (frozen[f"permnetd-{name}-quick"] for name in ("PD1-10", "PD40"))
    assert f"PD1-10 reaches {ten:.3f} %, PD40 {forty:.3f} %" in " ".join(README.split())


def test_seconds_are_those_of_the_runs():
    def seconds(row: str, device: str) -> list[int]:
        runs = (
            json.loads(p.read_text()) for p in (ROOT / "results/runs").glob(f"{row}-seed?.json")
        )
        return [round(run["seconds"]) for run in runs if run["hardware"]["device"] == device]

    def span(*rows: str) -> tuple[int, int]:
        found = [n for row in rows for n in seconds(row, "NVIDIA H200")]
        return min(found), max(found)

    short = span("permnetd-PD1-10-fresh", "permnetd-PD10-quick", "permnetd-PD20-quick")
    middle = span(*(f"permneti-{n}" for n in ("PI20-quick", "PI40-bounded", "PI_DICT-bounded")))
    (pd40, _), (pd100, _) = span("permnetd-PD40-fresh"), span("permnetd-PD100-grow")
    said = " ".join(README.split())
    assert "{} to {} seconds for PermNetD up to length 20".format(*short) in said
    assert f"{pd40} and {pd100} for PD40 and PD100" in said
    assert "{} to {} for PermNetI on PI20, PI40 and PI_DICT".format(*middle) in said
    assert f"{span('permneti-PI100-wide')[0]} on PI100" in said
    minutes = [round(max(seconds(f"permneti-{n}-small", "cpu")) / 60) for n in ("PI10", "PI1-10")]
    assert minutes == [4, 8]
    assert "PI10 takes four minutes of a CPU, PI1-10 eight" in said


def test_links_lead_somewhere():
    for page in (ROOT / "README.md", *(ROOT / "docs").glob("*.md")):
        for link in re.findall(r"\]\(([^)#]+)\)", page.read_text()):
            if not link.startswith("http"):
                assert (page.parent / link).exists(), f"{page.name}: {link}"
