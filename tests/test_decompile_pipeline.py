"""From functions to verified C, with a model that knows its answers and one that learnt them."""

import math
import re
from contextlib import suppress
from dataclasses import replace
from itertools import islice, pairwise

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.nn import functional as F

import permnet
from permnet.batch import Batch, pad
from permnet.checkpoint import load, save
from permnet.config import ModelConfig, Run
from permnet.decompiling.answer import Answerer, batches, token_lines
from permnet.decompiling.pipeline import Decompiled, Pipeline, _better, shipped_decompilers
from permnet.decompiling.question import ask
from permnet.decompiling.text import functions
from permnet.decompiling.toolchain import Compiler, prelude_with
from permnet.errors import PermnetError
from permnet.models import CopyNet, Decompiler
from permnet.tasks.switch.compiler import compile_c
from permnet.tasks.switch.ctokens import PRELUDE, layout, lex, named
from permnet.tasks.switch.dataset import shipped
from permnet.tasks.switch.reading import MEANS, as_read
from permnet.tasks.switch.skeleton import skeleton
from permnet.tasks.switch.terse import terse
from permnet.vocab import EOS, PAD, Vocab
from tests.table_model import REST, TableModel, knowing, vocabulary, wrong

PROGRAMS = {f"part{i}": c for i, (_, c) in enumerate(list(shipped("switch-10").pairs())[:6])}
TEXT = compile_c(
    "\n".join([PRELUDE, *(layout(named(c, name)) for name, c in PROGRAMS.items())])
).decode()


def c_of(name: str) -> str:
    return layout(named(PROGRAMS[name], name))


@pytest.fixture(scope="module")
def vocab() -> Vocab:
    return vocabulary()


def test_right_answers_are_verified_in_order() -> None:
    found = knowing(TEXT, {name: [c] for name, c in PROGRAMS.items()}).each(functions(TEXT))
    assert [f.name for f in found] == [*PROGRAMS]
    for name, answer in zip(PROGRAMS, found, strict=True):
        assert answer.c == c_of(name)
        assert answer.verified
        assert answer.error is None
        assert answer.confidence == pytest.approx(1.0)
        assert answer.skeleton == skeleton(PROGRAMS[name])
        assert answer.seconds > 0


def test_the_first_candidate_that_verifies_wins() -> None:
    c = PROGRAMS["part0"]
    answers = {"part0": [wrong(c), [*c[:-1]], c, wrong(c)], "part1": [wrong(PROGRAMS["part1"])]}
    pipeline = knowing(TEXT, answers)
    right, not_found, silent = pipeline.each(functions(TEXT)[:3])
    assert right.verified
    assert right.c == c_of("part0")
    assert right.confidence == pytest.approx(REST**2, rel=0.01)
    assert (not_found.verified, not_found.error) == (False, None)
    assert not_found.skeleton[0][0] == 77
    assert not_found.confidence == pytest.approx(1.0)
    assert (silent.c, silent.verified, silent.skeleton, silent.map) == ("\n", False, None, [])
    for count in (1, 2, 3):  # the right one is the third
        (found,) = knowing(TEXT, answers, n_best=count).each(functions(TEXT)[:1])
        assert found.verified == (found.c == right.c) == (count == 3)


def test_another_model_is_asked_what_the_first_has_no_verified_answer_to() -> None:
    c, other_c = PROGRAMS["part0"], PROGRAMS["part1"]
    first = knowing(TEXT, {"part0": [c], "part1": [wrong(other_c)], "part2": [["int"]]})
    second = knowing(TEXT, {"part0": [wrong(c)], "part1": [other_c], "part2": [["long"]]})
    first.others = [second.answerer]
    asked: list[int] = []
    greedy = second.answerer.greedy
    second.answerer.greedy = lambda questions: asked.append(len(questions)) or greedy(questions)
    found = first.each(functions(TEXT)[:3])
    assert asked == [2]
    assert [one.verified for one in found] == [True, True, False]
    assert [one.c for one in found] == [c_of("part0"), c_of("part1"), "long\n"]  # as sure


def test_the_better_of_two_answers() -> None:
    refused = Decompiled("f.s", "f", error="no", seconds=1.0)
    unsure, sure = (replace(refused, c="f", error=None, confidence=c) for c in (0.1, 0.9))
    right = replace(unsure, verified=True)
    for better, other in pairwise((right, sure, unsure, refused)):
        for pair in ((better, other), (other, better)):
            assert _better(*pair) == replace(better, seconds=2.0)


