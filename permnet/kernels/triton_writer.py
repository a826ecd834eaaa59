"""The reads of `writer`'s step as Triton kernels: same names, same arguments as `_Plain`.

M_e and the attention's keys are nearly all the bytes of a step, so `_look` and `_look_backward`
read each once. A long example is shared by SPLITS programs, or the chip would wait for few of
them; `_settle` and `_held_backward` put their parts together. Positions that hold a token are
fetched HELD at a time: most tokens stand in few, a bracket in a hundred, and then all others wait.

The tanh of the attention is most of the arithmetic. Of e^2a and e^2b, which are formed once for a
step and once for all, it needs r = 1 / (1 + e^2a e^2b): tanh(a + b) is 1 - 2 r, and its slope
4 (r - r²). As the square of a reciprocal root r is two instructions, as a quotient it is eight.
"""

from dataclasses import replace

import torch
import triton
import triton.language as tl
from torch import Tensor

from permnet.kernels.triton_attended import _up
from permnet.kernels.writer import Held, Source

LEAST = tl.constexpr(-1e30)
TINY = tl.constexpr(1.1754943508222875e-38)
HELD = 32
"""Positions of a token fetched at once."""
CELLS = 2048
"""Of M_e or the keys, how many numbers a program takes at once."""
PROGRAMS = 1024
"""How many programs should share a step's positions; an H200 runs 132 times a few at once."""
FARTHEST = tl.constexpr(40.0)
"""What the attention's keys and states are held below, so that products of powers are numbers."""


@triton.jit
def _power(x):  # type: ignore[no-untyped-def]
    return tl.exp(2 * tl.minimum(tl.maximum(x, -FARTHEST), FARTHEST))


@triton.jit
def _r(a, b):  # type: ignore[no-untyped-def]
    """1 / (1 + a b), out of which tanh and its slope are made."""
    root = tl.rsqrt(1 + a * b)
    return root * root


@triton.jit
def _dots(m, pos, ok, k, x, S):  # type: ignore[no-untyped-def]
    """Rows of m at these positions times x."""
    rows = tl.load(
        m + pos[:, None] * S + k[None, :], mask=ok[:, None] & (k < S)[None, :], other=0.0
    )
    return tl.sum(rows.to(tl.float32) * x[None, :], 1)


@triton.jit
def _held(  # type: ignore[no-untyped-def]
    h, m_e, copy_keys, asking, bias, order, first, last, asks, weights, taken, read,
    L, D, S, ROW, RESOLVES: tl.constexpr, HELD: tl.constexpr, SS: tl.constexpr, DS: tl.constexpr,
):  # fmt: skip
    """One program, one example: what the positions that hold the last token say, and their read."""
    b = tl.program_id(0).to(tl.int64)
    begin, end, may = tl.load(first + b), tl.load(last + b), tl.load(asks + b) != 0
    k, d = tl.arange(0, SS), tl.arange(0, DS)
    state = tl.load(h + b * S + k, mask=k < S, other=0.0)
    top = LEAST
    total = 0.0
    acc = tl.zeros([DS], dtype=tl.float32)
    for start in range(begin, end, HELD):
        j = start + tl.arange(0, HELD)
        ok = j < end
        pos = tl.load(order + b * L + j, mask=ok, other=0) + b * L
        copy = _dots(copy_keys, pos, ok, k, state, S)
        mine = ok
        if RESOLVES:
            v_dw = _dots(asking, pos, ok, k, state, S) + tl.load(bias + pos, mask=ok, other=0.0)
            mine = ok & (copy > v_dw)
            v_dw = tl.where(v_dw == 0, TINY, v_dw)
            tl.store(taken + pos, tl.where(may & (v_dw > copy), v_dw, 0.0), mask=ok)
        copy = tl.where(mine, copy, float("-inf"))
        tl.store(weights + pos, copy, mask=ok)
        higher = tl.maximum(top, tl.max(copy, 0))
        scale, power = tl.exp(top - higher), tl.exp(copy - higher)
        cells = ok[:, None] & (d < D)[None, :]
        rows = tl.load(m_e + pos[:, None] * D + d[None, :], mask=cells, other=0.0)
        total = total * scale + tl.sum(power, 0)
        acc = acc * scale + tl.sum(power[:, None] * rows.to(tl.float32), 0)
        top = higher
    total = tl.maximum(total, 1e-30)
    tl.store(read + b * ROW + d, acc / total, mask=d < D)
    tl.debug_barrier()  # of the scores above this program's other threads now make weights
    for start in range(begin, end, HELD):
        j = start + tl.arange(0, HELD)
        pos = tl.load(order + b * L + j, mask=j < end, other=0) + b * L
        score = tl.load(weights + pos, mask=j < end, other=0.0)
        tl.store(weights + pos, tl.exp(score - top) / total, mask=j < end)


