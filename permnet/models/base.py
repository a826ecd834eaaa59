"""What every model of the package is: an encoder, a start state and a step.

    memory = model.encode(inputs)                 # once per example
    state = model.start(memory)
    step = model.step(memory, state, previous)    # once per output token
    logits = model(inputs, previous)              # all steps at once, teacher-forced

Shapes: `inputs` (B, L) ids between `<sos>` and `<eos>`, padded on the right with `<pad>`;
`previous` (B, T), the tokens before each output: `<sos>` and the targets but the last. Memory,
state and step are frozen dataclasses of tensors whose first axis is the batch; nothing is kept on
the module. `take_rows` re-orders any of them, as a beam search must, and `join_rows` puts several
together.
"""

import dataclasses
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, TypeVar

import torch
from torch import Tensor, nn

from permnet.errors import PermnetError
from permnet.vocab import PAD

Tree = TypeVar("Tree")


@dataclass(frozen=True)
class Step:
    """One output token: its logits (B, V), the state after it, and what led to them."""

    logits: Tensor
    state: Any
    positions: Tensor | None = None
    """(B, L): how much each input position speaks for its token, where a model points."""


class Seq2Seq(nn.Module, ABC):
    """A sequence-to-sequence model over one vocabulary of ids."""

    ABLATIONS: ClassVar[tuple[str, ...]] = ()
    """What `without` may be."""
    vocab_size: int

    @abstractmethod
    def encode(self, inputs: Tensor) -> Any: ...

    @abstractmethod
    def start(self, memory: Any) -> Any: ...

    @abstractmethod
    def step(self, memory: Any, state: Any, previous: Tensor) -> Step: ...

    def forward(self, inputs: Tensor, previous: Tensor, *, repeats: bool = True) -> Tensor:
        """Teacher-forced logits (B, T, V). Models with a faster way than the steps override it.

        `repeats=False` promises that no token of `previous`, special ones apart, stands more than
        once in its input; a model may then take a short cut.
        """
        memory = self.encode(inputs)
        state, logits = self.start(memory), []
        for token in previous.unbind(1):
            step = self.step(memory, state, token)
            state = step.state
            logits.append(step.logits)
        return torch.stack(logits, dim=1)


def without_pad(logits: Tensor) -> Tensor:
    """The logits with `<pad>` impossible: padding is no answer."""
    ids = torch.arange(logits.shape[-1], device=logits.device)
    return torch.where(ids == PAD, -torch.inf, logits)  # one pass; masked_fill copies first


def take_rows(tree: Tree, rows: Tensor) -> Tree:
    """The rows of every tensor in a memory, state or step, in the given order."""
    if isinstance(tree, Tensor):
        return tree.index_select(0, rows)  # type: ignore[return-value]
    if isinstance(tree, tuple):
        return tuple(take_rows(part, rows) for part in tree)  # type: ignore[return-value]
    if dataclasses.is_dataclass(tree) and not isinstance(tree, type):
        parts = {f.name: take_rows(getattr(tree, f.name), rows) for f in dataclasses.fields(tree)}
        return type(tree)(**parts)
    return tree


def join_rows(trees: Sequence[Any]) -> Any:
    """The rows of several memories, states or steps of one form, one after the other."""
    first = trees[0]
    if isinstance(first, Tensor):
        return torch.cat(list(trees))
    if isinstance(first, tuple):
        return tuple(join_rows(parts) for parts in zip(*trees, strict=True))
    if dataclasses.is_dataclass(first) and not isinstance(first, type):
        names = [f.name for f in dataclasses.fields(first)]
        return type(first)(**{n: join_rows([getattr(t, n) for t in trees]) for n in names})
    return first


def check_ablation(
    without: str | None, known: tuple[str, ...], fixed: tuple[str, ...], input_length: int | None
) -> None:
    """Refuses an unknown ablation, and one that needs a fixed input length but has none."""
    if without is not None and without not in known:
        raise PermnetError(f"unknown ablation {without!r} (known: {', '.join(known)})")
    if without in fixed and input_length is None:
        raise PermnetError(
            f"without {without} the model works at one input length only: give input_length"
        )


def fixed_width(x: Tensor, length: int, without: str) -> Tensor:
    """Passes on what an ablated layer of fixed width gave, if the input has that very length."""
    if x.shape[-1] != length:
        raise PermnetError(
            f"without {without} this model reads inputs of exactly {x.shape[-1]} tokens, "
            f"not {length} (<sos>, <sep> and <eos> counted)"
        )
    return x
