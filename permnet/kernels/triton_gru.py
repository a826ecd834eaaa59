"""GRU steps as Triton kernels: the whole walk in one launch, or one launch per step.

Axes: B batch, T steps, D directions, H state. `FUSED` keeps the recurrent weights on chip and walks
the time axis inside the kernel, where it loads what a step needs while it works on the step before;
it needs H ≤ 128 (three H × H tiles fill the shared memory of one multiprocessor at 128). Otherwise
the host loop alternates one batched product with the same kernel, started for a single step.

Bytes decide what is saved. The four gate values of a step cost 8H words written and read once more;
computing them again would need the weights on chip in both orientations, which H = 128 does not
leave room for. The weight gradients are one long product outside: summed inside they would take
3H² registers per block.
"""

from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor

# (precision of the products, H rounded up) → rows of a block, its warps; absent: step by step.
# 16 rows is the least a matrix unit takes. More rows spill registers at H = 128, and would leave
# multiprocessors idle at the small batches of the long benchmarks. H = 128 in ieee spills as well.
TILES = {
    ("tf32", 16): (16, 2),
    ("tf32", 32): (16, 2),
    ("tf32", 64): (16, 4),
    ("tf32", 128): (16, 8),
    ("ieee", 16): (16, 4),
    ("ieee", 32): (16, 4),
    ("ieee", 64): (16, 8),
}


@triton.jit
def _tanh(x):  # type: ignore[no-untyped-def]
    return 2 * tl.sigmoid(2 * x) - 1


@triton.jit
def _live(t, length):  # type: ignore[no-untyped-def]
    """Whether t, which may be one step too far, is a real position of each row."""
    t += tl.zeros_like(length)
    return (t >= 0) & (t < length)


@triton.jit
def _inputs(  # type: ignore[no-untyped-def]
    inputs, ids, s, top, d, backwards, rows, col, mask, length, T, D, H, V
):
    """The input parts n, r, z of step s; 0 on padding and past the last step."""
    t = tl.where(backwards, T - 1 - s, s)
    live = _live(t, length)
    row, cell = rows[:, None], live[:, None] & mask
    if ids is None:
        x = inputs + ((top * T + t) * D + d) * 3 * H + (row * T * D * 3 * H + col)
    else:
        token = tl.load(ids + top * T + t + rows * T, mask=live, other=0).to(tl.int32)
        x = inputs + d * V * 3 * H + (token[:, None] * 3 * H + col)
    x_n = tl.load(x, mask=cell, other=0.0)
    x_r = tl.load(x + H, mask=cell, other=0.0)
    x_z = tl.load(x + 2 * H, mask=cell, other=0.0)
    return x_n, x_r, x_z


@triton.jit
def _kept(  # type: ignore[no-untyped-def]
    gates, out, h0, dout, s, top, d, backwards, rows, col, mask, length, T, D, H
):
    """What the way back needs of step s: r, z, n, the hidden part of n, the state before, dout."""
    t = tl.where(backwards, s, T - 1 - s)
    row, cell = rows[:, None], _live(t, length)[:, None] & mask
    first = (t == tl.where(backwards, length - 1, 0))[:, None]
    at = (top * T + t) * D + d
    saved = gates + at * 4 * H + (row * T * D * 4 * H + col)
    r = tl.load(saved, mask=cell, other=0.0)
    z = tl.load(saved + H, mask=cell, other=0.0)
    n = tl.load(saved + 2 * H, mask=cell, other=0.0)
    h_n = tl.load(saved + 3 * H, mask=cell, other=0.0)
    place = row * T * D * H + col
    earlier = at + tl.where(backwards, D, -D)
    h = tl.load(out + earlier * H + place, mask=cell & ~first, other=0.0)
    h += tl.load(h0, mask=cell & first, other=0.0)
    return r, z, n, h_n, h, tl.load(dout + at * H + place, mask=cell, other=0.0)


