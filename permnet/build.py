"""From a config to its module: what a model is made of comes from config, vocabulary and task."""

import inspect

from permnet.config import ModelConfig
from permnet.errors import PermnetError, unknown
from permnet.models import MODELS, DirectResolver, IndirectResolver, Seq2Seq
from permnet.tasks.permutation import Task
from permnet.tasks.switch.benchmark import SwitchTask
from permnet.vocab import Vocab

SIZES = ("embedding", "hidden", "layers", "heads", "head_size")
LARGEST = 16_384  # of any size: beyond it stands a typing error or a damaged file
FIXED_LENGTH = (*DirectResolver.FIXED, *IndirectResolver.FIXED)
"""Ablations that work at one input length only."""


def check_model(config: ModelConfig, task: Task | SwitchTask) -> None:
    """Refuses what cannot be built for a task, whatever its vocabulary."""
    if config.name not in MODELS:
        raise unknown("model", config.name, MODELS)
    for name in SIZES:
        if not 1 <= getattr(config, name) <= LARGEST:
            raise PermnetError(f"model.{name} is 1 to {LARGEST}, not {getattr(config, name)}")
    accepted = inspect.signature(MODELS[config.name]).parameters
    ablations = MODELS[config.name].ABLATIONS
    if config.without is not None and not ablations:
        raise PermnetError(f"{config.name} has no ablations: leave out without={config.without!r}")
    if config.without is not None and config.without not in ablations:
        raise unknown("ablation", config.without, ablations)
    if config.equal and "equal" not in accepted:
        raise PermnetError(f"{config.name} has no keys and queries: leave out equal")
    if config.recall and "recall" not in accepted:
        raise PermnetError(f"{config.name} recalls nothing: leave out recall")
    if isinstance(task, SwitchTask) and "longest" in accepted:
        raise PermnetError(f"{config.name} needs arrays: for switch sets choose decompiler")
    _input_length(config, task)


def build(config: ModelConfig, vocab: Vocab, task: Task | SwitchTask) -> Seq2Seq:
    """An untrained model, its weights drawn from torch's global generator."""
    check_model(config, task)
    if vocab.reserved > LARGEST:
        raise PermnetError(f"a vocabulary reserves up to {LARGEST} ids, not {vocab.reserved}")
    model = MODELS[config.name]
    accepted = inspect.signature(model).parameters
    offered = {
        "vocab_size": len(vocab),
        "longest": task.size if isinstance(task, Task) else None,
        "input_length": _input_length(config, task),
        "without": config.without,
        "equal": config.equal,
        "recall": config.recall,
        **{name: getattr(config, name) for name in SIZES},
    }
    return model(**{name: value for name, value in offered.items() if name in accepted})


def _input_length(config: ModelConfig, task: Task | SwitchTask) -> int | None:
    """The one length an ablation of fixed width works at; None for all other models."""
    if config.without not in FIXED_LENGTH:
        return None
    if isinstance(task, SwitchTask):
        raise PermnetError(
            f"without {config.without} a model needs inputs of one length: switch sets have many"
        )
    if task.shortest < task.longest or task.noise:
        raise PermnetError(
            f"without {config.without} a model needs inputs of one length, but this task has "
            f"lengths {task.shortest} to {task.longest} and up to {task.noise} noise tokens"
        )
    return task.input_width
