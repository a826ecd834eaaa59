"""The baselines against literal retellings of their source papers, and tokens never seen before."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor, nn
from torch.nn import functional as F

from permnet.batch import epoch, lend, pad, resident
from permnet.decode import greedy
from permnet.kernels.heads import split
from permnet.models import (
    MODELS,
    AttentionGRU,
    CopyNet,
    PointerGenerator,
    PointerNetwork,
    Seq2Seq,
    Transformer,
)
from permnet.models.attention import AdditiveAttention
from permnet.models.transformer import sinusoids
from permnet.ops import logsumexp_by_token, powers
from permnet.tasks.permutation import Task
from permnet.vocab import EOS, PAD, SEP, SOS, Vocab

INPUT = [SOS, 4, 7, 5, 7, SEP, 7, 5, EOS]  # one example; 7 stands in it three times
PREVIOUS = [SOS, 7, 6, 5, SEP]  # 6 does not stand in it
V = 9


def model_of(kind: type[Seq2Seq], **sizes: int) -> Seq2Seq:
    torch.manual_seed(0)
    model = kind(V, embedding=6, **({"hidden": 4} | sizes)).double()
    for parameter in model.parameters():
        nn.init.normal_(parameter, std=0.5)
    return model


def log_probabilities(model: Seq2Seq) -> Tensor:
    return torch.log_softmax(model(torch.tensor([INPUT]), torch.tensor([PREVIOUS]))[0], dim=-1)


# ---- one example, one sum at a time -------------------------------------------------------------


def softmax(scores: list[Tensor]) -> list[Tensor]:
    return list(torch.stack(scores).softmax(0))


def mean(weights: list[Tensor], rows: Tensor) -> Tensor:
    return sum(w * row for w, row in zip(weights, rows, strict=True))


def gru_cell(gru: nn.Module, x: Tensor, h: Tensor) -> Tensor:
    return torch.gru_cell(x[None], h[None], gru.w_ih, gru.w_hh, gru.b_ih, gru.b_hh)[0]


def read(model: Seq2Seq) -> tuple[Tensor, Tensor]:
    """m_e (L, 2H) and v_last (2H) of the example, by torch's own bidirectional GRU."""
    sizes = model.encoder.forwards.w_ih.shape
    gru = nn.GRU(sizes[1], sizes[0] // 3, bidirectional=True, batch_first=True).double()
    weights = [*model.encoder.forwards.parameters(), *model.encoder.backwards.parameters()]
    with torch.no_grad():
        for mine, theirs in zip(gru.parameters(), weights, strict=True):
            mine.copy_(theirs)
    m_e, last = gru(model.embedding(torch.tensor([INPUT])))
    return m_e[0], last.flatten()


def additive(attention: nn.Module, state: Tensor, m_e: Tensor) -> list[Tensor]:
    """Bahdanau et al. 2015, appendix A.1.2."""
    return [
        attention.score.weight[0] @ torch.tanh(attention.state(state) + attention.memory(row))
        for row in m_e
    ]


@given(st.floats(-12, 12), st.floats(-1e6, 1e6), st.floats(-12, 12))
def test_attention_by_powers_is_the_same_attention(keys: float, more: float, state: float) -> None:
    torch.manual_seed(0)
    attention = AdditiveAttention(5, 4).double()
    k, s = keys * torch.randn(3, 7, 4).double(), state * torch.randn(3, 4).double()
    k[0] += more  # far beyond the numbers whose powers are known
    scores = attention.by_powers(s, powers(k))
    torch.testing.assert_close(scores, attention(s[:, None], k)[:, 0])


def test_attention_by_powers_bears_half_precision() -> None:
    attention = AdditiveAttention(5, 4).half()
    torch.nn.init.eye_(attention.state.weight)
    state = torch.linspace(-12, 12, 25).half()[:, None].expand(25, 4)
    keys = torch.linspace(-2, 2, 9).half()[:, None] - state[:, None]
    scores = attention.by_powers(state, powers(keys))
    assert scores.dtype == torch.half
    torch.testing.assert_close(scores, attention(state[:, None], keys)[:, 0], atol=0.01, rtol=0.01)


def attention_gru(model: AttentionGRU) -> Tensor:
    m_e, h = read(model)
    rows = []
    for token in PREVIOUS:
        x = model.embedding.weight[token]
        context = mean(softmax(additive(model.attention, h, m_e)), m_e)
        h = gru_cell(model.decoder, torch.cat([x, context]), h)
        rows.append(model.vocabulary(torch.cat([h, context, x])))
    return torch.stack(rows)


def copynet(model: CopyNet) -> Tensor:
    """Gu et al. 2016, sections 3.2 and 3.3, in probabilities."""
    m_e, h = read(model)
    copied = [torch.zeros(()).double() for _ in INPUT]  # p of each position, at the last step
    rows = []
    for token in PREVIOUS:
        same = [p if at == token else 0 * p for at, p in zip(INPUT, copied, strict=True)]
        total = sum(same)
        zeta = mean([p / total if total > 0 else p for p in same], m_e)
        context = mean(softmax(additive(model.attention, h, m_e)), m_e)
        h = gru_cell(model.decoder, torch.cat([model.embedding.weight[token], zeta, context]), h)
        generate = [torch.exp(score) for score in model.generate(h)[1:]]  # all but <pad>
        copy = [torch.exp(torch.tanh(model.copy(row)) @ h) for row in m_e]
        z = sum(generate) + sum(copy)
        copied = [p / z for p in copy]
        rows.append(by_token([p / z for p in generate], copied))
    return torch.stack(rows).log()


def pointer_network(model: PointerNetwork) -> Tensor:
    """Vinyals et al. 2015, section 2.3."""
    m_e, h = read(model)
    rows = []
    for token in PREVIOUS:
        h = gru_cell(model.decoder, model.embedding.weight[token], h)
        nothing = [torch.zeros(()).double()] * (V - 1)
        rows.append(by_token(nothing, softmax(additive(model.attention, h, m_e))))
    return torch.stack(rows).log()


def pointer_generator(model: PointerGenerator) -> Tensor:
    """See et al. 2017, sections 2.1 and 2.2."""
    m_e, h = read(model)
    rows = []
    for token in PREVIOUS:
        x = model.embedding.weight[token]
        h = gru_cell(model.decoder, x, h)
        attention = softmax(additive(model.attention, h, m_e))
        context = mean(attention, m_e)
        p_gen = torch.sigmoid(model.switch(torch.cat([h, context, x])))[0]
        vocabulary = softmax(list(model.vocabulary(torch.cat([h, context]))[1:]))
        rows.append(by_token([p_gen * p for p in vocabulary], [(1 - p_gen) * a for a in attention]))
    return torch.stack(rows).log()


def by_token(generated: list[Tensor], copied: list[Tensor]) -> Tensor:
    """Probabilities (V,) from those of the tokens after `<pad>` and of the input's positions."""
    p = [torch.zeros(()).double(), *generated]
    for token, more in zip(INPUT, copied, strict=True):
        p[token] = p[token] + more
    return torch.stack(p)


RETOLD = [
    (AttentionGRU, attention_gru),
    (CopyNet, copynet),
    (PointerNetwork, pointer_network),
    (PointerGenerator, pointer_generator),
]


@pytest.mark.parametrize(("kind", "retold"), RETOLD)
def test_model_is_its_retelling(kind, retold):
    model = model_of(kind)
    expected = retold(model)
    expected = torch.cat([torch.full((len(PREVIOUS), 1), -torch.inf), expected[:, 1:]], dim=1)
    expected = torch.log_softmax(expected, dim=-1)
    torch.testing.assert_close(log_probabilities(model), expected, atol=1e-9, rtol=1e-9)


@pytest.mark.parametrize("kind", [CopyNet, PointerNetwork, PointerGenerator])
def test_positions_are_the_copied_share_of_a_token(kind):
    model, inputs = model_of(kind), torch.tensor([INPUT])
    memory = model.encode(inputs)
    step = model.step(memory, model.start(memory), inputs[:, 0])
    p = step.logits.softmax(-1)[0]
    copied = torch.zeros(V).double().index_add(0, inputs[0], step.positions[0])
    generated = p - copied
    assert (generated >= -1e-12).all()
    if kind is PointerNetwork:
        assert generated.abs().max() < 1e-12
        assert (p > 0).tolist() == [token in INPUT for token in range(V)]
    elif kind is PointerGenerator:
        torch.testing.assert_close(generated.sum()[None], step.p_gen)
    else:
        assert (generated[1:] > 0).all()


# torch's own encoder remarks that it cannot use nested tensors with its normalisation first.
@pytest.mark.filterwarnings("ignore:enable_nested_tensor")
def test_transformer_is_that_of_torch():
    heads, head_size, size = 2, 3, 6
    model = model_of(Transformer, hidden=7, layers=2, heads=heads, head_size=head_size)
    twin = nn.Transformer(
        size, heads, 2, 2, 7, dropout=0.0, batch_first=True, norm_first=True, dtype=torch.double
    )

    def attention(theirs: nn.MultiheadAttention, ours: nn.Module) -> None:
        theirs.in_proj_weight.copy_(torch.cat([ours.query.weight, ours.pairs.weight]))
        theirs.out_proj.weight.copy_(ours.out.weight)
        theirs.in_proj_bias.zero_()
        theirs.out_proj.bias.zero_()

    def layer(theirs: nn.Module, ours: nn.Module, norms: int) -> None:
        theirs.linear1.load_state_dict(ours.inner[0].state_dict())
        theirs.linear2.load_state_dict(ours.inner[2].state_dict())
        for i in range(norms):
            getattr(theirs, f"norm{i + 1}").load_state_dict(ours.norms[i].state_dict())

    with torch.no_grad():
        for theirs, ours in zip(twin.encoder.layers, model.encoder, strict=True):
            attention(theirs.self_attn, ours.attention)
            layer(theirs, ours, 2)
        for theirs, ours in zip(twin.decoder.layers, model.decoder, strict=True):
            attention(theirs.self_attn, ours.itself)
            attention(theirs.multihead_attn, ours.across)
            layer(theirs, ours, 3)
        twin.encoder.norm.load_state_dict(model.norms[0].state_dict())
        twin.decoder.norm.load_state_dict(model.norms[1].state_dict())

    source, target = (
        model.embedding(torch.tensor([ids])) + waves(len(ids), size) for ids in (INPUT, PREVIOUS)
    )
    later = torch.ones(len(PREVIOUS), len(PREVIOUS), dtype=torch.bool).triu(1)
    expected = model.vocabulary(twin(source, target, tgt_mask=later))[0]
    expected[:, PAD] = -torch.inf
    torch.testing.assert_close(
        log_probabilities(model), torch.log_softmax(expected, dim=-1), atol=1e-9, rtol=1e-9
    )


def test_transformer_shows_the_weights_it_applies():
    attention = model_of(Transformer, layers=1, heads=2, head_size=3).decoder[0].across
    x, m_e = torch.randn(2, 4, 6).double(), torch.randn(2, 5, 6).double()
    mask = torch.arange(5) < torch.tensor([[5], [3]])
    pairs = attention.pairs(m_e)
    values = split(pairs[..., 6:], heads=2)
    seen = attention.weights(x, pairs, mask) @ values
    expected = attention.out(seen.transpose(1, 2).flatten(2))
    torch.testing.assert_close(attention(x, pairs, mask), expected)


def waves(count: int, size: int) -> Tensor:
    """Vaswani et al. 2017, section 3.5."""
    rows = [
        [(np.cos if i % 2 else np.sin)(at / 10000 ** (2 * (i // 2) / size)) for i in range(size)]
        for at in range(count)
    ]
    return torch.tensor(rows, dtype=torch.double)


@given(st.integers(0, 300), st.integers(1, 5), st.integers(1, 9))
def test_sinusoids_are_their_twin_wherever_they_begin(first, count, size):
    fast = sinusoids(first, count, torch.zeros(size, dtype=torch.double))
    torch.testing.assert_close(fast, waves(first + count, size)[first:])


@given(st.integers(0, 2**32 - 1), st.floats(0.1, 1000))
def test_logsumexp_by_token_is_its_twin(seed, scale):
    generator = torch.Generator().manual_seed(seed)
    ids = torch.randint(1, 5, (2, 6), generator=generator)
    ids[1, 4:] = PAD
    scores = torch.randn(2, 3, 6, generator=generator, dtype=torch.double) * scale
    scores = scores.masked_fill((ids == PAD)[:, None], -torch.inf).requires_grad_()
    fast = logsumexp_by_token(scores, ids, 6)
    weight = torch.randn(fast.shape, generator=generator, dtype=torch.double)
    slow = torch.full((2, 3, 6), -torch.inf, dtype=torch.double)
    for b in range(2):
        for token in set(ids[b].tolist()) - {PAD}:
            slow[b, :, token] = scores[b][:, ids[b] == token].logsumexp(-1)
    torch.testing.assert_close(fast, slow)
    (a,), (b,) = (
        torch.autograd.grad((x.masked_fill(x == -torch.inf, 0.0) * weight).sum(), scores)
        for x in (fast, slow)
    )
    torch.testing.assert_close(a, b.masked_fill((ids == PAD)[:, None], 0.0))


@pytest.mark.parametrize("kind", [CopyNet, PointerNetwork, PointerGenerator])
def test_extreme_scores_have_finite_logits_and_gradients(kind):
    """Weights a hundred times too large: every distribution is one-hot, every switch is shut."""
    model = model_of(kind).float()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.mul_(100)
    logits = model(torch.tensor([INPUT]), torch.tensor([PREVIOUS]))[0]
    allowed = [token for token in range(1, V) if kind is not PointerNetwork or token in INPUT]
    assert logits[:, allowed].isfinite().all()
    F.cross_entropy(logits, torch.tensor([7, 5, 7, SEP, EOS])).backward()
    assert all(p.grad.isfinite().all() for p in model.parameters())


# ---- tokens never seen in training --------------------------------------------------------------


def trained(name: str) -> tuple[Seq2Seq, Vocab]:
    """A small model of indirect permutations of 1 or 2 data, its names half real and half lent."""
    task = Task("indirect", 1, 2, tokens=5)
    vocab = task.vocab(reserved=4)
    examples = task.sample(128_000, np.random.RandomState(0))
    data = resident(examples.inputs, examples.targets, vocab)
    with torch.random.fork_rng():
        torch.manual_seed(0)
        model = MODELS[name](len(vocab), embedding=32, hidden=32)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.003)
    generator = torch.Generator().manual_seed(0)
    recent = 1.0
    for _, rows in epoch([data], 128, generator):
        batch = lend(data.rows(rows), vocab, 0.6, generator)
        logits = model(batch.inputs, batch.previous, repeats=False)
        loss = F.cross_entropy(logits.flatten(0, 1), batch.targets.flatten(), ignore_index=PAD)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        recent += 0.1 * (loss.item() - recent)
        if recent < 0.01:
            break
    return model, vocab


def answers(model: Seq2Seq, vocab: Vocab, questions: list[str]) -> list[str]:
    encoded = [vocab.encode(f"<sos> {q} <eos>".split()) for q in questions]
    ids = greedy(model, pad([ids for ids, _ in encoded]), 4).ids
    rows = [row[row != PAD].tolist() for row in ids]
    return [" ".join(vocab.decode(row, lent)) for row, (_, lent) in zip(rows, encoded, strict=True)]


@pytest.mark.parametrize(
    "name", ["permneti", "copynet", "pointer", "pointer-generator", "decompiler"]
)
def test_tokens_never_seen_are_told_apart_and_come_back_as_themselves(name):
    model, vocab = trained(name)
    questions, expected = [], []
    for i in range(50):
        x, y, k, q = (f"{kind}{i}" for kind in ("zebra", "yak", "key", "query"))
        questions += [f"{x} {k} <sep> {k}", f"{x} {k} {y} {q} <sep> {k} {q}"]
        expected += [f"{x} <eos>", f"{x} {y} <eos>"]
        # The same with the two unseen keys swapped, in the queries and in the pairs.
        questions += [f"{x} {k} {y} {q} <sep> {q} {k}", f"{x} {q} {y} {k} <sep> {k} {q}"]
        expected += [f"{y} {x} <eos>", f"{y} {x} <eos>"]
    assert not any(token in vocab for q in questions for token in q.split() if token != "<sep>")
    right = [a == e for a, e in zip(answers(model, vocab, questions), expected, strict=True)]
    assert all(right)