@triton.jit(do_not_specialize=["start", "stop"])
def _forward_kernel(  # type: ignore[no-untyped-def]
    inputs,  # (B, T, D, 3H) or, with ids, a table (D, V, 3H); gates in the order n, r, z
    ids,  # (B, T) or None
    state,  # (D, B, H), read at the start, written at the end
    w_hh,  # (D, 3H, H), gates in the order r, z, n
    product,  # (D, B, 3H) = state · w_hhᵀ where the kernel does not form it, else None
    b_n,  # (D, H)
    lengths,  # (B,) or None
    out,  # (B, T, D, H)
    gates,  # (B, T, D, 4H) r, z, n, hidden part of n; or None
    start,
    stop,
    B,
    T,
    H,
    V,
    FLIP: tl.constexpr,
    PRECISION: tl.constexpr,
    ROWS: tl.constexpr,
    COLS: tl.constexpr,
):
    FUSED: tl.constexpr = product is None
    d, D = tl.program_id(2), tl.num_programs(2)
    backwards = (d + FLIP) % 2 == 1
    # The tile's place is a 64-bit scalar, places within the tile stay 32-bit: fewer registers.
    top = (tl.program_id(0) * ROWS).to(tl.int64)
    rows = tl.arange(0, ROWS)
    cols = tl.program_id(1) * COLS + tl.arange(0, COLS)
    inside, used = rows < B - top, cols < H
    mask = inside[:, None] & used[None, :]
    length = tl.where(inside, T, 0)
    if lengths is not None:
        length = tl.load(lengths + top + rows, mask=inside, other=0).to(tl.int32)
    row, col = rows[:, None], cols[None, :]
    state += (d * B + top) * H + row * H + col
    h = tl.load(state, mask=mask, other=0.0)
    bias = tl.load(b_n + d * H + cols, mask=used, other=0.0)[None, :]
    if FUSED:
        w_hh += d * 3 * H * H + cols[None, :] * H + cols[:, None]
        square = used[:, None] & used[None, :]
        w_r = tl.load(w_hh, mask=square, other=0.0)
        w_z = tl.load(w_hh + H * H, mask=square, other=0.0)
        w_n = tl.load(w_hh + 2 * H * H, mask=square, other=0.0)
    else:
        product += (d * B + top) * 3 * H + row * 3 * H + col
    if FUSED:
        x = _inputs(inputs, ids, start, top, d, backwards, rows, col, mask, length, T, D, H, V)
    for s in range(start, stop):
        if FUSED:  # the next step's inputs are on their way while this one's products are formed
            x_n, x_r, x_z = x
            x = _inputs(inputs, ids, s + 1, top, d, backwards, rows, col, mask, length, T, D, H, V)
        else:
            x_n, x_r, x_z = _inputs(
                inputs, ids, s, top, d, backwards, rows, col, mask, length, T, D, H, V
            )
        t = tl.where(backwards, T - 1 - s, s)
        cell = (t < length)[:, None] & mask
        at = (top * T + t) * D + d
        if FUSED:
            h_r = tl.dot(h, w_r, input_precision=PRECISION)
            h_z = tl.dot(h, w_z, input_precision=PRECISION)
            h_n = tl.dot(h, w_n, input_precision=PRECISION)
        else:
            h_r = tl.load(product, mask=cell, other=0.0)
            h_z = tl.load(product + H, mask=cell, other=0.0)
            h_n = tl.load(product + 2 * H, mask=cell, other=0.0)
        h_n += bias
        r = tl.sigmoid(x_r + h_r)
        z = tl.sigmoid(x_z + h_z)
        n = _tanh(x_n + r * h_n)
        h = tl.where(cell, n + z * (h - n), h)
        tl.store(out + at * H + (row * T * D * H + col), tl.where(cell, h, 0.0), mask=mask)
        if gates is not None:
            saved = gates + at * 4 * H + (row * T * D * 4 * H + col)
            tl.store(saved, r, mask=cell)
            tl.store(saved + H, z, mask=cell)
            tl.store(saved + 2 * H, n, mask=cell)
            tl.store(saved + 3 * H, h_n, mask=cell)
    tl.store(state, h, mask=mask)


