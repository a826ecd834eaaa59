"""A claim is about a whole dispatch, and its labels are what tests name."""

import pytest

from permnet.binary.operands import Register
from permnet.switches.alike import same_code
from permnet.switches.claim import Block, Claim, Scrutinee, Switch
from permnet.switches.contents import UnprovenError
from permnet.switches.find import find_switches
from permnet.switches.graph import Graph
from permnet.switches.proof import prove
from permnet.switches.regions import Walker
from permnet.switches.rules import claims
from tests.machine_code import BLOCKS, function_of


def switches_of(code: str) -> list[Switch]:
    return find_switches(function_of(code), emulate=True)


def proven(code: str) -> list[list[list[int | str]]]:
    """The labels of each switch that is proven, block by block, defaults left out."""
    return [
        [labels for labels in switch.claim.labels() if labels != ["default"]]
        for switch in switches_of(code)
        if switch.status == "proven" and switch.claim
    ]


def reason(code: str) -> str:
    (switch,) = switches_of(code)
    assert switch.status != "proven"
    return switch.reason


UNOPTIMISED = """
    push rbp
    mov rbp, rsp
    sub rsp, 16
    mov dword ptr [rbp - 4], edi
"""
LEAVE = """
9:  nop
    leave
    ret
"""


def test_unoptimised_tests_may_have_other_code_between_them() -> None:
    """A `return` of the statement before, which the jump behind the first test leads over."""
    code = """
    cmp dword ptr [rbp - 4], 41
    je 13f
    jmp 2f
    mov eax, 0
    jmp 9f
2:  cmp dword ptr [rbp - 4], {second}
    ja 19f
    cmp dword ptr [rbp - 4], 7
    je 11f
    cmp dword ptr [rbp - 4], 5
    je 12f
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
    assert proven(UNOPTIMISED + code.format(second=41) + LEAVE) == [[[7], [5], [41]]]
    # What is another comparison is another switch, in the default of the first.
    assert proven(UNOPTIMISED + code.format(second=42) + LEAVE) == [[[7], [5]]]


@pytest.mark.parametrize(("end", "labels"), [("", [[0], [1]]), ("jmp 9f", [[0], [1], [-1]])])
def test_what_is_hit_behind_all_blocks_is_an_if_unless_a_break_leads_there(
    end: str, labels: list[list[int]]
) -> None:
    code = f"""
    cmp dword ptr [rbp - 4], -1
    je 9f
    cmp dword ptr [rbp - 4], 0
    je 11f
    cmp dword ptr [rbp - 4], 1
    je 12f
    jmp 13f
11: call a
    {end}
12: call b
13: mov edi, 1
    call exit
"""
    assert proven(UNOPTIMISED + code + LEAVE) == [labels]


def test_an_idle_comparison_is_gone_past() -> None:
    """Of a block without code only the comparison is left."""
    code = """
    cmp dword ptr [rbp - 4], 7
    je 11f
    cmp dword ptr [rbp - 4], 9
    je 12f
    cmp dword ptr [rbp - 4], 3
    jmp 9f
11: call a
    jmp 9f
12: call b
    jmp 9f
"""
    assert proven(UNOPTIMISED + code + LEAVE) == [[[7], [9]]]


def test_what_stands_behind_the_first_tests_is_a_part() -> None:
    code = """
    cmp edi, 44
    jg 1f
    cmp edi, 5
    je 11f
    cmp edi, 9
    je 12f
    jmp 19f
1:  cmp edi, 50
    je 13f
    cmp edi, 60
    je 14f
    jmp {miss}"""
    graph = Graph(function_of(code.format(miss="19f") + BLOCKS))
    prove(graph, _claim(graph, 0))
    with pytest.raises(UnprovenError, match="comes before"):
        prove(graph, _claim(graph, 1))
    # A condition before a switch leads away.
    graph = Graph(function_of(code.format(miss="14f") + BLOCKS))
    prove(graph, _claim(graph, 1))


def _claim(graph: Graph, block: int) -> Claim:
    """What is claimed of the dispatch that begins in a basic block."""
    region = Walker(graph).region(graph.blocks[block])
    assert region
    return next(iter(claims(graph, region)))


@pytest.mark.parametrize(
    ("test", "right"),
    [
        ("cmp edi, 5\n jne 13f", False),  # 0 to 4 may have no label
        ("cmp edi, 4\n jbe 13f", True),
        ("test edi, edi\n je 19f\n cmp edi, 5\n jb 13f", True),  # not 0 is above it
    ],
)
def test_labels_are_not_what_a_test_leaves_over(test: str, right: bool) -> None:
    code = f"""
    cmp edi, 6
    je 11f
    ja 1f
    {test}
    jmp 12f
1:  cmp edi, 9
    je 12f
    jmp 19f"""
    if right:
        assert len(proven(code + BLOCKS)) == 1
    else:
        assert "left over from tests" in reason(code + BLOCKS)


def test_two_comparisons_may_share_a_jump() -> None:
    code = """
    cmp edi, 53
    je 11f
    jg 1f
    cmp edi, 36
    jmp 2f
1:  cmp edi, 56
    je 12f
    cmp edi, 69
2:  jne 19f
    jmp 13f"""
    assert proven(code + BLOCKS) == [[[53], [56], [36, 69]]]


@pytest.mark.parametrize("again", ["movzx eax, byte ptr [rbx]", "nop"])
def test_code_that_leads_to_the_next_test_is_an_ifs(again: str) -> None:
    code = f"""
    movzx eax, byte ptr [rbx]
    cmp al, 91
    ja 1f
    call g
    {again}
