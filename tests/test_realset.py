"""The real set's truth and its scorer, on programs made here."""

import json
import random
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks import switch_match as match
from benchmarks import switches as scorer
from benchmarks.realset import compiled, functions, statistics
from benchmarks.realset_clang import source_switches, written_at
from benchmarks.realset_gcc import entries, lowered, written
from benchmarks.realset_packages import Package, Unit, build, units, with_sources
from benchmarks.realset_twins import compared
from permnet.errors import PermnetError

# Every shape that the two readers must see alike.
PROGRAM = """
enum kind { A, B, C = 7, D };
int g(int);
int shapes(unsigned char x, enum kind e, long l) {
  int r = 0;
  switch (x) {
    case 1: r = 2; break;
    case 3: case 4: case 5: r = 8; /* falls through */
    case 6: r += 2; break;
    case 10 ... 20: r = 99; break;
    case 'a': default: r = 10;
  }
  switch (e) {
    case A: r++; break;
    case C: switch (l) { case -4: r = 2; g(1); break; case 1000000000000L: r = 9; } break;
    case D: return 8;
  }
  return r;
}
char *empty(signed char c) {
  switch (c) {
    case -1: return "one";
    case 2: break;
    case 3: ; { } __attribute__((fallthrough));
    case 5: { int unused; g(5); } break;
    case 6: goto out;
    default: break;
  }
  g(1);
out:
  return 0;
}
int chain(int x) { if (x == 3) return 9; if (x == 7) return 2; return g(x); }
"""


@pytest.fixture(scope="module")
def records(tmp_path_factory):
    folder = tmp_path_factory.mktemp("set")
    source = folder / "shapes.c"
    source.write_text(PROGRAM)
    objects = folder / "objects" / "mine"
    found = compiled("mine", objects, Unit(folder, source, ()), folder / "0")
    assert all((folder / record["object"]).is_file() for record in found)
    return folder, found


def of(records, way, function):
    (record,) = [r for r in records if (r["way"], r["function"]) == (way, function)]
    return record


@pytest.mark.parametrize("way", ["O0", "O0-no-tables"])
def test_truth_is_what_stands_in_the_source(records, way):
    record = of(records[1], way, "shapes")
    first, second, third = record["switches"]
    middle = [3, 4, 5]
    assert json.loads(json.dumps(first["blocks"])) == [
        [1], middle, [6], [*range(10, 21)], ["default"]
    ]  # fmt: skip
    assert second["blocks"] == ((0,), (7,), (8,))
    assert third["blocks"] == ((-4,), (1000000000000,))
    assert [s["default"] for s in record["switches"]] == [True, False, False]
    assert [(s["bits"], s["signed"]) for s in record["switches"]] == [
        (8, False), (32, False), (64, True)
    ]  # fmt: skip
    assert [s["depth"] for s in record["switches"]] == [0, 0, 1]
    assert [s["line"] for s in record["switches"]] == [6, 13, 15]
    assert all(s["agree"] and s["scored"] and not s["clean"] for s in record["switches"])
    assert "cmp" in record["assembly"]
    assert record["assembly"].startswith("shapes:")


def test_empty_blocks_lead_where_their_jump_does(records):
    (switch,) = of(records[1], "O0", "empty")["switches"]
    assert switch["blocks"] == ((-1,), (2,), (3, 5), (6,), ("default",))
    assert switch["empty"] == (False, True, False, True, True)
    returns, two, both, six, default = switch["goes"]
    assert two == default == switch["exit"]
    assert len({returns, two, both, six}) == 4
    assert switch["single"]
    assert not switch["clean"]


def test_a_block_behind_a_false_condition_is_empty(tmp_path):
    source = tmp_path / "f.c"
    source.write_text(
        "int g(int); int f(int x) { switch (x) { case 1: g(1); break;"
        " case 2: if (0) { g(2); break; } default: g(3); } return x; }"
    )
    found = compiled("mine", tmp_path / "o" / "mine", Unit(tmp_path, source, ()), tmp_path / "0")
    (switch,) = of(found, "O0", "f")["switches"]
    assert switch["blocks"] == ((1,), (2,), ("default",))
    assert switch["empty"] == (False, True, False)
    assert switch["goes"][1] == switch["exit"]


