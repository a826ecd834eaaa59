"""Checkpoints: a folder with `model.safetensors` and `config.json`. No pickle is ever read.

`config.json` holds `{"format": 1, "run": …, "task": …, "vocab": …, "provenance": …}`: what was
trained and how, the task and the vocabulary it was built for, and where the weights come from.
"""

import hashlib
import json
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save as to_bytes
from torch import Tensor
from torch.overrides import TorchFunctionMode

from permnet.build import build
from permnet.config import Run, from_json, to_json
from permnet.errors import PermnetError, unknown
from permnet.models import Seq2Seq
from permnet.tasks.find import find as find_benchmark
from permnet.tasks.permutation import Task
from permnet.tasks.switch.benchmark import SwitchTask
from permnet.vocab import Vocab

FORMAT = 1
WEIGHTS, CONFIG = "model.safetensors", "config.json"
SHIPPED = Path(__file__).parent / "checkpoints"
FIELDS = ("format", "run", "task", "vocab", "provenance")
LARGEST_CONFIG = 16 * 2**20  # bytes; the largest vocabulary takes one of them


@dataclass(frozen=True)
class Description:
    """What `config.json` says of a model."""

    run: Run
    task: Task | SwitchTask
    vocab: Vocab
    provenance: dict[str, Any]


@dataclass(frozen=True)
class Checkpoint(Description):
    """A trained model with its description."""

    model: Seq2Seq


def save(
    folder: str | Path,
    model: Seq2Seq,
    run: Run,
    vocab: Vocab,
    provenance: dict[str, Any],
    *,
    half: bool = False,
) -> None:
    """Write a checkpoint, all of it or nothing; one that stands there already is replaced.

    `half` stores the weights in 16 bits: half the size, and no longer the same bit for bit.
    """
    with replacing(folder) as partial:
        write(partial, model, run, vocab, provenance, half=half)


def write(
    folder: Path,
    model: Seq2Seq,
    run: Run,
    vocab: Vocab,
    provenance: dict[str, Any],
    *,
    half: bool = False,
) -> None:
    """The two files of a checkpoint, into a folder that exists: see `replacing`."""
    weights = {}
    for name, tensor in model.state_dict().items():
        stored = tensor.detach().half() if half else tensor.detach()
        if not bool(stored.isfinite().all()):
            raise PermnetError(
                f"cannot save a checkpoint: {name} is not finite" + (" in 16 bits" if half else "")
            )
        weights[name] = stored.to("cpu", copy=True).contiguous()  # copies: no two share memory
    config = {
        "format": FORMAT,
        "run": to_json(run),
        "task": to_json(find_benchmark(run.benchmark).task),
        "vocab": vocab.to_json(),
        "provenance": provenance,
    }
    (folder / WEIGHTS).write_bytes(to_bytes(weights))
    (folder / CONFIG).write_text(json.dumps(config, indent=1, allow_nan=False) + "\n")


@contextmanager
def replacing(folder: str | Path) -> Iterator[Path]:
    """A new folder that takes the place of a checkpoint when the block ends without an error.

    Everything is on disk before the old one moves aside. Killed at any moment, it leaves the old
    or the new one; in the blink between two renames the old one as `.NAME.old`, where `load` and
    `describe` look too.
    """
    folder = Path(os.path.abspath(folder))
    if not folder.name:
        raise PermnetError(f"{folder} is no place for a checkpoint: choose another folder")
    partial, old = folder.with_name(f".{folder.name}.part"), _old(folder)
    try:
        if folder.exists() and not (folder.is_dir() and _may_replace(folder)):
            raise PermnetError(f"{folder} exists and is not a checkpoint: choose another folder")
        folder.parent.mkdir(parents=True, exist_ok=True)
        shutil.rmtree(partial, ignore_errors=True)
        partial.mkdir()
        try:
            yield partial
            for path in (*partial.rglob("*"), partial):
                _flush(path)
            if folder.exists():
                shutil.rmtree(old, ignore_errors=True)
                folder.rename(old)
            partial.rename(folder)
            _flush(folder.parent)
        finally:
            shutil.rmtree(partial, ignore_errors=True)
        shutil.rmtree(old, ignore_errors=True)
    except (OSError, SafetensorError) as error:
        raise PermnetError(f"cannot write the checkpoint {folder}: {_reason(error)}") from error