@triton.jit
def _ask(  # type: ignore[no-untyped-def]
    m_dp, lengths, order, first, last, taken, asked, L, HELD: tl.constexpr, BLOCK: tl.constexpr
):
    """One program: what the positions taken from say of BLOCK positions of one example."""
    b = tl.program_id(0).to(tl.int64)
    j = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    live = j < tl.load(lengths + b)
    end = tl.load(last + b)
    query = tl.zeros([BLOCK], dtype=tl.float32)
    for start in range(tl.load(first + b), end, HELD):
        i = start + tl.arange(0, HELD)
        ok = i < end
        pos = tl.load(order + b * L + i, mask=ok, other=0) + b * L
        took = tl.load(taken + pos, mask=ok, other=0.0)
        some = (took != 0)[:, None] & live[None, :]
        rows = tl.load(m_dp + pos[:, None] * L + j[None, :], mask=some, other=0.0)
        query += tl.sum(took[:, None] * rows.to(tl.float32), 0)
    tl.store(asked + b * L + j, query, mask=live)


@triton.jit
def _look(  # type: ignore[no-untyped-def]
    looking, m_e, keys, score, lengths, looked, asked, sums, parts, L, D, A, ROW, SPAN,
    RESOLVES: tl.constexpr, CHUNK: tl.constexpr, AS: tl.constexpr, DS: tl.constexpr,
):  # fmt: skip
    """One program: SPAN positions of one example; scores, and sums relative to the span's top.

    The keys first, M_e when the top is known: sums that follow a rising top would be scaled anew
    with every tile.
    """
    b, split = tl.program_id(0).to(tl.int64), tl.program_id(1)
    k, d = tl.arange(0, AS), tl.arange(0, DS)
    of_h = _power(tl.load(looking + b * ROW + k, mask=k < A, other=0.0))
    v = tl.load(score + k, mask=k < A, other=0.0)
    all_v = tl.sum(v, 0)
    begin = split * SPAN
    end = tl.minimum(begin + SPAN, tl.load(lengths + b))
    tops = tl.full([CHUNK], LEAST, dtype=tl.float32)
    q_tops = tl.full([CHUNK], LEAST, dtype=tl.float32)
    for start in range(begin, end, CHUNK):
        j = start + tl.arange(0, CHUNK)
        live = j < end
        row = b * L + j
        inner = tl.load(
            keys + row[:, None] * A + k[None, :], mask=live[:, None] & (k < A)[None, :], other=0.0
        )
        found = all_v - 2 * tl.sum(_r(of_h[None, :], inner.to(tl.float32)) * v[None, :], 1)
        tl.store(looked + row, found, mask=live)
        tops = tl.maximum(tops, tl.where(live, found, LEAST))
        if RESOLVES:
            q_tops = tl.maximum(q_tops, tl.load(asked + row, mask=live, other=LEAST))
    tl.debug_barrier()  # the scores are read back by other threads than wrote them
    top, q_top = tl.max(tops, 0), tl.max(q_tops, 0)
    total = tl.zeros([CHUNK], dtype=tl.float32)
    q_total = tl.zeros([CHUNK], dtype=tl.float32)
    acc = tl.zeros([CHUNK, DS], dtype=tl.float32)
    q_acc = tl.zeros([CHUNK, DS], dtype=tl.float32)
    for start in range(begin, end, CHUNK):
        j = start + tl.arange(0, CHUNK)
        live = j < end
        row = b * L + j
        tile = tl.load(
            m_e + row[:, None] * D + d[None, :], mask=live[:, None] & (d < D)[None, :], other=0.0
        ).to(tl.float32)
        power = tl.exp(tl.load(looked + row, mask=live, other=LEAST) - top)
        total += power
        acc += power[:, None] * tile
        if RESOLVES:
            power = tl.exp(tl.load(asked + row, mask=live, other=LEAST) - q_top)
            q_total += power
            q_acc += power[:, None] * tile
    at = b * tl.num_programs(1) + split
    tl.store(sums + at * 4, top)
    tl.store(sums + at * 4 + 1, tl.sum(total, 0))
    tl.store(parts + at * 2 * D + d, tl.sum(acc, 0), mask=d < D)
    if RESOLVES:
        tl.store(sums + at * 4 + 2, q_top)
        tl.store(sums + at * 4 + 3, tl.sum(q_total, 0))
        tl.store(parts + (at * 2 + 1) * D + d, tl.sum(q_acc, 0), mask=d < D)


