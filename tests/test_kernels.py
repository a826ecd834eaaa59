"""The GRU's fast walks against an obvious loop and torch's own GRU."""

import importlib.metadata
import importlib.util
import os
import subprocess
import sys

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from permnet.kernels import gru as kernels

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"


def gru_reference(x, h0, w_ih, w_hh, b_ih, b_hh, lengths=None, reverse=False):
    """Row by row, step by step, as the equations stand."""
    rows, lasts = [], []
    for b in range(len(x)):
        length = x.shape[1] if lengths is None else int(lengths[b])
        h, outputs = h0[b], [torch.zeros_like(h0[b])] * x.shape[1]
        for t in reversed(range(length)) if reverse else range(length):
            x_r, x_z, x_n = (w_ih @ x[b, t] + b_ih).chunk(3)
            h_r, h_z, h_n = (w_hh @ h + b_hh).chunk(3)
            r, z = torch.sigmoid(x_r + h_r), torch.sigmoid(x_z + h_z)
            n = torch.tanh(x_n + r * h_n)
            outputs[t] = h = (1 - z) * n + z * h
        rows.append(torch.stack(outputs))
        lasts.append(h)
    return torch.stack(rows), torch.stack(lasts)


def gradients(function, tensors: list[Tensor]) -> list[Tensor]:
    """Outputs of the function and the gradients of an uneven sum of them."""
    leaves = [t.detach().requires_grad_() for t in tensors]
    outputs = function(*leaves)
    torch.manual_seed(1)
    total = sum((o * torch.randn(o.shape, dtype=torch.double).to(o)).sum() for o in outputs)
    return [*outputs, *torch.autograd.grad(total, leaves)]


def agree(ours, theirs, tensors: list[Tensor], tolerance: float) -> None:
    for a, b in zip(gradients(ours, tensors), gradients(theirs, tensors), strict=True):
        torch.testing.assert_close(a, b, rtol=tolerance, atol=tolerance)


def weights(inputs: int, hidden: int, *leading: int, **kind) -> list[Tensor]:
    shapes = [(3 * hidden, inputs), (3 * hidden, hidden), (3 * hidden,), (3 * hidden,)]
    return [torch.randn(*leading, *shape, **kind) / 2 for shape in shapes]


def some_lengths(batch: int, steps: int, device: str = "cpu") -> Tensor:
    """Lengths of 1 to steps, both ends among them, in no order."""
    return (torch.arange(batch, device=device) * 3 + steps - 1) % steps + 1


@given(
    batch=st.integers(1, 5),
    steps=st.integers(1, 7),
    hidden=st.integers(1, 6),
    padded=st.booleans(),
    reverse=st.booleans(),
)
@settings(max_examples=25, deadline=None)
def test_gru_is_its_equations(batch, steps, hidden, padded, reverse):
    torch.manual_seed(0)
    kind = {"dtype": torch.float64}
    x, h0 = torch.randn(batch, steps, 4, **kind), torch.randn(batch, hidden, **kind)
    walk = {"lengths": some_lengths(batch, steps) if padded else None, "reverse": reverse}
    agree(
        lambda *t: kernels.gru(*t, **walk),
        lambda *t: gru_reference(*t, **walk),
        [x, h0, *weights(4, hidden, **kind)],
        1e-9,
    )


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("padded", [False, True])
def test_lookup_is_gru_over_embeddings(padded, reverse):
    torch.manual_seed(0)
    kind = {"dtype": torch.float64}
    ids, emb, h0 = torch.randint(9, (5, 6)), torch.randn(9, 4, **kind), torch.randn(5, 3, **kind)
    walk = {"lengths": some_lengths(5, 6) if padded else None, "reverse": reverse}

    def lookup(emb, h0, w_ih, w_hh, b_ih, b_hh):
        return kernels.gru_lookup(ids, emb @ w_ih.T + b_ih, h0, w_hh, b_hh, **walk)

    agree(
        lookup,
        lambda emb, *rest: gru_reference(emb[ids], *rest, **walk),
        [emb, h0, *weights(4, 3, **kind)],
        1e-9,
    )


