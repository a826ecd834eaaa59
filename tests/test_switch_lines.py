"""Answers and the lines of their tests; constants that registers hold on every way."""

import pytest

from benchmarks import switches as scorer
from benchmarks.realset import compiled
from benchmarks.realset_packages import Unit
from benchmarks.switch_lines import origins
from permnet.binary import open_binary
from permnet.switches.find import find_switches
from permnet.switches.graph import Graph
from tests.machine_code import function_of

# The chain of `if` has three labels in common with the switch.
PROGRAM = """int g(int);
int twice(int a, int b) {
  int r = g(b);
  switch (b) {
    case 1: r += g(1); break;
    case 5: r += g(2); break;
    case 9: r += g(3); break;
    case 12: r += g(5); break;
    default: r += g(4);
  }
  if (a == 1) return g(7);
  if (a == 5) return g(r);
  if (a == 9) return g(11) + 1;
  return r;
}
"""


@pytest.fixture(scope="module")
def twice(tmp_path_factory):
    """The record of a function at -O2 and what is found in it, the chain of `if` last."""
    folder = tmp_path_factory.mktemp("lines")
    source = folder / "twice.c"
    source.write_text(PROGRAM)
    found = compiled("mine", folder / "objects" / "mine", Unit(folder, source, ()), folder / "0")
    (record,) = [record for record in found if record["way"] == "O2"]
    with open_binary(folder / record["object"]) as binary:
        (function,) = binary.functions()
        answers = [switch.to_json() for switch in find_switches(function)]
    (switch,) = [answer for answer in answers if [12] in answer["blocks"]]
    chain, *_ = [answer for answer in answers if answer is not switch]  # gcc copies it
    return folder, record, (switch, chain)


def judged(twice, answers):
    folder, record, _ = twice
    given = {(record["object"], record["function"]): answers}
    return {one.true["line"]: one for one in scorer.judged([record], given, folder)}


def origin(twice, answers):
    folder, record, _ = twice
    places, given = {"twice": record["tests"]}, {"twice": answers}
    return origins(folder / record["object"], places, given)["twice"]


def test_an_answer_belongs_to_the_statement_of_its_tests(twice):
    switch, chain = twice[2]
    found = judged(twice, [chain, switch])
    assert found[4].answer == switch
    assert found[4].verdict == "right"
    alone = judged(twice, [chain])
    assert alone[4].answer is None, "labels 1, 5 and 9 are in common, no test is"
    assert alone[4].verdict == "unanswered"


def test_without_places_labels_decide(twice):
    folder, record, (_, chain) = twice
    plain = {name: value for name, value in record.items() if name != "tests"}
    given = {(record["object"], record["function"]): [chain]}
    found = {one.true["line"]: one for one in scorer.judged([plain], given, folder)}
    assert found[4].answer == chain
    assert found[4].verdict == "unknown"


def test_joined_blocks_are_excused_only_if_no_test_is_left_out(twice):
    _, record, (switch, chain) = twice
    (true,) = [one for one in record["switches"] if one["line"] == 4]
    at = {labels[0]: to for labels, to in zip(switch["blocks"], switch["targets"], strict=True)}
    blocks = {"blocks": [[1, 5], [9], [12]], "targets": [at[1], at[9], at[12]]}
    joined = {**switch, **blocks}
    assert origin(twice, [chain, joined]).verdict(true, joined) == "joined"
    # The dispatch begins at its second test: what the first decides is missing.
    graph = origin(twice, [chain, switch]).graph
    late = graph.block(switch["address"]).end
    scrutinee = {**switch["scrutinee"], "start": late}
    part = {**switch, "address": late, "scrutinee": scrutinee, **blocks}
    assert origin(twice, [chain, part]).verdict(true, part) == "wrong"


def test_what_is_told_apart_is_the_switchs_own_or_another_s(twice):
    _, record, (switch, chain) = twice
    (true,) = [one for one in record["switches"] if one["line"] == 4]
    finer = {**switch, "blocks": [*switch["blocks"], [77]]}
    assert origin(twice, [chain, finer]).verdict(true, finer) == "parted"
    # A label that no test names, of a block with others: gcc knew that it does not come here.
    more = {**true, "blocks": [[*true["blocks"][0], 77], *true["blocks"][1:]]}
    assert origin(twice, [chain, switch]).verdict(more, switch) == "dropped"
    assert origin(twice, [chain, finer]).verdict(more, finer) != "dropped"
    # Past its own blocks, into the chain of `if`.
    wider = {**finer, "targets": chain["targets"], "default": chain["default"]}
    assert origin(twice, [wider]).verdict(true, wider) == "wider"
    shifted = {**switch, "blocks": [[2], [4], [10], [13]]}
    assert origin(twice, [chain, shifted]).verdict(true, shifted) == "wrong"
    assert origin(twice, [switch]).verdict({**true, "line": None}, finer) == "unknown"


