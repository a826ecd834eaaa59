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

from permnet.kernels.relations import gram, gram_and_scores, relations
from permnet.models.base import check_ablation, fixed_width
from permnet.ops import (
    antidiagonal_sum,
    dot_rows,
    masked_softmax,
    one_hot_tokens,
    sum_by_token,
)


@dataclass(frozen=True)
class DirectMemory:
    """What `DirectResolver.read` found: m_e (B, L, D) and v_arr (B, L)."""

    ids: Tensor
    mask: Tensor
    m_e: Tensor
    v_arr: Tensor


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

    def read(
        self, states: Tensor, ids: Tensor, mask: Tensor, *, zeroed: bool = False
    ) -> DirectMemory:
        """`zeroed` promises that the states are 0 on padding, which saves a pass over them."""
        m_e = states if zeroed else states.masked_fill(~mask[..., None], 0.0)
        v_arr = states.new_zeros(len(ids), 0)
        if self.without != "v_arr":
            v_arr = self.array(m_e)[..., 0].masked_fill(~mask, 0.0)  # Eq. 4
        return DirectMemory(ids, mask, m_e, v_arr)

    def index_values(self, memory: DirectMemory) -> Tensor:
        """M_ind (B, L, P): the offset that each position means, as a distribution."""
        return self.emb_ind(memory.ids).masked_fill(~memory.mask[..., None], 0.0)  # Eq. 5

    def point(self, memory: DirectMemory, hidden: Tensor) -> DirectPoint:
        selected = self.select(hidden)
        mask = memory.mask[:, None]
        v_attn = v_ind = selected
        if self.without == "m_e":
            v_attn = fixed_width(selected, mask.shape[-1], "m_e").masked_fill(~mask, 0.0)
        elif self.without != "m_ind":
            v_attn = dot_rows(memory.m_e, selected)  # Eq. 7
        one_hot = one_hot_tokens(memory.ids, self.vocab_size, selected)
        if self.without != "m_ind":
            # The weighted sum of M_ind's rows, equal tokens first: M_ind itself is never formed.
            by_token = sum_by_token(v_attn, memory.ids, self.vocab_size, one_hot)
            v_ind = by_token @ self.emb_ind.weight  # Eq. 8
        if self.without == "v_arr":
            positions = fixed_width(self.array(v_ind), mask.shape[-1], "v_arr")
            positions = positions.masked_fill(~mask, 0.0)
        else:
            positions = torch.where(mask, antidiagonal_sum(memory.v_arr, v_ind), 0.0)
        v_perm = sum_by_token(positions, memory.ids, self.vocab_size, one_hot)  # Eq. 10, Σ̃
        return DirectPoint(v_attn, v_ind, positions, v_perm)


@dataclass(frozen=True)
class IndirectMemory:
    """What `IndirectResolver.read` found.

    m_label (B, L, 4): DATA, KEY, QUERY, NOT_RELEVANT; m_dk, m_kp, m_dp (B, L, L): which key a
    datum has, which query a key answers, and through both which query a datum answers;
    of_query (B, L): the share of each position that is a query.
    """

    ids: Tensor
    mask: Tensor
    m_e: Tensor
    m_label: Tensor
    m_dk: Tensor
    m_kp: Tensor
    m_dp: Tensor
    of_query: Tensor


@dataclass(frozen=True)
class IndirectPoint:
    """Weights on the queries and on the data (B, T, L), and what they give the tokens (B, T, V)."""

    v_pw: Tensor
    v_dw: Tensor
    logits: Tensor


