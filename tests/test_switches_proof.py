"""The parts that a proof stands on, against the obvious and against a processor."""

import struct
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from permnet.binary import Binary, assembled, instructions
from permnet.binary.operands import Register
from permnet.switches import terms
from permnet.switches.claim import Scrutinee
from permnet.switches.contents import UnprovenError
from permnet.switches.cpu import Cpu
from permnet.switches.fixed import Known
from permnet.switches.intervals import numbers, runs, size, union
from permnet.switches.machine import State
from permnet.switches.pieces import Evaluator, UnknownError, constants

X = ("trunc", 8, ("start", 64, "rdi", 1), 2)


@given(st.lists(st.integers(0, 60), max_size=20))
def test_intervals_are_sets(values: list[int]) -> None:
    found = runs(values)
    assert numbers(found) == sorted(set(values))
    assert size(found) == len(set(values))
    assert all(high + 1 < low for (_, high), (low, _) in pairwise(found))
    assert union([*found, *found]) == found


OPERATIONS = ("add", "sub", "and", "or", "xor", "mul", "shl", "shr", "sar")


@st.composite
def formulas(draw: st.DrawFn) -> tuple[terms.Term, list[tuple[str, int]]]:
    """A term of a byte, and the steps that lead to it."""
    term: terms.Term = X
    steps: list[tuple[str, int]] = []
    for _ in range(draw(st.integers(0, 5))):
        kind = draw(st.sampled_from([*OPERATIONS, "zext", "sext", "trunc"]))
        bits = terms.bits_of(term)
        if kind in ("zext", "sext", "trunc"):
            wide = kind != "trunc"
            sizes = [b for b in (8, 16, 32, 64) if (b >= bits if wide else b <= bits)]
            number = draw(st.sampled_from(sizes))
            term = (
                terms.extended(term, number, kind == "sext") if wide else terms.trunc(term, number)
            )
        else:
            shift = kind in ("shl", "shr", "sar")
            number = draw(st.integers(0, min(bits - 1, 7) if shift else (1 << bits) - 1))
            term = terms.binary(kind, term, terms.const(number, bits))
        steps.append((kind, number))
    return term, steps


def computed(x: int, steps: list[tuple[str, int]]) -> int:
    value, bits = x, 8
    for kind, number in steps:
        if kind in ("zext", "sext", "trunc"):
            if kind == "sext":
                value = terms.signed(value, bits)
            value, bits = value % (1 << number), number
        else:
            value = terms.compute(kind, value, number, bits) % (1 << bits)
    return value


@given(formulas())
def test_pieces_are_the_function(formula: tuple[terms.Term, list[tuple[str, int]]]) -> None:
    term, steps = formula
    evaluator = Evaluator(X, lambda address, size: None)
    found = {
        x: value
        for low, high, _, value in constants(evaluator.pieces(term, (0, 255)))
        for x in range(low, high + 1)
    }
    assert found == {x: computed(x, steps) for x in range(256)}


@given(formulas(), st.integers(0, 2**64 - 1), st.booleans())
def test_comparisons_are_those_of_numbers(
    formula: tuple[terms.Term, list[tuple[str, int]]], number: int, sign: bool
) -> None:
    term, steps = formula
    bits = terms.bits_of(term)
    right = number % (1 << bits)
    evaluator = Evaluator(X, lambda address, size: None)
    found = {
        x: order
        for (low, high), order in evaluator.compare(term, terms.const(right, bits), (0, 255), sign)
        for x in range(low, high + 1)
    }
    for x in range(256):
        left, other = computed(x, steps), right
        if sign:
            left, other = terms.signed(left, bits), terms.signed(other, bits)
        assert found[x] == (left > other) - (left < other)


def test_what_depends_on_more_is_unknown() -> None:
    evaluator = Evaluator(X, lambda address, size: None)
    other = terms.binary("add", X, ("trunc", 8, ("start", 64, "rsi", 1), 2))
    with pytest.raises(UnknownError):
        evaluator.pieces(other, (0, 255))


