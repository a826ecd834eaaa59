"""Further answers to questions, one round after another, each near one that was tried before.

From an answer another is got by taking at one place a less likely token and going on greedily from
there. How likely it will be is guessed from this one exchange, and the best guess is followed
first. It costs the steps behind the place only, where a beam of as many answers costs all steps of
each, and the search can end as soon as an answer verifies.

A deviation deviates again only behind its own place, so no answer is found twice.
"""

import heapq
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any

import torch
from torch import Tensor

from permnet.decode import Answers
from permnet.models import Seq2Seq
from permnet.models.base import join_rows, take_rows
from permnet.vocab import EOS, PAD

BRANCHES = 4  # tokens at a place, the likeliest included
KEPT = 100  # deviations of an answer, the likeliest: as many as anyone asks for


@dataclass(frozen=True)
class Place:
    """What was said so far, its log-probability, and the state in which its last token is read."""

    said: tuple[int, ...]
    score: float
    state: Any


class Deviations:
    """Answers to a batch of questions beyond the greedy ones, which must have been recorded.

    An answer has at most `most` tokens behind a place.
    """

    def __init__(self, model: Seq2Seq, greedy: Answers, most: int) -> None:
        self.model, self.greedy, self.most = model, greedy, most
        self.waiting: dict[int, list[tuple[float, int, Place]]] = {}
        self.number = count()  # of equal guesses the first is taken

    def next(self, rows: Sequence[int], each: int) -> list[tuple[int, list[int]]]:
        """So many more answers to each of these rows of the batch, fewer where there are no more.

        Pairs of row and ids without `<eos>`; what does not end is no answer.
        """
        chosen = []
        for row in rows:
            if row not in self.waiting:
                self._note_greedy(row)
            places = self.waiting[row]
            chosen += [(row, heapq.heappop(places)[2]) for _ in range(min(each, len(places)))]
        ended = [(row, list(place.said[:-1])) for row, place in chosen if place.said[-1] == EOS]
        going = [(row, place) for row, place in chosen if place.said[-1] != EOS]
        return ended + (self._follow(going) if going else [])

    def _note_greedy(self, row: int) -> None:
        self.waiting[row] = []
        logits = torch.stack([step.logits[row] for step in self.greedy.steps]).float()
        chance, said = torch.log_softmax(logits, dim=-1).topk(BRANCHES)
        states = [step.state for step in self.greedy.steps]
        self._note(row, (), 0.0, said, chance, states, row)

    @torch.no_grad()
    def _follow(self, chosen: list[tuple[int, Place]]) -> list[tuple[int, list[int]]]:
        """Go on greedily from each place to the end."""
        rows = self.greedy.ids.new_tensor([row for row, _ in chosen])
        memory = take_rows(self.greedy.memory, rows)
        state = join_rows([place.state for _, place in chosen])
        previous = rows.new_tensor([place.said[-1] for _, place in chosen])
        done = torch.zeros_like(previous, dtype=torch.bool)
        tokens, chances, states = [], [], []
        for _ in range(self.most):
            step = self.model.step(memory, state, previous)
            chance, token = torch.log_softmax(step.logits.float(), dim=-1).topk(BRANCHES)
            state, previous = step.state, token[:, 0]
            tokens.append(token.masked_fill(done[:, None], PAD))
            chances.append(chance)
            states.append(state)
            done |= previous == EOS
            if bool(done.all()):
                break
        said, chance = torch.stack(tokens, 1), torch.stack(chances, 1)
        answers = (
            (row, self._note(row, at.said, at.score, said[i], chance[i], states, i))
            for i, (row, at) in enumerate(chosen)
        )
        return [(row, ids) for row, ids in answers if ids is not None]

    def _note(
        self,
        row: int,
        before: tuple[int, ...],
        score: float,
        said: Tensor,
        chance: Tensor,
        states: list[Any],
        at_row: int,
    ) -> list[int] | None:
        """Put by the deviations from what was said (T, BRANCHES) after `before`; the whole answer.

        With the log-probability of what was said before, and the states in which each of the
        tokens is read, of which `at_row` is this answer's row.
        """
        ids = said[:, 0].tolist()
        length = ids.index(EOS) + 1 if EOS in ids else len(ids)
        so_far = [score, *(score + chance[:length, 0].cumsum(0)).tolist()]
        less = chance[:length, 1:] - chance[:length, :1]
        losses, which = less.flatten().topk(min(KEPT, int(less.isfinite().sum())))
        for loss, at in zip(losses.tolist(), which.tolist(), strict=True):
            t, branch = divmod(at, BRANCHES - 1)
            tokens = (*before, *ids[:t], int(said[t, branch + 1]))
            state = take_rows(states[t], said.new_tensor([at_row]))
            deviation = Place(tokens, so_far[t] + float(chance[t, branch + 1]), state)
            guess = so_far[-1] + loss
            heapq.heappush(self.waiting[row], (-guess, next(self.number), deviation))
        return [*before, *ids[: length - 1]] if EOS in ids else None
