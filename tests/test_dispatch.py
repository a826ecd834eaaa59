"""The model's data: drawn switches, questions that hold their answers, answers that are proven."""

import shutil
from collections.abc import Callable, Iterator
from itertools import pairwise

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.nn import functional as F

from benchmarks.realset_clang import source_switches
from permnet.batch import Batch, pad
from permnet.errors import PermnetError
from permnet.models import PermNetI
from permnet.scoring import grade, score
from permnet.switches.contents import UnprovenError
from permnet.switches.graph import Graph
from permnet.switches.model_data import dispatches, examples, generate
from permnet.switches.model_tokens import AFTER, BLOCKS, DEFAULT, END, TO, claimed, scrutinee_of
from permnet.switches.proof import prove
from permnet.switches.regions import Region, Walker
from permnet.tasks.dispatch import DISPATCH, MOST_LABELS, PRELUDE, partition, sample
from permnet.tasks.switch.assembly import is_label
from permnet.tasks.switch.benchmark import cases, switch_benchmark
from permnet.tasks.switch.dataset import Pair, build, load, vocabulary
from permnet.tasks.switch.draw import Draw
from permnet.vocab import PAD
from tests.test_switch_lines import graph_of

CLANG = "clang-14"
NEEDS_CLANG = pytest.mark.skipif(shutil.which(CLANG) is None, reason=f"{CLANG} is not installed")
WAYS = [
    pytest.param(
        (compiler, level, *tables),
        marks=NEEDS_CLANG if compiler == CLANG else (),
        id=" ".join((compiler, level, *tables)),
    )
    for compiler in ("gcc", CLANG)
    for level in ("-O0", "-O2")
    for tables in ((), ("-fno-jump-tables",))
]
REST = ([DEFAULT], [AFTER])


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


def parts(pair: Pair) -> dict[str, list[str]]:
    """What is answered for each address that a question lists."""
    source, target = pair
    listed = source[source.index(BLOCKS) + 1 :]
    found = [token for token, after in pairwise(listed) if after == ":"]
    assert target[-1] == END
    answers = " ".join(target[:-1]).split(f" {END} ")
    return dict(zip(found, map(str.split, answers), strict=True))


def labels_of(part: list[str]) -> set[int]:
    """The labels that a part of an answer names."""
    found, tokens = set[int](), iter(part)
    low = 0
    for token in tokens:
        if token == TO:
            found |= {*range(low, int(next(tokens)))}
        else:
            low = int(token)
            found.add(low)
    return found


def narrow(label: int) -> int:
    """As a char or a short, whose sign machine code need not show."""
    for bits in (8, 16):
        if 1 << (bits - 1) <= label < 1 << bits:
            return label - (1 << bits)
    return label


@pytest.mark.parametrize("way", WAYS)
def test_an_example_is_the_switch_that_was_drawn(way):
    drawn = [sample(Draw(f"{way}/{i}")) for i in range(40)]
    made = examples(drawn, way)
    assert sum(pair is not None for pair in made) > 15
    for one, pair in zip(drawn, made, strict=True):
        if pair is None:
            continue
        answers = [*parts(pair).values()]
        rest = [part for part in answers if part in REST]
        assert rest
        assert all(part == [DEFAULT if None in one.blocks else AFTER] for part in rest)
        blocks = [{narrow(label) for label in block} for block in one.blocks if block]
        found = [{*map(narrow, labels_of(part))} for part in answers if part not in REST]
        assert sum(map(len, found)) == len(set[int]().union(*found))
        for labels in found:
            touched = [block for block in blocks if block & labels]
            assert labels <= set[int]().union(*touched)
            assert len(touched) == 1 or labels == set[int]().union(*touched)


JUMPS: dict[str, Callable[[int, int], bool]] = {
    "je": lambda x, n: x == n,
    "jne": lambda x, n: x != n,
    "jge": lambda x, n: x >= n,
    "jl": lambda x, n: x < n,
    "jns": lambda x, n: x >= n,
    "js": lambda x, n: x < n,
    "jae": lambda x, n: x % 2**64 >= n % 2**64,
    "jb": lambda x, n: x % 2**64 < n % 2**64,
}


