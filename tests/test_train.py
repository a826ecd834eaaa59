"""Training: its step against the obvious one, its options, its results and its errors."""

import copy
import itertools
import json
import logging
import math
import os
import signal
import subprocess
import sys
import weakref
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from lightning_fabric import Fabric
from lightning_fabric.utilities.rank_zero import rank_zero_info, rank_zero_only
from torch.nn import functional as F

import permnet.fit
from permnet import checkpoint
from permnet.batch import Batch, lend, repeats, resident
from permnet.build import build
from permnet.cli import main
from permnet.commands.train import settings
from permnet.config import ModelConfig, Run, TrainConfig
from permnet.errors import PermnetError
from permnet.evaluate import evaluate
from permnet.experiments.presets import PAPER_COUNTS, PRESETS
from permnet.material import Stage, derived
from permnet.models import Seq2Seq
from permnet.runfolder import RunFolder
from permnet.step import Optimiser, TrainStep, rate_at
from permnet.tasks.benchmarks import benchmark
from permnet.tasks.permutation import Task
from permnet.train import train
from permnet.vocab import PAD

SMALL = TrainConfig(
    examples=512, batch=64, epochs=3, rate=0.01, evaluate_every=1, evaluate_limit=100
)

WRONG = {"ta": 0.0, "wea": 0.0}


def small(benchmark: str = "PI1-10", **changes: Any) -> Run:
    name = "permnetd" if benchmark.startswith("PD") else "permneti"
    return Run(benchmark, ModelConfig(name, embedding=8, hidden=4), replace(SMALL, **changes))


def do(run: Run, folder: Path, **options: Any) -> dict[str, Any]:
    return train(run, folder, **{"test_limit": 50, "progress": False, "device": "cpu", **options})


def lines(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]


def without_seconds(folder: Path) -> list[dict[str, Any]]:
    return [{k: v for k, v in line.items() if k != "seconds"} for line in lines(folder)]


def make_step(
    config: TrainConfig, task: Task, model: Seq2Seq, device: str = "cpu"
) -> tuple[TrainStep, Batch]:
    fabric = Fabric(accelerator=device, devices=1)
    module = fabric.setup_module(model)
    vocab = task.vocab(config.reserved)
    drawn = task.sample(config.examples, np.random.RandomState(0))
    data = resident(drawn.inputs, drawn.targets, vocab, fabric.device)
    optimiser = Optimiser(model, config, fabric.device)

    def vary(batch: Batch, generator: torch.Generator) -> Batch:
        return lend(batch, vocab, config.unseen, generator)

    return TrainStep(fabric, module, optimiser, [data], config, repeats(data), vary), data


@pytest.mark.parametrize("kind", ["direct", "indirect"])
@pytest.mark.parametrize("z_loss", [0.0, 0.1])
def test_a_step_is_the_obvious_one(kind: Any, z_loss: float) -> None:
    """Against mean cross-entropy, plain AdamW and torch's own clipping, over some steps."""
    task, config = Task(kind, 1, 4), replace(SMALL, clip=0.5, weight_decay=0.3, z_loss=z_loss)
    torch.manual_seed(0)
    config_of_model = ModelConfig("permnetd" if kind == "direct" else "permneti", 8, 4)
    ours = build(config_of_model, task.vocab(), task)
    plain = copy.deepcopy(ours)
    step, data = make_step(config, task, ours)
    decay = [p for name, p in plain.named_parameters() if "emb_ind" in name]
    rest = [p for name, p in plain.named_parameters() if "emb_ind" not in name]
    groups = [{"params": decay, "weight_decay": 0.3}, {"params": rest, "weight_decay": 0.0}]
    adamw = torch.optim.AdamW([g for g in groups if g["params"]], foreach=False)
    total = 0.0
    for i in range(4):
        index, rate = torch.arange(i * 64, i * 64 + 64), 0.01 * (i + 1)
        step(0, index, rate, seed=i)
        batch = data.rows(index)
        logits = plain(batch.inputs, batch.previous)
        loss = F.cross_entropy(logits.flatten(0, 1), batch.targets.flatten(), ignore_index=PAD)
        sums = logits[batch.targets != PAD].exp().sum(-1)
        loss = loss + z_loss * (sums.log() ** 2).mean()
        adamw.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(plain.parameters(), 0.5)
        for group in adamw.param_groups:
            group["lr"] = rate
        adamw.step()
        total += loss.item()
    assert step.loss.item() == pytest.approx(total, rel=1e-5)
    for (name, a), b in zip(ours.named_parameters(), plain.parameters(), strict=True):
        torch.testing.assert_close(a, b, rtol=1e-4, atol=1e-5, msg=name)


