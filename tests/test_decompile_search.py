"""Deviations from the greedy answer: every answer once, near ones first, whatever the batch."""

from itertools import product

import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from permnet.decode import Answers, greedy
from permnet.decompiling.search import AT_FAULT, BEHIND, RIGHT, Deviations, Hint, _worth
from permnet.models.base import Seq2Seq, Step
from permnet.tasks.switch.draw import Draw
from permnet.vocab import EOS, SOS, SPECIALS

WORDS, LENGTH = 3, 3
LAST = len(SPECIALS) + WORDS
seeds = st.integers(0, 2**32 - 1)


class Random(Seq2Seq):
    """Says up to three words, each with a probability that depends on all before and on the row.

    Its state is the number, to the base of all tokens, of what it has read.
    """

    def __init__(self, seed: int) -> None:
        super().__init__()
        generator = torch.Generator().manual_seed(seed)
        self.chances = torch.randn(2, LAST ** (LENGTH + 1), LAST, generator=generator)
        self.chances[..., : len(SPECIALS)] = -torch.inf
        self.chances[..., EOS] = torch.randn(self.chances.shape[:-1], generator=generator)

    def encode(self, inputs: Tensor) -> Tensor:
        return inputs[:, 0]

    def start(self, memory: Tensor) -> Tensor:
        return torch.zeros_like(memory)

    def step(self, memory: Tensor, state: Tensor, previous: Tensor) -> Step:
        state = (state * LAST + previous) % LAST ** (LENGTH + 1)
        logits = self.chances[memory, state].clone()
        full = state >= LAST**LENGTH  # `<sos>` is no 0, so this many tokens were read
        logits[full] = -torch.inf
        logits[full, EOS] = 0.0
        return Step(logits=logits, state=state)

    def onward(self, row: int, said: list[int]) -> list[int]:
        """What was said and then, greedily, the rest."""
        memory, state = torch.tensor([row]), torch.zeros(1, dtype=torch.long)
        for token in (SOS, *said):
            if token == EOS:
                return said[:-1]
            step = self.step(memory, state, torch.tensor([token]))
            state = step.state
        return self.onward(row, [*said, int(step.logits[0].argmax())])


def asked(seed: int, rows: list[int]) -> tuple[Random, Answers, Deviations]:
    model = Random(seed)
    found = greedy(model, torch.tensor(rows)[:, None], LENGTH + 1, record=True)
    return model, found, Deviations(model, found, LENGTH + 1)


def said(ids: Tensor) -> tuple[int, ...]:
    tokens = ids.tolist()
    return tuple(tokens[: tokens.index(EOS)])


@given(seeds, st.booleans())
def test_every_answer_is_found_once(seed: int, guided: bool) -> None:
    """Whatever is said of them."""
    _, found, search = asked(seed, [1])
    answers, drawn = [said(found.ids[0])], Draw(str(seed))
    assert search.first(0) == [*answers[0]]
    while search.goes_on(0):
        if guided:
            places = drawn.distinct(range(LENGTH + 1), drawn.between(0, LENGTH))
            hint = Hint(drawn.between(0, 100) / 100, frozenset(places))
            search.guide(0, answers[-1], hint)
        answers += [tuple(ids) for _, ids in search.next([0])]
    assert search.next([0]) == []
    words = range(len(SPECIALS), LAST)
    everything = {ids for n in range(LENGTH + 1) for ids in product(words, repeat=n)}
    assert len(answers) == len(everything)
    assert {*answers} == everything


@given(seeds)
def test_the_first_is_the_likeliest_exchange_of_one_token(seed: int) -> None:
    model, found, search = asked(seed, [0])
    best, steps = said(found.ids[0]), [step.logits[0].log_softmax(-1) for step in found.steps]
    exchanges = {
        (t, token): float(chance[token] - chance.max())
        for t, chance in enumerate(steps)
        for token in range(LAST)
        if token != (*best, EOS)[t]
    }
    t, token = max(exchanges, key=exchanges.__getitem__)
    assert search.next([0]) == [(0, model.onward(0, [*best[:t], token]))]


@given(seeds)
def test_where_an_answer_is_wrong_it_is_changed_first(seed: int) -> None:
    _, found, search = asked(seed, [0])
    best = said(found.ids[0])
    search.guide(0, best, Hint(0.0, frozenset({0})))
    worth = [_worth(each)[0] - each.guess for each in search._waiting(0)]
    places = [each.place for each in search._waiting(0)]
    assert {(place == 0, gain) for place, gain in zip(places, worth, strict=True)} == {
        (place == 0, AT_FAULT if place == 0 else BEHIND) for place in places
    }
    search.guide(0, best, Hint(0.5, frozenset({len(best)})))  # all before the end is right
    gains = {each.place: _worth(each)[0] - each.guess for each in search._waiting(0)}
    for place, gain in gains.items():
        assert abs(gain - RIGHT / 2 - (AT_FAULT if place == len(best) else 0.0)) < 1e-9


@given(seeds, st.lists(st.sampled_from([0, 1]), min_size=2, max_size=4))
def test_the_batch_changes_nothing(seed: int, rows: list[int]) -> None:
    _, _, together = asked(seed, rows)
    _, _, alone = asked(seed, rows[-1:])
    last = len(rows) - 1
    first = [ids for row, ids in together.next(range(len(rows))) if row == last]
    then = [ids for _, ids in together.next([last])]
    assert first == [ids for _, ids in alone.next([0])]
    assert then == [ids for _, ids in alone.next([0])]
