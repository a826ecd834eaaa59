"""The contract that every model and every ablation keeps (permnet/models/base.py)."""

import copy
import dataclasses
import functools
import itertools
import random

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch.nn import functional as F

from permnet.batch import Batch, pad
from permnet.decode import beam, greedy
from permnet.errors import PermnetError
from permnet.models import MODELS, DirectResolver, IndirectResolver, PermNetD, PermNetI
from permnet.models.base import Seq2Seq, Step, join_rows, take_rows
from permnet.vocab import EOS, PAD, SEP, SOS, SPECIALS

V = 11  # ids in the vocabulary of these tests
WIDTH = 9  # columns of their inputs: the only length that a fixed-length ablation reads
FIXED = (*DirectResolver.FIXED, *IndirectResolver.FIXED)
SIZES = {
    "permnetd": {"longest": 3},
    "transformer": {"layers": 2, "heads": 2, "head_size": 2},
}
CASES = [
    *((name, None) for name in MODELS),
    *(("permnetd", without) for without in PermNetD.ABLATIONS),
    *(("permneti", without) for without in PermNetI.ABLATIONS),
]
every_model = pytest.mark.parametrize(
    "case", CASES, ids=[f"{n}-without-{w}" if w else n for n, w in CASES]
)
few = settings(max_examples=8)
seeds = st.integers(0, 2**32 - 1)


@functools.cache
def build(case: tuple[str, str | None], vocab_size: int = V, seed: int = 0) -> Seq2Seq:
    """A small model in double precision, its weights far from 0 so that everything matters."""
    name, without = case
    sizes = {"embedding": 5, "hidden": 4} | SIZES.get(name, {})
    if without:
        sizes |= {"without": without, "input_length": WIDTH if without in FIXED else None}
    model = MODELS[name](vocab_size, **sizes).double()
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.normal_(std=0.5, generator=generator)
    return model


def sample(seed: int, rows: int | None = None, repeats: bool = True, vocab_size: int = V) -> Batch:
    """Rows of different lengths; the answers are made of tokens of their inputs."""
    draw = random.Random(seed)
    tokens = range(len(SPECIALS), vocab_size)
    inputs, targets = [], []
    for _ in range(rows or draw.randint(1, 4)):
        count = draw.randint(1, min(len(tokens), WIDTH - 3))
        body = draw.choices(tokens, k=count) if repeats else draw.sample(tokens, count)
        inputs.append([SOS, *body, SEP, EOS])
        targets.append([*draw.choices([*body, SEP], k=draw.randint(0, 3)), EOS])
    padded = pad(inputs)
    return Batch(F.pad(padded, (0, WIDTH - padded.shape[1])), pad(targets))


def loss_of(logits: Tensor, targets: Tensor) -> Tensor:
    return F.cross_entropy(logits.flatten(0, 1).float(), targets.flatten(), ignore_index=PAD)


def score_of(model: Seq2Seq, inputs: Tensor, ids: Tensor) -> Tensor:
    """The log-probability of whole answers (B, T), padded after `<eos>`, teacher-forced."""
    logp = torch.log_softmax(model(inputs, Batch(inputs, ids).previous), dim=-1)
    chosen = logp.gather(-1, ids[..., None])[..., 0]
    return chosen.masked_fill(ids == PAD, 0.0).sum(1).float()


def leaves(tree: object) -> list[Tensor]:
    if isinstance(tree, Tensor):
        return [tree]
    if isinstance(tree, tuple):
        return [leaf for part in tree for leaf in leaves(part)]
    if dataclasses.is_dataclass(tree):
        return [x for f in dataclasses.fields(tree) for x in leaves(getattr(tree, f.name))]
    return []


def close(a: object, b: object) -> None:
    torch.testing.assert_close(a, b, atol=1e-10, rtol=1e-10)


@every_model
@few
@given(seed=seeds)
def test_neither_padding_nor_companions_matter(case, seed):
    model, batch = build(case), sample(seed)
    logits = model(batch.inputs, batch.previous)
    assert (logits[..., PAD] == -torch.inf).all()
    further = F.pad(batch.previous, (0, 2), value=PAD)
    close(model(batch.inputs, further)[:, : logits.shape[1]], logits)
    order = torch.randperm(len(batch), generator=torch.Generator().manual_seed(seed))
    close(model(batch.inputs[order], batch.previous[order]), logits[order])
    fixed = case[1] in FIXED
    if not fixed:
        close(model(F.pad(batch.inputs, (0, 3), value=PAD), batch.previous), logits)
    for i in range(len(batch)):
        length, steps = (int((x[i] != PAD).sum()) for x in (batch.inputs, batch.targets))
        inputs = batch.inputs[i : i + 1, : WIDTH if fixed else length]
        close(model(inputs, batch.previous[i : i + 1, :steps])[0], logits[i, :steps])