def test_what_one_model_cannot_read_another_may() -> None:
    text = TEXT.replace("\tpush\trbp", "\tneg\teax\n\tpush\trbp", 1)
    (function, *_) = functions(text)
    first, second = knowing(text, {}), knowing(TEXT, {"part0": [PROGRAMS["part0"]]})
    refused = first.each([function])[0].error
    first.others = [second.answerer]
    assert first.each([function])[0].error == refused
    knows = TableModel(Vocab((*vocabulary().tokens, "neg"), reserved=32))
    knows.learn(function, [PROGRAMS["part0"]], PRELUDE)
    first.others = [Answerer(knows, knows.vocab)]
    (found,) = first.each([function])
    assert (found.error, found.verified) == (None, False)  # without `neg` it is another function
    assert found.c == c_of("part0")


def test_shifts_by_one_are_read_by_models_of_the_wide_language(vocab: Vocab) -> None:
    shift = "\tsar\tDWORD PTR -4[rbp]\n"
    (function,) = functions(f"f:\n\tcmp\teax, 3\n\tje\t.L2\n{shift}.L2:\n\tret\n")
    with pytest.raises(PermnetError, match="shifts by 1: the model reads shifts by 2 and more"):
        ask(function, vocab)
    wide = Vocab((*vocab.tokens, "unsigned"), reserved=32)
    one = ask(function, wide)
    (counted,) = functions(f"f:\n\tcmp\teax, 3\n\tje\t.L2\n{shift[:-1]}, 1\n.L2:\n\tret\n")
    assert ask(counted, wide).ids == one.ids


def test_a_model_is_asked_about_calls_that_it_knows(vocab: Vocab) -> None:
    (function,) = functions("f:\n\tcmp\teax, 3\n\tje\t.L2\n\tcall\tit\n.L2:\n\tret\n")
    prelude = prelude_with("int it(void);")
    assert [*ask(function, vocab, prelude).names] == ["h0"]
    wide = Vocab((*vocab.tokens, "g4@PLT"), reserved=32)
    assert [*ask(function, wide, prelude).names] == ["g4"]


def test_calls_in_calls_have_their_own_names() -> None:
    """One function stands in for two, which gcc calls in another order than they are written."""
    vocab = load("switch-wide").vocab
    declared = "int get(int); int put(int); int sum(int, int);"
    c = (
        "int f(int p0) { int v0 = get(put(p0)); switch (p0) { case 1: v0 = put(get(put(p0)));"
        " break; case 2: v0 = sum(get(1), put(2)) - put(get(3)); break; } return v0; }"
    )
    (function,) = functions(compile_c(f"{declared} {c}").decode())
    question = ask(function, vocab, prelude_with(declared))
    assembly = vocab.decode(question.ids, question.lent)
    own = terse(lex(c), assembly)
    trained = {"get": "g0", "put": "g0", "sum": "g1"}
    asked, _ = vocab.encode([trained.get(token, token) for token in own], question.lent)
    assert question.read(asked, vocab) == own


def test_what_is_called_may_be_declared_or_guessed() -> None:
    c = "long f(long p0) { long v0 = 1; switch (p0) { case 1: v0 = get(p0); break; case 5: v0 += 3;"
    c += " break; } return v0; }"
    text = compile_c(f"long get(long); {c}").decode()
    (refused,) = permnet.decompile(text)
    assert "get" in str(refused.error)
    for options in ({"proto": "long get(long);"}, {"guess": True}):
        (found,) = permnet.decompile(text, **options)
        assert found.verified
        assert "v0 = get(p0);" in str(found.c)
    # What is declared is not guessed.
    (found,) = permnet.decompile(text, proto="void get(long);", guess=True)
    assert "v0 = get(p0);" not in str(found.c)


@pytest.mark.parametrize("count", [0, -1, 101])
def test_a_bad_number_of_candidates(count: int) -> None:
    with pytest.raises(PermnetError, match=f"n-best is 1 to 100, not {count}"):
        knowing(TEXT, {}, n_best=count)


def test_without_a_compiler_answers_are_unverified() -> None:
    answers = {"part0": [PROGRAMS["part0"]]}
    pipeline = knowing(TEXT, answers, compiler=Compiler(cc="no-such-cc"))
    assert "no-such-cc is not installed" in pipeline.trouble
    (found,) = pipeline.each(functions(TEXT)[:1])
    assert found.c == c_of("part0")
    assert not found.verified


