"""What models read is the assembly, and the labels of the switch stand in it."""

import re
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from permnet.tasks.switch.dataset import CORE, build, shipped, vocabulary
from permnet.tasks.switch.reading import MEANS, as_read
from permnet.vocab import EOS, SOS, Vocab

SHIFTED = "mov ecx eax sal rdx cl mov rax rdx mov rdx rax"


@pytest.mark.parametrize(
    ("assembly", "read"),
    [
        ("test eax eax je .L3", "cmp eax 0 je .L3"),
        ("test eax edx je .L3", "test eax edx je .L3"),
        (
            "cmp rax 60 jg .L9 cmp rax 58 jge .L4",
            "cmp rax 60 jg .L9 cmp rax 58 ∋ 59 60 jge .L4",
        ),
        (
            "cmp DWORD PTR -20 [ rbp ] -3 jg .L9 cmp DWORD PTR -20 [ rbp ] -4 jge .L4",
            "cmp DWORD PTR -20 [ rbp ] -3 jg .L9 cmp DWORD PTR -20 [ rbp ] -4 ∋ -3 jge .L4",
        ),
        (
            "test eax eax jns .L9 cmp eax -2 jge .L4",
            "cmp eax 0 jns .L9 cmp eax -2 ∋ -1 jge .L4",
        ),
        (
            "cmp eax 2 jg .L9 test eax eax jns .L4",
            "cmp eax 2 jg .L9 cmp eax 0 ∋ 1 2 jns .L4",
        ),
        ("sub eax 66 cmp eax 1 ja .L9", "sub eax 66 cmp eax 1 ∋ 66 67 ja .L9"),
        ("add rax 3 cmp rax 2 jbe .L9", "add rax 3 cmp rax 2 ∋ -3 -2 -1 jbe .L9"),
        (
            f"sub eax 76 mov edx 1 {SHIFTED} and edx 41 cmp rdx 0 jmp .L2 and edx 41",
            f"sub eax 76 mov edx 1 {SHIFTED} and edx 41 ∋ 76 79 81 cmp rdx 0 jmp .L2 and edx 41",
        ),
        (
            f"mov edx 1 {SHIFTED} movabs rdx -9223372036854775807 and rdx rax",
            f"mov edx 1 {SHIFTED} movabs rdx -9223372036854775807 ∋ 0 63 and rdx rax",
        ),
        (
            "sub rax 59 mov edx eax movabs rax 131073 mov ecx edx shr rax cl",
            "sub rax 59 mov edx eax movabs rax 131073 ∋ 59 76 mov ecx edx shr rax cl",
        ),
    ],
)
def test_labels_that_gcc_tests_at_once_are_spelled_out(assembly: str, read: str) -> None:
    assert " ".join(as_read(assembly.split())[0]) == read
    assert " ".join(as_read(assembly.split(), False)[0]) == re.sub(
        f" {MEANS}( -?[0-9]+)+", "", read
    )


@pytest.mark.parametrize(
    "assembly",
    [
        "cmp eax 60 jg .L9 cmp edx 58 jge .L4",  # two registers
        "cmp eax 60 jg .L9 cmp eax 58 jge .L9",  # all of them to one place
        "cmp eax 999 jg .L9 cmp eax 58 jge .L4",
        "cmp eax 58 jg .L9 cmp eax 60 jge .L4",
        f"cmp eax 60 jg .L9 cmp eax 58 jge .L4 .L4 : mov edx 1 {SHIFTED}",  # bits are tested first
        "sub edx 66 cmp eax 1 ja .L9",
        "sub eax 66 cmp eax 999 ja .L9",
        "sub eax edx cmp eax DWORD PTR -20 [ rbp ] ja .L9",
        "sub rsp 32 mov edx eax shr rax cl",
        "cl",
        "jge",
        "0 jns",
        "test eax",
    ],
)
def test_what_is_no_test_of_labels_is_left_alone(assembly: str) -> None:
    assert as_read(assembly.split()) == (assembly.split(), list(range(len(assembly.split()))))


WORDS = "test eax edx cmp sub add 0 1 3 -2 41 jg jge jns ja jbe .L4 : mov ecx sal shr cl and movabs"
assembly = st.lists(st.sampled_from(WORDS.split()), max_size=30)


@given(assembly)
def test_nothing_is_lost(words: list[str]) -> None:
    read, places = as_read(words)
    assert len(read) == len(places)
    first = [i for i, place in enumerate(places) if i == 0 or places[i - 1] != place]
    assert [places[i] for i in first] == list(range(len(words)))
    for i, word in zip(first, words, strict=True):
        assert read[i] == word or (word == "test" or words[places[i] - 2] == "test")


@given(st.lists(assembly, max_size=6))
def test_a_split_is_encoded_as_it_is_read(rows: list[list[str]]) -> None:
    split = build("switch-6", "train", "raw", "gcc 0", ((row, ["x"]) for row in rows))
    vocab = vocabulary(split, reserved=99, least=0)
    inputs, _, lent = split.encoded(vocab)
    for row, ids, given_out in zip(rows, inputs, lent, strict=True):
        assert (ids[0], ids[-1]) == (SOS, EOS)
        assert vocab.decode(ids[1:-1], given_out) == as_read(row)[0]
    older = Vocab(tuple(token for token in vocab.tokens if token != MEANS), reserved=99)
    inputs, _, lent = split.encoded(older)
    for row, ids, given_out in zip(rows, inputs, lent, strict=True):
        assert older.decode(ids[1:-1], given_out) == as_read(row, spelled=False)[0]


@pytest.mark.parametrize("name", CORE)
def test_the_labels_of_the_shipped_functions_can_be_pointed_at(name: str) -> None:
    count: Counter[str] = Counter()
    for assembly, c in shipped(name).pairs():
        labels = {c[i + 1] for i, token in enumerate(c) if token == "case"}
        read, places = as_read(assembly)
        spelled = {read[i] for i in range(1, len(read)) if places[i] == places[i - 1]} - {MEANS}
        count["hidden"] += not labels <= {*assembly}
        count["hidden still"] += not labels <= {*read}
        count["no label"] += not spelled <= labels
    assert count["hidden"] > 20
    assert count["hidden still"] <= 2
    assert count["no label"] <= 1
