"""Results beside the paper's figures: a row for each cell of each table, run or not."""

from collections.abc import Iterator
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from statistics import fmean
from typing import Any

from permnet.config import Run
from permnet.errors import PermnetError
from permnet.experiments import TABLES
from permnet.experiments.tables import PERMNETS, Cell, Seen, Table
from permnet.report.results import Result, read_results
from permnet.tasks.switch.benchmark import is_switch

SOLVED = 0.99
"""WEA from which a benchmark counts as solved."""
FALL = 0.01
"""Loss of WEA from which an ablation counts as harmful, and seeds as unlike."""


@dataclass(frozen=True)
class Row:
    """A cell with the results of the seeds that were run. The worst of them is the headline."""

    table: str
    group: str
    """`cells`, `more` or `ours`, as in `experiments.tables.Table`."""
    cell: Cell
    results: tuple[Result, ...]

    @property
    def worst(self) -> Result | None:
        return min(self.results, key=lambda r: (r.test.wea, r.test.ta), default=None)

    @property
    def validated(self) -> float:
        """WEA of the worst seed on the validation split, at the end; the test split picks none."""
        return min((result.last.wea for result in self.results), default=-1.0)

    @property
    def seeds(self) -> list[int]:
        return [result.run.train.seed for result in self.results]

    @property
    def cut_off(self) -> Seen | None:
        """What was seen of a run that has no result; None once it has one."""
        seen = self.cell.seen
        return seen if 0 not in self.seeds else None

    @property
    def ta(self) -> float | None:
        """The mean over the seeds."""
        return fmean(result.test.ta for result in self.results) if self.results else None

    @property
    def wea(self) -> float | None:
        """The mean over the seeds."""
        return fmean(result.test.wea for result in self.results) if self.results else None

    @property
    def solved(self) -> bool:
        return self.worst is not None and self.worst.test.wea >= SOLVED

    @property
    def is_baseline(self) -> bool:
        return self.cell.model not in PERMNETS

    @property
    def is_ours_alone(self) -> bool:
        """Whether the paper has no figure to hold it against."""
        return self.group != "cells" and self.cell.paper_wea is None

    @property
    def label(self) -> str:
        """The model, or what it was left without."""
        return f"without {self.cell.variant}" if self.cell.variant else self.cell.model

    def difference(self) -> tuple[float, float, float] | None:
        """WEA of the worst seed less the paper's, and the 95 % interval of ours around it."""
        if self.worst is None or self.cell.paper_wea is None:
            return None
        test, paper = self.worst.test, self.cell.paper_wea
        low, high = test.interval
        return test.wea - paper, low - paper, high - paper

    def to_json(self) -> dict[str, Any]:
        """For programs; a cell that was not run has no seeds, and null for what was not measured.

        `ta` and `wea` are means over the seeds; `file` and `budget` are those of the worst one.
        """
        cell, worst = self.cell, self.worst
        any_run = next(iter(cell.runs.values()))
        return {
            "table": self.table,
            "model": cell.model,
            "benchmark": cell.benchmark,
            "variant": cell.variant,
            "recipe": cell.recipe,
            "track": worst.track if worst else None,
            "seeds": self.seeds,
            "ta": self.ta,
            "wea": self.wea,
            "wea_worst_seed": worst.test.wea if worst else None,
            "paper_ta": cell.paper_ta,
            "paper_wea": cell.paper_wea,
            "budget": {
                "steps": worst.steps if worst else None,
                "epochs": worst.epochs if worst else None,
                "batch": any_run.train.batch,
                "rate": any_run.train.rate,
                "seconds": worst.seconds if worst else None,
            },
            "data_sha256": worst.data_sha256 if worst else None,
            "file": worst.file if worst else None,
            **(self._of_switches() if is_switch(cell.benchmark) else {}),
            "row": cell.name,
        }

    def _of_switches(self) -> dict[str, Any]:
        """What only switch sets have; `tests` are the figures on other sets than its own."""
        worst = self.worst
        return {
            "skeleton": worst.test.skeleton if worst else None,
            "recompiles": worst.test.recompiles if worst else None,
            "by_cases": {n: asdict(part) for n, part in worst.by_length.items()} if worst else {},
            "tests": {name: asdict(t.figures) for name, t in worst.tests.items()} if worst else {},
        }