# Code on edi; its last instruction sets flags, and a jump on each condition follows.
BODIES = [
    "cmp edi, {n}",
    "sub edi, {n}",
    "lea eax, [rdi - {n}]\n cmp eax, {m}",
    "movzx eax, dil\n cmp al, {b}",
    "movsx eax, dil\n add eax, {n}\n cmp eax, {m}",
    "movsxd rax, edi\n cmp rax, {n}",
    "movzx eax, di\n sub eax, {n}\n cmp eax, {m}",
    "test edi, edi",
    "add edi, {n}\n mov eax, edi\n cmp rax, {m}",
    "lea rax, [rdi*4 + {n}]\n cmp eax, {m}",
    "neg edi\n cmp edi, {n}",
    "mov eax, edi\n shr eax, 3\n cmp eax, {m}",
    "mov eax, edi\n and eax, 15\n cmp eax, {b}",
    "mov eax, edi\n and eax, 255\n cmp eax, {m}",
    "mov eax, edi\n xor eax, {b}\n cmp eax, {m}",
    "mov [rsp - 8], edi\n cmp dword ptr [rsp - 8], {n}",
    "mov [rsp - 8], edi\n movsx eax, byte ptr [rsp - 8]\n cmp eax, {n}",
    "push rdi\n mov eax, [rsp]\n cmp eax, {n}",
    "mov rax, 0x1122334455667788\n mov ecx, edi\n and ecx, 63\n bt rax, rcx",
    "mov eax, 1\n mov ecx, edi\n and ecx, 31\n shl eax, cl\n test eax, 0x10204",
    "and edi, -3",
    "test edi, -0x22",
    "mov eax, edi\n and eax, -5\n cmp eax, {m}",
    "lea eax, [rdi - {n}]\n and eax, 0xffffffdf\n cmp eax, {b}",
    "cmp edi, {n}\n setl al\n test al, al",
    "cmp edi, {n}\n seta al\n movzx eax, al\n cmp eax, 1",
    "mov eax, edi\n cdqe\n cmp rax, {n}",
    "imul eax, edi, 12\n cmp eax, {m}",
    "mov eax, edi\n inc eax\n dec edi\n cmp eax, {n}",
    "mov eax, edi\n cdqe\n add rax, {b}\n cmp rax, {n}",
    "mov ecx, 5\n mov cl, dil\n and ecx, {b}\n cmp ecx, {m}",
    "mov eax, 0x1234\n and eax, edi\n cmp eax, {m}",
    "mov eax, 77\n or eax, edi\n cmp al, {b}",
    "mov eax, 77\n sub eax, edi\n cmp al, {b}",
    "mov eax, edi\n sub eax, {b}\n cmp al, {b}",
    "mov eax, edi\n lea ecx, [rax + rax + 3]\n movzx ecx, cl\n cmp ecx, {m}",
    "mov eax, 3\n mov ecx, edi\n shl eax, cl\n cmp eax, {m}",
    "mov eax, edi\n shl eax, 2\n cmp al, {b}",
    "mov eax, 1\n mov ecx, edi\n shlx rax, rax, rcx\n test eax, 0x10204",
    "mov eax, edi\n mov ecx, 3\n shrx eax, eax, ecx\n cmp eax, {m}",
    "mov eax, edi\n mov ecx, 3\n sarx eax, eax, ecx\n cmp eax, {m}",
    "cmp edi, {n}\n mov ecx, 3\n shlx eax, edi, ecx",
    "mov eax, edi\n xor eax, eax\n cmp eax, {b}",
]
CONDITIONS = ("e", "ne", "b", "ae", "be", "a", "l", "ge", "le", "g", "s", "ns")


