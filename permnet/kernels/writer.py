"""The decompiler's writer under teacher forcing: a GRU that reads the input in two or three ways.

With the outputs known, so are the positions that *hold* the token before a step, often none.
Selective read and query attention ask those alone; what a step has to do over the whole input is
the attention, and one read of M_e. Of section 3.2.2 there is left inside the loop

    a = softmax(v · tanh(W h + keys))                the attention
    c = copy_keys · h, d = asking · h + bias         copying against resolver, held positions
    s = softmax(c), held and c > d                   the selective read
    q = softmax(Σ d_i M_dp[i]), held and d > c       the query attention, Eqs 27 and 28
    h = GRU([x, s M_e, a M_e, q M_e], h)             x is a row of a table of tokens

and without a resolver neither d nor q, so that s is over all held positions. The loop is one
autograd function: the walk back keeps the gradients of a, c, d and q's scores, and the gradients
of M_e, M_dp, the keys and the weights are formed of them once. The hidden layer of the attention
is never kept. On a GPU with Triton each step is three kernels and a GRU cell each way.

What every step reads may be in bfloat16; sums are in the dtype of the weights.
Axes: B batch, T steps, L input length, D size of an encoder state, S of the writer's, A of the
attention's hidden layer, R reads.
"""

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.nn import functional as F

from permnet.kernels.attended import _Plain as _Cells
from permnet.kernels.gru import has_triton, long_product, sum_rows_by_token
from permnet.ops import masked_softmax
from permnet.vocab import PAD, SOS, SPECIALS

NOWHERE = -1


@dataclass(frozen=True)
class Source:
    """What all steps read: m_e (B, L, D), real positions (B,), the attention's keys (B, L, A) and
    score (A,), copy_keys (B, L, S); of a resolver m_dp (B, L, L), asking (B, L, S), bias (B, L)."""

    m_e: Tensor
    lengths: Tensor
    keys: Tensor
    score: Tensor
    copy_keys: Tensor
    m_dp: Tensor | None = None
    asking: Tensor | None = None
    bias: Tensor | None = None

    @property
    def mask(self) -> Tensor:
        return torch.arange(self.m_e.shape[1], device=self.m_e.device) < self.lengths[:, None]


@dataclass(frozen=True)
class Held:
    """Which positions hold the token before each step: those of `order` from `first` to `last`.

    ids and order (B, L): the input, and its positions sorted by token; tokens (T, B), NOWHERE where
    none is held; asks (T, B): whether the token may ask the resolver; first, last (T, B).
    """

    ids: Tensor
    order: Tensor
    tokens: Tensor
    asks: Tensor
    first: Tensor
    last: Tensor

    @classmethod
    def of(cls, ids: Tensor, previous: Tensor) -> "Held":
        """Nothing was taken before the first step; `<sos>` and `<pad>` never are."""
        never = (previous == SOS) | (previous == PAD)
        tokens = previous.masked_fill(never, NOWHERE)
        tokens = torch.cat([torch.full_like(tokens[:, :1], NOWHERE), tokens[:, 1:]], dim=1)
        in_order, order = ids.sort(dim=1, stable=True)
        first, last = (torch.searchsorted(in_order, tokens, right=right) for right in (False, True))
        steps_first = (v.T.contiguous() for v in (tokens, tokens >= len(SPECIALS), first, last))
        return cls(
            ids, order.int(), *(v.int() if v.dtype != torch.bool else v for v in steps_first)
        )


def writer(
    ids: Tensor,
    previous: Tensor,
    table: Tensor,
    h0: Tensor,
    source: Source,
    w_state: Tensor,
    b_state: Tensor,
    w_read: Tensor,
    w_hh: Tensor,
    b_hh: Tensor,
) -> Tensor:
    """States (B, T, S) after every step.

    ids (B, L) and previous (B, T): input and the tokens before each step; table (V, 3S), the input
    part of the gates r, z, n; h0 (B, S); w_state (A, S) and b_state (A,) of the attention;
    w_read (3S, R · D), reads in the order s, a, q; w_hh (3S, S), b_hh (3S,).
    """
    narrow = torch.is_autocast_enabled(ids.device.type)
    with torch.autocast(ids.device.type, enabled=False):
        kind = torch.bfloat16 if narrow else w_hh.dtype
        wide = [v.to(w_hh.dtype) for v in (table, h0)]
        read = [
            None if v is None else v.to(kind).contiguous()
            for v in (source.m_e, source.keys, source.copy_keys, source.m_dp, source.asking)
        ]
        bias = None if source.bias is None else source.bias.to(w_hh.dtype).contiguous()
        held = Held.of(ids, previous)
        return _Writer.apply(
            held, previous, source.lengths.int(), *wide, *read, bias, source.score,
            w_state, b_state, w_read, w_hh, b_hh,
        )  # fmt: skip


