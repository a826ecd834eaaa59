"""`permnet score`: the figures of anyone's predictions on a frozen split."""

from json import dumps
from pathlib import Path
from typing import Annotated, Any

from rich.console import Console
from rich.table import Table
from tyro.conf import Positional, arg

from permnet.report.results import put_figures
from permnet.scoring import Verify
from permnet.scoring import score as score_predictions
from permnet.tasks.benchmarks import SplitName


def score(
    benchmark: Positional[Annotated[str, arg(metavar="BENCHMARK")]],
    predictions: Positional[Annotated[Path, arg(metavar="FILE")]],
    /,
    split: SplitName = "test",
    limit: int | None = None,
    data: Path | None = None,
    recompile: bool = False,
    into: Path | None = None,
    json: bool = False,
) -> int:
    """Score a model's predictions on a benchmark.

    The file holds one row `{"output": [tokens]}` for each example of the split, in order. A leading
    `<sos>` may be left out; without `<eos>` the model did not stop, which is one wrong token.

    For example:

        permnet score PI20 predictions.jsonl
        permnet score PI20@1 predictions.jsonl --split validation --limit 1000 --json
        permnet score switch-10 predictions.jsonl --recompile
        permnet score switch-20 runs/switch/answers/switch-20.jsonl --recompile --into FILE

    Args:
        benchmark: Its name, such as PI20, PI20@1, switch-10 or switch-6-raw.
        predictions: The JSON Lines file.
        split: Which split they are for.
        limit: They are for its first so many examples only.
        data: Switch sets only: the folder of their data; without it the predictions are for the
            1,000 test examples that ship.
        recompile: Switch sets only: also compile each answer, with gcc, and see whether it gives
            the assembly that it was read from. The compiler should be the one that made the data.
        into: Add the figures to this result of a run, RESULTS/runs/NAME.json, whose answers to the
            test examples the predictions are.
        json: Print one JSON object instead of a table.
    """
    verify, compiler = recompiling() if recompile else (None, {})
    figures = score_predictions(benchmark, predictions, split, limit, data, verify) | compiler
    if into is not None:
        put_figures(into, figures)
    if json:
        print(dumps(figures))
    else:
        Console().print(figures_table(figures))
    return 0


def figures_table(figures: dict[str, Any]) -> Table:
    table = Table(title=f"{figures['benchmark']} {figures['split']}")
    table.add_column("examples")
    headings = {
        "ta": "TA %",
        "wea": "WEA %",
        "skeleton": "skeleton %",
        "recompiles": "recompiles %",
    }
    marks = [name for name in headings if name in figures]
    for heading in ("count", *(headings[name] for name in marks)):
        table.add_column(heading, justify="right")
    rows = {"all": figures}
    if figures["unseen"] is not None:
        rows["unseen in training"] = figures["unseen"]
    if len(figures["by_length"]) > 1:
        what = "cases" if "skeleton" in marks else "length"
        rows |= {f"{what} {n}": row for n, row in figures["by_length"].items()}
    for name, row in rows.items():
        table.add_row(name, str(row["count"]), *(_percent(row[mark]) for mark in marks))
    low, high = figures["wea_interval"]
    table.caption = (
        f"WEA, 95 % interval: {_percent(low)} to {_percent(high)}\n"
        f"data sha256 {figures['data_sha256'][:12]}…"
    )
    again = figures.get("recompiled_by")
    if again and again != figures["compiler"]:
        table.caption += f"\nrecompiled by {again}, but the data are of {figures['compiler']}"
    return table


def recompiling() -> tuple[Verify, dict[str, str]]:
    """What tells whether answers recompile, and by which compiler; an error where there is none."""
    from permnet.decompiling.verify import verify
    from permnet.tasks.switch.compiler import find_compiler

    return verify, {"recompiled_by": find_compiler()[1]}


def _percent(fraction: float | None) -> str:
    return "–" if fraction is None else f"{100 * fraction:.2f}"
