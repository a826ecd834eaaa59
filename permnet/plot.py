"""The explorer's pictures for paper: matplotlib figures of what is inside a trained model.

    figure = m_dp(load("PI1-4"), "a 2 b 1 c 3 <sep> 1 3 2")
    write(figure, Path("m_dp.pdf"))

Each function returns a `matplotlib.figure.Figure`; `write` saves one as PNG, SVG or PDF. Without a
question the first of the model's validation split is taken. The colours go from dark blue to yellow
and are told apart by those who do not see red or green.
"""

import json
from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path
from typing import IO, Any

import numpy as np
import torch
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from permnet.answers import read, task_of
from permnet.batch import pad
from permnet.checkpoint import Checkpoint
from permnet.config import from_json
from permnet.errors import PermnetError
from permnet.explore.record import find_parts, true_ways
from permnet.models.resolver import IndirectMemory
from permnet.report.results import Evaluation, read_json
from permnet.tasks.benchmarks import benchmark
from permnet.tasks.permutation import to_tokens
from permnet.vocab import SEP, SPECIALS

FORMATS = (".png", ".svg", ".pdf")
ROLES = ("DATA", "KEY", "QUERY", "NOT RELEVANT")
COLOURS = ("#0072b2", "#d98200", "#009e73", "#8a9099")
NAMED = 120  # tokens along a side that still have room for their names


def m_dp(trained: Checkpoint, text: str | None = None) -> Figure:
    """M_dp of a question, from queries (columns) to data and keys (rows); boxes mark the truth."""
    tokens, memory = _read(trained, text)
    task = task_of(trained)
    parts = find_parts(task, tokens)
    rows, columns = [*range(1, tokens.index(SPECIALS[SEP]))], [*parts.queries]
    size = _inches(len(columns), len(rows), 0.2)
    figure = Figure(figsize=(size[0] + 1.6, size[1] + 1.0), layout="constrained")
    axes = figure.subplots()
    matrix = memory.m_dp[0][rows][:, columns].numpy()
    _heat_map(axes, matrix, [tokens[i] for i in rows], [tokens[i] for i in columns], "M_dp")
    for way in true_ways(task, parts, tokens):
        if way.query is not None and way.datum is not None:
            corner = (columns.index(way.query) - 0.5, rows.index(way.datum) - 0.5)
            axes.add_patch(Rectangle(corner, 1, 1, fill=False, edgecolor="#d55e00", linewidth=1.4))
    axes.set_xlabel("query")
    axes.set_ylabel("data and their keys")
    return figure


def roles(trained: Checkpoint, text: str | None = None) -> Figure:
    """The role that the model gives each token of a question, as shares of 1."""
    tokens, memory = _read(trained, text)
    if memory.m_label.shape[-1] == 0:
        raise PermnetError(f"without {trained.run.model.without} the model gives no roles")
    figure = Figure(figsize=(_inches(len(tokens), 1, 0.24)[0] + 1.6, 2.6), layout="constrained")
    axes = figure.subplots()
    places, shares = np.arange(len(tokens)), memory.m_label[0].numpy().T
    below = np.zeros(len(tokens))
    for role, colour, share in zip(ROLES, COLOURS, shares, strict=True):
        axes.bar(places, share, 0.9, bottom=below, color=colour, label=role)
        below = below + share
    _names(axes.xaxis, tokens)
    axes.set(xlim=(-0.6, len(tokens) - 0.4), ylim=(0, 1), xlabel="input token", ylabel="share")
    figure.legend(loc="outside upper center", ncols=4, frameon=False, fontsize=8)
    return figure


def index_embedding(trained: Checkpoint) -> Figure:
    """The offset that each token means to PermNetD; index tokens are the last rows."""
    weights = trained.model.state_dict().get("resolver.emb_ind.weight")
    if weights is None:
        raise PermnetError("this model has no index embedding: choose a permnetd with M_ind")
    size = _inches(weights.shape[1], weights.shape[0], 0.2)
    figure = Figure(figsize=(size[0] + 1.8, size[1] + 1.0), layout="constrained")
    axes = figure.subplots()
    names = [trained.vocab.name(i) for i in range(len(trained.vocab))]
    _heat_map(axes, weights.numpy(), names, [*map(str, range(weights.shape[1]))], "weight")
    axes.set_xlabel("offset")
    axes.set_ylabel("token")
    return figure