@pytest.mark.parametrize("padded", [False, True])
def test_bigru_is_torchs_packed_bidirectional_gru(padded):
    torch.manual_seed(0)
    theirs = nn.GRU(4, 3, batch_first=True, bidirectional=True).double()
    ids, emb = torch.randint(9, (5, 6)), torch.randn(9, 4, dtype=torch.float64)
    h0 = torch.randn(5, 6, dtype=torch.float64)
    lengths = some_lengths(5, 6) if padded else torch.full((5,), 6)
    names = [n for n, _ in theirs.named_parameters()]

    def ours(emb, h0, *params):
        w_ih, w_hh, b_ih, b_hh = (
            torch.stack(both) for both in zip(params[:4], params[4:], strict=True)
        )
        tables = emb @ w_ih.transpose(1, 2) + b_ih[:, None]
        return kernels.bigru_lookup(ids, tables, h0, w_hh, b_hh, lengths if padded else None)

    def packed(emb, h0, *params):
        x = pack_padded_sequence(emb[ids], lengths, batch_first=True, enforce_sorted=False)
        state = h0.unflatten(1, (2, 3)).transpose(0, 1)
        call = torch.func.functional_call
        out, last = call(theirs, dict(zip(names, params, strict=True)), (x, state))
        out, _ = pad_packed_sequence(out, batch_first=True, total_length=6)
        return out, last.transpose(0, 1).flatten(1)

    agree(ours, packed, [emb, h0, *(p.detach() for p in theirs.parameters())], 1e-9)


def test_no_gates_are_kept_without_gradients(monkeypatch):
    kept = []
    plain = kernels.plain_forward

    def watched(*args):
        results = plain(*args)
        kept.append(results[2].numel())
        return results

    monkeypatch.setattr(kernels, "_walks", lambda _: (watched, kernels.plain_backward))
    x, h0, w = torch.randn(2, 3, 4), torch.zeros(2, 5), weights(4, 5)
    with torch.no_grad():
        without, _ = kernels.gru(x, h0, *w)
    with_gradients, _ = kernels.gru(x.requires_grad_(), h0, *w)
    assert kept == [0, 2 * 3 * 4 * 5]
    torch.testing.assert_close(without, with_gradients)


@pytest.fixture
def triton_gru(monkeypatch):
    """Triton's walks for any tensor: compiled on a GPU, interpreted on a CPU."""
    from permnet.kernels import triton_gru

    monkeypatch.setattr(kernels, "_walks", lambda _: (triton_gru.forward, triton_gru.backward))
    return triton_gru


@pytest.mark.skipif(importlib.util.find_spec("triton") is None, reason="Triton is not installed")
def test_triton_through_its_interpreter():
    if importlib.metadata.version("triton").startswith("3.6"):
        pytest.skip("the interpreter of Triton 3.6 cannot count loops under NumPy 2.4")
    # In a process of its own: the interpreter must be chosen before anyone imports Triton.
    command = [
        sys.executable,
        "-m",
        "pytest",
        __file__,
        "-m",
        "gpu",
        "-k",
        "triton_walks or triton_sums",
    ]
    env = os.environ | {"TRITON_INTERPRET": "1", "CUDA_VISIBLE_DEVICES": ""}
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-3000:]
    assert "20 passed" in done.stdout


@pytest.mark.gpu
@pytest.mark.parametrize("fused", [True, False])
@pytest.mark.parametrize(
    ("batch", "steps", "hidden"), [(5, 7, 3), (5, 1, 16), (19, 3, 20), (3, 4, 50)]
)
@pytest.mark.parametrize("padded", [False, True])
def test_triton_walks_are_the_plain_ones(
    triton_gru, monkeypatch, fused, batch, steps, hidden, padded
):
    monkeypatch.setattr(triton_gru, "fits", lambda _: fused)
    torch.manual_seed(0)
    lengths = some_lengths(batch, steps, DEVICE) if padded else None
    ids = torch.randint(9, (batch, steps), device=DEVICE)
    kind = {"device": DEVICE}
    x = torch.randn(batch, steps, 4, **kind)
    h0, both = torch.randn(batch, hidden, **kind), torch.randn(batch, 2 * hidden, **kind)
    w_ih, w_hh, b_ih, b_hh = weights(4, hidden, **kind)
    table, tables = torch.randn(9, 3 * hidden, **kind), torch.randn(2, 9, 3 * hidden, **kind)
    _, w_both, _, b_both = weights(4, hidden, 2, **kind)
    calls = [
        (lambda *t: kernels.gru(*t, lengths), [x, h0, w_ih, w_hh, b_ih, b_hh]),
        (lambda *t: kernels.gru_lookup(ids, *t, lengths, True), [table, h0, w_hh, b_hh]),
        (lambda *t: kernels.bigru_lookup(ids, *t, lengths), [tables, both, w_both, b_both]),
    ]
    triton = [gradients(call, tensors) for call, tensors in calls]
    monkeypatch.setattr(
        kernels, "_walks", lambda _: (kernels.plain_forward, kernels.plain_backward)
    )
    for (call, tensors), ours in zip(calls, triton, strict=True):
        for a, b in zip(ours, gradients(call, tensors), strict=True):
            torch.testing.assert_close(a, b, rtol=1e-5, atol=2e-5)


