"""`permnet report`: the paper's tables with our figures beside its own."""

import sys
from json import dumps
from pathlib import Path

from permnet.errors import PermnetError
from permnet.report.content import sections
from permnet.report.figures import read_figures, write_figures
from permnet.report.markdown import markdown
from permnet.report.page import page
from permnet.report.readme import readmes
from permnet.report.rows import collect
from permnet.report.speed import speed_sections
from permnet.report.switch import switch_sections


def report(
    results: Path = Path("results"),
    out: Path = Path("."),
    checkpoints: Path | None = None,
    json: bool = False,
    check: bool = False,
) -> int:
    """Write the paper's tables and figures with ours beside them.

    Every figure comes from the results of runs, RESULTS/runs/NAME.json, as sweeps leave them. It
    writes RESULTS.md and report.html, one page with learning curves, and renews the table in the
    README.md there, if it has one between `<!-- results -->` and `<!-- /results -->`.

    For example:

        permnet report
        permnet report --checkpoints runs/table7
        permnet report --json
        permnet report --check

    Args:
        results: The folder of results.
        out: Where to write.
        checkpoints: Look into the trained models in this folder, checkpoints or runs of a sweep,
            for Figures 4 to 6, and keep what is found in RESULTS/figures.json.
        json: Print the rows of all tables as JSON and write nothing.
        check: Write nothing; fail if what is there does not follow from the results.
    """
    wishes = {"--json": json, "--check": check, "--checkpoints": checkpoints is not None}
    if len(given := [name for name, wish in wishes.items() if wish]) > 1:
        raise PermnetError(f"{given[0]} and {given[1]} are two different things: choose one")
    collected = collect(results)
    if json:
        print(dumps([row.to_json() for row in collected.rows], indent=1, allow_nan=False))
        return 0
    figures = read_figures(results)
    if checkpoints is not None:
        from permnet.report.measure import measure

        figures = dict(sorted((figures | measure(checkpoints)).items()))
        write_figures(results, figures)
    said = [
        *sections(collected, figures),
        *switch_sections(collected),
        *speed_sections(results),
    ]
    files = {
        out / "RESULTS.md": markdown(said),
        out / "report.html": page(said, collected, figures),
    }
    files |= readmes(out, collected)
    if check:
        return _check(files)
    out.mkdir(parents=True, exist_ok=True)
    for path, text in files.items():
        path.write_text(text, "utf-8")
        print(path)
    return 0


def _check(files: dict[Path, str]) -> int:
    """The page may be missing, for it can be made at any time; RESULTS.md may not."""
    for path, expected in files.items():
        there = path.read_text("utf-8") if path.exists() else None
        if there is None and path.suffix == ".html":
            continue
        if there != expected:
            print(f"{path} does not follow from the results: run permnet report", file=sys.stderr)
            return 1
    return 0
