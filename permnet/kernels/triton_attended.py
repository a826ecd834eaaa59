"""The parts of `attended_gru`'s step as Triton kernels: same names, same arguments as `_Plain`.

At the sizes of PI100 the reads of M_e (B, L, D) are nearly all the bytes of a step, once forwards
and once backwards, so both kernels read it exactly once and keep everything else on chip.
"""

import torch
import triton
import triton.language as tl
from torch import Tensor

READ = 256, 16384, 4
"""Columns of M_e that a program reads, its bytes in flight, its warps."""
READ_BACK = 16384, 8, 4
"""Bytes in flight on the way back, programs that share a long example, or the chip would wait for
few of them, and the warps of a program."""


@triton.jit
def _attend(  # type: ignore[no-untyped-def]
    h, asking, bias, rows, mask, m_e, scalar, weights, read,
    L, D, S, CHUNK: tl.constexpr, LS: tl.constexpr, SS: tl.constexpr, DS: tl.constexpr,
):  # fmt: skip
    """One program: one example, DS columns of M_e. All programs of an example form its weights."""
    b = tl.program_id(0).to(tl.int64)
    first = tl.program_id(1) == 0
    k = tl.arange(0, SS)
    q = tl.load(asking + b * S + k, mask=k < S, other=0.0)
    state = tl.load(h + b * S + k, mask=k < S, other=0.0)
    s = tl.sum(q * state, 0) + tl.load(bias + b)
    i = tl.arange(0, LS)
    real = tl.load(mask + b * L + i, mask=i < L, other=0) != 0
    asked = tl.where(real, s * tl.load(rows + b * L + i, mask=i < L, other=0.0), float("-inf"))
    top = tl.maximum(tl.max(asked, 0), -1e30)  # an example of padding only stays finite
    power = tl.exp(asked - top)
    total = tl.maximum(tl.sum(power, 0), 1e-30)
    if first:
        tl.store(scalar + b, s)
        tl.store(weights + b * L + i, power / total, mask=i < L)
    d = tl.program_id(1) * DS + tl.arange(0, DS)
    acc = tl.zeros([CHUNK, DS], dtype=tl.float32)
    for start in range(0, L, CHUNK):
        j = start + tl.arange(0, CHUNK)
        live = tl.load(mask + b * L + j, mask=j < L, other=0) != 0
        r = tl.load(rows + b * L + j, mask=live & (j < L), other=0.0)
        w = tl.where(live, tl.exp(s * r - top) / total, 0.0)
        tile = tl.load(
            m_e + b * L * D + j[:, None] * D + d[None, :],
            mask=(live & (j < L))[:, None] & (d < D)[None, :],
            other=0.0,
        )
        acc += w[:, None] * tile.to(tl.float32)
    tl.store(read + b * D + d, tl.sum(acc, 0), mask=d < D)


@triton.jit
def _attend_backward(  # type: ignore[no-untyped-def]
    dread, m_e, weights, rows, dweights, parts,
    L, D, SPAN, CHUNK: tl.constexpr, DS: tl.constexpr,
):  # fmt: skip
    """One program: SPAN positions of one example; leaves Σ w dw, Σ w dw r and Σ w r of its span."""
    b = tl.program_id(0).to(tl.int64)
    d = tl.arange(0, DS)
    g = tl.load(dread + b * D + d, mask=d < D, other=0.0)
    w_dw = tl.zeros([CHUNK], dtype=tl.float32)
    w_dw_r = tl.zeros([CHUNK], dtype=tl.float32)
    w_r = tl.zeros([CHUNK], dtype=tl.float32)
    begin = tl.program_id(1) * SPAN
    end = tl.minimum(begin + SPAN, L)
    for start in range(begin, end, CHUNK):
        j = start + tl.arange(0, CHUNK)
        w = tl.load(weights + b * L + j, mask=j < end, other=0.0)
        r = tl.load(rows + b * L + j, mask=j < end, other=0.0)
        tile = tl.load(
            m_e + b * L * D + j[:, None] * D + d[None, :],
            mask=(j < end)[:, None] & (d < D)[None, :],
            other=0.0,
        )
        dw = tl.sum(tile.to(tl.float32) * g[None, :], 1)
        tl.store(dweights + b * L + j, dw, mask=j < end)
        w_dw += w * dw
        w_dw_r += w * dw * r
        w_r += w * r
    at = parts + (b * tl.num_programs(1) + tl.program_id(1)) * 3
    tl.store(at, tl.sum(w_dw, 0))
    tl.store(at + 1, tl.sum(w_dw_r, 0))
    tl.store(at + 2, tl.sum(w_r, 0))


@triton.jit
def _scalar_backward(  # type: ignore[no-untyped-def]
    parts, through, asking, mean, dscalar, dh, S, SPANS: tl.constexpr, SS: tl.constexpr
):
    """ds = Σ w dw r - (Σ w dw)(Σ w r), so that one pass over M_e was enough; dh gets its shares."""
    b = tl.program_id(0).to(tl.int64)
    n = tl.arange(0, SPANS)
    at = parts + (b * SPANS + n) * 3
    average = tl.sum(tl.load(at), 0)
    ds = tl.sum(tl.load(at + 1), 0) - average * tl.sum(tl.load(at + 2), 0)
    tl.store(mean + b, average)
    tl.store(dscalar + b, ds)
    k = tl.arange(0, SS)
    q = tl.load(asking + b * S + k, mask=k < S, other=0.0)
    carried = tl.load(dh + b * S + k, mask=k < S, other=0.0)
    carried += tl.load(through + b * S + k, mask=k < S, other=0.0)
    tl.store(dh + b * S + k, carried + ds * q, mask=k < S)


