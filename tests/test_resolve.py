"""Questions in words, answered by weights alone."""

import json
import subprocess
import sys
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

from permnet import checkpoint
from permnet.answers import Answer, Resolver, Shipped, resolve
from permnet.build import build
from permnet.checkpoint import Checkpoint, save
from permnet.config import ModelConfig, Run
from permnet.decode import greedy
from permnet.errors import PermnetError
from permnet.evaluate import evaluate, predict
from permnet.metrics import compare
from permnet.models import MODELS
from permnet.models.base import Seq2Seq, Step
from permnet.tasks.benchmarks import benchmark
from permnet.tasks.permutation import Task
from permnet.vocab import EOS, SEP, data_names

ROOT = Path(__file__).parent.parent
SMALL = {"embedding": 8, "hidden": 4, "layers": 1, "heads": 2, "head_size": 4}


@dataclass(frozen=True)
class Read:
    inputs: Tensor


class Echo(Seq2Seq):
    """Says the input between `<sos>` and `<sep>`, pointing at each place: easy to foretell."""

    def __init__(self, vocab_size: int) -> None:
        super().__init__()
        self.vocab_size = vocab_size
        self.weight = nn.Parameter(torch.tensor(3.0))

    def encode(self, inputs: Tensor) -> Read:
        return Read(inputs)

    def start(self, memory: Read) -> Tensor:
        return torch.ones_like(memory.inputs[:, 0])

    def step(self, memory: Read, state: Tensor, previous: Tensor) -> Step:
        said = memory.inputs.gather(1, state[:, None])[:, 0]
        said = said.masked_fill(said == SEP, EOS)
        positions = self.weight * nn.functional.one_hot(state, memory.inputs.shape[1]).float()
        logits = self.weight * nn.functional.one_hot(said, self.vocab_size).float()
        return Step(logits, state + 1, positions)


def echo(where: str = "PI1-4", reserved: int = 0) -> Resolver:
    task = benchmark(where).task
    vocab = task.vocab(reserved)
    return Resolver(Checkpoint(Run(where), task, vocab, {}, Echo(len(vocab))))


def small(where: str, name: str = "permneti", **options: object) -> Resolver:
    run = Run(where, ModelConfig(name=name, **SMALL, **options))
    task = benchmark(where).task
    vocab = task.vocab(reserved=2)
    torch.manual_seed(0)
    model = build(run.model, vocab, task).eval()
    return Resolver(Checkpoint(run, task, vocab, {}, model))


def test_tokens_confidence_and_positions() -> None:
    answer = echo()("a 1 b 2 <sep> 2 1")
    assert answer.tokens == ["a", "1", "b", "2"]
    assert answer.positions == [0, 1, 2, 3]
    sure = torch.tensor([3.0, *[0.0] * 23]).softmax(0)[0].item()
    assert answer.confidence == pytest.approx([sure] * 4)


def test_enclosing_tokens_may_be_left_out() -> None:
    text = "a 1 b 2 <sep> 2 1"
    for form in (f"<sos> {text} <eos>", f"<sos> {text}", f"{text} <eos>", f"  {text}\n"):
        assert echo()(form) == echo()(text)


def test_unseen_tokens_come_back_under_their_own_names() -> None:
    assert echo(reserved=2)("zebra 77 <sep> 77").tokens == ["zebra", "77"]
    with pytest.raises(PermnetError, match="'zebra' is not in the vocabulary"):
        echo()("zebra 1 <sep> 1")


def test_a_token_that_is_not_in_the_input_has_no_position() -> None:
    resolver = small("PI1-4", "permneti")
    with torch.no_grad():
        resolver.checkpoint.model.vocabulary.bias.fill_(0.0)
        resolver.checkpoint.model.vocabulary.bias[resolver.checkpoint.vocab.encode(["j"])[0]] = 99.0
    answer = resolver("a 1 b 2 <sep> 2 1")
    assert answer.tokens == ["j"] * 5  # never stops: cut at the longest target
    assert answer.positions == [None] * 5
    assert resolver("j 1 b 2 <sep> 2 1").positions == [0] * 5


def test_models_that_do_not_point_have_no_positions() -> None:
    answer = small("PI1-4", "gru")("a 1 b 2 <sep> 2 1")
    assert set(answer.positions) <= {None}


def test_the_position_is_the_likeliest_of_those_that_hold_the_token() -> None:
    class Twice(Echo):
        def step(self, memory: Read, state: Tensor, previous: Tensor) -> Step:
            step = super().step(memory, state, previous)
            return Step(step.logits, step.state, torch.tensor([[9.0, 0, 9, 9, 9, 1, 9, 9]]))

    made = echo().checkpoint
    found = Resolver(replace(made, model=Twice(len(made.vocab))))
    # <sos> a 1 a 2 <sep> 2 <eos>: the first a has weight 0, the second 9.
    assert found("a 1 a 2 <sep> 2").positions[0] == 2


