"""Parameter-free operators of the paper; each has a slow, obvious twin in `tests/reference.py`.

Axis letters: `B` batch, `L` input length, `T` output length, `V` vocabulary, `P` longest array.
A mask is True on real positions and False on padding, everywhere in this package.
"""

import math
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.nn import functional as F

from permnet.vocab import PAD


def masked_softmax(x: Tensor, mask: Tensor) -> Tensor:
    """Softmax over the last axis in which padding takes no part; 0 on padding.

    A row of padding only gives zeros, not NaN: hence the lowest number, not -inf.
    """
    lowest = torch.finfo(x.dtype).min
    return torch.softmax(x.masked_fill(~mask, lowest), dim=-1).masked_fill(~mask, 0.0)


def softmax01(x: Tensor, mask: Tensor, open: Tensor | None = None) -> Tensor:
    """What replaces `mlogsoftmax` in the ablation `mlogsoft`: the ordinary softmax."""
    columns = mask[:, None] if open is None else mask[:, None] & open
    itself = torch.eye(x.shape[-1], dtype=torch.bool, device=x.device)
    return masked_softmax(x, columns).masked_fill(itself | ~mask[:, :, None], 0.0)


def mlogsoftmax(x: Tensor, mask: Tensor, open: Tensor | None = None) -> Tensor:
    """MLogSoftmax between positions: x (B, L, L), mask (B, L) → (B, L, L) in [0, 1].

    The softmax runs over the last axis. Padding columns leave it *before* the softmax, or they
    would stand in its denominator; the diagonal is set to 0 *after* it, as the paper says, and so
    are the rows of padding. Of a row's columns only those take part that are `open` (B, L, L).
    """
    return torch.log1p((math.e - 1) * softmax01(x, mask, open))  # Eq. 19


def equal_tokens(ids: Tensor) -> Tensor:
    """Where two different positions hold the same token: (B, L) → (B, L, L)."""
    itself = torch.eye(ids.shape[1], dtype=torch.bool, device=ids.device)
    return (ids[:, :, None] == ids[:, None]) & ~itself


def taken(holds: Tensor, scores: Tensor, generated: Tensor) -> Tensor:
    """The share of each position in saying a token: (…, L), (…, L), (…) → (…, L).

    Given that it was said: generating it is a way, too. `holds` is where the token stands.
    """
    scores = scores.masked_fill(~holds, -torch.inf)
    ways = torch.cat([scores, generated[..., None]], dim=-1).logsumexp(-1, keepdim=True)
    return torch.exp(scores - ways)


def _as_autocast(*factors: Tensor) -> tuple[Tensor, ...]:
    """The factors of a product as autocast would take them; it does not reach into gradients."""
    kind = factors[0].device.type
    if not torch.is_autocast_enabled(kind):
        return factors
    return tuple(v.to(torch.get_autocast_dtype(kind)) for v in factors)


def antidiagonal_sum(v_arr: Tensor, v_ind: Tensor) -> Tensor:
    """Sums of M_prob = v_arr ⊙ v_indᵀ along its antidiagonals: (B, L), (B, T, P) → (B, T, L).

    Position q collects v_arr[i] · v_ind[j] over i + j = q: "the element j of an array that begins
    at i". Antidiagonals past the end of the input are dropped. M_prob is never built: the sums are
    a product with the Toeplitz matrix whose row j is v_arr moved right by j.
    """
    return _AntidiagonalSum.apply(*_as_autocast(v_arr, v_ind))


