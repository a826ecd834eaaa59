"""Switches of compiled programs: found, right, proven; what is altered is not."""

from dataclasses import replace
from pathlib import Path
from random import Random

import pytest

from benchmarks.switch_large import write_program
from benchmarks.switch_mutations import KINDS, altered
from permnet.binary import Binary, assembled, open_binary
from permnet.switches.claim import Block, Switch
from permnet.switches.contents import UnprovenError
from permnet.switches.emulate import checked_values, cross_check
from permnet.switches.find import find_switches
from permnet.switches.fixed import Known
from permnet.switches.graph import Graph
from permnet.switches.intervals import runs
from permnet.switches.proof import prove
from permnet.tasks.switch.ctokens import PRELUDE, layout
from permnet.tasks.switch.dataset import shipped
from tests.test_binary import compiled

PROGRAM = """
extern int g(int); extern void h(int);
int sparse(int x) { switch (x) { case 1: g(1); break; case 2: g(2); break; case 9: g(9); break;
    case 50: g(3); break; case 400: g(50); break; } return 1; }
int letters(char x) { switch (x) { case 'a': g(1); break; case 'b': g(2); break;
    case 'd': g(9); break; case 'e': g(3); break; case 'f': case 'z': g(50); break;
    default: g(99); } return 1; }
int bits(unsigned long x) { switch (x) { case 1: case 3: case 5: case 9: case 11: g(1); break;
    case 2: case 4: case 6: case 20: case 22: g(2); break; } return 1; }
int nested(int *x) { switch (*x) { case -5: g(1); break; case -4: g(2); break; case -3: g(3);
    case -2: g(4); break; case 0: g(77); break;
    default: switch (g(3)) { case 3: h(3); break; case 7: h(5); break; case 30: h(7); } }
    return 1; }
int wide(long x) { switch (x) { case -5000000000: return g(1); case 0: return g(2);
    case 5000000000: return g(3); case 7: return g(4); default: return 5; } }
int all(unsigned char x) { switch (x & 3) { case 0: return g(1); case 1: return g(2);
    case 2: return g(3); case 3: return g(4); } return 0; }
"""
TRUE = {
    "sparse": [[[1], [2], [9], [50], [400]]],
    "letters": [[[97], [98], [100], [101], [102, 122]]],
    "bits": [[[1, 3, 5, 9, 11], [2, 4, 6, 20, 22]]],
    "nested": [[[-5], [-4], [-3], [-2], [0]], [[3], [7], [30]]],
    "wide": [[[-5000000000], [0], [5000000000], [7]]],
}
WAYS = [
    ("gcc", "-O0"),
    ("gcc", "-O0", "-fno-jump-tables"),
    ("gcc", "-O1"),
    ("gcc", "-O2"),
    ("gcc", "-O2", "-fno-pie"),
    ("gcc", "-Os"),
]


def found_in(binary: Binary) -> dict[str, list[Switch]]:
    return {f.name: list(find_switches(f, emulate=True)) for f in binary.functions()}


def blocks(switch: Switch) -> list[list[int | str]]:
    assert switch.claim is not None, switch.reason
    return [labels for labels in switch.claim.labels() if labels != ["default"]]


@pytest.mark.parametrize("way", WAYS, ids=" ".join)
def test_switches_of_many_shapes_are_proven(way: tuple[str, ...], tmp_path: Path) -> None:
    with open_binary(compiled(tmp_path, PROGRAM, *way[1:], "-c")) as binary:
        found = found_in(binary)
    for name, true in TRUE.items():
        assert [s.status for s in found[name]] == ["proven"] * len(true), (name, found[name])
        for switch, labels in zip(found[name], true, strict=True):
            assert sorted(blocks(switch), key=str) == sorted(labels, key=str), name
            if way[1] == "-O0":
                assert blocks(switch) == labels, name


