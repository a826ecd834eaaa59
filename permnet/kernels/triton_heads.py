"""`heads.attend` as two Triton kernels: a program holds one head of one example."""

from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor

from permnet.kernels.heads import padded


@triton.jit
def _tile(start, rows, ROW, R: tl.constexpr, K, KS: tl.constexpr):  # type: ignore[no-untyped-def]
    """Addresses of `rows` rows of K numbers, ROW apart, and which of them are there."""
    i, k = tl.arange(0, R), tl.arange(0, KS)
    return start + i[:, None] * ROW + k[None, :], (i < rows)[:, None] & (k < K)[None, :]


@triton.jit
def _read(query, pairs, at_q, is_q, at_k, is_k, apart):  # type: ignore[no-untyped-def]
    """Queries, keys and values, which stand `apart` from their keys."""
    q = tl.load(query + at_q, mask=is_q, other=0.0)
    k = tl.load(pairs + at_k, mask=is_k, other=0.0)
    return q, k, tl.load(pairs + apart + at_k, mask=is_k, other=0.0)


@triton.jit
def _weights(  # type: ignore[no-untyped-def]
    q, k, mask, scale, L, MASKED: tl.constexpr, CAUSAL: tl.constexpr, TS: tl.constexpr,
    LS: tl.constexpr, PRECISION: tl.constexpr,
):  # fmt: skip
    """The softmax of q kᵀ along its rows, (TS, LS)."""
    i, j = tl.arange(0, TS)[:, None], tl.arange(0, LS)
    open = j < L
    if MASKED:
        open &= tl.load(mask + j, mask=open, other=0) != 0
    open = open[None, :]
    if CAUSAL:
        open &= j[None, :] <= i
    x = tl.dot(q, tl.trans(k), input_precision=PRECISION) * scale
    x = tl.where(open, x, float("-inf"))
    power = tl.exp(x - tl.maximum(tl.max(x, 1), -1e30)[:, None])
    return power / tl.maximum(tl.sum(power, 1), 1e-30)[:, None]


@triton.jit
def _forward(  # type: ignore[no-untyped-def]
    query, pairs, mask, seen, scale, T, L, N, K,
    MASKED: tl.constexpr, CAUSAL: tl.constexpr, TS: tl.constexpr, LS: tl.constexpr,
    KS: tl.constexpr, PRECISION: tl.constexpr,
):  # fmt: skip
    b, n = tl.program_id(0).to(tl.int64), tl.program_id(1)
    at_q, is_q = _tile((b * T * N + n) * K, T, N * K, TS, K, KS)
    at_k, is_k = _tile((b * L * 2 * N + n) * K, L, 2 * N * K, LS, K, KS)
    q, k, v = _read(query, pairs, at_q, is_q, at_k, is_k, N * K)
    p = _weights(q, k, mask + b * L, scale, L, MASKED, CAUSAL, TS, LS, PRECISION)
    tl.store(seen + at_q, tl.dot(p.to(v.dtype), v, input_precision=PRECISION), mask=is_q)


@triton.jit
def _backward(  # type: ignore[no-untyped-def]
    query, pairs, mask, dseen, dquery, dpairs, scale, T, L, N, K,
    MASKED: tl.constexpr, CAUSAL: tl.constexpr, TS: tl.constexpr, LS: tl.constexpr,
    KS: tl.constexpr, PRECISION: tl.constexpr,
):  # fmt: skip
    b, n = tl.program_id(0).to(tl.int64), tl.program_id(1)
    at_q, is_q = _tile((b * T * N + n) * K, T, N * K, TS, K, KS)
    at_k, is_k = _tile((b * L * 2 * N + n) * K, L, 2 * N * K, LS, K, KS)
    q, k, v = _read(query, pairs, at_q, is_q, at_k, is_k, N * K)
    d = tl.load(dseen + at_q, mask=is_q, other=0.0)
    p = _weights(q, k, mask + b * L, scale, L, MASKED, CAUSAL, TS, LS, PRECISION)
    dv = tl.dot(tl.trans(p.to(d.dtype)), d, input_precision=PRECISION)
    tl.store(dpairs + N * K + at_k, dv, mask=is_k)
    dp = tl.dot(d, tl.trans(v), input_precision=PRECISION)
    dx = (p * (dp - tl.sum(p * dp, 1)[:, None]) * scale).to(q.dtype)
    tl.store(dquery + at_q, tl.dot(dx, k, input_precision=PRECISION), mask=is_q)
    tl.store(dpairs + at_k, tl.dot(tl.trans(dx), q, input_precision=PRECISION), mask=is_k)


Inputs = tuple[Tensor, Tensor, Tensor | None]
"""Queries (B, T, N · K), keys and values (B, L, 2 · N · K), mask (B, L)."""


def forward(inputs: Inputs, heads: int, causal: bool) -> Tensor:
    """What each query sees, (B, T, N · K)."""
    query, pairs, mask = inputs
    seen = torch.empty_like(query)
    sizes, options = _launch(inputs, heads, causal)
    _forward[(len(query), heads)](query, pairs, _bytes(mask, query), seen, *sizes, **options)
    return seen


def backward(inputs: Inputs, dseen: Tensor, heads: int, causal: bool) -> tuple[Tensor, Tensor]:
    """The gradients of the queries, and of keys and values."""
    query, pairs, mask = inputs
    found = torch.empty_like(query), torch.empty_like(pairs)
    sizes, options = _launch(inputs, heads, causal)
    _backward[(len(query), heads)](
        query, pairs, _bytes(mask, query), dseen, *found, *sizes, **options
    )
    return found


def _bytes(mask: Tensor | None, other: Tensor) -> Tensor:
    """The mask as numbers; without one, something that a kernel never reads."""
    return other if mask is None else mask.contiguous().view(torch.uint8)


def _launch(
    inputs: Inputs, heads: int, causal: bool
) -> tuple[tuple[float, int, int, int, int], dict[str, Any]]:
    query, pairs, mask = inputs
    steps, length, size = query.shape[1], pairs.shape[1], query.shape[2] // heads
    widths = {"TS": padded(steps), "LS": padded(length), "KS": padded(size)}
    exact = torch.get_float32_matmul_precision() == "highest"
    options = {
        "MASKED": mask is not None,
        "CAUSAL": causal,
        "PRECISION": "ieee" if exact else "tf32",
        "num_warps": 4 if max(widths["TS"], widths["LS"]) > 32 else 2,
        **widths,
    }
    return (size**-0.5, steps, length, heads, size), options
