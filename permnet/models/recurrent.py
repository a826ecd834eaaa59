"""The recurrent parts: a GRU that ignores padding, in one direction and in both.

A padded unpacked GRU lets padding into its states: a model trained on mixed lengths then fails on
the same examples without padding. Here the state is frozen on padding and the backward direction
starts at the last real token, so every result is the one of the row by itself.
"""

import torch
from torch import Tensor, nn

from permnet.ops import flip_by_length


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

    def forward(self, x: Tensor, h0: Tensor) -> Tensor:
        """States after every token: (B, T, I), (B, H) → (B, T, H)."""
        weights = (self.w_ih, self.w_hh, self.b_ih, self.b_hh)
        return torch.gru(x, h0[None].contiguous(), weights, True, 1, 0.0, False, False, True)[0]

    def step(self, x: Tensor, h: Tensor) -> Tensor:
        """The state after one token: (B, I), (B, H) → (B, H)."""
        return torch.gru_cell(x, h, self.w_ih, self.w_hh, self.b_ih, self.b_hh)


class BiGRU(nn.Module):
    """Both directions over padded rows: (B, L, I), mask (B, L) → (B, L, 2H) and last (B, 2H)."""

    def __init__(self, input_size: int, hidden: int) -> None:
        super().__init__()
        self.forwards = GRU(input_size, hidden)
        self.backwards = GRU(input_size, hidden)

    def forward(self, x: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        lengths = mask.sum(1)
        h0 = x.new_zeros(len(x), self.forwards.w_hh.shape[1])
        right = self.forwards(x, h0)
        left = flip_by_length(self.backwards(flip_by_length(x, lengths), h0), lengths)
        states = torch.cat([right, left], dim=-1).masked_fill(~mask[..., None], 0.0)
        end = (lengths - 1).clamp(min=0)[:, None, None].expand(-1, 1, right.shape[-1])
        return states, torch.cat([right.gather(1, end)[:, 0], left[:, 0]], dim=-1)
