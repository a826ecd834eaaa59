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

_SHOWN = {
    "Figure 4": "on the diagonal in every row",
    "Figure 5": "on the datum in every column",
    "Figure 6": "on the pair of key and datum in every column",
}
# What else was looked at, by the run that is drawn.
_OTHERS = {
    "permnetd-PD40-fresh-seed0": "The other model looked at, `permnetd-PD40-quick-seed0`, has it "
    "there in 38 of 40 rows (`docs/log.md`).",
    "permneti-PI20-quick-seed1": "Of nine models looked at it is the only one that does: its two "
    "other seeds, and three seeds each of PI10 and PI20 at the paper's settings, have it there in "
    "none of the columns (`docs/log.md`).",
    "permneti-PI10-without-m_d-small-seed0": "Of its two other seeds one has it on the datum in "
    "27 % of the columns, one in none, and both prefer data (`docs/log.md`).",
}


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
    run: str
    vocabulary: tuple[float, ...] = ()
    """Of Figure 6: what the fixed-vocabulary part gives data tokens, keys and special tokens."""

    def __post_init__(self) -> None:
        widths = {len(row) for row in self.matrix}
        if len(self.matrix) != len(self.rows) or widths != {len(self.columns)} or not self.rows:
            raise PermnetError(f"{self.title}: the matrix does not fit its rows and columns")


def verdict(name: str, figure: Figure) -> str:
    """Whether it is as the paper shows it, and what other models looked at say."""
    said = f"The paper shows it {_SHOWN[name]}: this model {_agrees(figure.measured)}."
    if figure.vocabulary:
        data, *rest = figure.vocabulary
        said += f" It says that this part prefers data: this model {_agrees(data > max(rest))}."
    return " ".join(filter(None, (said, _OTHERS.get(figure.run))))


def _agrees(share: float) -> str:
    if 0 < share < 1:
        return "agrees in part"
    return "agrees" if share else "does not agree"


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
