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

Memory: inputs are long (L 1,300, T 420), so nothing of size (B, T, L, 2H) may live. The hidden
layer of the additive attention is computed again on the way back (`_Additive`), and the gradients
of what every step reads are formed once (`_Product`). Training then holds at most about 20 numbers
per (B, T, L), 12 per (B, L, L) and 16 per (B, T, V): at H 128 and V 1,355 160 MB an example, 60
without the resolver, where CopyNet takes 600. M_dp makes the 12 (B, L, L), once per example and
not per step.

Axis letters: models/base.py.
"""

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from permnet.models.attention import AdditiveAttention
from permnet.models.base import Seq2Seq, Step, without_pad
from permnet.models.recurrent import GRU, BiGRU
from permnet.models.resolver import IndirectMemory, IndirectResolver
from permnet.ops import logsumexp_by_token, masked_softmax
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
        state, reads = self._write(_Walk(memory, 1), state, self.embedding(previous), previous)
        logits = self._logits(memory, state.v_hidd[:, None], state.scores[:, None])[:, 0]
        taken = torch.exp(state.scores - logits.logsumexp(-1, keepdim=True))
        return DecompilerStep(
            logits=logits,
            state=state,
            positions=taken.masked_fill(~memory.mask, 0.0),
            reads=reads,
        )

    def forward(self, inputs: Tensor, previous: Tensor, *, repeats: bool = True) -> Tensor:
        memory = self.encode(inputs)
        walk = _Walk(memory, previous.shape[1])
        state, states = self.start(memory), []
        for x, token in zip(self.embedding(previous).unbind(1), previous.unbind(1), strict=True):
            state, _ = self._write(walk, state, x, token)
            states.append(state)
        v_hidd = torch.stack([s.v_hidd for s in states], dim=1)
        return self._logits(memory, v_hidd, torch.stack([s.scores for s in states], dim=1))

    def _write(
        self, walk: "_Walk", state: DecompilerState, x: Tensor, previous: Tensor
    ) -> tuple[DecompilerState, Reads]:
        """The next state, and the weights of the reads that led to it."""
        memory = walk.memory
        asking = self.attention.state(state.v_hidd)
        looked = _Additive.apply(asking, memory.attention_keys, self.attention.score.weight[0])
        attention = masked_softmax(looked, memory.mask)
        holds = memory.ids == previous[:, None]
        copied, query = holds & (previous != SOS)[:, None], None
        if state.v_dw is not None:
            copied = copied & (state.copy > state.v_dw)
            resolved = holds & (previous >= len(SPECIALS))[:, None] & (state.v_dw > state.copy)
            asked = walk.m_dp(state.v_dw.masked_fill(~resolved, 0.0)[:, None])[:, 0]  # Eq. 27
            query = masked_softmax(asked, memory.mask)  # Eq. 28
        reads = Reads(masked_softmax(state.copy, copied), attention, query)
        weights = [w for w in (reads.selective, attention, query) if w is not None]
        read = walk.m_e(torch.stack(weights, dim=1)).flatten(1)
        v_hidd = self.decoder.step(torch.cat([x, read], dim=-1), state.v_hidd)
        copy = walk.copy_keys(v_hidd[:, None])[:, 0]
        v_dw = None
        if memory.references is not None:
            v_dw = walk.asking(v_hidd[:, None])[:, 0] + memory.references.bias  # Eq. 25, Eq. 26
        return DecompilerState(v_hidd, copy, v_dw), reads

    def _logits(self, memory: DecompilerMemory, v_hidd: Tensor, scores: Tensor) -> Tensor:
        """log Σ exp over all the ways to say a token: (B, T, 2H), (B, T, L) → (B, T, V)."""
        taken = logsumexp_by_token(scores, memory.ids, self.vocab_size)
        return without_pad(torch.logaddexp(self.generate(v_hidd), taken))


class CopyDecompiler(_Decompiler):
    """The baseline: CopyNet, fit for long inputs."""

    def __init__(self, vocab_size: int, embedding: int = 128, hidden: int = 32) -> None:
        super().__init__(vocab_size, embedding, hidden, resolves=False)


class Decompiler(_Decompiler):
    """The baseline extended with PermNetI."""

    def __init__(self, vocab_size: int, embedding: int = 128, hidden: int = 32) -> None:
        super().__init__(vocab_size, embedding, hidden, resolves=True)


class _Walk:
    """What the steps of one walk along the output read of a memory."""

    def __init__(self, memory: DecompilerMemory, steps: int) -> None:
        self.memory = memory
        reads = 2
        if (references := memory.references) is not None:
            reads = 3
            self.m_dp = _Product(references.resolver.m_dp, steps)
            self.asking = _Product(references.asking.mT, steps)
        self.m_e = _Product(memory.m_e, steps, reads)
        self.copy_keys = _Product(memory.copy_keys.mT, steps)


class _Product:
    """x m for one x (B, R, I) a step and one m (B, I, O): (B, R, O).

    Autograd would add up a gradient of the size of m at every step. Here each product ends in the
    addition of zeros, whose gradient is the product's: out of those and the x of all steps the
    gradient of m is formed once, when the walk back has passed the first step.
    """

    def __init__(self, m: Tensor, steps: int, rows: int = 1) -> None:
        self.m = m.detach()
        self.given: list[Tensor] = []
        self.zeros = iter(_Zeros.apply(m, self.given, steps, rows).unbind(1))

    def __call__(self, x: Tensor) -> Tensor:
        self.given.append(x.detach())
        return x @ self.m + next(self.zeros)


class _Zeros(torch.autograd.Function):
    """Zeros (B, T, R, O) that know where their gradient comes from."""

    @staticmethod
    def forward(ctx: Any, m: Tensor, given: list[Tensor], steps: int, rows: int) -> Tensor:
        ctx.given, ctx.dtype = given, m.dtype
        return m.new_zeros(1, 1, 1, 1).expand(len(m), steps, rows, m.shape[-1])

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, dout: Tensor) -> tuple[Tensor | None, ...]:
        given = torch.stack(ctx.given, dim=1).flatten(1, 2).to(ctx.dtype)
        return given.mT @ dout.flatten(1, 2).to(ctx.dtype), None, None, None


class _Additive(torch.autograd.Function):
    """The scores of `AdditiveAttention`, (B, A), keys (B, L, A), (A,) → (B, L).

    Its hidden layer (B, L, A) is not kept but computed again on the way back.
    """

    @staticmethod
    def forward(ctx: Any, state: Tensor, keys: Tensor, score: Tensor) -> Tensor:
        ctx.save_for_backward(state, keys, score)
        return torch.tanh(state[:, None] + keys) @ score

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, dout: Tensor) -> tuple[Tensor, ...]:
        state, keys, score = ctx.saved_tensors
        hidden = torch.tanh(state[:, None] + keys)
        dscore = dout.flatten().to(hidden.dtype) @ hidden.flatten(0, 1)
        dkeys = hidden.square_().neg_().add_(1).mul_(dout[..., None]).mul_(score)
        return dkeys.sum(1), dkeys, dscore
