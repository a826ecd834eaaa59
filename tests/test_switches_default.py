"""Whether a default is written, where only other switches of the file can tell."""

import json
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.switch_defaults import Open, guess, opens
from permnet.binary.operands import Register
from permnet.switches import scan as scanning
from permnet.switches.claim import Block, Called, Claim, Scrutinee
from permnet.switches.default import by_habit, vote
from tests.test_binary import compiled

# `open_*` have one machine code with a default and without; `told_*` break out of their switch.
PROGRAM = """
int closing(int, int), failing(const char *), used(int), alone(int);
int open_behind(int s, int x) {
  switch (x) { case 1: return 4; case 5: return 7; case 9: return 1; }
  return closing(s, x);
}
int open_inside(int s, int x) {
  switch (x) { case 1: return 4; case 5: return 7; case 9: return 1;
    default: return failing("unknown"); }
}
int open_alone(int s, int x) {
  switch (x) { case 1: return 4; case 5: return 7; case 9: return 1;
    default: return alone(x); }
}
int told_behind(int s, int x) {
  switch (x) { case 1: return 4; case 5: if (s) break; return 7; case 9: return 1; }
  return closing(s, x);
}
int told_inside(int s, int x) {
  switch (x) { case 1: s = 4; break; case 5: s = 7; break; case 9: s = 1; break;
    default: s = failing("strange"); }
  return used(s);
}
"""
ASSERTED = """
#include <assert.h>
int kind(int x) {
  switch (x) { case 1: return 4; case 5: return 7; case 9: return 1; }
  assert(0);
}
"""


def defaults(path: Path) -> dict[str, bool]:
    """By function whether its only switch is said to have a default."""
    return {
        function.name: switch.claim.has_default
        for part in scanning.scan([path], jobs=1)
        for function in part.found
        for switch in function.switches
        if switch.claim
    }


@pytest.mark.parametrize("size", [1, 2, 200])
def test_other_switches_of_the_file_tell(
    size: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scanning, "PART", size)  # those that tell come in later parts
    assert defaults(compiled(tmp_path, PROGRAM, "-O0", "-c")) == {
        "open_behind": False,
        "open_inside": True,
        "open_alone": True,
        "told_behind": False,
        "told_inside": True,
    }


def test_no_switch_of_another_file_tells(tmp_path: Path) -> None:
    alone, _, _ = PROGRAM.partition("int told_behind")
    files = [
        compiled(tmp_path, alone, "-O0", "-c", name="alone.o"),
        compiled(tmp_path, PROGRAM, "-O0", "-c", name="all.o"),
    ]
    parts = [*scanning.scan(files, jobs=1)]
    assert [part.file for part in parts] == [str(file) for file in files]
    assert [claim.has_default for claim in parts[0].claims()] == [True, True, True]
    assert [claim.has_default for claim in parts[1].claims()] == [False, True, True, False, True]


def test_an_assertion_that_fails_stands_behind(tmp_path: Path) -> None:
    assert defaults(compiled(tmp_path, ASSERTED, "-O0", "-c")) == {"kind": False}


@given(st.lists(st.tuples(st.integers(0, 3), st.booleans(), st.booleans()), max_size=12))
def test_a_guess_is_what_most_of_those_told_are(made: list[tuple[int, bool, bool]]) -> None:
    scrutinee, block = Scrutinee(Register("eax"), 32, True), Block(8, ((1, 2),))
    claims = [
        Claim(0, scrutinee, (block,), 16, has, called=Called(function, told))
        for function, told, has in made
    ]
    votes = Counter[int]()
    for claim in claims:
        votes.update(vote(claim))
    for claim, (function, told, has) in zip(claims, made, strict=True):
        agreed = [one[2] for one in made if one[:2] == (function, True)]
        yes, no = agreed.count(True), agreed.count(False)
        expected = has if told or yes == no else yes > no
        assert by_habit(claim, votes).has_default == expected


def test_a_package_is_guessed_at_by_the_others() -> None:
    own = [Open("one", "call", votes, written=False) for votes in (0, 0, 0, -2, 2)]
    others = [Open("two", "call", 0, written=True), Open("two", "no call", 0, written=True)]
    assert [guess(one, [*own, *others], by_votes=False) for one in own] == [False] * 5
    assert [guess(one, others, by_votes=False) for one in own] == [True] * 5
    assert [guess(one, others, by_votes=True) for one in own] == [True, True, True, False, True]


def test_open_switches_of_a_set_are_found(tmp_path: Path) -> None:
    compiled(tmp_path, PROGRAM, "-O0", "-c", name="all.o")
    blocks = [[1], [5], [9]]
    truth = {"open_behind": False, "open_inside": True, "open_alone": True, "told_inside": True}
    records = [
        {
            "way": "O0",
            "object": "all.o",
            "package": "p",
            "function": name,
            "switches": [{"blocks": blocks, "bits": 32, "clean": True, "default": written}],
        }
        for name, written in truth.items()
    ]
    (tmp_path / "switches.jsonl").write_text("".join(f"{json.dumps(one)}\n" for one in records))
    assert [*opens(tmp_path)] == [
        Open("p", "call", -1, written=False),
        Open("p", "call", 1, written=True),
        Open("p", "call", 0, written=True),
    ]
