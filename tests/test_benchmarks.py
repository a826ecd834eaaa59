"""The frozen splits: their bytes, their names, what they share with training, and scoring."""

import json
import os
from pathlib import Path

import numpy as np
import pytest

from permnet.errors import PermnetError
from permnet.scoring import score
from permnet.tasks.benchmarks import (
    BENCHMARKS,
    SPLIT_SIZE,
    SPLITS,
    Benchmark,
    benchmark,
    seen_in_training,
)
from permnet.tasks.permutation import to_tokens

CHECKSUMS = json.loads(Path(__file__).with_name("checksums.json").read_text())


def test_checksums_cover_every_split() -> None:
    assert list(CHECKSUMS) == [f"{bench}/{split}" for bench in BENCHMARKS for split in SPLITS]
    assert len(set(CHECKSUMS.values())) == len(CHECKSUMS)


@pytest.mark.parametrize("bench", BENCHMARKS, ids=str)
def test_bytes_are_frozen(bench: Benchmark) -> None:
    for name in SPLITS:
        split = bench.split(name)
        assert split.sha256 == CHECKSUMS[f"{bench}/{name}"]
        assert len(split.examples) == SPLIT_SIZE
        assert split.examples.inputs.shape == (SPLIT_SIZE, bench.task.input_width)


def test_names() -> None:
    assert benchmark("PI20") is benchmark("pi20@1") is benchmark("PI20@1")
    assert " ".join(bench.name for bench in BENCHMARKS) == (
        "PD1-4 PD1-10 PD10 PD20 PD40 PD100 PI1-4 PI1-10 PI10 PI20 PI40 PI100 PI_DICT "
        "PD10-noise PI10-noise"
    )


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("PI21", "unknown benchmark 'PI21': did you mean PI20"),
        ("", "unknown benchmark ''"),
        ("PI20@2", r"unknown version of PI20 '2' \(known: 1\)"),
        ("PI20@", "unknown version of PI20 ''"),
        ("PI20@1@1", "unknown version of PI20 '1@1'"),
    ],
)
def test_unknown_names(name: str, message: str) -> None:
    with pytest.raises(PermnetError, match=message):
        benchmark(name)


def test_unknown_split_and_limits() -> None:
    bench = benchmark("PD10")
    with pytest.raises(PermnetError, match="unknown split 'dev'"):
        bench.split("dev")
    for limit in (-1, 0, SPLIT_SIZE + 1):
        with pytest.raises(PermnetError, match=f"limit is 1 to 100000.*not {limit}"):
            bench.split("test", limit)


def test_limit_takes_the_first_rows_of_the_same_split() -> None:
    few, all_ = benchmark("PD10").split("test", 7), benchmark("PD10").split("test")
    assert np.array_equal(few.examples.inputs, all_.examples.inputs[:7])
    assert few.sha256 == all_.sha256
    with pytest.raises(ValueError, match="read-only"):
        few.examples.inputs[0, 0] = 5


@pytest.mark.parametrize("name", ["PD1-10", "PI1-10", "PI10"])
def test_seen_in_training_is_membership(name: str) -> None:
    bench = benchmark(name)
    train = {row.tobytes() for row in bench.split("train").examples.inputs}
    split = bench.split("test", 20_000)
    expected = [row.tobytes() in train for row in split.examples.inputs]
    assert seen_in_training(split).tolist() == expected
    assert any(expected) == ("1-10" in name)
    assert seen_in_training(bench.split("train", 10)).all()


def answers(name: str, limit: int) -> list[list[str]]:
    split = benchmark(name).split("test", limit)
    return [answer for _, answer in to_tokens(split.vocab, split.examples)]


def test_perfect_and_flawed_scores(tmp_path: Path) -> None:
    outputs = answers("PI1-10", 50)
    figures = score("PI1-10", outputs, limit=50)
    assert (figures["ta"], figures["wea"], figures["count"]) == (1, 1, 50)
    assert (figures["benchmark"], figures["split"]) == ("PI1-10@1", "test")
    assert figures["data_sha256"] == CHECKSUMS["PI1-10@1/test"]
    seen = int(seen_in_training(benchmark("PI1-10").split("test", 50)).sum())
    assert figures["unseen"]["count"] == 50 - seen

    lengths = [len(output) - 2 for output in outputs]
    outputs[0] = outputs[0][1:]  # no <sos>: still right
    outputs[1] = outputs[1][:-1]  # does not stop
    outputs[2] = ["<sos>", "not-in-the-vocabulary", *outputs[2][2:]]
    outputs[3] = []
    outputs[4] = [*outputs[4], "a"]  # after <eos>: ignored
    outputs[5] = ["<sos>", *outputs[5]]  # a second <sos> shifts everything
    path = tmp_path / "predictions.jsonl"
    path.write_text("".join(json.dumps({"output": output}) + "\n" for output in outputs))
    figures = score("PI1-10", path, limit=50)
    assert figures["wea"] == 46 / 50
    lost = 1 / (lengths[1] + 1) + 1 / (lengths[2] + 1) + 1 + 1
    assert figures["ta"] == pytest.approx(1 - lost / 50)
    assert score("PI1-10", str(path), limit=50) == score("PI1-10", outputs, limit=50) == figures


@pytest.mark.parametrize("count", [0, 2, 4])
def test_missing_and_surplus_rows(count: int) -> None:
    with pytest.raises(PermnetError, match=f"{count} predictions for 3 examples"):
        score("PD10", answers("PD10", 4)[:count], limit=3)


@pytest.mark.parametrize("row", ["a b <eos>", ["a", 1], None, {"output": []}])
def test_outputs_are_lists_of_tokens(row: object) -> None:
    with pytest.raises(PermnetError, match="prediction 2: an output is a list of token strings"):
        score("PD10", [["a"], row], limit=2)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (b"{", "line 2: not JSON"),
        (b"", "line 2: not JSON"),
        (b'\xff\xfe"', "line 2: not JSON"),
        (b"[" * 100_000, "line 2: not JSON"),
        (b"9" * 5000, "line 2: not JSON"),
        (b'["a"]', r'line 2: a row is {"output": \[tokens\]}'),
        (b'{"input": ["a"]}', "line 2: a row is"),
        (b'{"output": "a b"}', "prediction 2: an output is a list"),
        (b'{"output": ["a", {}]}', "prediction 2: an output is a list"),
    ],
)
def test_bad_prediction_files(tmp_path: Path, line: bytes, message: str) -> None:
    path = tmp_path / "predictions.jsonl"
    path.write_bytes(b'{"output": ["a"]}\n' + line + b"\n")
    with pytest.raises(PermnetError, match=message):
        score("PD10", path, limit=2)


def test_unreadable_prediction_files(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")  # opening it would wait for a writer, for ever
    for path in (tmp_path / "none.jsonl", tmp_path, tmp_path / "pipe"):
        with pytest.raises(PermnetError, match=f"cannot read {path}"):
            score("PD10", path, limit=2)
