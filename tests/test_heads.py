"""Attention of several heads against a loop, and Triton's version of it against torch's."""

import importlib.util
import itertools
import os
import subprocess
import sys

import pytest
import torch

from permnet.kernels import heads as module
from permnet.kernels.heads import attend


def arguments(batch, steps, length, heads, size, dtype=torch.double, device="cpu", seed=0):
    generator = torch.Generator().manual_seed(seed)

    def drawn(*shape):
        values = torch.randn(*shape, generator=generator, dtype=torch.double)
        return values.to(device, dtype).requires_grad_()

    lengths = torch.randint(1, length + 1, (batch, 1), generator=generator)
    mask = (torch.arange(length) < lengths).to(device)
    return drawn(batch, steps, heads * size), drawn(batch, length, 2 * heads * size), mask


def one_by_one(query, pairs, heads, mask, causal):
    """Every query of every head by itself."""
    size = query.shape[2] // heads
    seen = torch.zeros_like(query)
    for b, t, n in itertools.product(range(len(query)), range(query.shape[1]), range(heads)):
        part = slice(n * size, (n + 1) * size)
        keys = pairs[b, :, part]
        values = pairs[b, :, heads * size :][:, part]
        scores = keys @ query[b, t, part] / size**0.5
        for j in range(len(scores)):
            if (mask is not None and not mask[b, j]) or (causal and j > t):
                scores[j] = -torch.inf
        seen[b, t, part] = torch.softmax(scores, 0) @ values
    return seen


@pytest.mark.parametrize("masked", [False, True])
def test_each_head_reads_its_own_part(masked):
    query, pairs, mask = (v.detach() for v in arguments(2, 3, 5, heads=2, size=4))
    mask = mask if masked else None
    torch.testing.assert_close(
        attend(query, pairs, 2, mask), one_by_one(query, pairs, 2, mask, False)
    )


def test_tiles_have_room_for_their_rows_and_for_products():
    assert [module.padded(count) for count in (1, 16, 17, 32, 33, 64)] == [16, 16, 32, 32, 64, 64]


def test_a_causal_query_does_not_look_ahead():
    query, pairs, _ = (v.detach() for v in arguments(2, 4, 4, heads=3, size=2))
    torch.testing.assert_close(
        attend(query, pairs, 3, causal=True), one_by_one(query, pairs, 3, None, True)
    )


def same_as_torch(sizes, device, tolerance, masked, causal, dtype=torch.float32, seed=0):
    """Compares the Triton kernels with torch's attention in double precision."""
    heads = sizes[3]
    *given, mask = arguments(*sizes, dtype, device, seed)
    exact = [v.detach().double().requires_grad_() for v in given]  # rounded alike
    mask = mask if masked else None
    wanted = attend(*exact, heads, mask, causal)
    got = module.attend_on_chip(*given, mask, heads, causal)
    weight = torch.randn(wanted.shape, dtype=torch.double, device=device)
    results = [
        (seen, *torch.autograd.grad((seen.double() * weight).sum(), inputs))
        for seen, inputs in ((wanted, exact), (got, given))
    ]
    for right, found in zip(*results, strict=True):
        assert found.dtype == dtype
        scale = right.abs().max().clamp(min=1e-6)
        torch.testing.assert_close(found.double() / scale, right / scale, atol=tolerance, rtol=0)


def interpreted() -> None:
    """Runs in a process of its own, where Triton interprets its kernels on the CPU."""
    torch.set_float32_matmul_precision("highest")
    cases = [(2, 1, 1, 1, 1), (2, 3, 5, 2, 4), (1, 11, 22, 3, 64), (1, 17, 64, 1, 70)]
    for seed, sizes in enumerate(cases):
        for masked in (False, True):
            same_as_torch(sizes, "cpu", 1e-5, masked, causal=False, seed=seed)
    same_as_torch((2, 21, 21, 2, 5), "cpu", 1e-5, masked=False, causal=True)
    # What a compiler is told about the operator is true of it.
    *given, mask = arguments(2, 3, 5, 2, 4, torch.float32)
    for some in (mask, None):
        torch.library.opcheck(module.attend_on_chip, (*given, some, 2, False))


@pytest.mark.skipif(importlib.util.find_spec("triton") is None, reason="Triton is not installed")
def test_triton_kernels_through_the_interpreter():
    done = subprocess.run(
        [sys.executable, "-c", "from tests.test_heads import interpreted; interpreted()"],
        env={**os.environ, "TRITON_INTERPRET": "1"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr[-3000:]


@pytest.mark.gpu
@pytest.mark.parametrize(
    ("dtype", "precision", "tolerance"),
    [
        (torch.float32, "highest", 1e-5),
        (torch.float32, "high", 5e-3),
        (torch.bfloat16, "high", 2e-2),
    ],
)
@pytest.mark.parametrize(
    ("sizes", "causal"),
    [((256, 23, 23, 12, 64), False), ((256, 11, 11, 12, 64), True), ((64, 21, 64, 1, 128), False)],
)
def test_triton_kernels_on_a_gpu(sizes, causal, dtype, precision, tolerance):
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision(precision)
    try:
        same_as_torch(sizes, "cuda", tolerance, not causal, causal, dtype)
    finally:
        torch.set_float32_matmul_precision(before)
