"""Figures 4 to 6 as data: a matrix out of a trained model, and what it shows as a number.

They are measured once, where the checkpoints are, and kept in `results/figures.json`.
"""

import json
from dataclasses import asdict, dataclass
from pathlib import Path

from permnet.config import from_json
from permnet.errors import PermnetError
from permnet.report.results import read_json

FILE = "figures.json"


@dataclass(frozen=True)
class Figure:
    """A heat map with a name for each row and column, and its claim in words and as a fraction."""

    title: str
    claim: str
    measured: float
    checkpoint: str
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    matrix: tuple[tuple[float, ...], ...]

    def __post_init__(self) -> None:
        widths = {len(row) for row in self.matrix}
        if len(self.matrix) != len(self.rows) or widths != {len(self.columns)} or not self.rows:
            raise PermnetError(f"{self.title}: the matrix does not fit its rows and columns")


def read_figures(folder: Path) -> dict[str, Figure]:
    """Those in the folder of results, by name, `Figure 4`; none if there is no such file."""
    path = folder / FILE
    if not path.exists():
        return {}
    raw = read_json(path)
    if not isinstance(raw, dict):
        raise PermnetError(f"{path} is not a JSON object")
    return {name: from_json(Figure, figure, f"{path}: {name}") for name, figure in raw.items()}


def write_figures(folder: Path, figures: dict[str, Figure]) -> None:
    lines = (
        f"{json.dumps(name)}: {json.dumps(asdict(figure))}" for name, figure in figures.items()
    )
    (folder / FILE).write_text("{" + ",\n".join(lines) + "}\n")
