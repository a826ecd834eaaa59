"""The two mechanisms of the paper as parts for any encoder–decoder (docs/resolver.md).

A resolver *reads* the encoder's states once per example and then *points* for every decoder state:

    memory = resolver.read(states, ids, mask)   # (B, L, D), (B, L), (B, L) True on real tokens
    point = resolver.point(memory, hidden)      # (B, T, S)
    point.logits                                # (B, T, V), to be added to the decoder's own

`ids` say which positions hold the same thing: token ids, or group ids where a name spans several
sub-word pieces. The logits are over those ids, `vocab_size` of them.

`IndirectResolver.attend` is the query attention of section 3.2.1, for decoders that can take it:
its only state is the `v_dw` of the step before (B, L), which `start` gives and `take_rows`
re-orders.

Axis letters: `B` batch, `L` input length, `T` output length, `V` ids, `P` longest array, `D` size
of an encoder state, `S` size of a decoder state.
"""

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from permnet.models.base import check_ablation, fixed_width
from permnet.ops import antidiagonal_sum, masked_softmax, mlogsoftmax, softmax01, sum_by_token


@dataclass(frozen=True)
class DirectMemory:
    """What `DirectResolver.read` found: m_e (B, L, D), v_arr (B, L), m_ind (B, L, P)."""

    ids: Tensor
    mask: Tensor
    m_e: Tensor
    v_arr: Tensor
    m_ind: Tensor


@dataclass(frozen=True)
class DirectPoint:
    """Which index token is read (v_attn), the index it means (v_ind), where that leads."""

    v_attn: Tensor
    v_ind: Tensor
    positions: Tensor
    logits: Tensor


class DirectResolver(nn.Module):
    """Array indexing as in C: a pointer to the first element, and an offset (section 3.1).

    `emb_ind` (V, P) learns which offset a token means; train it with weight decay, so that tokens
    which are no index fade. `without` is one of the ablations of Table 6; those that replace a
    product by a layer of fixed width need `input_length`.
    """

    ABLATIONS = ("m_e", "m_ind", "v_arr")
    FIXED = ("m_e", "v_arr")

    def __init__(
        self,
        memory_size: int,
        state_size: int,
        vocab_size: int,
        longest: int,
        without: str | None = None,
        input_length: int | None = None,
    ) -> None:
        super().__init__()
        check_ablation(without, self.ABLATIONS, self.FIXED, input_length)
        self.vocab_size, self.without = vocab_size, without
        width = input_length or 0
        self.array = nn.Linear(memory_size, 1) if without != "v_arr" else nn.Linear(longest, width)
        if without == "m_ind":
            self.select = nn.Linear(state_size, longest)
        else:
            self.emb_ind = nn.Embedding(vocab_size, longest)
            self.select = nn.Linear(state_size, width if without == "m_e" else memory_size)

    def read(self, states: Tensor, ids: Tensor, mask: Tensor) -> DirectMemory:
        m_e = states.masked_fill(~mask[..., None], 0.0)
        v_arr = m_ind = states.new_zeros(len(ids), 0)  # stays so for the part that is left out
        if self.without != "v_arr":
            v_arr = self.array(m_e)[..., 0].masked_fill(~mask, 0.0)  # Eq. 4
        if self.without != "m_ind":
            m_ind = self.emb_ind(ids).masked_fill(~mask[..., None], 0.0)  # Eq. 5
        return DirectMemory(ids, mask, m_e, v_arr, m_ind)

    def point(self, memory: DirectMemory, hidden: Tensor) -> DirectPoint:
        selected = self.select(hidden)
        mask = memory.mask[:, None]
        v_attn = v_ind = selected
        if self.without == "m_e":
            v_attn = fixed_width(selected, mask.shape[-1], "m_e").masked_fill(~mask, 0.0)
        elif self.without != "m_ind":
            v_attn = selected @ memory.m_e.mT  # Eq. 7
        if self.without != "m_ind":
            v_ind = v_attn @ memory.m_ind  # Eq. 8
        if self.without == "v_arr":
            positions = fixed_width(self.array(v_ind), mask.shape[-1], "v_arr")
            positions = positions.masked_fill(~mask, 0.0)
        else:
            positions = antidiagonal_sum(memory.v_arr, v_ind).masked_fill(~mask, 0.0)
        v_perm = sum_by_token(positions, memory.ids, self.vocab_size)  # Eq. 10, Σ̃
        return DirectPoint(v_attn, v_ind, positions, v_perm)


