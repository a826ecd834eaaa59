"""M_dk and M_kp out of M_e and the shares of each position that are datum, key and query.

M_dk is the MLogSoftmax of M_e M_eᵀ, row i weighted by "i is a datum" and column j by "j is a key";
M_kp likewise with key and query. On a GPU with Triton both come from one read of the product, and
so does its gradient; elsewhere from the operators, which are the definition.
"""

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from permnet.kernels.gru import has_triton
from permnet.ops import equal_tokens, mlogsoftmax, softmax01


def gram(m_e: Tensor) -> Tensor:
    """M_e M_eᵀ: (B, L, D) → (B, L, L)."""
    return _Gram.apply(m_e, m_e.new_empty(0, m_e.shape[-1]))[0]


def gram_and_scores(m_e: Tensor, weight: Tensor) -> tuple[Tensor, Tensor]:
    """M_e M_eᵀ and M_e weightᵀ, for few rows of weight: (B, L, D), (C, D) → (B, L, L), (B, L, C).

    Together, since either's gradient is as large as M_e, and their sum is formed in place.
    """
    return _Gram.apply(m_e, weight.to(m_e.dtype))


def relations(
    gram: Tensor,
    of_data: Tensor,
    of_key: Tensor,
    of_query: Tensor,
    mask: Tensor,
    ids: Tensor,
    *,
    log: bool = True,
    equal: bool = False,
) -> tuple[Tensor, Tensor]:
    """(M_dk, M_kp), each (B, L, L), from M_e M_eᵀ, three weights (B, L), a mask and ids (B, L).

    `log=False` takes the ordinary softmax in place of MLogSoftmax. `equal` lets a key meet only
    queries that are its own token: the softmax of its row runs over those.
    """
    if gram.is_cuda and gram.dtype != torch.double and has_triton() and gram.shape[-1] <= 2048:
        return on_chip((gram, of_data, of_key, of_query), mask, ids, log, equal)
    soft = mlogsoftmax if log else softmax01
    open = equal_tokens(ids) if equal else None
    return (
        soft(of_data[..., None] * gram * of_key[:, None], mask),
        soft(of_key[..., None] * gram * of_query[:, None], mask, open),
    )


def on_chip(
    floats: tuple[Tensor, ...], mask: Tensor, ids: Tensor, log: bool, equal: bool
) -> tuple[Tensor, Tensor]:
    """The same by Triton, in single precision; what comes back is as narrow as M_e M_eᵀ."""
    m_dk, m_kp = _Relations.apply(*(v.float() for v in floats), mask, ids, log, equal)
    return m_dk.to(floats[0].dtype), m_kp.to(floats[0].dtype)


class _Gram(torch.autograd.Function):
    """The gradient of M_e M_eᵀ is one product, where autograd would form two and a transpose."""

    @staticmethod
    def forward(ctx: Any, m_e: Tensor, weight: Tensor) -> tuple[Tensor, Tensor]:
        ctx.save_for_backward(m_e, weight)
        return m_e @ m_e.mT, m_e @ weight.mT

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, dgram: Tensor, dscores: Tensor) -> tuple[Tensor, Tensor]:
        m_e, weight = ctx.saved_tensors
        dm_e = (dgram + dgram.mT) @ m_e
        flat = dscores.flatten(0, 1)
        dm_e.flatten(0, 1).addmm_(flat, weight)
        return dm_e, flat.mT @ m_e.flatten(0, 1)


class _Relations(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, gram: Tensor, of_data: Tensor, of_key: Tensor, of_query: Tensor,
                mask: Tensor, ids: Tensor, log: bool, equal: bool
                ) -> tuple[Tensor, Tensor]:  # fmt: skip
        from permnet.kernels import triton_relations

        inputs = tuple(v.contiguous() for v in (gram, of_data, of_key, of_query, mask, ids))
        ctx.save_for_backward(*inputs)
        ctx.options = log, equal
        return triton_relations.forward(inputs, *ctx.options)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, dm_dk: Tensor, dm_kp: Tensor) -> tuple[Tensor | None, ...]:
        from permnet.kernels import triton_relations

        gradients = triton_relations.backward(
            ctx.saved_tensors, dm_dk.contiguous(), dm_kp.contiguous(), *ctx.options
        )
        return (*gradients, None, None, None, None)
