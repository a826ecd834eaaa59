"""Data sets of the switch task: made, stored, read, shipped, and written by `permnet data`."""

import json
from itertools import chain
from pathlib import Path

import numpy as np
import pytest
import tyro
from hypothesis import given, settings
from hypothesis import strategies as st

from permnet.commands.data import data
from permnet.errors import PermnetError
from permnet.tasks.switch import generate as making
from permnet.tasks.switch.assembly import is_label, labels, renumbered
from permnet.tasks.switch.compiler import BATCH, assemble, find_compiler
from permnet.tasks.switch.ctokens import layout
from permnet.tasks.switch.dataset import (
    SHIPPED,
    Ragged,
    SwitchSplit,
    build,
    file_name,
    load,
    save,
    shipped,
    vocabulary,
    with_specials,
)
from permnet.tasks.switch.generate import generate
from permnet.tasks.switch.reading import MEANS
from permnet.vocab import EOS, SOS, Vocab

SHA256 = {
    ("switch-6", "shuffled"): "0c62d445a8081a981e614c56e410389b78e494c9459502b078e050413d164406",
    ("switch-10", "shuffled"): "6fac21ca737459866d257a78b69e371bba81675c4403d813c7208d138f7fdfae",
    ("switch-20", "shuffled"): "80d523cd3b4084074d4f6558f41b4582525fc4a3e85bee89bf0b62e01e7bebab",
    ("switch-wide", "shuffled"): "09bc21b41bae884cc3c6cbf5c963258d4a47b1b2c586bcf292d084dd6b8905f1",
    ("switch-6", "raw"): "b414d7e3cee659529a3a3c81638f54abd777c77982ec06ed7b53b3b589170aab",
}

words = st.lists(st.text("abc-123.L", min_size=1, max_size=3), max_size=6)
examples = st.lists(st.tuples(words, words), min_size=1, max_size=8)


def same_compiler() -> None:
    made_by = shipped("switch-6").compiler
    if find_compiler()[1] != made_by:
        pytest.skip(f"the shipped data were made by {made_by}")


def split_of(pairs: list[tuple[list[str], list[str]]]) -> SwitchSplit:
    return build("switch-6", "train", "raw", "gcc 0", pairs)


@given(examples)
def test_tokens_come_back(pairs: list[tuple[list[str], list[str]]]) -> None:
    assert list(split_of(pairs).pairs()) == pairs


@settings(max_examples=20)
@given(pairs=examples)
def test_storage_round_trip(
    tmp_path_factory: pytest.TempPathFactory, pairs: list[tuple[list[str], list[str]]]
) -> None:
    path = tmp_path_factory.mktemp("stored") / "split.npz"
    split = split_of(pairs)
    save(split, path)
    read = load(path)
    assert list(read.pairs()) == pairs
    assert read.sha256 == split.sha256
    assert (read.name, read.split, read.labels, read.compiler, read.tokens) == (
        ("switch-6", "train", "raw", "gcc 0", split.tokens)
    )
    assert read.inputs.flat.dtype == np.uint16


@given(examples, st.integers(0, 4))
def test_a_models_ids_are_those_of_one_example_at_a_time(
    pairs: list[tuple[list[str], list[str]]], known: int
) -> None:
    split = split_of(pairs)
    vocab = Vocab(split.tokens[:known], reserved=12)
    inputs, targets, lent = split.encoded(vocab)
    assert len(inputs) == len(targets) == len(lent) == len(pairs)
    for i, (source, target) in enumerate(pairs):
        ids, given_out = vocab.encode(source)
        assert inputs[i].tolist() == [SOS, *ids, EOS]
        ids, given_out = vocab.encode(target, given_out)
        assert targets[i].tolist() == [*ids, EOS]
        assert lent[i] == given_out
        assert vocab.decode(inputs[i][1:-1], lent[i]) == source


def test_too_few_reserved_ids_are_an_error() -> None:
    with pytest.raises(PermnetError, match="all 1 reserved ids are lent"):
        split_of([(["1", "2"], ["1"])]).encoded(Vocab(("x",), reserved=1))


def test_rare_numbers_stay_out_of_the_vocabulary_and_words_do_not() -> None:
    split = split_of([(["mov", "7", "9"], ["7", "8"]), (["mov", "7"], ["once"])])
    assert vocabulary(split, reserved=3, least=2) == Vocab(("7", "mov", "once", MEANS), 3)


def test_rows_between_the_same_ids() -> None:
    rows = Ragged.of(np.array([5, 6, 7], dtype=np.uint16), np.array([2, 0, 1]))
    assert [row.tolist() for row in rows.framed((1,), (2, 3))] == [
        [1, 5, 6, 2, 3],
        [1, 2, 3],
        [1, 7, 2, 3],
    ]