def test_names_of_labels_do_not_matter(vocab: Vocab) -> None:
    function = functions(TEXT)[0]
    renamed = functions(re.sub(r"\.L(\d+)", r".LBB\1_x", TEXT))[0]
    assert renamed.tokens != function.tokens
    assert ask(renamed, vocab).ids == ask(function, vocab).ids


def test_batches_hold_every_question_once_and_fit(vocab: Vocab) -> None:
    questions = [ask(function, vocab) for function in functions(TEXT)]
    many = [replace(questions[i % 6], ids=[1] * (50 * i + 3)) for i in range(41)]
    parts = list(batches(many))
    assert sorted(i for part in parts for i in part) == list(range(41))
    for part in parts:
        longest = max(len(many[i].ids) for i in part)
        assert len(part) == 1 or len(part) * longest**2 <= 8 << 20


# ---- where lines come from ----------------------------------------------------------------------


def test_the_map_leads_from_labels_to_their_comparison() -> None:
    name, c = "part1", PROGRAMS["part1"]
    (function,) = (f for f in functions(TEXT) if f.name == name)
    (found,) = knowing(TEXT, {name: [c]}).each([function])
    lines, texts = found.c.splitlines(), TEXT.split("\n")
    came = dict(found.map)
    for number, line in enumerate(lines, 1):
        if re.fullmatch(r"\s*(\{|\}|\} else \{|break;)", line) or number == 1:
            assert number not in came
        elif label := re.match(r"\s*case (-?\d+):", line):
            assert re.search(rf"[ ,]{label[1]}\b", texts[came[number] - 1])
        elif line.strip() == "default:":
            assert ".L" in texts[came[number] - 1]  # it is said as its label
        elif not re.search(r"\d\d", line):
            assert came[number] == function.lines[-1].number  # where the model always looks
    assert set(came) <= set(range(1, len(lines) + 1))


def test_tokens_of_a_line_are_found_whatever_they_are() -> None:
    for c in (*PROGRAMS.values(), ["<unk0>", "{", "f", ";", ";", "case", "}"], [], ["}"]):
        spans, lines = token_lines(c), layout(c).splitlines()
        assert len(spans) == len(lines)
        for (begin, end), line in zip(spans, lines, strict=True):
            assert "".join(c[begin:end]) == line.replace(" ", "")


# ---- questions ----------------------------------------------------------------------------------

HEAD, TAIL = "f:\n\tcmp edi, 1\n\tje .L1\n", ".L1:\n\tret\n"


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (
            "\tvaddps ymm0, ymm1, ymm2\n",
            "'vaddps' in line 4, `vaddps ymm0, ymm1, ymm2`, is unknown",
        ),
        ("\tjmp .L9\n", "the label .L9 in line 4 is never defined"),
        ("\tlea rdi, .LC0[rip]\n", "the label .LC0 in line 4 is never defined"),
        ("\tjmp rax\n", "`jmp rax` in line 4 jumps out of the function or through a table"),
        ("\tjmp QWORD PTR [rax]\n", "through a table: compile with -O0 -fno-jump-tables"),
        ("\tjmp other\n", "jumps out of the function"),
        ("\tsal DWORD PTR -4[rbp]\n", "`sal DWORD PTR -4[rbp]` in line 4 shifts by 1"),
        ("\tsar eax\n", "the model reads shifts by 2 and more"),
        ("\tcall rax\n", "`call rax` in line 4 calls through a pointer"),
        ("\tcall QWORD PTR [rax]\n", "calls through a pointer"),
        ("\tcall puts@PLT\n", "line 4 calls puts, which is not declared: add --proto"),
        ("\tmovaps %xmm0, %xmm1\n", "in AT&T syntax: use one of them"),
        ("\tmov eax, 1\n" * 800, "it has 2408 tokens: functions of up to 2048 are read"),
        (
            "".join(f"\tje .L{i}\n.L{i}:\n" for i in range(2, 140)),
            "a function has at most 100 labels, not 139",
        ),
        (
            "".join(f"\tmov eax, {90_000 + i}\n" for i in range(40)),
            "all 32 reserved ids are lent out",
        ),
    ],
)
def test_what_is_outside_the_domain_is_said(body: str, reason: str) -> None:
    text = f"{HEAD}{body}{TAIL}\n{TEXT}"
    pipeline = knowing(text, {"part0": [PROGRAMS["part0"]]})
    refused, other = pipeline.each(functions(text)[:2])
    assert refused.error.startswith("outside the domain of the model: ")
    assert reason in refused.error
    assert (refused.c, refused.verified, refused.confidence) == (None, False, None)
    assert other.verified


