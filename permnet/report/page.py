"""The report as one HTML page that carries everything in it, for light and dark screens."""

import re
from collections.abc import Iterable
from html import escape

from permnet.report.content import INTRODUCTION, Section
from permnet.report.figures import Figure
from permnet.report.rows import Collected, Row
from permnet.report.svg import Line, heat_map, line_chart

# For light and for dark screens.
_COLOURS = (
    ("#0b61a4", "#6cb6ff"),
    ("#c2410c", "#ff9d5c"),
    ("#0f7b53", "#4fd1a5"),
    ("#a21caf", "#f08cf5"),
    ("#8a6d00", "#e3c341"),
    ("#0891b2", "#5ee0f2"),
    ("#4b5563", "#b6bfcb"),
    ("#dc2626", "#ff8a8a"),
    ("#6d28d9", "#b79cff"),
)


def _palette(ink: str, paper: str, rule: str, screen: int) -> str:
    numbered = "".join(f"--c{i}:{pair[screen]};" for i, pair in enumerate(_COLOURS))
    return f":root{{--ink:{ink};--paper:{paper};--rule:{rule};{numbered}}}"


LONG = 40
"""Letters of a cell that had better be broken into lines."""

_STYLE = f"""
{_palette("#1b1f24", "#ffffff", "#d5dae0", 0)}
@media (prefers-color-scheme: dark) {{{_palette("#e4e8ee", "#14171c", "#39414d", 1)}}}
:root {{ color-scheme: light dark }}
body {{ font: 15px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper);
  max-width: 1700px; margin: 2rem auto; padding: 0 1rem }}
p {{ max-width: 75ch }}
.wide {{ overflow-x: auto }}
table {{ border-collapse: collapse; font-size: 12px; font-variant-numeric: tabular-nums }}
th, td {{ padding: .2rem .45rem; border-bottom: 1px solid var(--rule); text-align: left }}
td {{ white-space: nowrap }}
td.words {{ white-space: normal }}
table.told td:last-child {{ white-space: normal; min-width: 8rem; font-size: 11px }}
th:first-child, td:first-child {{ position: sticky; left: 0; background: var(--paper) }}
.charts {{ display: flex; flex-wrap: wrap; gap: 1rem }}
.legend span {{ margin-right: 1.2rem; white-space: nowrap }}
.legend i {{ display: inline-block; width: 1.2em; height: .25em; margin-right: .4em;
  vertical-align: middle }}
svg {{ max-width: 100%; height: auto }}
svg text {{ font-size: 11px; fill: var(--ink) }}
svg text.title {{ font-weight: 600; font-size: 12px }}
svg text.tiny {{ font-size: 7.5px }}
svg text.end {{ text-anchor: end }}
svg text.middle {{ text-anchor: middle }}
svg polyline {{ fill: none; stroke-width: 1.6 }}
svg .rule {{ stroke: var(--rule); fill: none }}
svg image {{ image-rendering: pixelated }}
"""


def page(sections: Iterable[Section], collected: Collected, figures: dict[str, Figure]) -> str:
    body = [f"<h1>Results</h1>{_paragraphs(INTRODUCTION)}"]
    for section in sections:
        body.append(f"<h2>{_inline(section.title)}</h2>")
        if section.header:
            body.append(_grid(section))
        body.append(_paragraphs(section.notes))
        body.append("".join(section.drawings))
        if section.key == "figures":
            body.extend(_figure(name, figure) for name, figure in figures.items())
        elif section.key:
            body.append(_charts([row for row in collected.rows if row.table == section.key]))
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width"><title>permnet: results</title>'
        f"<style>{_STYLE}</style></head><body>\n" + "\n".join(body) + "\n</body></html>\n"
    )


def _paragraphs(texts: Iterable[str]) -> str:
    return "".join(f"<p>{_inline(text)}</p>" for text in texts)


def _inline(text: str) -> str:
    return re.sub("`(.+?)`", r"<code>\1</code>", escape(text))


def _grid(section: Section) -> str:
    head = "".join(f"<th>{escape(text)}</th>" for text in section.header)
    rows = "".join("<tr>" + "".join(map(_cell, row)) + "</tr>" for row in section.rows)
    told = ' class="told"' if any(len(row[-1]) > LONG for row in section.rows) else ""
    return f'<div class="wide" tabindex="0"><table{told}><tr>{head}</tr>{rows}</table></div>'


def _cell(text: str) -> str:
    """Lines end between words, not within an interval: so the longest rows fit 1,500 pixels."""
    whole = re.sub(r"\[.+?\]", lambda found: found[0].replace(" ", "\u00a0"), text)
    return f"<td{' class=words' if ' ' in whole else ''}>{_inline(whole)}</td>"


def _charts(rows: list[Row]) -> str:
    """Learning curves of each benchmark, and WEA by length where there are several lengths."""
    labels = list(dict.fromkeys(row.label for row in rows if row.results))
    charts = []
    for where in dict.fromkeys(row.cell.benchmark for row in rows):
        there = [row for row in rows if row.cell.benchmark == where]
        curves = [
            Line(
                result.name,
                labels.index(row.label) % len(_COLOURS),
                tuple((point.epoch, point.ta) for point in result.at_full_length),
                dashed=row.group == "ours",
            )
            for row in there
            for result in row.results
            if result.curve
        ]
        if curves:
            charts.append(line_chart(f"{where}: TA on validation, %", "epoch", curves))
        by_length = [
            Line(
                row.worst.name,
                labels.index(row.label) % len(_COLOURS),
                tuple((n, figures.wea) for n, figures in sorted(row.worst.by_length.items())),
                dashed=row.group == "ours",
            )
            for row in there
            if row.worst and len(row.worst.by_length) > 1
        ]
        if by_length:
            charts.append(line_chart(f"{where}: WEA by length, %", "length", by_length))
    if not charts:
        return ""
    legend = "".join(
        f'<span><i style="background:var(--c{i % len(_COLOURS)})"></i>{escape(label)}</span>'
        for i, label in enumerate(labels)
    )
    dashed = (
        "<span>dashed: recipes of our own</span>" if any(r.group == "ours" for r in rows) else ""
    )
    return f'<p class="legend">{legend}{dashed}</p><div class="charts">{"".join(charts)}</div>'


def _figure(name: str, figure: Figure) -> str:
    drawing = heat_map(figure.title, figure.rows, figure.columns, figure.matrix)
    return f'<h3>{escape(f"{name}. {figure.title}")}</h3><div class="wide">{drawing}</div>'
