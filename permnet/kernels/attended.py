"""The decoder of PermNetI under teacher forcing: a GRU fed by its own query attention.

With the outputs known, step t needs of section 3.2.1 only a few rows prepared beforehand
(`PermNetI._attending`). What is left inside the loop is

    s = asking_t · h + bias_t                        how strongly the previous datum was taken
    a = softmax(s · rows_t)                          the query attention's weights, Eq. 28
    h = GRU([x_t, a · M_e], h)                       Eq. 23; x_t is a row of a table of tokens

The loop is one autograd function. Autograd over the steps would add a gradient of the size of M_e
at every step, which is a third of the cost of a PI100 step; here the backward walk keeps
(a_t, ∂att_t) and forms that gradient once, as one batched product, and likewise all weights'.
On a GPU with Triton one kernel per step fuses the first two lines with the product a · M_e, and
one kernel each fuses the gates' arithmetic. M_e may be kept in bfloat16 for those reads
(`narrow=True`, and always under autocast): they are most of the bytes of a long example's step.

The two products of a step, with w_att and w_hh, are one batched product: either alone would leave
half of a large GPU idle.

Axes: B batch, T steps, L input length, S size of a state, the decoder's as well as the encoder's.
"""

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from permnet.kernels.gru import has_triton, long_product, sum_rows_by_token, wide
from permnet.ops import masked_softmax


def attended_gru(
    ids: Tensor,
    table: Tensor,
    h0: Tensor,
    asking: Tensor,
    bias: Tensor,
    rows: Tensor,
    m_e: Tensor,
    mask: Tensor,
    w_att: Tensor,
    w_hh: Tensor,
    b_hh: Tensor,
    narrow: bool = False,
) -> Tensor:
    """States (B, T, S) after every step.

    ids (B, T) choose rows of table (V, 3S), the input part of the gates r, z, n without the
    attention's; h0 (B, S); asking (B, T, S) and bias (B, T); rows (B, T, L); m_e (B, L, S);
    mask (B, L); w_att (3S, S), w_hh (3S, S), b_hh (3S).
    """
    narrow = narrow or torch.is_autocast_enabled(ids.device.type)
    given = (table, h0, asking, bias, rows)
    with torch.autocast(ids.device.type, enabled=False):
        floats = [v.to(w_hh.dtype) for v in given]
        m_e = m_e.bfloat16() if narrow else m_e.to(w_hh.dtype)
        return _AttendedGRU.apply(ids, *floats, m_e.contiguous(), mask, w_att, w_hh, b_hh)


class _AttendedGRU(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, ids: Tensor, table: Tensor, h0: Tensor, asking: Tensor, bias: Tensor,
                rows: Tensor, m_e: Tensor, mask: Tensor, w_att: Tensor, w_hh: Tensor,
                b_hh: Tensor) -> Tensor:  # fmt: skip
        parts = _parts(h0)
        batch, steps, size = asking.shape
        # Steps first: what one step reads and writes is then one piece of memory.
        ids, asking, bias, rows = (
            v.transpose(0, 1).contiguous() for v in (ids, asking, bias, rows)
        )
        table = table.contiguous()
        weights = h0.new_empty(steps, batch, m_e.shape[1])
        scalars = h0.new_empty(steps, batch)
        gates = h0.new_empty(steps, batch, 4 * size)
        # What the products take, reads and states, is kept as wide as M_e is.
        factors = m_e.new_empty(2, steps + 1, batch, size)
        factors[1, 0] = h0
        states = factors[1]
        if m_e.dtype != h0.dtype:
            states = h0.new_empty(steps + 1, batch, size)
            states[0] = h0
        w = torch.stack([w_att, w_hh]).to(m_e.dtype)
        for t in range(steps):
            parts.attend(states[t], asking[t], bias[t], rows[t], mask, m_e,
                         scalars[t], weights[t], factors[0, t])  # fmt: skip
            of_att, of_h = wide(torch.bmm, factors[:, t], w.mT)
            parts.cell(ids[t], table, of_att, of_h, b_hh, states[t], gates[t], states[t + 1],
                       factors[1, t + 1])  # fmt: skip
        ctx.save_for_backward(ids, asking, rows, m_e, w, states, factors, weights, scalars, gates)
        ctx.vocab = len(table)
        return states[1:].transpose(0, 1).contiguous()

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, dout: Tensor) -> tuple[Tensor | None, ...]:
        ids, asking, rows, m_e, w, states, factors, weights, scalars, gates = ctx.saved_tensors
        parts = _parts(states)
        steps, batch, size = asking.shape
        dout = dout.transpose(0, 1).contiguous()
        dof_x, dof_h = dof = m_e.new_empty(2, steps, batch, 3 * size)
        dread, through = back = states.new_empty(2, steps, batch, size)
        dweights = torch.empty_like(weights)
        mean = torch.empty_like(scalars)
        dscalars = torch.empty_like(scalars)
        dh = torch.zeros_like(states[0])
        for t in reversed(range(steps)):
            parts.cell_backward(dout[t], gates[t], states[t], dof_x[t], dof_h[t], dh)
            if dof.dtype == back.dtype:
                torch.bmm(dof[:, t], w, out=back[:, t])
            else:
                back[:, t] = wide(torch.bmm, dof[:, t], w)
            parts.attend_backward(
                dread[t],
                through[t],
                m_e,
                weights[t],
                rows[t],
                asking[t],
                dweights[t],
                mean[t],
                dscalars[t],
                dh,
            )
        dasked = weights * (dweights - mean[..., None])
        of_weights = [
            long_product(d.flatten(0, 1), factor[:-1].flatten(0, 1))
            for d, factor in zip(dof, factors, strict=True)
        ]
        return (
            None,
            sum_rows_by_token(ids.flatten(), dof_x.flatten(0, 1), ctx.vocab),
            dh,
            (dscalars[..., None] * states[:-1]).transpose(0, 1),
            dscalars.T,
            (scalars[..., None] * dasked).transpose(0, 1),
            torch.bmm(weights.permute(1, 2, 0).to(m_e.dtype), dread.transpose(0, 1).to(m_e.dtype)),
            None,
            *of_weights,
            dof_h.flatten(0, 1).sum(0, dtype=states.dtype),
        )