@triton.jit
def _settle(  # type: ignore[no-untyped-def]
    sums, parts, lengths, scores, read, B, L, D, ROW, SPLITS: tl.constexpr, BLOCK: tl.constexpr,
    DS: tl.constexpr,
):  # fmt: skip
    """One program, one example and way: the read out of its parts, and weights out of scores."""
    b, way = tl.program_id(0).to(tl.int64), tl.program_id(1)
    n, d = tl.arange(0, SPLITS), tl.arange(0, DS)
    at = b * SPLITS + n
    tops = tl.load(sums + at * 4 + 2 * way)
    top = tl.max(tops, 0)
    scale = tl.exp(tops - top)
    total = tl.maximum(tl.sum(tl.load(sums + at * 4 + 2 * way + 1) * scale, 0), 1e-30)
    of_part = parts + (at * 2 + way)[:, None] * D + d[None, :]
    tile = tl.load(of_part, mask=(n < SPLITS)[:, None] & (d < D)[None, :], other=0.0)
    put = read + b * ROW + way * D + d
    tl.store(put, tl.sum(tile * scale[:, None], 0) / total, mask=d < D)
    length = tl.load(lengths + b)
    row = scores + (way * B + b) * L
    for start in range(0, length, BLOCK):
        j = start + tl.arange(0, BLOCK)
        found = tl.load(row + j, mask=j < length, other=0.0)
        tl.store(row + j, tl.exp(found - top) / total, mask=j < length)


@triton.jit
def _look_backward(  # type: ignore[no-untyped-def]
    dread, looking, m_e, keys, lengths, weights, queries, dweights, dqueries, sums, parts,
    L, D, A, ROW, SPAN, RESOLVES: tl.constexpr, CHUNK: tl.constexpr, AS: tl.constexpr,
    DS: tl.constexpr,
):  # fmt: skip
    """One program: SPAN positions of one example.

    With u a quarter of the slope of the hidden layer's tanh it leaves Σ w dw u and Σ w u, out of
    which the gradient of the attention follows when the mean Σ w dw of the whole example is known.
    """
    b, split = tl.program_id(0).to(tl.int64), tl.program_id(1)
    k, d = tl.arange(0, AS), tl.arange(0, DS)
    of_h = _power(tl.load(looking + b * A + k, mask=k < A, other=0.0))
    g = tl.load(dread + b * ROW + D + d, mask=d < D, other=0.0)
    g_query = g
    if RESOLVES:
        g_query = tl.load(dread + b * ROW + 2 * D + d, mask=d < D, other=0.0)
    begin = split * SPAN
    end = tl.minimum(begin + SPAN, tl.load(lengths + b))
    mean = tl.zeros([CHUNK], dtype=tl.float32)
    q_mean = tl.zeros([CHUNK], dtype=tl.float32)
    w_dw_u = tl.zeros([CHUNK, AS], dtype=tl.float32)
    w_u = tl.zeros([CHUNK, AS], dtype=tl.float32)
    for start in range(begin, end, CHUNK):
        j = start + tl.arange(0, CHUNK)
        live = j < end
        row = b * L + j
        tile = tl.load(
            m_e + row[:, None] * D + d[None, :], mask=live[:, None] & (d < D)[None, :], other=0.0
        ).to(tl.float32)
        dw = tl.sum(tile * g[None, :], 1)
        tl.store(dweights + row, dw, mask=live)
        w = tl.load(weights + row, mask=live, other=0.0)
        mean += w * dw
        if RESOLVES:
            dq = tl.sum(tile * g_query[None, :], 1)
            tl.store(dqueries + row, dq, mask=live)
            q_mean += tl.load(queries + row, mask=live, other=0.0) * dq
        inner = tl.load(
            keys + row[:, None] * A + k[None, :], mask=live[:, None] & (k < A)[None, :], other=0.0
        )
        r = _r(of_h[None, :], inner.to(tl.float32))
        u = r - r * r
        w_dw_u += (w * dw)[:, None] * u
        w_u += w[:, None] * u
    at = b * tl.num_programs(1) + split
    tl.store(sums + at * 2, tl.sum(mean, 0))
    tl.store(sums + at * 2 + 1, tl.sum(q_mean, 0))
    tl.store(parts + at * 2 * A + k, tl.sum(w_dw_u, 0), mask=k < A)
    tl.store(parts + (at * 2 + 1) * A + k, tl.sum(w_u, 0), mask=k < A)