def test_optimised_truth_is_a_partition(records):
    switches = of(records[1], "O2", "shapes")["switches"]
    assert [1000000000000] in [[*block] for block in switches[-1]["blocks"]]
    first = {frozenset(block) for block in switches[0]["blocks"]}
    assert frozenset({3, 4, 5}) in first
    assert switches[0]["bits"] == 8
    assert not any("clean" in switch for switch in switches)


def test_statistics_count(records):
    shown = statistics(records[1])
    assert shown["O0"]["switches"] == 4
    assert shown["O0"]["scored"] == 4
    assert shown["O0"]["single"] == 1
    assert shown["O0"]["inside_another"] == 1
    assert "clean" not in shown["O0"]


def drawn_switch(seed: int) -> tuple[str, list[tuple]]:
    """A switch as C, and its blocks."""
    draw = random.Random(seed)
    labels = draw.sample(range(-40, 80), draw.randint(2, 9))
    blocks: list[list] = []
    while labels:
        count = draw.choice((1, 1, 1, 2, 3))
        blocks.append(labels[:count])
        labels = labels[count:]
    if draw.random() < 0.6:
        blocks.insert(draw.randint(0, len(blocks)), ["default"])
    text, expected = [], list[tuple]()
    for at, block in enumerate(blocks):
        names = [name if name == "default" else f"case {name}" for name in block]
        if block == ["default"] and draw.random() < 0.3:
            names.append("case 99")  # beside the default: not to be seen
        body = draw.choice((f"v += {at + 3};", f"g({at});", f"if (v > {at}) g(v);"))
        text += [*(f"{name}:" for name in names), body, draw.choice(("break;", "return v;", ""))]
        expected.append(tuple(block) if block == ["default"] else tuple(sorted(block)))
    body = " ".join(text)
    return f"int g(int); int f(int x, int v) {{ switch (x) {{ {body} }} return g(v); }}", expected


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 2**32))
def test_libclang_and_gcc_see_what_was_drawn(tmp_path_factory, seed):
    folder = tmp_path_factory.mktemp("drawn")
    text, expected = drawn_switch(seed)
    (folder / "f.i").write_text(text)
    command = ["gcc", "-O0", "-S", "-fdump-tree-gimple-lineno=first", "f.i"]
    last = "-fdump-tree-switchlower_O0-details=last"
    subprocess.run([*command, last, "-w"], cwd=folder, check=True)
    (seen,) = source_switches(folder / "f.i")
    assert list(seen.blocks) == expected
    ((dumped,),) = written((folder / "first").read_text(), ["f"]).values()
    assert list(dumped.blocks) == expected
    if len({label for block in expected for label in block} - {"default"}) > 1:
        found = lowered((folder / "last").read_text()).get("f", [])
        groups = {frozenset(block) for block in expected if block != ("default",)}
        # A run of neighbours on one block is an `if` before this dump is written.
        assert not found or {frozenset(v) for v in found[0].targets.values()} == groups


def test_scattered_labels_are_told(tmp_path):
    (tmp_path / "f.i").write_text(
        "int f(int x, int v) { switch (x) { case 1: if (v) { case 2: v++; } } return v; }"
    )
    (seen,) = source_switches(tmp_path / "f.i")
    assert seen.scattered


def test_labels_are_converted_to_the_type_switched_on(tmp_path):
    (tmp_path / "f.i").write_text(
        "int f(unsigned x, long l) { switch (x) { case -1: return 1; case 5: return 2; }"
        " switch (l) { case -1: return 3; case (char)200: return 4; } return 0; }"
    )
    first, second = source_switches(tmp_path / "f.i")
    assert first.blocks == ((2**32 - 1,), (5,))
    assert second.blocks == ((-1,), (-56,))


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ("case 1: return 1; case 2: return 2; default: return 3;", False),
        ("case 1: return 1; case 2: return 2;", False),
        ("case 1: return 1; case 2: break;", False),
        ("case 1: return 1; case 2: x++; default: x--; break;", False),
        ("case 1: return 1; case 2: { x++; break; } default: x--;", False),
        ("case 1: while (x) { break; } case 2: return 2;", False),
        ("case 1: x++; break; case 2: return 2;", True),
        ("case 1: x++; break; case 2: return 2; default: x--;", True),
        ("case 1: return 2; case 2: if (x) break; x++; default: x--;", True),
        ("default: return 3; case 1: return 1; case 2: return 2;", True),
    ],
)
def test_whether_a_default_is_in_sight(tmp_path, body, told):
    (tmp_path / "f.i").write_text(f"int f(int x) {{ switch (x) {{ {body} }} return x; }}")
    (seen,) = source_switches(tmp_path / "f.i")
    assert seen.told == told


