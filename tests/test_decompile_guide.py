"""Where a wrong answer is wrong: gcc's first difference leads to the tokens that were altered."""

from collections import Counter
from itertools import islice

import pytest

from benchmarks.mutations import KINDS, alterations, compiled
from permnet.decompiling.guide import hints
from permnet.decompiling.toolchain import Compiler
from permnet.tasks.switch.compiler import Stage
from permnet.tasks.switch.ctokens import lex
from permnet.tasks.switch.reading import as_read
from permnet.tasks.switch.terse import terse

COUNT = 90


def as_said(c: list[str], assembly: list[str]) -> list[str]:
    return terse(c, as_read(assembly)[0])


@pytest.mark.parametrize("stage", ["-S", "-c"])
def test_what_was_altered_is_among_the_few_places_that_are_named(stage: Stage) -> None:
    kinds, changed, true = zip(*islice(alterations("guide"), COUNT), strict=True)
    read = compiled(list(true), stage)
    said, right = (
        [as_said(c, f.assembly) for c, f in zip(programs, read, strict=True)]
        for programs in (changed, true)
    )
    found: Counter[str] = Counter()
    named = 0.0
    told = hints(list(zip(said, read, strict=True)), Compiler())
    for kind, wrong, other, hint in zip(kinds, said, right, told, strict=True):
        assert hint is not None
        assert 0.0 <= hint.right < 1.0
        assert all(0 <= place < len(wrong) for place in hint.places)
        first = next(i for i, (a, b) in enumerate(zip(wrong, other, strict=False)) if a != b)
        found[kind] += first in hint.places
        named += len(hint.places) / len(wrong)
    shares = {kind: found[kind] / kinds.count(kind) for kind in KINDS}
    assert shares["changed number"] > 0.9
    assert shares["swapped labels"] > 0.9
    assert shares["moved break"] > 0.6  # it may show where what follows begins
    assert named / COUNT < 0.25


@pytest.mark.parametrize(
    ("wrong", "place"),
    [
        ("void f(int p0) { int v0 = 3; switch (p0) { 1: h1(v0); 2: h0(); } }", "v0"),
        (
            "void f(unsigned p0) { switch (p0) { 1: h1(p0); 2: h0(); } if (p0 < 3) { h0(); } }",
            "unsigned",
        ),
        ("void f(int p0) { switch (p0) { 1: h1(p0); 2: h0(); 3: h0(); } }", "3"),
    ],
)
def test_the_frame_types_and_labels_are_looked_for_where_they_are_said(
    wrong: str, place: str
) -> None:
    true = {
        "v0": "void f(int p0) { switch (p0) { case 1: h1(p0); break; case 2: h0(); break; } }",
        "unsigned": "void f(int p0) { switch (p0) { case 1: h1(p0); break; case 2: h0(); break; }"
        " if (p0 < 3) { h0(); } }",
        "3": "void f(int p0) { switch (p0) { case 1: h1(p0); break; case 2: h0(); break; } }",
    }
    (function,) = compiled([lex(true[place])], "-S")
    said = lex(wrong)
    (hint,) = hints([(said, function)], Compiler())
    assert hint is not None
    assert said.index(place) in hint.places


def test_of_what_cannot_be_compared_nothing_is_said() -> None:
    true = lex("void f(int p0) { switch (p0) { case 1: h0(); break; case 2: h1(3); break; } }")
    (function,) = compiled([true], "-S")
    said = as_said(true, function.assembly)
    assert hints([], Compiler()) == []
    assert hints([([], function), (["f", "("], function)], Compiler()) == [None, None]
    assert hints([(said, function)], Compiler(flags=("-O2", "-masm=intel"))) == [None]
