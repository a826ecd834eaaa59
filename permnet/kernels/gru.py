"""The GRU behind every recurrent part: one layer, gates r, z, n in the order of `torch.nn.GRU`.

    r = σ(x_r + W_r h)    n = tanh(x_n + r ⊙ (W_n h + b_n))
    z = σ(x_z + W_z h)    h' = n + z ⊙ (h − n)

The input products x are formed for all steps at once, or are rows of a table where inputs are
tokens; all biases but b_n go with them. Only the walk along the time axis depends on the device:
`plain_forward` and `plain_backward` define it, `triton_gru` does the same on a GPU in float32. The
walk back leaves one gradient per gate and step, from which every weight gradient is one product.

Nothing waits for the device, so a CUDA graph can capture a call and its gradient.
"""

import importlib.util
import math
from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.autograd.function import once_differentiable


def gru(
    x: Tensor,
    h0: Tensor,
    w_ih: Tensor,
    w_hh: Tensor,
    b_ih: Tensor,
    b_hh: Tensor,
    lengths: Tensor | None = None,
    reverse: bool = False,
) -> tuple[Tensor, Tensor]:
    """Outputs (B, T, H) and last state (B, H) over x (B, T, I) from the state h0 (B, H).

    With `lengths` (B,) padding is as if it were not there: outputs are 0 on it, and `reverse` walks
    each row from its last real token to its first (outputs stay at their positions).
    """
    hidden = h0.shape[-1]
    inputs = F.linear(x, w_ih.roll(hidden, 0), _input_part(b_ih, b_hh, hidden))
    out, last = _recur(
        inputs[:, :, None], None, h0[:, None], w_hh[None], b_hh[None], lengths, reverse
    )
    return out[:, :, 0], last[:, 0]


def gru_lookup(
    ids: Tensor,
    table: Tensor,
    h0: Tensor,
    w_hh: Tensor,
    b_hh: Tensor,
    lengths: Tensor | None = None,
    reverse: bool = False,
) -> tuple[Tensor, Tensor]:
    """As `gru` over tokens: ids (B, T) choose rows of table (V, 3H) = Emb · W_ihᵀ + b_ih."""
    inputs = _input_part(table, b_hh, h0.shape[-1])
    out, last = _recur(inputs[None], ids, h0[:, None], w_hh[None], b_hh[None], lengths, reverse)
    return out[:, :, 0], last[:, 0]