1:  cmp al, 164
    je 11f
    cmp al, 208
    je 12f
    cmp al, 97
    je 13f
    jmp 19f"""
    assert proven(code + BLOCKS) == [[[164], [208], [97]]]


TABLE = """
    cmp edi, 3
    ja {default}
    mov eax, edi
    lea rdx, [rip + .Lt]
    movsxd rax, dword ptr [rdx + rax*4]
    {work}
    add rax, rdx
    jmp rax
{code}
.section .rodata
.Lt: .long 11b-.Lt, 2b-.Lt, 12b-.Lt, 13b-.Lt
.text
"""


@pytest.mark.parametrize(("late", "one"), [("mov r14d, ebx", True), ("mov r14d, ecx", False)])
def test_a_block_whose_beginning_was_put_between_the_tests_is_one(late: str, one: bool) -> None:
    code = f"1: {late}\n2: mov edi, r14d\n call h\n ret\n" + BLOCKS
    text = TABLE.format(default="1f", work="mov r14d, ebx", code=code)
    if one:
        assert "one block" in reason(text)
    else:
        assert proven(text) == [[[1], [0], [2], [3]]]


def test_values_without_a_label_are_not_told_from_their_neighbours() -> None:
    """The last of several masks needs no test if all others were sent away before."""
    code = """
    cmp edi, 40
    ja 19f
    mov eax, 0x2108
    bt rax, rdi
    jnc 19f
    cmp edi, 3
    je 11f
    jmp 12f"""
    graph = Graph(function_of(code + BLOCKS))
    targets = [one.address for one in graph.code if one.mnemonic == "call"]
    start, edi = graph.code[0].address, Scrutinee(Register("edi"), 32, True)
    three, others = Block(targets[0], ((3, 3),)), Block(targets[1], ((8, 8), (13, 13)))
    prove(graph, Claim(start, edi, (three, others), targets[-1], True))
    with pytest.raises(UnprovenError, match="told from the number before"):
        prove(graph, Claim(start, edi, (three,), targets[-1], True, (others,)))


GOES_ON = """
    mov ebx, edi
    cmp ebx, 32
    ja 1f
    cmp ebx, 5
    je 11f
    cmp ebx, 9
    je 12f
    cmp ebx, 30
    je 13f
1:  {work}
    cmp {register}, 77
    je {block}
    jmp 19f"""


@pytest.mark.parametrize(
    ("work", "register", "block", "right"),
    [
        ("nop", "ebx", "12f", False),
        ("call g", "ebx", "12f", False),  # after work for smaller values
        ("call g", "eax", "12f", True),  # of another value
        ("call g", "ebx", "14f", True),  # a condition in the default
    ],
)
def test_a_test_behind_the_others_is_part_of_them(
    work: str, register: str, block: str, right: bool
) -> None:
    code = GOES_ON.format(work=work, register=register, block=block) + BLOCKS
    found = [s for s in switches_of(code) if s.claim and s.claim.start < 16]
    labels = [s.claim.labels() for s in found if s.status == "proven" and s.claim]
    assert bool(labels) == right or any(77 in block for block in labels[0])


@pytest.mark.parametrize(
    "test",
    [
        "mov edx, edi\n and dh, 0xfe\n cmp edx, 0x1003\n je 13f\n jmp 19f",
        "sub edi, 100\n jmp [.Lu + rdi*8]",
    ],
)
def test_what_cannot_be_followed_is_not_left_out(test: str) -> None:
    code = f"""
    cmp edi, 71
    je 11f
    ja 1f
    cmp edi, 5
    je 12f
    cmp edi, 9
    je 13f
    jmp 19f
1:  {test}
.section .rodata
.Lu: .quad 11b, 12b
.text
"""
    text = code.replace("11b, 12b", "0, 0") + BLOCKS
    assert "depends on more than its value" in reason(text)


def test_labels_at_a_stride_are_refused() -> None:
    text = TABLE.format(default="19f", work="", code="2:\n" + BLOCKS)
    assert "rotated" in reason("add edi, -27\n rol edi, 30\n" + text)


def test_values_on_either_side_of_a_bound_have_no_label() -> None:
    """`if (x > 90) die();` and then a table, one entry of which is for a number without a label."""
    code = """
    cmp edi, 90
    ja 14f
    sub edi, 24"""
    text = TABLE.format(default="2f", work="", code="2: call h\n ret\n" + BLOCKS)
    (switch,) = switches_of(code + text)
    assert switch.status == "proven"
    assert switch.claim
    assert [x for x in switch.claim.labels() if x != ["default"]] == [[24], [26], [27]]


def test_labels_count_from_the_number_before_a_sum_of_three() -> None:
    text = TABLE.format(default="19f", work="", code="2: call h\n ret\n" + BLOCKS)
    found = proven("lea edi, [rdx + rcx*2 - 5]\n" + text)
    assert found == [[[6], [5], [7], [8]]]


def test_jumps_to_one_place_elsewhere_are_the_same_code() -> None:
    code = "test edi, edi\n je 1f\n jmp g\n1: jmp g\n2: jmp h"
    graph = Graph(function_of(code))
    jumps = [one.address for one in graph.code if one.mnemonic == "jmp"]
    assert same_code(graph, jumps[0], jumps[1])
    assert not same_code(graph, jumps[0], jumps[2])


def test_tests_whose_two_ways_are_one_are_none() -> None:
    code = "cmp dword ptr [rbp - 4], 5\n je 1f\n1: cmp dword ptr [rbp - 4], 6\n je 9f\n"
    assert proven(UNOPTIMISED + code + LEAVE) == []
