"""Drawn switches: their truth is the source's, and what is proven of them is the truth."""

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.realset_clang import source_switches
from benchmarks.switch_fuzz import judged, verdict
from benchmarks.switch_fuzz_source import PRELUDE, sample
from benchmarks.switch_match import labels, narrowed


@settings(max_examples=30)
@given(st.integers(0, 10**6))
def test_the_truth_is_the_sources(tmp_path_factory, seed):
    path = tmp_path_factory.mktemp("drawn") / "f.i"
    drawn = sample(f"test/{seed}")
    path.write_text(PRELUDE + drawn.source)
    seen = [{*one.labels} for one in source_switches(path)]
    assert seen
    for found in seen:
        # Labels beside the default, and those that the value cannot have, are no labels.
        assert any(
            labels(true, true["bits"]) <= {narrowed(label, true["bits"]) for label in found}
            for true in drawn.switches
        )


@pytest.mark.parametrize("way", [("gcc", "-O0"), ("gcc", "-O2"), ("gcc", "-O3")])
def test_what_is_proven_is_what_was_drawn(way):
    names = [f"test/{i}" for i in range(20)]
    told = Counter(found.verdict for found in judged(names, way))
    assert told["wrong"] == 0
    assert told["right"] >= 10


def test_an_altered_answer_is_wrong():
    name = "test/3"
    for found in judged([name], ("gcc", "-O0")):
        if found.verdict == "right" and len(found.answer["blocks"]) > 2:
            first, second, *rest = found.answer["blocks"]
            joined = {**found.answer, "blocks": [first + second, *rest]}
            assert verdict(sample(name), found.true, joined) == "wrong"
            return
    raise AssertionError(f"{name} has no switch for this test: take another")
