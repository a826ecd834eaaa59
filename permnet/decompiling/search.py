"""Further answers to questions, one round after another, each near one that was tried before.

From an answer another is got by taking at one place a less likely token and going on greedily from
there. How likely it will be is guessed from this one exchange, and the best guess is followed
first. It costs the steps behind the place only, where a beam of as many answers costs all steps of
each, and the search can end as soon as an answer verifies.

A deviation deviates again only behind its own place, so no answer is found twice.

Where an answer is wrong can be told (`guide`, see guide.py): its deviations at those places are
then tried before others, and those behind them last, since they leave the first mistake as it is.
An answer that is right for longer is the better one to go on from.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import count
from math import inf
from typing import Any

import torch
from torch import Tensor

from permnet.decode import Answers
from permnet.models import Seq2Seq
from permnet.models.base import join_rows, take_rows
from permnet.vocab import EOS, PAD

BRANCHES = 5  # tokens at a place, the likeliest included
# What is known of an answer is counted like a change of its log-probability.
AT_FAULT = 2.0  # for a deviation where the answer is wrong
BEHIND = -3.0  # for one behind that
RIGHT = 6.0  # for a whole answer that is right; for a part of it, as much less

Ids = tuple[int, ...]


@dataclass(frozen=True)
class Hint:
    """How much of an answer is right, from 0 to 1, and the places of what may be at fault."""

    right: float
    places: frozenset[int]

    @cached_property
    def last(self) -> float:
        """The last of the places."""
        return max(self.places, default=inf)


@dataclass(eq=False)
class Tried:
    """An answer; its tokens from `first` on are read in these `rows` of `states`."""

    ids: Ids
    first: int
    states: Any
    rows: Tensor
    hint: Hint | None = None


@dataclass(frozen=True, eq=False)
class Deviation:
    """An answer, the place at which another token is taken, and that token.

    `score` is the log-probability up to and with it, `guess` what may become of the whole.
    """

    answer: Tried
    place: int
    token: int
    score: float
    guess: float
    number: int

    @property
    def said(self) -> Ids:
        return (*self.answer.ids[: self.place], self.token)

    @property
    def state(self) -> Any:
        """The state in which the token is read."""
        at = self.place - self.answer.first
        return take_rows(self.answer.states, self.answer.rows[at : at + 1])


class Deviations:
    """Answers to a batch of questions beyond the greedy ones, which must have been recorded.

    An answer has at most `most` tokens behind a place.
    """

    def __init__(self, model: Seq2Seq, greedy: Answers, most: int) -> None:
        self.model, self.greedy, self.most = model, greedy, most
        self.waiting: dict[int, list[Deviation]] = {}
        self.tried: dict[tuple[int, Ids], Tried] = {}
        self.states: Any = None  # of the greedy answers, when they are first asked for
        self.number = count()  # of equal guesses the first is taken

    def first(self, row: int) -> list[int]:
        """The greedy answer, without its `<eos>`, as far as it goes."""
        ids: list[int] = self.greedy.ids[row].tolist()
        return ids[: next((t for t, token in enumerate(ids) if token in (EOS, PAD)), len(ids))]

    def guide(self, row: int, ids: Sequence[int], hint: Hint | None) -> None:
        """Say where an answer is wrong, if that is known."""
        self._waiting(row)  # the greedy one's deviations may not be noted yet
        if answer := self.tried.get((row, tuple(ids))):  # one that ends at its exchange has none
            answer.hint = hint

    def goes_on(self, row: int) -> bool:
        """Whether there are more answers."""
        return bool(self._waiting(row))

    def next(self, rows: Sequence[int]) -> list[tuple[int, list[int]]]:
        """One more answer to each of these rows of the batch, if there is one.

        Pairs of row and ids without `<eos>`; what does not end is no answer.
        """
        chosen: list[tuple[int, Deviation]] = []
        for row in rows:
            if waiting := self._waiting(row):
                best = max(waiting, key=_worth)
                waiting.remove(best)
                chosen.append((row, best))
        ended = [
            (row, list(one.answer.ids[: one.place])) for row, one in chosen if one.token == EOS
        ]
        going = [(row, one) for row, one in chosen if one.token != EOS]
        return ended + (self._follow(going) if going else [])

    def _waiting(self, row: int) -> list[Deviation]:
        if row not in self.waiting:
            self.waiting[row] = []
            self._note_greedy(row)
        return self.waiting[row]

    def _note_greedy(self, row: int) -> None:
        logits = torch.stack([step.logits[row] for step in self.greedy.steps]).float()
        chance, said = torch.log_softmax(logits, dim=-1).topk(BRANCHES)
        if self.states is None:
            self.states = join_rows([step.state for step in self.greedy.steps])
        self._note(row, (), 0.0, said, chance, self.states, row, len(self.greedy.ids))

    @torch.no_grad()
    def _follow(self, chosen: list[tuple[int, Deviation]]) -> list[tuple[int, list[int]]]:
        """Go on greedily from each place to the end."""
        rows = self.greedy.ids.new_tensor([row for row, _ in chosen])
        memory = take_rows(self.greedy.memory, rows)
        state = join_rows([deviation.state for _, deviation in chosen])
        previous = rows.new_tensor([deviation.token for _, deviation in chosen])
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
        # As one: small pieces that are kept would lie between large ones that are not, and the
        # memory of those could not be used again.
        joined = join_rows(states)
        del states
        answers = (
            (row, self._note(row, at.said, at.score, said[i], chance[i], joined, i, len(chosen)))
            for i, (row, at) in enumerate(chosen)
        )
        return [(row, ids) for row, ids in answers if ids is not None]

    def _note(
        self,
        row: int,
        before: Ids,
        score: float,
        said: Tensor,
        chance: Tensor,
        states: Any,
        at_row: int,
        batch: int,
    ) -> list[int] | None:
        """Put by the deviations from what was said (T, BRANCHES) after `before`; the whole answer.

        With the log-probability of what was said before, and the states in which the tokens are
        read, one token after another: `batch` rows each, of which `at_row` is this answer's.
        """
        ids = said[:, 0].tolist()
        length = ids.index(EOS) + 1 if EOS in ids else len(ids)
        so_far = [score, *(score + chance[:length, 0].cumsum(0)).tolist()]
        whole = (*before, *ids[: length - (EOS in ids)])
        at = torch.arange(at_row, at_row + batch * length, batch, device=said.device)
        answer = Tried(whole, len(before), states, at)
        self.tried[row, whole] = answer
        others, chances = said[:length, 1:].tolist(), chance[:length].tolist()
        for t, tokens in enumerate(others):
            likeliest, *less = chances[t]
            for token, own in zip(tokens, less, strict=True):
                if own == -torch.inf:
                    continue
                self.waiting[row].append(
                    Deviation(
                        answer,
                        len(before) + t,
                        token,
                        so_far[t] + own,
                        so_far[-1] + own - likeliest,
                        next(self.number),
                    )
                )
        return list(whole) if EOS in ids else None


def _worth(deviation: Deviation) -> tuple[float, int]:
    worth, hint = deviation.guess, deviation.answer.hint
    if hint is not None:
        worth += RIGHT * hint.right
        if deviation.place in hint.places:
            worth += AT_FAULT
        elif deviation.place > hint.last:
            worth += BEHIND
    return worth, -deviation.number
