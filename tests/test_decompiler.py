"""The decompiler against a literal retelling of section 3.2.2; masks, memory, learning."""

import random

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from permnet.batch import Batch, pad
from permnet.decode import greedy
from permnet.models import CopyNet, Decompiler, Seq2Seq
from permnet.models.decompiler import taking
from permnet.vocab import EOS, PAD, SEP, SOS
from tests.reference import encoder, gru_cell, linear, mlogsoftmax_between, no_pad, softmax

V = 12
# Tokens that repeat, one that is not in the input, special ones inside the target.
INPUT = [SOS, 5, 9, 6, 9, 5, 7, SEP, 9, 7, 5, 9, 11, EOS]
TARGET = [9, 5, 10, 7, 9, SEP, 11, 5, EOS]


def drawn(kind: type[nn.Module], seed: int = 0, **options: bool) -> nn.Module:
    """A small model in double precision, its weights far from 0 so that everything matters."""
    model = kind(V, embedding=5, hidden=4, **options).double()
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.normal_(std=0.5, generator=generator)
    return model


# ---- one example, one sum at a time -------------------------------------------------------------


def retold(
    p: dict[str, Tensor], ids: list[int], previous: list[int], ours: bool
) -> tuple[Tensor, set[str]]:
    """Logits (T, V) of one example, and which of the two attentions won any position."""
    length = len(ids)
    m_e, h = encoder(p, ids)
    zero = torch.zeros_like(h[0])
    label = [softmax(list(linear(p, "resolver.label", row))) for row in m_e]  # (15)
    m_d, m_k, m_p = (
        torch.stack([m_e[i] * label[i][c] for i in range(length)]) for c in range(3)
    )  # (16), (17), (18)
    m_kp = mlogsoftmax_between(m_k @ m_p.T, among=ids if ours else None)  # (21)
    m_dp = mlogsoftmax_between(m_d @ m_k.T) @ m_kp  # (20), (22)
    copy, v_dw = [zero] * length, [zero] * length
    rows, won = [], set()
    ways, recalled = [], [zero] * length
    for token in previous:
        # Bahdanau et al. 2015: weights from the state before.
        looked = [
            p["attention.score.weight"][0]
            @ torch.tanh(linear(p, "attention.state", h) + p["attention.memory.weight"] @ m_e[i])
            for i in range(length)
        ]
        context = sum(w * row for w, row in zip(softmax(looked), m_e, strict=True))
        # Gu et al. 2016: where the previous token was copied from, unless the resolver says more.
        left = [i for i in range(length) if ids[i] == token and token != SOS and copy[i] > v_dw[i]]
        read = torch.zeros_like(h)
        if left:
            won.add("copy")
            for i, share in zip(left, softmax([copy[i] for i in left]), strict=True):
                read = read + share * m_e[i]
        # What the previous token was taken from, among all ways to say it.
        if ours and token != SOS:
            total = sum(score.exp() for score in ways[token])
            for i in range(length):
                if ids[i] == token:
                    share = (copy[i] + v_dw[i]).exp() / total
                    recalled[i] = recalled[i] + share.detach()
        # The query attention, unless copying says more.
        v_selected = [
            v_dw[i] if ids[i] == token and token >= 4 and v_dw[i] > copy[i] else zero
            for i in range(length)
        ]
        if any(v != 0 for v in v_selected):
            won.add("resolver")
        asked = [
            sum(m_dp[i, j] * v_selected[i] for i in range(length)) for j in range(length)
        ]  # (27)
        v_attn = sum(w * row for w, row in zip(softmax(asked), m_e, strict=True))  # (28)
        h = gru_cell(
            p, "decoder", torch.cat([p["embedding.weight"][token], read, context, v_attn]), h
        )
        copy = [torch.tanh(p["copy.weight"] @ row) @ h for row in m_e]
        selected = linear(p, "resolver.select", h)
        v_pw = torch.stack([linear(p, "resolver.query", row) @ selected for row in m_p])  # (25)
        v_dw = list(m_dp @ v_pw)  # (26)
        ways = [[score] for score in linear(p, "generate", h)]
        for i in range(length):
            ways[ids[i]].append(copy[i] + v_dw[i])
        moved = [[score] for score in linear(p, "generate", h)]
        for i in range(length):
            more = linear(p, "recall", h)[0] * recalled[i] if ours else zero
            moved[ids[i]].append(copy[i] + v_dw[i] + more)
        rows.append(no_pad(torch.stack([torch.stack(w).exp().sum().log() for w in moved])))
    return torch.stack(rows), won


@pytest.mark.parametrize("ours", [False, True])
def test_outputs_and_gradients_are_those_of_the_retelling(ours):
    batch, winners = Batch(pad([INPUT]), pad([TARGET])), set()
    for seed in range(8):
        model = drawn(Decompiler, seed, equal=ours, recall=ours)
        slow, won = retold(dict(model.named_parameters()), INPUT, batch.previous[0].tolist(), ours)
        winners |= won
        fast = model(batch.inputs, batch.previous)[0]
        torch.testing.assert_close(fast, slow, atol=1e-9, rtol=0)
        parameters = list(model.parameters())
        grads = [
            torch.autograd.grad(F.cross_entropy(x, batch.targets[0]), parameters)
            for x in (fast, slow)
        ]
        for (name, _), a, b in zip(model.named_parameters(), *grads, strict=True):
            torch.testing.assert_close(a, b, atol=1e-9, rtol=0, msg=name)
    assert winners == {"copy", "resolver"}  # or the masks would not have been seen