def test_weight_decay_is_on_the_index_embedding_alone() -> None:
    task = Task("direct", 1, 4)
    model = build(ModelConfig("permnetd", 8, 4), task.vocab(), task)
    groups = Optimiser(model, replace(SMALL, weight_decay=0.3), torch.device("cpu"))
    decayed, others = groups.adamw.param_groups
    assert decayed["params"] == [model.get_parameter("resolver.emb_ind.weight")]
    assert (decayed["weight_decay"], others["weight_decay"]) == (0.3, 0.0)
    assert len(others["params"]) == len(list(model.parameters())) - 1


def test_a_bad_step_changes_nothing_and_is_named() -> None:
    task = Task("indirect", 1, 4)
    model = build(ModelConfig("permneti", 8, 4), task.vocab(), task)
    step, _ = make_step(SMALL, task, model)
    index = torch.arange(64)
    step(0, index, 0.01, seed=0)
    assert step.failed_after() is None
    before = copy.deepcopy(model.state_dict())
    handle = model.resolver.select.weight.register_hook(lambda g: g * math.nan)
    step(0, index, 0.01, seed=1)
    handle.remove()
    step(0, index, 0.01, seed=2)  # a good one after it changes nothing either
    assert step.failed_after() == 1
    for name, value in model.state_dict().items():
        assert torch.equal(value, before[name]), name
    with torch.no_grad():
        model.resolver.query.weight.fill_(math.inf)
    assert "the loss is nan and the gradient of embedding.weight" in step.explain(0, index, seed=1)