@dataclass(frozen=True)
class Collected:
    """All rows, and the results that belong to none."""

    rows: tuple[Row, ...]
    others: tuple[Result, ...]

    @property
    def results(self) -> tuple[Result, ...]:
        """Each once, though a result may stand in several rows."""
        named = {result.name: result for row in self.rows for result in row.results}
        return (*named.values(), *self.others)


def collect(folder: Path) -> Collected:
    """The rows of all tables from the results in a folder."""
    results = read_results(folder)
    rows = tuple(
        Row(table.name, group, _beside_the_paper(cell, table), _of_cell(cell, results))
        for table in TABLES
        for group in ("cells", "more", "ours")
        for cell in getattr(table, group)
    )
    used = {name for row in rows for name in row.cell.runs}
    return Collected(rows, tuple(r for name, r in results.items() if name not in used))


def _beside_the_paper(cell: Cell, table: Table) -> Cell:
    """A cell in a recipe of ours is measured against what the paper says of that model there."""
    here = (cell.model, cell.benchmark, cell.variant)
    for known in table.cells:
        if (known.model, known.benchmark, known.variant) == here:
            return replace(cell, paper_ta=known.paper_ta, paper_wea=known.paper_wea)
    return cell


def _of_cell(cell: Cell, results: dict[str, Result]) -> tuple[Result, ...]:
    found = []
    for name, run in cell.runs.items():
        if name in results:
            field = _differing(results[name].run, run)
            if field:
                raise PermnetError(
                    f"{results[name].file} was not trained as {name} is: {field} differs; "
                    "rename the file or train it again"
                )
            found.append(results[name])
    if len({result.data_sha256 for result in found}) > 1:
        raise PermnetError(
            f"the runs of {found[0].name} and its other seeds were tested on different data"
        )
    return tuple(found)


def _differing(found: Run, wanted: Run) -> str | None:
    """The first setting in which two runs differ."""
    if found.benchmark != wanted.benchmark:
        return "benchmark"
    for part in ("model", "train"):
        one, other = getattr(found, part), getattr(wanted, part)
        for field in fields(one):
            if getattr(one, field.name) != getattr(other, field.name):
                return f"{part}.{field.name}"
    return None


@dataclass(frozen=True)
class Direction:
    """Whether WEA falls without a part, in the paper and here."""

    row: Row
    paper: bool
    fallen: tuple[bool, ...] | None
    """Of each seed; None where the full model falls short of the paper's: nothing is told."""

    @property
    def ours(self) -> bool | None:
        """At the worst seed."""
        return None if self.fallen is None else any(self.fallen)


def ablations(rows: list[Row]) -> Iterator[tuple[Row, Row]]:
    """The full model and one without a part, in the same recipe, where both have results."""
    full = {_in_recipe(row): row for row in rows if row.cell.variant is None}
    for row in rows:
        base = full.get(_in_recipe(row)) if row.cell.variant else None
        if base and base.results and row.results:
            yield base, row


def directions(rows: list[Row]) -> list[Direction]:
    """Of each ablation that the paper and we both ran."""
    found = []
    for base, row in ablations(rows):
        if row.cell.paper_wea is None or base.cell.paper_wea is None:
            continue
        assert row.worst is not None
        assert base.worst is not None
        paper = base.cell.paper_wea - row.cell.paper_wea >= FALL
        short = base.cell.paper_wea - base.worst.test.wea >= FALL
        # What does as well as the paper's full model has not fallen, whatever ours does.
        refuted = paper and base.cell.paper_wea - row.worst.test.wea < FALL
        told = refuted or not short
        found.append(Direction(row, paper, _fallen(base, row) if told else None))
    return found


def _fallen(base: Row, row: Row) -> tuple[bool, ...]:
    """Below the worst of the seeds that both have: of more seeds the worst is worse by chance."""
    both = {*base.seeds} & {*row.seeds} or {*base.seeds, *row.seeds}
    whole, without = (
        [result.test.wea for result in one.results if result.run.train.seed in both]
        for one in (base, row)
    )
    return tuple(min(whole) - wea >= FALL for wea in without)


def _in_recipe(row: Row) -> tuple[str, str]:
    return row.cell.benchmark, row.cell.recipe