@triton.jit
def _held_backward(  # type: ignore[no-untyped-def]
    dread, m_e, copy_keys, asking, m_dp, score, lengths, order, first, last, weights, looks,
    queries, taken, dweights, dqueries, sums, parts, dcopy, dlooked, dasked, dtaken, dlooking, dh,
    L, D, A, S, ROW, LOOKING, RESOLVES: tl.constexpr, HELD: tl.constexpr, SPLITS: tl.constexpr,
    BLOCK: tl.constexpr, AS: tl.constexpr, SS: tl.constexpr, DS: tl.constexpr,
):  # fmt: skip
    """One program, one example: the gradients of all scores, and what they add to dh."""
    b = tl.program_id(0).to(tl.int64)
    n, k, d, s = tl.arange(0, SPLITS), tl.arange(0, AS), tl.arange(0, DS), tl.arange(0, SS)
    at = b * SPLITS + n
    mean, q_mean = tl.sum(tl.load(sums + at * 2), 0), tl.sum(tl.load(sums + at * 2 + 1), 0)
    used = (n < SPLITS)[:, None] & (k < A)[None, :]
    w_dw_u = tl.sum(tl.load(parts + (at * 2)[:, None] * A + k[None, :], mask=used, other=0.0), 0)
    w_u = tl.sum(tl.load(parts + (at * 2 + 1)[:, None] * A + k[None, :], mask=used, other=0.0), 0)
    v = tl.load(score + k, mask=k < A, other=0.0)
    tl.store(dlooking + b * LOOKING + k, 4 * v * (w_dw_u - mean * w_u), mask=k < A)
    length = tl.load(lengths + b)
    for start in range(0, length, BLOCK):
        j = start + tl.arange(0, BLOCK)
        live = j < length
        w = tl.load(looks + b * L + j, mask=live, other=0.0)
        dw = tl.load(dweights + b * L + j, mask=live, other=0.0)
        tl.store(dlooked + b * L + j, w * (dw - mean), mask=live)
        if RESOLVES:
            w = tl.load(queries + b * L + j, mask=live, other=0.0)
            dw = tl.load(dqueries + b * L + j, mask=live, other=0.0)
            tl.store(dasked + b * L + j, w * (dw - q_mean), mask=live)
    begin, end = tl.load(first + b), tl.load(last + b)
    if begin < end:
        g = tl.load(dread + b * ROW + d, mask=d < D, other=0.0)
        held_mean = 0.0
        for start in range(begin, end, HELD):
            i = start + tl.arange(0, HELD)
            ok = i < end
            pos = tl.load(order + b * L + i, mask=ok, other=0) + b * L
            w = tl.load(weights + pos, mask=ok, other=0.0)
            held_mean += tl.sum(w * _dots(m_e, pos, ok, d, g, D), 0)
        add = tl.zeros([SS], dtype=tl.float32)
        for start in range(begin, end, HELD):
            i = start + tl.arange(0, HELD)
            ok = i < end
            pos = tl.load(order + b * L + i, mask=ok, other=0) + b * L
            w = tl.load(weights + pos, mask=ok, other=0.0)
            dc = w * (_dots(m_e, pos, ok, d, g, D) - held_mean)
            tl.store(dcopy + pos, dc, mask=ok)
            cells = ok[:, None] & (s < S)[None, :]
            rows = tl.load(copy_keys + pos[:, None] * S + s[None, :], mask=cells, other=0.0)
            add += tl.sum(dc[:, None] * rows.to(tl.float32), 0)
            if RESOLVES:
                some = ok & (tl.load(taken + pos, mask=ok, other=0.0) != 0)
                dv = tl.zeros([HELD], dtype=tl.float32)
                if tl.sum(some.to(tl.int32), 0) > 0:
                    for j0 in range(0, length, BLOCK):
                        j = j0 + tl.arange(0, BLOCK)
                        live = j < length
                        q = tl.load(queries + b * L + j, mask=live, other=0.0)
                        dq = tl.load(dqueries + b * L + j, mask=live, other=0.0)
                        tile = tl.load(
                            m_dp + pos[:, None] * L + j[None, :],
                            mask=some[:, None] & live[None, :],
                            other=0.0,
                        )
                        dv += tl.sum(tile.to(tl.float32) * (q * (dq - q_mean))[None, :], 1)
                tl.store(dtaken + pos, dv, mask=ok)
                cells = some[:, None] & (s < S)[None, :]
                rows = tl.load(asking + pos[:, None] * S + s[None, :], mask=cells, other=0.0)
                add += tl.sum(dv[:, None] * rows.to(tl.float32), 0)
        carried = tl.load(dh + b * S + s, mask=s < S, other=0.0)
        tl.store(dh + b * S + s, carried + add, mask=s < S)


