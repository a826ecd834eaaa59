"""The table of decompilers: how answers are read and counted."""

from benchmarks.decompilers import (
    COLUMNS,
    Found,
    Outcome,
    Program,
    ascending,
    by_model,
    by_rules,
    loose_skeleton,
    scored,
    timed,
    truths,
)
from permnet.decompiling.pipeline import Pipeline
from permnet.tasks.switch.compiler import compile_c
from permnet.tasks.switch.ctokens import PRELUDE, lex, named
from permnet.tasks.switch.dataset import shipped
from permnet.tasks.switch.skeleton import skeleton
from tests.table_model import knowing

PAIRS = list(shipped("switch-6").pairs())[:40]
PROGRAMS = [Program(f"part{i}", assembly, c) for i, (assembly, c) in enumerate(PAIRS)]

OTHER = """
    switch ((int)a0) // "x: case 1:"
    {
    case 18446744073709551608: case 4294967291:
        puts("case 3:");
        goto LABEL_1;
    case 0x10:
LABEL_1:
        v0 = *(int *)(a1 + 4);
        break;
    case 'a':
        return -1;
    default:
        break;
    }
"""


def test_other_decompilers_c_is_read() -> None:
    assert loose_skeleton(OTHER) == [[-8, -5], [16], [97], ["default"]]
    assert loose_skeleton("if (a0 == 3) { return 1; }") is None
    assert loose_skeleton("") is None


def test_labels_may_be_those_of_the_parameter() -> None:
    c = lex("int f(int p0) { switch (p0 - 7) { case 1: h0(); default: h0(); } }")
    assert truths(Program("f", [], c)) == [[[1], ["default"]], [[8], ["default"]]]
    plain = lex("int f(int p0) { switch (p0) { case 1: h0(); } }")
    assert truths(Program("f", [], plain)) == [[[1]]]


def test_right_wrong_and_silent_answers_are_counted() -> None:
    true = [skeleton(program.c) for program in PROGRAMS[:4]]
    answers = [
        Found(true[0], named(PROGRAMS[0].c, PROGRAMS[0].name), verified=True),
        Found(true[1][::-1], named(PROGRAMS[1].c, PROGRAMS[1].name), verified=False),
        Found(None, None, verified=False),
        Found([[12345]], PROGRAMS[0].c, verified=True),
    ]
    row = scored(PROGRAMS[:4], Outcome(answers, seconds=2.0))
    assert row == {
        "count": 4,
        "switch": 3,
        "partition": 2,
        "skeleton": 1,
        "same_c": 2,
        "verified": 2,
        "wrong_verified": 1,
        "seconds_per_function": 0.5,
        "wall_seconds": None,
    }


def test_the_row_of_a_model(monkeypatch) -> None:
    programs = PROGRAMS[:3]
    text = compile_c("\n".join([PRELUDE, *(program.text for program in programs)])).decode()
    known = knowing(text, {program.name: [program.c] for program in programs[1:]}, n_best=1)
    monkeypatch.setattr(Pipeline, "load", lambda model: known)
    row = scored(programs, by_model("known")(programs))
    assert [row[column] for column in COLUMNS] == [2, 2, 2, 2, 2, 0]
    assert row["seconds_per_function"] > 0
    assert row["wall_seconds"]["small_function"] > 0


def test_rows_without_a_model() -> None:
    rules = scored(PROGRAMS, timed(by_rules)(PROGRAMS))
    assert rules["skeleton"] == rules["partition"] == 40
    assert rules["verified"] is None
    order = scored(PROGRAMS, timed(ascending)(PROGRAMS))
    assert 0 < order["skeleton"] < order["partition"] < 40
