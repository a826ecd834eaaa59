"""Fast decoding says what the obvious loop says, one row at a time."""

import copy
import itertools

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from benchmarks.yardstick import straightforward
from permnet import evaluate
from permnet.batch import Batch, pad
from permnet.decode import LOOK, Decoder, InPlace, Unrolled, beam, greedy, keeps_shape
from permnet.models import MODELS, PermNetD, PermNetI
from permnet.models.base import Seq2Seq, Step
from permnet.tasks.benchmarks import benchmark
from permnet.vocab import EOS, PAD, SEP, SOS
from tests.test_models import build, every_model, few, sample, seeds

LONG = 2 * LOOK + 3


@torch.no_grad()
def obvious(model: Seq2Seq, inputs: Tensor, max_length: int) -> list[tuple[list[int], list[float]]]:
    """The greedy tokens of each row by itself, and their probabilities."""
    answers = []
    for row in inputs.split(1):
        memory = model.encode(row)
        state, said, sure = model.start(memory), [SOS], []
        while len(sure) < max_length and said[-1] != EOS:
            step = model.step(memory, state, torch.tensor([said[-1]], device=inputs.device))
            chances = torch.softmax(step.logits[0].float(), dim=-1)
            said.append(int(chances.argmax()))
            sure.append(float(chances.max()))
            state = step.state
        answers.append((said[1:], sure))
    return answers


def same(ids: Tensor, expected: list[tuple[list[int], list[float]]]) -> bool:
    return ids.tolist() == pad([said for said, _ in expected]).tolist()


@every_model
@few
@given(seed=seeds, max_length=st.sampled_from([1, 3, LONG]))
def test_greedy_is_the_obvious_loop(case, seed, max_length):
    model, inputs = build(case), sample(seed).inputs
    expected = obvious(model, inputs, max_length)
    answers = greedy(model, inputs, max_length, record=True)
    assert same(answers.ids, expected)
    torch.testing.assert_close(answers.confidence, rows([sure for _, sure in expected]))
    assert len(answers.steps) == answers.ids.shape[1]
    decoder = Decoder(model)
    assert all(same(decoder(inputs, max_length), expected) for _ in range(3))


def rows(values: list[list[float]]) -> Tensor:
    return torch.nn.utils.rnn.pad_sequence(list(map(torch.tensor, values)), batch_first=True)


@every_model
@few
@given(seed=seeds)
def test_decoding_in_place_is_the_obvious_loop(case, seed):
    model, first, second = build(case), sample(seed, 4).inputs, sample(seed + 1, 4).inputs
    assert keeps_shape(model, first) == (not case[0].startswith("transformer"))
    for way in (Unrolled, InPlace) if keeps_shape(model, first) else (Unrolled,):
        decode = way(model, first, LONG)
        assert same(decode(first), obvious(model, first, LONG))
        assert same(decode(second), obvious(model, second, LONG))
        assert same(decode(first), obvious(model, first, LONG))


@every_model
def test_models_work_where_their_weights_are(case):
    """Not on torch's default device; and a GPU need not be one of CUDA's."""
    model, batch = build(case), sample(0, rows=8)
    with torch.device("meta"):
        logits = model(batch.inputs, batch.previous)
        answers = greedy(model, batch.inputs, LONG)
        beams = beam(model, batch.inputs, LONG, 2)
    assert {x.device.type for x in (logits, answers.ids, beams.ids)} == {"cpu"}
    assert same(answers.ids, obvious(model, batch.inputs, LONG))