def test_code_is_the_same_where_no_default_is_in_sight(tmp_path):
    both = (
        "case 1: return 1; case 2: x *= 3; default: x--; } return x",
        "case 1: return 1; case 2: x *= 3; } x--; return x",
    )
    listings = []
    for text in both:
        (tmp_path / "f.i").write_text(f"int f(int x) {{ switch (x) {{ {text}; }}")
        assert not source_switches(tmp_path / "f.i")[0].told
        subprocess.run(["gcc", "-O0", "-S", "f.i"], cwd=tmp_path, check=True)
        listings.append((tmp_path / "f.s").read_text())
    assert listings[0] == listings[1]


def test_a_list_of_gcc_is_read_whole_or_not_at_all():
    listed = "default: dflt [INV], [a b.c:3:1] case 'x'"
    with pytest.raises(ValueError, match="not understood"):
        entries(listed)
    read = entries("[a b.c:9:1] default: <D.1>, [a b.c:3:1] case -4: <D.2>, case 5: <D.1>")
    assert (read.targets, read.default, read.explicit) == ({"D.2": (-4,)}, "D.1", True)


def test_lines_are_those_of_the_source():
    assert written_at('# 7 "a.c"\nint x;\nint y;') == [("", 1), ("a.c", 7), ("a.c", 8)]


def test_functions_of_assembly():
    text = "\t.type\tf.part.0, @function\nf.part.0:\n\tret\n\t.size\tf.part.0, .-f.part.0\n"
    assert functions(text) == {"f.part.0": "f.part.0:\n\tret\n"}


# Packages


def test_sources_are_asked_for_in_both_formats():
    one = with_sources("# deb none\ndeb [arch=amd64] http://host/debian stable main\n")
    assert one.splitlines()[1:] == [
        "deb [arch=amd64] http://host/debian stable main",
        "deb-src [arch=amd64] http://host/debian stable main",
    ]
    assert with_sources("Types: deb\nURIs: x\n") == "Types: deb deb-src\nURIs: x\n"
    assert with_sources("Types: deb deb-src\n") == "Types: deb deb-src\n"


def test_a_build_is_watched(tmp_path):
    source = tmp_path / "source"
    source.mkdir()
    (source / "a b.c").write_text("int x = N;\n")
    (source / "main.c").write_text("int main(void) { return 0; }\n")
    (source / "Makefile").write_text(
        "all:\n\tgcc -O2 -g -Wall -DN='1' -DTEXT='\"a b\"' -MD -MF dep -c -o ab.o 'a b.c'\n"
        "\tcc -O3 -I . -fno-strict-aliasing main.c -o main\n\tcc -O1 -DN=2 -c 'a b.c'\n"
    )
    found = build(Package("mine", ("make",)), source, tmp_path / "scratch")
    assert [(unit.source.name, unit.flags) for unit in found] == [
        ("a b.c", ("-DN=1", '-DTEXT="a b"')),
        ("main.c", ("-I", ".", "-fno-strict-aliasing")),
    ]
    with pytest.raises(PermnetError, match="needs no-such-tool"):
        build(Package("mine", ("no-such-tool",)), source, tmp_path / "scratch")


@given(st.lists(st.lists(st.text("ab -=\"'\n", max_size=5), max_size=4), max_size=4))
def test_recorded_calls_are_split_as_they_were_joined(calls):
    fields = [field for call in calls for field in (str(len(call)), "/", *call)]
    assert [*units("".join(f"{field}\0" for field in fields).encode())] == []


# Scoring


def true(blocks, empty=(), exit="end", bits=32, default=None):
    """A true switch whose blocks all go to places of their own but for those that are `empty`."""
    empty = dict(empty)
    return {
        "line": 1,
        "bits": bits,
        "blocks": blocks,
        "empty": [i in empty for i in range(len(blocks))],
        "goes": [empty.get(i, exit if b == ["default"] else str(i)) for i, b in enumerate(blocks)],
        "exit": exit,
        **dict.fromkeys(("scored", "single", "clean", "told"), True),
    }


