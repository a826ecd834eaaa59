"""What the tests of the documentation's tables share."""

import json
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]


def results(name: str) -> Any:
    return json.loads((ROOT / "results" / f"{name}.json").read_text())


def table(page: str, name: str) -> list[list[str]]:
    """The cells of the rows between a page's marks of that name, without the heading."""
    block = page.partition(f"<!-- {name} -->")[2].partition(f"<!-- /{name} -->")[0]
    lines = block.strip().splitlines()[2:]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