class _AntidiagonalSum(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, v_arr: Tensor, v_ind: Tensor) -> Tensor:
        last = v_ind.shape[-1] - 1
        moved = F.pad(v_arr, (last, 0)).unfold(-1, v_arr.shape[-1], 1).flip(1)  # (B, P, L)
        ctx.save_for_backward(moved, v_ind)
        return v_ind @ moved  # Eq. 9, Eq. 10: Σ antidiagonal-wise

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, dout: Tensor) -> tuple[Tensor, Tensor]:
        """Row j of M_prob's gradient, moved left by j, is a share of v_arr's.

        With room at the end of its rows, that is the same memory with rows one element longer.
        """
        moved, v_ind = ctx.saved_tensors
        batch, rows, length = moved.shape
        pitch = length + rows
        if torch.compiler.is_compiling():  # which cannot trace a product into part of a tensor
            wide = F.pad(v_ind.mT @ dout, (0, rows))
        else:
            wide = dout.new_empty(batch, rows, pitch)
            wide[..., length:] = 0.0
            torch.bmm(v_ind.mT, dout, out=wide[..., :length])
        shares = wide.as_strided(moved.shape, (rows * pitch, pitch + 1, 1))
        return shares.sum(1), dout @ moved.mT


def sum_by_token(
    weights: Tensor, ids: Tensor, vocab_size: int, one_hot: Tensor | None = None
) -> Tensor:
    """Adds up the weights of positions that hold the same token: (B, T, L), (B, L) → (B, T, V).

    On a GPU as a product with the one-hot input, which beats colliding additions; who sums over the
    same input more than once can pass it in.
    """
    one_hot = one_hot_tokens(ids, vocab_size, weights) if one_hot is None else one_hot
    if one_hot is not None:
        return weights @ one_hot
    out = weights.new_zeros(*weights.shape[:-1], vocab_size)
    return out.scatter_add(-1, ids[:, None].expand_as(weights), weights)


def one_hot_tokens(ids: Tensor, vocab_size: int, like: Tensor) -> Tensor | None:
    """The input as (B, L, V) where a product of `like` (B, T, ·) with it pays.

    That is on a GPU, for small vocabularies and more than one step: decoding step by step, making
    it would take longer than a scatter.
    """
    if not like.is_cuda or vocab_size > 1024 or like.shape[1] == 1:
        return None
    return (ids[..., None] == torch.arange(vocab_size, device=ids.device)).to(like.dtype)


def dot_rows(m: Tensor, x: Tensor) -> Tensor:
    """The products of every row of x with every row of m: (B, L, D), (B, T, D) → (B, T, L).

    x mᵀ, with plain products for gradients: autograd would give m's as a transpose.
    """
    return _DotRows.apply(*_as_autocast(m, x))


class _DotRows(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, m: Tensor, x: Tensor) -> Tensor:
        ctx.save_for_backward(m, x)
        return x @ m.mT

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, dout: Tensor) -> tuple[Tensor, Tensor]:
        m, x = ctx.saved_tensors
        return dout.mT @ x, dout @ m


def dot_some_rows(m: Tensor, x: Tensor, some: Tensor) -> Tensor:
    """The products of x with rows of m where `some` is true: (B, L, D), (B, D), (B, L) → (B, L).

    Elsewhere there may be anything. A CPU reads the few rows that are asked for; on a GPU no shape
    may depend on the data.
    """
    if m.is_cuda:
        return dot_rows(m, x[:, None])[:, 0]
    b, i = some.nonzero(as_tuple=True)
    found = (m[b, i] * x[b]).sum(-1)
    return found.new_zeros(some.shape).index_put((b, i), found)


FARTHEST = 40.0
"""Powers of numbers farther from 0 are those of this one: twice as far, they leave the range."""


def powers(x: Tensor) -> Tensor:
    """exp 2x, formed once for many sums: tanh(a + b) = 1 - 2 / (1 + exp 2a exp 2b)."""
    return _ranging(x).clamp(-FARTHEST, FARTHEST).mul_(2).exp_()


def _ranging(x: Tensor) -> Tensor:
    """x in single precision at least: powers leave the range of 16 bits, or lose their sums."""
    return x.to(torch.promote_types(x.dtype, torch.float32))


