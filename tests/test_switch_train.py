"""Switch sets in training and scoring: buckets, renaming, resuming, growing, errors."""

import itertools
import json
import math
import random
import signal
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from permnet.batch import Batch, buckets, epoch, renamed
from permnet.checkpoint import load, weights_sha256
from permnet.cli import main
from permnet.config import ModelConfig, Run, TrainConfig
from permnet.errors import PermnetError
from permnet.evaluate import evaluate
from permnet.experiments.switch import PRESETS
from permnet.material import Switches
from permnet.report.results import put_figures
from permnet.scoring import score
from permnet.step import TrainStep
from permnet.sweep import sweep
from permnet.tasks.switch.assembly import is_label, renumbered
from permnet.tasks.switch.benchmark import cases, scored_on, switch_benchmark
from permnet.tasks.switch.compiler import find_compiler
from permnet.tasks.switch.dataset import Ragged, build, file_name, save, shipped
from permnet.tasks.switch.skeleton import skeleton
from permnet.train import train
from permnet.vocab import PAD, SPECIALS
from tests.switch_data import COUNT, make
from tests.test_resume import start
from tests.test_train import lines, together, without_seconds

SMALL = TrainConfig(
    examples=COUNT, batch=4, epochs=2, rate=0.01, evaluate_every=1, evaluate_limit=8, reserved=32
)


def small(name: str = "switch-6", model: Any = "decompiler", **changes: Any) -> Run:
    return Run(name, ModelConfig(model, embedding=8, hidden=4), replace(SMALL, **changes))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = make(tmp_path_factory.mktemp("switch"))
    return make(path, labels="raw")


def do(run: Run, out: Path, data: Path, **options: Any) -> dict[str, Any]:
    return train(
        run, out, data=data, **{"test_limit": 4, "progress": False, "device": "cpu", **options}
    )


# ---- buckets ------------------------------------------------------------------------------------

rows = st.lists(st.tuples(st.integers(1, 40), st.integers(1, 20)), min_size=1, max_size=60)


@given(rows, st.integers(1, 9), st.randoms())
def test_every_example_is_in_one_bucket_that_holds_it(
    shapes: list[tuple[int, int]], least: int, draw: random.Random
) -> None:
    sides = [
        Ragged.of(np.arange(1, 1 + sum(lengths), dtype=np.uint16), np.array(lengths))
        for lengths in zip(*shapes, strict=True)
    ]
    chosen = np.array([draw.random() < 0.8 for _ in shapes])
    if not chosen.any():
        return
    found = buckets(*sides, chosen, least)
    assert sorted(itertools.chain(*(b.rows.tolist() for b in found))) == [*np.flatnonzero(chosen)]
    assert len(found) <= 8
    assert all(len(b) >= min(least, chosen.sum()) for b in found)
    for bucket in found:
        for side, ids in zip(sides, (bucket.data.inputs, bucket.data.targets), strict=True):
            assert ids.shape[1] == max(side.lengths[bucket.rows])
            for row, number in zip(ids.tolist(), bucket.rows, strict=True):
                expected = side[number].tolist()
                assert row == expected + [PAD] * (len(row) - len(expected))


def test_an_epoch_meets_every_example_once_but_for_the_ragged_ends() -> None:
    data = [Batch(torch.zeros(n, 1), torch.zeros(n, 1)) for n in (7, 4, 13)]
    orders = [epoch(data, 3, torch.Generator().manual_seed(seed)) for seed in (0, 0, 1)]
    told = [[(number, index.tolist()) for number, index in order] for order in orders]
    assert told[0] == told[1] != told[2]
    for number, count in enumerate((6, 3, 12)):
        met = [i for n, index in told[0] if n == number for i in index]
        assert len(met) == len(set(met)) == count
    assert [n for n, _ in told[0]] != sorted(n for n, _ in told[0])  # they are interleaved


