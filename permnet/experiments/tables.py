"""What a table of the paper is as data: cells, each with the paper's figures and our runs."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from permnet.config import ModelConfig, Run, TrainConfig
from permnet.experiments.presets import PRESETS

Recipe = Literal["paper", "ours"]
PERMNETS = ("permnetd", "permneti")
FULL_BUDGET = ("PD10", "PI10")
"""Benchmarks on which only being solved ends a baseline early; elsewhere being stuck does, too."""

FUSED: dict[str, Any] = {"compile": True}
"""How the paper's Transformer is trained: a step takes 0.88 of the time."""
HALF: dict[str, Any] = {**FUSED, "precision": "bf16"}
"""The same in 0.58 of the time; of PD10 it learned nothing so, by chance or not (docs/log.md)."""


@dataclass(frozen=True)
class Seen:
    """What was seen of seed 0, last, before it was cut off; no result (docs/log.md)."""

    epoch: int
    wea: float | None
    """On the validation split; None where it still was on the plateau that training starts from."""


@dataclass(frozen=True)
class Cell:
    """A model on a benchmark: the paper's figures, if it has any, and our runs, one for a seed."""

    model: str
    benchmark: str
    runs: dict[str, Run]
    paper_ta: float | None = None
    paper_wea: float | None = None
    variant: str | None = None
    """The part that an ablation leaves out; None for the full model."""
    recipe: Recipe = "paper"
    note: str = ""
    seen: Seen | None = None

    @property
    def name(self) -> str:
        """What its runs are called, before their seeds."""
        return next(iter(self.runs)).removesuffix("-seed0")


@dataclass(frozen=True)
class Table:
    """A table's cells; `name` is also that of the sweep which trains them all."""

    name: str
    title: str
    cells: tuple[Cell, ...]
    """Those that the paper fills."""
    more: tuple[Cell, ...] = ()
    """Those that the paper leaves empty or does not have."""
    ours: tuple[Cell, ...] = ()
    """The same models and benchmarks, trained in ways of our own."""
    notes: tuple[str, ...] = ()
    pace: dict[str, str] = field(default_factory=dict)
    """How the paper says that learning goes without a part: slower or faster."""

    @property
    def all_cells(self) -> tuple[Cell, ...]:
        return self.cells + self.more + self.ours


def cell(
    preset: str,
    ta: float | None = None,
    wea: float | None = None,
    *,
    seeds: int = 1,
    benchmark: str | None = None,
    without: str | None = None,
    note: str = "",
    seen: Seen | None = None,
    **train: Any,
) -> Cell:
    """A cell in the paper's recipe: a preset, possibly ablated or on another benchmark.

    `train` is for what the recipe leaves open.
    """
    run = PRESETS[preset]
    run = replace(
        run,
        benchmark=benchmark or run.benchmark,
        model=replace(run.model, without=without),
        train=replace(run.train, **train),
    )
    return Cell(
        run.model.name,
        run.benchmark,
        _seeded(run, _name(run.model.name, run.benchmark, without), seeds),
        ta,
        wea,
        variant=without,
        note=note,
        seen=seen,
    )


def own(
    label: str,
    preset: str,
    *,
    seeds: int = 1,
    benchmark: str | None = None,
    without: str | None = None,
    model: dict[str, Any] | None = None,
    note: str = "",
    seen: Seen | None = None,
    **train: Any,
) -> Cell:
    """A cell in a recipe of ours: a preset with changes to its model and its training."""
    run = PRESETS[preset]
    run = Run(
        benchmark or run.benchmark,
        replace(run.model, without=without, **(model or {})),
        replace(run.train, **train),
    )
    name = _name(run.model.name, run.benchmark, without, label)
    runs = _seeded(run, name, seeds)
    about = (run.model.name, run.benchmark, runs)
    return Cell(*about, variant=without, recipe="ours", note=note, seen=seen)


def quick(
    preset: str,
    rate: float,
    *,
    label: str = "quick",
    seeds: int = 3,
    note: str = "",
    **changes: Any,
) -> Cell:
    """A cell in small batches at a high rate: PermNets break through in hundreds of such steps."""
    train = {"epochs": 30, "evaluate_every": 3} | changes
    note = f"; {note}" if note else ""
    return own(
        label,
        preset,
        seeds=seeds,
        batch=512,
        rate=rate,
        schedule="cosine",
        warmup=200,
        note=f"batch 512, rate {rate:g}, cosine, {train['epochs']} epochs{note}",
        **train,
    )