def test_labels_are_spelled_out_for_models_that_read_them_so(vocab: Vocab) -> None:
    text = "f:\n\tsub eax, 66\n\tcmp eax, 1\n\tja .L1\n.L1:\n\tret\n"
    newer = Vocab((*(token for token in vocab.tokens if token != MEANS), MEANS), vocab.reserved)
    older = Vocab(newer.tokens[:-1], vocab.reserved)
    for known, said, lines in (
        (newer, f"cmp eax 1 {MEANS} 66 67 ja", [3, 3, 3, 3, 3, 3, 4]),
        (older, "cmp eax 1 ja", [3, 3, 3, 4]),
    ):
        question = ask(functions(text)[0], known)
        assert said in " ".join(known.decode(question.ids, question.lent))
        assert question.numbers[4 : 4 + len(lines)] == lines
    with pytest.raises(PermnetError, match="is unknown to the model"):
        ask(functions(text.replace("\tret", f"\t{MEANS} eax\n\tret"))[0], newer)


@given(st.data())
@settings(max_examples=60)
def test_damaged_assembly_is_asked_or_refused(vocab: Vocab, data: st.DataObject) -> None:
    text = TEXT[: TEXT.index(".size")]
    for _ in range(data.draw(st.integers(1, 4))):
        at, end = sorted(data.draw(st.integers(0, len(text))) for _ in range(2))
        piece = data.draw(st.text(",.:;[]%$#\t\n -+*0L\0é\\\"'/x()", max_size=4))
        text = text[:at] + piece + text[min(end, at + 30) :]
    found = []
    with suppress(PermnetError):
        found = functions(text)
    for function in found:
        with suppress(PermnetError):
            question = ask(function, vocab)
            assert len(question.ids) == len(question.numbers)


def test_an_empty_instruction_is_refused(vocab: Vocab) -> None:
    (function,) = functions(f"{HEAD}\t,\n{TAIL}")
    with pytest.raises(PermnetError, match="`,` in line 4 is no instruction"):
        ask(function, vocab)


def test_no_conditional_jump_is_no_switch(vocab: Vocab) -> None:
    (function,) = functions("f:\n\tret\n")
    with pytest.raises(PermnetError, match="no conditional jump, and so no switch"):
        ask(function, vocab)


def test_protection_against_branches_is_passed_over(vocab: Vocab) -> None:
    (function, marked) = functions(
        f"{HEAD}{TAIL}\n" + f"{HEAD}{TAIL}".replace(":\n", ":\n\tendbr64\n", 1)
    )
    assert ask(function, vocab).ids == ask(marked, vocab).ids
    assert ["endbr64"] in marked.tokens


def test_a_user_s_functions_stand_in_for_those_of_the_prelude(vocab: Vocab) -> None:
    c = (
        "int f(int p0) { int v0 = 1; switch (p0) { case 3: v0 = get(p0); break; case 5: "
        "v0 = find(p0); put(v0, 2); break; case 9: h0(); break; } return v0; }"
    )
    compiler = Compiler(prelude=prelude_with("int get(int); int find(int); void put(int, int);"))
    text = compiler.assembly(compiler.prelude + layout(lex(c)))
    question = ask(functions(text)[0], vocab, compiler.prelude)
    assert question.names == {"g0": ["get", "find"], "h2": ["put"], "h0": ["h0"]}
    assert not question.lent
    (found,) = knowing(text, {"f": [lex(c)]}, compiler=compiler).each(functions(text))
    assert found.verified
    assert "v0 = get(p0)" in found.c
    assert "v0 = find(p0)" in found.c
    assert "put(v0, 2)" in found.c


@pytest.mark.parametrize(
    ("trained", "prototype"),
    [
        ("g0", "int mine(char);"),
        ("g2", "long mine(char);"),
        ("h1", "void mine(long);"),
        ("g1", "long mine(int, int);"),
        ("h0", "int mine(void);"),
    ],
)
def test_functions_of_other_types_may_be_called(trained: str, prototype: str) -> None:
    """By the shipped model, which has never seen such."""
    calling = (c for _, c in shipped("switch-6").pairs() if trained in c)
    programs = [["mine" if t == trained else t for t in c] for c in islice(calling, 8)]
    compiler = Compiler(prelude=prelude_with(prototype))
    parts = [layout(named(c, f"part{i}")) for i, c in enumerate(programs)]
    text = compiler.assembly("\n".join([compiler.prelude, *parts]))
    answers = Pipeline.load(compiler=compiler).each(functions(text))
    assert sum(answer.verified for answer in answers) > 6


