"""What the report says of the switch sets: whole programs, skeletons, recompiled, by cases."""

from permnet.experiments import switch
from permnet.report.content import Section, percent, seconds, with_interval
from permnet.report.results import Figures, Result, Tested
from permnet.report.rows import Collected, Row
from permnet.tasks.switch.benchmark import scored_on

HEADER = (
    *("model", "trained on", "tested on", "WEA", "TA", "skeleton", "recompiles", "examples"),
    *("budget", "seconds", "row", "remarks"),
)
MARKS = {"wea": "WEA", "skeleton": "skeleton", "recompiles": "recompiles"}
NOTES = (
    "Skeleton: case labels per block, in order, and the default, all right. Recompiles: compiled "
    "again, the answer gives the assembly that it was read from, names of labels aside. A model is "
    "also tested on the smaller sets with the same labels.",
)


def switch_sections(collected: Collected) -> list[Section]:
    table = switch.TABLE
    rows = [row for row in collected.rows if row.table == table.name]
    lines = [line for row in rows for line in _lines(row)]
    by_cases = [line for row in rows if row.group == "more" for line in _by_cases(row)]
    found = [Section(table.title, HEADER, tuple(lines), (*table.notes, *NOTES), table.name)]
    if by_cases:
        most = max(map(len, by_cases)) - 4
        header = ("model", "trained on", "tested on", "figure", *map(str, range(2, most + 2)))
        padded = tuple((*line, *["–"] * (len(header) - len(line))) for line in by_cases)
        found.append(Section(f"{table.title}: by number of cases", header, padded))
    return found


def _tests(row: Row) -> dict[str, Tested | None]:
    """The figures on each set that the row is shown for: rates are tried on their own set alone."""
    result, own = row.worst, row.cell.benchmark
    names = scored_on(own) if row.group == "more" else [own]
    if result is None:
        return dict.fromkeys(names)
    found = {own: Tested(result.test, result.by_length), **result.tests}
    return {name: found.get(name) for name in names}


def _lines(row: Row) -> list[tuple[str, ...]]:
    cell, result = row.cell, row.worst
    lines = []
    for name, tested in _tests(row).items():
        texts = {
            "model": cell.model,
            "trained on": cell.benchmark,
            "tested on": name,
            "WEA": "not run",
            "row": f"`{cell.name}`",
            "remarks": cell.note,
        }
        if result is not None and tested is not None:
            figures = tested.figures
            texts |= {
                "WEA": with_interval(figures),
                "TA": percent(figures.ta, 3),
                "skeleton": percent(figures.skeleton, 3),
                "recompiles": percent(figures.recompiles, 3),
                "examples": f"{figures.count:,}",
                "budget": f"{result.steps:,} steps of {result.run.train.batch:,}",
                "seconds": seconds(row.results),
                "remarks": "; ".join(filter(None, (cell.note, _validation(result)))),
            }
        lines.append(tuple(texts.get(column, "–") for column in HEADER))
    return lines


def _validation(result: Result) -> str:
    """By this the rates are chosen, and one sees whether the curve was flat at the end."""
    return f"best validation WEA {percent(result.best.wea)}, epoch {result.best.epoch}"


def _by_cases(row: Row) -> list[tuple[str, ...]]:
    """A line for each set and figure, from 2 cases on."""
    lines = []
    for name, tested in _tests(row).items():
        if tested is None:
            continue
        numbers = range(2, max(tested.by_length, default=1) + 1)
        for mark, heading in MARKS.items():
            values = [_value(tested.by_length.get(n), mark) for n in numbers]
            if any(value is not None for value in values):
                shown = (percent(value, 1) for value in values)
                lines.append((row.cell.model, row.cell.benchmark, name, heading, *shown))
    return lines


def _value(figures: Figures | None, mark: str) -> float | None:
    value: float | None = getattr(figures, mark) if figures else None
    return value
