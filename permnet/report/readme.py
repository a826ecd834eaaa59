"""The README's table of results, which stands between two marks."""

from pathlib import Path

from permnet.report.content import best, percent, permnets
from permnet.report.markdown import grid
from permnet.report.rows import Collected, Row

BEGIN, END = "<!-- results -->\n", "\n<!-- /results -->"


def readmes(folder: Path, collected: Collected) -> dict[Path, str]:
    """The folder's README.md with its table renewed; nothing if it has none."""
    path = folder / "README.md"
    if not path.is_file():
        return {}
    before, begin, rest = path.read_text("utf-8").partition(BEGIN)
    _, end, after = rest.partition(END)
    return {path: before + begin + _table(collected) + end + after} if end else {}


def _table(collected: Collected) -> str:
    found = permnets(collected)
    lines = (
        ("the paper", *(percent(row.cell.paper_wea) for row, _ in found)),
        ("its settings", *(_worst(row) for row, _ in found)),
        ("our settings", *(_worst(best(tried)) for _, tried in found)),
    )
    return grid(("", *(row.cell.benchmark for row, _ in found)), lines)


def _worst(row: Row | None) -> str:
    return percent(row.worst.test.wea if row and row.worst else None)
