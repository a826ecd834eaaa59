"""What is known of registers where a dispatch begins, against a processor, and what rests on it."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from permnet.binary import assembled
from permnet.switches.claim import Switch
from permnet.switches.effects import keeps_flags
from permnet.switches.find import find_switches
from permnet.switches.graph import Graph
from permnet.switches.intervals import moved, numbers, runs
from tests.machine_code import function_of

CLANG = sorted((Path(__file__).parent / "assembly").glob("clang-*.s"))
SHAPES = {
    "table": [[10], [11], [12], [13, 16], [14]],
    "tree": [[-70], [3], [500], [9000], [70000], [800000]],
    "bits": [[9, 10, 13, 32], [44, 58, 61]],
    "mixed": [[-5000000000], [1], [2], [3], [4], [5], [40, 42, 44, 47], [7000000000]],
    "letters": [[97], [98], [101], [111], [117], [121]],
    "stride": [[100], [104], [108], [112], [116]],
}


@pytest.mark.parametrize("path", CLANG, ids=lambda path: path.stem)
def test_what_clang_makes_of_a_switch_is_proven(path: Path) -> None:
    """Compiled from shapes.c by the version of clang that the files name."""
    for function in assembled(path.read_text()).functions():
        (switch,) = find_switches(function, emulate=True)
        if function.name == "stride" and "O2" in path.stem:
            # Labels at a stride are turned by a rotation into numbers without gaps.
            assert (switch.status, switch.claim) == ("refused", None)
        else:
            assert switch.status == "proven", (function.name, switch.reason)
            assert sorted(blocks(switch)) == sorted(SHAPES[function.name]), function.name


def blocks(switch: Switch) -> list[list[int | str]]:
    assert switch.claim is not None, switch.reason
    return [labels for labels in switch.claim.labels() if labels != ["default"]]


REGISTERS = {"eax": "rax", "ecx": "rcx", "edx": "rdx", "ebx": "rbx"}
NARROW = {"rax": ("al", "ax", "ah"), "rcx": ("cl", "cx", "ch"), "rdx": ("dl", "dx", "dh")}
NARROW |= {"rbx": ("bl", "bx", "bh")}
SHAPED = (
    "mov {a}, {n}", "mov {a}, {b}", "mov {A}, {B}", "add {a}, {n}", "sub {a}, {n}", "add {A}, {n}",
    "lea {a}, [{B} + {n}]", "lea {A}, [{B} + {n}]", "lea {a}, [{B} + {A}*2 + {n}]", "xor {a}, {a}",
    "movzx {a}, {low}", "movzx {a}, {half}", "movzx {a}, {high}", "movsx {a}, {low}", "inc {low}",
    "mov {low}, {n8}", "mov {half}, {n8}", "and {a}, {n8}", "and {a}, {n}", "and {A}, {n8}",
    "shl {a}, 3", "shr {A}, 9", "sar {a}, 1", "imul {a}, {b}, 7", "cmp {a}, {b}", "cmovl {a}, {b}",
    "setb {low}", "not {a}", "neg {A}", "xchg {a}, {b}", "bswap {a}", "cdq", "movsxd {A}, {b}",
    "imul {b}", "imul {A}, {B}", "mul {b}", "cdqe", "shl {a}, cl", "shld {a}, {b}, 3",
    "bsf {a}, {b}",
)  # fmt: skip


@st.composite
def straight(draw: st.DrawFn) -> str:
    lines = []
    for _ in range(draw(st.integers(1, 8))):
        a, b = draw(st.sampled_from([*REGISTERS])), draw(st.sampled_from([*REGISTERS]))
        low, half, high = NARROW[REGISTERS[b]]
        number = draw(st.one_of(st.integers(-9, 300), st.integers(0, 2**31 - 1)))
        shape = draw(st.sampled_from(SHAPED))
        wide = {"a": a, "A": REGISTERS[a], "b": b, "B": REGISTERS[b]}
        parts = {"low": low, "half": half, "high": high, "n": number, "n8": number % 128}
        lines.append(shape.format(**wide, **parts))
    return "\n".join(lines).replace("+ -", "- ")


@settings(max_examples=150, deadline=None)
@given(straight(), st.lists(st.integers(0, 2**64 - 1), min_size=4, max_size=4))
def test_what_is_known_holds_on_a_processor(code: str, content: list[int]) -> None:
    import unicorn.unicorn as unicorn
    from unicorn import unicorn_const, x86_const

    function = function_of(f"{code}\npause")
    machine = unicorn.Uc(unicorn_const.UC_ARCH_X86, unicorn_const.UC_MODE_64)
    machine.mem_map(0, 1 << 16)
    machine.mem_write(function.address, bytes(function.code))
    ids = {n: getattr(x86_const, f"UC_X86_REG_{n.upper()}") for n in REGISTERS.values()}
    for name, number in zip(ids, content, strict=True):
        machine.reg_write(ids[name], number)
    last = Graph(function).code[-1].address
    machine.emu_start(function.address, last)
    held = {name: machine.reg_read(ids[name]) for name in ids}
    known = Graph(function).fixed.at(last)
    assert all(held[name] == number for name, number in known.constants.items()), code
    assert all(held[name] >> bits == 0 for name, bits in known.bits.items()), code
    for name, one in known.sums.items():
        if one.source:
            assert held[name] == (held[one.source] + one.number) % (1 << one.bits), code


TABLE = """
1:  jmp rax
2:  call h
    jmp 3f