@triton.jit(do_not_specialize=["start", "stop"])
def _backward_kernel(  # type: ignore[no-untyped-def]
    dout,  # (B, T, D, H)
    dstate,  # (D, B, H), read at the start, written at the end
    gates,
    out,
    h0,  # (B, D, H)
    w_hh,  # (D, H, 3H): the inner axis of the product lies close; None where the host forms it
    lengths,
    dgates,  # (B, T, D, 4H): n, r, z towards the inputs; r, z, hidden n towards the state
    prev,  # (B, T, D, H), the state before each step
    towards_state,  # (D, HALVES, B, 3, H / HALVES), r, z, hidden n of a step for the host, or None
    shares,  # (D, HALVES, B, H), what the host made of those of the step before, or None
    start,
    stop,
    B,
    T,
    H,
    FLIP: tl.constexpr,
    HALVES: tl.constexpr,
    PRECISION: tl.constexpr,
    ROWS: tl.constexpr,
    COLS: tl.constexpr,
):
    FUSED: tl.constexpr = w_hh is not None
    d, D = tl.program_id(2), tl.num_programs(2)
    backwards = (d + FLIP) % 2 == 1
    # The tile's place is a 64-bit scalar, places within the tile stay 32-bit: fewer registers.
    top = (tl.program_id(0) * ROWS).to(tl.int64)
    rows = tl.arange(0, ROWS)
    cols = tl.program_id(1) * COLS + tl.arange(0, COLS)
    inside, used = rows < B - top, cols < H
    mask = inside[:, None] & used[None, :]
    length = tl.where(inside, T, 0)
    if lengths is not None:
        length = tl.load(lengths + top + rows, mask=inside, other=0).to(tl.int32)
    row, col = rows[:, None], cols[None, :]
    h0 += (top * D + d) * H + row * D * H + col
    dstate += (d * B + top) * H + row * H + col
    narrow, wide = row * T * D * H + col, row * T * D * 4 * H + col
    dh = tl.load(dstate, mask=mask, other=0.0)
    if not FUSED:
        for half in tl.static_range(HALVES):
            share = shares + ((d * HALVES + half) * B + top) * H + row * H + col
            dh += tl.load(share, mask=mask, other=0.0)
    if FUSED:
        w_hh += d * 3 * H * H + cols[None, :] * 3 * H + cols[:, None]
        square = used[:, None] & used[None, :]
        w_r = tl.load(w_hh, mask=square, other=0.0)
        w_z = tl.load(w_hh + H, mask=square, other=0.0)
        w_n = tl.load(w_hh + 2 * H, mask=square, other=0.0)
    if FUSED:
        kept = _kept(
            gates, out, h0, dout, start, top, d, backwards, rows, col, mask, length, T, D, H
        )
    for s in range(start, stop):
        if FUSED:  # the next step's are on their way while this one's are worked on
            r, z, n, h_n, h, g = kept
            kept = _kept(
                gates, out, h0, dout, s + 1, top, d, backwards, rows, col, mask, length, T, D, H
            )
        else:
            r, z, n, h_n, h, g = _kept(
                gates, out, h0, dout, s, top, d, backwards, rows, col, mask, length, T, D, H
            )
        t = tl.where(backwards, s, T - 1 - s)
        cell = (t < length)[:, None] & mask
        at = (top * T + t) * D + d
        g = tl.where(cell, g + dh, 0.0)
        dn = g * (1 - z) * (1 - n * n)
        dr = dn * h_n * r * (1 - r)
        dz = g * (h - n) * z * (1 - z)
        dh_n = dn * r
        towards = dgates + at * 4 * H + wide
        tl.store(towards, dn, mask=mask)
        tl.store(towards + H, dr, mask=mask)
        tl.store(towards + 2 * H, dz, mask=mask)
        tl.store(towards + 3 * H, dh_n, mask=mask)
        tl.store(prev + at * H + narrow, h, mask=mask)
        if not FUSED:
            width = H // HALVES
            side = towards_state + (d * HALVES * B + top) * 3 * width
            side += (col // width * B + row) * 3 * width + col % width
            tl.store(side, dr, mask=mask)
            tl.store(side + width, dz, mask=mask)
            tl.store(side + 2 * width, dh_n, mask=mask)
        dh = tl.where(cell, g * z, dh)
        if FUSED:
            dh = tl.dot(dr, w_r, dh, input_precision=PRECISION)
            dh = tl.dot(dz, w_z, dh, input_precision=PRECISION)
            dh = tl.dot(dh_n, w_n, dh, input_precision=PRECISION)
    tl.store(dstate, dh, mask=mask)


def fits(h0: Tensor) -> bool:
    """Whether the recurrent weights of a state like h0 (B, D, H) stay on chip, as TILES wants."""
    cols = padded(h0.shape[-1])
    tile = TILES.get((_precision(), cols))
    if tile is None or not h0.is_cuda:
        return tile is not None
    # Three weight matrices and, on the way back, four tiles that change hands.
    needed = 4 * (3 * cols**2 + 4 * tile[0] * cols)
    card = torch.cuda.get_device_properties(h0.device)
    room = getattr(card, "shared_memory_per_block_optin", card.shared_memory_per_block)
    return bool(needed <= room)


def forward(
    inputs: Tensor,
    ids: Tensor | None,
    h0: Tensor,
    w_hh: Tensor,
    b_n: Tensor,
    lengths: Tensor | None,
    flip: bool,
    save: bool,
) -> tuple[Tensor, Tensor, Tensor]:
    """The Triton twin of `permnet.kernels.gru.plain_forward`."""
    batch, directions, hidden = h0.shape
    steps = (inputs if ids is None else ids).shape[1]
    vocab = inputs.shape[1]
    fused = fits(h0)
    state = _directions_first(h0)
    out = h0.new_empty(batch, steps, directions, hidden)
    gates = h0.new_empty(batch, steps, directions, 4 * hidden) if save else None
    product = None if fused else h0.new_empty(directions, batch, 3 * hidden)
    grid, tile = _launch(h0, fused)
    for start in range(0, steps, steps if fused else 1):
        if product is not None:
            torch.bmm(state, w_hh.transpose(1, 2), out=product)
        _forward_kernel[grid](
            inputs,
            ids,
            state,
            w_hh,
            product,
            b_n,
            lengths,
            out,
            gates,
            start,
            steps if fused else start + 1,
            batch,
            steps,
            hidden,
            vocab,
            FLIP=flip,
            **tile,
        )
    return out, state.transpose(0, 1), h0.new_empty(0) if gates is None else gates


def backward(
    dout: Tensor,
    dlast: Tensor,
    gates: Tensor,
    out: Tensor,
    h0: Tensor,
    w_hh: Tensor,
    lengths: Tensor | None,
    flip: bool,
) -> tuple[Tensor, Tensor, Tensor]:
    """The Triton twin of `permnet.kernels.gru.plain_backward`."""
    batch, steps, directions, hidden = out.shape
    fused = fits(h0)
    dstate = _directions_first(dlast)
    dgates, prev = torch.empty_like(gates), torch.empty_like(out)
    # A product of few rows and columns fills a GPU only if its inner axis is cut in two.
    halves = 2 if hidden % 8 == 0 else 1
    cut, towards_state, shares = w_hh.transpose(1, 2).contiguous(), None, None
    if not fused:
        cut = w_hh.unflatten(1, (3, halves, -1)).transpose(1, 2).flatten(2, 3).flatten(0, 1)
        towards_state = h0.new_empty(directions * halves, batch, cut.shape[1])
        shares = h0.new_zeros(directions * halves, batch, hidden)
    grid, tile = _launch(h0, fused)
    for start in range(0, steps, steps if fused else 1):
        _backward_kernel[grid](
            dout,
            dstate,
            gates,
            out,
            h0,
            cut if fused else None,
            lengths,
            dgates,
            prev,
            towards_state,
            shares,
            start,
            steps if fused else start + 1,
            batch,
            steps,
            hidden,
            FLIP=flip,
            HALVES=halves,
            **tile,
        )
        if towards_state is not None:
            torch.bmm(towards_state, cut, out=shares)
    if shares is not None:
        dstate += shares.unflatten(0, (directions, halves)).sum(1)
    return dgates, prev, dstate.transpose(0, 1)


def _directions_first(state: Tensor) -> Tensor:
    """A copy (D, B, H) to work in, of a state (B, D, H)."""
    return state.transpose(0, 1).clone(memory_format=torch.contiguous_format)


def _precision() -> str:
    return "tf32" if torch.backends.cuda.matmul.fp32_precision == "tf32" else "ieee"


def padded(hidden: int) -> int:
    return max(16, triton.next_power_of_2(hidden))


def _launch(h0: Tensor, fused: bool) -> tuple[tuple[int, int, int], dict[str, Any]]:
    """Grid and tile: blocks that hold whole states, or, for a single step, patches of them."""
    batch, directions, hidden = h0.shape
    precision, cols = _precision(), padded(hidden)
    rows, warps = TILES[precision, cols] if fused else (8, 4)
    cols = cols if fused else min(cols, 128)
    grid = (triton.cdiv(batch, rows), triton.cdiv(hidden, cols), directions)
    sizes = {"ROWS": rows, "COLS": cols, "num_warps": warps, "num_stages": 1}
    return grid, {"PRECISION": precision, **sizes}
