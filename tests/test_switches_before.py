"""Tests before a dispatch that belong to it: of bits of the value, copied, or for one number."""

from typing import Any

import pytest

from permnet.switches.contents import UnprovenError
from permnet.switches.graph import BasicBlock, Graph
from permnet.switches.proof import prove
from permnet.switches.regions import Edge, Walker
from permnet.switches.rules import claims
from tests.machine_code import BLOCKS as FIVE
from tests.machine_code import function_of
from tests.test_switches_whole import LEAVE, UNOPTIMISED, proven, reason, switches_of

BLOCKS = f"""{FIVE}
15: call g
    ret
18: call h
    ret
"""


@pytest.mark.parametrize("test", ["test dl, 4", "and edx, 4"])
def test_some_bits_of_the_value_tell_its_side(test: str) -> None:
    """Of three bits the highest is set from 4 on."""
    code = f"""
    movzx edx, byte ptr [rdi - 1]
    mov eax, edx
    and eax, 7
    cmp al, 3
    je 13f
    {test}
    jne 1f
    cmp al, 1
    je 11f
    cmp al, 2
    je 12f
    jmp 19f
1:  cmp al, 4
    je 14f
    jmp 18f
"""
    assert proven(code + BLOCKS) == []
    assert "comes before: it is a part" in reason(code + BLOCKS)


@pytest.mark.parametrize("test", ["test dh, 1", "test dl, 16", "test cl, 4"])
def test_other_bits_are_a_condition_before_it(test: str) -> None:
    code = f"""
    mov edx, dword ptr [rdi]
    mov eax, edx
    and eax, 7
    {test}
    jne 1f
    cmp eax, 1
    je 11f
    cmp eax, 2
    je 12f
    cmp eax, 5
    je 13f
    jmp 19f
1:  cmp eax, 4
    je 14f
    jmp 18f
"""
    assert [[1], [2], [5]] in proven(code + BLOCKS)


@pytest.mark.parametrize(
    ("copy", "low", "is_part"),
    [("cmp edi", "cmp edi", True), ("cmp esi", "cmp edi", False), ("cmp edi", "cmp esi", False)],
)
def test_a_test_may_be_copied_for_each_way_there(copy: str, low: str, is_part: bool) -> None:
    code = f"""
    test ecx, ecx
    je 2f
    cmp edi, 60
    ja 1f
    jmp 3f
2:  call f
    {copy}, 60
    ja 1f
3:  {low}, 5
    je 15f
    call g
    jmp 18f
1:  cmp edi, 70
    je 11f
    cmp edi, 80
    je 12f
    cmp edi, 90
    je 13f
    jmp 19f
"""
    graph = Graph(function_of(code + BLOCKS))
    (head,) = [block for block in graph.blocks if block.code[0].text == "edi, 0x46"]
    region = Walker(graph).region(head)
    assert region
    claim = next(claims(graph, region))
    if is_part:
        with pytest.raises(UnprovenError, match="comes before: it is a part"):
            prove(graph, claim)
    else:
        prove(graph, claim)


@pytest.mark.parametrize(
    ("numbers", "whole"),
    [((3, 4, 1, 2), True), ((1, 2, 0), True), ((3, 1, 4, 2), False), ((3, 1, 2, 4), False)],
)
def test_what_is_above_the_first_number_comes_before_what_is_below(
    numbers: tuple[int, ...], whole: bool
) -> None:
    """A tree without comparisons of sizes is one dispatch, another order an `if` and a switch."""
    tests = "\n".join(f"    cmp edi, {n}\n    je {11 + n}f" for n in numbers)
    labels = sorted(numbers) if whole else sorted(numbers[1:])
    assert proven(f"{tests}\n    jmp 19f\n{BLOCKS}") == [[[label] for label in labels]]


def test_a_variable_that_was_just_set_is_tested() -> None:
    code = """
    mov dword ptr [rbp - 4], 0
    mov eax, dword ptr [rbp - 4]
    cmp eax, -1
    je 11f
    test eax, eax
    jns 19f
    cmp eax, -3
    je 12f
    cmp eax, -2
    je 13f
    jmp 19f
11: call a
    jmp 9f
12: call b
    jmp 9f
13: call c
    jmp 9f
19: call e
    jmp 9f
"""
    assert proven(UNOPTIMISED + code + LEAVE) == [[[-1], [-3], [-2]]]


@pytest.mark.parametrize(
    ("filling", "unoptimised"), [("nop", True), ("nop dword ptr [rax]", False)]
)
def test_nothing_is_aligned_in_unoptimised_code(filling: str, unoptimised: bool) -> None:
    code = f"{UNOPTIMISED}    jmp 9f\n    {filling}\n{LEAVE}"
    assert Graph(function_of(code)).is_unoptimised == unoptimised
    assert switches_of(code) == []


@pytest.mark.parametrize(("bound", "right"), [(200, True), (300, False)])
def test_what_is_compared_with_more_than_its_width_has_comes_from_elsewhere_too(
    bound: int, right: bool
) -> None:
    code = f"""
    movzx edi, byte ptr [rsi]
    cmp edi, 9
    je 13f
    cmp edi, {bound}
    ja 19f
    cmp edi, 3
    je 11f
    cmp edi, 5
    je 12f
    jmp 19f
"""
    if right:
        assert proven(code + BLOCKS) == [[[3], [5], [9]]]
    else:
        assert "of more than 8 bits" in reason(code + BLOCKS)


def test_tests_in_a_loop_are_gone_through_a_few_times_only(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    code = """
    cmp edi, 5
    jle 19f
2:  cmp edi, 9
    jle 11f
3:  cmp edi, 7
    jg 2b
    jmp 12f
"""
    visited: list[int] = []
    cut = Walker._cut

    def counted(walker: Walker, block: BasicBlock, *others: Any) -> list[Edge]:
        visited.append(block.address)
        return cut(walker, block, *others)

    monkeypatch.setattr(Walker, "_cut", counted)
    graph = Graph(function_of(code + BLOCKS))
    assert Walker(graph).region(graph.blocks[0]) is None
    assert len(visited) < 1_000