4:  call i
3:  ret
.section .rodata
.Lt: .long 2b-.Lt, 4b-.Lt, 2b-.Lt, 4b-.Lt, 3b-.Lt
.text
"""
USE = "movsxd rax, dword ptr [r12 + {index}*4]\nadd rax, r12\n"


def test_an_index_is_as_wide_as_what_made_it() -> None:
    """The register's upper half is 0 because of an instruction in an earlier block."""
    code = "{}\nlea r12, [rip + .Lt]\ncall g\ncmp ebx, 4\nja 3f\n" + USE.format(index="rbx") + TABLE
    (switch,) = find_switches(function_of(code.format("mov ebx, edi")), emulate=True)
    assert (switch.status, blocks(switch)) == ("proven", [[0, 2], [1, 3]])
    (switch,) = find_switches(function_of(code.format("mov rbx, rdi")), emulate=True)
    assert switch.status == "refused"


def test_labels_count_from_the_number_before_a_sum() -> None:
    """Whether the number itself is still there or not."""
    code = "lea ebx, [rdi - 70]\nlea r12, [rip + .Lt]\n{}\ncmp ebx, 4\nja 3f\n"
    for between in ("call g", "test edi, edi\njs 3f"):
        made = code.format(between) + USE.format(index="rbx") + TABLE
        (switch,) = find_switches(function_of(made), emulate=True)
        assert (switch.status, blocks(switch)) == ("proven", [[70, 72], [71, 73]]), between


COLD = """
    lea r12, [rip + .Lt]
9:  call g
    cmp eax, 99
    je f.cold
8:  cmp eax, 4
    ja 3f
    mov eax, eax
    movsxd rax, dword ptr [r12 + rax*4]
    add rax, r12
1:  jmp rax
2:  call h
    jmp 9b
4:  call i
    jmp 9b
3:  ret
.size f, .-f
.section .text.unlikely, "ax"
.type f.cold, @function
f.cold:
    {}
    jmp 8b
.size f.cold, .-f.cold
.section .rodata
.Lt: .long 2b-.Lt, 4b-.Lt, 2b-.Lt, 4b-.Lt, 3b-.Lt
"""


def test_the_cold_part_of_a_function_is_followed() -> None:
    found = [*find_switches(function_of(COLD.format("xor ebx, ebx")), emulate=True)]
    assert [(s.status, blocks(s)) for s in found] == [("proven", [[0, 2], [1, 3], [99]])]
    found = [*find_switches(function_of(COLD.format("xor r12d, r12d")), emulate=True)]
    assert [s.status for s in found] == ["refused"]


