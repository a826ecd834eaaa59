"""Encoder–decoder Transformer (Vaswani et al. 2017): the baseline *Transformer* of section 4.

    In:  <sos> d i j h <sep> 3 2 0 1 <eos>
    Out: <sos> h j d i <eos>

Layer normalisation stands before each sublayer and at the end of both stacks (pre-norm): so it
trains at a constant rate like the other models, where the original order needs a warm-up. There is
no dropout, for examples can be sampled without end, and no limit on the length: positions are
sinusoids. The embedding is not scaled by √E, since it starts out with unit variance.

Axis letters: models/base.py; `E` size of an embedding, `N` heads, `K` size of a head. N · K need
not be E.
"""

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from permnet.kernels.heads import attend, split
from permnet.models.base import Seq2Seq, Step, without_pad
from permnet.models.resolver import IndirectMemory, IndirectResolver
from permnet.ops import masked_softmax
from permnet.vocab import PAD


@dataclass(frozen=True)
class TransformerMemory:
    """The mask (B, L), and what each layer of the decoder reads of the input."""

    mask: Tensor
    layers: tuple[Tensor, ...]
    resolver: IndirectMemory | None = None


TransformerState = tuple[Tensor, ...]
"""What each layer of the decoder reads of the output so far."""


@dataclass(frozen=True, kw_only=True)
class TransformerStep(Step):
    attention: Tensor
    """(B, layers, N, L): where each head of the decoder looked in the input."""


class Attention(nn.Module):
    """Scaled dot-product attention of several heads, without biases, as in the source paper."""

    def __init__(self, embedding: int, heads: int, head_size: int) -> None:
        super().__init__()
        self.heads = heads
        self.query = nn.Linear(embedding, heads * head_size, bias=False)
        self.pairs = nn.Linear(embedding, 2 * heads * head_size, bias=False)
        """Keys and values of what is looked at, side by side: (B, L, E) → (B, L, 2 · N · K)."""
        self.out = nn.Linear(heads * head_size, embedding, bias=False)

    def forward(
        self, x: Tensor, pairs: Tensor, mask: Tensor | None = None, causal: bool = False
    ) -> Tensor:
        """(B, T, E) and what it may look at → (B, T, E)."""
        return self.out(attend(self.query(x), pairs, self.heads, mask, causal))

    def weights(self, x: Tensor, pairs: Tensor, mask: Tensor) -> Tensor:
        """The weights (B, N, T, L) that `forward` applies without showing them."""
        query, keys = self.query(x), pairs.chunk(2, dim=-1)[0]
        query, keys = split(query, self.heads), split(keys, self.heads)
        return masked_softmax(query @ keys.mT * query.shape[-1] ** -0.5, mask[:, None, None])


class EncoderLayer(nn.Module):
    def __init__(self, embedding: int, hidden: int, heads: int, head_size: int) -> None:
        super().__init__()
        self.norms = nn.ModuleList(nn.LayerNorm(embedding) for _ in range(2))
        self.attention = Attention(embedding, heads, head_size)
        self.inner = _inner(embedding, hidden)

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        y = self.norms[0](x)
        x = x + self.attention(y, self.attention.pairs(y), mask)
        return x + self.inner(self.norms[1](x))


class DecoderLayer(nn.Module):
    def __init__(self, embedding: int, hidden: int, heads: int, head_size: int) -> None:
        super().__init__()
        self.norms = nn.ModuleList(nn.LayerNorm(embedding) for _ in range(3))
        self.itself = Attention(embedding, heads, head_size)
        self.across = Attention(embedding, heads, head_size)
        self.inner = _inner(embedding, hidden)

    def forward(
        self, x: Tensor, past: Tensor, read: Tensor, mask: Tensor
    ) -> tuple[Tensor, Tensor, Tensor]:
        """The output, the past with it, and what `across` was asked.

        x is one token after the past, or several with an empty past, which then look back only.
        """
        y = self.norms[0](x)
        now = self.itself.pairs(y)
        past = torch.cat([past, now], dim=1) if past.shape[1] else now
        x = x + self.itself(y, past, causal=x.shape[1] > 1)
        asked = self.norms[1](x)
        x = x + self.across(asked, read, mask)
        return x + self.inner(self.norms[2](x)), past, asked


