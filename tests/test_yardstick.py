"""Speed is only worth comparing against the same function."""

import pytest
import torch
from torch.nn import functional as F

from benchmarks.yardstick import straightforward
from permnet.batch import resident
from permnet.models import PermNetD, PermNetI
from permnet.tasks.benchmarks import benchmark


@pytest.mark.parametrize(("name", "make"), [("PD10", PermNetD), ("PI10", PermNetI)])
def test_yardstick_computes_what_we_compute(name, make):
    split = benchmark(name).split("train", limit=16)
    torch.manual_seed(0)
    sizes = {"longest": 10} if make is PermNetD else {}
    ours = make(len(split.vocab), **sizes)
    theirs = straightforward(ours)
    data = resident(split.examples.inputs, split.examples.targets, split.vocab)
    batch = data.rows(torch.arange(16))
    logits = [
        ours(batch.inputs, batch.previous, repeats=False),
        theirs(batch.inputs, batch.previous),
    ]
    torch.testing.assert_close(*logits, atol=1e-4, rtol=1e-4)
    grads = []
    for out in logits:
        ours.embedding.weight.grad = None
        F.cross_entropy(out.flatten(0, 1), batch.targets.flatten()).backward()
        grads.append(ours.embedding.weight.grad)
    torch.testing.assert_close(*grads, atol=1e-5, rtol=1e-3)
