"""CopyNet, and CopyNet extended with PermNetI: the decompilers of sections 3.2.2 and 4.5.

    In:  <sos> cmp p0 -5 je .L7 cmp p0 3 je .L2 … .L2 : … .L7 : … <eos>
    Out: <sos> switch ( p0 ) { case 3 : … case -5 : … } <eos>

In CopyNet (Gu et al. 2016), also a baseline of section 4, every token of the vocabulary has a score
to be generated and every input position a score to be copied. One softmax runs over them all, and a
token's probability is the sum over the ways to say it. The writer reads, beside the previous token,
the attention's context and the *selective read*: the reader's states at the positions the previous
token was copied from. Tokens never seen in training have ids of their own (vocab.py), so the
vocabulary is all there is.

`Decompiler` is the same with an `IndirectResolver` on the same encoder states; it differs in three
places:

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

`recall` is our addition to either: as far as tokens so far were taken from a position, its score
moves by one number, a linear map of the writer's state. A block with several labels is several data
of one query, alike to the resolver, and whether another follows is whether one is not taken yet. It
is counted by position, not by token: the number of a label may have been said as another's operand.
Shares are those before any recalling, and no gradient goes into them.

Scores are linear in the writer's state, so those of all positions are one product with the sum of
both keys; the two are told apart only where the previous token stands. Teacher-forced, the steps
are walked in kernels/writer.py. Inputs are long (L 1,300, T 420): nothing of size (B, T, L, 2H)
lives.

Axis letters: models/base.py.
"""

from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from permnet.kernels.writer import Source, writer
from permnet.models.attention import AdditiveAttention
from permnet.models.base import Seq2Seq, Step, without_pad
from permnet.models.recurrent import GRU, BiGRU
from permnet.models.resolver import IndirectMemory, IndirectResolver
from permnet.ops import (
    dot_rows,
    dot_some_rows,
    generate_or_copy,
    masked_softmax,
    powers,
    sum_rows,
    sum_some_rows,
    taken,
)
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
    """m_e (B, L, 2H), its keys for the attention and for copying (B, L, 2H), v_last (B, 2H).

    merged (B, L, 2H): the scores of positions are merged · h, and the resolver's bias.
    """

    ids: Tensor
    mask: Tensor
    m_e: Tensor
    attention_keys: Tensor
    copy_keys: Tensor
    merged: Tensor
    v_last: Tensor
    references: References | None

    @cached_property
    def powers(self) -> Tensor:
        """The keys for the attention as it wants them step by step on a CPU: (B, L, 2H)."""
        return powers(self.attention_keys)

    def scores(self, v_hidd: Tensor) -> Tensor:
        """What copying and the resolver give each position, merged: (B, T, 2H) → (B, T, L)."""
        scores = dot_rows(self.merged, v_hidd)
        return scores if self.references is None else scores + self.references.bias[:, None]


@dataclass(frozen=True)
class DecompilerState:
    """v_hidd (B, 2H); where a model recalls, how much was taken from each position (B, L)."""

    v_hidd: Tensor
    recalled: Tensor


@dataclass(frozen=True)
class Reads:
    """The weights (B, L) by which the writer read the input before a token.

    Those of the selective read are 0 where the previous token is in no position left to copying.
    """

    selective: Tensor
    attention: Tensor
    query: Tensor | None

    def of(self, m_e: Tensor) -> Tensor:
        """What was read, one after another: (B, L, 2H) → (B, 4H or 6H)."""
        others = [self.attention] if self.query is None else [self.attention, self.query]
        if m_e.is_cuda:
            return (torch.stack([self.selective, *others], dim=1) @ m_e).flatten(1)
        sums = [sum_some_rows(m_e, self.selective), *(sum_rows(m_e, weights) for weights in others)]
        return torch.cat(sums, dim=-1)


@dataclass(frozen=True, kw_only=True)
class DecompilerStep(Step):
    """`positions` are the probabilities of taking the token from each."""

    reads: Reads


