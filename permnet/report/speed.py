"""What the report says of speed: `results/speed.json`, `growth.json` and `solve.json`."""

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

from permnet.errors import PermnetError
from permnet.report.content import Section
from permnet.report.svg import Line, log_chart

FROM = 40
"""Below this length a step mostly waits for launches, so the exponent is taken from there on."""


def speed_sections(results: Path) -> list[Section]:
    """Only of what was measured: a file that is not there is passed over."""
    made: dict[str, tuple[Callable[[Any], Section], ...]] = {
        "speed.json": (_steps, _decoding, _resolving),
        "growth.json": (_growth,),
        "solve.json": (_solving,),
    }
    found = []
    for name, sections in made.items():
        path = results / name
        if not path.exists():
            continue
        try:
            measured = json.loads(path.read_text("utf-8"))
            found += [section(measured) for section in sections]
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            raise PermnetError(f"{path} is not what benchmarks/ write: {error!r}") from None
    return [section for section in found if section.rows]


def _steps(rows: list[dict[str, Any]]) -> Section:
    lines = tuple(
        (
            row["preset"],
            row["precision"],
            _ms(row["ours_ms"]),
            _ms(row["yardstick_ms"]),
            _times(row["ratio"]),
            _ms(row["floor_ms"]),
            "–" if row["floor_ms"] is None else f"{100 * row['floor_ms'] / row['ours_ms']:.0f} %",
            f"{row['peak_gib']:.1f}",
            _where(row),
        )
        for row in rows
        if row["what"] == "train_step"
    )
    return Section(
        "Speed: a training step",
        (
            *("preset", "precision", "ours, ms", "straightforward, ms", "ratio", "floor, ms"),
            *("floor reached", "peak GiB", "measured"),
        ),
        lines,
        (
            "At the paper's batch and sizes. Straightforward is `benchmarks/yardstick.py`: the "
            "same equations in eager PyTorch, batched, TF32, fused AdamW, no host synchronisation, "
            "in the same run. The floor counts the products and bytes that no version can leave "
            "out; `python -m benchmarks.speed` measures all of it.",
        ),
    )


def _decoding(rows: list[dict[str, Any]]) -> Section:
    lines = tuple(
        (
            row["preset"],
            row["precision"],
            _ms(row["ours_ms"]),
            _ms(row["yardstick_ms"]),
            _times(row["ratio"]),
            _where(row),
        )
        for row in rows
        if row["what"] == "decode"
    )
    header = ("preset", "precision", "ours, ms", "straightforward, ms", "ratio", "measured")
    return Section("Speed: greedy decoding of one batch", header, lines)


def _resolving(rows: list[dict[str, Any]]) -> Section:
    lines = tuple(
        (
            row["preset"],
            f"{row['examples_per_second']['batched']:,.0f}",
            f"{row['examples_per_second']['one_by_one']:,.0f}",
            _where(row),
        )
        for row in rows
        if row["what"] == "resolve"
    )
    header = ("shipped model", "examples/s, batched", "one by one", "measured")
    return Section("Speed: `permnet.resolve` on a CPU", header, lines)


def _growth(measured: dict[str, Any]) -> Section:
    rows = measured["rows"]
    names = tuple(dict.fromkeys(row["model"] for row in rows))
    lines = tuple(
        (
            row["model"],
            str(row["length"]),
            _ms(row["ours_ms"]),
            _ms(row["yardstick_ms"]),
            f"{row['peak_gib']:.1f}",
        )
        for row in rows
    )
    curves, notes = [], []
    for colour, name in enumerate(names):
        for key, what in (("ours_ms", "ours"), ("yardstick_ms", "straightforward")):
            points = tuple((row["length"], row[key]) for row in rows if row["model"] == name)
            curves.append(Line(f"{name}, {what}", colour, points, dashed=what != "ours"))
            long = [point for point in points if point[0] >= FROM]
            if len(long) > 1:
                notes.append(f"{name}, {what}: n to the power of {_exponent(long):.2f}")
    title = "Speed: a training step as examples grow"
    size = f"hidden {measured['hidden']}, batch {measured['batch']}, {_where(measured)}"
    return Section(
        title,
        ("model", "n", "ours, ms", "straightforward, ms", "peak GiB"),
        lines,
        (f"{size}. From n = {FROM} on the time grows as: " + "; ".join(notes) + ".",),
        drawings=(log_chart("Milliseconds of a step", "n", curves),),
    )


def _solving(measured: dict[str, Any]) -> Section:
    lines = tuple(
        (
            row["benchmark"],
            str(row["seed"]),
            f"{row['seconds']:.1f}" if row["solved"] else "not solved",
            f"{row['steps']:,}",
            f"{100 * row['wea']:.2f}",
        )
        for row in measured["rows"]
    )
    return Section(
        "Speed: from nothing to 99.9 % WEA on the validation split",
        ("benchmark", "seed", "seconds", "steps", "WEA then"),
        lines,
        (
            "The paper's settings, alone on the GPU, stopped when solved; data made and kernels "
            f"compiled within the time. {_where(measured)}; `python -m benchmarks.solve`.",
        ),
    )


def _exponent(points: list[tuple[float, float]]) -> float:
    """The slope of the least-squares line through the logarithms."""
    x, y = ([math.log(value) for value in axis] for axis in zip(*points, strict=True))
    x_mean, y_mean = sum(x) / len(x), sum(y) / len(y)
    above = sum((a - x_mean) * (b - y_mean) for a, b in zip(x, y, strict=True))
    return above / sum((a - x_mean) ** 2 for a in x)


def _ms(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}"


def _times(value: float | None) -> str:
    return "–" if value is None else f"{value:.1f} ×"


def _where(row: dict[str, Any]) -> str:
    device = row["hardware"]["device"]
    return f"{'CPU' if device == 'cpu' else device}, {row['date'][:10]}"
