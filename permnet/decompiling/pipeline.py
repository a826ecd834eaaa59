"""From functions to verified C: greedy answers first, more candidates only where they fail, and
where those fail, too, another model.
"""

import re
import time
import warnings
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from permnet.checkpoint import describe, load, shipped
from permnet.decompiling.answer import Answer, Answerer, Map, batches
from permnet.decompiling.callees import guessed
from permnet.decompiling.guide import hints
from permnet.decompiling.machine import verified
from permnet.decompiling.question import Question, ask
from permnet.decompiling.search import Deviations
from permnet.decompiling.text import Function, functions
from permnet.decompiling.toolchain import KEYWORD, Compiler, prototypes
from permnet.decompiling.verify import name_at
from permnet.errors import PermnetError
from permnet.tasks.switch.assembly import LABEL_NAMES
from permnet.tasks.switch.ctokens import layout
from permnet.tasks.switch.dataset import WIDE
from permnet.tasks.switch.skeleton import Skeleton, skeleton
from permnet.tasks.switch.terse import UNSAID, in_full

MODELS = ("copy-decompiler", "decompiler")
N_BEST = 10

_PARAMETER = re.compile("[pa][0-9]")


@dataclass(frozen=True)
class Decompiled:
    """What became of one function; `c` is None, and `error` says why, where it was refused.

    `confidence` is the model's probability of the whole answer; `map` holds pairs of a line of `c`
    and a line of the file, both from 1; `seconds` is the function's share of its batches' time.
    """

    file: str
    name: str
    c: str | None = None
    verified: bool = False
    confidence: float | None = None
    skeleton: Skeleton | None = None
    map: Map | None = None
    seconds: float = 0.0
    error: str | None = None

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def decompile(
    text: str,
    model: str | Path | None = None,
    *,
    n_best: int = N_BEST,
    compiler: Compiler | None = None,
    proto: str = "",
    guess: bool = False,
) -> list[Decompiled]:
    """The C of each function of an assembly text.

    From the shipped models, one of them, or that of a checkpoint's folder. `proto` declares what is
    called, `guess` the rest as its calls look.

    permnet.decompile(Path("f.s").read_text(), guess=True)[0].c
    """
    if not isinstance(text, str):
        raise PermnetError(
            f"text is assembly, a str, not {type(text).__name__}: permnet.decompiling.source.read "
            "reads files, of machine code, too"
        )
    found = functions(text)
    if not found:
        raise PermnetError("there is no function in the text: assembly is expected")
    compiler = (compiler or Compiler()).declaring(proto)
    if guess:
        compiler = compiler.declaring(" ".join(guessed(found, prototypes(proto)).values()))
    pipeline = Pipeline.load(model, n_best, compiler)
    if pipeline.trouble:
        warnings.warn(f"nothing is verified: {pipeline.trouble}", stacklevel=2)
    return pipeline.each(found)