def test_divergence_stops_with_step_and_tensor_and_keeps_the_last_good_state(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rates = iter([0.01] * 8)  # the first epoch is fine
    monkeypatch.setattr(permnet.fit, "rate_at", lambda *_: next(rates, 1e38))
    with pytest.raises(PermnetError, match=r"diverged at step 10, epoch 2: the loss is nan and"):
        do(small(), tmp_path / "run")
    assert [line["epoch"] for line in lines(tmp_path / "run")] == [1]
    monkeypatch.undo()
    assert do(small(), tmp_path / "run", resume=True)["status"] == "finished"


@given(st.integers(0, 50), st.integers(0, 50), st.sampled_from(["constant", "cosine"]))
def test_rates(step: int, warmup: int, schedule: Any) -> None:
    config = TrainConfig(rate=0.5, warmup=warmup, schedule=schedule)
    rates = [rate_at(config, step, progress / 10) for progress in range(11)]
    assert all(0 <= b <= a <= 0.5 for a, b in itertools.pairwise(rates))
    warm = rates[0] / 0.5
    assert warm == (1 if step + 1 >= warmup else pytest.approx((step + 1) / warmup))
    assert rates[10] == pytest.approx(0.0 if schedule == "cosine" else rates[0])
    if schedule == "cosine":
        assert rates[5] == pytest.approx(rates[0] / 2)


@given(st.lists(st.lists(st.integers(0, 7), min_size=3, max_size=3), min_size=1, max_size=4))
def test_repeats(rows: list[list[int]]) -> None:
    inputs = torch.tensor(rows)
    targets = torch.tensor([[row[0], 2] for row in rows])
    obvious = any(row[0] >= 4 and row.count(row[0]) > 1 for row in rows)
    assert repeats(Batch(inputs, targets)) == obvious


def test_derived_seeds_differ() -> None:
    seeds = {derived(what, s, e) for what in ("order", "lend") for s in range(9) for e in range(9)}
    assert len(seeds) == 2 * 9 * 9


def test_the_result_tells_everything(tmp_path: Path) -> None:
    run = small("PD1-10")
    result = do(run, tmp_path / "run")
    assert result == json.loads((tmp_path / "run" / "result.json").read_text())
    assert result["status"] == "finished"
    assert result["steps"] == 3 * 8
    assert result["epochs"] == 3
    assert result["track"] == "fixed"
    assert result["run"]["train"]["rate"] == 0.01
    assert set(result["versions"]) >= {"python", "torch", "numpy", "permnet"}
    assert result["data_sha256"]["test"] == benchmark("PD1-10").split("test").sha256
    assert result["test"]["count"] == 50
    assert result["test"]["split"] == "test"
    assert result["parameters"] > 0
    told = lines(tmp_path / "run")
    assert [line["step"] for line in told] == [8, 16, 24]
    assert told[-1] == result["validation"]["last"]
    assert result["validation"]["best"] == max(told, key=lambda line: (line["wea"], line["ta"]))
    assert told[-1]["loss"] < told[0]["loss"]
    assert tuple(told[0]) == (
        *("step", "epoch", "seconds", "loss", "validation_loss"),
        *("ta", "wea", "largest_logit", "rate", "stage"),
    )


def test_validation_is_what_evaluate_says_of_the_checkpoint(tmp_path: Path) -> None:
    from permnet.checkpoint import load

    told = do(small(), tmp_path / "run")["validation"]
    for name in ("last", "best"):
        saved = load(tmp_path / "run" / name)
        figures = evaluate(saved.model, "PI1-10", limit=100, vocab=saved.vocab)
        assert figures["ta"] == pytest.approx(told[name]["ta"])
        assert figures["wea"] == pytest.approx(told[name]["wea"])
        assert saved.provenance["seed"] == 0
        assert saved.provenance["figures"]["step"] == told[name]["step"]
        split = benchmark("PI1-10").split("validation", 100)
        data = resident(split.examples.inputs, split.examples.targets, saved.vocab)
        batch = data.rows(torch.arange(100))
        with torch.no_grad():
            logits = saved.model(batch.inputs, batch.previous).flatten(0, 1)
        loss = F.cross_entropy(logits, batch.targets.flatten(), ignore_index=PAD)
        assert told[name]["validation_loss"] == pytest.approx(loss.item(), rel=1e-5)
        assert told[name]["largest_logit"] == pytest.approx(logits.max().item(), rel=1e-5)


def test_the_same_seed_gives_the_same_run_and_another_another(tmp_path: Path) -> None:
    losses = [
        do(small(epochs=1, seed=seed), tmp_path / str(i))["validation"]["last"]["loss"]
        for i, seed in enumerate([0, 0, 1])
    ]
    assert losses[0] == losses[1] != losses[2]


def test_it_stops_when_solved_and_grows_when_solved(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    validate = permnet.fit.Trainer._validate
    shapes = []

    def solved_at_once(self: Any, stage: Stage) -> tuple[dict[str, float], float | None]:
        shapes.append(tuple(stage.validation[0].data.inputs.shape))
        return {"ta": 1.0, "wea": 1.0}, validate(self, stage)[1]

    monkeypatch.setattr(permnet.fit.Trainer, "_validate", solved_at_once)
    run = small("PI10", grow=(2, 5), stop_when_solved=0.99, evaluate_every=2, epochs=9)
    result = do(run, tmp_path / "run")
    assert [(x["stage"], x["epoch"]) for x in lines(tmp_path / "run")] == [(2, 2), (5, 4), (10, 6)]
    assert shapes == [(100, 9), (100, 18), (100, 33)]
    assert result["epochs_to_99"] == 6
    assert result["stopped"] == "solved"
    assert result["track"] == "fresh"


@pytest.mark.parametrize(("wea", "epochs"), [(0.98, [1, 2, 3]), (0.99, [1, 2])])
def test_a_growing_length_is_solved_at_99_percent_unless_told_otherwise(
    wea: float, epochs: list[int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(permnet.fit.Trainer, "_validate", lambda *_: ({"ta": 1.0, "wea": wea}, 0.5))
    result = do(small("PD1-10", grow=(3,), grow_epochs=2, epochs=1), tmp_path / "run")
    assert [line["epoch"] for line in lines(tmp_path / "run")] == epochs
    assert result["stopped"] is None  # at full length 99 % is no reason


def test_a_length_s_step_is_gone_before_the_next_is_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A captured step holds the memory of its graph, and so do gradients made in it."""
    made: list[weakref.ref[TrainStep]] = []
    make = TrainStep.__init__

    def look(self: TrainStep, *args: Any) -> None:
        make(self, *args)
        assert all(earlier() is None for earlier in made)
        assert all(p.grad is None for p in self.module.parameters())
        made.append(weakref.ref(self))

    monkeypatch.setattr(TrainStep, "__init__", look)
    do(small("PD1-10", grow=(2, 5), grow_epochs=1, epochs=1), tmp_path / "run")
    assert len(made) == 3


def test_patience_counts_epochs_since_the_lowest_validation_loss(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    losses = iter([0.9, 0.5, 0.6, None, 0.5, 0.4, 0.7, 0.6, 0.5, 0.4, 0.3])
    monkeypatch.setattr(permnet.fit.Trainer, "_validate", lambda *_: (WRONG, next(losses)))
    run = small("PD1-10", examples=64, epochs=10, patience=0.4)
    result = do(run, tmp_path / "run")
    # The lowest at epochs 2, then 6; four epochs later it is met again, not undercut.
    assert result["epochs"] == 10
    assert result["stopped"] is None  # it was the last epoch anyway
    losses = iter([0.9, 0.5, 0.6, 0.7, 0.5, 0.6])
    run = small("PD1-10", examples=64, epochs=12, patience=0.25)
    monkeypatch.setattr(permnet.fit, "CHECK_STEPS", 1)
    result = do(run, tmp_path / "short")
    assert (result["epochs"], result["stopped"], result["status"]) == (5, "patience", "finished")
    assert lines(tmp_path / "short")[-1]["validation_loss"] == 0.5


def test_patience_does_not_end_a_growing_length(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(permnet.fit.Trainer, "_validate", lambda *_: (WRONG, 1.0))
    run = small("PD1-10", examples=64, grow=(3,), grow_epochs=5, epochs=10, patience=0.1)
    result = do(run, tmp_path / "run")
    stages = [line["stage"] for line in lines(tmp_path / "run")]
    assert stages == [3] * 5 + [10] * 2
    assert result["stopped"] == "patience"


def test_patience_survives_a_stop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def validate(self: Any, stage: Stage) -> tuple[dict[str, float], float | None]:
        return WRONG, 0.5 if self.position.epoch == 2 else 0.9

    monkeypatch.setattr(permnet.fit.Trainer, "_validate", validate)
    monkeypatch.setattr(permnet.fit, "CHECK_STEPS", 3)
    run = small("PD1-10", examples=256, epochs=10, patience=0.3)
    with monkeypatch.context() as patch:
        patch.setattr(permnet.fit.Clock, "enough_for", lambda self, _: self.budget is None)
        for _ in range(3):
            part = do(run, tmp_path / "run", time_budget=1, resume=(tmp_path / "run").exists())
            assert part["status"] == "unfinished"
    result = do(run, tmp_path / "run", resume=True)
    assert (result["epochs"], result["stopped"]) == (5, "patience")


def test_the_time_limit_ends_a_run_as_finished_after_an_epoch_of_each_length(
    tmp_path: Path,
) -> None:
    run = small("PD1-10", grow=(3,), epochs=9, evaluate_every=4, time_limit=1e-6)
    result = do(run, tmp_path / "run")
    assert [(x["stage"], x["epoch"]) for x in lines(tmp_path / "run")] == [(3, 1), (10, 2)]
    assert (result["status"], result["stopped"]) == ("finished", "time")
    assert result["validation"]["best"]["epoch"] == 2
    assert do(run, tmp_path / "run", resume=True) == result


def test_the_time_limit_counts_all_seconds_of_a_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(permnet.fit.Clock, "elapsed", lambda self: 40.0)
    run = small("PD1-10", epochs=4, time_limit=100.0)
    monkeypatch.setattr(permnet.fit, "CHECK_SECONDS", math.inf)
    with monkeypatch.context() as patch:
        patch.setattr(permnet.fit.Clock, "enough_for", lambda self, _: self.budget is None)
        for _ in range(2):  # each stops after an epoch
            do(run, tmp_path / "run", time_budget=1, resume=(tmp_path / "run").exists())
    result = do(run, tmp_path / "run", resume=True)  # 40 and 40 and 40 are over 100
    assert (result["stopped"], result["epochs"]) == ("time", 3)


def test_runs_that_share_a_device_get_so_many_times_the_time_limit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(permnet.fit.Clock, "elapsed", lambda self: 40.0)
    run = small("PD1-10", epochs=2, time_limit=30.0)
    alone, shared = do(run, tmp_path / "alone"), do(run, tmp_path / "shared", sharing=2)
    assert (alone["stopped"], alone["epochs"], alone["sharing"]) == ("time", 1, 1)
    assert (shared["stopped"], shared["epochs"], shared["sharing"]) == (None, 2, 2)


def test_a_resumed_run_tells_of_the_most_that_shared_its_device(tmp_path: Path) -> None:
    def leg(sharing: int, budget: float | None = 1e-6) -> dict[str, Any]:
        resume = (tmp_path / "run").exists()
        return do(small(), tmp_path / "run", sharing=sharing, resume=resume, time_budget=budget)

    assert leg(2)["sharing"] == 2
    assert leg(3)["sharing"] == 3
    assert leg(1, budget=None)["sharing"] == 3
    assert checkpoint.describe(tmp_path / "run" / "last").provenance["sharing"] == 3


def test_a_length_that_stays_unsolved_ends_at_its_cap(tmp_path: Path) -> None:
    run = small("PD1-10", grow=(3,), grow_epochs=2, epochs=1, schedule="cosine", warmup=4)
    do(run, tmp_path / "run")
    told = lines(tmp_path / "run")
    assert [line["stage"] for line in told] == [3, 3, 10]
    assert [line["rate"] for line in told[:2]] == [0.01, 0.01]
    assert told[2]["rate"] == pytest.approx(0.01 * (1 + math.cos(math.pi * 7 / 8)) / 2)


def test_fresh_data_are_new_in_every_epoch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []
    run_step = TrainStep.__call__

    def look(self: TrainStep, *args: Any) -> None:
        seen.append(self.data[0].inputs.clone())
        run_step(self, *args)

    monkeypatch.setattr(TrainStep, "__call__", look)
    result = do(small(fresh=True, epochs=2), tmp_path / "run")
    assert result["track"] == "fresh"
    assert torch.equal(seen[0], seen[7])
    assert not torch.equal(seen[7], seen[8])


def test_time_budget_stops_with_a_checkpoint_and_resuming_ends_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = do(small(), tmp_path / "whole")
    monkeypatch.setattr(permnet.fit, "CHECK_STEPS", 1)
    monkeypatch.setattr(permnet.fit.Clock, "enough_for", lambda self, _: self.budget is None)
    for _ in range(3):  # each stops in the midst of an epoch
        part = do(small(), tmp_path / "parts", time_budget=1, resume=(tmp_path / "parts").exists())
        assert part["status"] == "unfinished"
        assert not (tmp_path / "parts" / "result.json").exists()
    parts = do(small(), tmp_path / "parts", resume=True)
    assert without_seconds(tmp_path / "parts") == without_seconds(tmp_path / "whole")
    assert parts["test"]["by_length"] == whole["test"]["by_length"]
    assert do(small(), tmp_path / "parts", resume=True)["test"] == parts["test"]


def test_time_budget_stops_between_epochs_shorter_than_a_look(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """8 steps an epoch, a look after 8 each: none falls in the midst of an epoch."""
    run = small("PI10", grow=(3,), grow_epochs=2, epochs=3, evaluate_every=2)
    whole = do(run, tmp_path / "whole")
    monkeypatch.setattr(permnet.fit, "CHECK_STEPS", 8)
    monkeypatch.setattr(permnet.fit, "CHECK_SECONDS", math.inf)
    monkeypatch.setattr(permnet.fit.Clock, "enough_for", lambda self, _: self.budget is None)
    for epochs in (1, 2, 3, 4, 5):  # the second ends a length, the last only lacks the test
        part = do(run, tmp_path / "parts", time_budget=1, resume=epochs > 1)
        assert (part["status"], part["epochs"]) == ("unfinished", epochs)
    parts = do(run, tmp_path / "parts", resume=True)
    assert without_seconds(tmp_path / "parts") == without_seconds(tmp_path / "whole")
    assert parts["test"]["by_length"] == whole["test"]["by_length"]


@pytest.mark.parametrize("budget", [0.0, -5.0, math.nan])
def test_time_budgets_are_above_0(tmp_path: Path, budget: float) -> None:
    with pytest.raises(PermnetError, match="time_budget is above 0 seconds, not"):
        do(small(), tmp_path / "run", time_budget=budget)
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("option", ["--devices", "--nodes"])
def test_no_processes_are_refused(tmp_path: Path, option: str, capsys) -> None:
    assert main(["train", "PI10", "--out", str(tmp_path / "run"), option, "0"]) == 2
    assert "devices and nodes are 1 or more" in capsys.readouterr().err
    assert not (tmp_path / "run").exists()


def test_sigterm_stops_with_a_checkpoint_and_resuming_ends_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = do(small(), tmp_path / "whole")
    before = signal.getsignal(signal.SIGTERM)
    looked = permnet.fit.Trainer._check_finite

    def look(self: permnet.fit.Trainer, *args: Any) -> None:
        looked(self, *args)
        if self.position.step == 3:
            os.kill(int((tmp_path / "parts" / ".lock").read_text()), signal.SIGTERM)

    monkeypatch.setattr(permnet.fit, "CHECK_STEPS", 1)
    monkeypatch.setattr(permnet.fit.Trainer, "_check_finite", look)
    part = do(small(), tmp_path / "parts")
    assert (part["status"], part["steps"]) == ("unfinished", 3)
    assert signal.getsignal(signal.SIGTERM) is before
    parts = do(small(), tmp_path / "parts", resume=True)
    assert parts["test"]["by_length"] == whole["test"]["by_length"]


@pytest.fixture
def interrupts() -> Iterator[None]:
    """A shell starts what runs in its background with interrupts ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


TYPED = """
    train PI1-10 --device cpu --test-limit 50 --model.embedding 8 --model.hidden 4
    --train.examples 512 --train.batch 64 --train.epochs 3 --train.evaluate-limit 100
"""


@pytest.mark.usefixtures("interrupts")
def test_ctrl_c_does_so_too_and_says_how_to_go_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    whole, parts = tmp_path / "whole", tmp_path / "parts"
    assert main([*TYPED.split(), "--out", str(whole)]) == 0
    capsys.readouterr()
    with monkeypatch.context() as patch:
        press_ctrl_c(patch, at_step=3, times=1)
        assert main([*TYPED.split(), "--out", str(parts)]) == 130
    assert capsys.readouterr() == (
        "",
        "stopping with a checkpoint; Ctrl-C again ends at once\n"
        f"stopped, {parts / 'last'} is kept: --resume goes on\n",
    )
    assert json.loads((parts / "last" / "position.json").read_text())["step"] == 3
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    assert main([*TYPED.split(), "--out", str(parts), "--resume"]) == 0
    weights = [(each / "last" / "model.safetensors").read_bytes() for each in (whole, parts)]
    assert weights[0] == weights[1]


@pytest.mark.usefixtures("interrupts")
def test_a_second_ctrl_c_does_not_wait(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    press_ctrl_c(monkeypatch, at_step=3, times=2)
    assert main([*TYPED.split(), "--out", str(tmp_path / "run")]) == 130
    assert not (tmp_path / "run" / "last").exists()
    assert "--resume" not in capsys.readouterr().err  # there is nothing to go on from


def press_ctrl_c(monkeypatch: pytest.MonkeyPatch, at_step: int, times: int) -> None:
    looked = permnet.fit.Trainer._check_finite

    def look(self: permnet.fit.Trainer, *args: Any) -> None:
        looked(self, *args)
        for _ in range(times if self.position.step == at_step else 0):
            signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(permnet.fit, "CHECK_STEPS", 1)
    monkeypatch.setattr(permnet.fit.Trainer, "_check_finite", look)


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (ModelConfig("permneti", recall=True), "recalls nothing"),
        (ModelConfig("copynet", equal=True), "no keys and queries"),
        (ModelConfig("gru", without="attn"), "no ablations"),
        (ModelConfig("permneti", without="m_pl"), "inputs of one length"),
        (ModelConfig("permneti", without="foo"), "unknown ablation 'foo'"),
        (ModelConfig("permneti", without="m_e"), "unknown ablation 'm_e'"),
        (ModelConfig("permneti", hidden=0), "model.hidden is 1 to"),
    ],
)
def test_models_that_cannot_be_built_are_refused_before_anything_is_written(
    tmp_path: Path, model: ModelConfig, message: str
) -> None:
    with pytest.raises(PermnetError, match=message):
        train(replace(small(), model=model), tmp_path / "run", progress=False)
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"batch": 513}, "train.batch is 1 to 512, the number of examples, not 513"),
        ({"examples": 0}, "train.examples is 1 or more, not 0"),
        ({"examples": 100_001}, "at most 100000"),
        ({"epochs": 0}, "train.epochs is 1 or more"),
        ({"rate": math.nan}, "train.rate is above 0"),
        ({"clip": math.inf}, "train.clip is 0 or more, and finite, not inf"),
        ({"weight_decay": math.inf}, "train.weight_decay is 0 or more, and finite, not inf"),
        ({"unseen": 0.5}, "unless train.reserved"),
        ({"grow": (5, 3)}, "lengths that grow"),
        ({"grow": (10,)}, "below the full length 10"),
        ({"patience": 1.5}, "train.patience is 0 to 1, not 1.5"),
        ({"time_limit": -1.0}, "train.time_limit is 0 or more, not -1.0"),
        ({"evaluate_limit": 0}, "train.evaluate_limit is 1 to"),
        ({"compile": True}, "train.compile is for transformer, not permneti"),
        ({"seed": -1}, "train.seed is 0 or more"),
        ({"seed": 2**64}, "train.seed is 0 or more, in 64 bits"),
    ],
)
def test_bad_settings_are_refused_before_anything_is_written(
    changes: dict[str, Any], message: str, tmp_path: Path
) -> None:
    with pytest.raises(PermnetError, match=message):
        do(small(**changes), tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_a_model_of_one_length_does_not_grow(tmp_path: Path) -> None:
    run = small("PI10", grow=(5,))
    with pytest.raises(PermnetError, match=r"train.grow is empty without m_pl: .*, not \(5,\)"):
        do(replace(run, model=replace(run.model, without="m_pl")), tmp_path / "run")
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(("share", "saves"), [(1e-9, [1, 3]), (math.inf, [1, 2, 3])])
def test_checkpoints_take_a_small_share_of_the_time(
    share: float, saves: list[int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    epochs: list[int] = []
    save = RunFolder.save

    def noted(self: RunFolder, name: str, *rest: Any) -> None:
        if name == "last":
            epochs.append(rest[2].epoch)
        save(self, name, *rest)

    monkeypatch.setattr(RunFolder, "save", noted)
    monkeypatch.setattr(permnet.fit, "SAVE_SHARE", share)
    do(small(), tmp_path / "run")
    assert epochs == saves  # the first, since what one takes is not known, and the last in any case


def test_a_compiled_transformer_is_the_same_one_graph(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    graphs: list[int] = []

    def traced(graph: torch.fx.GraphModule, _: list[Any]) -> Any:
        graphs.append(len(graph.graph.nodes))
        return graph.forward

    # Traced as on a GPU, and run as it is: what is made of a graph is torch's own affair.
    compiled = partial(torch.compile, backend=traced, fullgraph=True)
    monkeypatch.setattr(torch, "compile", compiled)
    model = ModelConfig("transformer", embedding=8, hidden=16, layers=2, heads=2, head_size=4)
    for name, changes in (("plain", {}), ("fused", {"compile": True})):
        do(replace(small("PD10", **changes), model=model), tmp_path / name)
    assert len(graphs) == 1
    for a, b in zip(lines(tmp_path / "plain"), lines(tmp_path / "fused"), strict=True):
        assert a["loss"] == pytest.approx(b["loss"], rel=1e-4)
        assert a["validation_loss"] == pytest.approx(b["validation_loss"], rel=1e-4)


def test_a_compiler_that_is_missing_is_said_in_a_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def missing(*_: Any) -> Any:
        raise RuntimeError("no C++ compiler\nand much more")

    monkeypatch.setattr(torch, "compile", partial(torch.compile, backend=missing))
    model = ModelConfig("transformer", embedding=8, hidden=16, layers=1, heads=2, head_size=4)
    said = r"train.compile failed, leave it out: no C\+\+ compiler$"
    with pytest.raises(PermnetError, match=said):
        do(replace(small("PD10", compile=True), model=model), tmp_path / "run")


@pytest.mark.skipif(torch.cuda.is_available(), reason="there are GPUs")
def test_gpus_that_are_not_there(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["train", "PI10", "--out", str(tmp_path / "run"), "--devices", "2"]) == 2
    assert "2 GPUs were asked for and this machine has 0" in capsys.readouterr().err
    assert main(["train", "PI10", "--out", str(tmp_path / "run"), "--device", "cuda"]) == 2
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("rank", [0, 1])
def test_the_command_trains_and_the_first_process_tells(
    rank: int,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(rank_zero_only, "rank", rank)
    options = [
        "--train.epochs",
        "1",
        "--train.examples",
        "256",
        "--train.batch",
        "64",
        "--model.hidden",
        "4",
    ]
    options += ["--test-limit", "20", "--train.evaluate-limit", "20", "--device", "cpu"]
    assert main(["train", "pd1-10", "--out", str(tmp_path / "run"), *options]) == 0
    assert ("PD1-10@1 test: TA" in capsys.readouterr().out) == (rank == 0)
    told = json.loads((tmp_path / "run" / "result.json").read_text())["run"]
    assert told["model"]["name"] == "permnetd"
    assert told["model"]["embedding"] == 64  # the preset's
    assert told["train"]["rate"] == 0.001


def test_settings_are_the_preset_with_changes() -> None:
    assert settings("PI20", {}, {}).train == PRESETS["permneti/PI20"].train
    assert settings("PD20", {}, {}).model.name == "permnetd"
    assert settings("PI10", {"name": "gru"}, {"seed": 3}).train.batch == 4096
    assert settings("PI40", {}, {}, "permneti/PI10").train.rate == 0.003
    assert settings("PI10-noise", {}, {}).train == TrainConfig()
    with pytest.raises(PermnetError, match=r"did you mean .*permneti/PI10,"):
        settings("PI10", {}, {}, "permneti/PI11")


@pytest.mark.parametrize("name", PRESETS)
def test_every_preset_builds(name: str) -> None:
    run = PRESETS[name]
    bench = benchmark(run.benchmark)
    with torch.device("meta"):
        model = build(run.model, bench.task.vocab(), bench.task)
    assert sum(p.numel() for p in model.parameters()) > 0
    assert name == f"{run.model.name}/{run.benchmark}"
    assert run.train.batch <= run.train.examples


def test_presets_are_the_paper_s() -> None:
    assert len(PRESETS) == len(PAPER_COUNTS) == 4 + 5 + 6 + 4 + 6 + 5
    hundred = PRESETS["permneti/PI100"]
    assert (hundred.model.embedding, hundred.model.hidden) == (128, 512)
    assert (hundred.train.rate, hundred.train.batch, hundred.train.epochs) == (5e-5, 512, 100)
    assert PAPER_COUNTS["gru-attention/PI1-10"] == (39_329, 4_370)


def test_fabric_s_advice_on_precision_is_not_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    launch = Fabric.launch

    def advise(self: Fabric) -> Any:
        rank_zero_info("You should set `torch.set_float32_matmul_precision('medium' | 'high')`")
        rank_zero_info("Something else")
        return launch(self)

    monkeypatch.setattr(Fabric, "launch", advise)
    monkeypatch.setattr(logging.getLogger("lightning_fabric"), "propagate", True)
    with caplog.at_level("INFO"):
        do(small(epochs=1, examples=64), tmp_path / "run")
    assert "Something else" in caplog.text
    assert "matmul" not in caplog.text


TWO = """
import sys
from pathlib import Path
from tests.test_train import do, small
do(small(reserved=3, unseen=0.4), Path(sys.argv[1]) / "two", devices=2)
"""


def together(code: str, folder: Path) -> None:
    """Two processes that run this code, with the folder as its argument."""
    (folder / "two.py").write_text(code)
    command = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", "2"]
    command += ["--master-port", "0", "--rdzv-backend", "c10d", "--rdzv-endpoint", "localhost:0"]
    root = Path(__file__).parent.parent
    done = subprocess.run(
        [*command, str(folder / "two.py"), str(folder)],
        cwd=root,
        env={**os.environ, "PYTHONPATH": str(root), "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr


def test_two_processes_do_what_one_does(tmp_path: Path) -> None:
    together(TWO, tmp_path)
    one = do(small(reserved=3, unseen=0.4), tmp_path / "one")
    for a, b in zip(lines(tmp_path / "one"), lines(tmp_path / "two"), strict=True):
        assert a["loss"] == pytest.approx(b["loss"], abs=1e-6)
        assert a["validation_loss"] == pytest.approx(b["validation_loss"], abs=1e-5)
        assert a["step"] == b["step"]
    two = json.loads((tmp_path / "two" / "result.json").read_text())
    assert two["test"]["ta"] == pytest.approx(one["test"]["ta"], abs=0.02)


@pytest.mark.gpu
@pytest.mark.parametrize("precision", ["fp32", "bf16"])
@pytest.mark.parametrize("kind", ["direct", "indirect"])
def test_the_captured_step_is_the_eager_one(kind: Any, precision: Any) -> None:
    task = Task(kind, 1, 6)
    config = replace(SMALL, reserved=3, unseen=0.3, precision=precision, rate=0.003)
    name = "permnetd" if kind == "direct" else "permneti"
    weights, losses = [], []
    for captures in (True, False):
        torch.manual_seed(0)
        model = build(ModelConfig(name, 16, 8), task.vocab(3), task)
        step, _ = make_step(config, task, model, "cuda")
        step.captures = captures
        for i in range(8):
            rows = torch.arange(i * 64, i * 64 + 64, device="cuda")
            step(0, rows, 0.003 * (i + 1), seed=i)
        assert step.failed_after() is None
        assert step.good.item() == 8
        assert bool(step.graphs) == captures
        losses.append(step.loss.item())
        weights.append(dict(model.named_parameters()))
    assert losses[0] == pytest.approx(losses[1], rel=1e-4)
    for parameter in weights[0]:
        torch.testing.assert_close(
            weights[0][parameter], weights[1][parameter], rtol=1e-3, atol=1e-4, msg=parameter
        )


@pytest.mark.gpu
def test_a_run_on_the_gpu_resumes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = small("PI10", grow=(3,), grow_epochs=1, reserved=2, unseen=0.2, fresh=True)
    whole = do(run, tmp_path / "whole", device="cuda")
    monkeypatch.setattr(permnet.fit, "CHECK_STEPS", 5)
    monkeypatch.setattr(permnet.fit.Clock, "enough_for", lambda self, _: self.budget is None)
    do(run, tmp_path / "parts", device="cuda", time_budget=1)
    do(run, tmp_path / "parts", device="cuda", time_budget=1, resume=True)
    parts = do(run, tmp_path / "parts", device="cuda", resume=True)
    assert parts["steps"] == whole["steps"]
    for a, b in zip(lines(tmp_path / "whole"), lines(tmp_path / "parts"), strict=True):
        assert a["loss"] == pytest.approx(b["loss"], rel=1e-3)