@pytest.mark.gpu
@pytest.mark.parametrize(("count", "width", "vocab"), [(1, 1, 1), (40, 5, 3), (700, 300, 200)])
def test_triton_sums_by_token_are_the_obvious_ones(count, width, vocab):
    from permnet.kernels import triton_tokens

    torch.manual_seed(0)
    tokens, rows = torch.randint(vocab, (count,)), torch.randn(count, width)
    wanted = torch.zeros(vocab, width, dtype=torch.double)
    for token, row in zip(tokens, rows, strict=True):
        wanted[token] += row
    found = triton_tokens.sum_rows_by_token(tokens.to(DEVICE), rows.to(DEVICE), vocab)
    torch.testing.assert_close(found.double().cpu(), wanted, atol=1e-5, rtol=1e-5)


@pytest.mark.gpu
def test_triton_sums_by_token_of_no_rows_are_zero():
    from permnet.kernels import triton_tokens

    tokens, rows = torch.zeros(0, dtype=torch.long, device=DEVICE), torch.zeros(0, 4, device=DEVICE)
    assert triton_tokens.sum_rows_by_token(tokens, rows, 3).eq(0).all()


@pytest.mark.gpu
@pytest.mark.parametrize(
    ("batch", "steps", "hidden"), [(16384, 23, 32), (2048, 203, 128), (512, 40, 512)]
)
@pytest.mark.parametrize("tf32", [False, True])
def test_real_sizes_on_a_gpu(batch, steps, hidden, tf32, monkeypatch):
    monkeypatch.setattr(torch.backends.cuda.matmul, "fp32_precision", "tf32" if tf32 else "ieee")
    torch.manual_seed(0)
    kind = {"device": "cuda"}
    ids = torch.randint(50, (batch, steps), **kind)
    lengths = some_lengths(batch, steps, "cuda")
    _, w_hh, _, b_hh = weights(4, hidden, 2, **kind)
    tensors = [
        torch.randn(2, 50, 3 * hidden, **kind),
        torch.randn(batch, 2 * hidden, **kind),
        w_hh / hidden**0.5,
        b_hh,
    ]

    def call(*t):
        return kernels.bigru_lookup(ids, *t, lengths)

    exact = gradients(call, [t.double() for t in tensors])
    for a, b in zip(gradients(call, tensors), exact, strict=True):
        # Sums over 400,000 rows in single precision.
        assert (a - b).norm() / b.norm() < (3e-3 if tf32 else 1e-4)
    del exact


@pytest.mark.gpu
def test_a_cuda_graph_captures_forward_and_backward():
    torch.manual_seed(0)
    kind = {"device": "cuda"}
    ids, lengths = torch.randint(9, (64, 5), **kind), some_lengths(64, 5, "cuda")
    for hidden in (20, 200):
        _, w_hh, _, b_hh = (w.requires_grad_() for w in weights(4, hidden, **kind))
        table = torch.randn(9, 3 * hidden, requires_grad=True, **kind)
        h0 = torch.zeros(64, hidden, **kind)
        leaves = (table, w_hh, b_hh)

        def step(h0=h0, leaves=leaves):
            table, w_hh, b_hh = leaves
            out, last = kernels.gru_lookup(ids, table, h0, w_hh, b_hh, lengths, True)
            return torch.autograd.grad(out.sum() + last.square().sum(), leaves)

        eager = step()
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            captured = step()
        for tensor in captured:
            tensor.fill_(float("nan"))
        graph.replay()
        for a, b in zip(captured, eager, strict=True):
            torch.testing.assert_close(a, b)