class Fibonacci(Seq2Seq):
    """Says the series that starts as its input does, moved by its start, up to a limit there.

    Its start is part of its memory, and each state of the state before: neither may be overwritten
    too early.
    """

    vocab_size = 100

    def encode(self, inputs: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        return inputs[:, 1] - 4, inputs[:, 2] - 4, inputs[:, 3]

    def start(self, memory: tuple[Tensor, Tensor, Tensor]) -> tuple[Tensor, Tensor]:
        return memory[1], memory[0]

    def step(self, memory: tuple[Tensor, ...], state: tuple[Tensor, ...], previous: Tensor) -> Step:
        b, a = state
        token = torch.where(a < memory[2], 4 + a + memory[0] + memory[1], EOS)
        logits = (torch.arange(self.vocab_size, device=a.device) == token[:, None]) * 50.0
        return Step(logits, (a + b, b))


def series(a: int, b: int, limit: int, max_length: int) -> list[int]:
    said: list[int] = []
    moved = 4 + a + b
    while a < limit and len(said) < max_length:
        said.append(a + moved)
        a, b = b, a + b
    return [*said, EOS][:max_length]


numbers = st.lists(
    st.tuples(st.integers(0, 3), st.integers(0, 3), st.integers(0, 80)), min_size=3, max_size=3
)


@given(batches=st.lists(numbers, min_size=1, max_size=3), max_length=st.integers(1, LONG))
def test_rows_that_end_at_different_steps(batches, max_length):
    model = Fibonacci()
    inputs = [torch.tensor([(SOS, a + 4, b + 4, n) for a, b, n in batch]) for batch in batches]
    ways = [way(model, inputs[0], max_length) for way in (InPlace, Unrolled)]
    for asked, batch in zip(inputs, batches, strict=True):
        expected = pad([series(*row, max_length) for row in batch]).tolist()
        answers = greedy(model, asked, max_length, record=True)
        assert answers.ids.tolist() == expected
        assert [decode(asked).tolist() for decode in ways] == [expected, expected]
        assert len(answers.steps) == len(expected[0])
        for t, step in enumerate(answers.steps):
            for row, token in zip(step.logits, answers.ids[:, t].tolist(), strict=True):
                assert token in (PAD, int(row.argmax()))


def test_rows_that_are_done_are_left_out(monkeypatch):
    model, asked = Fibonacci(), []
    step = model.step
    monkeypatch.setattr(model, "step", lambda *args: asked.append(len(args[2])) or step(*args))
    greedy(model, torch.tensor([[SOS, 5, 5, n] for n in (80, 2, 0, 2, 0, 0)]), LONG)
    assert asked == sorted(asked, reverse=True)
    assert (asked[0], asked[-1]) == (6, 1)


def test_in_place_stops_soon_after_the_last_row(monkeypatch):
    model, steps = Fibonacci(), []
    step = model.step
    monkeypatch.setattr(model, "step", lambda *args: steps.append(1) or step(*args))
    inputs = torch.tensor([[SOS, 5, 5, 2], [SOS, 5, 5, 0]])
    assert InPlace(model, inputs, 10 * LOOK)(inputs).tolist() == [[7, 7, EOS], [EOS, PAD, PAD]]
    assert len(steps) == LOOK


def test_a_state_that_counts_in_python_does_not_keep_its_form(monkeypatch):
    model = Fibonacci()
    inputs = torch.tensor([[SOS, 5, 5, 6]])
    assert keeps_shape(model, inputs)
    monkeypatch.setattr(model, "start", lambda memory: 0)
    monkeypatch.setattr(
        model, "step", lambda memory, state, previous: Step(inputs.float(), state + 1)
    )
    assert not keeps_shape(model, inputs)


@given(
    lengths=st.lists(st.integers(1, 5), min_size=1, max_size=30),
    size=st.integers(1, 12),
    device=st.sampled_from(["cpu", "cuda"]),
)
def test_batches_hold_every_row_with_rows_of_like_length(lengths, size, device):
    inputs = pad([[SOS] * length for length in lengths])
    batches = [b.tolist() for b in evaluate._batches(inputs, size, torch.device(device))]
    assert {row for batch in batches for row in batch} == set(range(len(lengths)))
    assert len(batches) == -(-len(lengths) // size)
    if device == "cuda":
        assert {len(batch) for batch in batches} == {min(size, len(lengths))}
    for one, other in itertools.pairwise(batches):
        assert max(lengths[row] for row in one) <= max(lengths[row] for row in other)
        assert min(lengths[row] for row in one) <= min(lengths[row] for row in other)


@settings(max_examples=20)
@given(seed=seeds, size=st.integers(1, 8))
def test_prediction_gives_every_row_its_own_answer(seed, size):
    model, inputs = build(("permneti", None)), sample(seed, 12).inputs
    found = evaluate.predict(model, inputs, 6, size)
    ids = greedy(model, inputs, 6).ids
    assert torch.equal(found[:, : ids.shape[1]], ids)
    assert not found[:, ids.shape[1] :].any()


@pytest.mark.parametrize("repeated", [False, True])
def test_teacher_forcing_promises_no_repeats_where_there_are_none(repeated, monkeypatch):
    model = build(("permneti", None))
    inputs = torch.tensor([[SOS, 5, 7, SEP, 5 if repeated else 8, EOS], [SOS, 6, SEP, 9, EOS, PAD]])
    data = Batch(inputs, torch.tensor([[5, EOS, PAD], [6, EOS, PAD]]))
    told = []
    forward = model.forward
    monkeypatch.setattr(model, "forward", lambda *a, repeats: told.append(repeats) or forward(*a))
    found = evaluate._teacher_forced(model, data, batch=1)
    right = (forward(inputs, data.previous).argmax(-1) == data.targets)[:, :2]
    assert found == pytest.approx(right.double().mean())
    assert told == [repeated, repeated]


@pytest.mark.parametrize(("name", "make"), [("PD10", PermNetD), ("PI10", PermNetI)])
def test_the_yardstick_decodes_what_we_decode(name, make):
    split = benchmark(name).split("train", limit=32)
    torch.manual_seed(0)
    ours = make(len(split.vocab), **({"longest": 10} if make is PermNetD else {})).double()
    with torch.no_grad():
        for parameter in ours.parameters():
            parameter.normal_(std=0.3)
    inputs = torch.from_numpy(split.examples.inputs.astype("int64"))
    expected = greedy(ours, inputs, 11).ids
    found = straightforward(ours).double().decode(inputs, expected.shape[1])
    assert len(expected.unique()) > 5
    assert torch.equal(found.masked_fill(expected == PAD, PAD), expected)


def on_gpu(name: str) -> tuple[Seq2Seq, list[Tensor]]:
    """A model of real size with weights far from 0, and batches of mixed lengths."""
    split = benchmark("PI1-10").split("test", limit=3 * 64)
    model = MODELS[name](len(split.vocab), **({"longest": 10} if name == "permnetd" else {}))
    shake(model, seed=0)
    inputs = torch.from_numpy(split.examples.inputs.astype("int64")).cuda()
    return model.cuda(), list(inputs.split(64))


@torch.no_grad()
def shake(model: Seq2Seq, seed: int) -> None:
    """New weights in the place of the old."""
    generator = torch.Generator().manual_seed(seed)
    for parameter in model.parameters():
        parameter.copy_(torch.randn(parameter.shape, generator=generator) * 0.3)


@pytest.mark.gpu
@pytest.mark.parametrize("name", MODELS)
def test_captured_is_eager_on_a_gpu(name):
    model, batches = on_gpu(name)
    decoder = Decoder(model)
    for _ in range(2):
        for inputs in batches:
            assert torch.equal(decoder(inputs, LONG), greedy(model, inputs, LONG).ids)
    assert isinstance(decoder.run, Unrolled if name.startswith("transformer") else InPlace)
    short = decoder(batches[0][:5], 3)  # another shape: nothing captured is used for it
    assert decoder.run is None
    assert torch.equal(short, greedy(model, batches[0][:5], 3).ids)


@pytest.mark.gpu
@pytest.mark.parametrize("name", ["permnetd", "permneti", "copynet", "transformer"])
def test_captured_decoding_sees_new_weights_on_a_gpu(name):
    model, (inputs, *_) = on_gpu(name)
    decoder = Decoder(model)
    first = [decoder(inputs, LONG) for _ in range(3)][-1]
    captured = decoder.run
    shake(model, seed=1)
    second = decoder(inputs, LONG)
    assert decoder.run is captured
    assert torch.equal(second, greedy(model, inputs, LONG).ids)
    assert not torch.equal(second, first)
    moved = copy.deepcopy(model)
    shake(moved, seed=2)
    for parameter, other in zip(model.parameters(), moved.parameters(), strict=True):
        parameter.data = other.data
    for _ in range(3):
        assert torch.equal(decoder(inputs, LONG), greedy(moved, inputs, LONG).ids)
    assert decoder.run is not captured


@pytest.mark.gpu
def test_looks_now_and_then_on_a_gpu():
    asked = [(1, 1, 2), (1, 2, 80), (0, 1, 0), (3, 3, 50)]
    inputs = torch.tensor([(SOS, a + 4, b + 4, n) for a, b, n in asked]).cuda()
    expected = pad([series(*row, LONG) for row in asked]).tolist()
    answers = greedy(Fibonacci(), inputs, LONG, record=True)
    assert answers.ids.tolist() == InPlace(Fibonacci(), inputs, LONG)(inputs).tolist() == expected
    assert len(answers.steps) == len(expected[0]) < LONG


@pytest.mark.gpu
def test_prediction_on_a_gpu_gives_every_row_its_own_answer():
    model, batches = on_gpu("permneti")
    inputs = torch.cat(batches)
    expected = [greedy(model, row[None], 11).ids[0].tolist() for row in inputs[:150]]
    for source in (inputs[:150], inputs[:150].cpu()):
        found = evaluate.predict(model, source, 11, 64).tolist()
        wrong = sum(
            a[: len(b)] != b or any(a[len(b) :]) for a, b in zip(found, expected, strict=True)
        )
        assert wrong <= 1  # alone and in a batch a product may round differently
