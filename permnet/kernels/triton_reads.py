"""What the writer reads in a step, as Triton kernels; triton_writer.py launches them.

The tanh of the attention is most of the arithmetic. Of e^2a and e^2b, which are formed once for a
step and once for all, it needs r = 1 / (1 + e^2a e^2b): tanh(a + b) is 1 - 2 r, and its slope
4 (r - r²). As the square of a reciprocal root r is two instructions, as a quotient it is eight.
"""

import triton
import triton.language as tl

from permnet import ops

LEAST = tl.constexpr(-1e30)
TINY = tl.constexpr(1.1754943508222875e-38)
FARTHEST = tl.constexpr(ops.FARTHEST)
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
