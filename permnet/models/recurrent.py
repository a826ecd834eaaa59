"""The recurrent parts: a GRU that ignores padding, in one direction and in both.

A padded unpacked GRU lets padding into its states: a model trained on mixed lengths then fails on
the same examples without padding. Here the state is frozen on padding and the backward direction
starts at the last real token, so every result is the one of the row by itself.

Inputs are tokens of an embedding: all their products with the input weights are one small table,
and the walk looks its inputs up in it (kernels/gru.py). The walk itself is float32 under autocast.
"""

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from permnet.kernels.gru import bigru_lookup, gru, gru_lookup


class GRU(nn.Module):
    """One direction, gates r, z, n in the order and with the initialisation of `torch.nn.GRU`."""

    def __init__(self, input_size: int, hidden: int) -> None:
        super().__init__()
        self.w_ih = nn.Parameter(torch.empty(3 * hidden, input_size))
        self.w_hh = nn.Parameter(torch.empty(3 * hidden, hidden))
        self.b_ih = nn.Parameter(torch.empty(3 * hidden))
        self.b_hh = nn.Parameter(torch.empty(3 * hidden))
        for parameter in self.parameters():
            nn.init.uniform_(parameter, -(hidden**-0.5), hidden**-0.5)

    def table(self, embedding: nn.Embedding) -> Tensor:
        """The input products of every token: (V, 3H)."""
        return F.linear(embedding.weight, self.w_ih, self.b_ih).to(self.w_hh.dtype)

    def forward(self, x: Tensor, h0: Tensor) -> Tensor:
        """States after every vector of x: (B, T, I), (B, H) → (B, T, H)."""
        with torch.autocast(x.device.type, enabled=False):
            x, h0 = x.to(self.w_hh.dtype), h0.to(self.w_hh.dtype)
            return gru(x, h0, self.w_ih, self.w_hh, self.b_ih, self.b_hh)[0]

    def read(self, ids: Tensor, embedding: nn.Embedding, h0: Tensor) -> Tensor:
        """States after every token of ids: (B, T), (B, H) → (B, T, H)."""
        with torch.autocast(ids.device.type, enabled=False):
            h0 = h0.to(self.w_hh.dtype)
            return gru_lookup(ids, self.table(embedding), h0, self.w_hh, self.b_hh)[0]

    def step(self, x: Tensor, h: Tensor) -> Tensor:
        """The state after one vector: (B, I), (B, H) → (B, H)."""
        return torch.gru_cell(x, h, self.w_ih, self.w_hh, self.b_ih, self.b_hh)


class BiGRU(nn.Module):
    """Both directions over padded rows of tokens: (B, L) → states (B, L, 2H) and last (B, 2H)."""

    def __init__(self, input_size: int, hidden: int) -> None:
        super().__init__()
        self.forwards = GRU(input_size, hidden)
        self.backwards = GRU(input_size, hidden)

    def forward(self, ids: Tensor, embedding: nn.Embedding, mask: Tensor) -> tuple[Tensor, Tensor]:
        ways = (self.forwards, self.backwards)
        with torch.autocast(ids.device.type, enabled=False):
            tables = torch.stack([way.table(embedding) for way in ways])
            w_hh = torch.stack([way.w_hh for way in ways])
            b_hh = torch.stack([way.b_hh for way in ways])
            h0 = tables.new_zeros(len(ids), 2 * w_hh.shape[2])
            return bigru_lookup(ids, tables, h0, w_hh, b_hh, mask.sum(1))
