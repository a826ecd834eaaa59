"""The decompiler of section 4.5: copying, alone and extended with PermNetI as in section 3.2.2.

    In:  <sos> cmp p0 -5 je .L7 cmp p0 3 je .L2 … .L2 : … .L7 : … <eos>
    Out: <sos> switch ( p0 ) { case 3 : … case -5 : … } <eos>

`CopyDecompiler` is CopyNet (models/copynet.py), number for number, in less memory. `Decompiler` is
the same with an `IndirectResolver` on the same encoder states; it differs in three places:

- Both weight the input's positions, so their logits are merged there: the score of a position is
  its copying score plus its v_dw. That is how PermNetI joins its logits to others (Eq. 24 and what
  follows), and lets the resolver rule a position out as well as in. The one softmax over
  generating and copying, and the sum over equal tokens, stay CopyNet's.
- The writer also reads v_attn, the query attention of section 3.2.1.
- Selective read and query attention both follow the step before. Of each position only one may:
  copying where its score was strictly greater than v_dw, the resolver where v_dw was. The selective
  read's shares are of the positions left to it.

A resolver of zeros leaves every score as it is; the selective read then passes over positions with
scores not above 0, and v_attn is the mean of the encoder's states.

Teacher-forced, the steps are walked in kernels/writer.py, and the scores of all of them are one
product with the sum of both keys. Inputs are long (L 1,300, T 420): nothing of size (B, T, L, 2H)
lives.

Axis letters: models/base.py.
"""

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from permnet.kernels.writer import Source, writer
from permnet.models.attention import AdditiveAttention
from permnet.models.base import Seq2Seq, Step, without_pad
from permnet.models.recurrent import GRU, BiGRU
from permnet.models.resolver import IndirectMemory, IndirectResolver
from permnet.ops import dot_rows, generate_or_copy, masked_softmax
from permnet.vocab import PAD, SOS, SPECIALS


@dataclass(frozen=True)
class References:
    """What the resolver read, and its v_dw as a linear map of the writer's state.

    asking (B, L, 2H) and bias (B, L): v_dw = asking · h + bias.
    """

    resolver: IndirectMemory
    asking: Tensor
    bias: Tensor


@dataclass(frozen=True)
class DecompilerMemory:
    """m_e (B, L, 2H), its keys for the attention and for copying (B, L, 2H), v_last (B, 2H)."""

    ids: Tensor
    mask: Tensor
    m_e: Tensor
    attention_keys: Tensor
    copy_keys: Tensor
    v_last: Tensor
    references: References | None


@dataclass(frozen=True)
class DecompilerState:
    """The writer's state (B, 2H); what copying and the resolver gave each position (B, L)."""

    v_hidd: Tensor
    copy: Tensor
    v_dw: Tensor | None

    @property
    def scores(self) -> Tensor:
        """Both merged: (B, L)."""
        return self.copy if self.v_dw is None else self.copy + self.v_dw


@dataclass(frozen=True)
class Reads:
    """The weights (B, L) by which the writer read the input before a token.

    Those of the selective read are 0 where the previous token is in no position left to copying.
    """

    selective: Tensor
    attention: Tensor
    query: Tensor | None


@dataclass(frozen=True, kw_only=True)
class DecompilerStep(Step):
    """`positions` are the probabilities of taking the token from each."""

    reads: Reads