@settings(max_examples=120, deadline=None)
@given(
    body=st.sampled_from(BODIES),
    n=st.one_of(st.integers(-300, 300), st.integers(-(2**31), 2**31 - 1)),
    m=st.one_of(st.integers(-300, 300), st.integers(-(2**31), 2**31 - 1)),
    b=st.integers(0, 100),
    bits=st.sampled_from([8, 16, 32, 64]),
    values=st.lists(
        st.one_of(
            st.integers(0, 300), st.integers(0, 2**32 - 1), st.integers(2**31 - 5, 2**31 + 5)
        ),
        min_size=1,
        max_size=4,
    ),
)
def test_the_proofs_processor_does_what_a_processor_does(
    body: str, n: int, m: int, b: int, values: list[int], bits: int
) -> None:
    """And what holds for x holds for the whole stretch that it says; of rdi only x is known."""
    code = body.format(n=n, m=m, b=b).replace("- -", "+ ")
    binary = assembled(f".text\nf:\n {code}\n")
    (function,) = binary.functions()
    for x in (value % (1 << bits) for value in values):
        place = Register({8: "dil", 16: "di", 32: "edi", 64: "rdi"}[bits])
        cpu = Cpu(binary.read_only, Scrutinee(place, bits, True), x, Known())
        for instruction in instructions(function):
            cpu.step(instruction)
        for condition in CONDITIONS:
            low, high = cpu.low, cpu.high
            try:
                taken = cpu.holds(condition)
            except UnprovenError:
                continue
            for other in {x, cpu.low, cpu.high, (cpu.low + cpu.high) // 2}:
                assert executed(binary, other, bits)[condition] == taken, (
                    code,
                    condition,
                    x,
                    other,
                )
            cpu.low, cpu.high = low, high


def executed(binary: Binary, x: int, bits: int) -> dict[str, bool]:
    """The conditions after the code, by an emulator; bits above those of x are odd."""
    import unicorn.unicorn as unicorn
    from unicorn import unicorn_const, x86_const

    machine = unicorn.Uc(unicorn_const.UC_ARCH_X86, unicorn_const.UC_MODE_64)
    machine.mem_map(0, 1 << 16)
    (function,) = binary.functions()
    machine.mem_write(function.address, bytes(function.code))
    machine.reg_write(x86_const.UC_X86_REG_RDI, 0xDEAD_BEEF_FEED_FACE >> bits << bits | x)
    machine.reg_write(x86_const.UC_X86_REG_RSP, 0x8000)
    machine.emu_start(function.address, function.end)
    flags = machine.reg_read(x86_const.UC_X86_REG_EFLAGS)
    carry, zero, sign, overflow = (bool(flags >> bit & 1) for bit in (0, 6, 7, 11))
    less = sign != overflow
    holds = {"e": zero, "b": carry, "be": carry or zero, "l": less, "le": less or zero, "s": sign}
    opposite = {"ne": "e", "ae": "b", "a": "be", "ge": "l", "g": "le", "ns": "s"}
    return holds | {name: not holds[other] for name, other in opposite.items()}


@given(st.binary(min_size=8, max_size=8), st.sampled_from(["rax", "eax", "ax", "al", "ah"]))
def test_parts_of_a_register(content: bytes, name: str) -> None:
    (number,) = struct.unpack("<Q", content)
    state = State({"rax": terms.const(number, 64)})
    bits = {"rax": 64, "eax": 32, "ax": 16}.get(name, 8)
    shift = 8 if name == "ah" else 0
    assert terms.value_of(state.register(name)) == number >> shift & ((1 << bits) - 1)
    state.set(name, terms.const(5, bits))
    kept = 0 if bits == 32 else number & ~(((1 << bits) - 1) << shift)
    assert terms.value_of(state.whole("rax")) == kept | 5 << shift


def test_memory_that_may_have_changed_is_forgotten() -> None:
    text = """
f:  mov [rsp - 8], edi
    mov [rsi], ecx
    cmp dword ptr [rsp - 8], 5
    """
    (function,) = assembled(text).functions()
    cpu = Cpu(function.binary.read_only, Scrutinee(Register("edi"), 32, True), 7, Known())
    for instruction in instructions(function):
        cpu.step(instruction)
    with pytest.raises(UnprovenError):
        cpu.holds("e")