def graph_of(code: str) -> Graph:
    function = function_of(code)
    return Graph(function)


def known(graph: Graph, mnemonic: str = "pause") -> dict[str, int]:
    (at,) = [one.address for one in graph.code if one.mnemonic == mnemonic]
    return graph.fixed.at(at).constants


def test_constants_hold_on_every_way_or_not_at_all():
    both = "mov r12d, 5\ntest edi, edi\nje 1f\nmov r12d, {}\n1: pause\nret"
    assert known(graph_of(both.format(5)))["r12"] == 5
    assert "r12" not in known(graph_of(both.format(6)))


def test_calls_and_loops_change_constants():
    kept = known(graph_of("mov r12d, 5\nmov ecx, 6\ncall g\npause\nret"))
    assert (kept.get("r12"), kept.get("rcx")) == (5, None)
    loop = "mov r12d, 5\n1: pause\ncall g\n{}\ntest eax, eax\njne 1b\nret"
    assert known(graph_of(loop.format("nop")))["r12"] == 5
    assert "r12" not in known(graph_of(loop.format("inc r12d")))


def test_constants_behind_jumps():
    # Nothing is known of where this one leads: it may come to the last line without the constant.
    unknown = "test edi, edi\nje 1f\njmp rsi\n1: mov r12d, 5\n2: pause\njmp 2b"
    assert "r12" not in known(graph_of(unknown))
    # A handler of exceptions is reached in no way that can be seen.
    hidden = "mov r12d, 5\njmp 1f\nmov eax, 1\n1: pause\nret"
    assert "r12" not in known(graph_of(hidden))
    assert known(graph_of(hidden.replace("mov eax, 1", "nop")))["r12"] == 5
    # Code elsewhere that a condition leads to may come back to any place.
    assert known(graph_of("mov r12d, 5\ntest edi, edi\njne elsewhere\npause\nret")) == {}


TABLE = """
    movzx eax, byte ptr [rdi]
    cmp al, 3
    ja 9f
    lea rdx, [rip + .Lone]
    movsxd rax, dword ptr [rdx + rax*4]
    add rax, rdx
    jmp rax
1:  mov ebx, 1
    jmp 9f
8:  mov ebx, 2
9:  lea r12, [rip + .Ltwo]
2:  call g
    {load}
    cmp {tested}, 4
    ja 5f
    movsxd rax, dword ptr [r12 + rax*4]
    add rax, r12
    jmp rax
3:  call h
    jmp 2b
4:  call i
    jmp 2b
5:  ret
.section .rodata
.Lone: .long 1b-.Lone, 8b-.Lone, 1b-.Lone, 9b-.Lone
.Ltwo: .long 3b-.Ltwo, 4b-.Ltwo, 3b-.Ltwo, 4b-.Ltwo, 5b-.Ltwo
.text
"""


def test_a_table_set_before_a_loop_and_behind_another_table_is_known():
    code = TABLE.format(load="mov eax, eax", tested="eax")
    found = [*find_switches(graph_of(code).function, emulate=True)]
    assert [switch.status for switch in found] == ["proven", "proven"]
    assert found[1].claim.labels() == [[0, 2], [1, 3], ["default"]]


def test_an_index_wider_than_what_was_compared_is_not_left_out():
    code = TABLE.format(load="nop", tested="al") + "\n"
    found = [*find_switches(graph_of(code).function, emulate=True)]
    assert [switch.status for switch in found] == ["proven", "refused"]
    # With more labels behind the range than one block could have, it is refused, not claimed.
    more = code.replace("    ja 5f", "    ja 6f").replace(
        "5:  ret", "6:  cmp al, 77\n    je 3b\n    cmp al, 99\n    je 4b\n5:  ret"
    )
    found = [*find_switches(graph_of(more).function, emulate=True)]
    assert [switch.status for switch in found] == ["proven", "refused"]
    assert "depends on more than its value" in found[1].reason