def _may_replace(folder: Path) -> bool:
    names = {path.name for path in folder.iterdir()}
    return not names or {WEIGHTS, CONFIG} <= names


def _old(folder: Path) -> Path:
    return folder.with_name(f".{folder.name}.old")


def _flush(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def shipped() -> list[str]:
    """The names of the models that come with the package, the smallest first."""
    weights = sorted(SHIPPED.glob(f"*/{WEIGHTS}"), key=lambda path: (path.stat().st_size, path))
    return [path.parent.name for path in weights]


def find(name_or_folder: str | Path) -> Path:
    """The folder of a shipped model, whose name may be in lower case, or the path as it is."""
    path = Path(name_or_folder)
    names = shipped()
    if isinstance(name_or_folder, str):
        for name in names:
            if name.lower() == name_or_folder.lower():
                return SHIPPED / name
    try:
        if os.path.lexists(path) or _old(path).is_dir():
            return path
    except (OSError, ValueError):  # an impossible path, such as one with a NUL byte, or "/"
        pass
    if isinstance(name_or_folder, Path):
        raise PermnetError(f"there is no folder {name_or_folder}")
    raise unknown("model or folder", name_or_folder, names)


def describe(name_or_folder: str | Path) -> Description:
    """What a checkpoint is, without reading its weights."""
    return _description(_folder(name_or_folder))


def load(name_or_folder: str | Path) -> Checkpoint:
    """The checkpoint, its model in float32 on the CPU and ready to answer.

    A string may be the name of a shipped model; a `Path` is always a folder.
    """
    folder = _folder(name_or_folder)
    about = _description(folder)
    try:
        model = _load_model(folder / WEIGHTS, about)
    except (OSError, SafetensorError) as error:
        raise PermnetError(f"cannot read {folder / WEIGHTS}: {_reason(error)}") from error
    return Checkpoint(about.run, about.task, about.vocab, about.provenance, model)


def check_start(run: Run, task: Task | SwitchTask) -> None:
    """Refuses a `train.start` whose weights are none for this run's model."""
    trained = describe(run.train.start)
    if trained.run.model != run.model:
        raise PermnetError(
            f"train.start is a model such as this run's, {run.model}, not {trained.run.model}"
        )
    # A model may also have sizes of its task. With one vocabulary those of the tokens agree.
    mine, theirs = (_undrawn(replace(trained, task=each)) for each in (task, trained.task))
    for name, tensor in mine.items():
        if tensor.shape != theirs[name].shape:
            raise PermnetError(
                f"train.start is of another task: its {name} is {tuple(theirs[name].shape)}, and "
                f"{run.benchmark} makes it {tuple(tensor.shape)}"
            )


def weights_sha256(name_or_folder: str | Path) -> str:
    """A digest of the weights' file."""
    return hashlib.sha256((_folder(name_or_folder) / WEIGHTS).read_bytes()).hexdigest()


def begin_with(model: Seq2Seq, vocab: Vocab, trained: Checkpoint) -> None:
    """Give a model the weights of a trained one; what is of a token follows the token's name.

    Tokens that the other does not know keep what the model has for them.
    """
    theirs = trained.vocab
    ids = {theirs.name(i): i for i in range(len(theirs))}
    shared = [(i, ids[vocab.name(i)]) for i in range(len(vocab)) if vocab.name(i) in ids]
    mine, other = torch.tensor(shared).T
    weights = trained.model.state_dict()
    with torch.no_grad():
        for name, tensor in model.state_dict().items():
            if len(tensor) == len(vocab) and len(weights[name]) == len(theirs):
                tensor[mine] = weights[name][other].to(tensor.device)
            else:
                tensor.copy_(weights[name])


def _folder(name_or_folder: str | Path) -> Path:
    folder = find(name_or_folder)
    if folder.is_dir():
        return folder
    if _old(folder).is_dir():
        return _old(folder)
    raise PermnetError(f"{folder} is not a folder: a checkpoint is one, with {CONFIG} in it")


def _description(folder: Path) -> Description:
    path = folder / CONFIG
    raw = _read_json(path)
    try:
        if not isinstance(raw, dict):
            raise PermnetError("a config is a JSON object")
        if raw.get("format") != FORMAT:
            raise PermnetError(f"its format is {raw.get('format')!r}, this version reads {FORMAT}")
        for field in FIELDS:
            if field not in raw:
                raise PermnetError(f"the field {field!r} is missing")
        for field in raw:
            if field not in FIELDS:
                raise unknown("field", field, FIELDS)
        if not isinstance(raw["provenance"], dict):
            raise PermnetError("provenance is a JSON object")
        task = raw["task"]
        kind = SwitchTask if isinstance(task, dict) and "labels" in task else Task
        return Description(
            run=from_json(Run, raw["run"], "run"),
            task=from_json(kind, task, "task"),
            vocab=Vocab.from_json(raw["vocab"]),
            provenance=raw["provenance"],
        )
    except PermnetError as error:
        raise PermnetError(f"{path}: {error}") from error


def _read_json(path: Path) -> object:
    try:
        if not path.is_file():
            raise PermnetError(f"{path} is missing: {path.parent} is not a checkpoint")
        with path.open("rb") as file:
            text = file.read(LARGEST_CONFIG + 1)
    except OSError as error:
        raise PermnetError(f"cannot read {path}: {_reason(error)}") from error
    if len(text) > LARGEST_CONFIG:
        raise PermnetError(f"{path} is larger than {LARGEST_CONFIG} bytes: it is not a config")
    try:
        return json.loads(text, parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:
        raise PermnetError(f"{path} is not JSON: {error}") from error


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not a JSON value")


def _load_model(path: Path, about: Description) -> Seq2Seq:
    if not path.is_file():
        raise PermnetError(f"{path} is missing: {path.parent} is not a checkpoint")
    with safe_open(path, framework="pt") as file:
        expected = _expected(path.with_name(CONFIG), about)
        stored = set(file.keys())
        for name in (*expected, *stored):
            if name not in stored:
                raise PermnetError(f"{path}: the tensor {name} is missing")
            if name not in expected:
                raise PermnetError(f"{path}: the tensor {name} is not part of this model")
            shape, wanted = tuple(file.get_slice(name).get_shape()), tuple(expected[name].shape)
            if shape != wanted:
                raise PermnetError(
                    f"{path}: the tensor {name} is {shape}, but the config makes it {wanted}"
                )
        weights = {name: _checked(file.get_tensor(name), name, path) for name in expected}
    with torch.random.fork_rng(devices=[]), torch.device("cpu"):  # whatever the default is
        model = build(about.run.model, about.vocab, about.task)
    model.load_state_dict(weights)
    return model.eval()


def _expected(config: Path, about: Description) -> dict[str, Tensor]:
    """The weights that the config asks for, without memory: a damaged one must not exhaust it."""
    try:
        return _undrawn(about)
    except PermnetError as error:
        raise PermnetError(f"{config}: {error}") from error


def _undrawn(about: Description) -> dict[str, Tensor]:
    """The weights that such a model has, by their names; without values."""
    with torch.device("meta"), _Undrawn():
        return build(about.run.model, about.vocab, about.task).state_dict()


class _Undrawn(TorchFunctionMode):
    """Leaves weights undrawn: for tensors without memory torch would load its compiler first."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        given = kwargs or {}
        if func is torch.nn.init.normal_ or func is torch.nn.init.uniform_:
            return args[0] if args else given["tensor"]
        return func(*args, **given)


def _checked(tensor: Tensor, name: str, path: Path) -> Tensor:
    if not tensor.is_floating_point():
        raise PermnetError(f"{path}: the tensor {name} holds {tensor.dtype}, not floating point")
    if not bool(tensor.float().isfinite().all()):
        raise PermnetError(f"{path}: the tensor {name} holds values that are not finite")
    return tensor


def _reason(error: Exception) -> str:
    return getattr(error, "strerror", None) or str(error)