@pytest.mark.parametrize("case", [case for case in CASES if case[1] in FIXED])
def test_ablations_of_fixed_length_refuse_other_lengths(case):
    model, batch = build(case), sample(0)
    for inputs in (F.pad(batch.inputs, (0, 1), value=PAD), batch.inputs[:, :-1]):
        with pytest.raises(PermnetError, match=f"exactly {WIDTH} tokens, not {inputs.shape[1]}"):
            model(inputs, batch.previous)
    with pytest.raises(PermnetError, match="give input_length"):
        MODELS[case[0]](V, without=case[1], **SIZES.get(case[0], {}))


@every_model
@few
@given(seed=seeds, repeats=st.booleans())
def test_teacher_forced_is_step_by_step(case, seed, repeats):
    model, batch = build(case), sample(seed, repeats=repeats)
    fast = model(batch.inputs, batch.previous, repeats=repeats)
    slow = Seq2Seq.forward(model, batch.inputs, batch.previous)
    close(fast, slow)
    parameters = list(model.parameters())
    weight = torch.randn(fast.shape, generator=torch.Generator().manual_seed(seed))
    grads = [
        torch.autograd.grad(
            (torch.log_softmax(x, -1) * weight)[x.isfinite()].sum(), parameters, allow_unused=True
        )
        for x in (fast, slow)
    ]
    for a, b in zip(*grads, strict=True):
        close(a, b)


@every_model
def test_logits_are_the_same_where_nobody_asks_for_gradients(case):
    model, batch = build(case), sample(0)
    with torch.no_grad():
        logits = model(batch.inputs, batch.previous)
    close(logits, model(batch.inputs, batch.previous))


@every_model
@pytest.mark.filterwarnings("ignore:Anomaly Detection")
def test_every_parameter_learns(case):
    model, batch = copy.deepcopy(build(case)), sample(0, rows=32)
    with torch.autograd.detect_anomaly(check_nan=True):
        loss_of(model(batch.inputs, batch.previous), batch.targets).backward()
    for name, parameter in model.named_parameters():
        assert parameter.grad is not None, f"{name} takes no part"
        assert parameter.grad.isfinite().all(), name
        assert parameter.grad.any(), f"{name} makes no difference"


@every_model
@few
@given(seed=seeds)
def test_greedy_is_a_beam_of_one(case, seed):
    model, inputs = build(case), sample(seed).inputs
    answers, beams = greedy(model, inputs, 5), beam(model, inputs, 5, width=1)
    assert (answers.ids == beams.ids[:, 0]).all()
    for row, confidence, score in zip(
        answers.ids, answers.confidence, beams.scores[:, 0], strict=True
    ):
        said = row[row != PAD]
        assert row[: len(said)].tolist() == said.tolist()  # padding at the end only
        assert EOS not in said[:-1]
        assert len(said) == 5 or said[-1] == EOS
        torch.testing.assert_close(confidence[: len(said)].log().sum(), score)


@every_model
@few
@given(seed=seeds)
def test_beams_are_sorted_and_scored_by_their_probability(case, seed):
    model, inputs = build(case), sample(seed).inputs
    beams = beam(model, inputs, 4, width=3)
    assert (beams.scores.diff(dim=1) <= 0).all()
    assert beams.scores[:, 0].isfinite().all()
    for ids, scores in zip(beams.ids.unbind(1), beams.scores.unbind(1), strict=True):
        real = scores.isfinite()
        expected = score_of(model, inputs[real], ids[real])
        torch.testing.assert_close(scores[real], expected, atol=1e-4, rtol=1e-5)


@every_model
def test_wide_beam_is_exhaustive_search(case):
    model = build(case, vocab_size=6)
    inputs = F.pad(torch.tensor([[SOS, 4, 5, 4, SEP, EOS]]), (0, WIDTH - 6))
    said = [t for t in range(6) if t not in (PAD, EOS)]
    answers = [
        [*words, *end]
        for count in range(4)
        for words in itertools.product(said, repeat=count)
        for end in ([[EOS]] if count < 3 else [[]])
    ]
    ids = pad(answers)
    scores, order = score_of(model, inputs.expand(len(ids), -1), ids).sort(descending=True)
    beams = beam(model, inputs, 3, width=len(ids))
    torch.testing.assert_close(beams.scores[0], scores, atol=1e-4, rtol=1e-5)
    if scores[0] > scores[1] + 1e-3:  # with equal logits there are several best answers
        assert beams.ids[0, 0].tolist() == ids[order[0]].tolist()


