"""Answers of a decompiler model: greedy for many functions at once, the n best for those in doubt.

An answer points: for each of its lines the line of assembly that the model copied from and looked
at most while it wrote it.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import cast

import torch
from torch import Tensor

from permnet.batch import pad
from permnet.decode import Answers, beam, greedy
from permnet.decompiling.question import Question
from permnet.decompiling.search import Deviations
from permnet.errors import PermnetError
from permnet.models import Seq2Seq
from permnet.models.decompiler import DecompilerStep
from permnet.tasks.switch.ctokens import layout
from permnet.tasks.switch.terse import in_full
from permnet.vocab import EOS, PAD, SOS, Vocab

LONGEST = 640  # tokens of C, or as many as the assembly has; of the training data 547 is the most
ROWS = 16  # functions at once
CELLS = 8 << 20  # rows × length²: the resolver holds some ten matrices of that size

Map = list[tuple[int, int]]


@dataclass(frozen=True)
class Answer:
    """C as tokens, the probability of the whole, and pairs of C line and file's line, from 1."""

    c: list[str]
    confidence: float
    map: Map


class Answerer:
    """A decompiler model that answers questions; `model` is one of models/decompiler.py."""

    def __init__(self, model: Seq2Seq, vocab: Vocab) -> None:
        self.model, self.vocab = model, vocab

    def greedy(self, questions: Sequence[Question]) -> tuple[list[Answer], Deviations]:
        """The answer to each question of a batch, and a search for further ones."""
        inputs = pad([question.ids for question in questions])
        most = min(LONGEST, inputs.shape[1])
        found = greedy(self.model, inputs, most, record=True)
        return self._answers(questions, inputs, found), Deviations(self.model, found, most)

    def n_best(self, questions: Sequence[Question], count: int) -> list[list[list[int]]]:
        """The ids of the finished answers to each, the most likely first, at most so many."""
        inputs = pad([question.ids for question in questions])
        beams = beam(self.model, inputs, min(LONGEST, inputs.shape[1]), count)
        return [
            [
                ids[: _length(ids)]
                for ids, score in zip(row, scores, strict=True)
                if score > -torch.inf and EOS in ids
            ]
            for row, scores in zip(beams.ids.tolist(), beams.scores.tolist(), strict=True)
        ]

    def retold(self, questions: Sequence[Question], said: Sequence[list[int]]) -> list[Answer]:
        """Answers known by their ids, with what the model thinks of them and where it points."""
        answers: dict[int, Answer] = {}
        for rows in batches(questions):
            asked, ids = [questions[i] for i in rows], [[*said[i], EOS] for i in rows]
            inputs = pad([question.ids for question in asked])
            forced = _forced(self.model, inputs, pad(ids))
            answers.update(zip(rows, self._answers(asked, inputs, forced), strict=True))
        return [answers[i] for i in range(len(questions))]

    def _answers(
        self, questions: Sequence[Question], inputs: Tensor, found: Answers
    ) -> list[Answer]:
        if not bool(found.confidence.isfinite().all()):
            raise PermnetError("the model's weights overflow on this function: it cannot answer")
        answers = []
        for row, question in enumerate(questions):
            ids = found.ids[row].tolist()
            length = _length(ids)
            c, places = in_full(question.read(ids[:length], self.vocab))
            chance = found.confidence[row, : length + 1].double().prod().item()
            weights = _pointed(inputs[row, : len(question.ids)], found, row, length)
            copied, looked = (_spread(w, places, len(c)) for w in weights)
            answers.append(Answer(c, chance, _lines(c, copied, looked, question.numbers)))
        return answers


def batches(questions: Sequence[Question]) -> Iterator[list[int]]:
    """The numbers of the questions in batches of like length that fit in memory."""
    rows: list[int] = []
    for i in sorted(range(len(questions)), key=lambda i: len(questions[i].ids)):
        fit = CELLS // len(questions[i].ids) ** 2
        if len(rows) >= max(min(fit, ROWS), 1):
            yield rows
            rows = []
        rows.append(i)
    if rows:
        yield rows


def _length(ids: list[int]) -> int:
    """How many tokens stand before `<eos>`."""
    return next((i for i, token in enumerate(ids) if token in (EOS, PAD)), len(ids))


@torch.no_grad()
def _forced(model: Seq2Seq, inputs: Tensor, ids: Tensor) -> Answers:
    """What `greedy` would tell had the model chosen these ids (B, T), padded behind `<eos>`."""
    memory = model.encode(inputs)
    state, previous = model.start(memory), torch.full_like(ids[:, 0], SOS)
    chances, steps = [], []
    for token in ids.unbind(1):
        step = model.step(memory, state, previous)
        chances.append(torch.softmax(step.logits.float(), dim=-1).gather(1, token[:, None])[:, 0])
        steps.append(step)
        state, previous = step.state, token
    return Answers(ids, torch.stack(chances, 1), memory, tuple(steps))


def _pointed(inputs: Tensor, found: Answers, row: int, length: int) -> tuple[Tensor, Tensor]:
    """How much each token was copied from, and looked at, each position: twice (T, L)."""
    steps = [cast(DecompilerStep, step) for step in found.steps[:length]]
    if not steps:
        return (torch.zeros(0, len(inputs), device=inputs.device),) * 2
    width = len(inputs)
    held = found.ids[row, :length, None] == inputs
    copied = torch.stack([step.positions[row, :width] for step in steps])  # type: ignore[index]
    return copied * held, torch.stack([step.reads.attention[row, :width] for step in steps])


def _spread(weights: Tensor, places: list[int], length: int) -> Tensor:
    """The weights of the tokens that were said, in their places; what was left unsaid has none."""
    at = torch.tensor(places, dtype=torch.long, device=weights.device)
    return weights.new_zeros(length, weights.shape[1]).index_add(0, at, weights)


def _lines(c: list[str], copied: Tensor, looked: Tensor, numbers: Sequence[int]) -> Map:
    """For each line of C that the model said the line of assembly with most weight.

    A label is where it was copied from, if it was. A `break` is hardly ever said (see terse.py).
    """
    known = sorted({*numbers})
    place = {number: i for i, number in enumerate(known)}
    column = torch.tensor([place[number] for number in numbers], device=copied.device)
    found: Map = []
    for number, (begin, end) in enumerate(token_lines(c), 1):
        if found or "{" in c[:begin]:
            if set(c[begin:end]) <= {"{", "}", "else"}:
                continue
            weights = copied[begin:end].sum(0)
            if c[begin] != "case" or not bool(weights.any()):
                weights = weights + looked[begin:end].sum(0)
            totals = weights.new_zeros(len(known)).index_add(0, column, weights)
            totals[0] = 0.0  # the specials
            found.append((number, known[int(totals.argmax())]))
    return [pair for pair in found if pair[1]]


def token_lines(c: Sequence[str]) -> list[tuple[int, int]]:
    """Which tokens, from and up to, stand on each line of `layout`."""
    spans, at = [], 0
    for line in layout(c).splitlines():
        begin, left = at, len(line.replace(" ", ""))
        while left > 0:
            left -= len(c[at])
            at += 1
        spans.append((begin, at))
    return spans
