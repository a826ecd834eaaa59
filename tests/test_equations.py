"""Both PermNets against a literal retelling of Eqs 3–28, outputs and gradients."""

import pytest
import torch
from torch.nn import functional as F

from permnet.batch import Batch, pad
from permnet.models import PermNetD, PermNetI
from tests import reference

V = 14
# Inputs with repeated tokens, a target token that is not in the input, and a special token inside
# the target: the paths where a short cut would show.
INPUTS = [[1, 5, 9, 6, 10, 7, 11, 3, 10, 9, 11, 2], [1, 5, 9, 5, 10, 6, 9, 3, 9, 10, 5, 2]]
TARGETS = [[6, 5, 7, 2], [5, 13, 3, 6]]


def make(model: str, **options: str | bool | None) -> PermNetD | PermNetI:
    torch.manual_seed(7)
    if model == "permnetd":
        return PermNetD(V, 5, 6, 4, input_length=12, **options).double()
    return PermNetI(V, 6, 4, input_length=12, **options).double()


CASES = [
    *(("permnetd", {"without": w}) for w in (None, *PermNetD.ABLATIONS)),
    *(("permneti", {"without": w}) for w in (None, *PermNetI.ABLATIONS)),
    *(("permneti", {"without": w, "equal": True}) for w in (None, "m_d+m_k+m_p", "mlogsoft")),
]


def loss_and_gradients(model, logits, targets):
    loss = F.cross_entropy(logits.flatten(0, 1), targets.flatten())
    model.zero_grad()
    loss.backward()
    return {n: q.grad.clone() for n, q in model.named_parameters()}


@pytest.mark.parametrize(("name", "options"), CASES)
def test_outputs_and_gradients_are_those_of_the_equations(name, options):
    model = make(name, **options)
    batch = Batch(pad(INPUTS), pad(TARGETS))
    parameters = dict(model.named_parameters())
    twin = getattr(reference, name)
    slow = torch.stack(
        [
            twin(parameters, ids, previous, **options)
            for ids, previous in zip(INPUTS, batch.previous.tolist(), strict=True)
        ]
    )
    expected = loss_and_gradients(model, slow, batch.targets)
    fast = model(batch.inputs, batch.previous)
    torch.testing.assert_close(fast, slow.detach(), atol=1e-9, rtol=0)
    for key, gradient in loss_and_gradients(model, fast, batch.targets).items():
        torch.testing.assert_close(gradient, expected[key], atol=1e-9, rtol=0, msg=key)


def test_first_step_reads_the_mean_of_the_real_positions():
    model = make("permneti")
    memory = model.encode(pad([INPUTS[0], INPUTS[1][:6]]))
    step = model.step(memory, model.start(memory), torch.tensor([1, 1]))
    torch.testing.assert_close(step.attention[0], torch.full((12,), 1 / 12).double())
    torch.testing.assert_close(step.attention[1], torch.tensor([1 / 6] * 6 + [0.0] * 6).double())


def test_short_cut_without_repeats_equals_the_general_form():
    model = make("permneti")
    batch = Batch(pad([INPUTS[0], [*INPUTS[0][:10], 2]]), pad([TARGETS[0], [7, 5, 2]]))
    general = model(batch.inputs, batch.previous)
    expected = loss_and_gradients(model, general[:, :3], batch.targets[:, :3])
    short = model(batch.inputs, batch.previous, repeats=False)
    torch.testing.assert_close(short, general, atol=1e-12, rtol=0)
    for key, gradient in loss_and_gradients(model, short[:, :3], batch.targets[:, :3]).items():
        torch.testing.assert_close(gradient, expected[key], atol=1e-12, rtol=0, msg=key)
