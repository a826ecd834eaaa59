"""The yardstick: both PermNets as one would write them straight from the paper.

Batched over examples, `nn.GRU`, a Python loop over the decoder's equations, scatter-add, eager.
It copies the weights of our model, so that a test can hold the two equal; speed is measured
against it (benchmarks/speed.py). Inputs have no padding, as on the benchmarks of one length.
"""

import math

import torch
from torch import Tensor, nn

from permnet.models import PermNetD, PermNetI
from permnet.vocab import PAD, SOS, SPECIALS

Tensors = tuple[Tensor, ...]


def _gru(ours: list[nn.Module]) -> nn.GRU:
    """An `nn.GRU` with the weights of one or two of our directions."""
    hidden = ours[0].w_hh.shape[1]
    gru = nn.GRU(ours[0].w_ih.shape[1], hidden, batch_first=True, bidirectional=len(ours) == 2)
    with torch.no_grad():
        for cell, suffix in zip(ours, ("_l0", "_l0_reverse"), strict=False):
            for name, kind in (("w_ih", "weight_ih"), ("w_hh", "weight_hh")):
                getattr(gru, kind + suffix).copy_(getattr(cell, name))
            for name, kind in (("b_ih", "bias_ih"), ("b_hh", "bias_hh")):
                getattr(gru, kind + suffix).copy_(getattr(cell, name))
    return gru


class _Yardstick(nn.Module):
    def __init__(self, ours: PermNetD | PermNetI) -> None:
        super().__init__()
        self.embedding = ours.embedding
        self.encoder = _gru([ours.encoder.forwards, ours.encoder.backwards])
        self.decoder = _gru([ours.decoder])
        self.vocabulary = ours.vocabulary
        self.resolver = ours.resolver
        self.vocab_size = ours.vocab_size

    def encode(self, inputs: Tensor) -> tuple[Tensor, Tensor]:
        m_e, last = self.encoder(self.embedding(inputs))
        return m_e, torch.cat([last[0], last[1]], dim=-1)

    def by_token(self, weights: Tensor, inputs: Tensor) -> Tensor:
        zeros = weights.new_zeros(len(weights), self.vocab_size)
        return zeros.scatter_add(1, inputs, weights)

    def write(self, x: Tensor, v_hidd: Tensor) -> Tensor:
        """The decoder's state after one vector."""
        return self.decoder(x[:, None], v_hidd[None].contiguous())[0][:, 0]

    @torch.no_grad()
    def decode(self, inputs: Tensor, length: int) -> Tensor:
        """Greedy tokens (B, length); what stands after `<eos>` means nothing."""
        memory, state = self.read(inputs)
        token, tokens = torch.full_like(inputs[:, 0], SOS), []
        for _ in range(length):
            state, logits = self.step(memory, state, token, self.embedding(token))
            logits[:, PAD] = -torch.inf
            token = logits.argmax(-1)
            tokens.append(token)
        return torch.stack(tokens, dim=1)


class StraightD(_Yardstick):
    def forward(self, inputs: Tensor, previous: Tensor) -> Tensor:
        memory, (v_last,) = self.read(inputs)
        hidden = self.decoder(self.embedding(previous), v_last[None])[0]
        logits = [self.point(memory, hidden[:, t]) for t in range(previous.shape[1])]
        out = torch.stack(logits, dim=1)
        out[..., PAD] = -torch.inf
        return out

    def read(self, inputs: Tensor) -> tuple[Tensors, Tensors]:
        m_e, v_last = self.encode(inputs)
        v_arr = self.resolver.array(m_e)
        m_ind = self.resolver.emb_ind(inputs)
        length, longest = m_ind.shape[1:]
        places = torch.arange(length, device=inputs.device)[:, None]
        places = places + torch.arange(longest, device=inputs.device)
        return (inputs, m_e, v_arr, m_ind, places), (v_last,)

    def step(
        self, memory: Tensors, state: Tensors, token: Tensor, x: Tensor
    ) -> tuple[Tensors, Tensor]:
        v_hidd = self.write(x, *state)
        return (v_hidd,), self.point(memory, v_hidd)

    def point(self, memory: Tensors, v_hidd: Tensor) -> Tensor:
        inputs, m_e, v_arr, m_ind, places = memory
        length, longest = places.shape
        v_attn = m_e @ self.resolver.select(v_hidd)[..., None]
        v_ind = (m_ind * v_attn).sum(1)
        m_prob = v_arr * v_ind[:, None]
        sums = m_prob.new_zeros(len(inputs), length + longest - 1)
        sums = sums.scatter_add(1, places.flatten().expand(len(inputs), -1), m_prob.flatten(1))
        v_perm = self.by_token(sums[:, :length], inputs)
        return v_perm + self.vocabulary(v_hidd)


class StraightI(_Yardstick):
    def forward(self, inputs: Tensor, previous: Tensor) -> Tensor:
        memory, state = self.read(inputs)
        embedded, logits = self.embedding(previous), []
        for t in range(previous.shape[1]):
            state, step = self.step(memory, state, previous[:, t], embedded[:, t])
            logits.append(step)
        out = torch.stack(logits, dim=1)
        out[..., PAD] = -torch.inf
        return out

    def read(self, inputs: Tensor) -> tuple[Tensors, Tensors]:
        m_e, v_last = self.encode(inputs)
        m_label = torch.softmax(self.resolver.label(m_e), dim=-1)
        m_d, m_k, m_p = (m_e * m_label[..., c : c + 1] for c in range(3))
        m_dk = self.between(m_d @ m_k.mT)
        m_kp = self.between(m_k @ m_p.mT)
        m_dp = m_dk @ m_kp
        return (inputs, m_e, m_dp, self.resolver.query(m_p)), (
            v_last,
            torch.zeros_like(m_e[..., 0]),
        )

    def step(
        self, memory: Tensors, state: Tensors, token: Tensor, x: Tensor
    ) -> tuple[Tensors, Tensor]:
        inputs, m_e, m_dp, queries = memory
        v_hidd, v_dw = state
        asked = (inputs == token[:, None]) & (token >= len(SPECIALS))[:, None]
        v_selected = v_dw * asked
        weights = torch.softmax((m_dp * v_selected[..., None]).sum(1), dim=-1)
        v_attn = (m_e * weights[..., None]).sum(1)
        v_hidd = self.write(torch.cat([x, v_attn], dim=-1), v_hidd)
        v_pw = queries @ self.resolver.select(v_hidd)[..., None]
        v_dw = (m_dp @ v_pw)[..., 0]
        return (v_hidd, v_dw), self.by_token(v_dw, inputs) + self.vocabulary(v_hidd)

    @staticmethod
    def between(x: Tensor) -> Tensor:
        m = torch.log(1 + (math.e - 1) * torch.softmax(x, dim=-1))
        return m * (1 - torch.eye(m.shape[-1], device=m.device))


def straightforward(ours: PermNetD | PermNetI) -> _Yardstick:
    """The yardstick with the weights of our model."""
    return StraightD(ours) if isinstance(ours, PermNetD) else StraightI(ours)