def bigru_lookup(
    ids: Tensor,
    tables: Tensor,
    h0: Tensor,
    w_hh: Tensor,
    b_hh: Tensor,
    lengths: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    """Both directions of `gru_lookup` at once, forward first: twice as much of a GPU at work.

    tables (2, V, 3H), w_hh (2, 3H, H), b_hh (2, 3H); h0 and the last state are (B, 2H), outputs
    (B, T, 2H).
    """
    hidden = w_hh.shape[-1]
    inputs = _input_part(tables, b_hh[:, None], hidden)
    out, last = _recur(inputs, ids, h0.unflatten(1, (2, hidden)), w_hh, b_hh, lengths, False)
    return out.flatten(2), last.flatten(1)


def _input_part(inputs: Tensor, b_hh: Tensor, hidden: int) -> Tensor:
    """Input products or biases with b_r and b_z added, the gates moved to the order n, r, z.

    In that order the gradients n, r, z, hidden n of a step lie so that three neighbours are what
    the inputs need (n, r, z) and three what the state needs (r, z, hidden n).
    """
    return (inputs + F.pad(b_hh[..., : 2 * hidden], (0, hidden))).roll(hidden, -1)


def _recur(
    inputs: Tensor,
    ids: Tensor | None,
    h0: Tensor,
    w_hh: Tensor,
    b_hh: Tensor,
    lengths: Tensor | None,
    flip: bool,
) -> tuple[Tensor, Tensor]:
    """Outputs (B, T, D, H), last state (B, D, H); direction d walks back where d + flip is odd."""
    b_n = b_hh[:, 2 * h0.shape[-1] :]
    save = torch.is_grad_enabled() and any(t.requires_grad for t in (inputs, h0, w_hh, b_n))
    return _Recurrence.apply(inputs, ids, h0, w_hh, b_n, lengths, flip, save)


class _Recurrence(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        inputs: Tensor,
        ids: Tensor | None,
        h0: Tensor,
        w_hh: Tensor,
        b_n: Tensor,
        lengths: Tensor | None,
        flip: bool,
        save: bool,
    ) -> tuple[Tensor, Tensor]:
        inputs, h0, w_hh, b_n = (t.contiguous() for t in (inputs, h0, w_hh, b_n))
        ids, lengths = (None if t is None else t.contiguous() for t in (ids, lengths))
        walk, _ = _walks(h0)
        with torch.cuda.device_of(h0):
            out, last, gates = walk(inputs, ids, h0, w_hh, b_n, lengths, flip, save)
        ctx.save_for_backward(gates, out, ids, h0, w_hh, lengths)
        ctx.flip, ctx.vocab = flip, inputs.shape[1]
        return out, last

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, dout: Tensor, dlast: Tensor) -> tuple[Tensor | None, ...]:
        gates, out, ids, h0, w_hh, lengths = ctx.saved_tensors
        _, walk = _walks(h0)
        with torch.cuda.device_of(h0):
            dgates, prev, dh0 = walk(
                dout.contiguous(), dlast, gates, out, h0, w_hh, lengths, ctx.flip
            )
        hidden = h0.shape[-1]
        if ids is None:
            dinputs, db_n = dgates[..., : 3 * hidden], dgates[..., 3 * hidden :].sum((0, 1))
        else:
            by_token = sum_rows_by_token(ids.flatten(), dgates.flatten(2).flatten(0, 1), ctx.vocab)
            by_token = by_token.unflatten(1, dgates.shape[2:]).transpose(0, 1)
            dinputs, db_n = by_token[..., : 3 * hidden], by_token[..., 3 * hidden :].sum(1)
        dw_hh = [
            long_product(dgates[:, :, d, hidden:].flatten(0, 1), prev[:, :, d].flatten(0, 1))
            for d in range(h0.shape[1])
        ]
        return dinputs, None, dh0, torch.stack(dw_hh), db_n, None, None, None


FEW_TOKENS = 128
"""Up to so many, the one-hot product is cheap: it costs no more than reading the rows."""


def sum_rows_by_token(tokens: Tensor, rows: Tensor, vocab: int) -> Tensor:
    """Rows (N, ·) summed by their token (N,) to (V, ·).

    On a GPU a scatter would queue millions of atomic additions on a few rows.
    """
    if not rows.is_cuda:
        return rows.new_zeros(vocab, rows.shape[1]).index_add_(0, tokens, rows)
    if vocab > FEW_TOKENS and rows.dtype != torch.double and has_triton():
        from permnet.kernels import triton_tokens

        return triton_tokens.sum_rows_by_token(tokens, rows.contiguous(), vocab)
    one_hot = tokens[:, None] == torch.arange(vocab, device=tokens.device)
    return long_product(one_hot.to(rows.dtype), rows)


def long_product(a: Tensor, b: Tensor) -> Tensor:
    """aᵀ b over a long first axis, cut into pieces so that a small result still fills the GPU.

    Products work on tiles of about 128 × 256; an H200 runs 132 at a time, and with three rounds of
    them little is lost in the last.
    """
    tiles = math.ceil(a.shape[1] / 128) * math.ceil(b.shape[1] / 256)
    most = 1 << math.ceil(math.log2(max(1, 384 / tiles)))
    pieces = math.gcd(a.shape[0], most) if a.is_cuda else 1
    a, b = (t.unflatten(0, (pieces, -1)) for t in (a, b))
    return wide(torch.bmm, a.transpose(1, 2), b).sum(0)


def wide(product: Callable[..., Tensor], a: Tensor, b: Tensor) -> Tensor:
    """The product, summed in single precision at least even where its factors are narrower."""
    if a.dtype != torch.bfloat16:
        return product(a, b)
    if a.is_cuda:
        return product(a, b, out_dtype=torch.float32)
    return product(a.float(), b.float())


