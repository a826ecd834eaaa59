"""The model's data: drawn switches, what their machine code becomes, and answers read back."""

from itertools import pairwise

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.nn import functional as F

from benchmarks.realset_clang import source_switches
from permnet.batch import Batch, pad
from permnet.binary.operands import Register
from permnet.errors import PermnetError
from permnet.models import PermNetI
from permnet.switches.claim import Block, Claim, Scrutinee
from permnet.switches.intervals import runs
from permnet.switches.model_data import examples, generate
from permnet.switches.model_tokens import AFTER, BLOCKS, DEFAULT, END, answer, claimed
from permnet.tasks.dispatch import MOST_LABELS, PRELUDE, sample
from permnet.tasks.switch.assembly import is_label
from permnet.tasks.switch.dataset import build, load, vocabulary
from permnet.tasks.switch.draw import Draw
from permnet.vocab import PAD

WAYS = [
    ("gcc", level, *tables) for level in ("-O0", "-O2") for tables in ((), ("-fno-jump-tables",))
]


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10**6))
def test_drawn_blocks_are_those_of_the_source(tmp_path_factory, seed):
    path = tmp_path_factory.mktemp("drawn") / "f.i"
    drawn = sample(Draw(f"test/{seed}"))
    path.write_text(PRELUDE + drawn.source)
    (seen,) = source_switches(path)
    labels = [label for block in drawn.blocks for label in block or ()]
    assert 2 <= len({*labels}) == len(labels) <= MOST_LABELS
    assert (("default",) in seen.blocks) == (None in drawn.blocks)
    # An empty block that falls through stands at the place of the next, here or at the default.
    assert {*seen.labels} <= {*labels}
    assert None in drawn.blocks or {*seen.labels} == {*labels}
    for block in drawn.blocks:
        assert any({*(block or ["default"])} <= {*found} for found in seen.blocks) or (
            block is not None and not {*block} & {*seen.labels}
        )


def parts(pair):
    """The labels answered for each address that a question lists."""
    source, target = pair
    listed = source[source.index(BLOCKS) + 1 :]
    found = [token for token, after in pairwise(listed) if after == ":"]
    answers, current = [], []
    for token in target:
        if token == END:
            answers.append(current)
            current = []
        else:
            current.append(token)
    assert not current
    return dict(zip(found, answers, strict=True))


def signed(label):
    """As a char or a short, whose sign machine code need not show."""
    value = int(label)
    for bits in (8, 16):
        if 1 << (bits - 1) <= value < 1 << bits:
            return value - (1 << bits)
    return value


@pytest.mark.parametrize("way", WAYS, ids=" ".join)
def test_an_example_is_the_switch_that_was_drawn(way):
    drawn = [sample(Draw(f"{way}/{i}")) for i in range(40)]
    made = examples(drawn, way)
    assert sum(pair is not None for pair in made) > 15
    for one, pair in zip(drawn, made, strict=True):
        if pair is None:
            continue
        answers = parts(pair)
        default = [part for part in answers.values() if part in ([DEFAULT], [AFTER])]
        assert default == [[DEFAULT if None in one.blocks else AFTER]]
        blocks = {frozenset(map(signed, block)) for block in one.blocks if block}
        found = [part for part in answers.values() if part not in default]
        assert {frozenset(map(signed, part)) for part in found} <= blocks


JUMPS = {
    "je": lambda x, n: x == n,
    "jne": lambda x, n: x != n,
    "jg": lambda x, n: x > n,
    "jge": lambda x, n: x >= n,
    "jl": lambda x, n: x < n,
    "jle": lambda x, n: x <= n,
    "ja": lambda x, n: x % 2**64 > n % 2**64,
    "jae": lambda x, n: x % 2**64 >= n % 2**64,
    "jb": lambda x, n: x % 2**64 < n % 2**64,
    "jbe": lambda x, n: x % 2**64 <= n % 2**64,
}


def followed(tokens, x):
    """Where a value goes, by the compares and jumps of a question alone."""
    tests = tokens[: tokens.index(BLOCKS)]
    at, compared = 0, None
    while at < len(tests):
        token = tests[at]
        if token == "cmp":
            compared = int(tests[at + 1])
            at += 2
            continue
        if is_label(token):
            at += 2
            continue
        taken = token in ("jmp", "else") or JUMPS[token](x, compared)
        target = tests[at + 1]
        at += 2
        if taken:
            inside = [i for i in range(len(tests) - 1) if tests[i : i + 2] == [target, ":"]]
            if not inside:
                return target
            (at,) = inside
    raise AssertionError(f"{x} goes nowhere in {' '.join(tokens)}")


