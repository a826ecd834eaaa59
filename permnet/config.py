"""A run in plain data: which benchmark, which model, how it is trained. JSON both ways.

This module does not import torch, so that the command line can show its options at once.
"""

import dataclasses
import json
import types
import typing
from dataclasses import dataclass, field
from typing import Any, Literal

from permnet.errors import PermnetError, unknown

ModelName = Literal[
    "permnetd",
    "permneti",
    "gru",
    "gru-attention",
    "copynet",
    "transformer",
    "transformer-resolver",
    "pointer",
    "pointer-generator",
    "copy-decompiler",
    "decompiler",
]


@dataclass(frozen=True)
class ModelConfig:
    """Which model and how large; a size that a model does not have is ignored by it."""

    name: ModelName = "permneti"
    embedding: int = 128
    hidden: int = 32
    """Size of the recurrent state of one encoder direction; of the transformer's inner layer."""
    layers: int = 4
    """Transformer only: layers of the encoder, and of the decoder."""
    heads: int = 12
    head_size: int = 64
    without: str | None = None
    """An ablation of Table 6 or 7: fixed-vocab, m_e, m_ind, v_arr; m_d, attn, m_pl, mlogsoft, …"""
    equal: bool = False
    """PermNetI's resolver, our addition: a key meets only queries that are its own token."""
    recall: bool = False
    """The decompilers, our addition: positions that were taken from before are scored apart."""


@dataclass(frozen=True)
class TrainConfig:
    """How a run is trained. The defaults are the paper's for PI10."""

    epochs: int = 100
    batch: int = 8192
    rate: float = 0.003
    schedule: Literal["constant", "cosine"] = "constant"
    """Cosine: the rate falls to 0 over the epochs at full length."""
    warmup: int = 0
    """Steps over which the rate rises linearly from 0."""
    clip: float = 1.0
    """Largest norm of the gradient; 0 for no clipping."""
    weight_decay: float = 0.01
    """On PermNetD's index embedding only."""
    z_loss: float = 0.0
    """Weight of the mean squared log of the softmax's sum, which keeps logits from drifting off."""
    reserved: int = 0
    """Ids kept for tokens never seen in training."""
    unseen: float = 0.0
    """Share of an example's tokens that are trained under reserved ids."""
    examples: int = 100_000
    """How many of the frozen training examples are used, the first ones; or drawn per epoch."""
    fresh: bool = False
    """New examples in every epoch, in place of the frozen 100,000."""
    grow: tuple[int, ...] = ()
    """Lengths to train on first, each until solved: at `stop_when_solved`, or 0.99 if that is 0."""
    grow_epochs: int = 100
    """Most epochs at each of the growing lengths; unsolved by then, training moves on."""
    stop_when_solved: float = 0.0
    """End when this share of whole examples of the validation split is right; 0 for never."""
    patience: float = 0.0
    """End after this share of the epochs without a lower validation loss; 0 for never."""
    time_limit: float = 0.0
    """End, as finished, after the first epoch that passes so many seconds; 0 for never.

    Seconds of a device of its own: runs that share one get so many times longer.
    """
    evaluate_every: int = 10
    """Epochs between evaluations on the validation split."""
    evaluate_limit: int = 10_000
    precision: Literal["tf32", "fp32", "bf16"] = "tf32"
    compile: bool = False
    """Transformer only: let torch.compile fuse it, which takes half a minute and a C compiler."""
    start: str = ""
    """A trained model of the same kind and size to begin with, by its name or folder.

    Tokens that it does not know begin anew.
    """
    seed: int = 0


@dataclass(frozen=True)
class Run:
    """One training: `benchmark` is a name such as PI20, PI1-4 or PI20@1."""

    benchmark: str
    model: ModelConfig = field(default_factory=ModelConfig)
    train: TrainConfig = field(default_factory=TrainConfig)


def to_json(config: Any) -> dict[str, Any]:
    """The config as JSON values, with every field named."""
    raw: dict[str, Any] = json.loads(json.dumps(dataclasses.asdict(config)))  # tuples become lists
    return raw


def from_json(cls: type[Any], raw: object, where: str = "config") -> Any:
    """The config of this class out of JSON values; unknown fields and wrong types are errors."""
    if not isinstance(raw, dict):
        raise PermnetError(f"{where}: expected an object with fields, found {raw!r}")
    hints = typing.get_type_hints(cls)
    known = {f.name: hints[f.name] for f in dataclasses.fields(cls)}
    values = {}
    for name, value in raw.items():
        if name not in known:
            raise unknown(f"field of {where}", str(name), known)
        values[name] = _value(known[name], value, f"{where}.{name}")
    missing = [
        f.name
        for f in dataclasses.fields(cls)
        if f.name not in values
        and f.default is dataclasses.MISSING
        and f.default_factory is dataclasses.MISSING
    ]
    if missing:
        raise PermnetError(f"{where}: the field {missing[0]!r} is missing")
    return cls(**values)


def _value(kind: Any, value: object, where: str) -> Any:
    if dataclasses.is_dataclass(kind):
        return from_json(kind, value, where)  # type: ignore[arg-type]
    origin, inner = typing.get_origin(kind), typing.get_args(kind)
    if origin is Literal:
        if value not in inner:
            raise unknown(f"value of {where}", str(value), map(str, inner))
        return value
    if origin is tuple:
        if not isinstance(value, (list, tuple)):
            raise PermnetError(f"{where}: expected a list, found {value!r}")
        return tuple(_value(inner[0], v, where) for v in value)
    if origin in (types.UnionType, typing.Union):
        return None if value is None else _value(inner[0], value, where)
    if kind is float and type(value) is int:
        try:
            return float(value)
        except OverflowError as error:
            raise PermnetError(f"{where}: {error}") from error
    if type(value) is not (origin or kind):
        raise PermnetError(f"{where}: expected {kind.__name__}, found {value!r}")
    return value