def taking(
    memory: DecompilerMemory, holds: Tensor, previous: Tensor, copy: Tensor, v_dw: Tensor | None
) -> tuple[Tensor, Tensor | None]:
    """The weights of the selective read and of the query attention (B, L).

    holds (B, L): where the previous token stands, and copy and v_dw are known.
    """
    if v_dw is None:
        return masked_softmax(copy, holds), None
    assert memory.references is not None
    resolved = holds & (previous >= len(SPECIALS))[:, None] & (v_dw > copy)
    v_selected = v_dw.masked_fill(~resolved, 0.0)
    asked = sum_some_rows(memory.references.resolver.m_dp, v_selected)  # Eq. 27
    return masked_softmax(copy, holds & (copy > v_dw)), masked_softmax(asked, memory.mask)  # Eq. 28


class _Copying(Seq2Seq):
    def __init__(
        self,
        vocab_size: int,
        embedding: int,
        hidden: int,
        recall: bool,
        *,
        resolves: bool = False,
        equal: bool = False,
    ) -> None:
        super().__init__()
        size, reads = 2 * hidden, 3 if resolves else 2
        self.vocab_size = vocab_size
        self.embedding = nn.Embedding(vocab_size, embedding)
        self.encoder = BiGRU(embedding, hidden)
        self.attention = AdditiveAttention(size, size)
        self.decoder = GRU(embedding + reads * size, size)
        self.generate = nn.Linear(size, vocab_size)
        self.copy = nn.Linear(size, size, bias=False)
        self.resolver = None
        if resolves:
            self.resolver = IndirectResolver(size, size, vocab_size, equal=equal)
        self.recall = nn.Linear(size, 1) if recall else None

    def encode(self, inputs: Tensor) -> DecompilerMemory:
        mask = inputs != PAD
        m_e, v_last = self.encoder(inputs, self.embedding, mask)
        attention_keys, copy_keys = self.attention.memory(m_e), torch.tanh(self.copy(m_e))
        references, merged = None, copy_keys.to(v_last.dtype)
        if self.resolver is not None:
            read = self.resolver.read(m_e, inputs, mask, zeroed=True)
            references = References(read, *self.resolver.asking(read, read.m_dp))
            merged = merged + references.asking
            m_e = read.m_e  # under autocast the narrow one
        return DecompilerMemory(
            ids=inputs,
            mask=mask,
            m_e=m_e,
            attention_keys=attention_keys,
            copy_keys=copy_keys,
            merged=merged,
            v_last=v_last,
            references=references,
        )

    def start(self, memory: DecompilerMemory) -> DecompilerState:
        width = memory.ids.shape[1] if self.recall is not None else 0
        return DecompilerState(memory.v_last, memory.v_last.new_zeros(len(memory.ids), width))

    def step(
        self, memory: DecompilerMemory, state: DecompilerState, previous: Tensor
    ) -> DecompilerStep:
        holds = _holds(memory, previous)
        copy, v_dw = self._scored(memory, state.v_hidd, holds)
        selective, query = taking(memory, holds, previous, copy, v_dw)
        reads = Reads(selective, self._looked(memory, state.v_hidd), query)
        x = torch.cat([self.embedding(previous), reads.of(memory.m_e)], dim=-1)
        v_hidd, recalled = self.decoder.step(x, state.v_hidd), state.recalled
        scores = memory.scores(v_hidd[:, None])
        if self.recall is not None:
            with torch.no_grad():
                merged = copy if v_dw is None else copy + v_dw
                generated = self._generated(state.v_hidd, previous)
                recalled = recalled + taken(holds, merged, generated)
            scores = scores + (self.recall(v_hidd) * recalled)[:, None]
        logits = _logits(memory, self.generate(v_hidd[:, None]), scores)[:, 0]
        positions = torch.exp(scores[:, 0] - logits.logsumexp(-1, keepdim=True))
        return DecompilerStep(
            logits=logits,
            state=DecompilerState(v_hidd, recalled),
            positions=positions.masked_fill(~memory.mask, 0.0),
            reads=reads,
        )

    def forward(self, inputs: Tensor, previous: Tensor, *, repeats: bool = True) -> Tensor:
        # The writer works in place, so that of its trace there are no gradients; and where nobody
        # asks for any, a CPU is several times faster step by step.
        if torch.compiler.is_exporting() or not (torch.is_grad_enabled() or inputs.is_cuda):
            return super().forward(inputs, previous)
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
            scores, generated = memory.scores(v_hidd), self.generate(v_hidd)
            if self.recall is not None:
                with torch.no_grad():
                    recalled = _recalled(memory, previous, scores, generated)
                scores = scores + self.recall(v_hidd) * recalled
            return _logits(memory, generated, scores)

    def _scored(
        self, memory: DecompilerMemory, v_hidd: Tensor, holds: Tensor
    ) -> tuple[Tensor, Tensor | None]:
        """The scores of copying and v_dw (B, L) in a state, known where `holds` is true."""
        copy = dot_some_rows(memory.copy_keys, v_hidd, holds)
        if (asked := memory.references) is None:
            return copy, None
        return copy, dot_some_rows(asked.asking, v_hidd, holds) + asked.bias  # Eq. 25, Eq. 26

    def _generated(self, v_hidd: Tensor, said: Tensor) -> Tensor:
        """The scores of generating these tokens in a state: (B, 2H), (B) → (B)."""
        return (self.generate.weight[said] * v_hidd).sum(-1) + self.generate.bias[said]

    def _looked(self, memory: DecompilerMemory, v_hidd: Tensor) -> Tensor:
        if v_hidd.is_cuda:
            scores = self.attention(v_hidd[:, None], memory.attention_keys)[:, 0]
        else:
            scores = self.attention.by_powers(v_hidd, memory.powers)
        return masked_softmax(scores, memory.mask)


