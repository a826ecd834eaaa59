"""CopyNet (Gu et al. 2016) with selective read: the baseline *CopyNet* of section 4.

    In:  <sos> a 2 b 1 c 3 <sep> 1 3 2 <eos>
    Out: <sos> b c a <eos>

Every token of the vocabulary has a score to be generated and every input position a score to be
copied. One softmax runs over them all, and a token's probability is the sum over the ways to say
it. The writer reads, beside the previous token, the attention's context and the *selective read*:
the reader's states at the positions the previous token was copied from.

Tokens never seen in training have ids of their own (vocab.py), so the vocabulary is all there is.
Axis letters: models/base.py.
"""

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from permnet.models.attention import AdditiveAttention
from permnet.models.base import Seq2Seq, Step, without_pad
from permnet.models.recurrent import GRU, BiGRU
from permnet.ops import logsumexp_by_token, masked_softmax
from permnet.vocab import PAD, SOS


@dataclass(frozen=True)
class CopyNetMemory:
    """m_e (B, L, 2H), its keys for the attention and for copying (B, L, 2H), v_last (B, 2H)."""

    ids: Tensor
    mask: Tensor
    m_e: Tensor
    attention_keys: Tensor
    copy_keys: Tensor
    v_last: Tensor


@dataclass(frozen=True)
class CopyNetState:
    """The writer's state (B, 2H), and its scores for copying from each position (B, L)."""

    v_hidd: Tensor
    copy: Tensor


@dataclass(frozen=True, kw_only=True)
class CopyNetStep(Step):
    """`positions` are the probabilities of copying from each."""

    attention: Tensor
    selective_read: Tensor
    """(B, L): the shares of the positions that hold the previous token; 0 where none does."""


class CopyNet(Seq2Seq):
    def __init__(self, vocab_size: int, embedding: int = 128, hidden: int = 32) -> None:
        super().__init__()
        self.vocab_size = vocab_size
        self.embedding = nn.Embedding(vocab_size, embedding)
        self.encoder = BiGRU(embedding, hidden)
        self.attention = AdditiveAttention(2 * hidden, 2 * hidden)
        self.decoder = GRU(embedding + 4 * hidden, 2 * hidden)
        self.generate = nn.Linear(2 * hidden, vocab_size)
        self.copy = nn.Linear(2 * hidden, 2 * hidden, bias=False)

    def encode(self, inputs: Tensor) -> CopyNetMemory:
        mask = inputs != PAD
        m_e, v_last = self.encoder(inputs, self.embedding, mask)
        attention_keys, copy_keys = self.attention.memory(m_e), torch.tanh(self.copy(m_e))
        return CopyNetMemory(inputs, mask, m_e, attention_keys, copy_keys, v_last)

    def start(self, memory: CopyNetMemory) -> CopyNetState:
        return CopyNetState(memory.v_last, torch.zeros_like(memory.m_e[..., 0]))

    def step(self, memory: CopyNetMemory, state: CopyNetState, previous: Tensor) -> CopyNetStep:
        state, attention, selective_read = self._write(
            memory, state, self.embedding(previous), previous
        )
        logits = self._logits(memory, state.v_hidd[:, None], state.copy[:, None])[:, 0]
        copied = torch.exp(state.copy - logits.logsumexp(-1, keepdim=True))
        return CopyNetStep(
            logits=logits,
            state=state,
            positions=copied.masked_fill(~memory.mask, 0.0),
            attention=attention,
            selective_read=selective_read,
        )

    def forward(self, inputs: Tensor, previous: Tensor, *, repeats: bool = True) -> Tensor:
        memory = self.encode(inputs)
        state, states = self.start(memory), []
        for x, token in zip(self.embedding(previous).unbind(1), previous.unbind(1), strict=True):
            state, _, _ = self._write(memory, state, x, token)
            states.append(state)
        v_hidd = torch.stack([s.v_hidd for s in states], dim=1)
        return self._logits(memory, v_hidd, torch.stack([s.copy for s in states], dim=1))

    def _write(
        self, memory: CopyNetMemory, state: CopyNetState, x: Tensor, previous: Tensor
    ) -> tuple[CopyNetState, Tensor, Tensor]:
        """The next state, and the weights of attention and selective read that led to it."""
        scores = self.attention(state.v_hidd[:, None], memory.attention_keys)[:, 0]
        attention = masked_softmax(scores, memory.mask)
        # Copy probabilities of the step before, over the positions that hold its token: their
        # common normaliser falls out, so a softmax of the scores does. <sos> was never copied.
        holds = (memory.ids == previous[:, None]) & (previous != SOS)[:, None]
        selective_read = masked_softmax(state.copy, holds)
        context, read = (torch.stack([attention, selective_read], 1) @ memory.m_e).unbind(1)
        v_hidd = self.decoder.step(torch.cat([x, read, context], dim=-1), state.v_hidd)
        copy = (memory.copy_keys @ v_hidd[..., None])[..., 0]  # tanh(W_c m_e) · h
        return CopyNetState(v_hidd, copy), attention, selective_read

    def _logits(self, memory: CopyNetMemory, v_hidd: Tensor, copy: Tensor) -> Tensor:
        """log Σ exp over all the ways to say a token: (B, T, 2H), (B, T, L) → (B, T, V).

        Padding has scores too, but they are scores of `<pad>`.
        """
        copied = logsumexp_by_token(copy, memory.ids, self.vocab_size)
        return without_pad(torch.logaddexp(self.generate(v_hidd), copied))
