"""Checkpoints come back as they were, or say which file is at fault and why."""

import contextlib
import json
import os
import shutil
import struct
from pathlib import Path

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from safetensors.torch import load_file, save_file

from permnet import checkpoint
from permnet.build import LARGEST, build
from permnet.checkpoint import CONFIG, WEIGHTS, describe, find, load, replacing, save
from permnet.config import ModelConfig, Run
from permnet.errors import PermnetError
from permnet.models import MODELS
from permnet.tasks.benchmarks import benchmark

SMALL = {"embedding": 8, "hidden": 4, "layers": 1, "heads": 2, "head_size": 4}


def small(name: str = "permneti", where: str = "PI1-4", **options: str | bool | None):
    run = Run(where, ModelConfig(name=name, **options, **SMALL))
    task = benchmark(where).task
    vocab = task.vocab(reserved=2)
    return build(run.model, vocab, task), run, vocab


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A sound checkpoint."""
    save(tmp_path / "mine", *small(), {"seed": 3})
    return tmp_path / "mine"


@pytest.mark.parametrize("name", MODELS)
def test_a_model_comes_back_bit_for_bit(name: str, tmp_path: Path) -> None:
    model, run, vocab = small(name)
    save(tmp_path / "mine", model, run, vocab, {"seed": 3})
    found = load(tmp_path / "mine")
    assert (found.run, found.vocab, found.provenance) == (run, vocab, {"seed": 3})
    assert found.task == benchmark("PI1-4").task
    assert not found.model.training
    for key, tensor in model.state_dict().items():
        assert torch.equal(found.model.state_dict()[key], tensor)
    inputs = torch.tensor([[1, 6, 16, 3, 16, 2]])
    previous = torch.tensor([[1, 6]])
    assert torch.equal(found.model(inputs, previous), model.eval()(inputs, previous))


def test_half_precision_halves_the_file_and_comes_back_as_float32(tmp_path: Path) -> None:
    model, run, vocab = small()
    save(tmp_path / "half", model, run, vocab, {}, half=True)
    save(tmp_path / "full", model, run, vocab, {})
    half, full = ((tmp_path / name / WEIGHTS).stat().st_size for name in ("half", "full"))
    assert half < 0.75 * full
    for key, tensor in load(tmp_path / "half").model.state_dict().items():
        assert tensor.dtype == torch.float32
        assert torch.equal(tensor, model.state_dict()[key].half().float())


def test_loading_leaves_the_callers_random_numbers_alone(folder: Path) -> None:
    torch.manual_seed(5)
    expected = torch.rand(3)
    torch.manual_seed(5)
    load(folder)
    assert torch.equal(torch.rand(3), expected)


def test_a_model_is_on_the_cpu_whatever_the_default_device(folder: Path) -> None:
    expected = load(folder).model.state_dict()
    with torch.device("meta"):
        found = load(folder).model.state_dict()
    for key, tensor in found.items():
        assert torch.equal(tensor, expected[key])


def test_saving_again_replaces_and_leaves_nothing_beside(folder: Path) -> None:
    save(folder, *small(), {"seed": 4})
    assert describe(folder).provenance == {"seed": 4}
    assert os.listdir(folder.parent) == ["mine"]


def test_a_failure_while_writing_keeps_the_old_one(folder: Path, monkeypatch) -> None:
    def disk_full(path: Path, text: str) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_text", disk_full)  # the weights are written by then
    with pytest.raises(PermnetError, match="No space left"):
        save(folder, *small(), {"seed": 4})
    assert load(folder).provenance == {"seed": 3}
    assert os.listdir(folder.parent) == ["mine"]


def test_killed_between_the_renames_the_old_one_is_found(folder: Path) -> None:
    folder.rename(folder.with_name(".mine.old"))
    assert load(folder).provenance == {"seed": 3}
    save(folder, *small(), {"seed": 4})
    assert load(folder).provenance == {"seed": 4}
    assert os.listdir(folder.parent) == ["mine"]


def test_more_files_may_travel_with_a_checkpoint(folder: Path) -> None:
    with replacing(folder) as partial:
        checkpoint.write(partial, *small(), {"seed": 5})
        (partial / "optimiser").write_text("state")
    assert (folder / "optimiser").read_text() == "state"
    assert load(folder).provenance == {"seed": 5}


def test_only_checkpoints_are_overwritten(tmp_path: Path) -> None:
    (tmp_path / "thesis").mkdir()
    (tmp_path / "thesis" / "chapter1.tex").write_text("years of work")
    (tmp_path / "file").write_text("x")
    for name in ("thesis", "file"):
        with pytest.raises(PermnetError, match=f"{name} exists and is not a checkpoint"):
            save(tmp_path / name, *small(), {})
    assert (tmp_path / "thesis" / "chapter1.tex").read_text() == "years of work"
    (tmp_path / "empty").mkdir()
    save(tmp_path / "empty", *small(), {})


def test_an_unwritable_place_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(PermnetError, match="cannot write the checkpoint"):
        save(tmp_path / "file" / "mine", *small(), {})
    with pytest.raises(PermnetError, match="/ is no place for a checkpoint"):
        save("/", *small(), {})


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), 1e6])
def test_weights_that_would_not_come_back_are_not_saved(bad: float, tmp_path: Path) -> None:
    model, run, vocab = small()
    next(model.parameters()).data[0, 0] = bad
    with pytest.raises(PermnetError, match="is not finite"):
        save(tmp_path / "mine", model, run, vocab, {}, half=True)
    assert not os.listdir(tmp_path)


def set_config(folder: Path, **changes: object) -> None:
    raw = json.loads((folder / CONFIG).read_text())
    (folder / CONFIG).write_text(json.dumps(raw | changes))


def change_run(folder: Path, part: str, **changes: object) -> None:
    run = json.loads((folder / CONFIG).read_text())["run"]
    set_config(folder, run=run | {part: run[part] | changes})


def drop_field(folder: Path) -> None:
    raw = json.loads((folder / CONFIG).read_text())
    del raw["vocab"]
    (folder / CONFIG).write_text(json.dumps(raw))


def change_weights(folder: Path, change) -> None:
    weights = load_file(folder / WEIGHTS)
    change(weights)
    save_file(weights, folder / WEIGHTS)


def cut(path: Path, size: int) -> None:
    path.write_bytes(path.read_bytes()[:size])


DAMAGE = {
    "no config": (lambda f: (f / CONFIG).unlink(), "config.json is missing"),
    "no weights": (lambda f: (f / WEIGHTS).unlink(), "model.safetensors is missing"),
    "config cut": (lambda f: cut(f / CONFIG, 100), "config.json is not JSON"),
    "config empty": (lambda f: cut(f / CONFIG, 0), "config.json is not JSON"),
    "config a list": (lambda f: (f / CONFIG).write_text("[]"), "config.json: .*JSON object"),
    "config not text": (lambda f: (f / CONFIG).write_bytes(b"\xff\xfe\x00"), "is not JSON"),
    "config deep": (lambda f: (f / CONFIG).write_text("[" * 100_000), "config.json is not JSON"),
    "config NaN": (lambda f: set_config(f, provenance={"x": float("nan")}), "NaN is not a JSON"),
    "config huge": (lambda f: (f / CONFIG).write_bytes(b" " * 2**25), "config.json is larger than"),
    "config a folder": (
        lambda f: ((f / CONFIG).unlink(), (f / CONFIG).mkdir()),
        "config.json is missing",
    ),
    "config a loop": (
        lambda f: ((f / CONFIG).unlink(), (f / CONFIG).symlink_to(f / CONFIG)),
        "config.json",
    ),
    "config a pipe": (
        lambda f: ((f / CONFIG).unlink(), os.mkfifo(f / CONFIG)),
        "config.json is missing",
    ),
    "format of the future": (lambda f: set_config(f, format=2), "config.json: its format is 2"),
    "field surplus": (lambda f: set_config(f, colour="red"), "unknown field 'colour'"),
    "field missing": (drop_field, "config.json: the field 'vocab' is missing"),
    "run not an object": (lambda f: set_config(f, run=[]), "config.json: run: expected an object"),
    "provenance a list": (lambda f: set_config(f, provenance=[]), "provenance is a JSON object"),
    "model unknown": (lambda f: change_run(f, "model", name="lstm"), "run.model.name 'lstm'"),
    "size wrong type": (lambda f: change_run(f, "model", hidden="4"), "run.model.hidden"),
    "rate beyond floats": (
        lambda f: change_run(f, "train", rate=10**400),
        "config.json: run.train.rate: int too large",
    ),
    "size zero": (lambda f: change_run(f, "model", hidden=0), "config.json: model.hidden is 1 to"),
    "size huge": (
        lambda f: change_run(f, "model", hidden=10**12),
        "config.json: model.hidden is 1 to",
    ),
    "size beyond memory": (
        lambda f: change_run(f, "model", hidden=LARGEST),
        "but the config makes",
    ),
    "size foreign": (lambda f: change_run(f, "model", hidden=5), "the config makes it"),
    "other model": (lambda f: change_run(f, "model", name="gru"), "the tensor .* is "),
    "ablation unknown": (
        lambda f: change_run(f, "model", without="x"),
        "json: unknown ablation 'x'",
    ),
    "task impossible": (
        lambda f: set_config(f, task={"kind": "direct", "shortest": 3, "longest": 2}),
        "config.json: lengths are",
    ),
    "vocab not one": (lambda f: set_config(f, vocab={"tokens": "abc"}), "config.json: a vocab"),
    "vocab doubled": (
        lambda f: set_config(f, vocab={"tokens": ["a", "a"], "reserved": 0}),
        "config.json: a token stands twice",
    ),
    "vocab endless": (
        lambda f: set_config(f, vocab={"tokens": ["a"], "reserved": 10**30}),
        "config.json: a vocabulary reserves up to",
    ),
    "vocab smaller": (
        lambda f: set_config(f, vocab={"tokens": ["a"], "reserved": 0}),
        "embedding.weight is",
    ),
    "weights cut": (lambda f: cut(f / WEIGHTS, 2000), "cannot read .*model.safetensors"),
    "weights empty": (lambda f: cut(f / WEIGHTS, 0), "cannot read .*model.safetensors"),
    "weights a pickle": (
        lambda f: torch.save({}, f / WEIGHTS),
        "cannot read .*model.safetensors",
    ),
    "header huge": (
        lambda f: (f / WEIGHTS).write_bytes(struct.pack("<Q", 2**62) + b"{}"),
        "cannot read .*model.safetensors",
    ),
    "tensor missing": (
        lambda f: change_weights(f, lambda w: w.pop("resolver.label.bias")),
        "model.safetensors: the tensor resolver.label.bias is missing",
    ),
    "tensor surplus": (
        lambda f: change_weights(f, lambda w: w.update(more=torch.zeros(2))),
        "model.safetensors: the tensor more is not part",
    ),
    "tensor wrong shape": (
        lambda f: change_weights(f, lambda w: w.update({"resolver.label.bias": torch.zeros(9)})),
        r"resolver.label.bias is \(9,\), but the config makes it \(4,\)",
    ),
    "tensor of integers": (
        lambda f: change_weights(
            f, lambda w: w.update({"resolver.label.bias": torch.zeros(4, dtype=torch.int64)})
        ),
        "resolver.label.bias holds torch.int64",
    ),
    "tensor NaN": (
        lambda f: change_weights(f, lambda w: w["resolver.label.bias"].fill_(float("nan"))),
        "resolver.label.bias holds values that are not finite",
    ),
    "folder empty": (lambda f: (shutil.rmtree(f), f.mkdir()), "config.json is missing"),
    "folder a file": (lambda f: (shutil.rmtree(f), f.write_text("x")), "is not a folder"),
    "folder a loop": (lambda f: (shutil.rmtree(f), f.symlink_to(f)), "is not a folder"),
}


@pytest.mark.parametrize("kind", DAMAGE)
def test_damage_is_named(kind: str, folder: Path) -> None:
    damage, message = DAMAGE[kind]
    damage(folder)
    with pytest.raises(PermnetError, match=message):
        load(folder)


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(file=st.sampled_from([CONFIG, WEIGHTS]), at=st.floats(0, 1), value=st.integers(0, 255))
def test_a_wrong_byte_never_escapes_as_another_error(
    folder: Path, file: str, at: float, value: int
) -> None:
    sound = (folder / file).read_bytes()
    bad = bytearray(sound)
    bad[int(at * (len(bad) - 1))] = value
    (folder / file).write_bytes(bad)
    with contextlib.suppress(PermnetError):
        load(folder)
    (folder / file).write_bytes(sound)


def test_shipped_names_come_before_folders_and_in_any_case(folder: Path, monkeypatch) -> None:
    monkeypatch.setattr(checkpoint, "SHIPPED", folder.parent)
    assert find("MINE") == folder
    assert load("Mine").provenance == {"seed": 3}
    assert find(str(folder)) == folder
    with pytest.raises(PermnetError, match=r"'mien': did you mean mine\? \(known: mine\)"):
        find("mien")


@pytest.mark.parametrize("name", ["", "no/where", "a\0b", "x" * 5000, "/", "~"])
def test_impossible_names_are_errors(name: str) -> None:
    with pytest.raises(PermnetError):
        load(name)


def test_ablations_that_do_not_fit_are_refused() -> None:
    with pytest.raises(PermnetError, match="gru has no ablations: leave out without='attn'"):
        small("gru", without="attn")
    with pytest.raises(PermnetError, match="without m_pl a model needs inputs of one length"):
        small(without="m_pl")
    small(where="PI10", without="m_pl")


def test_only_decompilers_recall() -> None:
    with pytest.raises(PermnetError, match="permneti recalls nothing: leave out recall"):
        small(recall=True)


def test_only_models_with_an_indirect_resolver_know_equal_tokens() -> None:
    with pytest.raises(PermnetError, match="copynet has no keys and queries: leave out equal"):
        small("copynet", equal=True)
    for name in ("permneti", "transformer-resolver"):
        model, _, _ = small(name, equal=True)
        assert model.resolver.equal


def test_building_depends_on_the_seed_alone() -> None:
    built = []
    for seed in (1, 1, 2):
        torch.manual_seed(seed)
        built.append(small()[0].state_dict())
    same, other = (
        all(torch.equal(built[0][key], weights[key]) for key in weights) for weights in built[1:]
    )
    assert same
    assert not other
