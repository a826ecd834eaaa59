"""Cross-entropy as two Triton kernels: a program holds all logits of a few targets."""

from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor

from permnet.vocab import PAD

PADDING = tl.constexpr(PAD)


@triton.jit
def _forward(  # type: ignore[no-untyped-def]
    logits, targets, losses, log_totals, N, V, ROWS: tl.constexpr, COLS: tl.constexpr
):
    row = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)
    col = tl.arange(0, COLS)
    inside = row < N
    x = tl.load(
        logits + row[:, None] * V + col[None, :],
        mask=inside[:, None] & (col < V)[None, :],
        other=float("-inf"),
    ).to(tl.float32)
    target = tl.load(targets + row, mask=inside, other=PADDING)
    top = tl.max(x, 1)
    log_total = top + tl.log(tl.sum(tl.exp(x - top[:, None]), 1))
    taken = tl.sum(tl.where(col[None, :] == target[:, None], x, 0.0), 1)
    tl.store(log_totals + row, log_total, mask=inside)
    tl.store(losses + row, tl.where(target == PADDING, 0.0, log_total - taken), mask=inside)


@triton.jit
def _backward(  # type: ignore[no-untyped-def]
    logits, targets, log_totals, dtotal, dlogits, N, V, ROWS: tl.constexpr, COLS: tl.constexpr
):
    row = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)
    col = tl.arange(0, COLS)
    inside = row < N
    cell = inside[:, None] & (col < V)[None, :]
    at = row[:, None] * V + col[None, :]
    x = tl.load(logits + at, mask=cell, other=float("-inf")).to(tl.float32)
    target = tl.load(targets + row, mask=inside, other=PADDING)
    log_total = tl.load(log_totals + row, mask=inside, other=0.0)
    hit = tl.where(col[None, :] == target[:, None], 1.0, 0.0)
    scale = tl.where(target == PADDING, 0.0, tl.load(dtotal))
    tl.store(dlogits + at, (tl.exp(x - log_total[:, None]) - hit) * scale[:, None], mask=cell)


def forward(logits: Tensor, targets: Tensor) -> tuple[Tensor, Tensor]:
    """Of every target its loss, 0 on padding, and the logarithm of the sum of powers."""
    losses = torch.empty(targets.shape, device=logits.device)
    log_totals = torch.empty_like(losses)
    grid, sizes = _launch(logits)
    _forward[grid](logits, targets, losses, log_totals, targets.numel(), logits.shape[-1], **sizes)
    return losses, log_totals


def backward(logits: Tensor, targets: Tensor, log_totals: Tensor, dtotal: Tensor) -> Tensor:
    dlogits = torch.empty_like(logits)
    grid, sizes = _launch(logits)
    _backward[grid](
        logits, targets, log_totals, dtotal, dlogits, targets.numel(), logits.shape[-1], **sizes
    )
    return dlogits


def _launch(logits: Tensor) -> tuple[tuple[int], dict[str, Any]]:
    cols = triton.next_power_of_2(logits.shape[-1])
    rows = max(1, 2048 // cols)
    sizes = {"ROWS": rows, "COLS": cols, "num_warps": 4}
    return (triton.cdiv(logits[..., 0].numel(), rows),), sizes
