"""The decoder fed by its query attention: the parts of its step, and their gradients."""

import importlib.util
import os
import subprocess
import sys

import pytest
import torch

from permnet.kernels import attended
from permnet.kernels.attended import attended_gru
from permnet.ops import masked_softmax

NAMES = ["table", "h0", "asking", "bias", "rows", "m_e", "w_att", "w_hh", "b_hh"]


def arguments(batch=3, steps=4, length=7, size=5, dtype=torch.double, device="cpu", seed=0):
    generator = torch.Generator().manual_seed(seed)
    shapes = {
        "table": (9, 3 * size),
        "h0": (batch, size),
        "asking": (batch, steps, size),
        "bias": (batch, steps),
        "rows": (batch, steps, length),
        "m_e": (batch, length, size),
        "w_att": (3 * size, size),
        "w_hh": (3 * size, size),
        "b_hh": (3 * size,),
    }
    # Weights of a wide layer are small, or the walk would be chaotic and no two sums agree.
    scale = {"asking": size**-0.5, "w_att": size**-0.5, "w_hh": size**-0.5}
    args = {
        name: (torch.randn(shape, generator=generator, dtype=torch.double) * scale.get(name, 0.5))
        .to(device, dtype)
        .requires_grad_()
        for name, shape in shapes.items()
    }
    args["ids"] = torch.randint(0, 9, (batch, steps), generator=generator).to(device)
    lengths = torch.randint(1, length + 1, (batch, 1), generator=generator)
    lengths[0] = length
    return args, (torch.arange(length) < lengths).to(device)


def slow(ids, table, h0, asking, bias, rows, m_e, mask, w_att, w_hh, b_hh):
    x, h, states = table[ids], h0, []
    for t in range(x.shape[1]):
        s = (asking[:, t] * h).sum(-1) + bias[:, t]
        weights = masked_softmax(s[:, None] * rows[:, t], mask)
        gates = x[:, t] + (weights[:, None] @ m_e)[:, 0] @ w_att.T
        x_r, x_z, x_n = gates.chunk(3, -1)
        h_r, h_z, h_n = (h @ w_hh.T + b_hh).chunk(3, -1)
        r, z = torch.sigmoid(x_r + h_r), torch.sigmoid(x_z + h_z)
        n = torch.tanh(x_n + r * h_n)
        h = (1 - z) * n + z * h
        states.append(h)
    return torch.stack(states, dim=1)


def compare(args, mask, atol, narrow=False):
    weight = torch.randn_like(args["asking"])
    expected = slow(mask=mask, **args)
    wanted = torch.autograd.grad((expected * weight).sum(), [args[n] for n in NAMES])
    got = attended_gru(mask=mask, narrow=narrow, **args)
    found = torch.autograd.grad((got * weight).sum(), [args[n] for n in NAMES])
    torch.testing.assert_close(got, expected, atol=atol, rtol=atol)
    for name, a, b in zip(NAMES, found, wanted, strict=True):
        scale = b.abs().max().clamp(min=1e-12)
        torch.testing.assert_close(a / scale, b / scale, atol=atol, rtol=0, msg=name)


@pytest.mark.parametrize("seed", range(4))
def test_states_and_gradients_are_those_of_the_slow_loop(seed):
    args, mask = arguments(seed=seed)
    compare(args, mask, 1e-12)


def interpreted() -> None:
    """Runs in a process of its own, where Triton interprets its kernels on the CPU."""
    from permnet.kernels import triton_attended

    attended._parts = lambda h: triton_attended
    for seed, sizes in enumerate([(3, 4, 7, 5), (2, 1, 1, 16), (2, 3, 70, 300), (1, 2, 33, 64)]):
        args, mask = arguments(*sizes, torch.float32, seed=seed)
        compare(args, mask, 2e-5)


@pytest.mark.skipif(importlib.util.find_spec("triton") is None, reason="Triton is not installed")
def test_triton_kernels_through_the_interpreter():
    code = "from tests.test_attended import interpreted; interpreted()"
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "TRITON_INTERPRET": "1"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr[-3000:]


@pytest.mark.gpu
@pytest.mark.parametrize("narrow", [False, True])
@pytest.mark.parametrize("sizes", [(512, 11, 33, 64), (64, 41, 123, 512), (32, 101, 303, 1024)])
def test_triton_kernels_on_a_gpu(sizes, narrow, monkeypatch):
    monkeypatch.setattr(torch.backends.cuda.matmul, "fp32_precision", "ieee")
    args, mask = arguments(*sizes, dtype=torch.float32, device="cuda")
    compare(args, mask, 0.2 if narrow else 1e-3, narrow)
