"""The resolvers as parts: the contract of docs/resolver.md."""

import importlib.util
import math
import re
from pathlib import Path

import pytest
import torch

from permnet.errors import PermnetError
from permnet.models.base import take_rows
from permnet.models.resolver import DirectResolver, IndirectResolver
from permnet.vocab import SOS

ROOT = Path(__file__).parents[1]
EXAMPLE = ROOT / "examples" / "transformer_with_resolver.py"
DOCUMENTATION = ROOT / "docs" / "resolver.md"
B, L, T, D, S, V, P = 3, 9, 4, 6, 5, 12, 4


@pytest.fixture(scope="module")
def example():
    spec = importlib.util.spec_from_file_location("transformer_with_resolver", EXAMPLE)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def parts(kind: str):
    torch.manual_seed(3)
    resolver = DirectResolver(D, S, V, P) if kind == "direct" else IndirectResolver(D, S, V)
    states, hidden = torch.randn(B, L, D), torch.randn(B, T, S)
    ids = torch.randint(4, V, (B, L))
    mask = torch.arange(L) < torch.tensor([[L], [5], [1]])
    return resolver, states, ids, mask, hidden


@pytest.mark.parametrize("kind", ["direct", "indirect"])
def test_padding_does_not_matter_whatever_stands_there(kind):
    resolver, states, ids, mask, hidden = parts(kind)
    logits = resolver.point(resolver.read(states, ids, mask), hidden).logits
    junk = torch.where(mask[..., None], states, torch.full_like(states, 1e4))
    other = ids.masked_fill(~mask, V - 1)
    again = resolver.point(resolver.read(junk, other, mask), hidden).logits
    assert logits.shape == (B, T, V)
    torch.testing.assert_close(again, logits)
    alone = resolver.read(states[1:2, :5], ids[1:2, :5], mask[1:2, :5])
    torch.testing.assert_close(resolver.point(alone, hidden[1:2]).logits, logits[1:2])


@pytest.mark.parametrize("kind", ["direct", "indirect"])
def test_steps_are_the_whole_one_by_one_and_rows_can_be_taken(kind):
    resolver, states, ids, mask, hidden = parts(kind)
    memory = resolver.read(states, ids, mask)
    logits = resolver.point(memory, hidden).logits
    steps = [resolver.point(memory, hidden[:, t : t + 1]).logits for t in range(T)]
    torch.testing.assert_close(torch.cat(steps, dim=1), logits)
    order = torch.tensor([2, 0, 0])
    taken = resolver.point(take_rows(memory, order), hidden[order]).logits
    torch.testing.assert_close(taken, logits[order])


def test_query_attention_state_starts_steps_and_re_orders():
    resolver, states, ids, mask, hidden = parts("indirect")
    memory = resolver.read(states, ids, mask)
    weights, _ = resolver.attend(memory, resolver.start(memory), ids[:, 0])
    torch.testing.assert_close(weights, mask / mask.sum(1, keepdim=True))
    v_dw = resolver.point(memory, hidden[:, :1]).v_dw[:, 0]
    weights, v_attn = resolver.attend(memory, v_dw, ids[:, 0])
    nothing, _ = resolver.attend(memory, v_dw, torch.full((B,), -1))
    assert not torch.allclose(weights[:2], nothing[:2])
    order = torch.tensor([1, 2, 0])
    again = resolver.attend(take_rows(memory, order), v_dw[order], ids[order, 0])
    torch.testing.assert_close(again, (weights[order], v_attn[order]))


def test_the_query_attention_of_the_documentation_runs_from_sos_on():
    resolver, states, ids, mask, hidden = parts("indirect")
    blocks = re.findall(r"```python\n(.*?)```", DOCUMENTATION.read_text(), re.S)
    (snippet,) = [block for block in blocks if "resolver.attend" in block]
    names = {
        "torch": torch,
        "resolver": resolver,
        "memory": resolver.read(states, ids, mask),
        "SOS": SOS,
        "previous": torch.tensor([SOS, 5, 6]),
        "hidden": hidden[:, 0],
        "embed": torch.nn.Embedding(V, D),
        "cell": torch.nn.GRUCell(2 * D, S),
    }
    exec(snippet, names)
    assert names["selects"].tolist() == [-1, 5, 6]
    assert names["v_dw"].shape == (B, L)


