"""The model that reads dispatches for `permnet switches`: one run, and two at other rates."""

from dataclasses import replace

from permnet.config import ModelConfig, Run, TrainConfig
from permnet.tasks.dispatch import DISPATCH

_MODEL = ModelConfig("permneti", embedding=128, hidden=128)
_TRAIN = TrainConfig(
    epochs=24,
    batch=512,
    rate=0.002,
    schedule="cosine",
    warmup=500,
    reserved=192,
    evaluate_every=6,
    evaluate_limit=2000,
)
_RUN = Run(DISPATCH, _MODEL, _TRAIN)

PRESETS = {f"permneti/{DISPATCH}": _RUN}

RUNS = {f"permneti-{DISPATCH}-seed0": _RUN}
AT_RATES = {
    f"permneti-{DISPATCH}-rate{rate:g}-seed0": replace(_RUN, train=replace(_TRAIN, rate=rate))
    for rate in (0.001, 0.004)
}