@dataclass(frozen=True)
class IndirectMemory:
    """What `IndirectResolver.read` found.

    m_label (B, L, 4): DATA, KEY, QUERY, NOT_RELEVANT; m_dk, m_kp, m_dp (B, L, L): which key a
    datum has, which query a key answers, and through both which query a datum answers;
    queries (B, L, D): Lin(M_p).
    """

    ids: Tensor
    mask: Tensor
    m_e: Tensor
    m_label: Tensor
    m_dk: Tensor
    m_kp: Tensor
    m_dp: Tensor
    queries: Tensor


@dataclass(frozen=True)
class IndirectPoint:
    """Weights on the queries and on the data (B, T, L), and what they give the tokens (B, T, V)."""

    v_pw: Tensor
    v_dw: Tensor
    logits: Tensor


class IndirectResolver(nn.Module):
    """From query to key to datum by two products of positions with positions (section 3.2).

    `without` is one of the ablations of Table 7; `m_pl` needs `input_length`.
    """

    ABLATIONS = ("m_d+m_k+m_p", "m_d", "m_pl", "mlogsoft")
    FIXED = ("m_pl",)

    def __init__(
        self,
        memory_size: int,
        state_size: int,
        vocab_size: int,
        without: str | None = None,
        input_length: int | None = None,
    ) -> None:
        super().__init__()
        check_ablation(without, self.ABLATIONS, self.FIXED, input_length)
        self.vocab_size, self.without = vocab_size, without
        if without != "m_d+m_k+m_p":
            self.label = nn.Linear(memory_size, 4)
        if without == "m_pl":
            self.select = nn.Linear(state_size, input_length or 0)
        else:
            self.query = nn.Linear(memory_size, memory_size)
            self.select = nn.Linear(state_size, memory_size)

    def read(self, states: Tensor, ids: Tensor, mask: Tensor) -> IndirectMemory:
        if self.without == "m_pl":
            fixed_width(self.select.bias, mask.shape[-1], "m_pl")
        soft = softmax01 if self.without == "mlogsoft" else mlogsoftmax
        m_e = states.masked_fill(~mask[..., None], 0.0)
        if self.without == "m_d+m_k+m_p":
            m_label = states.new_zeros(*ids.shape, 0)
            m_d = m_k = m_p = m_e
        else:
            m_label = torch.softmax(self.label(m_e), dim=-1)  # Eq. 15
            m_d = m_e if self.without == "m_d" else m_e * m_label[..., 0:1]  # Eq. 16
            m_k = m_e * m_label[..., 1:2]  # Eq. 17
            m_p = m_e * m_label[..., 2:3]  # Eq. 18
        m_dk = soft(m_d @ m_k.mT, mask)  # Eq. 20
        m_kp = soft(m_k @ m_p.mT, mask)  # Eq. 21
        m_dp = m_dk @ m_kp  # Eq. 22
        queries = m_p
        if self.without != "m_pl":
            queries = self.query(m_p).masked_fill(~mask[..., None], 0.0)
        return IndirectMemory(ids, mask, m_e, m_label, m_dk, m_kp, m_dp, queries)

    def point(self, memory: IndirectMemory, hidden: Tensor) -> IndirectPoint:
        selected = self.select(hidden)
        if self.without == "m_pl":
            v_pw = selected.masked_fill(~memory.mask[:, None], 0.0)
        else:
            v_pw = selected @ memory.queries.mT  # Eq. 25
        v_dw = v_pw @ memory.m_dp.mT  # Eq. 26
        return IndirectPoint(v_pw, v_dw, sum_by_token(v_dw, memory.ids, self.vocab_size))

    def start(self, memory: IndirectMemory) -> Tensor:
        """The `v_dw` before the first step: nothing has been taken yet."""
        return torch.zeros_like(memory.m_e[..., 0])

    def attend(
        self, memory: IndirectMemory, v_dw: Tensor, previous: Tensor
    ) -> tuple[Tensor, Tensor]:
        """The query attention: where the previous token (B,) was asked for, and what stands there.

        Returns weights (B, L) and v_attn (B, D). A token that is not in the input selects nothing:
        the weights are then equal on all real positions. Pass -1 for tokens that must not select,
        as special ones.
        """
        v_selected = v_dw * (memory.ids == previous[:, None])
        asked = (v_selected[:, None] @ memory.m_dp)[:, 0]  # Eq. 27, summed column-wise
        weights = masked_softmax(asked, memory.mask)
        return weights, (weights[:, None] @ memory.m_e)[:, 0]  # Eq. 28