def test_damaged_files_are_named(tmp_path: Path) -> None:
    path = tmp_path / "x.npz"
    with pytest.raises(PermnetError, match="there is no"):
        load(path)
    save(split_of([(["mov", "rax"], ["v0"])]), path)
    whole = path.read_bytes()
    for broken in (b"", b"junk", whole[:-40], whole[:100], whole.replace(b"about", b"xbout")):
        path.write_bytes(broken)
        with pytest.raises(PermnetError, match="is damaged"):
            load(path)
    good = split_of([(["mov", "rax"], ["v0"])])
    for wrong in (
        SwitchSplit("a", "b", "raw", "c", ("mov",), good.inputs, good.targets),
        SwitchSplit("a", "b", "raw", "c", good.tokens, good.inputs, Ragged.of(*EMPTY)),
        SwitchSplit("a", "b", "raw", "c", good.tokens, Ragged(*SHORT), good.targets),
    ):
        save(wrong, path)
        with pytest.raises(PermnetError, match="is damaged"):
            load(path)


EMPTY = np.zeros(0, dtype=np.uint16), np.zeros(0, dtype=np.uint16)
SHORT = np.zeros(5, dtype=np.uint16), np.array([0, 2])


@pytest.mark.parametrize(("name", "labels"), SHIPPED)
def test_shipped_examples_are_frozen(name: str, labels: str) -> None:
    split = shipped(name, labels)
    assert len(split) == 1000
    assert split.sha256 == SHA256[name, labels]
    assert (split.name, split.split, split.labels) == (name, "test", labels)
    assert len({" ".join(renumbered(source)) for source, _ in split.pairs()}) == 1000
    folder = Path(making.__file__).parent / "data"
    assert sum(path.stat().st_size for path in folder.iterdir()) < 1.5 * 2**20


def test_raw_and_shuffled_examples_differ_in_label_names_only() -> None:
    raw, named = shipped("switch-6", "raw"), shipped("switch-6", "shuffled")
    changed = 0
    for (source, target), (other, same) in zip(raw.pairs(), named.pairs(), strict=True):
        assert target == same
        assert renumbered(source) == renumbered(other)
        assert min(int(label[2:]) for label in labels(source)) in (1, 2)
        changed += labels(source) != labels(other)
    assert changed == 1000


@pytest.mark.parametrize("name", ["switch-6", "switch-20"])
def test_recompiling_the_shipped_c_gives_the_shipped_assembly(name: str) -> None:
    same_compiler()
    pairs = list(shipped(name).pairs())[-BATCH:]
    made = assemble([layout(target) for _, target in pairs])
    for (source, _), lines in zip(pairs, made, strict=True):
        assert lines is not None
        assert renumbered(chain.from_iterable(lines)) == renumbered(source)


def test_generation_is_the_same_for_any_number_of_processes_and_when_resumed(
    tmp_path: Path,
) -> None:
    counts = {"test": 30, "validation": 20, "train": 45}
    steps: list[tuple[int, int]] = []
    first = generate(
        "switch-6",
        tmp_path / "a",
        jobs=1,
        counts=counts,
        batch=20,
        report=lambda done, total: steps.append((done, total)),
    )
    assert steps == [(i, 6) for i in range(7)]
    again = tmp_path / "b"
    again.joinpath("switch-6-parts").mkdir(parents=True)
    making._make_part("switch-6", again / "switch-6-parts", ("train", range(20, 40)))
    steps.clear()
    second = generate(
        "switch-6",
        again,
        jobs=2,
        counts=counts,
        batch=20,
        report=lambda done, total: steps.append((done, total)),
    )
    assert steps == [(i, 6) for i in range(1, 7)]
    assert [path.name for path in first] == [path.name for path in second]
    assert [path.read_bytes() for path in first] == [path.read_bytes() for path in second]
    assert sorted(path.name for path in again.iterdir()) == sorted(path.name for path in first)

    test, validation, train = (load(path) for path in first[:3])
    assert [len(split) for split in (test, validation, train)] == [30, 20, 45]
    keys = [
        " ".join(renumbered(s)) for split in (test, validation, train) for s, _ in split.pairs()
    ]
    assert len(set(keys)) == len(keys)
    vocab = Vocab.from_json(json.loads(first[3].read_text()))
    assert "mov" in vocab
    if find_compiler()[1] == shipped("switch-6").compiler:
        assert list(test.pairs()) == list(shipped("switch-6").pairs())[:30]
    with pytest.raises(PermnetError, match="exists: choose another folder"):
        generate("switch-6", again, counts=counts)