def test_renaming_changes_names_within_their_groups_and_nothing_else(folder: Path) -> None:
    material = Switches(small(), switch_benchmark("switch-6", folder), torch.device("cpu"))
    bucket = material.stage(6).training[0].data
    batch = bucket.rows(torch.arange(4))
    seen = [material.vary(batch, torch.Generator().manual_seed(seed)) for seed in (0, 0, 1)]
    assert torch.equal(seen[0].inputs, seen[1].inputs)
    assert not torch.equal(seen[0].inputs, seen[2].inputs)
    vocab = material.vocab
    for before, after in zip(batch.inputs.tolist(), seen[0].inputs.tolist(), strict=True):
        names = [[vocab.name(i) for i in row if i != PAD] for row in (before, after)]
        assert renumbered(_unlent(names[0])) == renumbered(_unlent(names[1]))
        assert any(a != b for a, b in zip(*names, strict=True) if is_label(a))
    raw = Switches(small(), switch_benchmark("switch-6-raw", folder), torch.device("cpu"))
    batch = raw.stage(6).training[0].data.rows(torch.arange(4))
    varied = raw.vary(batch, torch.Generator().manual_seed(0))
    first, last = len(SPECIALS), raw.vocab.first_token
    lent = (batch.inputs >= first) & (batch.inputs < last)
    assert torch.equal(varied.inputs[~lent], batch.inputs[~lent])


def _unlent(names: list[str]) -> list[str]:
    """Lent ids in order of appearance, so that only which is which counts."""
    order = dict.fromkeys(name for name in names if name.startswith("<unk"))
    new = {name: f"<unk{i}>" for i, name in enumerate(order)}
    return [new.get(name, name) for name in names]


def test_a_renaming_is_uniform() -> None:
    batch = Batch(torch.tensor([[5, 6]] * 6000), torch.tensor([[5]] * 6000))
    ids = torch.tensor([4, 5, 6])
    found = renamed(batch, [ids], 8, torch.Generator().manual_seed(0))
    counts = torch.zeros(8, 8)
    counts.index_put_((found.inputs[:, 0], found.inputs[:, 1]), torch.ones(6000), accumulate=True)
    expected = torch.zeros(8, 8)
    expected[4:7, 4:7] = 1000 * (1 - torch.eye(3))
    assert (counts - expected).abs().max() < 5 * math.sqrt(1000)
    assert torch.equal(found.inputs[:, :1], found.targets)


# ---- whole trainings ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "model"), [("switch-6", "decompiler"), ("switch-6-raw", "copy-decompiler")]
)
def test_both_models_train_on_both_settings(
    name: str, model: str, folder: Path, tmp_path: Path
) -> None:
    result = do(small(name, model, epochs=1), tmp_path / "run", folder)
    assert result["status"] == "finished"
    assert result["test"]["benchmark"] == name
    assert result["test"]["count"] == 4
    assert {"ta", "wea", "skeleton"} <= result["test"].keys()
    assert result["tests"] == {}
    (line,) = lines(tmp_path / "run")
    assert {"ta", "wea", "skeleton", "validation_loss"} <= line.keys()
    saved = load(tmp_path / "run" / "last")
    figures = evaluate(saved.model, name, "test", 4, vocab=saved.vocab, data=folder)
    assert figures["ta"] == pytest.approx(result["test"]["ta"])


def test_a_larger_set_is_scored_on_the_smaller_ones_too(tmp_path: Path) -> None:
    assert scored_on("switch-20") == ["switch-6", "switch-10", "switch-20"]
    assert scored_on("switch-10-raw") == ["switch-6-raw", "switch-10-raw"]
    data = make(tmp_path / "data", "switch-10")
    result = do(small("switch-10", epochs=1), tmp_path / "run", data, test_limit=2)
    assert result["test"]["benchmark"] == "switch-10"
    assert list(result["tests"]) == ["switch-6"]
    assert result["tests"]["switch-6"]["count"] == 2