class _Writer(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, held: Held, previous: Tensor, lengths: Tensor, table: Tensor, h0: Tensor,
                m_e: Tensor, keys: Tensor, copy_keys: Tensor, m_dp: Tensor | None,
                asking: Tensor | None, bias: Tensor | None, score: Tensor, w_state: Tensor,
                b_state: Tensor, w_read: Tensor, w_hh: Tensor, b_hh: Tensor) -> Tensor:  # fmt: skip
        reads, cells = _parts(h0)
        source = reads.prepared(
            Source(m_e, lengths, keys, score.contiguous(), copy_keys, m_dp, asking, bias)
        )
        (batch, steps), size = previous.shape, h0.shape[1]
        ways = 2 if m_dp is None else 3
        tokens, table = previous.T.contiguous(), table.contiguous()
        states = h0.new_empty(steps + 1, batch, size)
        states[0] = h0
        weights = h0.new_zeros(steps, ways, batch, m_e.shape[1])
        taken = h0.new_zeros(steps if m_dp is not None else 0, batch, m_e.shape[1])
        read = h0.new_empty(steps, batch, ways * m_e.shape[2])
        # Of h for the gates, and for the attention: (T, B, 3S + A).
        of_h = F.pad(b_state, (3 * size, 0)).repeat(steps, batch, 1)
        gates = h0.new_empty(steps, batch, 4 * size)
        w_h = torch.cat([w_hh, w_state])
        for t in range(steps):
            of_h[t].addmm_(states[t], w_h.T)
            reads.read(source, held, t, states[t], of_h[t, :, 3 * size :], weights[t],
                       taken[t] if ways == 3 else None, read[t])  # fmt: skip
            of_read = read[t] @ w_read.T
            cells.cell(tokens[t], table, of_read, of_h[t, :, : 3 * size], b_hh, states[t],
                       gates[t], states[t + 1], states[t + 1])  # fmt: skip
        ctx.save_for_backward(
            tokens, lengths, m_e, source.keys, copy_keys, m_dp, asking, bias, score, w_read, w_h,
            states, weights, taken, read, of_h[..., 3 * size :].contiguous(), gates,
        )  # fmt: skip
        ctx.held, ctx.vocab = held, len(table)
        return states[1:].transpose(0, 1).contiguous()

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, dout: Tensor) -> tuple[Tensor | None, ...]:
        (tokens, lengths, m_e, keys, copy_keys, m_dp, asking, bias, score, w_read, w_h, states,
         weights, taken, read, looking, gates) = ctx.saved_tensors  # fmt: skip
        source = Source(m_e, lengths, keys, score.contiguous(), copy_keys, m_dp, asking, bias)
        reads, cells = _parts(states)
        steps, (batch, size) = len(tokens), states.shape[1:]
        dout = dout.transpose(0, 1).contiguous()
        dof_x = states.new_empty(steps, batch, 3 * size)
        dof_h = states.new_empty(steps, batch, w_h.shape[0])
        dread = torch.empty_like(read)
        dscores, dtaken = torch.zeros_like(weights), torch.zeros_like(taken)
        dh = torch.zeros_like(states[0])
        for t in reversed(range(steps)):
            cells.cell_backward(dout[t], gates[t], states[t], dof_x[t], dof_h[t, :, : 3 * size], dh)
            torch.mm(dof_x[t], w_read, out=dread[t])
            reads.read_backward(
                source, ctx.held, t, dread[t], looking[t], weights[t],
                None if m_dp is None else taken[t], dscores[t],
                None if m_dp is None else dtaken[t], dof_h[t, :, 3 * size :], dh,
            )  # fmt: skip
            dh.addmm_(dof_h[t], w_h)
        before = states[:-1]
        flat_x, flat_h, flat_before = (v.flatten(0, 1) for v in (dof_x, dof_h, before))
        dw_h, db_h = long_product(flat_h, flat_before), flat_h.sum(0)
        dkeys, dscore = reads.keys_backward(looking, source, dscores[:, 1])
        dread = dread.unflatten(2, (weights.shape[1], -1)).transpose(1, 2)
        dm_dp = dasking = dbias = None
        if m_dp is not None:
            dm_dp = _over_steps(taken, dscores[:, 2]).to(m_dp.dtype)
            dasking = _over_steps(dtaken, before).to(asking.dtype)
            dbias = dtaken.sum(0)
        return (
            None,
            None,
            None,
            sum_rows_by_token(tokens.flatten(), flat_x, ctx.vocab),
            dh,
            _over_steps(weights.flatten(0, 1), dread.flatten(0, 1)).to(m_e.dtype),
            dkeys.to(keys.dtype),
            _over_steps(dscores[:, 0], before).to(copy_keys.dtype),
            dm_dp,
            dasking,
            dbias,
            dscore,
            dw_h[3 * size :],
            db_h[3 * size :],
            long_product(flat_x, read.flatten(0, 1)),
            dw_h[: 3 * size],
            db_h[: 3 * size],
        )