def answer(*blocks, status="proven"):
    return {"address": 1, "blocks": [*blocks], "status": status}


def test_order_and_default():
    switch = true([[5, 3], [1], ["default"], [9]])
    exact = answer([3, 5], [1], ["default"], [9])
    assert match.in_order(switch, exact)
    assert match.with_default(switch, exact)
    for other in (answer([3, 5], [1], [9], ["default"]), answer([3, 5], [1], [9])):
        assert match.in_order(switch, other)
        assert not match.with_default(switch, other)
        assert match.in_order_but_for_empty(switch, other)
    moved = answer([1], [3, 5], [9])
    assert not match.in_order(switch, moved)
    assert match.same_partition(switch, moved)
    assert not match.in_order_but_for_empty(switch, moved)


def test_partition_needs_every_label_in_its_place():
    switch = true([[5, 3], [1], [9]])
    for wrong in (
        answer([3], [5], [1], [9]), answer([3, 5, 1], [9]), answer([3, 5], [1]),
        answer([3, 5], [1], [9], [4]), answer([3, 5], [1], [9], [9]), answer([3, 5], [1, 9]),
    ):  # fmt: skip
        assert not match.same_partition(switch, wrong), wrong


def test_empty_blocks_may_be_told_apart_or_not():
    # 2 and 4 leave the switch as a value without a label does, 6 jumps elsewhere.
    switch = true([[1], [2], [4], [6], [8]], {1: "end", 2: "end", 3: "out"})
    for right in (
        answer([1], [2], [4], [6], [8]), answer([1], [6], [8]), answer([1], [8], [2, 4], [6]),
        answer([1], [8], [6], [4]),
    ):  # fmt: skip
        assert match.same_partition(switch, right), right
        assert match.in_order_but_for_empty(switch, right), right
    for wrong in (
        answer([1], [2], [4], [8]), answer([1], [2, 6], [8]), answer([2], [4], [6], [8]),
        answer([1, 2], [4], [6], [8]),
    ):  # fmt: skip
        assert not match.same_partition(switch, wrong), wrong


def test_how_a_partition_differs():
    switch = true([[3, 5], [1], [9]])
    assert match.difference(switch, answer([3], [5], [1], [9])) == "finer"
    assert match.difference(switch, answer([3, 5], [1], [9], [7])) == "finer"
    assert match.difference(switch, answer([3, 5, 1], [9])) == "coarser"
    assert match.difference(switch, answer([3, 5], [1])) == "coarser"
    assert match.difference(switch, answer([3], [5, 1], [9])) == "other"


def test_labels_count_modulo_the_width():
    switch = true([[-56], [3]], bits=8)
    assert match.in_order(switch, answer([200], [3]))
    assert not match.in_order(switch, answer([200 + 256], [3]))
    wide = true([[2**32 - 1], [3]])
    assert match.in_order(wide, answer([-1], [3]))


partitions = st.lists(st.integers(-99, 99), min_size=2, max_size=9, unique=True).flatmap(
    lambda labels: st.lists(
        st.integers(0, len(labels) - 1), min_size=len(labels), max_size=len(labels)
    ).map(
        lambda homes: [
            [label for label, home in zip(labels, homes, strict=True) if home == block]
            for block in sorted({*homes})
        ]
    )
)


@given(partitions, st.randoms(use_true_random=False))
def test_only_the_true_partition_is_right(blocks, draw):
    switch = true(blocks)
    assert match.same_partition(switch, answer(*draw.sample(blocks, len(blocks))))
    altered = [list(block) for block in blocks]
    source = draw.randrange(len(altered))
    label = altered[source].pop()
    kind = draw.choice(("drop", "move", "change"))
    if kind == "move":
        others = [i for i in range(len(altered)) if i != source]
        # On its own it is a new block, unless it was one already.
        target = draw.choice(others) if others else None
        if target is None:
            altered.append([label])
        else:
            altered[target].append(label)
    elif kind == "change":
        altered[source].append(label + 1000)
    changed = [block for block in altered if block]
    same = {frozenset(block) for block in changed} == {frozenset(block) for block in blocks}
    assert match.same_partition(switch, answer(*changed)) == same