@pytest.mark.parametrize("name", MODELS)
def test_together_as_one_by_one_and_in_order(name: str) -> None:
    resolver = small("PI1-4", name)
    texts = ["a 1 b 2 <sep> 2 1", "c 3 <sep> 3", "d 9 e 8 f 7 <sep> 7 9 8", "b 1 a 2 <sep> 1 2"]
    together = resolver(texts * 40)
    assert len(together) == 160
    for text, answer in zip(texts * 40, together, strict=True):
        alone = resolver(text)
        assert (answer.tokens, answer.positions) == (alone.tokens, alone.positions)
        assert answer.confidence == pytest.approx(alone.confidence, abs=1e-5)
    assert resolver([]) == []


def test_the_answer_comes_from_the_weights() -> None:
    resolver = small("PI1-4")
    before = resolver("a 1 b 2 c 3 <sep> 3 1 2")
    with torch.no_grad():
        for weight in resolver.checkpoint.model.parameters():
            weight.zero_()
    assert resolver("a 1 b 2 c 3 <sep> 3 1 2").tokens != before.tokens


BAD = {
    "": "the question is empty",
    "   \t ": "the question is empty",
    "<sos> <eos>": "the question is empty",
    "a 1 b 2": "one <sep>, this one has 0",
    "a 1 <sep> 1 <sep> 1": "one <sep>, this one has 2",
    "a 1 <pad> <sep> 1": "<pad> stands inside",
    "a 1 <sep> 2": "key '2' has no datum",
    "a 1 b <sep> 1": "datum 'b' has no key",
    "a 1 b 1 <sep> 1": "key '1' stands twice",
    "a 1 b 2 c 3 d 4 e 5 <sep> 1": "5 data, the model was built for up to 4",
    "a 1 <sep> 1 1 1 1 1": "5 queries, the model was built for up to 4",
    "1 a <sep> a": "'1' stands among the data",
    "a b <sep> b": "'b' stands for a key",
    "a\0 1 <sep> 1": r"character '\\x00'",
    "a\x1b[2J 1 <sep> 1": r"character '\\x1b'",
    "a\udcff 1 <sep> 1": r"character '\\udcff'",
    "a " * 600_000: "1200000 characters: at most 1000000",
    "a 1 <unk0> 2 <sep> 1": "'<unk0>' is not in the vocabulary",
}


@pytest.mark.parametrize("text", BAD, ids=range(len(BAD)))
def test_bad_questions_are_named(text: str) -> None:
    with pytest.raises(PermnetError, match=BAD[text]):
        echo()(text)
    good, bad = echo().each(["a 1 <sep> 1", text])
    assert isinstance(good, Answer)
    assert isinstance(bad, PermnetError)


@pytest.mark.parametrize("name", ["switch-20", "switch-dispatch"])
def test_models_that_read_assembly_answer_no_questions(name: str) -> None:
    with pytest.raises(PermnetError, match=f"a model of {name} reads assembly"):
        resolve("a 1 <sep> 1", name)


def test_questions_are_asked_where_the_model_is() -> None:
    resolver = small("PI1-4")
    vocab = resolver.checkpoint.vocab
    said = resolver("a 1 b 2 <sep> 2 1")
    figures = evaluate(resolver.checkpoint.model, "PI1-4", limit=9, vocab=vocab)
    with torch.device("meta"):  # torch's default is another matter
        assert resolver("a 1 b 2 <sep> 2 1") == said
        again = evaluate(resolver.checkpoint.model, "PI1-4", limit=9, vocab=vocab)
    assert again | {"seconds": 0} == figures | {"seconds": 0}


def test_direct_questions_and_noise() -> None:
    assert echo("PD1-4")("b a <sep> 1 0").tokens == ["b", "a"]
    with pytest.raises(PermnetError, match="index '2' is out of range"):
        echo("PD1-4")("b a <sep> 2 0")
    noisy = " ".join(f"{d} ~1" for d in ["~0", "~3"])
    assert echo("PD10-noise")(f"{noisy} b a <sep> ~9 1 0").tokens[-2:] == ["b", "a"]
    with pytest.raises(PermnetError, match="34 tokens, the model reads up to 33"):
        echo("PD10-noise")("~1 " * 27 + "b a <sep> 1 0")


def test_fixed_length_ablations_say_which_length() -> None:
    with pytest.raises(PermnetError, match="exactly 33 tokens, not 6"):
        small("PI10", without="m_pl")("a 1 <sep> 1")