@triton.jit
def _cell(  # type: ignore[no-untyped-def]
    ids, table, of_att, of_h, bias, h, gates, new, factor, S, ROW, BLOCK: tl.constexpr
):
    b = tl.program_id(0).to(tl.int64)
    k = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    used = k < S
    x = table + tl.load(ids + b) * 3 * S + k
    a, y, g = of_att + b * 3 * S + k, of_h + b * ROW + k, gates + b * 4 * S + k
    x_r = tl.load(x, mask=used) + tl.load(a, mask=used)
    x_z = tl.load(x + S, mask=used) + tl.load(a + S, mask=used)
    x_n = tl.load(x + 2 * S, mask=used) + tl.load(a + 2 * S, mask=used)
    h_r = tl.load(y, mask=used) + tl.load(bias + k, mask=used)
    h_z = tl.load(y + S, mask=used) + tl.load(bias + S + k, mask=used)
    h_n = tl.load(y + 2 * S, mask=used) + tl.load(bias + 2 * S + k, mask=used)
    r = tl.sigmoid(x_r + h_r)
    z = tl.sigmoid(x_z + h_z)
    n = 2 * tl.sigmoid(2 * (x_n + r * h_n)) - 1
    tl.store(g, r, mask=used)
    tl.store(g + S, z, mask=used)
    tl.store(g + 2 * S, n, mask=used)
    tl.store(g + 3 * S, h_n, mask=used)
    before = tl.load(h + b * S + k, mask=used)
    after = n + z * (before - n)
    tl.store(new + b * S + k, after, mask=used)
    tl.store(factor + b * S + k, after, mask=used)


@triton.jit
def _cell_backward(  # type: ignore[no-untyped-def]
    dout, gates, h, dof_x, dof_h, dh, S, ROW, BLOCK: tl.constexpr
):
    b = tl.program_id(0).to(tl.int64)
    k = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    used = k < S
    g, x, y = gates + b * 4 * S + k, dof_x + b * 3 * S + k, dof_h + b * ROW + k
    r, z = tl.load(g, mask=used), tl.load(g + S, mask=used)
    n, h_n = tl.load(g + 2 * S, mask=used), tl.load(g + 3 * S, mask=used)
    carried = tl.load(dh + b * S + k, mask=used) + tl.load(dout + b * S + k, mask=used)
    dn = carried * (1 - z) * (1 - n * n)
    dz = carried * (tl.load(h + b * S + k, mask=used) - n) * z * (1 - z)
    dr = dn * h_n * r * (1 - r)
    tl.store(x, dr, mask=used)
    tl.store(x + S, dz, mask=used)
    tl.store(x + 2 * S, dn, mask=used)
    tl.store(y, dr, mask=used)
    tl.store(y + S, dz, mask=used)
    tl.store(y + 2 * S, dn * r, mask=used)
    tl.store(dh + b * S + k, carried * z, mask=used)


def _up(n: int, least: int = 1) -> int:
    return max(least, triton.next_power_of_2(n))


def attend(h: Tensor, asking: Tensor, bias: Tensor, rows: Tensor, mask: Tensor, m_e: Tensor,
           scalar: Tensor, weights: Tensor, read: Tensor) -> None:  # fmt: skip
    batch, length, width = m_e.shape
    most, size, warps = READ
    columns = min(_up(width), most)
    chunk = min(_up(length), max(1, size // (columns * m_e.element_size())))
    _attend[(batch, triton.cdiv(width, columns))](
        h, asking, bias, rows, mask.view(torch.uint8), m_e, scalar, weights, read,
        length, width, h.shape[1],
        CHUNK=chunk, LS=_up(length), SS=_up(h.shape[1]), DS=columns, num_warps=warps,
    )  # fmt: skip


def attend_backward(dread: Tensor, through: Tensor, m_e: Tensor, weights: Tensor, rows: Tensor,
                    asking: Tensor, dweights: Tensor, mean: Tensor, dscalar: Tensor,
                    dh: Tensor) -> None:  # fmt: skip
    batch, length, width = m_e.shape
    columns = _up(width)
    size, most, warps = READ_BACK
    chunk = min(_up(length), max(1, size // (columns * m_e.element_size())))
    spans = most if length > most * chunk else 1
    span = chunk * triton.cdiv(length, chunk * spans)
    parts = dread.new_empty(batch, spans, 3)
    _attend_backward[(batch, spans)](
        dread, m_e, weights, rows, dweights, parts, length, width, span,
        CHUNK=chunk, DS=columns, num_warps=warps,
    )  # fmt: skip
    state = dh.shape[1]
    _scalar_backward[(batch,)](
        parts, through, asking, mean, dscalar, dh, state, SPANS=spans, SS=_up(state), num_warps=1
    )


def cell(ids: Tensor, table: Tensor, of_att: Tensor, of_h: Tensor, bias: Tensor, h: Tensor,
         gates: Tensor, new: Tensor, factor: Tensor) -> None:  # fmt: skip
    block = min(_up(h.shape[1]), 1024)
    grid = (len(h), triton.cdiv(h.shape[1], block))
    _cell[grid](
        ids, table, of_att, of_h, bias, h, gates, new, factor, h.shape[1], of_h.stride(0),
        BLOCK=block, num_warps=max(1, block // 256),
    )  # fmt: skip


def cell_backward(dout: Tensor, gates: Tensor, h: Tensor, dof_x: Tensor, dof_h: Tensor,
                  dh: Tensor) -> None:  # fmt: skip
    block = min(_up(h.shape[1]), 1024)
    grid = (len(h), triton.cdiv(h.shape[1], block))
    _cell_backward[grid](
        dout, gates, h, dof_x, dof_h, dh, h.shape[1], dof_h.stride(0),
        BLOCK=block, num_warps=max(1, block // 256),
    )  # fmt: skip