class _Decompiler(Seq2Seq):
    def __init__(self, vocab_size: int, embedding: int, hidden: int, resolves: bool) -> None:
        super().__init__()
        size, reads = 2 * hidden, 3 if resolves else 2
        self.vocab_size = vocab_size
        self.embedding = nn.Embedding(vocab_size, embedding)
        self.encoder = BiGRU(embedding, hidden)
        self.attention = AdditiveAttention(size, size)
        self.decoder = GRU(embedding + reads * size, size)
        self.generate = nn.Linear(size, vocab_size)
        self.copy = nn.Linear(size, size, bias=False)
        self.resolver = IndirectResolver(size, size, vocab_size) if resolves else None

    def encode(self, inputs: Tensor) -> DecompilerMemory:
        mask = inputs != PAD
        m_e, v_last = self.encoder(inputs, self.embedding, mask)
        attention_keys, copy_keys = self.attention.memory(m_e), torch.tanh(self.copy(m_e))
        references = None
        if self.resolver is not None:
            read = self.resolver.read(m_e, inputs, mask, zeroed=True)
            references = References(read, *self.resolver.asking(read, read.m_dp))
            m_e = read.m_e  # under autocast the narrow one
        return DecompilerMemory(inputs, mask, m_e, attention_keys, copy_keys, v_last, references)

    def start(self, memory: DecompilerMemory) -> DecompilerState:
        zeros = torch.zeros_like(memory.m_e[..., 0])
        return DecompilerState(memory.v_last, zeros, None if self.resolver is None else zeros)

    def step(
        self, memory: DecompilerMemory, state: DecompilerState, previous: Tensor
    ) -> DecompilerStep:
        reads = self._reads(memory, state, previous)
        weights = [w for w in (reads.selective, reads.attention, reads.query) if w is not None]
        read = (torch.stack(weights, dim=1) @ memory.m_e).flatten(1)
        x = torch.cat([self.embedding(previous), read], dim=-1)
        v_hidd = self.decoder.step(x, state.v_hidd)
        copy = dot_rows(memory.copy_keys, v_hidd[:, None])[:, 0]
        v_dw = None
        if (asked := memory.references) is not None:
            v_dw = dot_rows(asked.asking, v_hidd[:, None])[:, 0] + asked.bias  # Eq. 25, Eq. 26
        state = DecompilerState(v_hidd, copy, v_dw)
        logits = self._logits(memory, v_hidd[:, None], state.scores[:, None])[:, 0]
        taken = torch.exp(state.scores - logits.logsumexp(-1, keepdim=True))
        return DecompilerStep(
            logits=logits,
            state=state,
            positions=taken.masked_fill(~memory.mask, 0.0),
            reads=reads,
        )

    def forward(self, inputs: Tensor, previous: Tensor, *, repeats: bool = True) -> Tensor:
        memory = self.encode(inputs)
        asked, tokens = memory.references, self.embedding.weight
        w_x, w_read = self.decoder.w_ih.split(
            [tokens.shape[1], self.decoder.w_ih.shape[1] - tokens.shape[1]], dim=1
        )
        v_hidd = writer(
            inputs,
            previous,
            F.linear(tokens, w_x, self.decoder.b_ih),
            memory.v_last,
            Source(
                memory.m_e,
                memory.mask.sum(1),
                memory.attention_keys,
                self.attention.score.weight[0],
                memory.copy_keys,
                *(() if asked is None else (asked.resolver.m_dp, asked.asking, asked.bias)),
            ),
            self.attention.state.weight,
            self.attention.state.bias,
            w_read,
            self.decoder.w_hh,
            self.decoder.b_hh,
        )
        with torch.autocast(inputs.device.type, enabled=False):  # 8 bits are too few for scores
            keys = memory.copy_keys.to(v_hidd.dtype)
            if asked is not None:
                keys = keys + asked.asking
            scores = dot_rows(keys, v_hidd)
            if asked is not None:
                scores = scores + asked.bias[:, None]
            return self._logits(memory, v_hidd, scores)

    def _reads(self, memory: DecompilerMemory, state: DecompilerState, previous: Tensor) -> Reads:
        looked = self.attention(state.v_hidd[:, None], memory.attention_keys)[:, 0]
        attention = masked_softmax(looked, memory.mask)
        holds = memory.ids == previous[:, None]
        copied, query = holds & (previous != SOS)[:, None], None
        if state.v_dw is not None:
            assert memory.references is not None
            copied = copied & (state.copy > state.v_dw)
            resolved = holds & (previous >= len(SPECIALS))[:, None] & (state.v_dw > state.copy)
            v_selected = state.v_dw.masked_fill(~resolved, 0.0)
            asked = (v_selected[:, None] @ memory.references.resolver.m_dp)[:, 0]  # Eq. 27
            query = masked_softmax(asked, memory.mask)  # Eq. 28
        return Reads(masked_softmax(state.copy, copied), attention, query)

    def _logits(self, memory: DecompilerMemory, v_hidd: Tensor, scores: Tensor) -> Tensor:
        """log Σ exp over all the ways to say a token: (B, T, 2H), (B, T, L) → (B, T, V)."""
        return without_pad(generate_or_copy(self.generate(v_hidd), scores, memory.ids))


class CopyDecompiler(_Decompiler):
    """The baseline: CopyNet, fit for long inputs."""

    def __init__(self, vocab_size: int, embedding: int = 128, hidden: int = 32) -> None:
        super().__init__(vocab_size, embedding, hidden, resolves=False)


class Decompiler(_Decompiler):
    """The baseline extended with PermNetI."""

    def __init__(self, vocab_size: int, embedding: int = 128, hidden: int = 32) -> None:
        super().__init__(vocab_size, embedding, hidden, resolves=True)