def test_the_default_is_told_from_what_follows(tmp_path: Path) -> None:
    with open_binary(compiled(tmp_path, PROGRAM, "-O0", "-c")) as binary:
        found = found_in(binary)
    has = {n: [s.claim.has_default for s in found[n] if s.claim] for n in TRUE}
    assert has == {
        "sparse": [False],
        "letters": [True],
        "bits": [False],
        "nested": [True, False],
        "wide": [True],
    }


@pytest.mark.parametrize("flags", [("-O0",), ("-O0", "-fno-jump-tables")])
def test_the_shipped_programs(flags: tuple[str, ...], tmp_path: Path) -> None:
    """Every label at its block, in order, and proven.

    Where a constant is added to the value and a table follows, the two constants are one in the
    code: then labels may all be off by the same number.
    """
    texts = [layout(c) for _, c in shipped("switch-10").pairs()][:150]
    named = [text.replace(" f(", f" f{i}(", 1) for i, text in enumerate(texts)]
    source = "\n".join([PRELUDE, *named])
    with open_binary(compiled(tmp_path, source, *flags, "-c")) as binary:
        found = {f.name: list(find_switches(f)) for f in binary.functions()}
    moved = 0
    for i, text in enumerate(texts):
        (switch,) = [s for s in found[f"f{i}"] if s.status == "proven"]
        true, answer = cases(text), blocks(switch)
        off = int(answer[0][0]) - true[0][0]
        assert answer == [[label + off for label in block] for block in true], text
        moved += off != 0
    assert moved <= 4


def cases(text: str) -> list[list[int]]:
    """The labels of each block of a program of the synthetic set."""
    found: list[list[int]] = []
    fresh = True
    for line in map(str.strip, text.splitlines()):
        if line.startswith("case "):
            if fresh:
                found.append([])
            found[-1].append(int(line[5:-1]))
            fresh = False
        else:
            fresh = True
    return found


def test_altered_claims_are_rejected(tmp_path: Path) -> None:
    random = Random(1)
    tried = dict.fromkeys(KINDS, 0)
    for flags in (("-O0",), ("-O0", "-fno-jump-tables"), ("-O2",)):
        with open_binary(compiled(tmp_path, PROGRAM, *flags, "-c")) as binary:
            for function in binary.functions():
                graph = Graph(function)
                for switch in find_switches(function):
                    if switch.status != "proven" or switch.claim is None:
                        continue
                    for kind in KINDS * 2:
                        wrong = altered(switch.claim, kind, random)
                        if wrong is None or wrong == switch.claim:
                            continue
                        tried[kind] += 1
                        with pytest.raises(UnprovenError):
                            prove(graph, wrong)
    assert tried.pop("copy") > 0
    assert min(tried.values()) >= 20


def test_a_claim_that_overlaps_or_is_empty_is_rejected(tmp_path: Path) -> None:
    with open_binary(compiled(tmp_path, PROGRAM, "-O2", "-c")) as binary:
        function = next(f for f in binary.functions() if f.name == "sparse")
    graph = Graph(function)
    (switch,) = find_switches(function)
    claim = switch.claim
    assert claim is not None
    prove(graph, claim)
    first, second, *rest = claim.blocks
    for wrong in (
        replace(claim, blocks=(first, Block(second.target, first.values), *rest)),
        replace(claim, blocks=(first, replace(second, target=first.target), *rest)),
        replace(claim, blocks=(first, Block(second.target, ()), *rest)),
        replace(claim, blocks=(first, Block(second.target, runs([1 << 40])), *rest)),
        replace(claim, default=None),
        replace(claim, start=function.end + 8),
        replace(claim, start=first.target),
    ):
        with pytest.raises(UnprovenError):
            prove(graph, wrong)


def test_the_emulator_disagrees_with_a_wrong_claim(tmp_path: Path) -> None:
    with open_binary(compiled(tmp_path, PROGRAM, "-O2", "-c")) as binary:
        function = next(f for f in binary.functions() if f.name == "sparse")
    (switch,) = find_switches(function)
    claim = switch.claim
    assert claim is not None
    cross_check(binary, claim, Known())
    assert {0, 1, 2, 3, 8, 9, 10, 399, 400, 401, 2**31, 2**32 - 1} <= {*checked_values(claim)}
    first, second, *rest = claim.blocks
    wrong = replace(
        claim,
        blocks=(replace(first, target=second.target), replace(second, target=first.target), *rest),
    )
    with pytest.raises(UnprovenError, match="emulator"):
        cross_check(binary, wrong, Known())


