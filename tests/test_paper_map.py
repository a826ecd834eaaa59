"""docs/paper-map.md says where everything of the paper lives, and it is there."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SOURCE = "\n".join(path.read_text() for path in (ROOT / "permnet").rglob("*.py"))
MAP = (ROOT / "docs" / "paper-map.md").read_text()


@pytest.mark.parametrize("number", range(1, 29))
def test_every_equation_is_found_by_its_number(number):
    assert re.search(rf"Eq\. {number}\b", SOURCE)


def test_the_map_names_every_equation_table_and_figure():
    numbers: dict[str, set[int]] = {}
    for heading, table in re.findall(r"\| (equation|table|figure) \|.*?\n((?:\|.*\n)+)", MAP):
        found = numbers.setdefault(heading, set())
        for line in table.splitlines():
            first = line.split("|")[1]
            for low, high in re.findall(r"(\d+)(?:–(\d+))?", first):
                found |= set(range(int(low), int(high or low) + 1))
    assert numbers == {
        "equation": set(range(1, 29)),
        "table": set(range(1, 14)),
        "figure": set(range(1, 7)),
    }


def test_the_modules_it_names_exist():
    for name in re.findall(r"`((?:\w+/)*\w+\.py)`", MAP):
        assert (ROOT / "permnet" / name).exists() or (ROOT / name).exists(), name
