"""Answers from a model: greedy and beam search over `encode`, `start` and `step`."""

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from permnet.models.base import Seq2Seq, Step, take_rows
from permnet.vocab import EOS, PAD, SOS


@dataclass(frozen=True)
class Answers:
    """Greedy answers: ids (B, T) up to and including `<eos>`, then padding; their probabilities.

    `memory` and `steps` hold everything the model computed on the way, when asked for.
    """

    ids: Tensor
    confidence: Tensor
    memory: Any = None
    steps: tuple[Step, ...] = ()


@torch.no_grad()
def greedy(model: Seq2Seq, inputs: Tensor, max_length: int, *, record: bool = False) -> Answers:
    """The most likely token at each step (Eq. 13), until every row has said `<eos>`.

    At most `max_length` tokens a row, `<eos>` counted; a row that has not stopped by then simply
    ends without it.
    """
    memory = model.encode(inputs)
    state = model.start(memory)
    previous = torch.full_like(inputs[:, 0], SOS)
    done = torch.zeros_like(previous, dtype=torch.bool)
    ids, confidence, steps = [], [], []
    for _ in range(max_length):
        step = model.step(memory, state, previous)
        # topk, as in the beam search: two equal logits then fall the same way in both.
        logp, token = (x[:, 0] for x in torch.log_softmax(step.logits.float(), dim=-1).topk(1))
        ids.append(token.masked_fill(done, PAD))
        confidence.append(logp.exp().masked_fill(done, 0.0))
        if record:
            steps.append(step)
        done |= token == EOS
        if bool(done.all()):
            break
        state, previous = step.state, token
    return Answers(
        torch.stack(ids, 1), torch.stack(confidence, 1), memory if record else None, tuple(steps)
    )


@dataclass(frozen=True)
class Beams:
    """The `width` best answers of each row, best first: ids (B, W, T), log-probabilities (B, W)."""

    ids: Tensor
    scores: Tensor


@torch.no_grad()
def beam(model: Seq2Seq, inputs: Tensor, max_length: int, width: int) -> Beams:
    """Beam search by the sum of log-probabilities, without length normalisation.

    A finished answer keeps its place and its score; the search ends when all beams of all rows are
    finished. Where there are fewer than `width` answers, the rest have score -inf.
    """
    batch = len(inputs)
    rows = torch.arange(batch, device=inputs.device).repeat_interleave(width)
    memory = take_rows(model.encode(inputs), rows)
    state = model.start(memory)
    previous = torch.full((batch * width,), SOS, device=inputs.device)
    done = torch.zeros(batch, width, dtype=torch.bool, device=inputs.device)
    # All beams of a row start equal: only the first may live, or they would all stay the same.
    scores = torch.full((batch, width), -torch.inf, device=inputs.device)
    scores[:, 0] = 0.0
    ids = inputs.new_empty(batch, width, 0)
    for _ in range(max_length):
        step = model.step(memory, state, previous)
        logp = torch.log_softmax(step.logits.float(), dim=-1).view(batch, width, -1)
        stay = torch.full_like(logp[:1, :1], -torch.inf)
        stay[..., PAD] = 0.0
        logp = torch.where(done[..., None], stay, logp)
        scores, best = (scores[..., None] + logp).flatten(1).topk(width, dim=1)
        parent, token = best // logp.shape[-1], best % logp.shape[-1]
        ids = torch.cat([ids.gather(1, parent[..., None].expand_as(ids)), token[..., None]], dim=2)
        done = done.gather(1, parent) | (token == EOS)
        if bool(done.all()):
            break
        chosen = (parent + width * torch.arange(batch, device=parent.device)[:, None]).flatten()
        state, previous = take_rows(step.state, chosen), token.flatten()
    return Beams(ids, scores)
