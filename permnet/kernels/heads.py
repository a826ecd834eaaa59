"""Scaled dot-product attention of several heads, on projections as they come.

The heads stand side by side in the last axis, and keys before values in one tensor, so that
neither way through needs a transpose. On a GPU with Triton, where all of an example fits on the
chip, a program does one head of one example; torch's own kernels are made for longer inputs and
took half of a step of the paper's Transformer at length 10. Elsewhere it is torch's.

Axes: B batch, T queries, L positions that are read, N heads, K size of a head.
"""

from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from permnet.kernels.gru import has_triton

LONGEST = 64
"""Positions of which a program still holds all pairs."""
ROOM = 12288
"""Numbers in queries and keys that it holds: shared memory has 99 KiB on some chips."""


def attend(
    query: Tensor, pairs: Tensor, heads: int, mask: Tensor | None = None, causal: bool = False
) -> Tensor:
    """What each query sees: (B, T, N · K) and keys, values (B, L, 2 · N · K) → (B, T, N · K).

    `mask` (B, L) tells which positions may be looked at. In its place `causal` may be asked for:
    queries, as many as there are positions, then look at none that comes after them.
    """
    assert mask is None or not causal
    if _on_chip(query, pairs, heads):
        return attend_on_chip(query, pairs, mask, heads, causal)
    keys, values = pairs.chunk(2, dim=-1)
    seen = F.scaled_dot_product_attention(
        split(query, heads),
        split(keys, heads),
        split(values, heads),
        None if mask is None else mask[:, None, None],
        is_causal=causal,
    )
    return seen.transpose(1, 2).flatten(2)


def split(x: Tensor, heads: int) -> Tensor:
    """(B, T, N · K) → (B, N, T, K)."""
    return x.unflatten(-1, (heads, -1)).transpose(1, 2)


def padded(count: int) -> int:
    """The power of two that a tile has for so many rows or columns; its products take 16."""
    return 1 << max(4, (count - 1).bit_length())


def _on_chip(query: Tensor, pairs: Tensor, heads: int) -> bool:
    steps, length, size = query.shape[1], pairs.shape[1], query.shape[2] // heads
    return (
        query.is_cuda
        and query.dtype == pairs.dtype
        and query.dtype in (torch.float32, torch.bfloat16)
        and max(steps, length) <= LONGEST
        and (padded(steps) + padded(length)) * padded(size) <= ROOM
        and has_triton()
    )


# Operators of their own, and no autograd.Function, so that a compiler leaves them whole between
# what it fuses. Nothing but the arguments is kept: the weights are formed anew on the way back.


@torch.library.custom_op("permnet::attend", mutates_args=())
def attend_on_chip(
    query: Tensor, pairs: Tensor, mask: Tensor | None, heads: int, causal: bool
) -> Tensor:
    """`attend` in Triton."""
    from permnet.kernels import triton_heads

    return triton_heads.forward((query.contiguous(), pairs.contiguous(), mask), heads, causal)


@torch.library.custom_op("permnet::attend_backward", mutates_args=())
def _backward(
    dseen: Tensor, query: Tensor, pairs: Tensor, mask: Tensor | None, heads: int, causal: bool
) -> tuple[Tensor, Tensor]:
    from permnet.kernels import triton_heads

    inputs = query.contiguous(), pairs.contiguous(), mask
    return triton_heads.backward(inputs, dseen.contiguous(), heads, causal)


@attend_on_chip.register_fake
def _(query: Tensor, *_: Any) -> Tensor:
    return query.new_empty(query.shape)


@_backward.register_fake
def _(dseen: Tensor, query: Tensor, pairs: Tensor, *_: Any) -> tuple[Tensor, Tensor]:
    return query.new_empty(query.shape), pairs.new_empty(pairs.shape)


def _keep(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
    *tensors, ctx.heads, ctx.causal = inputs
    ctx.save_for_backward(*tensors)


def _gradients(ctx: Any, dseen: Tensor) -> tuple[Tensor | None, ...]:
    found = _backward(dseen, *ctx.saved_tensors, ctx.heads, ctx.causal)
    return (*found, None, None, None)


attend_on_chip.register_autograd(_gradients, setup_context=_keep)