def test_doubles_are_left_out_across_splits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every third candidate is one of five programs, whatever the split."""
    real = making._seed
    monkeypatch.setattr(
        making, "_seed", lambda n, s, i: f"same/{i % 5}" if i % 3 == 0 else real(n, s, i)
    )
    parts = tmp_path / "parts"
    parts.mkdir()
    seen: set[bytes] = set()
    test = list(making._unique("switch-6", "test", parts, 25, seen, 20))
    train = list(making._unique("switch-6", "train", parts, 25, seen, 20))
    assert len(test) == len(train) == 25
    assert sum(number % 3 == 0 for number, _ in test) == 5
    assert all(number % 3 for number, _ in train)
    assert [number for number, _ in train] == [i for i in range(50) if i % 3][:25]


def test_parts_of_another_compiler_or_damaged_ones_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    part = ("test", range(2))
    making._make_part("switch-6", tmp_path, part)
    monkeypatch.setattr(making, "find_compiler", lambda: ("gcc", "gcc 99"))
    with pytest.raises(PermnetError, match=r"was made by .*, and this is gcc 99: remove"):
        making._read_part("switch-6", tmp_path, part)
    (path,) = tmp_path.iterdir()
    path.write_bytes(path.read_bytes()[:50])
    with pytest.raises(PermnetError, match="is damaged: remove it and start again"):
        making._read_part("switch-6", tmp_path, part)


def test_bad_requests_for_generation(tmp_path: Path) -> None:
    with pytest.raises(PermnetError, match="did you mean switch-10"):
        generate("switch-11", tmp_path)
    with pytest.raises(PermnetError, match="jobs is a number of processes"):
        generate("switch-6", tmp_path, jobs=0)
    with pytest.raises(PermnetError, match="unknown kind of labels 'none'"):
        generate("switch-6", tmp_path, labels="none")  # type: ignore[arg-type]
    assert not list(tmp_path.iterdir())


def test_the_command_writes_what_ships(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    wanted = [with_specials(pair) for pair in shipped("switch-10").pairs()]
    assert tyro.cli(data, args=["switch-10", "--limit", "2"]) == 0
    assert capsys.readouterr().out == "".join(
        f"Input: {' '.join(source)}\nOutput: {' '.join(target)}\n\n"
        for source, target in wanted[:2]
    )
    out = tmp_path / "x.jsonl"
    assert data("switch-10", format="jsonl", out=out) == 0
    rows = [json.loads(line) for line in out.read_text().splitlines()]
    assert rows == [{"input": source, "output": target} for source, target in wanted]


def test_the_command_reads_a_folder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    save(split_of([(["mov"], ["v0"])]), tmp_path / file_name("switch-6", "raw", "train"))
    args = ["switch-6", "--labels", "raw", "--split", "train", "--data", str(tmp_path)]
    assert tyro.cli(data, args=args) == 0
    assert capsys.readouterr().out == "Input: <sos> mov <eos>\nOutput: <sos> v0 <eos>\n\n"


def test_the_command_generates(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []

    def generated(*args: object, **options: object) -> list[Path]:
        asked.append(args)
        return [tmp_path / "made.npz"]

    monkeypatch.setattr(making, "generate", generated)
    args = ["switch-20", "--generate", str(tmp_path), "--labels", "raw", "--jobs", "3"]
    assert tyro.cli(data, args=args) == 0
    assert asked == [("switch-20", tmp_path, "raw", 3)]
    assert capsys.readouterr().out == f"{tmp_path / 'made.npz'}\n"


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("switch-10", {"split": "train"}, "permnet data switch-10 --generate DIR, then add --data"),
        ("switch-10", {"labels": "raw"}, "switch-10 with raw labels does not ship"),
        ("switch-10", {"limit": 1001}, "limit is 1 to 1000, .*--generate DIR makes 10,000"),
        ("switch-10", {"limit": 0}, "limit is 1 to 1000"),
        ("switch-10", {"data": Path("nowhere")}, "there is no nowhere/switch-10-shuffled-test.npz"),
        ("switch-7", {}, "did you mean switch-6"),
        ("PI20", {"labels": "raw"}, "switch-20, switch-wide, not PI20"),
        ("PI20", {"generate": Path("x")}, "--generate is for switch-6"),
        ("switch-6", {"jobs": 2}, "--jobs is for --generate DIR"),
        ("PI20", {"generate": Path("x"), "limit": 1}, "makes all splits, whole: .* --limit"),
        ("PI20", {"generate": Path("x"), "out": Path("y")}, "leave out --out"),
    ],
)
def test_bad_requests_for_the_command(name: str, options: dict[str, object], message: str) -> None:
    with pytest.raises(PermnetError, match=message):
        data(name, **options)  # type: ignore[arg-type]


def test_generation_needs_pycparser(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("permnet.commands.data.find_spec", lambda name: None)
    with pytest.raises(PermnetError, match=r"pip install 'permnet\[switch\]'"):
        data("switch-6", generate=tmp_path)


def test_every_label_name_is_used() -> None:
    split = shipped("switch-20")
    used = {int(token[2:]) for token in split.tokens if is_label(token)}
    assert used == set(range(1, 101))
