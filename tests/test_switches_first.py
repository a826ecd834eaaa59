"""A first test that stands apart: a label of the switch, or a condition before it."""

import pytest

from benchmarks.switch_flow import may_meet
from permnet.switches import find, proof, regions
from permnet.switches.find import find_switches
from permnet.switches.graph import Graph
from permnet.switches.regions import Walker
from permnet.switches.rules import claims
from tests.machine_code import BLOCKS, function_of


def proven(code: str) -> list[list[list[int | str]]]:
    """The labels of each switch that is proven, block by block, defaults left out."""
    found = [*find_switches(function_of(code), emulate=True)]
    assert all(switch.status == "proven" for switch in found), found
    return [
        [labels for labels in switch.claim.labels() if labels != ["default"]] for switch in found
    ]


def test_a_comparison_serves_two_jumps_with_a_move_between_them():
    code = """
    cmp di, 2
    je 11f
    mov rbx, rsi
    jg 1f
    test di, di
    je 12f
    cmp di, 1
    jne 19f
    jmp 13f
1:  sub edi, 3
    cmp di, 1
    ja 19f
    jmp 14f"""
    assert proven(code + BLOCKS) == [[[2], [0], [1], [3, 4]]]


@pytest.mark.parametrize("side", ["cmp di, -1\njge 1f", "cmp di, -2\njg 1f", "cmp di, -3\njg 1f"])
def test_on_which_side_of_a_label_a_value_lies_can_be_asked_in_several_ways(side: str):
    code = f"""
    cmp di, -2
    je 11f
    {side}
    cmp di, -5
    je 12f
    jl 19f
    jmp 13f
1:  cmp di, -1
    jne 19f
    jmp 14f"""
    assert proven(code + BLOCKS) == [[[-2], [-5], [-4, -3], [-1]]]


def test_below_zero_is_the_side_of_minus_one():
    code = """
    push rbp
    mov rbp, rsp
    mov dword ptr [rbp - 4], edi
    mov eax, dword ptr [rbp - 4]
    cmp eax, -1
    je 11f
    test eax, eax
    jns 19f
    cmp eax, -2
    je 12f
    cmp eax, -2
    jg 19f
    cmp eax, -5
    je 13f
    cmp eax, -5
    jl 19f
    add eax, 4
    cmp eax, 1
    ja 19f
    jmp 14f"""
    assert proven(code + BLOCKS) == [[[-1], [-2], [-5], [-4, -3]]]


# A table at the head of a loop, and 0 tested before the loop and at its end.
LOOP = """
    push rbx
    movzx eax, byte ptr [rdi]
    lea rsi, [rip + .Lt]
    test al, al
    je {zero}
    nop
2:  lea edx, [rax - 48]
    cmp dl, 3
    ja 7f
    movzx edx, dl
    movsxd rdx, dword ptr [rsi + rdx*4]
    add rdx, rsi
    jmp rdx
3:  mov byte ptr [rdi], 1
    jmp 7f
4:  mov byte ptr [rdi], 2
    jmp 7f
5:  mov byte ptr [rdi], 3
    jmp 7f
{zeros}
7:  inc rdi
    movzx eax, byte ptr [rdi]
    test al, al
    jne 2b
    {end}
9:  pop rbx
    ret
.section .rodata
.Lt: .long 3b-.Lt, 4b-.Lt, 5b-.Lt, 4b-.Lt
.text
"""


def test_what_ends_a_loop_is_no_label():
    (labels,) = proven(LOOP.format(zero="9f", zeros="", end="nop"))
    assert labels == [[48], [49, 51], [50]]


def test_what_goes_on_in_the_loop_is_a_label_although_tested_before_it():
    before, *_ = proven(LOOP.format(zero="8f", zeros="8:  mov byte ptr [rdi], 4", end="jmp 8b"))
    assert before == [[48], [49, 51], [50], [0]]


def test_a_label_below_a_table_is_one_where_there_is_no_loop():
    code = """
    movsx eax, byte ptr [rdi]
    test al, al
    je 11f
    lea edx, [rax - 48]
    cmp dl, 3
    ja 19f
    lea rcx, [rip + .Lt]
    movzx edx, dl
    movsxd rdx, dword ptr [rcx + rdx*4]
    add rdx, rcx
    jmp rdx"""
    table = """
.section .rodata
.Lt: .long 12b-.Lt, 13b-.Lt, 14b-.Lt, 12b-.Lt
.text
"""
    assert proven(code + BLOCKS + table) == [[[0], [48, 51], [49], [50]]]


def test_a_test_for_two_labels_at_once_is_followed():
    code = """
    cmp edi, 3
    je 11f
    jg 1f
    mov eax, edi
    and eax, -3
    cmp eax, {number}
    jne 19f
    jmp 12f
1:  lea eax, [rdi - 4]
    cmp eax, 1
    ja 19f
    jmp 13f"""
    assert proven(code.format(number=0) + BLOCKS) == [[[3], [0, 2], [4, 5]]]
    assert proven(code.format(number=1) + BLOCKS) == [[[3], [1], [4, 5]]]


