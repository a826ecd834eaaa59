"""Adds the indirect resolver to a plain `torch.nn` Transformer, and trains it for a moment.

Run: python examples/transformer_with_resolver.py [steps]
"""

import sys

import torch
from torch import Tensor, nn

from permnet import IndirectResolver, benchmark
from permnet.batch import resident
from permnet.vocab import PAD


class ResolvingTransformer(nn.Module):
    def __init__(self, vocab_size: int, width: int = 64, longest: int = 512) -> None:
        super().__init__()
        self.embed = nn.Embedding(vocab_size, width)
        self.place = nn.Embedding(longest, width)
        self.body = nn.Transformer(width, 4, 2, 2, 4 * width, 0.0, batch_first=True)
        self.vocabulary = nn.Linear(width, vocab_size)
        self.resolver = IndirectResolver(width, width, vocab_size)

    def forward(self, inputs: Tensor, previous: Tensor) -> Tensor:
        padding = inputs == PAD  # torch.nn says True where to look away, the resolver the reverse
        states = self.body.encoder(self.at(inputs), src_key_padding_mask=padding)
        causal = nn.Transformer.generate_square_subsequent_mask(previous.shape[1])
        hidden = self.body.decoder(
            self.at(previous),
            states,
            tgt_mask=causal.to(states.device, states.dtype),
            tgt_is_causal=True,
            memory_key_padding_mask=padding,
        )
        memory = self.resolver.read(states, inputs, ~padding)
        return self.vocabulary(hidden) + self.resolver.point(memory, hidden).logits

    def at(self, ids: Tensor) -> Tensor:
        return self.embed(ids) + self.place(torch.arange(ids.shape[1], device=ids.device))


def main(steps: int = 200) -> None:
    split = benchmark("PI1-10").split("train", limit=10_000)
    data = resident(split.examples.inputs, split.examples.targets, split.vocab)
    torch.manual_seed(0)
    model = ResolvingTransformer(len(split.vocab))
    optimiser = torch.optim.AdamW(model.parameters(), 1e-3)
    for step in range(steps):
        batch = data.rows(torch.randint(len(data), (64,)))
        logits = model(batch.inputs, batch.previous).flatten(0, 1)
        loss = nn.functional.cross_entropy(logits, batch.targets.flatten(), ignore_index=PAD)
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        print(f"step {step}  loss {loss.item():.3f}")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
