"""The functions written by hand, and what is said of them."""

import re

import pytest

from benchmarks.handwritten import FILES, SHIPPED, WHAT, row
from permnet.decompiling.source import read
from permnet.decompiling.toolchain import Compiler
from tests.pages import ROOT, results, table


def test_there_are_120_of_one_switch_each() -> None:
    names = [function.name for path in FILES for function in read(str(path), Compiler())]
    assert len(names) == len({*names}) == 120
    for path in FILES:
        assert len(re.findall(r"\bswitch\b", path.read_text())) == 30


def test_the_docs_say_what_was_measured() -> None:
    rows = results("handwritten")["rows"]
    assert all(
        sum(found[what] for what in WHAT) == found["count"] == 120 for found in rows.values()
    )
    assert table((ROOT / "docs" / "decompile.md").read_text(), "handwritten") == [
        [name, *(str(found[what]) for what in WHAT)] for name, found in rows.items()
    ]
    said = " ".join((ROOT / "README.md").read_text().split())
    assert f"{rows[SHIPPED]['verified']} of 120" in said


@pytest.mark.slow
def test_it_is_measured_again() -> None:
    recorded, found = results("handwritten")["rows"][SHIPPED], row(None)
    # Rounding differs between processors, and may choose another answer of two alike.
    assert len({*recorded["names"]} ^ {*found["names"]}) <= 4