class Pipeline:
    """A model, a compiler and how many candidates to try.

    `others` are models that are asked, in order, what the one before has no verified answer to.
    """

    def __init__(
        self,
        answerer: Answerer,
        n_best: int = N_BEST,
        compiler: Compiler | None = None,
        others: Sequence[Answerer] = (),
    ) -> None:
        if not 1 <= n_best <= 100:
            raise PermnetError(f"n-best is 1 to 100, not {n_best}")
        self.answerer, self.others, self.n_best = answerer, others, n_best
        self.compiler = compiler or Compiler()
        self.trouble: str | None = None
        """Why nothing is verified, where the compiler is missing or can compile nothing."""
        try:
            self.compiler.check()
        except PermnetError as error:
            self.trouble = str(error)

    @classmethod
    def load(
        cls,
        model: str | Path | None = None,
        n_best: int = N_BEST,
        compiler: Compiler | None = None,
    ) -> "Pipeline":
        """With the shipped models, one of them, or that of a checkpoint's folder."""
        models = shipped_decompilers() if model is None else [model]
        if not models:
            raise PermnetError(
                "no trained decompiler comes with this copy: add --model FOLDER with a checkpoint"
            )
        answerer, *others = map(cls._answerer, models)
        return cls(answerer, n_best, compiler, others)

    @staticmethod
    def _answerer(model: str | Path) -> Answerer:
        checkpoint = load(model)
        if checkpoint.run.model.name not in MODELS:
            raise PermnetError(
                f"{model} is a {checkpoint.run.model.name}, not one of {', '.join(MODELS)}"
            )
        if (said := next((word for word in UNSAID if word in checkpoint.vocab), None)) is not None:
            raise PermnetError(
                f"{model} writes C in full, with `{said}`: it has to be trained anew"
            )
        if f".L{LABEL_NAMES}" not in checkpoint.vocab:
            raise PermnetError(
                f"{model} was trained on labels as gcc numbers them, and would count instead of "
                "following jumps: choose a model of shuffled labels"
            )
        return Answerer(checkpoint.model, checkpoint.vocab)

    def each(self, functions: Sequence[Function]) -> list[Decompiled]:
        """Every function's C, or why it was refused, in order."""
        found = self._answers(self.answerer, functions)
        for other in self.others:
            rest = [i for i, one in enumerate(found) if not one.verified]
            second = self._answers(other, [functions[i] for i in rest])
            for i, answer in zip(rest, second, strict=True):
                found[i] = _better(found[i], answer)
        return found

    def _answers(self, answerer: Answerer, functions: Sequence[Function]) -> list[Decompiled]:
        """What one model makes of them."""
        found: dict[int, Decompiled] = {}
        questions: dict[int, Question] = {}
        for i, function in enumerate(functions):
            try:
                questions[i] = ask(function, answerer.vocab, self.compiler.prelude)
            except PermnetError as error:
                reason = f"outside the domain of the model: {error}"
                found[i] = Decompiled(function.file, function.name, error=reason)
        order, asked = list(questions), list(questions.values())
        for rows in batches(asked):
            answered = self._batch(answerer, [asked[row] for row in rows])
            found.update(zip((order[row] for row in rows), answered, strict=True))
        return [found[i] for i in range(len(functions))]

    def candidates(self, function: Function) -> list[Decompiled]:
        """The n best answers to a function, the most likely first, each tried."""
        began = time.perf_counter()
        question = ask(function, self.answerer.vocab, self.compiler.prelude)
        (found,) = self.answerer.n_best([question], self.n_best)
        answers = self.answerer.retold([question] * len(found), found)
        verdicts = self._verify([(question, answer.c) for answer in answers])
        seconds = (time.perf_counter() - began) / max(len(answers), 1)
        return [
            self._decompiled(question, answer, verdict, seconds)
            for answer, verdict in zip(answers, verdicts, strict=True)
        ]

    def _batch(self, answerer: Answerer, questions: list[Question]) -> list[Decompiled]:
        began = time.perf_counter()
        answers, search = answerer.greedy(questions)
        verdicts = self._verify([(q, a.c) for q, a in zip(questions, answers, strict=True)])
        seconds = [(time.perf_counter() - began) / len(questions)] * len(questions)
        doubtful = [i for i, verdict in enumerate(verdicts) if not verdict]
        if doubtful and not self.trouble:
            began = time.perf_counter()
            found = self._second_look(answerer, questions, doubtful, search)
            retold = answerer.retold([questions[i] for i in found], [*found.values()])
            for i, answer in zip(found, retold, strict=True):
                answers[i], verdicts[i] = answer, True
            for i in doubtful:
                seconds[i] += (time.perf_counter() - began) / len(doubtful)
        return [
            self._decompiled(*parts)
            for parts in zip(questions, answers, verdicts, seconds, strict=True)
        ]

    def _second_look(
        self,
        answerer: Answerer,
        questions: list[Question],
        doubtful: list[int],
        search: Deviations,
    ) -> dict[int, list[int]]:
        """The ids of the first further answer that verifies, for those that have one."""

        def read(found: list[tuple[int, list[int]]]) -> list[tuple[int, list[int], list[str]]]:
            return [(i, ids, questions[i].read(ids, answerer.vocab)) for i, ids in found]

        right: dict[int, list[int]] = {}
        left, wrong = doubtful, read([(i, search.first(i)) for i in doubtful])
        for _ in range(self.n_best - 1):
            told = hints([(said, questions[i].function) for i, _, said in wrong], self.compiler)
            for (i, ids, _), hint in zip(wrong, told, strict=True):
                search.guide(i, ids, hint)
            found = read(search.next(left))
            verdicts = self._verify([(questions[i], in_full(said)[0]) for i, _, said in found])
            for (i, ids, _), verdict in zip(found, verdicts, strict=True):
                if verdict:
                    right[i] = ids
            left = [i for i in left if i not in right and search.goes_on(i)]
            wrong = [one for one in found if one[0] in left]
            if not left:
                break
        return right

    def _verify(self, said: Sequence[tuple[Question, list[str]]]) -> list[bool]:
        if self.trouble:
            return [False] * len(said)
        return verified([(c, question.function) for question, c in said], self.compiler)

    def _decompiled(
        self, question: Question, answer: Answer, verified: bool, seconds: float
    ) -> Decompiled:
        function = question.function
        tokens = list(answer.c)
        if (at := name_at(tokens)) is not None:
            tokens[at] = _in_c(function.name)
            declared = prototypes(self.compiler.prelude)
            # Under a name that it did not have it may be called by nothing, itself included.
            while tokens[at] in declared and (
                tokens[at] != function.name or declared[tokens[at]] != _prototype(tokens)
            ):
                tokens[at] += "_"
        return Decompiled(
            function.file,
            function.name,
            layout(tokens),
            verified,
            answer.confidence,
            skeleton(tokens),
            answer.map,
            round(seconds, 4),
        )


def shipped_decompilers() -> list[str]:
    """The names of the decompilers that come with the package, the one to ask first at first.

    The one of the wide language comes last: what another verifies is the plainer C.
    """
    runs = {name: describe(name).run for name in shipped()}
    names = [name for name, run in runs.items() if run.model.name in MODELS]
    return sorted(names, key=lambda name: runs[name].benchmark == WIDE)


def _better(one: Decompiled, other: Decompiled) -> Decompiled:
    """Of what two models make of a function: the verified one, an answer rather than a refusal, the
    surer answer, the latter refusal.
    """

    def rank(found: Decompiled) -> tuple[bool, bool, float]:
        return found.verified, found.c is not None, found.confidence or 0.0

    chosen = one if rank(one) > rank(other) else other
    return replace(chosen, seconds=round(one.seconds + other.seconds, 4))


def _prototype(c: Sequence[str]) -> str:
    """That of a function whose tokens these are, as `prototypes` writes it."""
    head = c[: c.index(")") + 1 if ")" in c else 0]
    return " ".join([*(t for t in head if not _PARAMETER.fullmatch(t)), ";"])


def _in_c(name: str) -> str:
    """A symbol's name as a C compiler takes it: assembly has dots, and `int` may be a name there.

    >>> _in_c("f.part.0"), _in_c("int"), _in_c("__asm__")
    ('f_part_0', 'int_', '__asm___')
    """
    spelled = re.sub(r"\W|^(?=\d)", "_", name)
    return f"{spelled}_" if KEYWORD.fullmatch(spelled) else spelled
