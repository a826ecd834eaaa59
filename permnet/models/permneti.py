"""PermNetI, for indirect indexing by permutation (section 3.2), with its query attention (3.2.1).

    In:  <sos> a 2 b 1 c 3 <sep> 1 3 2 <eos>     data-key pairs, then queries
    Out: <sos> b c a <eos>

A bidirectional GRU reads, a GRU writes, and an `IndirectResolver` leads from a query to its key and
from the key to its datum. Axis letters: models/base.py.
"""

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from permnet.kernels.attended import attended_gru
from permnet.models.base import Seq2Seq, Step, check_ablation, without_pad
from permnet.models.recurrent import GRU, BiGRU
from permnet.models.resolver import IndirectMemory, IndirectPoint, IndirectResolver
from permnet.ops import masked_softmax
from permnet.vocab import PAD, SPECIALS


@dataclass(frozen=True)
class PermNetIMemory:
    v_last: Tensor
    resolver: IndirectMemory


@dataclass(frozen=True)
class PermNetIState:
    v_hidd: Tensor
    v_dw: Tensor


@dataclass(frozen=True, kw_only=True)
class PermNetIStep(Step):
    v_vocab: Tensor
    point: IndirectPoint
    attention: Tensor
    """(B, L): the weights of the query attention; all 0 without it."""


class PermNetI(Seq2Seq):
    """`without` is one of the ablations of Table 7; `m_pl` needs `input_length`."""

    ABLATIONS = ("fixed-vocab", "attn", *IndirectResolver.ABLATIONS)

    def __init__(
        self,
        vocab_size: int,
        embedding: int = 128,
        hidden: int = 32,
        without: str | None = None,
        input_length: int | None = None,
        equal: bool = False,
    ) -> None:
        super().__init__()
        check_ablation(without, self.ABLATIONS, IndirectResolver.FIXED, input_length)
        self.vocab_size, self.without = vocab_size, without
        self.embedding = nn.Embedding(vocab_size, embedding)
        self.encoder = BiGRU(embedding, hidden)
        attended = 0 if without == "attn" else 2 * hidden
        self.decoder = GRU(embedding + attended, 2 * hidden)
        self.resolver = IndirectResolver(
            memory_size=2 * hidden,
            state_size=2 * hidden,
            vocab_size=vocab_size,
            without=without if without in IndirectResolver.ABLATIONS else None,
            input_length=input_length,
            equal=equal,
        )
        if without != "fixed-vocab":
            self.vocabulary = nn.Linear(2 * hidden, vocab_size)

    def encode(self, inputs: Tensor) -> PermNetIMemory:
        mask = inputs != PAD
        m_e, v_last = self.encoder(inputs, self.embedding, mask)  # Eq. 14
        return PermNetIMemory(v_last, self.resolver.read(m_e, inputs, mask, zeroed=True))

    def start(self, memory: PermNetIMemory) -> PermNetIState:
        return PermNetIState(memory.v_last, self.resolver.start(memory.resolver))

    def step(self, memory: PermNetIMemory, state: PermNetIState, previous: Tensor) -> PermNetIStep:
        x = self.embedding(previous)
        attention = torch.zeros_like(state.v_dw)
        if self.without != "attn":
            attention, v_attn = self.resolver.attend(
                memory.resolver, state.v_dw, _selecting(previous)
            )
            x = torch.cat([x, v_attn], dim=-1)
        v_hidd = self.decoder.step(x, state.v_hidd)  # Eq. 23
        point = self.resolver.point(memory.resolver, v_hidd[:, None])
        v_vocab, logits = self._logits(v_hidd[:, None], point)
        return PermNetIStep(
            logits=logits[:, 0],
            state=PermNetIState(v_hidd, point.v_dw[:, 0]),
            positions=point.v_dw[:, 0],
            v_vocab=v_vocab[:, 0],
            point=point,
            attention=attention,
        )

    def forward(self, inputs: Tensor, previous: Tensor, *, repeats: bool = True) -> Tensor:
        memory = self.encode(inputs)
        if self.without == "attn":
            v_hidd = self.decoder.read(previous, self.embedding, memory.v_last)  # Eq. 23, all steps
        else:
            v_hidd = self._attending(memory, previous, repeats)
        return self._logits(v_hidd, self.resolver.point(memory.resolver, v_hidd))[1]

    def _attending(self, memory: PermNetIMemory, previous: Tensor, repeats: bool) -> Tensor:
        """The decoder's states (B, T, 2H), fed by the query attention, for known outputs.

        Under teacher forcing it is known beforehand which rows of M_dp a step will ask for: those
        of the previous token.
        """
        read = memory.resolver
        same = (read.ids[:, None] == _selecting(previous)[..., None]).to(read.m_dp.dtype)
        if not repeats:
            # A token that occurs once asks for one row R of M_dp, and has v_dw = R · v_pw, a
            # scalar that is linear in h: Eqs 25 to 28 shrink to softmax((R · v_pw) R).
            rows = same @ read.m_dp
            tokens = self.embedding.weight
            w_x, w_att = self.decoder.w_ih.split([tokens.shape[1], read.m_e.shape[2]], dim=1)
            return attended_gru(
                previous,
                F.linear(tokens, w_x, self.decoder.b_ih),
                memory.v_last,
                *self.resolver.asking(read, rows),
                rows,
                read.m_e,
                read.mask,
                w_att,
                self.decoder.w_hh,
                self.decoder.b_hh,
            )
        asking, bias = self.resolver.asking(read, read.m_dp)
        x, v_hidd, states = self.embedding(previous), memory.v_last, []
        for t in range(previous.shape[1]):
            v_selected = same[:, t] * ((asking @ v_hidd[..., None])[..., 0] + bias)
            asked = (v_selected[:, None] @ read.m_dp)[:, 0]
            v_attn = (masked_softmax(asked, read.mask)[:, None] @ read.m_e)[:, 0]
            v_hidd = self.decoder.step(torch.cat([x[:, t], v_attn], dim=-1), v_hidd)  # Eq. 23
            states.append(v_hidd)
        return torch.stack(states, dim=1)

    def _logits(self, v_hidd: Tensor, point: IndirectPoint) -> tuple[Tensor, Tensor]:
        if self.without == "fixed-vocab":
            v_vocab = torch.zeros_like(point.logits)
        else:
            v_vocab = self.vocabulary(v_hidd)  # Eq. 24
        return v_vocab, without_pad(point.logits + v_vocab)


def _selecting(previous: Tensor) -> Tensor:
    """The previous tokens, with -1 for the special ones, which never select."""
    return previous.masked_fill(previous < len(SPECIALS), -1)