CHILD = """
import sys
from pathlib import Path
import permnet.fit
from tests.test_switch_train import do, small
permnet.fit.CHECK_STEPS, permnet.fit.SAVE_SECONDS = 1, 0.0  # save after every step
print("ready", flush=True)
out = Path(sys.argv[1])
do(small(), out, Path(sys.argv[1]).parent / "data", resume=out.exists())
"""


def test_killed_at_random_moments_it_ends_as_if_nothing_had_happened(tmp_path: Path) -> None:
    data = make(tmp_path / "data")
    torch.set_num_threads(1)
    do(small(), tmp_path / "whole", data)
    chance, kills = random.Random(1), 0
    while not (tmp_path / "killed" / "result.json").exists():
        child = start(tmp_path / "killed", CHILD)
        assert child.stdout is not None
        assert child.stdout.readline() == "ready\n"
        if kills < 2:
            time.sleep(chance.uniform(0.5, 2.0))
            child.send_signal(signal.SIGKILL)
            kills += child.wait() == -signal.SIGKILL
        _, errors = child.communicate()
        assert child.returncode in (0, -signal.SIGKILL), errors
    assert kills > 0
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    assert without_seconds(whole) == without_seconds(killed)
    weights = [(run / "last" / "model.safetensors").read_bytes() for run in (whole, killed)]
    assert weights[0] == weights[1]


def test_it_grows_by_the_number_of_labels(folder: Path, tmp_path: Path) -> None:
    material = Switches(small(batch=1), switch_benchmark("switch-6", folder), torch.device("cpu"))
    found = material.training_rows[2]
    for length in (2, 3, 6):
        stage = material.stage(length)
        assert sum(map(len, stage.training)) == (found <= length).sum()
    run = small(batch=1, grow=(2,), grow_epochs=1, epochs=1, examples=8, evaluate_limit=4)
    result = do(run, tmp_path / "run", folder)
    assert [line["stage"] for line in lines(tmp_path / "run")] == [2, 6]
    assert result["track"] == "fixed"


def test_it_learns_programs_by_heart_whatever_their_labels_are_called(tmp_path: Path) -> None:
    whole = shipped("switch-6")
    pairs = sorted(whole.pairs(), key=lambda pair: len(pair[0]))[:2]
    for split, times in (("train", 300), ("validation", 1), ("test", 1)):  # 300: no number is rare
        part = build("switch-6", split, "shuffled", whole.compiler, pairs * times)
        save(part, tmp_path / file_name("switch-6", "shuffled", split))
    run = Run(
        "switch-6",
        ModelConfig("decompiler", embedding=32, hidden=32),
        replace(SMALL, examples=400, epochs=1, rate=0.006, evaluate_limit=2),
    )
    result = do(run, tmp_path / "run", tmp_path, test_limit=2)
    assert (result["test"]["wea"], result["test"]["skeleton"]) == (1.0, 1.0)


TWO = """
import sys
from pathlib import Path
from tests.test_switch_train import do, small
do(small(epochs=1), Path(sys.argv[1]) / "two", Path(sys.argv[1]) / "data", devices=2)
"""


def test_two_processes_do_what_one_does(tmp_path: Path) -> None:
    data = make(tmp_path / "data")
    together(TWO, tmp_path)
    one = do(small(epochs=1), tmp_path / "one", data)
    two = json.loads((tmp_path / "two" / "result.json").read_text())
    for a, b in zip(lines(tmp_path / "one"), lines(tmp_path / "two"), strict=True):
        assert a["step"] == b["step"]
        assert a["loss"] == pytest.approx(b["loss"], abs=1e-6)
        assert a["validation_loss"] == pytest.approx(b["validation_loss"], abs=1e-5)
        assert a["ta"] == pytest.approx(b["ta"], abs=0.02)
    assert two["test"]["ta"] == pytest.approx(one["test"]["ta"], abs=0.02)


