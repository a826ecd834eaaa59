"""`relations` as Triton kernels: everything of a row happens on chip, in one pass each way."""

import torch
import triton
import triton.language as tl
from torch import Tensor

SLOPE = tl.constexpr(1.718281828459045)  # e - 1


@triton.jit
def _softmax(gram, left, right, among):  # type: ignore[no-untyped-def]
    """Softmax along the rows of left ⊙ gram ⊙ right, over columns `among`, which may be none."""
    x = tl.where(among, left[:, None] * gram * right[None, :], float("-inf"))
    power = tl.exp(x - tl.maximum(tl.max(x, 1), -1e30)[:, None])
    return power / tl.maximum(tl.sum(power, 1), 1e-30)[:, None]


@triton.jit
def _dsoftmax(p, dm, keep, LOG: tl.constexpr):  # type: ignore[no-untyped-def]
    """The gradient of the softmax's argument from that of its MLogSoftmax."""
    dp = tl.where(keep, dm, 0.0)
    if LOG:
        dp = dp * SLOPE / (p * SLOPE + 1)
    return p * (dp - tl.sum(p * dp, 1)[:, None])


@triton.jit
def _forward(  # type: ignore[no-untyped-def]
    gram, of_data, of_key, of_query, mask, ids, m_dk, m_kp, L,
    LOG: tl.constexpr, EQUAL: tl.constexpr, ROWS: tl.constexpr, COLS: tl.constexpr,
):  # fmt: skip
    b = tl.program_id(0).to(tl.int64)
    i, j = tl.program_id(1) * ROWS + tl.arange(0, ROWS), tl.arange(0, COLS)
    at = b * L * L + i[:, None] * L + j[None, :]
    inside = (i < L)[:, None] & (j < L)[None, :]
    g = tl.load(gram + at, mask=inside, other=0.0)
    real = tl.load(mask + b * L + j, mask=j < L, other=0) != 0
    keep = (tl.load(mask + b * L + i, mask=i < L, other=0) != 0)[:, None]
    keep &= real[None, :] & (i[:, None] != j[None, :])
    asked = real[None, :]
    if EQUAL:
        id_i = tl.load(ids + b * L + i, mask=i < L, other=-1)
        id_j = tl.load(ids + b * L + j, mask=j < L, other=-1)
        asked = keep & (id_i[:, None] == id_j[None, :])
    data_i = tl.load(of_data + b * L + i, mask=i < L, other=0.0)
    key_i = tl.load(of_key + b * L + i, mask=i < L, other=0.0)
    key_j = tl.load(of_key + b * L + j, mask=j < L, other=0.0)
    query_j = tl.load(of_query + b * L + j, mask=j < L, other=0.0)
    dk = _softmax(g, data_i, key_j, real[None, :])
    kp = _softmax(g, key_i, query_j, asked)
    if LOG:
        dk = tl.log(dk * SLOPE + 1)
        kp = tl.log(kp * SLOPE + 1)
    tl.store(m_dk + at, tl.where(keep, dk, 0.0), mask=inside)
    tl.store(m_kp + at, tl.where(keep, kp, 0.0), mask=inside)