@pytest.mark.parametrize(
    ("name", "in_c"),
    [
        ("part.0$cold", "part_0_cold"),
        ("int", "int_"),
        ("linux", "linux_"),
        ("_Bool", "_Bool_"),
        ("__asm__", "__asm___"),
        ("h2", "h2_"),  # of the prelude, with other types
    ],
)
def test_a_name_that_is_no_c_is_made_one(name: str, in_c: str) -> None:
    text = TEXT.replace("part0", name)
    c = PROGRAMS["part0"]
    (found,) = knowing(text, {name: [c]}).each(functions(text)[:1])
    assert found.name == name
    assert found.c.splitlines()[0].split("(")[0].split()[-1] == in_c
    assert found.verified
    assert compile_c(PRELUDE + found.c)


def test_a_function_that_is_declared_keeps_its_name() -> None:
    (c,) = [PROGRAMS["part0"]]
    head = layout(c).partition("\n")[0].replace(" f(", " mine(")
    declaration = re.sub(r" ?[pa]\d", "", head) + ";"
    text = TEXT.replace("part0", "mine")
    compiler = Compiler(prelude=prelude_with(declaration))
    (found,) = knowing(text, {"mine": [c]}, compiler=compiler).each(functions(text)[:1])
    assert found.c.startswith(head)


# ---- a model that learnt ------------------------------------------------------------------------

SMALL = [
    "int f(int p0) { int v0 = 2; switch (p0) { case 5: v0 = 9; break; case 3: v0 += p0; break; } "
    "return v0; }",
    "int f(int p0) { int v0 = 7; switch (p0) { case -4: v0 -= 6; break; case 8: v0 = p0; break; } "
    "return v0; }",
]


@pytest.fixture(scope="module")
def learnt(tmp_path_factory) -> tuple[str, str]:
    """A checkpoint's folder, and the assembly that its model has learnt to decompile."""
    programs = [lex(c) for c in SMALL]
    text = compile_c(
        "\n".join(layout(named(c, f"small{i}")) for i, c in enumerate(programs))
    ).decode()
    words = {
        token
        for function in functions(text)
        for token in as_read([token for line in function.tokens for token in line])[0]
    }
    words = {word for word in words if word[0] != "."} | {
        token for c in programs for token in terse(c, [])
    }
    vocab = Vocab((*sorted(words), *(f".L{i}" for i in range(1, 101))), reserved=4)
    questions = [ask(function, vocab) for function in functions(text)]
    targets = [
        [*vocab.encode(terse(c, []), q.lent)[0], EOS]
        for q, c in zip(questions, programs, strict=True)
    ]
    batch = Batch(pad([q.ids for q in questions]), pad(targets))
    with torch.random.fork_rng():
        torch.manual_seed(0)
        model = Decompiler(len(vocab), embedding=24, hidden=24)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
    for _ in range(150):
        logits = model(batch.inputs, batch.previous)
        loss = F.cross_entropy(logits.flatten(0, 1), batch.targets.flatten(), ignore_index=PAD)
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        if loss.item() < 0.005:
            break
    folder = tmp_path_factory.mktemp("learnt") / "model"
    run = Run("PI10", ModelConfig(name="decompiler", embedding=24, hidden=24))
    save(folder, model, run, vocab, {})
    return str(folder), text


def test_a_trained_model_decompiles(learnt: tuple[str, str]) -> None:
    folder, text = learnt
    found = permnet.decompile(text, folder)
    assert [f.verified for f in found] == [True, True]
    assert [f.skeleton for f in found] == [[[5], [3]], [[-4], [8]]]
    for answer in found:
        assert 0.5 < answer.confidence <= 1
        assert all(c > 1 and 1 <= line <= text.count("\n") for c, line in answer.map)
        assert len(answer.map) == 7  # declaration, switch, twice label and statement, return


