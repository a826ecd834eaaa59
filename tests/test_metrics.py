"""TA, WEA and their summary against an obvious loop."""

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from permnet.errors import PermnetError
from permnet.metrics import compare, summary, wilson
from permnet.vocab import EOS, PAD

tokens = st.integers(4, 7)
targets = st.lists(tokens, min_size=1, max_size=5)
predictions = st.lists(st.sampled_from([PAD, EOS, -1, 4, 5, 6, 7]), max_size=8)


def padded(rows: list[list[int]], width: int) -> np.ndarray:
    return np.array([row + [PAD] * (width - len(row)) for row in rows]).reshape(len(rows), width)


def obvious(predicted: list[int], target: list[int]) -> tuple[float, bool]:
    if EOS in predicted:
        predicted = predicted[: predicted.index(EOS) + 1]
    expected = [*target, EOS]
    matches = 0
    for i, token in enumerate(expected):
        if i < len(predicted) and predicted[i] == token:
            matches += 1
    return matches / len(expected), predicted == expected


@settings(deadline=None)
@given(st.lists(st.tuples(predictions, targets), min_size=1, max_size=6), st.integers(0, 3))
def test_compare_is_the_obvious_loop(rows: list[tuple[list[int], list[int]]], wider: int) -> None:
    predicted = padded([p for p, _ in rows], max(len(p) for p, _ in rows) + wider)
    target = padded([[*t, EOS] for _, t in rows], 7).astype(np.uint16)
    ta, whole = compare(predicted, target)
    expected = [obvious(*row) for row in rows]
    assert ta.tolist() == pytest.approx([share for share, _ in expected])
    assert whole.tolist() == [is_whole for _, is_whole in expected]


@pytest.mark.parametrize(
    ("predicted", "ta", "whole"),
    [
        ([4, 5, 6, EOS], 1, True),
        ([4, 5, 6, EOS, 7, 7], 1, True),
        ([4, 5, 6, 7, EOS], 3 / 4, False),
        ([4, 5, 6], 3 / 4, False),
        ([4, EOS, 6, EOS], 1 / 4, False),
        ([5, 4, 6, EOS], 2 / 4, False),
        ([], 0, False),
    ],
)
def test_compare_by_hand(predicted: list[int], ta: float, whole: bool) -> None:
    shares, wholes = compare(padded([predicted], 8), np.array([[4, 5, 6, EOS, PAD]]))
    assert (shares[0], wholes[0]) == (ta, whole)


def test_compare_wants_as_many_rows() -> None:
    with pytest.raises(PermnetError, match="1 predictions for 2 targets"):
        compare(np.zeros((1, 3)), np.zeros((2, 3)))


def test_wilson_known_values() -> None:
    # Newcombe (1998), table I, method 3.
    assert wilson(81, 263) == pytest.approx((0.2553, 0.3662), abs=5e-5)
    assert wilson(15, 148) == pytest.approx((0.0624, 0.1605), abs=5e-5)
    assert wilson(0, 20) == pytest.approx((0, 0.1611), abs=5e-5)
    assert wilson(0, 0) == (0, 1)


@settings(deadline=None)
@given(st.integers(0, 10_000), st.integers(1, 10_000))
def test_wilson_holds_the_share(successes: int, total: int) -> None:
    successes = min(successes, total)
    low, high = wilson(successes, total)
    assert 0 <= low <= successes / total + 1e-12
    assert successes / total - 1e-12 <= high <= 1
    mirrored = wilson(total - successes, total)
    assert mirrored == pytest.approx((1 - high, 1 - low), abs=1e-12)


def test_summary() -> None:
    ta, whole = np.array([1.0, 0.5, 0.25]), np.array([True, False, False])
    figures = summary(ta, whole, np.array([3, 3, 7]), seen=np.array([True, False, False]))
    assert json.loads(json.dumps(figures)) == {
        "ta": pytest.approx(1.75 / 3),
        "wea": pytest.approx(1 / 3),
        "count": 3,
        "wea_interval": pytest.approx(list(wilson(1, 3))),
        "unseen": {"ta": 0.375, "wea": 0.0, "count": 2},
        "by_length": {
            "3": {"ta": 0.75, "wea": 0.5, "count": 2},
            "7": {"ta": 0.25, "wea": 0.0, "count": 1},
        },
    }


def test_summary_without_mask_or_without_unseen() -> None:
    one = np.array([1.0]), np.array([True]), np.array([2])
    assert summary(*one)["unseen"] is None
    nothing = {"ta": None, "wea": None, "count": 0}
    assert summary(*one, seen=np.array([True]))["unseen"] == nothing


@given(st.integers(1, 300_000))
def test_the_interval_holds_its_share(total):
    for successes in {0, 1, total // 2, total - 1, total}:
        low, high = wilson(successes, total)
        assert 0 <= low <= successes / total <= high <= 1