IF_CHAIN = """
extern int g(int);
int f(int x) { if (x == 1) return g(1); else if (x == 5) return g(2); else if (x == 9) return g(3);
               else if (x == 70) return g(7); return 4; }
int sizes(int x) { if (x < 10) return g(1); if (x == 11) return g(2); if (x == 15) return g(3);
                   if (x == 99) return g(4); if (x > 1000) return g(5); return 0; }
int before(int x) { if (x == 30) { g(5); } else { switch (x) { case 1: g(1); break; case 5: g(2);
    break; case 9: g(3); break; case 12: g(4); } } return 0; }
int plain(int x, int y) { if (x > y) return g(1); return g(2); }
"""


def test_chains_of_ifs_are_not_called_switches(tmp_path: Path) -> None:
    with open_binary(compiled(tmp_path, IF_CHAIN, "-O0", "-c")) as binary:
        found = found_in(binary)
    (chain,) = found["f"]
    assert chain.status == "refused"
    assert "chain of ifs" in chain.reason
    (switch,) = found.pop("before")
    assert (switch.status, blocks(switch)) == ("proven", [[1], [5], [9], [12]])
    assert not any(s.status == "proven" for switches in found.values() for s in switches)
    with open_binary(compiled(tmp_path, IF_CHAIN, "-O2", "-c")) as b:
        found = found_in(b)
    assert not found["plain"]
    (refused,) = found["sizes"]
    assert refused.status == "refused"
    assert "comparisons of sizes" in refused.reason


def test_addresses_that_an_object_leaves_open_are_no_labels(tmp_path: Path) -> None:
    source = """
extern char a[], b[], c[], d[]; int g(int);
int f(char *p) { if (p == a) return g(1); if (p == b) return g(2); if (p == c) return g(3);
                 if (p == d) return g(4); return 0; }
int plain(long x) { if (x == 8208) return g(1); if (x == 8224) return g(2); if (x == 8240)
                    return g(3); if (x == 8256) return g(4); return 0; }
"""
    with open_binary(compiled(tmp_path, source, "-O1", "-fno-pie", "-c")) as binary:
        found = found_in(binary)
    assert not found["f"]
    assert [switch.status for switch in found["plain"]] == ["proven"]


def test_a_table_without_a_bound_is_no_switch() -> None:
    text = """
f:  mov eax, edi
    jmp [.Ltable + rax*8]
.La: ret
.Lb: nop
    ret
    .section .rodata
.Ltable: .quad .La, .Lb
    """
    assert not any(s.claim for f in assembled(text).functions() for s in find_switches(f))


def test_a_table_that_can_be_written_proves_nothing() -> None:
    text = """
f:  cmp edi, 1
    ja .Lc
    mov eax, edi
    jmp [.Ltable + rax*8]
.La: ret
.Lb: nop
    inc eax
    ret
.Lc: dec eax
    ret
    .section {section}
.Ltable: .quad .La, .Lb
    """
    (good,) = assembled(text.format(section=".rodata")).functions()
    (switch,) = find_switches(good)
    assert switch.status == "proven"
    (bad,) = assembled(text.format(section=".data")).functions()
    assert not any(s.status == "proven" for s in find_switches(bad))


def test_a_large_program_is_read_where_its_functions_are(tmp_path: Path) -> None:
    write_program(tmp_path / "large", 50_000_000, 7)
    with open_binary(tmp_path / "large") as binary:
        found = found_in(binary)
    assert [*found] == [f"f{i}" for i in range(7)]
    for switches in found.values():
        (switch,) = switches
        assert (switch.status, blocks(switch)) == ("proven", [[15, 17], [3, 41], [40]])