def test_pairs_by_labels_then_by_order():
    def paired(left, right, bits=32):
        return match.pair(
            [{"blocks": [labels], "bits": bits} for labels in left],
            [{"blocks": [labels]} for labels in right],
        )

    assert paired([{1, 2}, {5, 6}], [{5, 6, 7}, {1, 2}]) == [1, 0]
    assert paired([{1, 2}, {1, 2}], [{1, 2}, {1, 2}]) == [0, 1]
    assert paired([{1, 2}, {1, 2, 3}], [{1, 2, 3}]) == [None, 0]
    assert paired([{1, 2}], [{3}]) == [None]
    assert paired([{-56}], [{200}], bits=8) == [0]
    assert paired([{-56}], [{200}], bits=32) == [None]
    assert paired([], [{3}]) == []


def test_unoptimised_code_is_paired_in_its_order():
    def paired(left, right):
        return match.aligned(
            [{"blocks": [labels], "bits": 32} for labels in left],
            [{"blocks": [labels]} for labels in right],
        )

    twins = [{1, 2}] * 3
    assert paired(twins, [{9}, *twins]) == [1, 2, 3]
    # An answer to another statement between them does not move the others.
    assert paired([{1, 2}, {3}, {1, 2}], [{1, 2}, {8}, {3}, {7}, {1, 2}]) == [0, 2, 4]
    assert paired([{1, 2}, {1, 2, 3}], [{1, 2, 3}]) == [None, 0]
    assert paired([{1}, {2}], [{2}, {1}]) in ([1, None], [None, 0])
    assert paired([], [{3}]) == []
    # An `if` before the switch or behind it asks for the same labels.
    true, chain = {"blocks": [[1], [2, 3]], "bits": 32}, {"blocks": [[1, 2, 3]]}
    assert match.aligned([true], [chain, true]) == [1]
    assert match.aligned([true], [true, chain]) == [0]


@settings(deadline=None)
@given(st.lists(st.frozensets(st.integers(0, 4), min_size=1), max_size=6), st.data())
def test_answers_in_order_are_found_among_others(true, data):
    """Whatever else was answered between them, as long as it shares no label."""
    kept = [labels for labels in true if data.draw(st.booleans())]
    answered = []
    for labels in kept:
        answered += [frozenset({9})] * data.draw(st.integers(0, 2)) + [labels]
    found = match.aligned(
        [{"blocks": [[*labels]], "bits": 32} for labels in true],
        [{"blocks": [[*labels]]} for labels in answered],
    )
    chosen = [j for j in found if j is not None]
    assert chosen == sorted(set(chosen))
    share = sum(
        len(one & answered[j]) / len(one | answered[j])
        for one, j in zip(true, found, strict=True)
        if j is not None
    )
    assert share >= len(kept) - 1e-9


