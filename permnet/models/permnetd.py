"""PermNetD, for direct indexing by permutation (section 3.1).

    In:  <sos> d i j h <sep> 3 2 0 1 <eos>     data, then indices that count from 0
    Out: <sos> h j d i <eos>

A bidirectional GRU reads, a GRU writes, and a `DirectResolver` points from the writer's state to
an index token, from there to an offset, and by it into the data. Axis letters: models/base.py.
"""

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from permnet.models.base import Seq2Seq, Step, check_ablation, without_pad
from permnet.models.recurrent import GRU, BiGRU
from permnet.models.resolver import DirectMemory, DirectPoint, DirectResolver
from permnet.vocab import PAD


@dataclass(frozen=True)
class PermNetDMemory:
    v_last: Tensor
    resolver: DirectMemory


@dataclass(frozen=True, kw_only=True)
class PermNetDStep(Step):
    v_vocab: Tensor
    point: DirectPoint


class PermNetD(Seq2Seq):
    """`longest` is P, the longest array there will be: indices mean 0 … P-1.

    `without` is one of the ablations of Table 6; `m_e` and `v_arr` need `input_length`.
    """

    ABLATIONS = ("fixed-vocab", *DirectResolver.ABLATIONS)

    def __init__(
        self,
        vocab_size: int,
        longest: int,
        embedding: int = 64,
        hidden: int = 32,
        without: str | None = None,
        input_length: int | None = None,
    ) -> None:
        super().__init__()
        check_ablation(without, self.ABLATIONS, DirectResolver.FIXED, input_length)
        self.vocab_size, self.without = vocab_size, without
        self.embedding = nn.Embedding(vocab_size, embedding)
        self.encoder = BiGRU(embedding, hidden)
        self.decoder = GRU(embedding, 2 * hidden)
        self.resolver = DirectResolver(
            memory_size=2 * hidden,
            state_size=2 * hidden,
            vocab_size=vocab_size,
            longest=longest,
            without=without if without in DirectResolver.ABLATIONS else None,
            input_length=input_length,
        )
        if without != "fixed-vocab":
            self.vocabulary = nn.Linear(2 * hidden, vocab_size)

    def encode(self, inputs: Tensor) -> PermNetDMemory:
        mask = inputs != PAD
        m_e, v_last = self.encoder(inputs, self.embedding, mask)  # Eq. 3
        return PermNetDMemory(v_last, self.resolver.read(m_e, inputs, mask, zeroed=True))

    def start(self, memory: PermNetDMemory) -> Tensor:
        return memory.v_last

    def step(self, memory: PermNetDMemory, state: Tensor, previous: Tensor) -> PermNetDStep:
        v_hidd = self.decoder.step(self.embedding(previous), state)  # Eq. 6
        point = self.resolver.point(memory.resolver, v_hidd[:, None])
        v_vocab, logits = self._logits(v_hidd[:, None], point)
        return PermNetDStep(
            logits=logits[:, 0],
            state=v_hidd,
            positions=point.positions[:, 0],
            v_vocab=v_vocab[:, 0],
            point=point,
        )

    def forward(self, inputs: Tensor, previous: Tensor, *, repeats: bool = True) -> Tensor:
        memory = self.encode(inputs)
        v_hidd = self.decoder.read(previous, self.embedding, memory.v_last)  # Eq. 6, all steps
        return self._logits(v_hidd, self.resolver.point(memory.resolver, v_hidd))[1]

    def _logits(self, v_hidd: Tensor, point: DirectPoint) -> tuple[Tensor, Tensor]:
        if self.without == "fixed-vocab":
            v_vocab = torch.zeros_like(point.logits)
        else:
            v_vocab = self.vocabulary(v_hidd)  # Eq. 11
        return v_vocab, without_pad(point.logits + v_vocab)  # Eq. 12; Eq. 13 is in decode.py
