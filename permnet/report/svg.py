"""Charts as inline SVG, drawn here so that the page needs nothing from anywhere.

Colours are CSS variables of the page (`--c0`, `--c1`, …), so that they follow light and dark.
"""

import base64
import math
import struct
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

WIDTH, HEIGHT = 320, 200
LEFT, RIGHT, TOP, BOTTOM = 40, 10, 24, 30

# Dark blue to yellow through grey, as on the explorer's page: lighter all the way, and told apart
# by those who do not see red or green.
_RAMP = ((0, 34, 78), (67, 78, 108), (125, 124, 120), (188, 174, 108), (254, 232, 56))


@dataclass(frozen=True)
class Line:
    """Points, for a `line_chart` with y from 0 to 1; `colour` counts the page's colours."""

    label: str
    colour: int
    points: tuple[tuple[float, float], ...]
    dashed: bool = False


def line_chart(title: str, x_label: str, lines: Sequence[Line]) -> str:
    """Lines over a common axis; the y axis runs from 0 to 100 %."""
    x_most = max((x for line in lines for x, _ in line.points), default=0.0) or 1.0
    across, down = WIDTH - LEFT - RIGHT, HEIGHT - TOP - BOTTOM

    def place(x: float, y: float) -> str:
        return f"{LEFT + across * x / x_most:.1f},{TOP + down * (1 - y):.1f}"

    parts = [_text(LEFT, 14, title, "title")]
    for share in (0.0, 0.5, 1.0):
        y = TOP + down * (1 - share)
        parts.append(f'<path class="rule" d="M{LEFT} {y:.1f}H{WIDTH - RIGHT}"/>')
        parts.append(_text(LEFT - 4, y + 4, f"{100 * share:.0f}", "end"))
    parts.append(_text(LEFT, HEIGHT - BOTTOM + 14, "0"))
    parts.append(_text(WIDTH - RIGHT, HEIGHT - BOTTOM + 14, f"{x_most:g}", "end"))
    parts.append(_text(LEFT + across / 2, HEIGHT - 6, x_label, "middle"))
    for line in lines:
        points = " ".join(place(x, y) for x, y in line.points)
        dashes = ' stroke-dasharray="4 3"' if line.dashed else ""
        parts.append(
            f'<polyline points="{points}" style="stroke:var(--c{line.colour})"{dashes}>'
            f"<title>{escape(line.label)}</title></polyline>"
        )
        for x, y in line.points if len(line.points) == 1 else ():
            at_x, at_y = place(x, y).split(",")
            style = f"fill:var(--c{line.colour})"
            parts.append(f'<circle cx="{at_x}" cy="{at_y}" r="2.5" style="{style}"/>')
    return _svg(WIDTH, HEIGHT, title, parts)


def log_chart(title: str, x_label: str, lines: Sequence[Line]) -> str:
    """Lines through positive values, both axes logarithmic, with a mark at every measured x."""
    points = [point for line in lines for point in line.points]
    (x_low, x_high), (y_low, y_high) = (
        (min(values), max(values)) for values in zip(*points, strict=True)
    )
    across, down = WIDTH - LEFT - RIGHT, HEIGHT - TOP - BOTTOM

    def place(x: float, y: float) -> tuple[float, float]:
        return (
            LEFT + across * math.log(x / x_low) / (math.log(x_high / x_low) or 1.0),
            TOP + down * (1 - math.log(y / y_low) / (math.log(y_high / y_low) or 1.0)),
        )

    parts = [_text(LEFT, 14, title, "title")]
    for x in sorted({x for x, _ in points}):
        parts.append(_text(place(x, y_low)[0], HEIGHT - BOTTOM + 14, f"{x:g}", "middle"))
    for power in range(math.ceil(math.log10(y_low)), math.floor(math.log10(y_high)) + 1):
        y = place(x_low, 10.0**power)[1]
        parts.append(f'<path class="rule" d="M{LEFT} {y:.1f}H{WIDTH - RIGHT}"/>')
        parts.append(_text(LEFT - 4, y + 4, f"{10.0**power:g}", "end"))
    parts.append(_text(LEFT + across / 2, HEIGHT - 4, x_label, "middle"))
    for line in lines:
        placed = " ".join(f"{x:.1f},{y:.1f}" for x, y in (place(*point) for point in line.points))
        dashes = ' stroke-dasharray="4 3"' if line.dashed else ""
        x, y = place(*line.points[-1])
        parts.append(
            f'<polyline points="{placed}" style="stroke:var(--c{line.colour})"{dashes}>'
            f"<title>{escape(line.label)}</title></polyline>"
        )
        parts.append(_text(x - 2, y - 5, line.label, "tiny end"))
    return _svg(WIDTH, HEIGHT, title, parts)


def heat_map(
    title: str, rows: Sequence[str], columns: Sequence[str], matrix: Sequence[Sequence[float]]
) -> str:
    """A matrix with the name of each row and column, light where it is large."""
    cell, margin = 9, 44
    width, height = margin + cell * len(columns) + 4, margin + cell * len(rows) + 30
    low, high = _range(matrix)
    size = f'width="{cell * len(columns)}" height="{cell * len(rows)}"'
    parts = [f'<image x="{margin}" y="{margin}" {size} href="{_png(matrix)}"/>']
    for i, name in enumerate(rows):
        parts.append(_text(margin - 3, margin + cell * i + 7.5, name, "tiny end"))
    for i, name in enumerate(columns):
        x, y = margin + cell * i + 7.5, margin - 3
        parts.append(
            f'<text class="tiny" transform="translate({x} {y}) rotate(-90)">{escape(name)}</text>'
        )
    parts.append(_text(margin, height - 8, f"{title}: from {low:.3g} (dark) to {high:.3g} (light)"))
    return _svg(width, height, title, parts)


def _svg(width: int, height: int, title: str, parts: list[str]) -> str:
    return (
        f'<svg viewBox="0 0 {width} {height}" width="{width}" height="{height}" role="img" '
        f'aria-label="{escape(title)}">{"".join(parts)}</svg>'
    )


def _text(x: float, y: float, text: str, style: str = "") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" class="{style}">{escape(text)}</text>'


def _range(matrix: Sequence[Sequence[float]]) -> tuple[float, float]:
    return min(map(min, matrix)), max(map(max, matrix))


def _png(matrix: Sequence[Sequence[float]]) -> str:
    """The matrix as a picture, a pixel each, in a data address: a tenth of what rectangles take."""
    low, high = _range(matrix)
    span = (high - low) or 1.0
    lines = b"".join(
        b"\0" + bytes(part for value in row for part in _colour((value - low) / span))
        for row in matrix
    )
    header = struct.pack(">IIBBBBB", len(matrix[0]), len(matrix), 8, 2, 0, 0, 0)
    chunks = ((b"IHDR", header), (b"IDAT", zlib.compress(lines, 9)), (b"IEND", b""))
    png = b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        for kind, data in chunks
    )
    return "data:image/png;base64," + base64.b64encode(png).decode()


def _colour(share: float) -> tuple[int, ...]:
    at = min(int(share * (len(_RAMP) - 1)), len(_RAMP) - 2)
    part = share * (len(_RAMP) - 1) - at
    return tuple(round(a + (b - a) * part) for a, b in zip(_RAMP[at], _RAMP[at + 1], strict=True))