class StrangeError(Exception):
    """A question with a test that cannot be followed by its tokens."""


def followed(tokens: list[str], x: int) -> str:
    """Where a value goes, by the tests of a question alone."""
    tests = tokens[: tokens.index(BLOCKS)]
    at, minus = 0, 0
    seen: tuple[int, int] | bool = False  # what was compared; or whether a bit is set
    for _ in range(len(tests)):
        token, following = tests[at : at + 2]
        at += 2
        if token in ("sub", "cmp"):
            if not following.lstrip("-").isdecimal():
                raise StrangeError
            minus, seen = (int(following), seen) if token == "sub" else (0, (int(following), minus))
        elif token == "bits":
            end = next(i for i in range(at, len(tests)) if tests[i].startswith("j"))
            seen, at = str(x) in tests[at - 1 : end], end
        elif token == "and":
            raise StrangeError
        elif following == "table":
            entries = dict(zip(tests[at::2], tests[at + 1 :: 2], strict=False))
            if str(x) not in entries:
                raise StrangeError
            return entries[str(x)]
        elif not is_label(token):
            holds = token in ("jmp", "else") or jumps(token, seen, x)
            if following == "set":
                seen = holds
            elif holds:
                inside = [i for i in range(len(tests)) if tests[i : i + 2] == [following, ":"]]
                if not inside:
                    return following
                (at,) = inside
    raise AssertionError(f"{x} goes nowhere in {' '.join(tokens)}")


def jumps(name: str, seen: tuple[int, int] | bool, x: int) -> bool:
    if isinstance(seen, bool):
        return seen == (name in ("jne", "jb"))
    number, minus = seen
    return JUMPS[name](x - minus, number - minus)


@pytest.mark.parametrize("way", WAYS)
def test_a_question_holds_its_answer(way):
    made = [*filter(None, examples([sample(Draw(f"solve/{way}/{i}")) for i in range(60)], way))]
    solved = 0
    for pair in made:
        answers = parts(pair)
        labelled = [(a, labels_of(part)) for a, part in answers.items() if part not in REST]
        try:
            right = all(followed(pair[0], value) == a for a, found in labelled for value in found)
            rest = {followed(pair[0], value) for value in (-(10**6), 10**6)}
        except StrangeError:
            continue
        solved += right and all(answers[address] in REST for address in rest)
    assert solved > 0.9 * len(made) > 20


@pytest.mark.parametrize("way", WAYS)
def test_true_answers_are_proven_and_altered_ones_are_not(way):
    drawn = [sample(Draw(f"prove/{way}/{i}")) for i in range(30)]
    proven = 0
    for graph, region, (_, target) in filter(None, dispatches(drawn, way)):
        if not is_proven(graph, region, target):
            continue
        proven += 1
        for altered in alterations(target):
            assert not is_proven(graph, region, altered), (target, altered)
    assert proven > 12


def is_proven(graph: Graph, region: Region, tokens: list[str]) -> bool:
    """With the value in any of its places; what is no claim is not."""
    try:
        claims = [*claimed(tokens, graph, region, scrutinee_of(graph, region))]
    except PermnetError:
        return False
    for claim in claims:
        try:
            prove(graph, claim)
            return True
        except UnprovenError:
            continue
    return False


def alterations(target: list[str]) -> Iterator[list[str]]:
    """Answers with two parts exchanged, a label dropped, a label added."""
    said = " ".join(target[:-1]).split(f" {END} ")
    labelled = [i for i, part in enumerate(said) if part.split() not in REST]
    if len(labelled) > 1:
        a, b = labelled[:2]
        swapped = list(said)
        swapped[a], swapped[b] = said[b], said[a]
        yield f" {END} ".join([*swapped, ""]).split()
    for i in labelled[:1]:
        more = [*said[:i], f"{said[i]} 123456", *said[i + 1 :]]
        yield f" {END} ".join([*more, ""]).split()
        if len(labels := said[i].split()) > 1 and TO not in labels:
            fewer = [*said[:i], " ".join(labels[1:]), *said[i + 1 :]]
            yield f" {END} ".join([*fewer, ""]).split()


