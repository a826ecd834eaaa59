"""The gradients of triton_reads.py, as Triton kernels; triton_writer.py launches them."""

import triton
import triton.language as tl

from permnet.kernels.triton_reads import _dots, _power, _r


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
