"""The samplers against the exact solver, text both ways, and questions that make no sense."""

import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from permnet.errors import PermnetError
from permnet.tasks.permutation import (
    BLOCK,
    KINDS,
    NOISE,
    Examples,
    Task,
    from_tokens,
    parse,
    to_tokens,
)
from permnet.tasks.solve import solve
from permnet.vocab import EOS, PAD, SOS, Vocab, data_names

LISTINGS = [
    (
        "direct",
        "<sos> d i j h e g f b c a <sep> 3 2 7 6 5 1 4 8 0 9 <eos>",
        "<sos> h j b f g i e c d a <eos>",
    ),
    (
        "indirect",
        "<sos> d 8 b 9 g 6 j 10 e 5 i 4 a 3 c 2 f 1 h 7 <sep> 2 10 4 3 1 8 5 9 6 7 <eos>",
        "<sos> c j i a f d e b g h <eos>",
    ),
    (
        "dict",
        "<sos> j 10 b 7 c 3 i 2 d 1 a 8 f 9 g 5 e 6 h 4 <sep> 7 3 9 5 8 6 9 1 2 6 <eos>",
        "<sos> b c f g a e f d i e <eos>",
    ),
]


@st.composite
def tasks(draw: st.DrawFn) -> Task:
    longest = draw(st.integers(1, 12))
    return Task(
        kind=draw(st.sampled_from(KINDS)),
        shortest=draw(st.integers(1, longest)),
        longest=longest,
        noise=draw(st.integers(0, 6)),
        tokens=draw(st.none() | st.integers(longest, longest + 20)),
    )


seeds = st.integers(0, 2**32 - 1)


def draw(task: Task, seed: int, count: int = 20) -> Examples:
    return task.sample(count, np.random.RandomState(seed))


@settings(deadline=None)
@given(tasks(), seeds)
def test_targets_are_what_the_solver_finds(task: Task, seed: int) -> None:
    for asked, answer in to_tokens(task.vocab(), draw(task, seed)):
        assert ["<sos>", *solve(task.kind, asked, NOISE), "<eos>"] == answer


@settings(deadline=None)
@given(tasks(), seeds)
def test_sampled_structure(task: Task, seed: int) -> None:
    examples = draw(task, seed)
    assert examples.inputs.shape == (20, task.input_width)
    assert examples.targets.shape == (20, task.target_width)
    assert examples.inputs.dtype == examples.targets.dtype == np.dtype("<u2")
    data = set(data_names(task.size))
    first = 0 if task.kind == "direct" else 1
    references = {str(i) for i in range(first, first + task.size)}
    rows = to_tokens(task.vocab(), examples)
    for (asked, answer), length in zip(rows, examples.lengths, strict=True):
        assert (asked[0], asked[-1], answer[0], answer[-1]) == ("<sos>", "<eos>") * 2
        assert task.shortest <= length <= task.longest
        assert sum(token in NOISE for token in asked) <= task.noise
        question = parse(task.kind, asked, NOISE)
        assert len(question.data) == len(question.queries) == len(answer) - 2 == length
        assert len(set(question.data)) == length
        assert set(question.data) <= data
        assert set(question.queries) <= references
        if task.kind == "direct":
            assert sorted(map(int, question.queries)) == list(range(length))
        else:
            assert len(set(question.keys)) == length
            assert set(question.keys) <= references
        if task.kind == "indirect":
            assert sorted(question.queries) == sorted(question.keys)


@settings(deadline=None)
@given(tasks(), seeds)
def test_padding_stands_only_on_the_right(task: Task, seed: int) -> None:
    examples = draw(task, seed)
    for rows in (examples.inputs, examples.targets):
        real = rows != PAD
        assert np.array_equal(real, np.sort(real, axis=1)[:, ::-1])
        assert (rows[np.arange(len(rows)), real.sum(axis=1) - 1] == EOS).all()
    assert (examples.inputs[:, 0] == SOS).all()


@settings(deadline=None)
@given(tasks(), seeds)
def test_text_round_trip(task: Task, seed: int) -> None:
    vocab, examples = task.vocab(), draw(task, seed)
    back = from_tokens(vocab, to_tokens(vocab, examples))
    for before, after in ((examples.inputs, back.inputs), (examples.targets, back.targets)):
        assert np.array_equal(before[:, : after.shape[1]], after)
        assert not before[:, after.shape[1] :].any()


@settings(deadline=None)
@given(tasks(), seeds)
def test_same_seed_same_examples(task: Task, seed: int) -> None:
    one, two = draw(task, seed), draw(task, seed)
    assert np.array_equal(one.inputs, two.inputs)
    assert np.array_equal(one.targets, two.targets)