CHAIN = """
cmp edi, 5
je 1f
cmp edi, 9
je 2f
mov eax, 1
ret
1: mov eax, 2
ret
2: mov eax, 3
ret
"""


def chain():
    """A graph, and the one dispatch in it: the default, 5, 9."""
    graph = graph_of(CHAIN)
    (region,) = Walker(graph).regions()
    return graph, region


@pytest.mark.parametrize(
    "text",
    [
        "",
        "after ; 5 ;",
        "after ; 5 ; 9",
        "after ; 5 ; 9 ; 7 ;",
        "4 ; 5 ; 9 ;",
        "default ; after ; 9 ;",
        "default 3 ; 5 ; 9 ;",
        "after ; x ; 9 ;",
        "after ; ; 9 ;",
        "after ; 5 .. ; 9 ;",
        "after ; .. 5 ; 9 ;",
        "after ; 5 .. 6 .. 7 ; 9 ;",
        "after ; 7 .. 5 ; 9 ;",
        "after ; 5 .. 5 ; 9 ;",
        "after ; 0 .. 99999999 ; 9 ;",
        "after ; 5 ; .L3 ;",
        "after ; 5 ; <unk3> ;",
        "after ; ٥ ; 9 ;",
        f"after ; {'9' * 5000} ; 9 ;",
    ],
)
def test_a_malformed_answer_is_refused(text):
    graph, region = chain()
    with pytest.raises(PermnetError):
        next(claimed(text.split(), graph, region, scrutinee_of(graph, region)))


@given(st.lists(st.sampled_from([*"0123456789", "-1", "..", ";", "after", "default", ".L1"])))
def test_whatever_is_answered_is_a_claim_or_refused(tokens):
    graph, region = chain()
    if is_proven(graph, region, tokens):
        assert partition(tokens) == partition(["after", END, "5", END, "9", END])


def test_a_set_depends_on_its_name_alone(tmp_path):
    counts = {"test": 20, "train": 30}
    ways = [("gcc", "-O0"), ("gcc", "-O1")]
    first = [load(path) for path in generate(tmp_path / "a", 1, counts, ways, 10)]
    second = [load(path) for path in generate(tmp_path / "b", 2, counts, ways, 10)]
    assert [len(split) for split in first] == [20, 30]
    assert [split.sha256 for split in first] == [split.sha256 for split in second]
    questions = {" ".join(source) for split in first for source, _ in split.pairs()}
    assert len(questions) == 50
    assert cases(first[0]).tolist() == [target.count(END) for _, target in first[0].pairs()]
    bench = switch_benchmark(DISPATCH, tmp_path / "a")
    vocab = bench.vocab(reserved=100)
    assert {"cmp", "je", DEFAULT, END} <= {*vocab.tokens}
    said = [token for pair in first[1].pairs() for side in pair for token in side]
    numbers = {token for token in said if token.lstrip("-").isdecimal()}
    assert {*vocab.tokens} & numbers == {n for n in numbers if said.count(n) >= 30 // 8}
    answers = [target for _, target in first[0].pairs()]
    figures = score(DISPATCH, [[*target, "<eos>"] for target in answers], data=tmp_path / "a")
    assert figures["wea"] == figures["skeleton"] == 1.0


def test_without_its_folder_a_split_says_how_to_make_it(tmp_path):
    for folder in (None, tmp_path):
        for split in ("train", "test"):
            with pytest.raises(PermnetError, match=r"permnet\.switches\.model_data DIR"):
                switch_benchmark(DISPATCH, folder).split(split)


def test_the_skeleton_of_an_answer_is_its_partition():
    true = ["5", "3", END, AFTER, END, "7", TO, "9", END]
    told = [
        "5 3 ; after ; 7 .. 9 ; <eos>",
        "3 5 ; default ; 7 .. 9 ; <eos>",
        "5 ; after ; 3 7 .. 9 ; <eos>",
        "5 3 ; after ; 7 .. 9 ;",
    ]
    marks = grade([text.split() for text in told], [true] * 4, DISPATCH)
    assert marks["wea"].tolist() == [True, False, False, False]
    assert marks["skeleton"].tolist() == [True, True, False, False]


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