def test_what_is_told_of_candidates_is_what_greedy_tells(learnt: tuple[str, str]) -> None:
    folder, text = learnt
    answerer = Pipeline.load(folder).answerer
    questions = [ask(function, answerer.vocab) for function in functions(text)]
    first, _ = answerer.greedy(questions)
    best, other = ([found[place] for found in answerer.n_best(questions, 3)] for place in (0, 1))
    # Answers of different lengths, so that some are padded.
    again = answerer.retold([*questions, *questions], [*best, *other])
    assert len(again) == 4
    for retold, greedy in zip(again, first, strict=False):
        assert retold.c == greedy.c
        assert retold.map == greedy.map
        assert math.isclose(retold.confidence, greedy.confidence, rel_tol=1e-4)
    for i, question in enumerate(questions):
        (alone,) = answerer.retold([question], [other[i]])
        assert (alone.c, alone.map) == (again[2 + i].c, again[2 + i].map)
        assert math.isclose(alone.confidence, again[2 + i].confidence, rel_tol=1e-4)
    assert answerer.retold([], []) == []


def test_the_default_device_does_not_matter(learnt: tuple[str, str]) -> None:
    folder, text = learnt

    def answers() -> tuple[list[tuple[str, object]], list[list[int]]]:
        told = [(answer.c, answer.map) for answer in permnet.decompile(text, folder)]
        answerer = Pipeline.load(folder).answerer
        _, search = answerer.greedy([ask(functions(text)[0], answerer.vocab)])
        return told, [ids for _ in range(2) for _, ids in search.next([0])]

    expected = answers()
    with torch.device("meta"):
        assert answers() == expected


def test_answers_do_not_depend_on_the_batch(learnt: tuple[str, str]) -> None:
    folder, text = learnt
    answerer = Pipeline.load(folder).answerer
    questions = [ask(function, answerer.vocab) for function in functions(text)]
    together, _ = answerer.greedy([*questions, *questions])
    for question, answer in zip([*questions, *questions], together, strict=True):
        (alone,), _ = answerer.greedy([question])
        assert alone.c == answer.c
        assert alone.map == answer.map
        assert math.isclose(alone.confidence, answer.confidence, rel_tol=1e-4)


def test_weights_that_overflow_are_said(learnt: tuple[str, str], monkeypatch) -> None:
    folder, text = learnt
    monkeypatch.setattr("permnet.decompiling.answer.LONGEST", 5)
    answerer = Pipeline.load(folder).answerer
    question = ask(functions(text)[0], answerer.vocab)
    with torch.no_grad():
        answerer.model.generate.weight.fill_(torch.nan)
    with pytest.raises(PermnetError, match="overflow"):
        Answerer(answerer.model, answerer.vocab).greedy([question])


def test_a_model_that_writes_c_in_full_is_refused(tmp_path) -> None:
    run = Run("PI10", ModelConfig(name="copy-decompiler", embedding=4, hidden=4))
    vocab = Vocab(("mov", "break", *(f".L{i}" for i in range(1, 101))), reserved=4)
    save(tmp_path / "old", CopyNet(len(vocab), embedding=4, hidden=4), run, vocab, {})
    with pytest.raises(PermnetError, match="writes C in full, with `break`"):
        Pipeline.load(tmp_path / "old")


def test_a_model_that_counts_labels_is_refused(tmp_path) -> None:
    run = Run("PI10", ModelConfig(name="copy-decompiler", embedding=4, hidden=4))
    vocab = Vocab(("mov", ".L1", ".L2"), reserved=4)
    save(tmp_path / "raw", CopyNet(len(vocab), embedding=4, hidden=4), run, vocab, {})
    with pytest.raises(PermnetError, match="trained on labels as gcc numbers them"):
        Pipeline.load(tmp_path / "raw")


def test_other_models_and_none_are_refused(tmp_path, monkeypatch) -> None:
    with pytest.raises(PermnetError, match="PI1-4 is a permneti, not one of copy-decompiler"):
        Pipeline.load("PI1-4")
    with pytest.raises(PermnetError, match=r"config\.json is missing: \. is not a checkpoint"):
        Pipeline.load("")  # such as a shell's unset variable
    monkeypatch.setattr("permnet.decompiling.pipeline.shipped", lambda: ["PI1-4"])
    assert shipped_decompilers() == []
    with pytest.raises(PermnetError, match=r"no trained decompiler comes .* --model FOLDER"):
        Pipeline.load()
    with pytest.raises(PermnetError, match="there is no function in the text"):
        permnet.decompile("hello")
