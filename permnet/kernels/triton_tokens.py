"""Rows summed by token, for vocabularies too large for a one-hot product, as a Triton kernel.

The rows are taken in the order of their tokens. Each program adds up neighbours and sends a sum on
whenever the token changes, so that few additions meet at the same place.
"""

import torch
import triton
import triton.language as tl
from torch import Tensor


@triton.jit
def _sum(  # type: ignore[no-untyped-def]
    order, tokens, rows, out, N, W, CHUNK: tl.constexpr, BLOCK: tl.constexpr, COLS: tl.constexpr
):
    col = tl.program_id(1) * COLS + tl.arange(0, COLS)
    used = col < W
    first = tl.program_id(0) * CHUNK
    last = tl.minimum(first + CHUNK, N)
    token = tl.load(tokens + first).to(tl.int64)
    total = tl.zeros([COLS], tl.float32)
    for start in range(first, last, BLOCK):
        i = start + tl.arange(0, BLOCK)
        inside = i < last
        place = tl.load(order + i, mask=inside, other=0)
        tile = tl.load(
            rows + place[:, None] * W + col[None, :],
            mask=inside[:, None] & used[None, :],
            other=0.0,
        ).to(tl.float32)
        end = tl.minimum(start + BLOCK, last)
        if tl.load(tokens + end - 1).to(tl.int64) == token:  # they are sorted: all are the same
            total += tl.sum(tile, 0)
        else:
            for k in range(start, end):
                new = tl.load(tokens + k).to(tl.int64)
                if new != token:
                    tl.atomic_add(out + token * W + col, total, mask=used)
                    total = tl.zeros([COLS], tl.float32)
                    token = new
                total += tl.sum(tl.where((i == k)[:, None], tile, 0.0), 0)
    tl.atomic_add(out + token * W + col, total, mask=used)


def sum_rows_by_token(tokens: Tensor, rows: Tensor, vocab: int) -> Tensor:
    """The Triton twin of `permnet.kernels.gru.sum_rows_by_token`, in single precision."""
    tokens, order = tokens.to(torch.int32).sort()
    out = torch.zeros(vocab, rows.shape[1], device=rows.device)
    if len(rows):
        grid = (triton.cdiv(len(rows), 256), triton.cdiv(rows.shape[1], 256))
        _sum[grid](
            order, tokens, rows, out, *rows.shape, CHUNK=256, BLOCK=16, COLS=256, num_warps=4
        )
    return out
