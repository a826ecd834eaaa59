"""The paper's experiments as data: its tables with our runs, and the sweeps that train them."""

import itertools
from collections.abc import Iterable

from permnet.config import ModelConfig, Run, TrainConfig
from permnet.errors import unknown
from permnet.experiments import (
    dispatch,
    noise,
    switch,
    table1,
    table2,
    table3,
    table4,
    table5,
    table6,
    table7,
    worth,
)
from permnet.experiments.tables import PERMNETS, Cell, Table

_DRAWN: tuple[Table, ...] = tuple(
    module.TABLE
    for module in (table1, table2, table3, table4, table5, table6, table7, noise, worth)
)
TABLES: tuple[Table, ...] = (*_DRAWN, switch.TABLE)

_TINY = TrainConfig(
    epochs=2, batch=128, examples=1024, rate=0.01, evaluate_every=1, evaluate_limit=200
)

# From a minute of a GPU to most of an hour.
_QUICK_FIRST = (
    *("PI10", "PI_DICT", "PI20", "PI1-10", "PD1-10", "PD10", "PD20"),
    *("PI40", "PD40", "PI100", "PD100"),
)


def _runs(cells: Iterable[Cell]) -> dict[str, Run]:
    return {name: run for cell in cells for name, run in cell.runs.items()}


def _is_permnet(cell: Cell) -> bool:
    return cell.model in PERMNETS


_given = [cell for table in _DRAWN for cell in table.cells + table.more]
_ours = [cell for table in _DRAWN for cell in table.ours]

SWEEPS: dict[str, dict[str, Run]] = {
    "smoke": {
        "smoke-PD1-10": Run("PD1-10", ModelConfig("permnetd", embedding=16, hidden=8), _TINY),
        "smoke-PI1-10": Run("PI1-10", ModelConfig("permneti", embedding=16, hidden=8), _TINY),
    },
    "paper-permnets": _runs(
        sorted(
            (cell for table in _DRAWN[:5] for cell in table.cells if _is_permnet(cell)),
            key=lambda cell: _QUICK_FIRST.index(cell.benchmark),
        )
    ),
    **{table.name: _runs(table.all_cells) for table in _DRAWN},
    "switch": _runs(switch.TABLE.more),
    "switch-rates": _runs(switch.RATE_CELLS),
    "switch-parts": _runs(switch.PARTS),
    "switch-long": _runs(switch.LONG),
    "dispatch": dispatch.RUNS,
    "dispatch-rates": dispatch.AT_RATES,
    "baselines": _runs(itertools.filterfalse(_is_permnet, _given)),
    "ours": _runs(filter(_is_permnet, _ours)),
    "rates": _runs(itertools.filterfalse(_is_permnet, _ours)),
}
"""Name → the runs of a sweep by their names, in the order they matter."""


def runs_of(name: str) -> dict[str, Run]:
    """The runs of a sweep; of a row of a table, `permneti-PI10`; or one run with its seed."""
    rows = {cell.name: cell.runs for table in TABLES for cell in table.all_cells}
    single = {run: {run: runs[run]} for runs in SWEEPS.values() for run in runs}
    known = single | rows | SWEEPS
    if name not in known:
        raise unknown("sweep", name, SWEEPS, known)
    return known[name]