def small(
    preset: str,
    *,
    rate: float = 0.003,
    epochs: int = 6,
    label: str = "small",
    seeds: int = 3,
    model: dict[str, Any] | None = None,
    note: str = "",
    **others: Any,
) -> Cell:
    """A cell of few parameters in small batches, which a CPU trains in minutes."""
    note = f"{note}, " if note else ""
    return own(
        label,
        preset,
        seeds=seeds,
        model={"embedding": 64, "hidden": 32} | (model or {}),
        batch=256,
        rate=rate,
        schedule="cosine",
        warmup=100,
        epochs=epochs,
        z_loss=1e-4,
        evaluate_every=1,
        evaluate_limit=2000,
        note=f"H 32, {note}batch 256, rate {rate:g}, cosine, {epochs} epochs, z-loss 0.0001; "
        "minutes on a CPU",
        **others,
    )


def beside(
    model: str, run: Run, note: str, label: str | None = None, seen: Seen | None = None
) -> Cell:
    """A cell of a model that the paper does not have."""
    runs = _seeded(run, _name(model, run.benchmark, label=label), 1)
    return Cell(model, run.benchmark, runs, recipe="ours", note=note, seen=seen)


def _name(model: str, benchmark: str, without: str | None = None, label: str | None = None) -> str:
    ablation = f"-without-{without}" if without else ""
    return f"{model}-{benchmark}{ablation}" + (f"-{label}" if label else "")


def _seeded(run: Run, name: str, count: int) -> dict[str, Run]:
    # A PermNet is never ended for being flat: it breaks through late and suddenly. A baseline that
    # has every example of the validation split right has nothing left to learn.
    if run.model.name not in PERMNETS:
        run = replace(run, train=replace(run.train, stop_when_solved=1.0, evaluate_every=5))
        if run.benchmark not in FULL_BUDGET:
            run = replace(run, train=replace(run.train, patience=0.5, time_limit=240.0))
    return {
        f"{name}-seed{seed}": replace(run, train=replace(run.train, seed=seed))
        for seed in range(count)
    }


def related(benchmark: str, seen: Mapping[str, Seen] | None = None) -> tuple[Cell, ...]:
    """Pointer network and pointer-generator, with CopyNet's settings on that benchmark.

    `seen` is what was seen of runs that were cut off, by their models.
    """
    like = PRESETS[f"copynet/{benchmark}"]
    return tuple(
        beside(
            name,
            replace(like, model=replace(like.model, name=name)),
            "CopyNet's settings",
            seen=(seen or {}).get(name),
        )
        for name in ("pointer", "pointer-generator")
    )


def fair_attention(benchmark: str, *rates: float) -> tuple[Cell, ...]:
    """A small Transformer of the shape that is known to learn associative recall."""
    model = ModelConfig("transformer", embedding=128, hidden=512, layers=2, heads=1, head_size=128)
    train = TrainConfig(epochs=64, batch=512, schedule="cosine", warmup=500)
    return tuple(
        beside(
            "fair-attention",
            Run(benchmark, model, replace(train, rate=rate)),
            f"2 layers, 1 head of 128; rate {rate:g}",
            label=f"rate{rate:g}",
        )
        for rate in rates
    )


def other_rates(preset: str, share: float, **train: Any) -> tuple[Cell, ...]:
    """A baseline at the next lower and higher rates, for a share of the paper's epochs."""
    return tuple(
        own(
            f"rate{rate:g}",
            preset,
            rate=rate,
            epochs=int(share * PRESETS[preset].train.epochs),
            note=f"rate {rate:g}, {100 * share:g} % of the epochs; "
            "only run where the paper's rate fails",
            **train,
        )
        for rate in _neighbours(PRESETS[preset].train.rate)
    )


def _neighbours(rate: float) -> tuple[float, float]:
    ladder = (0.00003, 0.0001, 0.0003, 0.001, 0.003)
    at = ladder.index(rate)
    return ladder[at - 1], ladder[at + 1]