def test_weights_that_overflow_are_an_error_not_nan() -> None:
    resolver = small("PI1-4")
    with torch.no_grad():
        resolver.checkpoint.model.vocabulary.weight.fill_(3e38)
        resolver.checkpoint.model.vocabulary.bias.fill_(3e38)
    with pytest.raises(PermnetError, match="overflow"):
        resolver("a 1 b 2 <sep> 2 1")


def ship(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for where, name in {"PI1-4": "permneti", "PD1-4": "permnetd", "PI10": "permneti"}.items():
        made = small(where, name).checkpoint
        save(folder / where, made.model, made.run, made.task.vocab(2), {})
    monkeypatch.setattr(checkpoint, "SHIPPED", folder)


def test_the_smallest_that_covers_answers(tmp_path: Path, monkeypatch) -> None:
    ship(tmp_path, monkeypatch)
    ten = " ".join(f"{d} {k}" for k, d in enumerate("abcdefghij", 1))
    ten += " <sep> 1 2 3 4 5 6 7 8 9 10"
    texts = {"a 1 b 2 <sep> 2 1": "PI1-4", "b a <sep> 1 0": "PD1-4", ten: "PI10"}
    for text, name in texts.items():
        assert resolve(text) == Resolver.load(name)(text)
    assert resolve(list(texts)) == [resolve(text, model=name) for text, name in texts.items()]
    with pytest.raises(PermnetError) as refused:
        resolve("a 1 b 2 c 3 d 4 e 5 <sep> 1 2 3 4 5")
    assert str(refused.value) == (
        "no shipped model covers indirect references to 5 data: "
        "next to them are PI1-4 with 1 to 4 and PI10 with 10"
    )


NAMES = data_names(101)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            f"{' '.join(NAMES)} <sep> {' '.join(map(str, range(101)))}",
            "direct references to 101 data: the longest is PD100 with 100",
        ),
        (
            f"{' '.join(f'{x} {x}k' for x in NAMES)} <sep> {NAMES[0]}k",
            "indirect references to 101 data: the longest is PI100 with 100",
        ),
        (
            "a b c <sep> 1 9",
            "the question: with keys, datum 'c' has no key: 3 tokens before <sep>; "
            "with indices, index '9' is out of range: 3 data have 0…2",
        ),
        (
            "a 1 b <sep> 1",
            "the question: with keys, datum 'b' has no key: 3 tokens before <sep>; "
            "with indices, '1' stands among the data",
        ),
    ],
)
def test_a_refusal_says_the_nearest_reason_alone(text: str, message: str) -> None:
    with pytest.raises(PermnetError) as refused:
        Shipped().choose(text)
    assert str(refused.value) == f"no shipped model covers {message}"


def test_without_a_model_of_that_form(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for where in ("PD1-4", "PD10"):
        made = small(where, "permnetd").checkpoint
        save(tmp_path / where, made.model, made.run, made.task.vocab(2), {})
    monkeypatch.setattr(checkpoint, "SHIPPED", tmp_path)
    with pytest.raises(PermnetError, match=r"covers indirect references to 5 data$"):
        resolve("a 1 b 2 c 3 d 0 e 4 <sep> 4 3 2 1 0")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a 1 b 2 <sep> 2", "as many queries as data, not 1 for 2"),
        ("a 1 b 2 <sep> 2 2", "queries that do not repeat"),
        ("a 1 a 2 <sep> 2 1", "data that do not repeat"),
        ("x 1 y x <sep> x 1", "keys that are no data"),
    ],
)
def test_only_a_named_model_answers_what_it_was_not_trained_on(
    tmp_path: Path, monkeypatch, text: str, message: str
) -> None:
    ship(tmp_path, monkeypatch)
    with pytest.raises(PermnetError, match=message):
        resolve(text)
    assert isinstance(resolve(text, model="PI1-4"), Answer)


def test_repeated_data_are_refused_by_index_and_beside_repeated_queries() -> None:
    with pytest.raises(PermnetError, match=r"PD1-4.*: trained on data that do not repeat"):
        resolve("a a a <sep> 2 0 1")
    repeating = " ".join(f"{d} {k}" for k, d in enumerate("abcdefghii", 1))
    with pytest.raises(PermnetError, match=r"PI_DICT.*: trained on data that do not repeat"):
        resolve(f"{repeating} <sep> 1 1 3 4 5 6 7 8 9 10")