# Without an optimiser: values above a label go back at once, others by a jump behind the blocks.
PLAIN = """
    push rbp
    mov rbp, rsp
    mov dword ptr [rbp - 4], edi
1:  call next
    mov dword ptr [rbp - 4], eax
    cmp dword ptr [rbp - 4], 24
    je 2f
    cmp dword ptr [rbp - 4], 24
    jg 1b
    cmp dword ptr [rbp - 4], 14
    je 3f
    cmp dword ptr [rbp - 4], 14
    jg 1b
    cmp dword ptr [rbp - 4], 2
    je 4f
    jmp 5f
2:  call a
    jmp 1b
3:  call b
    jmp 1b
4:  leave
    ret
5:  jmp 1b
"""


def test_unoptimised_values_without_a_label_may_go_two_ways_to_one_place():
    (switch,) = find_switches(function_of(PLAIN), emulate=True)
    assert switch.status == "proven", switch.reason
    assert [labels for labels in switch.claim.labels() if labels != ["default"]] == [
        [24],
        [14],
        [2],
    ]
    assert len(switch.claim.copies) == 1


def test_unoptimised_code_before_the_tests_is_no_default():
    (switch,) = find_switches(function_of(PLAIN.replace("jmp 5f", "jmp 1b")), emulate=True)
    assert switch.claim.labels() == [[24], [14], [2]]


def test_a_comparison_made_again_is_not_an_optimisers():
    opening = "push rbp\nmov rbp, rsp\nmov eax, dword ptr [rip + g]\n"
    code = opening + "cmp eax, 7\nje 11f\n{}jg 12f\ncmp eax, 2\nje 13f\njmp 19f" + BLOCKS
    assert Graph(function_of(code.format("cmp eax, 7\n"))).is_unoptimised
    assert not Graph(function_of(code.format(""))).is_unoptimised


@pytest.mark.parametrize(
    ("limit", "reason"),
    [("MOST_RUNS", "more than 2 stretches of values"), ("MOST_PASSED", "more than 2 tests on")],
)
def test_a_proof_that_is_too_long_is_not_begun_again_elsewhere(
    monkeypatch: pytest.MonkeyPatch, limit: str, reason: str
):
    code = "movzx eax, byte ptr [rdi]\nmov ecx, eax\ncmp al, 7\nje 11f\ncmp al, 9\nje 12f\n"
    code += "cmp al, 30\nje 13f\njmp 19f" + BLOCKS
    tried = []
    real = find.prove
    monkeypatch.setattr(find, "prove", lambda *given: tried.append(given) or real(*given))
    monkeypatch.setattr(proof, limit, 2)
    (switch,) = find_switches(function_of(code))
    assert switch.status == "unproven"
    assert switch.reason.startswith(reason)
    region = next(Walker(tried[0][0]).regions())
    assert len(tried) == 1 < len([*claims(tried[0][0], region)])


def test_a_chain_is_looked_at_from_each_of_its_tests_up_to_a_limit(monkeypatch: pytest.MonkeyPatch):
    """Blocks that return: as the ifs of a chain they stand apart, but for the last few."""
    tests = "".join(f"cmp edi, {3 * i}\nje {i + 1000}f\n" for i in range(12))
    leaves = "".join(f"{i + 1000}: mov eax, {i}\nret\n" for i in range(12))
    function = function_of(f"{tests}jmp 2000f\n{leaves}2000: xor eax, eax\nret\n")
    walker = Walker(Graph(function))
    (region,) = walker.regions()
    monkeypatch.setattr(regions, "MOST_TESTED", walker._tested // 2)
    assert region.head.address > 0
    assert not [*Walker(Graph(function)).regions()]


# Two copies of one switch: the second for what is read anew, or for what the first has left.
COPIES = """
    cmp bl, 45
    je 1f
    cmp bl, 61
    jne 3f
1:  {between}
    cmp bl, 43
    je 4f
3:  ret
4:  call a
    ret
"""


@pytest.mark.parametrize(
    ("between", "met"),
    [
        ("nop", True),
        ("movzx ebx, byte ptr [rsi]", False),
        ("mov bl, 5", True),  # the rest of the register is as it was
        ("mov ecx, ebx\nxor ebx, ebx\nmov ebx, ecx", True),
        ("mov dword ptr [rsp], ebx\nxor ebx, ebx", True),
        ("call g", True),
        ("mov ebx, 5\njmp rax", False),
        ("jmp rax", True),
    ],
)
def test_a_test_that_the_value_cannot_come_to_is_another_copys(between: str, met: bool):
    graph = Graph(function_of(COPIES.format(between=between)))
    tests = [i.address for i in graph.code if i.mnemonic == "je"]
    targets = [graph.instruction(tests[0]).operands[0].value]
    scrutinee = {"place": "bl", "start": graph.code[0].address}
    (ends,) = [i.address for i in graph.code if i.mnemonic == "ret"][:1]
    answer = {"scrutinee": scrutinee, "targets": targets, "default": ends}
    assert may_meet(graph, tests[1], answer, {*targets}) is met
    assert not may_meet(graph, tests[1], answer, {ends})
