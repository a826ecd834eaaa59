"""Answers to questions in words, from a model's weights alone: no solver is imported here."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import overload

import torch
from torch import Tensor

from permnet.build import FIXED_LENGTH
from permnet.checkpoint import Checkpoint, Description, describe, load, shipped
from permnet.decode import Answers, greedy
from permnet.errors import PermnetError
from permnet.tasks.permutation import NOISE, Kind, Parsed, Task, parse
from permnet.vocab import EOS, SOS, SPECIALS, Vocab, data_names

LONGEST_TEXT = 1_000_000  # characters; the longest question of any benchmark has under 2,000
BATCH = 64


@dataclass(frozen=True)
class Answer:
    """The output tokens, how sure the model was of each, and where in the input it found it.

    Positions count the input's tokens from 0, `<sos>` apart. A position is None where the token
    does not stand in the input, and everywhere with models that do not point.
    """

    tokens: list[str]
    confidence: list[float]
    positions: list[int | None]


@dataclass(frozen=True)
class Question:
    """A question in a model's ids, from `<sos>` to `<eos>`; `lent` are the ids of unseen tokens."""

    ids: list[int]
    lent: dict[str, int]
    parsed: Parsed


class Resolver:
    """A trained model that answers questions.

    resolver = Resolver.load("PI1-4")
    resolver("a 1 b 2 c 3 <sep> 1 3 2").tokens  # ['a', 'c', 'b']
    """

    def __init__(self, checkpoint: Checkpoint) -> None:
        self.checkpoint = checkpoint

    @classmethod
    def load(cls, model: str | Path) -> "Resolver":
        """The resolver of a shipped model, by name, or of a checkpoint's folder."""
        return cls(load(model))

    @overload
    def __call__(self, text: str) -> Answer: ...
    @overload
    def __call__(self, text: list[str]) -> list[Answer]: ...
    def __call__(self, text: str | list[str]) -> Answer | list[Answer]:
        """The answer to a text, or to each of several; a bad one is an error."""
        return _all_or_error(self, text)

    def each(self, texts: Sequence[str]) -> list[Answer | PermnetError]:
        """The answer to each text, or what is wrong with it."""
        found: dict[int, Answer | PermnetError] = {}
        questions: dict[int, Question] = {}
        for i, text in enumerate(texts):
            try:
                questions[i] = read(text, self.checkpoint)
            except PermnetError as error:
                found[i] = error
        for rows in _alike(questions):
            answers = self._answer([questions[i] for i in rows])
            found.update(zip(rows, answers, strict=True))
        return [found[i] for i in range(len(texts))]

    def _answer(self, questions: list[Question]) -> list[Answer]:
        """Answers to questions of one length."""
        found, places = ask(self.checkpoint, questions)
        answers = []
        for row, question in enumerate(questions):
            ids = found.ids[row].tolist()
            length = ids.index(EOS) if EOS in ids else len(ids)
            answers.append(
                Answer(
                    self.checkpoint.vocab.decode(ids[:length], question.lent),
                    found.confidence[row, :length].tolist(),
                    [None if at < 0 else at for at in places[row, :length].tolist()],
                )
            )
        return answers