def test_nothing_shipped_is_said(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(checkpoint, "SHIPPED", tmp_path)
    with pytest.raises(PermnetError, match="name a checkpoint's folder"):
        Shipped()


SOLVERS = """
import sys
import permnet.answers, permnet.models, permnet.decode, permnet.evaluate, permnet.checkpoint
import permnet.cli
assert "permnet.tasks.solve" not in sys.modules
"""


def test_no_solver_is_ever_imported() -> None:
    subprocess.run([sys.executable, "-c", SOLVERS], cwd=ROOT, check=True)


SHIPPED = [n for n in checkpoint.shipped() if isinstance(checkpoint.describe(n).task, Task)]


@pytest.mark.parametrize("name", SHIPPED)
def test_shipped_models_are_right(name: str) -> None:
    found = checkpoint.load(name)
    figures = evaluate(found.model, found.run.benchmark, "validation", 500, vocab=found.vocab)
    assert figures["wea"] > 0.99


def test_shipped_models_bear_as_many_unseen_tokens_as_they_take() -> None:
    measured = json.loads((ROOT / "results" / "unseen.json").read_text())["rows"]
    assert {row["model"]: row["unseen"] for row in measured} == {
        "PD1-4": 4,
        "PI1-4": 8,
        "PI1-10": 20,
    }
    assert all(row["right"] > 0.98 * row["count"] for row in measured)
    words = " ".join(f"w{i} k{i}" for i in range(10))
    asked = [f"k{i}" for i in range(9, -1, -1)]
    answer = Resolver.load("PI1-10")([f"{words} <sep> {' '.join(asked)}"])[0]
    assert answer.tokens == [f"w{i}" for i in range(9, -1, -1)]


def test_evaluation_of_a_model_that_is_always_wrong_and_of_one_that_knows() -> None:
    split = benchmark("PI1-4").split("validation", 300)
    vocab = split.vocab
    figures = evaluate(Echo(len(vocab)), split, vocab=vocab, batch=64)
    said = predict(Echo(len(vocab)), torch.from_numpy(split.examples.inputs.astype("int64")), 5)
    ta, whole = compare(said.numpy(), split.examples.targets)
    assert figures["ta"] == pytest.approx(ta.mean())
    assert figures["wea"] == whole.mean() == 0
    assert figures["count"] == 300
    assert figures["benchmark"] == "PI1-4@1"
    assert figures["data_sha256"] == split.sha256
    assert sum(row["count"] for row in figures["by_length"].values()) == 300
    assert figures["unseen"]["count"] < 300


@pytest.mark.parametrize("name", MODELS)
def test_prediction_in_batches_is_greedy_at_once(name: str) -> None:
    resolver = small("PI1-4", name)
    model, vocab = resolver.checkpoint.model, resolver.checkpoint.vocab
    ids = vocab.shifted(benchmark("PI1-4").split("test", 50).examples.inputs)
    inputs = torch.from_numpy(ids.astype("int64"))
    at_once = greedy(model, inputs, 5).ids
    seen: list[tuple[int, int]] = []
    model.train()
    found = predict(model, inputs, 5, 7, lambda done, total: seen.append((done, total)))
    assert model.training
    assert torch.equal(found[:, : at_once.shape[1]], at_once)
    assert found.shape == (50, 5)
    assert seen[-1] == (50, 50)


@pytest.mark.parametrize("name", MODELS)
def test_teacher_forced_ta_is_what_it_says(name: str) -> None:
    resolver = small("PI1-4", name)
    model, vocab = resolver.checkpoint.model, resolver.checkpoint.vocab
    split = benchmark("PI1-4").split("validation", 40)
    total = 0.0
    for asked, answer in zip(split.examples.inputs, split.examples.targets, strict=True):
        asked, answer = (vocab.shifted(row[row > 0]).tolist() for row in (asked, answer))
        logits = model(torch.tensor([asked]), torch.tensor([[1, *answer[:-1]]]))
        said = logits[0].argmax(-1).tolist()
        total += sum(a == b for a, b in zip(said, answer, strict=True)) / len(answer)
    found = evaluate(model, split, vocab=vocab, batch=16)["teacher_forced_ta"]
    assert found == pytest.approx(total / 40)


def test_a_larger_vocabulary_covers_a_smaller_benchmark_but_not_the_other_way() -> None:
    resolver = small("PI20")
    model, vocab = resolver.checkpoint.model, resolver.checkpoint.vocab
    assert evaluate(model, "PI10", limit=20, vocab=vocab)["count"] == 20
    with pytest.raises(PermnetError, match="does not cover PI40@1: 40 tokens are missing"):
        evaluate(model, "PI40", limit=20, vocab=vocab)


def test_what_is_wrong_for_every_model_is_said_plainly() -> None:
    with pytest.raises(PermnetError, match=r"^a question has one <sep>, this one has 0$"):
        resolve("a b c")