def learning_curves(runs: Sequence[Path]) -> Figure:
    """TA and WEA on the validation split over epochs, of runs' folders or result files."""
    figure = Figure(figsize=(8, 3.6), layout="constrained")
    left, right = figure.subplots(1, 2, sharey=True)
    for i, path in enumerate(runs):
        points = curve(path)
        epochs = [point.epoch for point in points]
        style = {"label": path.stem, "linewidth": 1.4, "color": f"C{i % 10}"}
        marker = "o" if len(points) == 1 else None
        left.plot(epochs, [100 * point.ta for point in points], marker=marker, **style)
        right.plot(epochs, [100 * point.wea for point in points], marker=marker, **style)
    left.set(xlabel="epoch", ylabel="validation split, %", title="tokens (TA)", ylim=(-2, 102))
    right.set(xlabel="epoch", title="whole examples (WEA)")
    for axes in (left, right):
        axes.grid(alpha=0.3)
    figure.legend(
        *left.get_legend_handles_labels(), loc="outside lower center", ncols=3, fontsize=8
    )
    return figure


def curve(path: Path) -> list[Evaluation]:
    """The evaluations of a run: of its folder, also one under way, or of its result's file."""
    if path.is_dir():
        rows = _lines(path / "metrics.jsonl")
    else:
        raw = read_json(path)
        names = [field.name for field in fields(Evaluation)]
        points = raw.get("curve") if isinstance(raw, dict) else None
        try:
            rows = [dict(zip(names, point, strict=True)) for point in points or ()]
        except (TypeError, ValueError):
            rows = []
    if not rows:
        raise PermnetError(f"{path} holds no learning curve: give a run's folder or its result")
    return [from_json(Evaluation, row, f"{path}: evaluation {i}") for i, row in enumerate(rows, 1)]


def write(figure: Figure, path: Path, dots: int = 120, file: IO[bytes] | None = None) -> None:
    """Save a figure in the format that the name ends in; the same figure gives the same bytes.

    Into an open file, if one is given, which may have another name until all is there.
    """
    kind = path.suffix.lower()
    if kind not in FORMATS:
        raise PermnetError(f"{path} does not end in {', '.join(FORMATS)}: choose one of them")
    import matplotlib as mpl

    dated = {".png": {}, ".svg": {"Date": None}, ".pdf": {"CreationDate": None}}[kind]
    try:
        with mpl.rc_context({"svg.hashsalt": "permnet"}):
            figure.savefig(file or path, format=kind[1:], dpi=dots, metadata=dated)
    except OSError as error:
        raise PermnetError(f"cannot write {path}: {error.strerror or error}") from error


@torch.no_grad()
def _read(trained: Checkpoint, text: str | None) -> tuple[list[str], IndirectMemory]:
    """The tokens of a question, the first for validation if none, and what was read in them."""
    task_of(trained)
    question = read(_first_example(trained.run.benchmark) if text is None else text, trained)
    tokens = trained.vocab.decode(question.ids, question.lent)
    memory = getattr(trained.model.encode(pad([question.ids])), "resolver", None)
    if not isinstance(memory, IndirectMemory):
        raise PermnetError(f"{trained.run.model.name} has no M_dp and no roles: choose a permneti")
    return tokens, memory


def _first_example(name: str) -> str:
    """The first question of a benchmark's validation split."""
    split = benchmark(name).split("validation", 1)
    ((asked, _),) = to_tokens(split.vocab, split.examples)
    return " ".join(asked)


def _lines(path: Path) -> list[dict[str, Any]]:
    """The evaluations in a run's metrics.jsonl, in the names of results."""
    try:
        # The last line may still be on its way.
        written = path.read_text("utf-8").rpartition("\n")[0]
        rows = [json.loads(line) for line in written.splitlines()]
        return [
            {
                field.name: row["stage" if field.name == "length" else field.name]
                for field in fields(Evaluation)
            }
            for row in rows
        ]
    except OSError as error:
        raise PermnetError(f"cannot read {path}: {error.strerror}") from error
    except (ValueError, KeyError, TypeError) as error:
        raise PermnetError(f"{path} does not hold evaluations: {error!r}") from error


def _inches(columns: int, rows: int, cell: float) -> tuple[float, float]:
    """A size with so many inches a cell, but neither tiny nor larger than a page."""
    return min(max(columns * cell, 3.0), 14.0), min(max(rows * cell, 2.0), 18.0)


def _heat_map(
    axes: Axes, matrix: np.ndarray, rows: Sequence[str], columns: Sequence[str], label: str
) -> None:
    image = axes.imshow(matrix, cmap="cividis", aspect="auto", interpolation="nearest")
    _names(axes.xaxis, columns)
    _names(axes.yaxis, rows)
    axes.figure.colorbar(image, ax=axes, shrink=0.5, label=label)


def _names(axis: Any, names: Sequence[str]) -> None:
    """The tokens along an axis, as long as there is room."""
    if len(names) <= NAMED:
        axis.set_ticks(range(len(names)), names, fontsize=7, parse_math=False)
    if axis.axis_name == "x" and max(map(len, names)) > 2:
        axis.set_tick_params(rotation=90)