def test_a_key_that_meets_equal_tokens_only_finds_its_query_untrained():
    torch.manual_seed(0)
    resolver, states = IndirectResolver(D, S, V, equal=True), torch.randn(1, L, D)
    ids = torch.tensor([[4, 8, 5, 9, 6, 10, 9, 8, 9]])  # data and keys, then queries
    m_kp = resolver.read(states, ids, torch.ones(1, L, dtype=torch.bool)).m_kp[0]
    assert m_kp[1, 7] == 1  # the only other 8
    assert (m_kp[3] > 0).tolist() == [i in (6, 8) for i in range(L)]
    assert m_kp[3].exp().sum().item() - L == pytest.approx(math.e - 1, rel=1e-5)  # both share it
    assert (m_kp[5] == 0).all()  # nobody asks for 10


def test_group_ids_add_up_the_pieces_of_a_name():
    resolver, states, _, mask, hidden = parts("indirect")
    groups = torch.tensor([[0, 0, 1, 2, 2, 2, 3, 4, 4]]).expand(B, -1)
    resolver.vocab_size = 5
    point = resolver.point(resolver.read(states, groups, mask), hidden)
    assert point.logits.shape == (B, T, 5)
    torch.testing.assert_close(point.logits[..., 2], point.v_dw[..., 3:6].sum(-1))


def test_example_is_short():
    assert len(EXAMPLE.read_text().splitlines()) <= 60


def example_batch():
    torch.manual_seed(0)
    return torch.randint(4, 20, (2, 12)), torch.randint(4, 20, (2, 5))


def test_example_runs_in_bf16(example):
    inputs, previous = example_batch()
    model = example.ResolvingTransformer(20)
    wide = model(inputs, previous)
    logits = model.bfloat16()(inputs, previous)
    assert logits.dtype == torch.bfloat16
    logits.float().logsumexp(-1).sum().backward()
    assert all(p.grad is not None and p.grad.isfinite().all() for p in model.parameters())
    torch.testing.assert_close(logits.float(), wide, atol=0.15, rtol=0.1)


# The default back end wants a C++ compiler, which `make test` may not count on: see the slow one.
@pytest.mark.parametrize("backend", ["aot_eager", pytest.param("inductor", marks=pytest.mark.slow)])
@pytest.mark.filterwarnings("ignore")
def test_example_compiles_as_one_graph(example, backend):
    inputs, previous = example_batch()
    model = example.ResolvingTransformer(20)
    eager = model(inputs, previous)
    compiled = torch.compile(model, backend=backend, fullgraph=True)(inputs, previous)
    torch.testing.assert_close(compiled, eager, atol=1e-5, rtol=1e-5)
    compiled.logsumexp(-1).sum().backward()
    assert model.resolver.label.weight.grad.abs().sum() > 0


@pytest.mark.parametrize("backend", ["aot_eager", pytest.param("inductor", marks=pytest.mark.slow)])
@pytest.mark.parametrize("kind", ["direct", "indirect"])
@pytest.mark.filterwarnings("ignore")
def test_resolvers_compile_as_one_graph_with_gradients(kind, backend):
    resolver, states, ids, mask, hidden = parts(kind)

    def logits(states, hidden):
        return resolver.point(resolver.read(states, ids, mask), hidden).logits

    compiled = torch.compile(logits, backend=backend, fullgraph=True)
    found = []
    for form in (logits, compiled):
        inputs = states.clone().requires_grad_(), hidden.clone().requires_grad_()
        out = form(*inputs)
        weights = (*inputs, *resolver.parameters())
        found.append((out, *torch.autograd.grad(out.logsumexp(-1).sum(), weights)))
    for eager, traced in zip(*found, strict=True):
        torch.testing.assert_close(traced, eager, atol=1e-5, rtol=1e-5)


def test_example_learns(example, capsys):
    example.main(20)
    losses = [float(line.split()[-1]) for line in capsys.readouterr().out.splitlines()]
    assert len(losses) == 20
    assert losses[-1] < losses[0] - 0.5


def test_ablations_that_need_a_length_say_so():
    with pytest.raises(PermnetError, match="give input_length"):
        DirectResolver(D, S, V, P, without="m_e")
    with pytest.raises(PermnetError, match="unknown ablation"):
        IndirectResolver(D, S, V, without="m_x")
    _, states, ids, mask, hidden = parts("indirect")
    fixed = IndirectResolver(D, S, V, without="m_pl", input_length=L + 1)
    with pytest.raises(PermnetError, match="exactly 10 tokens, not 9"):
        fixed.point(fixed.read(states, ids, mask), hidden)
