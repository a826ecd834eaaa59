"""GRU with additive attention (Bahdanau et al. 2015): the baseline *GRU+Attn.* of section 4.

    In:  <sos> d i j h <sep> 3 2 0 1 <eos>
    Out: <sos> h j d i <eos>

Before each token the writer looks at the input, with the state after the token before. What it
sees goes into its next state and, with that state and the previous token, into the output: the
arguments of the source paper's output layer, here under one linear map without maxout. Axis
letters: models/base.py; `A` is the size of the attention's hidden layer.
"""

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from permnet.models.base import Seq2Seq, Step, without_pad
from permnet.models.recurrent import GRU, BiGRU
from permnet.ops import masked_softmax, powers
from permnet.vocab import PAD


class AdditiveAttention(nn.Module):
    """Scores every input position for every state: (B, T, S), keys (B, L, A) → (B, T, L).

    The keys are `attention.memory(m_e)`: computed once per example, not once per token. So are
    their `ops.powers`, for `by_powers`, which scores one state (B, S) → (B, L) and is the faster
    way on a CPU where inputs are long.
    """

    def __init__(self, memory_size: int, state_size: int) -> None:
        super().__init__()
        self.state = nn.Linear(state_size, state_size)
        self.memory = nn.Linear(memory_size, state_size, bias=False)
        self.score = nn.Linear(state_size, 1, bias=False)

    def forward(self, state: Tensor, keys: Tensor) -> Tensor:
        # score = vᵀ tanh(W h + U m_e)
        return self.score(torch.tanh(self.state(state)[:, :, None] + keys[:, None]))[..., 0]

    def by_powers(self, state: Tensor, keys: Tensor) -> Tensor:
        v, one = self.score.weight[0].to(keys.dtype), keys.new_ones(())
        rows = [  # an example at a time stays in the cache
            torch.addcmul(one, h, k).reciprocal_() @ v
            for h, k in zip(powers(self.state(state)), keys, strict=True)
        ]
        sums = torch.stack(rows) if rows else keys.new_empty(0, keys.shape[1])
        return (v.sum() - 2 * sums).to(state.dtype)


@dataclass(frozen=True)
class AttentionMemory:
    """m_e (B, L, 2H), its keys (B, L, A), the mask (B, L), v_last (B, 2H)."""

    m_e: Tensor
    keys: Tensor
    mask: Tensor
    v_last: Tensor


@dataclass(frozen=True, kw_only=True)
class AttentionStep(Step):
    attention: Tensor
    """(B, L): where the writer looked before this token."""


class AttentionGRU(Seq2Seq):
    """The state is the writer's (B, 2H)."""

    def __init__(self, vocab_size: int, embedding: int = 128, hidden: int = 32) -> None:
        super().__init__()
        self.vocab_size = vocab_size
        self.embedding = nn.Embedding(vocab_size, embedding)
        self.encoder = BiGRU(embedding, hidden)
        self.attention = AdditiveAttention(2 * hidden, 2 * hidden)
        self.decoder = GRU(embedding + 2 * hidden, 2 * hidden)
        self.vocabulary = nn.Linear(4 * hidden + embedding, vocab_size)

    def encode(self, inputs: Tensor) -> AttentionMemory:
        mask = inputs != PAD
        m_e, v_last = self.encoder(inputs, self.embedding, mask)
        return AttentionMemory(m_e, self.attention.memory(m_e), mask, v_last)

    def start(self, memory: AttentionMemory) -> Tensor:
        return memory.v_last

    def step(self, memory: AttentionMemory, state: Tensor, previous: Tensor) -> AttentionStep:
        x = self.embedding(previous)
        v_hidd, attention, context = self._write(memory, state, x)
        return AttentionStep(
            logits=self._logits(v_hidd, context, x), state=v_hidd, attention=attention
        )

    def forward(self, inputs: Tensor, previous: Tensor, *, repeats: bool = True) -> Tensor:
        memory = self.encode(inputs)
        x, v_hidd, states, contexts = self.embedding(previous), memory.v_last, [], []
        for x_t in x.unbind(1):
            v_hidd, _, context = self._write(memory, v_hidd, x_t)
            states.append(v_hidd)
            contexts.append(context)
        return self._logits(torch.stack(states, 1), torch.stack(contexts, 1), x)

    def _write(
        self, memory: AttentionMemory, state: Tensor, x: Tensor
    ) -> tuple[Tensor, Tensor, Tensor]:
        """The writer's next state, the attention weights it used, and what it saw by them."""
        scores = self.attention(state[:, None], memory.keys)
        attention = masked_softmax(scores, memory.mask[:, None])
        context = (attention @ memory.m_e)[:, 0]
        return self.decoder.step(torch.cat([x, context], -1), state), attention[:, 0], context

    def _logits(self, v_hidd: Tensor, context: Tensor, x: Tensor) -> Tensor:
        return without_pad(self.vocabulary(torch.cat([v_hidd, context, x], dim=-1)))
