"""Where values meet: with what contents, at which place, and whether a test was for them."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from permnet.switches.alike import same_code
from permnet.switches.arrivals import lives
from permnet.switches.claim import Block, Claim, Switch
from permnet.switches.contents import UnprovenError
from permnet.switches.find import find_switches
from permnet.switches.graph import Graph
from permnet.switches.intervals import MOST_IGNORED, ignoring
from permnet.switches.proof import prove
from tests.machine_code import BLOCKS, function_of


def switch_of(code: str) -> Switch:
    (switch,) = find_switches(function_of(code), emulate=True)
    return switch


def labels_of(code: str) -> list[list[int | str]]:
    switch = switch_of(code)
    assert switch.status == "proven", switch.reason
    assert switch.claim is not None
    return [labels for labels in switch.claim.labels() if labels != ["default"]]


SHARED_RETURN = """
    mov eax, {first}
    cmp edi, 5
    je 9f
    mov eax, {second}
    cmp edi, 700
    je 9f
    cmp edi, 90
    je 12f
    jmp 19f
9:  ret
"""


def test_values_that_meet_with_other_contents_are_not_one_block() -> None:
    switch = switch_of(SHARED_RETURN.format(first=1, second=4) + BLOCKS)
    assert switch.status == "unproven"
    assert "different contents of rax" in switch.reason
    assert labels_of(SHARED_RETURN.format(first=4, second=4) + BLOCKS) == [[5, 700], [90]]


@pytest.mark.parametrize(
    ("work", "status"),
    [
        ("movsx rax, dx", "unproven"),  # returned
        ("mov rsi, rdx", "unproven"),  # may be given to what is called
        ("mov r11, rdx", "proven"),  # nobody looks at it
        ("pxor xmm0, xmm0", "unproven"),
        ("mov [rsp - 8], rdx", "unproven"),
        ("nop", "proven"),
    ],
)
def test_work_between_the_tests(work: str, status: str) -> None:
    code = f"""
    cmp edi, 5
    je 9f
    {work}
    cmp edi, 700
    je 9f
    cmp edi, 90
    je 12f
    jmp 19f
9:  call g
    ret
"""
    if "rax" in work or "xmm" in work:
        code = code.replace("call g", "nop")
    assert switch_of(code + BLOCKS).status == status


def test_what_only_tests_worked_with_is_left_over() -> None:
    """The default is come to with the address of the table in rdx, and without."""
    code = """
    cmp edi, 3
    ja 19f
    mov eax, edi
    lea rdx, [rip + .Lt]
    movsxd rax, dword ptr [rdx + rax*4]
    add rax, rdx
    jmp rax"""
    table = """
.section .rodata
.Lt: .long 11b-.Lt, 12b-.Lt, 19b-.Lt, 13b-.Lt
.text
"""
    assert labels_of(code + BLOCKS + table) == [[0], [1], [3]]


@pytest.mark.parametrize(
    ("code", "name", "work", "expected"),
    [
        ("mov eax, 1\n ret", "rax", True, False),
        ("ret", "rax", True, True),
        ("ret", "rax", False, False),
        ("ret", "rcx", True, False),
        ("call g\n ret", "rdi", True, True),
        ("call g\n ret", "rdi", False, False),
        ("call g\n mov eax, ebx\n ret", "rbx", False, True),
        ("test ecx, ecx\n je 1f\n mov edx, 1\n1: mov eax, edx\n ret", "rdx", True, True),
        ("test ecx, ecx\n je 1f\n mov edx, 1\n1: mov eax, edx\n ret", "rdx", False, False),
        ("test ecx, ecx\n je 1f\n mov edx, 1\n1: mov edx, 2\n ret", "rbx", True, False),
        ("test ecx, ecx\n je 1f\n mov edx, 1\n1: mov edx, ebx\n ret", "rbx", True, True),
        ("jmp rcx", "rbx", True, True),
        ("sete al\n ret", "flags", False, True),
        ("mov eax, 1\n cmp eax, ecx\n je f\n ret", "flags", False, False),
        ("mov al, 1\n ret", "rax", True, True),
        ("xor eax, eax\n ret", "rax", True, False),
        ("1: dec ecx\n jne 1b\n ret", "rdx", False, False),
        ("rep stosb\n ret", "r8", False, True),  # what is not known may use anything
        ("nop dword ptr [rax]\n mov eax, 2\n ret", "rax", False, False),
        ("ud2", "rax", True, False),
    ],
)
def test_what_is_used_from_a_place_on(code: str, name: str, work: bool, expected: bool) -> None:
    graph = Graph(function_of(code))
    assert lives(graph, graph.function.address, name, work) is expected


def test_padding_before_a_block_begins_no_other() -> None:
    code = """
    cmp edi, 70
    ja 1f
    cmp edi, 64
    jbe 19f
    nop dword ptr [rax + rax]
    xchg ax, ax
2:  call a
    ret
1:  sub edi, 97
    cmp edi, 5
    ja 19f
    jmp 2b"""
    assert labels_of(code + BLOCKS) == [[*range(65, 71), *range(97, 103)]]


def test_a_test_that_is_decided_after_bit_tests_is_gone_through() -> None:
    """Of 4 to 7 the masks have 4, 6 and 7: what comes to the last test is 5."""
    code = """
    cmp edi, 7
    ja 19f
    cmp edi, 3
    jbe 19f
    mov eax, 1
    mov ecx, edi
    shl eax, cl
    test eax, 0x90
    jne 11f
    test eax, 0x40
    je 1f
    jmp 12f
    nop