def test_scorer_finds_what_is_wrong_and_proven(records, tmp_path):
    folder, found = records
    (folder / "switches.jsonl").write_text("".join(json.dumps(r) + "\n" for r in found))
    truth = [
        {
            "file": str(folder / record["object"]),
            "name": record["function"],
            "switches": [
                {"address": i, "blocks": switch["blocks"], "status": "proven"}
                for i, switch in enumerate(record["switches"])
            ],
        }
        for record in found
    ]
    altered = json.loads(json.dumps(truth))
    spoilt = altered[0]["switches"][0]["blocks"]
    spoilt[0], spoilt[1] = spoilt[0] + spoilt[1], []
    altered[0]["switches"][0]["blocks"] = [block for block in spoilt if block]
    paths = {}
    for name, answers in (("mine", truth), ("spoilt", altered)):
        paths[name] = tmp_path / f"{name}.json"
        paths[name].write_text(json.dumps({"functions": answers}))
    out = tmp_path / "out.json"
    run = subprocess.run(
        [sys.executable, "-m", "benchmarks.switches", str(folder), "--proposers", "ascending",
         "angr", "--out", str(out), "--answers", *(f"{n}={p}" for n, p in paths.items())],
        cwd=Path(scorer.__file__).parent.parent, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert "angr is left out" in run.stderr
    shown = json.loads(out.read_text())
    whole = shown["scores"]["mine"]["O0"]["scored"]
    assert whole == dict.fromkeys(whole, 4)
    optimised = shown["scores"]["mine"]["O2"]["scored"]
    assert optimised["switches"] > 3
    assert optimised == dict.fromkeys(optimised, optimised["switches"])
    assert shown["wrong_but_proven"]["mine"] == []
    (wrong,) = shown["wrong_but_proven"]["spoilt"]
    assert wrong["where"].startswith("objects/mine/O0/")
    assert shown["scores"]["spoilt"]["O0"]["scored"]["proven_and_right"] == 3
    ordered = shown["scores"]["ascending"]["O0"]["scored"]
    assert ordered["partition"] == 4
    assert ordered["in_order"] == 4


def test_ascending_order_is_no_more_than_that():
    record = {"object": "o", "function": "f", "way": "O0", "switches": [true([[5], [1, 9]])]}
    found = [*scorer.judged([record], scorer.ascending([record]), Path())]
    counts = scorer.scores(found)["O0"]["clean"]
    assert counts["partition"] == 1
    assert counts["in_order"] == counts["with_default"] == counts["proven"] == 0


def test_a_sample_is_of_every_way_and_the_same_each_time(records):
    found = records[1]
    one = scorer.sampled(found, 1)
    assert [record["way"] for record in one] == ["O0", "O0-no-tables", "O2"]
    assert one == scorer.sampled(found, 1)
    assert len(scorer.sampled(found, 100)) <= len(found)


def test_scorer_says_what_is_missing(tmp_path):
    with pytest.raises(PermnetError, match=r"benchmarks\.realset"):
        scorer.read(tmp_path)


TWINS = """
int g(int);
int returns(int x) {
  switch (x) { case 1: return g(1); case 5: return g(2); default: return g(3); }
}
int goes_on(int x) {
  switch (x) { case 1: g(1); break; case 5: g(2); break; default: g(3); }
  return 4;
}
int breaks(int x) {
  switch (x) { case 1: g(1); break; case 5: g(2); break; default: g(3); break; }
  return 4;
}
int behind(int x) {
  switch (x) { case 1: return g(1); case 5: return g(2); }
  return 7;
}
void end(int x) {
  switch (x) { case 1: g(1); break; case 5: g(2); break; }
}
int middle(int x) {
  switch (x) { case 1: return g(1); default: return g(3); case 5: return g(2); }
}
"""


def test_a_default_put_behind_the_switch_may_be_the_same_code(tmp_path):
    unit = tmp_path / "packages" / "p" / "units" / "0" / "unit.i"
    unit.parent.mkdir(parents=True)
    unit.write_text(TWINS)
    found = {}
    for function in ("returns", "goes_on", "breaks", "behind", "end", "middle"):
        switch = next(one for one in source_switches(unit) if one.function == function)
        has = any("default" in block for block in switch.blocks)
        record = {
            "package": "p", "object": "objects/p/O0/0-unit.o", "function": function,
            "flags": ["-O0"], "switches": [{"line": switch.line, "clean": True, "default": has}],
        }  # fmt: skip
        (found[function],) = compared(tmp_path, record).values()
    expected = {
        "returns": "same",
        "behind": "same",
        "middle": "none to be made",
        "end": "none to be made",
    }
    assert found == {**expected, "goes_on": "different", "breaks": "refused"}


def test_proven_answers_that_are_no_switch_are_counted(tmp_path):
    true = {"line": 3, "bits": 32, "blocks": [[1], [5], [9]]}
    path = "objects/p/O0/a.o"
    records = [{"object": path, "function": "f", "way": "O0", "switches": [true]}]
    switch = {"status": "proven", "blocks": [[1, 2], [5], [9], ["default"]]}
    chain = {"status": "proven", "blocks": [[70], [80]]}
    answers = {
        (path, "f"): [switch, {**chain, "status": "unproven"}],
        (path, "g"): [chain, {**chain, "blocks": [[n] for n in range(0, 90, 9)]}],
    }
    counted = scorer.precision(records, answers, tmp_path)
    assert counted == {"O0": {"3": [1, 1], "2": [1, 0], "6 or more": [1, 0]}}