@triton.jit
def _keys_backward(  # type: ignore[no-untyped-def]
    looking, keys, score, lengths, dlooked, dkeys, dscore, B, T, L, A, STEP,
    CHUNK: tl.constexpr, AS: tl.constexpr,
):  # fmt: skip
    """One program: CHUNK positions of one example, all steps."""
    b, split = tl.program_id(0).to(tl.int64), tl.program_id(1)
    k, j = tl.arange(0, AS), split * CHUNK + tl.arange(0, CHUNK)
    live, used = j < L, k < A
    cells = live[:, None] & used[None, :]
    at = (b * L + j)[:, None] * A + k[None, :]
    inner = tl.load(keys + at, mask=cells, other=0.0).to(tl.float32)
    v = tl.load(score + k, mask=used, other=0.0)
    acc = tl.zeros([CHUNK, AS], dtype=tl.float32)
    of_r = tl.zeros([CHUNK, AS], dtype=tl.float32)
    of_all = tl.zeros([CHUNK], dtype=tl.float32)
    if split * CHUNK < tl.load(lengths + b):
        for t in range(T):
            of_h = _power(tl.load(looking + (t * B + b) * A + k, mask=used, other=0.0))
            g = tl.load(dlooked + t * STEP + b * L + j, mask=live, other=0.0)
            r = _r(of_h[None, :], inner)
            acc += g[:, None] * (r - r * r)
            of_r += g[:, None] * r
            of_all += g
    tl.store(dkeys + at, acc * (4 * v)[None, :], mask=cells)
    one = b * tl.num_programs(1) + split
    tl.store(dscore + one * A + k, tl.sum(of_all, 0) - 2 * tl.sum(of_r, 0), mask=used)