def test_blocks_do_not_repeat_and_part_of_a_block_is_drawn() -> None:
    examples = draw(Task("indirect", 10, 10), 0, 2 * BLOCK + 7)
    assert len(np.unique(examples.inputs, axis=0)) == len(examples) == 2 * BLOCK + 7
    assert len(draw(Task("indirect", 10, 10), 0, 0)) == 0


def test_take_and_slices() -> None:
    examples = draw(Task("dict", 1, 5), 3)
    chosen = examples.take(np.array([7, 2]))
    assert np.array_equal(chosen.inputs, examples.inputs[[7, 2]])
    assert np.array_equal(examples[3:5].targets, examples.targets[3:5])
    assert len(examples[:4]) == 4


def even(counts: np.ndarray) -> bool:
    """Whether counts look uniform: chi-square within six deviations of its mean."""
    expected = counts.sum() / counts.size
    freedom = counts.size - 1
    return bool(((counts - expected) ** 2 / expected).sum() < freedom + 6 * np.sqrt(2 * freedom))


def test_lengths_data_keys_and_orders_are_uniform() -> None:
    task = Task("indirect", 1, 4, tokens=6)
    examples = draw(task, 11, 60_000)
    assert even(np.bincount(examples.lengths)[1:])
    assert even(np.bincount(examples.inputs[:, 1])[4:10])
    assert even(np.bincount(examples.inputs[:, 2])[10:16])
    full = examples.take(examples.lengths == 4)
    keys, queries = full.inputs[:, 2:10:2], full.inputs[:, 10:14]
    orders = (queries[:, :, None] == keys[:, None, :]).argmax(axis=2)
    counts = np.unique(orders, axis=0, return_counts=True)[1]
    assert counts.size == 24
    assert even(counts)


def test_direct_orders_are_uniform() -> None:
    indices = draw(Task("direct", 4, 4), 12, 50_000).inputs[:, 6:10]
    counts = np.unique(indices, axis=0, return_counts=True)[1]
    assert counts.size == 24
    assert even(counts)


def test_dict_queries_are_independent() -> None:
    examples = draw(Task("dict", 3, 3), 13, 50_000)
    keys, queries = examples.inputs[:, 2:8:2], examples.inputs[:, 8:11]
    places = (queries[:, :, None] == keys[:, None, :]).argmax(axis=2)
    assert even(np.unique(places, axis=0, return_counts=True)[1])
    assert len(np.unique(places, axis=0)) == 27


@pytest.mark.parametrize("kind", KINDS)
def test_noise_reaches_every_place_it_may(kind: str) -> None:
    task = Task(kind, 2, 2, noise=3)
    examples = draw(task, 14, 5_000)
    is_noise = np.isin(examples.inputs, np.arange(4, 4 + len(NOISE)))
    assert even(np.bincount(is_noise.sum(axis=1), minlength=4))
    assert even(np.bincount(examples.inputs[is_noise])[4:])
    gaps = set()
    for row, noisy in zip(examples.inputs.tolist(), is_noise.tolist(), strict=True):
        clean = 0
        for token, noise in zip(row, noisy, strict=True):
            if noise:
                gaps.add(clean)
            elif token != PAD:
                clean += 1
    # Gap g stands before the clean token g; a direct one has none between its data, tokens 1 and 2.
    assert gaps == ({1, 3, 4, 5, 6} if kind == "direct" else set(range(1, 9)))


def test_direct_data_start_at_any_offset() -> None:
    task = Task("direct", 5, 5, noise=4)
    examples = draw(task, 15, 20_000)
    offsets = (examples.inputs >= 4 + len(NOISE)).argmax(axis=1) - 1
    noise = np.isin(examples.inputs, np.arange(4, 4 + len(NOISE))).sum(axis=1)
    for k in range(5):
        assert even(np.bincount(offsets[noise == k], minlength=k + 1)) or k == 0
        assert offsets[noise == k].max() == k


def test_vocabulary_order() -> None:
    assert Task("direct", 1, 3).vocab().tokens == ("a", "b", "c", "0", "1", "2")
    assert Task("dict", 1, 2, tokens=3).vocab(5).tokens == ("a", "b", "c", "1", "2", "3")
    assert Task("dict", 1, 2, tokens=3).vocab(5).reserved == 5
    assert Task("indirect", 1, 1, noise=1).vocab().tokens == (*NOISE, "a", "1")


@pytest.mark.parametrize(("kind", "asked", "answer"), LISTINGS)
def test_listings_of_the_paper(kind: str, asked: str, answer: str) -> None:
    vocab = Task(kind, 10, 10).vocab()
    examples = from_tokens(vocab, [(asked.split(), answer.split())])
    assert [*map(" ".join, next(to_tokens(vocab, examples)))] == [asked, answer]
    assert examples.targets.shape == (1, 11)
    assert solve(kind, asked.split()) == answer.split()[1:-1]