def sum_rows(m: Tensor, weights: Tensor) -> Tensor:
    """The sum of rows of m by their weights, on a CPU: (B, L, N), (B, L) → (B, N).

    As a bag of vectors it takes half as long as the product with a single row.
    """
    batch, length = weights.shape
    rows = torch.arange(batch * length, device=m.device).view(batch, length)
    weights = weights.to(m.dtype)  # autocast does not reach here
    return F.embedding_bag(rows, m.flatten(0, 1), mode="sum", per_sample_weights=weights)


def sum_some_rows(m: Tensor, weights: Tensor) -> Tensor:
    """The same on any device, for weights of which few are not 0."""
    if m.is_cuda:
        return (weights[:, None] @ m)[:, 0]
    b, i = weights.nonzero(as_tuple=True)
    rows = m[b, i] * weights[b, i, None]
    return rows.new_zeros(len(m), m.shape[2]).index_add(0, b, rows)


def logsumexp_by_token(scores: Tensor, ids: Tensor, vocab_size: int) -> Tensor:
    """log Σ exp over positions that hold the same token: (B, T, L), (B, L) → (B, T, V).

    A score may be -inf, as on padding; a token without a finite score gets -inf and no gradient.
    """
    at = ids[:, None].expand_as(scores)
    lowest = scores.new_full((*scores.shape[:-1], vocab_size), torch.finfo(scores.dtype).min)
    top = lowest.scatter_reduce(-1, at, scores.detach(), "amax")
    sums = sum_by_token(torch.exp(scores - top.gather(-1, at)), ids, vocab_size)
    present = sums > 0
    logs = torch.log(sums.masked_fill(~present, 1.0)) + top
    return logs.masked_fill(~present, -torch.inf)


def generate_or_copy(generate: Tensor, copy: Tensor, ids: Tensor) -> Tensor:
    """log Σ exp over all ways to say a token: generating it, and copying it from where it stands.

    (B, T, V), scores of positions (B, T, L), ids (B, L) → (B, T, V). It keeps three tensors for the
    way back, where autograd over `logsumexp_by_token` would keep ten.
    """
    logits: Tensor = _GenerateOrCopy.apply(_ranging(generate), _ranging(copy), ids)
    return logits.to(torch.result_type(generate, copy))


class _GenerateOrCopy(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, generate: Tensor, copy: Tensor, ids: Tensor) -> Tensor:
        at = ids[:, None].expand_as(copy)
        # Sums are relative to this, at most 80 below the row's top: nothing overflows, and what
        # underflows is e^-80 of it or less, or has a far larger way beside it. An exported model
        # has these lines without the gradient below: hence `detach`, and next to nothing in place.
        base = torch.maximum(generate, copy.amax(-1, keepdim=True) - 80.0).detach()
        sums = torch.exp(generate - base).scatter_add(-1, at, torch.exp(copy - base.gather(-1, at)))
        logits = sums.clamp(min=torch.finfo(sums.dtype).tiny).log().add_(base)
        ctx.save_for_backward(generate, copy, ids, logits)
        return logits

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, dlogits: Tensor) -> tuple[Tensor, Tensor, None]:
        generate, copy, ids, logits = ctx.saved_tensors
        at = ids[:, None].expand_as(copy)
        dcopy = torch.exp(copy - logits.gather(-1, at)).mul_(dlogits.gather(-1, at))
        return torch.exp(generate - logits).mul_(dlogits), dcopy, None


def cross_entropy(logits: Tensor, targets: Tensor) -> Tensor:
    """The sum over all real targets of -log p: (B, T, V), (B, T) → ().

    As `torch.nn.functional.cross_entropy` with padding ignored, but spread over the whole of a GPU:
    that one sums in a single block.
    """
    taken = logits.gather(-1, targets[..., None])[..., 0]
    return (logits.logsumexp(-1) - taken).masked_fill(targets == PAD, 0.0).sum()
