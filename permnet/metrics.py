"""Token accuracy (TA) and whole example accuracy (WEA), defined once for everyone.

Both look at what a model emits when it runs freely, up to its first `<eos>`. An example's TA is the
share of its n target tokens and `<eos>` that stand at their places; it is whole when all of them
do, which also means that the model stopped there. All figures are fractions.
"""

import math
from typing import Any

import numpy as np

from permnet.errors import PermnetError
from permnet.vocab import EOS, PAD


def compare(predictions: np.ndarray, targets: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """TA of each example and whether it is whole, from ids (count, T') and (count, T).

    Targets end with `<eos>`, then `PAD`. In predictions whatever follows the first `<eos>` is
    ignored; a position that is missing or `PAD` is wrong.
    """
    if len(predictions) != len(targets):
        raise PermnetError(f"{len(predictions)} predictions for {len(targets)} targets")
    emitted = np.full(targets.shape, PAD, dtype=np.int64)
    width = min(predictions.shape[1], targets.shape[1])
    emitted[:, :width] = predictions[:, :width]
    is_eos = emitted == EOS
    stopped = np.cumsum(is_eos, axis=1) - is_eos > 0
    right = (emitted == targets) & (targets != PAD) & ~stopped
    expected = np.count_nonzero(targets != PAD, axis=1)
    matches = np.count_nonzero(right, axis=1)
    return matches / expected, matches == expected


def wilson(successes: int, total: int) -> tuple[float, float]:
    """The 95 % Wilson interval of a proportion.

    >>> low, high = wilson(0, 100)
    >>> round(low, 4), round(high, 4)
    (0.0, 0.037)
    """
    if total == 0:
        return 0.0, 1.0
    z = 1.959963984540054  # the normal distribution's 97.5 % point
    share = successes / total
    middle = share + z * z / (2 * total)
    half = z * math.sqrt(share * (1 - share) / total + z * z / (4 * total * total))
    scale = 1 + z * z / total
    # At the ends the interval reaches 0 or 1, which rounding would miss by a hair.
    low = (middle - half) / scale if successes else 0.0
    high = (middle + half) / scale if successes < total else 1.0
    return low, high


def summary(
    ta: np.ndarray,
    whole: np.ndarray,
    lengths: np.ndarray,
    seen: np.ndarray | None = None,
    **more: np.ndarray,
) -> dict[str, Any]:
    """The figures of a split, ready for JSON, from what `compare` gives for its examples.

    `seen` marks those that also stand in training; averages over nothing are null. `more` are
    other things that an example may have right.
    """
    marks = {"ta": ta, "wea": whole, **more}
    return {
        **_averages(marks),
        **{
            f"{name}_interval": list(wilson(int(np.count_nonzero(right)), len(right)))
            for name, right in marks.items()
            if name != "ta"
        },
        "unseen": None if seen is None else _averages(marks, ~seen),
        "by_length": {str(n): _averages(marks, lengths == n) for n in np.unique(lengths)},
    }


def _averages(marks: dict[str, np.ndarray], of: np.ndarray | None = None) -> dict[str, Any]:
    marks = marks if of is None else {name: values[of] for name, values in marks.items()}
    count = len(marks["ta"])
    means = {name: float(values.mean()) if count else None for name, values in marks.items()}
    return {**means, "count": count}
