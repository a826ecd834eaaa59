"""The loss: `permnet.ops.cross_entropy`, on a GPU in one pass over the logits each way."""

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from permnet import ops
from permnet.kernels.gru import has_triton

WIDEST = 4096
"""Logits of one target that a block still holds at once."""


def cross_entropy(logits: Tensor, targets: Tensor) -> Tensor:
    """The sum over all real targets of -log p: (B, T, V), (B, T) → ()."""
    exact = logits.dtype == torch.double
    if logits.is_cuda and not exact and logits.shape[-1] <= WIDEST and has_triton():
        return _CrossEntropy.apply(logits, targets)
    return ops.cross_entropy(logits if exact else logits.float(), targets)


class _CrossEntropy(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, logits: Tensor, targets: Tensor) -> Tensor:
        from permnet.kernels import triton_loss

        logits, targets = logits.contiguous(), targets.contiguous()
        losses, log_totals = triton_loss.forward(logits, targets)
        ctx.save_for_backward(logits, targets, log_totals)
        return losses.sum()

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, dtotal: Tensor) -> tuple[Tensor, None]:
        from permnet.kernels import triton_loss

        logits, targets, log_totals = ctx.saved_tensors
        return triton_loss.backward(logits, targets, log_totals, dtotal.contiguous()), None
