"""The functions written by hand, those that call others, and what is said of them."""

import re

import pytest

from benchmarks.called import OTHER_TYPES, below, guesses, other_types
from benchmarks.handwritten import FILES, SHIPPED, WHAT, row
from permnet.decompiling.pipeline import Pipeline
from permnet.decompiling.source import read
from permnet.decompiling.toolchain import Compiler
from tests.pages import ROOT, results, table


@pytest.mark.parametrize("which", FILES)
def test_there_are_120_of_one_switch_each(which: str) -> None:
    files = FILES[which]
    names = [function.name for path in files for function in read(str(path), Compiler())]
    assert len(names) == len({*names}) == 120
    for path in files:
        assert len(re.findall(r"\bswitch\b", path.read_text())) == 30


def test_the_docs_say_what_was_measured() -> None:
    sets = results("handwritten")["sets"]
    assert all(
        sum(found[what] for what in WHAT) == found["count"] == 120
        for rows in sets.values()
        for found in rows.values()
    )
    assert table((ROOT / "docs" / "decompile.md").read_text(), "handwritten") == [
        [f"the {which}, {name}", *(str(found[what]) for what in WHAT)]
        for which, rows in sets.items()
        for name, found in rows.items()
    ]
    said = " ".join((ROOT / "README.md").read_text().split())
    first, *others = (rows[SHIPPED]["verified"] for rows in sets.values())
    assert f"{first} of 120 that the wider language was made for" in said
    assert " and ".join(f"{other} of 120" for other in others) in said


@pytest.mark.slow
@pytest.mark.parametrize("which", FILES)
def test_it_is_measured_again(which: str) -> None:
    recorded, found = results("handwritten")["sets"][which][SHIPPED], row(which, None)
    # Rounding differs between processors, and may choose another answer of two alike.
    assert len({*recorded["names"]} ^ {*found["names"]}) <= 4


def test_calls_are_measured() -> None:
    pipeline = Pipeline.load()
    typed, guessed, moved = other_types(pipeline, 1), guesses(pipeline, 4), below(pipeline, 4)
    assert typed["count"] == len(OTHER_TYPES)
    assert typed["verified"] >= len(OTHER_TYPES) - 1
    assert 6 <= guessed["verified"] <= guessed["count"] <= 12
    assert moved["true_c_verified"] == moved["true_c_verified_in_objects"] == moved["count"] == 12
    assert 0 < moved["on_another_stack"] < 12
