"""The paper's experiments as data: presets, and lists of runs by name."""

from dataclasses import replace

from permnet.config import ModelConfig, Run, TrainConfig
from permnet.experiments.presets import PRESETS


def _seeds(count: int, *presets: str, benchmark: str | None = None) -> dict[str, Run]:
    """These presets with seeds 0, 1, …, each run under a name of its own."""
    runs = {}
    for preset in presets:
        for seed in range(count):
            run = PRESETS[preset]
            run = replace(
                run, benchmark=benchmark or run.benchmark, train=replace(run.train, seed=seed)
            )
            runs[f"{run.model.name}-{run.benchmark}-seed{seed}"] = run
    return runs


_TINY = TrainConfig(
    epochs=2, batch=128, examples=1024, rate=0.01, evaluate_every=1, evaluate_limit=200
)

SWEEPS: dict[str, dict[str, Run]] = {
    "smoke": {
        "permnetd-PD1-10": Run("PD1-10", ModelConfig("permnetd", embedding=16, hidden=8), _TINY),
        "permneti-PI1-10": Run("PI1-10", ModelConfig("permneti", embedding=16, hidden=8), _TINY),
    },
    "table1": _seeds(3, "permnetd/PD1-10", "permnetd/PD10", "permnetd/PD20"),
    "table2": _seeds(1, "permnetd/PD40", "permnetd/PD100"),
    "table3": _seeds(3, "permneti/PI1-10", "permneti/PI10", "permneti/PI20"),
    "table4": _seeds(1, "permneti/PI40", "permneti/PI100"),
    "table5": _seeds(3, "permneti/PI_DICT"),
    "noise": {
        **_seeds(3, "permnetd/PD10", benchmark="PD10-noise"),
        **_seeds(3, "permneti/PI10", benchmark="PI10-noise"),
    },
}
"""Name → the runs of a sweep by their names, in the order they matter."""