def _walks(h0: Tensor) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """The pair of walks, forth and back, for tensors like h0."""
    if h0.is_cuda and h0.dtype == torch.float32 and has_triton():
        from permnet.kernels import triton_gru

        return triton_gru.forward, triton_gru.backward
    return plain_forward, plain_backward


_TRITON = importlib.util.find_spec("triton") is not None


def has_triton() -> bool:
    return _TRITON  # found out once: a compiler that traces models does not look for modules


def plain_forward(
    inputs: Tensor,
    ids: Tensor | None,
    h0: Tensor,
    w_hh: Tensor,
    b_n: Tensor,
    lengths: Tensor | None,
    flip: bool,
    save: bool,
) -> tuple[Tensor, Tensor, Tensor]:
    """The walk itself: outputs (B, T, D, H), last state (B, D, H), gates kept for the way back.

    inputs (B, T, D, 3H) in the order n, r, z; with ids (B, T) a table (D, V, 3H). w_hh (D, 3H, H)
    in the order r, z, n. Gates (B, T, D, 4H) are r, z, n and the hidden part of n, or empty.
    """
    batch, directions, hidden = h0.shape
    steps = (inputs if ids is None else ids).shape[1]
    out = h0.new_empty(batch, steps, directions, hidden)
    gates = h0.new_empty(batch, steps, directions, 4 * hidden) if save else h0.new_empty(0)
    last = torch.empty_like(h0)
    for d in range(directions):
        bias = F.pad(b_n[d], (2 * hidden, 0))
        h = h0[:, d]
        for t in _order(steps, d, flip):
            x = inputs[:, t, d] if ids is None else F.embedding(ids[:, t], inputs[d])
            x_n, x_rz = x.split((hidden, 2 * hidden), 1)
            of_h = F.linear(h, w_hh[d], bias)
            h_rz, h_n = of_h[:, : 2 * hidden], of_h[:, 2 * hidden :]
            r, z = h_rz.add_(x_rz).sigmoid_().chunk(2, 1)
            n = torch.addcmul(x_n, r, h_n).tanh_()
            new = torch.lerp(n, h, z)
            if lengths is None:
                out[:, t, d] = h = new
            else:
                live = (t < lengths)[:, None]
                out[:, t, d] = torch.where(live, new, 0.0)
                h = torch.where(live, new, h)
            if save:
                gates[:, t, d] = torch.cat((r, z, n, h_n), 1)
        last[:, d] = h
    return out, last, gates


def plain_backward(
    dout: Tensor,
    dlast: Tensor,
    gates: Tensor,
    out: Tensor,
    h0: Tensor,
    w_hh: Tensor,
    lengths: Tensor | None,
    flip: bool,
) -> tuple[Tensor, Tensor, Tensor]:
    """The walk back: gradients of the gates, the state before each step, gradient of h0.

    Gate gradients (B, T, D, 4H) are n, r, z and the hidden part of n; 0 on padding.
    """
    steps, directions, hidden = out.shape[1:]
    dgates, prev, dh0 = torch.empty_like(gates), torch.empty_like(out), torch.empty_like(h0)
    for d in range(directions):
        order = _order(steps, d, flip)
        dh = dlast[:, d]
        for i in reversed(range(steps)):
            t = order[i]
            h = out[:, order[i - 1], d] if i else h0[:, d]
            g = dh + dout[:, t, d]
            if lengths is not None:
                live = (t < lengths)[:, None]
                g = torch.where(live, g, 0.0)
                h = torch.where((order[i - 1] < lengths)[:, None], h, h0[:, d])
            r, z, n, h_n = gates[:, t, d].chunk(4, 1)
            dn = g * (1 - z) * (1 - n * n)
            dr = dn * h_n * r * (1 - r)
            dz = g * (h - n) * z * (1 - z)
            step = torch.cat((dn, dr, dz, dn * r), 1)
            before = torch.addmm(g * z, step[:, hidden:], w_hh[d])
            dh = before if lengths is None else torch.where(live, before, dh)
            dgates[:, t, d], prev[:, t, d] = step, h
        dh0[:, d] = dh
    return dgates, prev, dh0


def _order(steps: int, d: int, flip: bool) -> range:
    """The steps in the order in which direction d walks them."""
    return range(steps)[::-1] if (d + flip) % 2 else range(steps)
