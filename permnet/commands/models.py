"""`permnet models`: the trained models that come with the package."""

from json import dumps
from typing import Any

from rich.console import Console
from rich.table import Table


def models(json: bool = False) -> int:
    """List the trained models that come with permnet.

    For example:

        permnet models
        permnet models --json

    Args:
        json: Print a JSON list instead of a table.
    """
    rows = _rows()
    if json:
        print(dumps(rows, allow_nan=False))
        return 0
    # It fits a terminal of 80 columns; on a narrower one nothing is cut off, but goes on below.
    table = Table(box=None, padding=(0, 2, 0, 0))
    table.add_column("name", no_wrap=True)
    for heading in ("model", "benchmark"):
        table.add_column(heading, overflow="fold")
    for heading in ("parameters", "KiB", "WEA %"):
        table.add_column(heading, overflow="fold", justify="right")
    for row in rows:
        wea = (row["figures"] or {}).get("wea")
        table.add_row(
            row["name"],
            row["model"],
            row["benchmark"],
            f"{row['parameters']:,}",
            f"{row['bytes'] / 1024:,.0f}",
            "–" if wea is None else f"{100 * wea:.3f}",
        )
    Console().print(table)
    return 0


def _rows() -> list[dict[str, Any]]:
    from permnet.checkpoint import find, load, shipped

    rows = []
    for name in shipped():
        checkpoint = load(name)
        rows.append(
            {
                "name": name,
                "model": checkpoint.run.model.name,
                "benchmark": checkpoint.run.benchmark,
                "parameters": sum(p.numel() for p in checkpoint.model.parameters()),
                "bytes": sum(path.stat().st_size for path in find(name).iterdir()),
                "figures": checkpoint.provenance.get("figures"),
            }
        )
    return rows