@triton.jit
def _backward(  # type: ignore[no-untyped-def]
    gram, of_data, of_key, of_query, mask, ids, dm_dk, dm_kp, dgram, ddata, dkey, dquery, L,
    LOG: tl.constexpr, EQUAL: tl.constexpr, ROWS: tl.constexpr, COLS: tl.constexpr,
):  # fmt: skip
    """One program: one example, so that the sums over its rows need no second pass."""
    b = tl.program_id(0).to(tl.int64)
    j = tl.arange(0, COLS)
    real = tl.load(mask + b * L + j, mask=j < L, other=0) != 0
    key_j = tl.load(of_key + b * L + j, mask=j < L, other=0.0)
    query_j = tl.load(of_query + b * L + j, mask=j < L, other=0.0)
    id_j = tl.load(ids + b * L + j, mask=j < L, other=-1)
    down_key = tl.zeros([COLS], dtype=tl.float32)
    down_query = tl.zeros([COLS], dtype=tl.float32)
    for start in range(0, L, ROWS):
        i = start + tl.arange(0, ROWS)
        at = b * L * L + i[:, None] * L + j[None, :]
        inside = (i < L)[:, None] & (j < L)[None, :]
        g = tl.load(gram + at, mask=inside, other=0.0)
        keep = (tl.load(mask + b * L + i, mask=i < L, other=0) != 0)[:, None]
        keep &= real[None, :] & (i[:, None] != j[None, :])
        asked = real[None, :]
        if EQUAL:
            id_i = tl.load(ids + b * L + i, mask=i < L, other=-1)
            asked = keep & (id_i[:, None] == id_j[None, :])
        data_i = tl.load(of_data + b * L + i, mask=i < L, other=0.0)
        key_i = tl.load(of_key + b * L + i, mask=i < L, other=0.0)
        p = _softmax(g, data_i, key_j, real[None, :])
        dx = _dsoftmax(p, tl.load(dm_dk + at, mask=inside, other=0.0), keep, LOG)
        dg = dx * data_i[:, None] * key_j[None, :]
        tl.store(ddata + b * L + i, tl.sum(dx * g * key_j[None, :], 1), mask=i < L)
        down_key += tl.sum(dx * g * data_i[:, None], 0)
        p = _softmax(g, key_i, query_j, asked)
        dx = _dsoftmax(p, tl.load(dm_kp + at, mask=inside, other=0.0), keep, LOG)
        dg += dx * key_i[:, None] * query_j[None, :]
        tl.store(dkey + b * L + i, tl.sum(dx * g * query_j[None, :], 1), mask=i < L)
        down_query += tl.sum(dx * g * key_i[:, None], 0)
        tl.store(dgram + at, dg, mask=inside)
    tl.store(dquery + b * L + j, down_query, mask=j < L)
    # A key is met as a row and as a column: the rows' part was stored above, in this program.
    tl.debug_barrier()
    rows_part = tl.load(dkey + b * L + j, mask=j < L, other=0.0)
    tl.store(dkey + b * L + j, rows_part + down_key, mask=j < L)


def _tile(length: int) -> dict[str, int]:
    """Whole rows, few of them: small blocks were quickest at every length measured."""
    cols = max(16, triton.next_power_of_2(length))
    return {"ROWS": max(1, min(cols, 512 // cols)), "COLS": cols, "num_warps": 4}


def forward(inputs: tuple[Tensor, ...], log: bool, equal: bool) -> tuple[Tensor, Tensor]:
    """From gram, of_data, of_key, of_query, mask and ids to M_dk and M_kp."""
    *floats, mask, ids = inputs
    batch, length, _ = floats[0].shape
    m_dk, m_kp = torch.empty_like(floats[0]), torch.empty_like(floats[0])
    tile = _tile(length)
    _forward[(batch, triton.cdiv(length, tile["ROWS"]))](
        *floats, mask.view(torch.uint8), ids, m_dk, m_kp, length, LOG=log, EQUAL=equal, **tile
    )
    return m_dk, m_kp


def backward(
    inputs: tuple[Tensor, ...], dm_dk: Tensor, dm_kp: Tensor, log: bool, equal: bool
) -> tuple[Tensor, ...]:
    """The gradients of gram, of_data, of_key and of_query."""
    *floats, mask, ids = inputs
    batch, length, _ = dm_dk.shape
    found = tuple(torch.empty_like(v) for v in floats)
    _backward[(batch,)](
        *floats, mask.view(torch.uint8), ids, dm_dk, dm_kp, *found, length,
        LOG=log, EQUAL=equal, **_tile(length),
    )  # fmt: skip
    return found