@every_model
@few
@given(seed=seeds)
def test_rows_of_memory_and_state_can_be_taken(case, seed):
    model, batch = build(case), sample(seed, rows=3)
    memory = model.encode(batch.inputs)
    state = model.step(memory, model.start(memory), batch.previous[:, 0]).state
    order, previous = torch.tensor([2, 0, 0, 1]), batch.inputs[:, 1]
    step = model.step(memory, state, previous)
    taken = model.step(take_rows(memory, order), take_rows(state, order), previous[order])
    assert all(len(leaf) == 3 for leaf in leaves(memory) + leaves(step))
    close(leaves(taken), leaves(take_rows(step, order)))
    joined = join_rows([take_rows(step, torch.tensor([row])) for row in order.tolist()])
    close(leaves(joined), leaves(take_rows(step, order)))
    if step.positions is not None:
        assert step.positions.shape == batch.inputs.shape
        assert not step.positions[batch.inputs == PAD].any()


@every_model
def test_copies_and_loaded_weights_answer_the_same(case):
    model, other, batch = build(case), build(case, seed=1), sample(0)
    logits = model(batch.inputs, batch.previous)
    assert not torch.equal(other(batch.inputs, batch.previous), logits)
    loaded = copy.deepcopy(other)
    loaded.load_state_dict(model.state_dict())
    for twin in (copy.deepcopy(model), loaded):
        assert torch.equal(twin(batch.inputs, batch.previous), logits)


@every_model
def test_no_questions_have_no_answers(case):
    model, batch = build(case), sample(0)
    inputs, previous = batch.inputs[:0], batch.previous[:0]
    assert model(inputs, previous).shape == (0, previous.shape[1], V)
    assert Seq2Seq.forward(model, inputs, previous).shape == (0, previous.shape[1], V)
    assert greedy(model, inputs, 4, record=True).ids.shape == (0, 0)
    assert beam(model, inputs, 4, width=3).ids.shape[:2] == (0, 3)


@every_model
def test_bfloat16_autocast_stays_finite(case):
    model, batch = copy.deepcopy(build(case)).float(), sample(0, rows=8)
    with torch.autocast("cpu", torch.bfloat16):
        logits = model(batch.inputs, batch.previous)
        steps = Seq2Seq.forward(model, batch.inputs, batch.previous)
        loss = loss_of(logits, batch.targets)
    assert not logits.isnan().any()
    assert logits.gather(-1, batch.targets[..., None])[batch.targets != PAD].isfinite().all()
    assert (logits.isfinite() == steps.isfinite()).all()
    loss.backward()
    assert all(p.grad.isfinite().all() for p in model.parameters())


@pytest.mark.parametrize(
    "name", ["permnetd", "permneti", "gru", "pointer", "transformer", "copynet", "decompiler"]
)
@pytest.mark.filterwarnings("ignore")
def test_models_in_training_can_be_exported(name):
    model, batch = build((name, None)), sample(0, rows=8)
    exported = torch.export.export(model, (batch.inputs, batch.previous)).module()
    close(exported(batch.inputs, batch.previous), model(batch.inputs, batch.previous))
    gradients = []
    for trained in (model, exported):  # and trained further
        loss = loss_of(trained(batch.inputs, batch.previous), batch.targets)
        parameters = dict(trained.named_parameters())
        found = torch.autograd.grad(loss, list(parameters.values()))
        gradients.append(dict(zip(parameters, found, strict=True)))
    for name, gradient in gradients[0].items():
        close(gradients[1][name], gradient)


class Counting(Seq2Seq):
    """Says as many 4s as its input holds, then `<eos>`; the state is how many it has said."""

    vocab_size = 5
    steps = 0

    def encode(self, inputs: Tensor) -> Tensor:
        return (inputs == 4).sum(1)

    def start(self, memory: Tensor) -> Tensor:
        return torch.zeros_like(memory)

    def step(self, memory: Tensor, state: Tensor, previous: Tensor) -> Step:
        self.steps += 1
        token = torch.where(state < memory, 4, EOS)
        return Step(F.one_hot(token, self.vocab_size) * 50.0, state + 1)


def test_search_ends_with_the_last_row():
    inputs = torch.tensor([[SOS, 4, 4, EOS], [SOS, EOS, PAD, PAD], [SOS, 4, EOS, PAD]])
    expected = [[4, 4, EOS], [EOS, PAD, PAD], [4, EOS, PAD]]
    model = Counting()
    answers = greedy(model, inputs, 10, record=True)
    assert answers.ids.tolist() == expected
    assert model.steps == len(answers.steps) == 3
    assert beam(model, inputs, 10, width=1).ids[:, 0].tolist() == expected
    assert model.steps == 6
    assert greedy(model, inputs, 2).ids.tolist() == [[4, 4], [EOS, PAD], [4, EOS]]