1:  cmp edi, 5
    jne 19f
    jmp 12f"""
    assert labels_of(code + BLOCKS) == [[4, 7], [5, 6]]


def test_bits_that_are_computed_without_a_jump_are_a_part_that_is_missing() -> None:
    code = """
    cmp edi, 117
    je 12f
    cmp edi, 119
    je 13f
    sub edi, 98
    cmp edi, 17
    ja 19f
    mov edx, 0x20443
    bt rdx, rdi
    setb al
    cmp al, 1
    sbb rbx, -1
    ret"""
    switch = switch_of(code + BLOCKS)
    assert switch.status == "refused"
    assert "without a jump" in switch.reason


def test_a_mask_of_those_that_are_not_meant() -> None:
    code = """
    cmp edi, 23
    je 11f
    ja 19f
    mov rax, 0xffffffffffb7efff
    bt rax, rdi
    jb 19f
    jmp 12f"""
    assert labels_of(code + BLOCKS) == [[23], [12, 19, 22]]


def test_a_part_of_a_dispatch_that_stands_before_it_is_none_of_its_own() -> None:
    code = """
    jmp 3f
1:  cmp al, 64
    jg 2f
    cmp al, 46
    jne 19f
    jmp 12f
2:  call a
    jmp 3f
3:  movzx eax, byte ptr [rsi]
    cmp al, 90
    jle 1b
    lea edi, [rax - 97]
    cmp dil, 25
    jbe 2b
    jmp 19f"""
    assert labels_of(code + BLOCKS) == [[*range(65, 91), *range(97, 123)], [46]]


IF_BEFORE = """
    push rbp
    mov rbp, rsp
    push rbx
    sub rsp, 24
    lea rax, [rip + 19f]
    mov rdi, rax
    call next
    mov dword ptr [rbp - 20], eax
    cmp dword ptr [rbp - 20], {first}
    je 19f
    mov eax, dword ptr [rbp - 20]
    sub eax, 99
    cmp eax, 3
    ja 13f
    mov eax, eax
    lea rdx, [rax*4 + 0]
    lea rax, [rip + .Lt]
    mov eax, dword ptr [rdx + rax]
    cdqe
    lea rdx, [rip + .Lt]
    add rax, rdx
    jmp rax
11: call a
    jmp 14f
12: call b
    jmp 14f
13: call c
14: nop
19: leave
    ret
.section .rodata
.Lt: .long 11b-.Lt, 12b-.Lt, 13b-.Lt, 12b-.Lt
.text
"""


@pytest.mark.parametrize("first", [-1, 34, 0])
def test_without_an_optimiser_a_test_that_does_not_ask_for_the_side_is_an_if(first: int) -> None:
    code = IF_BEFORE.format(first=first)
    assert Graph(function_of(code)).is_unoptimised  # by an address that is moved on
    assert labels_of(code) == [[99], [100, 102]]


def test_without_an_optimiser_padding_is_a_block() -> None:
    code = IF_BEFORE.format(first=-1).replace("12: call b", "12: nop\n    call b")
    graph, claim = claimed(code)
    first, second = claim.blocks
    with pytest.raises(UnprovenError):
        prove(graph, replace(claim, blocks=(first, replace(second, target=second.target + 1))))


def claimed(code: str) -> tuple[Graph, Claim]:
    function = function_of(code)
    (switch,) = find_switches(function)
    assert switch.status == "proven", switch.reason
    assert switch.claim is not None
    return Graph(function), switch.claim


CHAIN = """
    cmp edi, 5
    je 11f
    cmp edi, 9
    je 12f
    cmp edi, 700
    je 13f
    jmp 19f"""
RANGE = """
    cmp edi, 5
    je 11f
    cmp edi, 9
    je 12f
    lea eax, [rdi - 20]
    cmp eax, 7
    jbe 13f
    jmp 19f"""


@pytest.mark.parametrize("code", [CHAIN, RANGE])
@pytest.mark.parametrize("which", range(3))
def test_a_label_cannot_be_called_a_copy_of_the_default(code: str, which: int) -> None:
    graph, claim = claimed(code + BLOCKS)
    prove(graph, claim)
    block = claim.blocks[which]
    others = tuple(one for one in claim.blocks if one != block)
    with pytest.raises(UnprovenError, match="label"):
        prove(graph, replace(claim, blocks=others, copies=(*claim.copies, block)))


def test_a_block_that_is_the_default_again_may_be_called_so() -> None:
    graph, claim = claimed(CHAIN + BLOCKS.replace("call c", "call e"))
    assert [len(part) for part in (claim.blocks, claim.copies)] == [2, 1]
    (copy,) = claim.copies
    assert copy == Block(copy.target, ((700, 700),))
    prove(graph, replace(claim, blocks=(*claim.blocks, copy), copies=()))


@pytest.mark.parametrize(("other", "same"), [("1f", True), ("2f", False)])
def test_the_same_text_may_mean_another_place(other: str, same: bool) -> None:
    code = f"""
    lea rdi, [rip + 1f]
    jmp 3f
    lea rdi, [rip + {other}]
    jmp 3f
1:  .byte 0x90
2:  nop
3:  call g
    ret"""
    graph = Graph(function_of(code))
    first = graph.function.address
    assert same_code(graph, first, first + 9) is same


@given(st.integers(0, 255), st.integers(0, 255))
def test_numbers_that_are_the_same_under_a_mask(mask: int, number: int) -> None:
    assert MOST_IGNORED >= 8
    expected = [n for n in range(256) if n & mask == number] if mask != 255 else []
    assert ignoring(mask, number, 8) == expected