class Shipped:
    """All shipped models: each text goes to the smallest that was trained for its like."""

    def __init__(self) -> None:
        if not shipped():
            raise PermnetError("no trained models come with this copy: name a checkpoint's folder")
        known = {name: describe(name) for name in shipped()}
        self._known = {name: d for name, d in known.items() if isinstance(d.task, Task)}
        self._loaded: dict[str, Resolver] = {}

    def each(self, texts: Sequence[str]) -> list[Answer | PermnetError]:
        """The answer to each text, or why none of the models should give one."""
        found: dict[int, Answer | PermnetError] = {}
        chosen = defaultdict(list)
        for i, text in enumerate(texts):
            try:
                chosen[self.choose(text)].append(i)
            except PermnetError as error:
                found[i] = error
        for name, rows in chosen.items():
            if name not in self._loaded:
                self._loaded[name] = Resolver.load(name)
            answers = self._loaded[name].each([texts[i] for i in rows])
            found.update(zip(rows, answers, strict=True))
        return [found[i] for i in range(len(texts))]

    def choose(self, text: str) -> str:
        """The name of the smallest model that was trained for the like of this text."""
        refusals = {}
        for name, about in self._known.items():
            try:
                _check_likeness(read(text, about).parsed, task_of(about))
                return name
            except PermnetError as error:
                refusals[name] = str(error)
        raise PermnetError(self._refusal(text, refusals))

    def _refusal(self, text: str, refusals: dict[str, str]) -> str:
        """What the models say that come nearest, by the form of the question, then its length."""
        if len(set(refusals.values())) == 1:  # wrong for every model: it is the question
            return next(iter(refusals.values()))
        kind, count = _form(text)
        every = {name: task_of(about) for name, about in self._known.items()}
        direct = kind == "direct"
        tasks = {n: task for n, task in every.items() if (task.kind == "direct") == direct}
        reasons = defaultdict(list)
        for name, task in tasks.items():
            if task.shortest <= count <= task.longest:
                reasons[refusals[name]].append(name)
        if not reasons:
            return f"no shipped model covers {kind} references to {_no_such_length(count, tasks)}"
        said = "; ".join(f"{', '.join(names)}: {reason}" for reason, names in reasons.items())
        return f"no shipped model covers the question: {said}"


def _form(text: str) -> tuple[Kind, int]:
    """How a question refers to its data, and how many they are."""
    kinds: tuple[Kind, Kind] = ("indirect", "direct")
    reasons = []
    for kind in kinds:
        try:
            parsed = parse(kind, text.split())
            both = set(parsed.data) & set(parsed.queries)
            if kind == "direct" and both:  # rather a key is missing
                raise PermnetError(f"{min(both)!r} stands among the data")
            return kind, len(parsed.data)
        except PermnetError as error:
            reasons.append(str(error))
    with_keys, with_indices = reasons
    raise PermnetError(
        "no shipped model covers the question: "
        f"with keys, {with_keys}; with indices, {with_indices}"
    )


def _no_such_length(count: int, tasks: dict[str, Task]) -> str:
    """The count, and the models whose lengths lie next to it."""
    below = [name for name, task in tasks.items() if task.longest < count]
    above = [name for name, task in tasks.items() if task.shortest > count]
    nearest = [max(below, key=lambda name: tasks[name].longest)] if below else []
    nearest += [min(above, key=lambda name: tasks[name].shortest)] if above else []
    near = " and ".join(f"{name} with {_lengths(tasks[name])}" for name in nearest)
    if not near:
        return f"{count} data"
    return f"{count} data: {'next to them are' if above else 'the longest is'} {near}"


def _lengths(task: Task) -> str:
    same = task.shortest == task.longest
    return f"{task.longest}" if same else f"{task.shortest} to {task.longest}"


@overload
def resolve(text: str, model: str | Path | None = None) -> Answer: ...
@overload
def resolve(text: list[str], model: str | Path | None = None) -> list[Answer]: ...
def resolve(text: str | list[str], model: str | Path | None = None) -> Answer | list[Answer]:
    """The answer to a text, or to each of several, from a shipped model or a checkpoint's folder.

    Without `model`, from the smallest shipped one that was trained for its like. To ask one model
    often, keep a `permnet.answers.Resolver`.
    """
    return _all_or_error(Shipped() if model is None else Resolver.load(model), text)


def _all_or_error(source: Resolver | Shipped, text: str | list[str]) -> Answer | list[Answer]:
    answers = []
    for answer in source.each([text] if isinstance(text, str) else text):
        if isinstance(answer, PermnetError):
            raise answer
        answers.append(answer)
    return answers[0] if isinstance(text, str) else answers


def read(text: str, about: Description) -> Question:
    """The question in the ids of the model described, or what is wrong with it."""
    if len(text) > LONGEST_TEXT:
        raise PermnetError(f"the text has {len(text)} characters: at most {LONGEST_TEXT} are read")
    strange = next((c for c in text if not (c.isprintable() or c.isspace())), None)
    if strange is not None:
        raise PermnetError(f"the text holds the character {strange!r}: write printable ones only")
    tokens = text.split()
    task = task_of(about)
    parsed = parse(task.kind, tokens, NOISE if task.noise else ())
    _check_size(parsed, task)
    _check_roles(parsed, task, about.vocab)
    sos, eos = SPECIALS[SOS], SPECIALS[EOS]
    body = tokens[tokens[0] == sos : len(tokens) - (tokens[-1] == eos)]
    ids, lent = about.vocab.encode([sos, *body, eos])
    _check_width(ids, about)
    return Question(ids, lent, parsed)


