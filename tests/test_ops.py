"""Every operator equals its slow twin, and keeps what the paper promises of it."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.nn import functional as F

from permnet import ops
from permnet.vocab import PAD
from tests import reference

sizes = st.integers(1, 7)
seeds = st.integers(0, 2**32 - 1)


def random(seed: int, *shape: int) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.double)


def lengths_mask(lengths: list[int]) -> torch.Tensor:
    return torch.arange(max(lengths))[None] < torch.tensor(lengths)[:, None]


@given(seeds, sizes, st.booleans())
def test_mlogsoftmax_is_its_twin(seed, n, log):
    x = random(seed, 2, n, n) * 3
    fast = (ops.mlogsoftmax if log else ops.softmax01)(x, torch.ones(2, n, dtype=torch.bool))
    slow = torch.stack([reference.mlogsoftmax_between(m, log) for m in x])
    torch.testing.assert_close(fast, slow)


@given(seeds, sizes, sizes)
def test_mlogsoftmax_sees_no_padding(seed, n, padding):
    x = random(seed, 1, n + padding, n + padding)
    padded = ops.mlogsoftmax(x, lengths_mask([n, n + padding])[:1])
    alone = ops.mlogsoftmax(x[:, :n, :n], torch.ones(1, n, dtype=torch.bool))
    torch.testing.assert_close(padded[:, :n, :n], alone)
    assert padded[:, n:].abs().max() == 0
    assert padded[:, :, n:].abs().max() == 0


@given(seeds, st.integers(2, 7), st.floats(0.01, 5))
def test_mlogsoftmax_stays_in_0_1_and_rises_with_its_logit(seed, n, more):
    x = random(seed, 1, n, n) * 4
    mask = torch.ones(1, n, dtype=torch.bool)
    before = ops.mlogsoftmax(x, mask)
    assert before.min() >= 0
    assert before.max() <= 1
    x[0, 0, 1] += more
    after = ops.mlogsoftmax(x, mask)
    assert after[0, 0, 1] > before[0, 0, 1]


@given(st.lists(st.lists(st.integers(0, 3), min_size=4, max_size=4), min_size=1, max_size=3))
def test_equal_tokens_are_those_of_other_positions(ids):
    fast = ops.equal_tokens(torch.tensor(ids))
    slow = [[[i != j and x == y for j, y in enumerate(r)] for i, x in enumerate(r)] for r in ids]
    assert fast.tolist() == slow


@given(seeds, st.lists(st.booleans(), min_size=1, max_size=6))
def test_taken_are_the_shares_of_positions_beside_generating(seed, holds):
    scores, generated = random(seed, len(holds)) * 4, random(seed + 1, 1)[0] * 4
    shares = ops.taken(torch.tensor(holds), scores, generated)
    ways = [score.exp() if held else 0.0 for score, held in zip(scores, holds, strict=True)]
    total = sum(ways) + generated.exp()
    torch.testing.assert_close(shares, torch.tensor([way / total for way in ways]).to(shares))


@given(seeds, sizes, sizes, sizes)
def test_antidiagonal_sum_is_its_twin(seed, n, p, t):
    v_arr, v_ind = random(seed, 2, n), random(seed + 1, 2, t, p)
    slow = [
        torch.stack([reference.antidiagonal_sum(a, v) for v in vs])
        for a, vs in zip(v_arr, v_ind, strict=True)
    ]
    torch.testing.assert_close(ops.antidiagonal_sum(v_arr, v_ind), torch.stack(slow))


@pytest.mark.parametrize(("n", "p"), [(1, 1), (5, 3), (3, 5), (1, 4)])
def test_antidiagonal_sum_has_the_gradients_of_its_twin(n, p):
    v_arr, v_ind = random(0, 2, n).requires_grad_(), random(1, 2, 3, p).requires_grad_()
    assert torch.autograd.gradcheck(ops.antidiagonal_sum, (v_arr, v_ind))


@given(seeds, sizes, sizes, st.integers(1, 9))
def test_sum_by_token_is_its_twin(seed, n, t, v):
    weights = random(seed, 2, t, n)
    ids = torch.randint(v, (2, n), generator=torch.Generator().manual_seed(seed))
    slow = [
        torch.stack([reference.sum_by_token(w, row.tolist(), v) for w in ws])
        for ws, row in zip(weights, ids, strict=True)
    ]
    torch.testing.assert_close(ops.sum_by_token(weights, ids, v), torch.stack(slow))


def test_masked_softmax_of_padding_only_is_zero_with_finite_gradient():
    x = torch.zeros(1, 3, requires_grad=True)
    y = ops.masked_softmax(x, torch.zeros(1, 3, dtype=torch.bool))
    y.sum().backward()
    assert y.tolist() == [[0, 0, 0]]
    assert x.grad.tolist() == [[0, 0, 0]]


@given(seeds, sizes, sizes)
def test_cross_entropy_is_that_of_torch(seed, n, t):
    targets = torch.randint(0, 5, (n, t), generator=torch.Generator().manual_seed(seed))
    found = []
    for loss in (
        ops.cross_entropy,
        lambda x, y: F.cross_entropy(
            x.flatten(0, 1), y.flatten(), ignore_index=PAD, reduction="sum"
        ),
    ):
        logits = random(seed, n, t, 5)
        logits[..., PAD] = -torch.inf
        logits.requires_grad_()
        value = loss(logits, targets)
        found.append((value, *torch.autograd.grad(value, logits)))
    torch.testing.assert_close(found[0], found[1])


@given(seeds, sizes, sizes, st.integers(1, 9))
def test_sum_by_token_through_the_one_hot_input_is_its_twin(seed, n, t, v):
    weights = random(seed, 2, t, n)
    ids = torch.randint(v, (2, n), generator=torch.Generator().manual_seed(seed))
    one_hot = torch.nn.functional.one_hot(ids, v).double()
    torch.testing.assert_close(
        ops.sum_by_token(weights, ids, v, one_hot), ops.sum_by_token(weights, ids, v)
    )


@given(seeds, sizes, sizes, sizes)
def test_dot_rows_is_its_twin(seed, n, t, d):
    m, x = random(seed, 2, n, d), random(seed + 1, 2, t, d)
    fast = ops.dot_rows(m, x)
    for b in range(2):
        for i in range(t):
            for j in range(n):
                torch.testing.assert_close(
                    fast[b, i, j], sum(x[b, i, k] * m[b, j, k] for k in range(d))
                )


@given(seeds, sizes, sizes, st.floats(0, 1))
def test_what_is_done_with_some_rows_is_done_with_all(seed, n, d, share):
    generator = torch.Generator().manual_seed(seed)
    m, x = torch.randn(3, n, d, generator=generator), torch.randn(3, d, generator=generator)
    some = torch.rand(3, n, generator=generator) < share
    every = torch.einsum("bld,bd->bl", m, x)
    found = ops.dot_some_rows(m, x, some)
    torch.testing.assert_close(found[some], every[some])
    weights = every.masked_fill(~some, 0.0)
    sums = torch.einsum("bl,bld->bd", weights, m)
    torch.testing.assert_close(ops.sum_some_rows(m, weights), sums, atol=1e-4, rtol=1e-4)
    torch.testing.assert_close(ops.sum_rows(m, weights), sums, atol=1e-4, rtol=1e-4)


@given(seeds, st.integers(1, 60))
def test_half_precision_bears_scores_that_lie_far_apart(seed, apart):
    generate, copy = apart * random(seed, 2, 3, 7), apart * random(seed + 1, 2, 3, 5)
    ids = torch.randint(7, (2, 5), generator=torch.Generator().manual_seed(seed))
    exact = ops.generate_or_copy(generate, copy, ids).log_softmax(-1)
    found = ops.generate_or_copy(generate.half(), copy.half(), ids)
    assert found.dtype == torch.half
    likely = exact > -70
    torch.testing.assert_close(
        found.double().log_softmax(-1)[likely], exact[likely], atol=0.5, rtol=0.01
    )


def test_dot_rows_has_the_gradients_of_the_product():
    m, x = random(0, 2, 4, 3).requires_grad_(), random(1, 2, 5, 3).requires_grad_()
    assert torch.autograd.gradcheck(ops.dot_rows, (m, x))


def test_factors_are_taken_as_autocast_takes_them():
    factors = torch.ones(1), torch.ones(1, dtype=torch.bfloat16)
    assert [v.dtype for v in ops._as_autocast(*factors)] == [torch.float, torch.bfloat16]
    with torch.autocast("cpu", torch.bfloat16):
        assert {v.dtype for v in ops._as_autocast(*factors)} == {torch.bfloat16}