def _holds(memory: DecompilerMemory, said: Tensor) -> Tensor:
    """Where tokens stand that were said, (B, …) → (B, …, L): `<sos>`, not said, nowhere."""
    ids = memory.ids if said.ndim == 1 else memory.ids[:, None]
    return (ids == said[..., None]) & (said != SOS)[..., None]


def _recalled(
    memory: DecompilerMemory, previous: Tensor, scores: Tensor, generated: Tensor
) -> Tensor:
    """How much was taken from each position before every step: (B, T, L).

    previous (B, T); scores of positions (B, T, L) and of generating (B, T, V), as each step has
    them for the token that the next one reads.
    """
    said = previous[:, 1:]
    chance = generated[:, :-1].gather(-1, said[..., None])[..., 0]
    shares = taken(_holds(memory, said), scores[:, :-1], chance)
    return F.pad(shares.cumsum(1), (0, 0, 1, 0))


def _logits(memory: DecompilerMemory, generated: Tensor, scores: Tensor) -> Tensor:
    """log Σ exp over all the ways to say a token: (B, T, V), (B, T, L) → (B, T, V)."""
    return without_pad(generate_or_copy(generated, scores, memory.ids))


class CopyNet(_Copying):
    """The baseline of section 4, and of section 4.5."""

    def __init__(
        self, vocab_size: int, embedding: int = 128, hidden: int = 32, recall: bool = False
    ) -> None:
        super().__init__(vocab_size, embedding, hidden, recall)


class Decompiler(_Copying):
    """CopyNet extended with PermNetI; `equal` is the resolver's."""

    def __init__(
        self,
        vocab_size: int,
        embedding: int = 128,
        hidden: int = 32,
        recall: bool = False,
        equal: bool = False,
    ) -> None:
        super().__init__(vocab_size, embedding, hidden, recall, resolves=True, equal=equal)
