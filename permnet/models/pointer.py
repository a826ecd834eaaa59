"""Models that point into the input by additive attention, from the paper's related work.

    In:  <sos> a 2 b 1 c 3 <sep> 1 3 2 <eos>
    Out: <sos> b c a <eos>

`PointerNetwork` (Vinyals et al. 2015) can say nothing but tokens of its input; it stops by pointing
to the input's `<eos>`. `PointerGenerator` (See et al. 2017, without coverage) mixes the pointing
with a distribution over the vocabulary. In both the writer reads the previous token only and looks
at the input afterwards, so under teacher forcing all steps are computed at once. Axis letters:
models/base.py.
"""

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from permnet.models.attention import AdditiveAttention
from permnet.models.base import Seq2Seq, Step, without_pad
from permnet.models.recurrent import GRU, BiGRU
from permnet.ops import logsumexp_by_token
from permnet.vocab import PAD


@dataclass(frozen=True)
class PointerMemory:
    """m_e (B, L, 2H), its keys for the attention (B, L, 2H), v_last (B, 2H)."""

    ids: Tensor
    mask: Tensor
    m_e: Tensor
    keys: Tensor
    v_last: Tensor


class _Pointer(Seq2Seq):
    """What the two share: reader, writer, and the log-probability of every input position."""

    def __init__(self, vocab_size: int, embedding: int = 128, hidden: int = 32) -> None:
        super().__init__()
        self.vocab_size = vocab_size
        self.embedding = nn.Embedding(vocab_size, embedding)
        self.encoder = BiGRU(embedding, hidden)
        self.decoder = GRU(embedding, 2 * hidden)
        self.attention = AdditiveAttention(2 * hidden, 2 * hidden)

    def encode(self, inputs: Tensor) -> PointerMemory:
        mask = inputs != PAD
        m_e, v_last = self.encoder(inputs, self.embedding, mask)
        return PointerMemory(inputs, mask, m_e, self.attention.memory(m_e), v_last)

    def start(self, memory: PointerMemory) -> Tensor:
        return memory.v_last

    def _point(self, memory: PointerMemory, v_hidd: Tensor) -> Tensor:
        """log p of each position, -inf on padding: (B, T, 2H) → (B, T, L)."""
        scores = self.attention(v_hidd, memory.keys)
        return torch.log_softmax(scores.masked_fill(~memory.mask[:, None], -torch.inf), dim=-1)


class PointerNetwork(_Pointer):
    """The state is the writer's (B, 2H); `positions` are the probabilities of pointing to each."""

    def step(self, memory: PointerMemory, state: Tensor, previous: Tensor) -> Step:
        v_hidd = self.decoder.step(self.embedding(previous), state)
        pointed = self._point(memory, v_hidd[:, None])
        return Step(self._logits(memory, pointed)[:, 0], v_hidd, pointed[:, 0].exp())

    def forward(self, inputs: Tensor, previous: Tensor, *, repeats: bool = True) -> Tensor:
        memory = self.encode(inputs)
        v_hidd = self.decoder.read(previous, self.embedding, memory.v_last)
        return self._logits(memory, self._point(memory, v_hidd))

    def _logits(self, memory: PointerMemory, pointed: Tensor) -> Tensor:
        return without_pad(logsumexp_by_token(pointed, memory.ids, self.vocab_size))


@dataclass(frozen=True, kw_only=True)
class PointerGeneratorStep(Step):
    """`positions` are the probabilities of copying from each: (1 - p_gen) · attention."""

    attention: Tensor
    p_gen: Tensor
    """(B,): the probability of generating, not copying."""


class PointerGenerator(_Pointer):
    """The state is the writer's (B, 2H); the logits are the log-probabilities of the mixture."""

    def __init__(self, vocab_size: int, embedding: int = 128, hidden: int = 32) -> None:
        super().__init__(vocab_size, embedding, hidden)
        self.vocabulary = nn.Sequential(
            nn.Linear(4 * hidden, 2 * hidden), nn.Linear(2 * hidden, vocab_size)
        )
        self.switch = nn.Linear(4 * hidden + embedding, 1)

    def step(self, memory: PointerMemory, state: Tensor, previous: Tensor) -> PointerGeneratorStep:
        x = self.embedding(previous)
        v_hidd = self.decoder.step(x, state)
        pointed = self._point(memory, v_hidd[:, None])
        logits, switch = self._mix(memory, v_hidd[:, None], x[:, None], pointed)
        attention, p_gen = pointed[:, 0].exp(), switch[:, 0].sigmoid()
        return PointerGeneratorStep(
            logits=logits[:, 0],
            state=v_hidd,
            positions=(1 - p_gen) * attention,
            attention=attention,
            p_gen=p_gen[:, 0],
        )

    def forward(self, inputs: Tensor, previous: Tensor, *, repeats: bool = True) -> Tensor:
        memory, x = self.encode(inputs), self.embedding(previous)
        v_hidd = self.decoder(x, memory.v_last)
        return self._mix(memory, v_hidd, x, self._point(memory, v_hidd))[0]

    def _mix(
        self, memory: PointerMemory, v_hidd: Tensor, x: Tensor, pointed: Tensor
    ) -> tuple[Tensor, Tensor]:
        """log(p_gen · P_vocab + (1 - p_gen) · P_copy), (B, T, V), and the logit of p_gen.

        Kept in logarithms throughout, so that no probability of 0 is ever taken the log of.
        """
        seen = torch.cat([v_hidd, pointed.exp() @ memory.m_e], dim=-1)
        scores = self.vocabulary(seen)
        # Normalised as if <pad> were not there, though its own entry stays finite until the end:
        # where both sides are -inf, logaddexp has no gradient.
        generated = scores - without_pad(scores).logsumexp(-1, keepdim=True)
        copied = logsumexp_by_token(pointed, memory.ids, self.vocab_size)
        switch = self.switch(torch.cat([seen, x], dim=-1))
        mixed = torch.logaddexp(generated + F.logsigmoid(switch), copied + F.logsigmoid(-switch))
        return without_pad(mixed), switch