def test_unseen_tokens_survive_the_round_trip_of_an_answer() -> None:
    vocab = Vocab(("a", "1"), reserved=2)
    pair = (["<sos>", "zebra", "7", "<sep>", "7", "<eos>"], ["<sos>", "zebra", "<eos>"])
    examples = from_tokens(vocab, [pair])
    assert examples.targets.tolist() == [[examples.inputs[0, 1], EOS]]


@pytest.mark.parametrize("side", ["a <eos>", "<sos> a", "", "<sos>"])
def test_an_example_is_enclosed(side: str) -> None:
    with pytest.raises(PermnetError, match="from <sos> to <eos>"):
        from_tokens(Task("direct", 1, 1).vocab(), [(["<sos>", "a", "<eos>"], side.split())])


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"kind": "indirekt"}, "unknown kind of task 'indirekt': did you mean indirect"),
        ({"shortest": 0}, "1 ≤ shortest ≤ longest, not 0 and 3"),
        ({"shortest": 4}, "not 4 and 3"),
        ({"noise": -1}, "not -1"),
        ({"tokens": 2}, r"at least the longest length \(3\).*not 2"),
        ({"tokens": 32_001}, "at most 32000, not 32001"),
    ],
)
def test_impossible_tasks(fields: dict[str, object], message: str) -> None:
    with pytest.raises(PermnetError, match=message):
        Task(**{"kind": "direct", "shortest": 1, "longest": 3, **fields})


@pytest.mark.parametrize(
    ("kind", "text", "message"),
    [
        ("direct", "", "the question is empty"),
        ("direct", "<sos> <eos>", "the question is empty"),
        ("direct", "a b 0 1", "one <sep>, this one has 0"),
        ("direct", "a <sep> 0 <sep> 0", "one <sep>, this one has 2"),
        ("direct", "<sep> 0", "no data"),
        ("direct", "~1 <sep> 0", "no data"),
        ("direct", "a b <sep>", "nothing is asked for"),
        ("direct", "a b <sep> x", "index 'x' is not an integer"),
        ("direct", "a b <sep> ²", "not an integer"),
        ("direct", "a b <sep> 2", "index '2' is out of range: 2 data have 0…1"),
        ("direct", "a b <sep> -1", "index '-1' is out of range"),
        ("direct", "a b <sep> 01", "index '01' is out of range"),
        ("direct", "a b <sep> " + "9" * 5000, "is out of range"),
        ("direct", "a ~1 b <sep> 0", "noise '~1' stands between data"),
        ("indirect", "a 1 b <sep> 1", "datum 'b' has no key"),
        ("indirect", "a 1 b 1 <sep> 1", "key '1' stands twice"),
        ("indirect", "a 1 b 2 <sep> 7", "key '7' has no datum"),
        ("dict", "a 1 <sep> a", "key 'a' has no datum"),
        ("indirect", "a 1 <pad> <sep> 1", "<pad> stands inside"),
        ("indirect", "<sos> <sos> a 1 <sep> 1", "<sos> stands inside"),
        ("indirect", "a 1 <eos> <sep> 1 <eos>", "<eos> stands inside"),
        ("both", "a 1 <sep> 1", "unknown kind of task 'both'"),
    ],
)
def test_senseless_questions(kind: str, text: str, message: str) -> None:
    with pytest.raises(PermnetError, match=message):
        parse(kind, text.split(), NOISE)


@pytest.mark.parametrize(
    ("kind", "text", "answer"),
    [
        ("direct", "x y <sep> 1 1 1", "y y y"),
        ("indirect", "x foo x bar <sep> bar", "x"),
        ("indirect", "~1 x ~2 foo <sep> ~1 foo ~1", "x"),
        ("direct", "~1 x y ~1 <sep> ~1 1", "y"),
    ],
)
def test_questions_beyond_the_sampler(kind: str, text: str, answer: str) -> None:
    assert solve(kind, text.split(), NOISE) == answer.split()


@settings(deadline=None)
@given(
    st.sampled_from(KINDS),
    st.lists(st.sampled_from(["<sos>", "<eos>", "<sep>", "<pad>", "a", "0", "1", "~1", ""])),
)
def test_any_tokens_are_parsed_or_refused(kind: str, tokens: list[str]) -> None:
    try:
        question = parse(kind, tokens, NOISE)
    except PermnetError:
        return
    assert len(solve(kind, tokens, NOISE)) == len(question.queries) > 0


def test_tasks_import_neither_torch_nor_the_solver() -> None:
    modules = "tasks.benchmarks", "scoring", "metrics", "commands.data", "commands.score"
    code = "".join(f"import permnet.{module}\n" for module in modules)
    code += "import sys; print({'torch', 'permnet.tasks.solve'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"