def _sizes(source: Source) -> tuple[int, int, int]:
    """Positions a program takes at once, programs of an example, the positions of each."""
    batch, length, widest = *source.m_e.shape[:2], max(source.m_e.shape[2], source.keys.shape[2])
    chunk = max(1, min(_up(length), CELLS // _up(widest)))
    splits = min(_up(max(1, PROGRAMS // batch)), _up(triton.cdiv(length, chunk)))
    return chunk, splits, chunk * triton.cdiv(length, chunk * splits)


def _held_of(held: Held, t: int) -> tuple[Tensor, ...]:
    return held.order, held.first[t], held.last[t]


def prepared(source: Source) -> Source:
    """The same with powers in the place of the attention's keys."""
    farthest = FARTHEST.value
    keys = source.keys.float().clamp(-farthest, farthest).mul_(2).exp_()
    return replace(source, keys=keys.to(source.keys.dtype))


def read(source: Source, held: Held, t: int, h: Tensor, looking: Tensor, weights: Tensor,
         taken: Tensor | None, read: Tensor) -> None:  # fmt: skip
    batch, length, width = source.m_e.shape
    inner, size, resolves = source.keys.shape[2], h.shape[1], taken is not None
    chunk, splits, span = _sizes(source)
    sums, parts = h.new_empty(batch, splits, 4), h.new_empty(batch, splits, 2, width)
    row = read.stride(0)
    _held[(batch,)](
        h, source.m_e, source.copy_keys, source.asking, source.bias, *_held_of(held, t),
        held.asks[t].view(torch.uint8), weights[0], taken, read, length, width, size, row,
        RESOLVES=resolves, HELD=HELD, SS=_up(size), DS=_up(width), num_warps=8,
    )  # fmt: skip
    if resolves:
        block = min(_up(length), 128)
        _ask[(batch, triton.cdiv(length, block))](
            source.m_dp, source.lengths, *_held_of(held, t), taken, weights[2], length,
            HELD=HELD, BLOCK=block, num_warps=4,
        )  # fmt: skip
    _look[(batch, splits)](
        looking, source.m_e, source.keys, source.score, source.lengths, weights[1],
        weights[2] if resolves else None, sums, parts,
        length, width, inner, looking.stride(0), span,
        RESOLVES=resolves, CHUNK=chunk, AS=_up(inner), DS=_up(width), num_warps=4,
    )  # fmt: skip
    _settle[(batch, 2 if resolves else 1)](
        sums, parts, source.lengths, weights[1:], read[:, width:], batch, length, width, row,
        SPLITS=splits, BLOCK=min(_up(length), 1024), DS=_up(width), num_warps=4,
    )  # fmt: skip


def read_backward(source: Source, held: Held, t: int, dread: Tensor, looking: Tensor,
                  weights: Tensor, taken: Tensor | None, dscores: Tensor, dtaken: Tensor | None,
                  dlooking: Tensor, dh: Tensor) -> None:  # fmt: skip
    batch, length, width = source.m_e.shape
    inner, size, resolves = source.keys.shape[2], dh.shape[1], taken is not None
    chunk, splits, span = _sizes(source)
    sums, parts = dh.new_empty(batch, splits, 2), dh.new_empty(batch, splits, 2, inner)
    dweights, dqueries = dh.new_empty(2, batch, length).unbind()
    queries = weights[2] if resolves else None
    row = dread.stride(0)
    _look_backward[(batch, splits)](
        dread, looking, source.m_e, source.keys, source.lengths, weights[1], queries, dweights,
        dqueries, sums, parts, length, width, inner, row, span,
        RESOLVES=resolves, CHUNK=chunk, AS=_up(inner), DS=_up(width), num_warps=4,
    )  # fmt: skip
    _held_backward[(batch,)](
        dread, source.m_e, source.copy_keys, source.asking, source.m_dp, source.score,
        source.lengths, *_held_of(held, t), weights[0], weights[1], queries, taken, dweights,
        dqueries, sums, parts, dscores[0], dscores[1], dscores[2] if resolves else None, dtaken,
        dlooking, dh, length, width, inner, size, row, dlooking.stride(0),
        RESOLVES=resolves, HELD=HELD, SPLITS=splits, BLOCK=min(_up(length), 256), AS=_up(inner),
        SS=_up(size), DS=_up(width), num_warps=8,
    )  # fmt: skip


def keys_backward(looking: Tensor, source: Source, dlooked: Tensor) -> tuple[Tensor, Tensor]:
    steps, batch, inner = looking.shape
    length = source.keys.shape[1]
    chunk = _sizes(source)[0]
    splits = triton.cdiv(length, chunk)
    dkeys = looking.new_empty(source.keys.shape)
    dscore = looking.new_empty(batch * splits, inner)
    _keys_backward[(batch, splits)](
        looking, source.keys, source.score, source.lengths, dlooked, dkeys, dscore,
        batch, steps, length, inner, dlooked.stride(0),
        CHUNK=chunk, AS=_up(inner), num_warps=4,
    )  # fmt: skip
    return dkeys, dscore.sum(0)
