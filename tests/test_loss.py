"""The loss through Triton against the definition, which test_ops holds against torch's own."""

import importlib.util
import os
import subprocess
import sys

import pytest
import torch

from permnet.kernels import loss
from permnet.ops import cross_entropy
from permnet.vocab import PAD


def same_as_plain(batch, steps, vocab, device, seed, dtype=torch.float32, tolerance=1e-5):
    torch.manual_seed(seed)
    logits = (5 * torch.randn(batch, steps, vocab, device=device)).to(dtype)
    logits[..., PAD] = -torch.inf
    targets = torch.randint(1, vocab, (batch, steps), device=device)
    targets[torch.rand(batch, steps, device=device) < 0.3] = PAD
    exact, given = (logits.to(kind).requires_grad_() for kind in (torch.double, dtype))
    wanted, got = cross_entropy(exact, targets), loss._CrossEntropy.apply(given, targets)
    torch.testing.assert_close(got.double(), wanted, rtol=tolerance, atol=tolerance)
    gradients = torch.autograd.grad(wanted * 3, exact)[0], torch.autograd.grad(got * 3, given)[0]
    torch.testing.assert_close(gradients[1].double(), gradients[0], atol=tolerance, rtol=tolerance)
    assert gradients[1].dtype == dtype


def interpreted() -> None:
    """Runs in a process of its own, where Triton interprets its kernels on the CPU."""
    for seed, sizes in enumerate([(1, 1, 2), (3, 5, 7), (2, 3, 64), (2, 2, 3000), (70, 11, 30)]):
        same_as_plain(*sizes, "cpu", seed)


@pytest.mark.skipif(importlib.util.find_spec("triton") is None, reason="Triton is not installed")
def test_triton_kernels_through_the_interpreter():
    done = subprocess.run(
        [sys.executable, "-c", "from tests.test_loss import interpreted; interpreted()"],
        env={**os.environ, "TRITON_INTERPRET": "1"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr[-3000:]


@pytest.mark.gpu
@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float32, 1e-4), (torch.bfloat16, 0.02)])
@pytest.mark.parametrize("vocab", [47, 307, 4096])
def test_triton_kernels_on_a_gpu(vocab, dtype, tolerance):
    same_as_plain(512, 41, vocab, "cuda", 0, dtype, tolerance)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.double])
def test_elsewhere_it_is_the_definition_in_single_precision_at_least(dtype):
    logits = torch.randn(2, 3, 5, dtype=dtype)
    targets = torch.tensor([[1, 2, PAD], [4, PAD, PAD]])
    found = loss.cross_entropy(logits, targets)
    assert found.dtype == (torch.double if dtype == torch.double else torch.float32)
    torch.testing.assert_close(found.double(), cross_entropy(logits.double(), targets))