def task_of(about: Description) -> Task:
    """What questions a model answers; one that reads assembly answers none."""
    if not isinstance(about.task, Task):
        name = about.run.benchmark
        raise PermnetError(f"a model of {name} reads assembly, it answers no questions")
    return about.task


def _check_size(parsed: Parsed, task: Task) -> None:
    for what, part in (("data", parsed.data), ("queries", parsed.queries)):
        if len(part) > task.longest:
            raise PermnetError(
                f"the question has {len(part)} {what}, the model was built for up to {task.longest}"
            )


def _check_roles(parsed: Parsed, task: Task, vocab: Vocab) -> None:
    """A token the model knows as a datum is no key to it, and the other way round."""
    data = set(data_names(task.size))
    for token in parsed.data:
        if token in vocab and token not in data:
            raise PermnetError(f"{token!r} stands among the data, but is none to this model")
    for token in (*parsed.keys, *parsed.queries):
        if token in data:
            raise PermnetError(f"{token!r} stands for a key, but is a datum to this model")


def unlike(text: str, about: Description) -> str | None:
    """What the model was trained on that this text, which it can read, is not."""
    try:
        _check_likeness(read(text, about).parsed, task_of(about))
    except PermnetError as error:
        return str(error)
    return None


def _check_likeness(parsed: Parsed, task: Task) -> None:
    """Refuses what the task never asks: a model may answer it, but nobody taught it to."""
    count = len(parsed.data)
    if count < task.shortest:
        raise PermnetError(f"trained on {_lengths(task)} data, not {count}")
    if len(parsed.queries) != count:
        raise PermnetError(
            f"trained on as many queries as data, not {len(parsed.queries)} for {count}"
        )
    if len(set(parsed.data)) < count:
        raise PermnetError("trained on data that do not repeat")
    if not set(parsed.data).isdisjoint(parsed.keys):
        raise PermnetError("trained on keys that are no data")
    if task.kind != "dict" and len(set(parsed.queries)) < count:
        raise PermnetError("trained on queries that do not repeat")


def _check_width(ids: list[int], about: Description) -> None:
    most = task_of(about).input_width
    if len(ids) > most:
        raise PermnetError(f"the question has {len(ids)} tokens, the model reads up to {most}")
    without = about.run.model.without
    if without in FIXED_LENGTH and len(ids) != most:
        raise PermnetError(
            f"without {without} this model reads inputs of exactly {most} tokens, not {len(ids)} "
            "(<sos>, <sep> and <eos> counted)"
        )


def _alike(questions: dict[int, Question]) -> list[list[int]]:
    """Groups of questions of equal length: nothing is padded, and nothing waits for a long one."""
    groups = defaultdict(list)
    for i, question in questions.items():
        groups[len(question.ids)].append(i)
    return [
        rows[start : start + BATCH]
        for rows in groups.values()
        for start in range(0, len(rows), BATCH)
    ]


def ask(checkpoint: Checkpoint, questions: list[Question]) -> tuple[Answers, Tensor]:
    """Greedy answers to questions of one length, with all that the model computed on the way.

    And per output (B, T) the position, `<sos>` apart, that gave most to its token, or -1.
    """
    device = next(checkpoint.model.parameters()).device
    inputs = torch.tensor([question.ids for question in questions], device=device)
    found = greedy(checkpoint.model, inputs, task_of(checkpoint).target_width, record=True)
    if not bool(found.confidence.isfinite().all()):
        raise PermnetError("the model's weights overflow on this question: it cannot answer")
    places = torch.full_like(found.ids, -1)
    for t, step in enumerate(found.steps):
        if step.positions is not None:
            held = inputs == found.ids[:, t, None]
            best = step.positions.masked_fill(~held, -torch.inf).argmax(1) - 1
            places[:, t] = torch.where(held.any(1), best, -1)
    return found, places
