"""What the part is worth: a Transformer with and without the indirect resolver."""

from dataclasses import replace

from permnet.config import ModelConfig, ModelName, Run, TrainConfig
from permnet.experiments.tables import Cell, Table

# The inner layer of the one without is wider by as many parameters as the resolver has.
_INNER: dict[ModelName, int] = {"transformer": 545, "transformer-resolver": 512}
_TRAIN = TrainConfig(
    epochs=64, batch=512, rate=0.0005, schedule="cosine", warmup=500, evaluate_every=4
)


def _cell(model: ModelName, benchmark: str) -> Cell:
    config = ModelConfig(model, 128, _INNER[model], layers=2, heads=4, head_size=32)
    runs = {
        f"worth-{model}-{benchmark}-seed{seed}": Run(benchmark, config, replace(_TRAIN, seed=seed))
        for seed in range(3)
    }
    note = f"2 layers, 4 heads of 32, inner layer {_INNER[model]}"
    return Cell(model, benchmark, runs, recipe="ours", note=note)


TABLE = Table(
    "worth",
    "What the part is worth: a Transformer with and without the indirect resolver",
    cells=(),
    more=tuple(
        _cell(model, benchmark) for benchmark in ("PI10", "PI20", "PI_DICT") for model in _INNER
    ),
    notes=("Equal parameters, data, epochs and rate; neither has a query attention.",),
)
