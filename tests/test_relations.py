"""M_dk and M_kp out of one product, and Triton's version of it."""

import importlib.util
import itertools
import os
import subprocess
import sys

import pytest
import torch

from permnet.kernels.relations import gram, gram_and_scores, on_chip, relations
from tests import reference


def arguments(batch, length, dtype=torch.double, device="cpu", seed=0):
    generator = torch.Generator().manual_seed(seed)
    states = torch.randn(batch, length, 5, generator=generator, dtype=torch.double)
    labels = torch.softmax(
        torch.randn(batch, length, 4, generator=generator, dtype=torch.double), -1
    )
    lengths = torch.randint(1, length + 1, (batch, 1), generator=generator)
    lengths[0] = length
    floats = [states, *labels.unbind(-1)[:3]]
    mask = (torch.arange(length) < lengths).to(device)
    ids = torch.randint(4, 4 + max(1, length // 2), (batch, length), generator=generator)
    return [v.to(device, dtype).requires_grad_() for v in floats], mask, ids.to(device)


@pytest.mark.parametrize("equal", [False, True])
@pytest.mark.parametrize("log", [True, False])
def test_relations_are_those_of_the_weighted_matrices(log, equal):
    (m_e, *weights), mask, ids = arguments(2, 6)
    products = m_e @ m_e.mT
    m_dk, m_kp = relations(products, *weights, mask, ids, log=log, equal=equal)
    d, k, p = (w[0] for w in weights)  # the first example has no padding
    for found, left, right, among in (
        (m_dk, d, k, None),
        (m_kp, k, p, ids[0].tolist() if equal else None),
    ):
        slow = reference.mlogsoftmax_between(left[:, None] * products[0] * right, log, among)
        torch.testing.assert_close(found[0], slow)
    real = int(mask[1].sum())
    assert m_dk[1, real:].abs().sum() + m_kp[1, :, real:].abs().sum() == 0


def fast(m_e, of_data, of_key, of_query, *others):
    return on_chip((gram(m_e), of_data, of_key, of_query), *others)


def same_as_plain(batch, length, device, atol, log, equal, seed):
    """Compares the Triton kernels with the operators in double precision."""
    exact, mask, ids = arguments(batch, length, torch.double, device, seed)
    single, _, _ = arguments(batch, length, torch.float32, device, seed)
    weight = torch.randn(2, batch, length, length, device=device, dtype=torch.double)
    results = []
    for found, inputs in (
        (relations(gram(exact[0]), *exact[1:], mask, ids, log=log, equal=equal), exact),
        (fast(*single, mask, ids, log, equal), single),
    ):
        loss = sum((m.double() * w).sum() for m, w in zip(found, weight, strict=True))
        results.append([*found, *torch.autograd.grad(loss, inputs)])
    for wanted, got in zip(*results, strict=True):
        scale = wanted.abs().max().clamp(min=1e-6)
        torch.testing.assert_close(got.double() / scale, wanted / scale, atol=atol, rtol=0)


def interpreted() -> None:
    """Runs in a process of its own, where Triton interprets its kernels on the CPU."""
    for seed, length in enumerate((1, 2, 7, 33, 70)):
        for log, equal in itertools.product((True, False), repeat=2):
            same_as_plain(2, length, "cpu", 1e-5, log, equal, seed)
    inputs, *others = arguments(2, 7, torch.bfloat16)
    narrow = fast(*inputs, *others, True, False)
    for found, wanted in zip(narrow, relations(gram(inputs[0]), *inputs[1:], *others), strict=True):
        assert found.dtype == wanted.dtype == torch.bfloat16  # a product follows
        torch.testing.assert_close(found, wanted, atol=0.02, rtol=0.02)


@pytest.mark.skipif(importlib.util.find_spec("triton") is None, reason="Triton is not installed")
def test_triton_kernels_through_the_interpreter():
    done = subprocess.run(
        [sys.executable, "-c", "from tests.test_relations import interpreted; interpreted()"],
        env={**os.environ, "TRITON_INTERPRET": "1"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr[-3000:]


@pytest.mark.gpu
@pytest.mark.parametrize("equal", [False, True])
@pytest.mark.parametrize(("batch", "length"), [(512, 33), (64, 123), (32, 303), (4, 1000)])
def test_triton_kernels_on_a_gpu(batch, length, equal):
    same_as_plain(batch, length, "cuda", 1e-4, True, equal, 0)


@pytest.mark.parametrize("equal", [False, True])
def test_gradients_are_those_of_the_operators(equal):
    inputs, mask, ids = arguments(2, 5)

    def found(m_e, *weights):
        return relations(gram(m_e), *weights, mask, ids, equal=equal)

    assert torch.autograd.gradcheck(found, inputs)


def test_gram_and_scores_are_two_products_with_their_gradients():
    torch.manual_seed(0)
    m_e = torch.randn(2, 5, 3, dtype=torch.double, requires_grad=True)
    weight = torch.randn(4, 3, dtype=torch.double, requires_grad=True)
    products, scores = gram_and_scores(m_e, weight)
    torch.testing.assert_close(products, m_e @ m_e.mT)
    torch.testing.assert_close(scores, m_e @ weight.T)
    assert torch.autograd.gradcheck(gram_and_scores, (m_e, weight))