def _over_steps(a: Tensor, b: Tensor) -> Tensor:
    """Σ over steps of the outer products: (T, B, I), (T, B, O) → (B, I, O)."""
    return torch.bmm(a.permute(1, 2, 0), b.transpose(0, 1))


class _Plain:
    """The reads of a step in plain PyTorch: the definition, and the path without Triton."""

    @staticmethod
    def prepared(source: Source) -> Source:
        """What is formed once for all steps."""
        return source

    @staticmethod
    def read(source: Source, held: Held, t: int, h: Tensor, looking: Tensor, weights: Tensor,
             taken: Tensor | None, read: Tensor) -> None:  # fmt: skip
        kind = h.dtype
        hidden = torch.tanh(looking[:, None] + source.keys.to(kind))
        mask = source.mask
        weights[1] = masked_softmax(hidden @ source.score, mask)
        chosen = held.ids == held.tokens[t, :, None]
        copy = (source.copy_keys.to(kind) @ h[..., None])[..., 0]
        if taken is not None:
            assert source.asking is not None
            assert source.bias is not None
            assert source.m_dp is not None
            v_dw = (source.asking.to(kind) @ h[..., None])[..., 0] + source.bias
            resolved = chosen & held.asks[t, :, None] & (v_dw > copy)
            chosen = chosen & (copy > v_dw)
            # 0 says that a position was not resolved, so one that was has at least the least.
            least = torch.finfo(kind).tiny
            v_dw = v_dw.masked_fill(v_dw == 0, least)
            taken.copy_(v_dw.masked_fill(~resolved, 0.0))
            asked = (taken[:, None] @ source.m_dp.to(kind))[:, 0]  # Eq. 27
            weights[2] = masked_softmax(asked, mask)  # Eq. 28
        weights[0] = masked_softmax(copy, chosen)
        read.copy_((weights.transpose(0, 1) @ source.m_e.to(kind)).flatten(1))

    @staticmethod
    def read_backward(source: Source, held: Held, t: int, dread: Tensor, looking: Tensor,
                      weights: Tensor, taken: Tensor | None, dscores: Tensor,
                      dtaken: Tensor | None, dlooking: Tensor, dh: Tensor) -> None:  # fmt: skip
        """Adds to dh what comes through copying and the resolver, leaves the attention's part."""
        kind = dh.dtype
        dread = dread.unflatten(1, (len(weights), -1))
        dweights = (dread @ source.m_e.to(kind).mT).transpose(0, 1)
        dscores.copy_(weights * (dweights - (weights * dweights).sum(-1, keepdim=True)))
        hidden = torch.tanh(looking[:, None] + source.keys.to(kind))
        dlooking.copy_((dscores[1][:, None] @ (1 - hidden.square()))[:, 0] * source.score)
        dh += (dscores[0][:, None] @ source.copy_keys.to(kind))[:, 0]
        if taken is not None:
            assert dtaken is not None
            assert source.asking is not None
            assert source.m_dp is not None
            back = (source.m_dp.to(kind) @ dscores[2][..., None])[..., 0]
            dtaken.copy_(back.masked_fill(taken == 0, 0.0))
            dh += (dtaken[:, None] @ source.asking.to(kind))[:, 0]

    @staticmethod
    def keys_backward(looking: Tensor, source: Source, dlooked: Tensor) -> tuple[Tensor, Tensor]:
        """Of all steps: (T, B, A), (T, B, L) → dkeys (B, L, A), dscore (A,)."""
        keys = source.keys.to(looking.dtype)
        dkeys, dscore = torch.zeros_like(keys), torch.zeros_like(source.score)
        for of_h, dout in zip(looking, dlooked, strict=True):
            hidden = torch.tanh(of_h[:, None] + keys)
            dscore += dout.flatten() @ hidden.flatten(0, 1)
            dkeys += dout[..., None] * (1 - hidden.square())
        return dkeys * source.score, dscore


def _parts(h: Tensor) -> tuple[Any, Any]:
    """Who reads, and whose GRU cell it is."""
    if h.is_cuda and h.dtype == torch.float32 and has_triton():
        from permnet.kernels import triton_attended, triton_writer

        return triton_writer, triton_attended
    return _Plain, _Cells