class _Plain:
    """The parts of a step in plain PyTorch: the definition, and the path without Triton."""

    @staticmethod
    def attend(h: Tensor, asking: Tensor, bias: Tensor, rows: Tensor, mask: Tensor, m_e: Tensor,
               scalar: Tensor, weights: Tensor, read: Tensor) -> None:  # fmt: skip
        scalar.copy_((asking * h).sum(-1) + bias)
        weights.copy_(masked_softmax(scalar[:, None] * rows, mask))
        read.copy_((weights[:, None] @ m_e.to(h.dtype))[:, 0])

    @staticmethod
    def attend_backward(dread: Tensor, through: Tensor, m_e: Tensor, weights: Tensor, rows: Tensor,
                        asking: Tensor, dweights: Tensor, mean: Tensor, dscalar: Tensor,
                        dh: Tensor) -> None:  # fmt: skip
        """Adds to dh what comes through the gates and through the scalar.

        The softmax's gradient is w ⊙ (dw - mean).
        """
        dweights.copy_((m_e.to(dh.dtype) @ dread[..., None])[..., 0])
        mean.copy_((weights * dweights).sum(-1))
        dscalar.copy_((weights * (dweights - mean[:, None]) * rows).sum(-1))
        dh += through + dscalar[:, None] * asking

    @staticmethod
    def cell(ids: Tensor, table: Tensor, of_att: Tensor, of_h: Tensor, bias: Tensor, h: Tensor,
             gates: Tensor, new: Tensor, factor: Tensor) -> None:  # fmt: skip
        """`factor` gets the new state too, as narrow as products take it."""
        of_x, of_h = table[ids] + of_att, of_h + bias
        (x_r, x_z, x_n), (h_r, h_z, h_n) = of_x.chunk(3, -1), of_h.chunk(3, -1)
        r, z = torch.sigmoid(x_r + h_r), torch.sigmoid(x_z + h_z)
        n = torch.tanh(x_n + r * h_n)
        gates.copy_(torch.cat([r, z, n, h_n], dim=-1))
        new.copy_(n + z * (h - n))
        factor.copy_(new)

    @staticmethod
    def cell_backward(dout: Tensor, gates: Tensor, h: Tensor, dof_x: Tensor, dof_h: Tensor,
                      dh: Tensor) -> None:  # fmt: skip
        """Takes dh after the step, leaves in it the part that goes straight to the state before."""
        r, z, n, h_n = gates.chunk(4, -1)
        dh += dout
        dn = dh * (1 - z) * (1 - n * n)
        dz = dh * (h - n) * z * (1 - z)
        dr = dn * h_n * r * (1 - r)
        dof_x.copy_(torch.cat([dr, dz, dn], dim=-1))
        dof_h.copy_(torch.cat([dr, dz, dn * r], dim=-1))
        dh *= z


def _parts(h: Tensor) -> Any:
    if h.is_cuda and h.dtype == torch.float32 and has_triton():
        from permnet.kernels import triton_attended

        return triton_attended
    return _Plain
