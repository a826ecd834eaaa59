"""A decompiler that knows its answers by heart, with the interface of the models."""

from collections.abc import Sequence

import torch
from torch import Tensor

from permnet.decompiling.answer import LONGEST, Answerer
from permnet.decompiling.pipeline import Pipeline
from permnet.decompiling.question import ask
from permnet.decompiling.text import Function, functions
from permnet.models.base import Seq2Seq
from permnet.models.decompiler import DecompilerStep, Reads
from permnet.tasks.switch.dataset import CORE, shipped
from permnet.tasks.switch.terse import UNSAID, terse
from permnet.vocab import EOS, PAD, Vocab

REST = 1e-3  # the share of each answer in that of the one before it


class TableModel(Seq2Seq):
    """Answers (the most likely first) by the ids of the question, `<eos>` at once to others.

    It copies a token from the first place that holds it, and looks at the last line. Its state is
    what it has read of its own answer, padded.
    """

    def __init__(self, vocab: Vocab) -> None:
        super().__init__()
        self.vocab, self.vocab_size = vocab, len(vocab)
        self.table: dict[tuple[int, ...], list[list[int]]] = {}

    def learn(self, function: Function, answers: Sequence[Sequence[str]], prelude: str) -> None:
        question = ask(function, self.vocab, prelude)
        known = {name: trained for trained, own in question.names.items() for name in own}
        known |= {token.removesuffix("@PLT"): token for token in question.lent}
        assembly = self.vocab.decode(question.ids, question.lent)
        self.table[tuple(question.ids)] = [
            [
                *self.vocab.encode([known.get(t, t) for t in terse(c, assembly)], question.lent)[0],
                EOS,
            ]
            for c in answers
        ]

    def encode(self, inputs: Tensor) -> Tensor:
        return inputs

    def start(self, memory: Tensor) -> Tensor:
        return torch.full((len(memory), LONGEST + 1), PAD)

    def step(self, memory: Tensor, state: Tensor, previous: Tensor) -> DecompilerStep:
        read = (state != PAD).sum(1, keepdim=True)
        said = state.scatter(1, read, previous[:, None])
        logits = torch.full((len(memory), self.vocab_size), -torch.inf)
        for row, ids in enumerate(memory.tolist()):
            so_far = said[row, 1 : int(read[row]) + 1].tolist()
            question = tuple(i for i in ids if i != PAD)
            for rank, answer in enumerate(self.table.get(question, [])):
                if answer[: len(so_far)] == so_far and len(answer) > len(so_far):
                    token = answer[len(so_far)]
                    chance = torch.tensor(REST).log() * rank
                    logits[row, token] = torch.logaddexp(logits[row, token], chance)
            if logits[row].max() == -torch.inf:
                logits[row, EOS] = 0.0
        token = logits.argmax(1)
        held = (memory == token[:, None]).float()
        look = torch.zeros_like(held)
        look.scatter_(1, (memory != PAD).sum(1, keepdim=True) - 2, 1.0)
        reads = Reads(held, look, None)
        return DecompilerStep(logits=logits, state=said, positions=held, reads=reads)


def vocabulary() -> Vocab:
    """All words of the shipped sets, and the numbers that are not rare: the others are lent."""
    counts: dict[str, int] = {}
    for name in CORE:
        for pair in shipped(name).pairs():
            for token in (*pair[0], *pair[1]):
                counts[token] = counts.get(token, 0) + 1
    words = (t for t, n in counts.items() if n > 40 or not t.lstrip("-").isdigit())
    return Vocab(tuple(word for word in words if word not in UNSAID), reserved=32)


def knowing(text: str, answers: dict[str, list[list[str]]], **options) -> Pipeline:
    """A pipeline whose model knows the answers to the functions of a text, by their names."""
    model = TableModel(vocabulary())
    pipeline = Pipeline(Answerer(model, model.vocab), **options)
    for function in functions(text):
        if function.name in answers:
            model.learn(function, answers[function.name], pipeline.compiler.prelude)
    return pipeline


def wrong(c: list[str]) -> list[str]:
    """The same with another first label."""
    return [*c[: c.index("case") + 1], "77", *c[c.index("case") + 2 :]]