def test_a_write_beside_the_value_leaves_it() -> None:
    code = """
    lea r12, [rip + .Lt]
    cmp byte ptr [rbx + 101], 4
    mov byte ptr [{}], 1
    ja 3f
    movzx eax, byte ptr [rbx + 101]
    """
    for place, status in (("rbx + 103", ["proven"]), ("rbx + 101", []), ("rdx", [])):
        function = function_of(code.format(place) + USE.format(index="rax") + TABLE)
        found = [s.status for s in find_switches(function, emulate=True)]
        assert found == status, place


def test_the_default_may_be_in_two_places() -> None:
    code = """
    cmp edi, 17
    je 1f
    jg 5f
    cmp edi, 15
    jne 8f
2:  mov edi, 1
    jmp g
5:  cmp edi, 18
    je 3f
    cmp edi, 41
    jne 9f
3:  mov edi, 2
    jmp h
1:  mov edi, 3
    jmp i
9:  cmp dword ptr [rsi], 0
    jne 8f
    mov eax, 59
    ret
8:  mov eax, -1
    ret
    """
    (switch,) = find_switches(function_of(code), emulate=True)
    assert switch.status == "proven", switch.reason
    assert sorted(blocks(switch)) == [[15], [17], [18, 41]]
    assert switch.claim is not None
    (copy,) = switch.claim.copies
    assert copy.target != switch.claim.default
    (listed,) = switch.to_json()["copies"]
    assert listed == {"target": copy.target, "values": [list(part) for part in copy.values]}


def test_what_is_compared_without_a_jump_is_not_left_out() -> None:
    code = """
    cmp edi, 5
    je 1f
    cmp edi, 9
    je 2f
    cmp edi, 30
    je 3f
    {}
    ret
1:  jmp g
2:  jmp h
3:  jmp i
    """
    (switch,) = find_switches(function_of(code.format("xor eax, eax")), emulate=True)
    assert (switch.status, blocks(switch)) == ("proven", [[5], [9], [30]])
    computed = code.format("xor eax, eax\ncmp edi, 77\nsete al")
    (switch,) = find_switches(function_of(computed), emulate=True)
    assert switch.status == "refused"
    assert "without a jump" in switch.reason


def test_one_range_is_an_if_and_few_labels_may_be() -> None:
    code = "lea eax, [rdi - 48]\ncmp eax, 9\njbe 1f\n{}ret\n1: jmp g\n2: jmp h\n3: jmp i"
    assert not [*find_switches(function_of(code.format("cmp edi, 99\nje 1f\n")))][1:]
    assert not [*find_switches(function_of(code.format("")))]
    (switch,) = find_switches(function_of(code.format("cmp edi, 99\nje 2f\n")))
    assert "chain of ifs" in switch.to_json()["note"]
    tests = "".join(f"cmp edi, {n}\nje {2 + n % 2}f\n" for n in (70, 73, 76, 79))
    (switch,) = find_switches(function_of(code.format(tests)))
    assert (switch.status, switch.to_json()["note"]) == ("proven", "")


def test_which_instructions_keep_flags() -> None:
    kept = (
        "mov eax, 1\nmovsd xmm0, [rdi]\ncmove eax, edx\nsete al\nlea eax, [rdx]\npush rax\nnot eax"
    )
    lost = "add eax, 1\npopcnt eax, edx\npopfq\ncomisd xmm0, xmm1\nptest xmm0, xmm1\nneg eax"
    for code, keeps in ((kept, True), (lost, False)):
        for instruction in Graph(function_of(code)).code:
            assert keeps_flags(instruction) == keeps, instruction


@given(st.sets(st.integers(0, 255)), st.integers(-300, 300))
def test_moved_sets_are_sets_of_moved_numbers(values: set[int], distance: int) -> None:
    found = moved(runs(values), distance, 8)
    assert numbers(found) == sorted((value + distance) % 256 for value in values)