@pytest.mark.parametrize("kind", [CopyNet, Decompiler])
def test_steps_recall_what_the_whole_does(kind):
    model = drawn(kind, recall=True)
    batch = Batch(pad([INPUT, INPUT[:5]]), pad([TARGET, TARGET[:3]]))
    whole = model(batch.inputs, batch.previous)
    torch.testing.assert_close(Seq2Seq.forward(model, batch.inputs, batch.previous), whole)
    with torch.no_grad():
        model.recall.bias += 1.0
    assert not torch.allclose(model(batch.inputs, batch.previous), whole)


# ---- the masks ----------------------------------------------------------------------------------


def test_a_position_goes_to_the_strictly_greater_and_a_tie_to_neither():
    model, inputs, previous = drawn(Decompiler), torch.tensor([INPUT]), torch.tensor([9])
    memory = model.encode(inputs)
    holds = inputs == 9  # at 2, 4, 8 and 11
    copy, v_dw = torch.zeros(2, *inputs.shape).double()
    copy[0, [2, 4, 8, 11]] = torch.tensor([0.5, -1.0, 0.7, 0.1]).double()
    v_dw[0, [2, 4, 8, 11]] = torch.tensor([0.2, -1.0, 0.9, -0.3]).double()
    selective, query = taking(memory, holds, previous, copy, v_dw)
    expected = torch.zeros_like(copy[0])
    expected[[2, 11]] = torch.softmax(torch.tensor([0.5, 0.1]).double(), dim=0)
    torch.testing.assert_close(selective[0], expected)
    row = memory.references.resolver.m_dp[0, 8]
    torch.testing.assert_close(query[0], torch.softmax(0.9 * row, dim=0))

    selective, query = taking(memory, holds, previous, v_dw, v_dw)
    assert not selective.any()
    torch.testing.assert_close(query[0], torch.full_like(copy[0], 1 / len(INPUT)))


def test_a_resolver_of_zeros_only_touches_what_is_read():
    """With the columns of selective read and query attention zeroed too, CopyNet is left."""
    model, baseline = drawn(Decompiler), drawn(CopyNet, seed=1)
    batch = Batch(pad([INPUT]), pad([TARGET]))
    with torch.no_grad():
        for parameter in model.resolver.parameters():
            parameter.zero_()
        memory = model.encode(batch.inputs)
        state = model.step(memory, model.start(memory), batch.previous[:, 0]).state
        copy = memory.copy_keys[0] @ state.v_hidd[0]
        torch.testing.assert_close(memory.scores(state.v_hidd[:, None])[0, 0], copy)
        reads = model.step(memory, state, torch.tensor([9])).reads
        above = (copy > 0) & (batch.inputs[0] == 9)
        assert above.any()
        assert ((reads.selective[0] > 0) == above).all()
        torch.testing.assert_close(reads.query[0], torch.full_like(copy, 1 / 14))

        model.decoder.w_ih[:, 5:13] = model.decoder.w_ih[:, 21:] = 0.0
        weights = {k: v for k, v in model.state_dict().items() if not k.startswith("resolver.")}
        weights["decoder.w_ih"] = weights["decoder.w_ih"][:, :21]
        baseline.load_state_dict(weights)
        torch.testing.assert_close(
            model(batch.inputs, batch.previous), baseline(batch.inputs, batch.previous)
        )


# ---- memory and learning ------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [CopyNet, Decompiler])
def test_memory_of_a_step_does_not_grow_with_length_times_hidden(kind):
    length, hidden = 200, 64
    model = kind(V, embedding=4, hidden=hidden)
    inputs = torch.randint(4, V, (1, length))

    def held(steps: int) -> int:
        """Numbers kept for the gradient."""
        kept: dict[int, int] = {}

        def keep(x: Tensor) -> Tensor:
            storage = x.untyped_storage()
            kept[storage.data_ptr()] = storage.nbytes() // 4
            return x

        with torch.autograd.graph.saved_tensors_hooks(keep, lambda x: x):
            logits = model(inputs, inputs[:, :steps])
        del logits
        return sum(kept.values())

    per_step = (held(24) - held(8)) / 16
    assert per_step < 2 * hidden * length / 3


CMP, JE, COLON, CASE = range(4, 8)
LABELS, NUMBERS, BODIES = range(8, 12), range(12, 18), range(18, 22)


def small_switch(draw: random.Random) -> tuple[list[int], list[int]]:
    """One or two cases; which number belongs to which block only the jumps say."""
    count = draw.randint(1, 2)
    labels = draw.sample(LABELS, count)
    number = dict(zip(labels, draw.sample(NUMBERS, count), strict=True))
    body = {label: draw.choice(BODIES) for label in labels}
    jumps = [token for label in labels for token in (CMP, number[label], JE, label)]
    draw.shuffle(labels)
    blocks = [token for label in labels for token in (label, COLON, body[label])]
    cases = [token for label in labels for token in (CASE, number[label], COLON, body[label])]
    return [SOS, *jumps, *blocks, EOS], [*cases, EOS]


def switches(count: int, seed: int) -> Batch:
    draw = random.Random(seed)
    inputs, targets = zip(*(small_switch(draw) for _ in range(count)), strict=True)
    return Batch(pad(inputs), pad(targets))


def test_it_learns_to_follow_jumps():
    with torch.random.fork_rng():
        torch.manual_seed(0)
        model = Decompiler(BODIES.stop, embedding=32, hidden=16)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.005)
    recent = 1.0
    for seed in range(1, 1000):
        batch = switches(128, seed)
        logits = model(batch.inputs, batch.previous)
        loss = F.cross_entropy(logits.flatten(0, 1), batch.targets.flatten(), ignore_index=PAD)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        recent += 0.1 * (loss.item() - recent)
        if recent < 0.01:
            break
    asked = switches(500, 0)
    answers = greedy(model, asked.inputs, asked.targets.shape[1]).ids
    assert (answers == asked.targets).all(1).float().mean() > 0.97