class IndirectResolver(nn.Module):
    """From query to key to datum by two products of positions with positions (section 3.2).

    M_d, M_k and M_p are M_e with its rows weighted, and weights of rows commute with products:
    M_d M_kᵀ is M_e M_eᵀ with rows and columns weighted, Lin(M_p) v is M_e (Wᵀv) with rows weighted.
    So the three are never formed; nothing but M_e has the size (B, L, D).

    `without` is one of the ablations of Table 7; `m_pl` needs `input_length`.

    `equal` is our addition: a key meets only queries that are its own token. M_kp is then right
    from the first step on, whichever tokens they are, and what is left to learn are the roles and
    which key a datum has.
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
        equal: bool = False,
    ) -> None:
        super().__init__()
        check_ablation(without, self.ABLATIONS, self.FIXED, input_length)
        self.vocab_size, self.without, self.equal = vocab_size, without, equal
        if without != "m_d+m_k+m_p":
            self.label = nn.Linear(memory_size, 4)
        if without == "m_pl":
            self.select = nn.Linear(state_size, input_length or 0)
        else:
            self.query = nn.Linear(memory_size, memory_size)
            self.select = nn.Linear(state_size, memory_size)

    def read(
        self, states: Tensor, ids: Tensor, mask: Tensor, *, zeroed: bool = False
    ) -> IndirectMemory:
        """`zeroed` promises that the states are 0 on padding, which saves a pass over them."""
        m_e = states if zeroed else states.masked_fill(~mask[..., None], 0.0)
        if torch.is_autocast_enabled(states.device.type):
            m_e = m_e.to(torch.get_autocast_dtype(states.device.type))  # once, not per product
        of_data = of_key = of_query = torch.ones_like(m_e[..., 0])
        m_label = m_e.new_zeros(*ids.shape, 0)
        if self.without != "m_d+m_k+m_p":
            products, scores = gram_and_scores(m_e, self.label.weight)
            m_label = torch.softmax(scores + self.label.bias, dim=-1)  # Eq. 15
            of_data, of_key, of_query, _ = m_label.unbind(-1)  # Eq. 16, Eq. 17, Eq. 18
        else:
            products = gram(m_e)
        if self.without == "m_d":
            of_data = torch.ones_like(of_key)
        m_dk, m_kp = relations(
            products,
            of_data,
            of_key,
            of_query,
            mask,
            ids,
            log=self.without != "mlogsoft",
            equal=self.equal,
        )  # Eq. 20, Eq. 21
        m_dp = m_dk @ m_kp  # Eq. 22
        return IndirectMemory(ids, mask, m_e, m_label, m_dk, m_kp, m_dp, of_query)

    def point(self, memory: IndirectMemory, hidden: Tensor) -> IndirectPoint:
        selected, mask = self.select(hidden), memory.mask[:, None]
        if self.without == "m_pl":
            v_pw = fixed_width(selected, mask.shape[-1], "m_pl")
        else:
            asked = selected @ self.query.weight
            v_pw = dot_rows(memory.m_e, asked) * memory.of_query[:, None]
            v_pw = v_pw + (selected @ self.query.bias)[..., None]  # Eq. 25
        v_pw = torch.where(mask, v_pw, 0.0)  # one pass; masked_fill copies first
        v_dw = dot_rows(memory.m_dp, v_pw)  # Eq. 26
        return IndirectPoint(v_pw, v_dw, sum_by_token(v_dw, memory.ids, self.vocab_size))

    def asking(self, memory: IndirectMemory, rows: Tensor) -> tuple[Tensor, Tensor]:
        """What rows of M_dp (B, R, L) will make of v_pw, which is linear in the decoder's state h.

        Returns weights (B, R, S) and biases (B, R): rows · v_pw = weights · h + bias.
        """
        if self.without == "m_pl":
            bias = fixed_width(self.select.bias, rows.shape[-1], "m_pl")
            return rows @ self.select.weight, rows @ bias
        read = (rows * memory.of_query[:, None]) @ memory.m_e
        total = rows.sum(-1, keepdim=True)
        weight = self.query.weight.mT @ self.select.weight
        bias = self.query.weight.mT @ self.select.bias
        return (
            read @ weight + total * (self.query.bias @ self.select.weight),
            read @ bias + total[..., 0] * (self.query.bias @ self.select.bias),
        )

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