@pytest.mark.gpu
@pytest.mark.parametrize("model", ["decompiler", "copy-decompiler"])
def test_a_graph_for_each_bucket_does_what_eager_steps_do(
    model: str, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = replace(small(model=model, rate=0.003), model=ModelConfig(model, 16, 16))
    do(run, tmp_path / "captured", folder, device="cuda")
    call = TrainStep.__call__

    def eagerly(self: TrainStep, *args: Any) -> None:
        self.captures = False
        call(self, *args)

    monkeypatch.setattr(TrainStep, "__call__", eagerly)
    do(run, tmp_path / "eager", folder, device="cuda")
    for a, b in zip(lines(tmp_path / "captured"), lines(tmp_path / "eager"), strict=True):
        assert a["loss"] == pytest.approx(b["loss"], rel=1e-3)
        assert a["validation_loss"] == pytest.approx(b["validation_loss"], rel=1e-3)


# ---- scoring ------------------------------------------------------------------------------------


def test_right_answers_score_1_and_a_swapped_label_costs_the_skeleton() -> None:
    split = shipped("switch-6").first(20)
    right = [[*target, "<eos>"] for _, target in split.pairs()]
    figures = score("switch-6", right, limit=20)
    assert (figures["ta"], figures["wea"], figures["skeleton"]) == (1.0, 1.0, 1.0)
    assert figures["data_sha256"] == shipped("switch-6").sha256  # of the whole split, as elsewhere
    assert set(figures["by_length"]) == {str(n) for n in cases(split)}
    swapped = right[0].copy()
    first, second = [i for i, token in enumerate(swapped) if token == "case"][:2]
    swapped[first + 1], swapped[second + 1] = swapped[second + 1], swapped[first + 1]
    changed = skeleton(swapped) != skeleton(right[0])
    other = [token if token != "return" else "break" for token in right[1]]
    figures = score("switch-6", [swapped, other, *right[2:]], limit=20)
    assert figures["wea"] == pytest.approx((20 - 1 - (other != right[1])) / 20)
    assert figures["skeleton"] == pytest.approx((20 - changed) / 20)
    assert figures["ta"] < 1
    with_sos = [["<sos>", *output] for output in right]
    assert score("switch-6", with_sos, limit=20)["wea"] == 1.0
    unended = [output[:-1] for output in right]
    assert score("switch-6", unended, limit=20)["wea"] == 0.0
    extra = [[*output, "junk"] for output in right]
    assert score("switch-6", extra, limit=20)["wea"] == 1.0


def test_answers_are_compiled_only_where_that_is_asked_for() -> None:
    split = shipped("switch-6").first(3)
    right = [[*target, "<eos>"] for _, target in split.pairs()]
    asked = []

    def verify(answers: Any) -> list[bool]:
        asked.extend(answers)
        return [True, False, False]

    assert "recompiles" not in score("switch-6", right, limit=3)
    unended = [right[0], right[1][:-1], right[2]]
    figures = score("switch-6", unended, limit=3, verify=verify)
    assert figures["recompiles"] == pytest.approx(1 / 3)
    assert [(list(c), source) for c, source in asked] == [
        (c if i != 1 else [], source) for i, (source, c) in enumerate(split.pairs())
    ]
    with pytest.raises(PermnetError, match="PI10 has none"):
        score("PI10", [], verify=verify)


def test_what_a_compiler_finds_is_added_to_the_result_of_the_same_answers(tmp_path: Path) -> None:
    split = shipped("switch-6").first(3)
    right = [[*target, "<eos>"] for _, target in split.pairs()]
    figures = score("switch-6", right, limit=3)
    path = tmp_path / "result.json"
    for key in ("test", "tests"):
        mine = {"test": {**figures, "teacher_forced_ta": 0.5}, "curve": [[1, 2]]}
        other = {"test": {"benchmark": "switch-20"}, "tests": {"switch-6": figures}, "curve": []}
        path.write_text(json.dumps(mine if key == "test" else other))
        more = score("switch-6", right, limit=3, verify=lambda _: [True, True, False])
        put_figures(path, more)
        raw = json.loads(path.read_text())
        there = raw["test"] if key == "test" else raw["tests"]["switch-6"]
        assert there["recompiles"] == pytest.approx(2 / 3)
        assert there.keys() >= figures.keys()
    wrong = score("switch-6", [right[0], right[1], right[1]], limit=3)
    before = path.read_text()
    with pytest.raises(PermnetError, match="of other answers: wea, ta"):
        put_figures(path, wrong)
    with pytest.raises(PermnetError, match="tested on switch-10"):
        put_figures(path, {**more, "benchmark": "switch-10"})
    assert path.read_text() == before


def test_commands(
    folder: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    run = tmp_path / "run"
    options = [
        *("--model.hidden", "4", "--model.embedding", "8", "--train.batch", "4"),
        *("--train.examples", str(COUNT), "--train.epochs", "1", "--train.evaluate-limit", "4"),
        *("--test-limit", "4", "--device", "cpu"),
    ]
    train_it = ["train", "switch-6", "--data", str(folder), "--out", str(run), *options]
    assert main(train_it) == 0
    assert "skeleton" in capsys.readouterr().out
    assert json.loads((run / "run.json").read_text())["run"]["train"]["reserved"] == 32
    assert main(["eval", str(run / "last"), "--limit", "3", "--json"]) == 0
    figures = json.loads(capsys.readouterr().out)
    assert (figures["benchmark"], figures["count"]) == ("switch-6", 3)
    given = run / "answers" / "switch-6.jsonl"
    same = ["score", "switch-6", str(given), "--data", str(folder), "--limit", "4", "--json"]
    assert main(same) == 0
    tested = json.loads((run / "result.json").read_text())["test"]
    scored = json.loads(capsys.readouterr().out)
    assert {name: tested[name] for name in scored} == scored
    assert main(["eval", str(run / "last"), "--benchmark", "switch-10", "--limit", "2"]) == 0
    assert "skeleton" in capsys.readouterr().out
    outputs = tmp_path / "outputs.jsonl"
    rows = ({"output": [*target, "<eos>"]} for _, target in shipped("switch-6", "raw").pairs())
    outputs.write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert main(["score", "switch-6-raw", str(outputs), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["wea"] == 1.0
    limited = ["score", "switch-6-raw", str(outputs), "--json", "--limit"]
    outputs.write_text("".join(outputs.read_text().splitlines(keepends=True)[:9]))
    assert main([*limited, "9", "--recompile"]) == 0
    figures = json.loads(capsys.readouterr().out)
    assert figures["recompiles"] == 1.0
    assert figures["recompiled_by"].startswith("gcc")
    monkeypatch.setenv("PATH", str(tmp_path))
    find_compiler.cache_clear()
    assert main([*limited, "9", "--recompile"]) == 2
    assert "gcc is not installed" in capsys.readouterr().err
    assert main(["resolve", "a 1 <sep> 1", "--model", str(run / "last")]) == 2
    assert "a model of switch-6 reads assembly" in capsys.readouterr().err


def test_a_sweep_finds_the_data(folder: Path, tmp_path: Path) -> None:
    runs = {"one": small(epochs=1)}
    outcome = sweep(
        runs, tmp_path, device="cpu", test_limit=2, progress=False, data=folder, carry="results"
    )
    assert list(outcome.finished) == ["one"], outcome.failed


@pytest.mark.parametrize(
    ("run", "data", "message"),
    [
        (small(), None, "--data DIR says where it is"),
        (small("switch-7"), None, "switch-7"),
        (small(fresh=True), "here", "train.fresh is for permutations only"),
        (small(unseen=0.5), "here", "train.unseen is 0 for switch sets"),
        (small(grow=(6,)), "here", "below the full length 6"),
        (small(grow=(1,)), "here", "begins at 1, and 0 of .* are no longer: 4 are needed"),
        (small(grow=(2,), batch=32), "here", "28 of the first 32 examples for train are no longer"),
        (small(examples=1000), "here", f"train.examples is at most {COUNT}"),
        (small(model="permnetd"), "here", "permnetd needs arrays"),
        (small(reserved=0), "here", "reserves no ids"),
        (small("switch-10"), "here", "switch-10-shuffled-train.npz is not there"),
        (replace(small(), benchmark="PI10"), "here", "PI10 needs none"),
    ],
)
def test_what_cannot_work_is_refused(
    run: Run, data: str | None, message: str, folder: Path, tmp_path: Path
) -> None:
    with pytest.raises(PermnetError, match=message):
        train(run, tmp_path / "run", data=folder if data else None, device="cpu", progress=False)


@pytest.mark.parametrize("name", PRESETS)
def test_presets_grow_towards_their_set(name: str) -> None:
    run = PRESETS[name]
    lengths = (0, *run.train.grow, switch_benchmark(run.benchmark).task.longest)
    assert all(a < b for a, b in itertools.pairwise(lengths))


# ---- beginning with another model's weights ------------------------------------------------------


def test_a_run_begins_with_a_trained_model_and_new_tokens_anew(
    folder: Path, tmp_path: Path
) -> None:
    do(small(), tmp_path / "first", folder)
    first = load(tmp_path / "first" / "last")
    # A step at such a rate leaves the weights as they are.
    still = small(name="switch-6-raw", start=str(tmp_path / "first" / "last"), rate=1e-12, epochs=1)
    told = do(still, tmp_path / "second", folder)
    assert told["start_sha256"] == weights_sha256(tmp_path / "first" / "last")
    plain = do(replace(still, train=replace(still.train, start="")), tmp_path / "alone", folder)
    assert "start_sha256" not in plain
    second, alone = (load(tmp_path / name / "last") for name in ("second", "alone"))
    assert first.vocab != second.vocab == alone.vocab
    known = {first.vocab.name(i): i for i in range(len(first.vocab))}
    names = [second.vocab.name(i) for i in range(len(second.vocab))]
    assert 0 < sum(name not in known for name in names) < len(names) / 2
    for row, name in enumerate(names):
        theirs, row_of = (first, known[name]) if name in known else (alone, row)
        for part in ("embedding.weight", "generate.weight", "generate.bias"):
            expected = theirs.model.state_dict()[part][row_of]
            assert torch.allclose(second.model.state_dict()[part][row], expected, atol=1e-9)
    for part, weights in first.model.state_dict().items():
        if len(weights) != len(first.vocab):
            assert torch.allclose(second.model.state_dict()[part], weights, atol=1e-9)


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ("PI10", "train.start is a model such as this run's"),
        ("switch-20", "train.start is a model such as this run's"),
        ("no-such-model", "unknown model or folder 'no-such-model'"),
    ],
)
def test_a_model_of_another_kind_is_nothing_to_begin_with(
    given: str, reason: str, folder: Path, tmp_path: Path
) -> None:
    with pytest.raises(PermnetError, match=reason):
        do(small(start=given), tmp_path / "run", folder)
    assert not (tmp_path / "run").exists()


def test_a_model_with_sizes_of_another_task_is_refused_before_anything_is_written(
    tmp_path: Path,
) -> None:
    longer = replace(load("PD10").run, benchmark="PD20")
    longer = replace(longer, train=replace(longer.train, start="PD10"))
    with pytest.raises(PermnetError, match=r"of another task: its .*emb_ind"):
        train(longer, tmp_path / "run", device="cpu", progress=False)
    assert not (tmp_path / "run").exists()
