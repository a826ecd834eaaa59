"""The rule-based solver of the skeleton against the truth."""

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from permnet.decompiling.rules import instructions, solve
from permnet.errors import PermnetError
from permnet.tasks.switch.compiler import assemble
from permnet.tasks.switch.dataset import shipped
from permnet.tasks.switch.skeleton import skeleton


@pytest.mark.parametrize(("name", "every"), [("switch-6", 1), ("switch-10", 2), ("switch-20", 4)])
def test_shipped_examples_are_solved(name: str, every: int) -> None:
    for assembly, c in list(shipped(name).pairs())[::every]:
        assert solve(assembly) == skeleton(c)


def test_raw_labels_are_no_help_and_no_harm() -> None:
    for assembly, c in list(shipped("switch-6", "raw").pairs())[::10]:
        assert solve(assembly) == skeleton(c)


def compiled(body: str) -> list[str]:
    (lines,) = assemble([f"void f(int p0, long p1, char p2)\n{{\n{body}\n}}\n"])
    return [token for line in lines for token in line]


CASES = {
    "two labels": "switch (p0) {\ncase 3:\nh0();\nbreak;\ncase 2:\nh1(1);\nbreak;\n}",
    "a range": "switch (p0) {\ncase 3: case 4: case 5:\nh0();\nbreak;\ncase 9:\nh1(1);\nbreak;\n}",
    "bits": "switch (p0) {\ncase 40: case 43: case 61:\nh0();\nbreak;\n}\nh1(2);",
    "bits below 64": "switch (p2 + 16) {\ncase 34: case 38: case 42:\nh0();\nbreak;\n}\nh1(1);",
    "the ends of int": (
        "switch (p0) {\ncase 2147483646:\nh0();\nbreak;\ncase -2147483647:\nh1(1);\nbreak;\n"
        "default:\nh1(2);\nbreak;\n}"
    ),
    "an if on the scrutinee": (
        "switch (p0) {\ndefault:\nif (p0 == 7) {\nh0();\n}\nbreak;\ncase 1:\nh1(1);\nbreak;\n"
        "case 2:\nh1(2);\nbreak;\n}"
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_small_cases(name: str) -> None:
    assert solve(compiled(CASES[name])) == skeleton(CASES[name].replace("\n", " "))


def test_instructions_are_found_again() -> None:
    (lines,) = assemble(["int f(int p0) { if (p0 > 3) { return g1(p0, -2); } return p0 * 18; }"])
    assert instructions([token for line in lines for token in line]) == lines


WORDS = [
    *(
        "cmp",
        "test",
        "mov",
        "add",
        "je",
        "jg",
        "ja",
        "jmp",
        "seta",
        "shr",
        "eax",
        "al",
        "cl",
        "rax",
    ),
    *(".L1", ".L2", ":", "3", "-1", "DWORD", "PTR", "[", "rbp", "]"),
]


@given(st.lists(st.sampled_from(WORDS), max_size=30))
def test_any_tokens_are_solved_or_refused(tokens: list[str]) -> None:
    with suppress(PermnetError):
        found = solve(["cmp", "eax", "1", "je", ".L1", *tokens])
        assert all(found)