@pytest.mark.parametrize("level", ["-O0", "-O2"])
def test_a_question_holds_its_answer(level):
    way = ("gcc", level, "-fno-jump-tables", "-fno-bit-tests")
    made = examples([sample(Draw(f"solve/{level}/{i}")) for i in range(60)], way)
    solved = 0
    for pair in filter(None, made):
        tests = pair[0][: pair[0].index(BLOCKS)]
        plain = {"cmp", "jmp", "else", ":", *JUMPS}
        if not all(t in plain or is_label(t) or t.lstrip("-").isdecimal() for t in tests):
            continue
        for address, part in parts(pair).items():
            values = [10**6] if part in ([DEFAULT], [AFTER]) else map(int, part)
            assert all(followed(pair[0], value) == address for value in values)
        solved += 1
    assert solved > 15


@given(
    st.lists(st.integers(-128, 127), min_size=2, max_size=12, unique=True),
    st.integers(1, 4),
    st.booleans(),
    st.integers(0, 12),
)
def test_an_answer_read_back_is_the_claim(labels, size, has_default, place):
    groups = [labels[i : i + size] for i in range(0, len(labels), size)]
    addresses = [16 * i for i in range(len(groups) + 1)]
    default = addresses.pop(place % len(addresses))
    blocks = tuple(
        Block(address, runs({label % 256 for label in group}))
        for address, group in zip(addresses, groups, strict=True)
    )
    claim = Claim(0, Scrutinee(Register("al"), 8, True), blocks, default, has_default)
    listed = sorted([*addresses, default])
    assert claimed(answer(claim, listed), listed, claim) == claim


@pytest.mark.parametrize(
    "text",
    [
        "",
        "3 ;",
        "3 ; 4",
        "3 ; 4 ;",
        "default ; after ;",
        "3 default ; 4 ;",
        "x ; after ;",
        "; after ;",
    ],
)
def test_a_malformed_answer_is_refused(text):
    claim = Claim(0, Scrutinee(Register("eax"), 32, True), (), 16, True)
    with pytest.raises(PermnetError):
        claimed(text.split(), [0, 16], claim)


def test_a_set_depends_on_its_name_alone(tmp_path):
    counts = {"test": 20, "train": 30}
    ways = [("gcc", "-O0"), ("gcc", "-O1")]
    first = [load(path) for path in generate(tmp_path / "a", 1, counts, ways, 10)]
    second = [load(path) for path in generate(tmp_path / "b", 2, counts, ways, 10)]
    assert [len(split) for split in first] == [20, 30]
    assert [split.sha256 for split in first] == [split.sha256 for split in second]
    assert "<eos>" in vocabulary(first[1], reserved=8, least=2)
    questions = {" ".join(source) for split in first for source, _ in split.pairs()}
    assert len(questions) == 50


@pytest.mark.slow
def test_a_small_model_learns_questions_by_heart():
    torch.manual_seed(0)
    way = ("gcc", "-O0", "-fno-jump-tables")
    made = filter(None, examples([sample(Draw(f"learn/{i}")) for i in range(60)], way))
    split = build("learn", "train", "shuffled", "gcc", sorted(made, key=lambda p: len(p[0]))[:24])
    vocab = vocabulary(split, reserved=32, least=1)
    inputs, targets, _ = split.encoded(vocab)
    batch = Batch(*(pad([row.tolist() for row in side]) for side in (inputs, targets)))
    model = PermNetI(len(vocab), embedding=48, hidden=48)
    optimiser = torch.optim.AdamW(model.parameters(), lr=3e-3)
    for _ in range(400):
        logits = model(batch.inputs, batch.previous)
        loss = F.cross_entropy(logits.flatten(0, 1), batch.targets.flatten(), ignore_index=PAD)
        optimiser.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimiser.step()
    right = (logits.argmax(-1) == batch.targets) | (batch.targets == PAD)
    assert right.all(1).float().mean() > 0.9