class Transformer(Seq2Seq):
    """`layers` in the encoder and as many in the decoder; `hidden` is the inner layer's width."""

    def __init__(
        self,
        vocab_size: int,
        embedding: int = 256,
        hidden: int = 1024,
        layers: int = 4,
        heads: int = 12,
        head_size: int = 64,
    ) -> None:
        super().__init__()
        self.vocab_size = vocab_size
        sizes = (embedding, hidden, heads, head_size)
        self.embedding = nn.Embedding(vocab_size, embedding)
        self.encoder = nn.ModuleList(EncoderLayer(*sizes) for _ in range(layers))
        # Any, since to a type checker the items of a ModuleList are Modules without methods.
        self.decoder: Any = nn.ModuleList(DecoderLayer(*sizes) for _ in range(layers))
        self.norms = nn.ModuleList(nn.LayerNorm(embedding) for _ in range(2))
        self.vocabulary = nn.Linear(embedding, vocab_size)

    def encode(self, inputs: Tensor) -> TransformerMemory:
        mask = inputs != PAD
        x = self._embed(inputs, 0)
        for layer in self.encoder:
            x = layer(x, mask)
        m_e = self.norms[0](x)
        layers = tuple(layer.across.pairs(m_e) for layer in self.decoder)
        return TransformerMemory(mask, layers, self._references(m_e, inputs))

    def _references(self, m_e: Tensor, inputs: Tensor) -> IndirectMemory | None:
        return None

    def start(self, memory: TransformerMemory) -> TransformerState:
        return tuple(read[:, :0] for read in memory.layers)

    def step(
        self, memory: TransformerMemory, state: TransformerState, previous: Tensor
    ) -> TransformerStep:
        hidden, state, asked = self._write(memory, state, previous[:, None])
        logits, positions = self._logits(memory, hidden)
        attention = [
            layer.across.weights(x, read, memory.mask)[:, :, 0]
            for layer, x, read in zip(self.decoder, asked, memory.layers, strict=True)
        ]
        return TransformerStep(
            logits=logits[:, 0],
            state=state,
            positions=None if positions is None else positions[:, 0],
            attention=torch.stack(attention, dim=1),
        )

    def forward(self, inputs: Tensor, previous: Tensor, *, repeats: bool = True) -> Tensor:
        memory = self.encode(inputs)
        return self._logits(memory, self._write(memory, self.start(memory), previous)[0])[0]

    def _write(
        self, memory: TransformerMemory, state: TransformerState, previous: Tensor
    ) -> tuple[Tensor, TransformerState, list[Tensor]]:
        """Output after the previous tokens (B, T), the state with them, what each layer asked."""
        x = self._embed(previous, state[0].shape[1])
        after, asks = [], []
        for layer, past, read in zip(self.decoder, state, memory.layers, strict=True):
            x, past, asked = layer(x, past, read, memory.mask)
            after.append(past)
            asks.append(asked)
        return self.norms[1](x), tuple(after), asks

    def _logits(self, memory: TransformerMemory, hidden: Tensor) -> tuple[Tensor, Tensor | None]:
        """Logits (B, T, V), and where the input was pointed to (B, T, L), by a model that does."""
        return without_pad(self.vocabulary(hidden)), None

    def _embed(self, ids: Tensor, first: int) -> Tensor:
        """Tokens and their positions, which count from `first`: (B, T) → (B, T, E)."""
        x = self.embedding(ids)
        return x + sinusoids(first, ids.shape[1], x)


class ResolvingTransformer(Transformer):
    """The Transformer with an `IndirectResolver` beside its vocabulary: what the part is worth."""

    def __init__(
        self,
        vocab_size: int,
        embedding: int = 256,
        hidden: int = 1024,
        layers: int = 4,
        heads: int = 12,
        head_size: int = 64,
        equal: bool = False,
    ) -> None:
        super().__init__(vocab_size, embedding, hidden, layers, heads, head_size)
        self.resolver = IndirectResolver(embedding, embedding, vocab_size, equal=equal)

    def _references(self, m_e: Tensor, inputs: Tensor) -> IndirectMemory | None:
        return self.resolver.read(m_e, inputs, inputs != PAD)

    def _logits(self, memory: TransformerMemory, hidden: Tensor) -> tuple[Tensor, Tensor | None]:
        assert memory.resolver is not None
        point = self.resolver.point(memory.resolver, hidden)
        return without_pad(self.vocabulary(hidden) + point.logits), point.v_dw


def sinusoids(first: int, count: int, like: Tensor) -> Tensor:
    """Positions as waves (count, E): pairs of sin and cos, from period 2π up to 10,000 · 2π."""
    size, device = like.shape[-1], like.device
    wide = torch.promote_types(like.dtype, torch.float32)  # bf16 would blur the later positions
    at = torch.arange(first, first + count, device=device, dtype=wide)
    rate = 1e4 ** (torch.arange(0, size, 2, device=device, dtype=wide) / -size)
    angle = at[:, None] * rate
    return torch.stack([angle.sin(), angle.cos()], dim=-1).flatten(1)[:, :size].to(like.dtype)


def _inner(embedding: int, hidden: int) -> nn.Sequential:
    return nn.Sequential(nn.Linear(embedding, hidden), nn.ReLU(), nn.Linear(hidden, embedding))
