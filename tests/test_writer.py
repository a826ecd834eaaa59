"""The decompiler's writer: states and gradients against a slow loop, plain and as kernels."""

import importlib.util
import os
import subprocess
import sys

import pytest
import torch

from permnet.kernels import writer as kernels
from permnet.kernels.writer import Held, Source, writer
from permnet.ops import masked_softmax
from permnet.vocab import PAD, SOS, SPECIALS

READ = ("m_e", "keys", "copy_keys", "m_dp", "asking", "bias")
WEIGHTS = ("table", "h0", "score", "w_state", "b_state", "w_read", "w_hh", "b_hh")


def arguments(
    batch=3, steps=6, length=9, width=6, size=5, inner=4, resolves=True, dtype=torch.double,
    device="cpu", seed=0,
):  # fmt: skip
    generator = torch.Generator().manual_seed(seed)
    ways = 3 if resolves else 2
    shapes = {
        "m_e": (batch, length, width),
        "keys": (batch, length, inner),
        "copy_keys": (batch, length, size),
        "m_dp": (batch, length, length),
        "asking": (batch, length, size),
        "bias": (batch, length),
        "table": (9, 3 * size),
        "h0": (batch, size),
        "score": (inner,),
        "w_state": (inner, size),
        "b_state": (inner,),
        "w_read": (3 * size, ways * width),
        "w_hh": (3 * size, size),
        "b_hh": (3 * size,),
    }
    # Weights of a wide layer are small, or the walk would be chaotic and no two sums agree.
    scale = {
        name: (3 / shapes[name][-1]) ** 0.5 / 2
        for name in ("copy_keys", "asking", "w_state", "w_read", "w_hh", "score")
    }
    args = {
        name: (torch.randn(shape, generator=generator, dtype=torch.double) * scale.get(name, 0.5))
        .to(device, dtype)
        .requires_grad_()
        for name, shape in shapes.items()
        if resolves or name not in ("m_dp", "asking", "bias")
    }
    # Few tokens, so that they repeat, special ones among them.
    ids = torch.randint(2, 7, (batch, length), generator=generator)
    previous = torch.randint(2, 9, (batch, steps), generator=generator)
    previous[:, 0] = SOS
    lengths = torch.randint(1, length + 1, (batch,), generator=generator)
    lengths[0] = length
    ids[torch.arange(length) >= lengths[:, None]] = PAD
    previous[-1, -2:] = PAD
    return args, ids.to(device), previous.to(device), lengths.to(device)


def slow(args, ids, previous, lengths):
    mask = ids != PAD
    m_e = args["m_e"] * mask[..., None]
    h, states = args["h0"], []
    copy = v_dw = torch.zeros_like(m_e[..., 0])
    for token in previous.unbind(1):
        looking = h @ args["w_state"].T + args["b_state"]
        looked = torch.tanh(looking[:, None] + args["keys"]) @ args["score"]
        holds = (ids == token[:, None]) & (token != SOS)[:, None]
        reads = [masked_softmax(looked, mask)]
        if "m_dp" in args:
            resolved = holds & (token >= len(SPECIALS))[:, None] & (v_dw > copy)
            holds = holds & (copy > v_dw)
            asked = (v_dw.masked_fill(~resolved, 0.0)[:, None] @ args["m_dp"])[:, 0]
            reads.append(masked_softmax(asked, mask))
        reads.insert(0, masked_softmax(copy, holds))
        read = (torch.stack(reads, 1) @ m_e).flatten(1)
        gates = args["table"][token] + read @ args["w_read"].T
        x_r, x_z, x_n = gates.chunk(3, -1)
        h_r, h_z, h_n = (h @ args["w_hh"].T + args["b_hh"]).chunk(3, -1)
        r, z = torch.sigmoid(x_r + h_r), torch.sigmoid(x_z + h_z)
        n = torch.tanh(x_n + r * h_n)
        h = (1 - z) * n + z * h
        copy = (args["copy_keys"] @ h[..., None])[..., 0]
        if "m_dp" in args:
            v_dw = (args["asking"] @ h[..., None])[..., 0] + args["bias"]
        states.append(h)
    return torch.stack(states, dim=1)


def fast(args, ids, previous, lengths):
    m_e = args["m_e"] * (ids != PAD)[..., None]
    read = {name: args.get(name) for name in READ[1:]}
    source = Source(m_e=m_e, lengths=lengths, score=args["score"], **read)
    weights = {name: args[name] for name in WEIGHTS if name != "score"}
    return writer(ids, previous, source=source, **weights)


def compare(args, ids, previous, lengths, atol):
    expected, got = (f(args, ids, previous, lengths) for f in (slow, fast))
    weight = torch.randn_like(expected)
    wanted, found = (
        torch.autograd.grad((out * weight).sum(), list(args.values())) for out in (expected, got)
    )
    torch.testing.assert_close(got, expected, atol=atol, rtol=atol)
    for name, a, b in zip(args, found, wanted, strict=True):
        scale = b.abs().max().clamp(min=1e-12)
        torch.testing.assert_close(a / scale, b / scale, atol=atol, rtol=0, msg=name)


@pytest.mark.parametrize("resolves", [True, False])
@pytest.mark.parametrize("seed", range(6))
def test_states_and_gradients_are_those_of_the_slow_loop(seed, resolves):
    compare(*arguments(seed=seed, resolves=resolves), 1e-12)


def test_held_positions_are_those_of_the_token_before():
    _, ids, previous, _ = arguments(seed=3)
    held = Held.of(ids, previous)
    for b in range(len(ids)):
        for t, token in enumerate(previous[b].tolist()):
            found = held.order[b, held.first[t, b] : held.last[t, b]].tolist()
            obvious = [] if token in (SOS, PAD) else (ids[b] == token).nonzero()[:, 0].tolist()
            assert found == obvious
            assert bool(held.asks[t, b]) == (token >= len(SPECIALS))


def interpreted() -> None:
    """Runs in a process of its own, where Triton interprets its kernels on the CPU."""
    from permnet.kernels import triton_attended, triton_writer

    kernels._parts = lambda h: (triton_writer, triton_attended)
    for seed, sizes in enumerate(
        [
            *((3, 6, 9, 6, 5, 4), (2, 3, 1, 8, 8, 8), (2, 4, 70, 40, 24, 33)),
            *((2, 3, 300, 128, 16, 64), (2, 3, 70, 600, 520, 4)),
        ]
    ):
        for resolves in (True, False):
            args = arguments(*sizes, resolves=resolves, dtype=torch.float32, seed=seed)
            compare(*args, 5e-5)


@pytest.mark.skipif(importlib.util.find_spec("triton") is None, reason="Triton is not installed")
def test_triton_kernels_through_the_interpreter():
    code = "from tests.test_writer import interpreted; interpreted()"
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "TRITON_INTERPRET": "1"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr[-3000:]


@pytest.mark.gpu
@pytest.mark.parametrize("resolves", [True, False])
@pytest.mark.parametrize(
    "sizes",
    [(16, 21, 70, 64, 64, 64), (32, 60, 650, 256, 256, 256), (64, 11, 22, 1024, 1024, 1024)],
)
def test_triton_kernels_on_a_gpu(sizes, resolves):
    torch.backends.cuda.matmul.allow_tf32 = False
    compare(*arguments(*sizes, resolves=resolves, dtype=torch.float32, device="cuda"), 2e-3)
