"""The folder of a training run, which a kill at any moment leaves fit to be resumed.

    run.json        what is trained, on which data, with which versions; written once
    metrics.jsonl   one line for each evaluation
    last/  best/    checkpoints; last/ also holds what training needs to go on
    answers/        to the test splits of switch sets, which a compiler may then judge
    result.json     written when the run is finished
    .lock           the process that trains here: `kill $(cat RUN/.lock)` stops it with a checkpoint

Every file and folder takes its name only when it is complete. `last/` says how many lines of
`metrics.jsonl` belong to it; what a killed process wrote after them is cut off on resuming.
"""

import contextlib
import fcntl
import json
import os
import shutil
import sys
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from safetensors import SafetensorError
from safetensors.torch import load as load_tensors
from safetensors.torch import save as save_tensors
from torch import Tensor

from permnet import checkpoint
from permnet.config import Run, from_json, to_json
from permnet.errors import PermnetError
from permnet.models import Seq2Seq
from permnet.vocab import Vocab

RUN, METRICS, ANSWERS, RESULT = "run.json", "metrics.jsonl", "answers", "result.json"
LOCK = ".lock"
FORMAT = 1
OPTIMISER, POSITION = "optimiser.safetensors", "position.json"
Stopped = Literal["solved", "patience", "time"]


@dataclass
class Position:
    """How far a run has come. All its random numbers follow from the seed and from this."""

    stage: int = 0
    """Which of the growing lengths; the last one is the full length."""
    epoch: int = 0
    """Epochs finished in this stage."""
    epochs: int = 0
    """Epochs finished in all."""
    batch: int = 0
    """Steps done in the epoch under way."""
    loss: float = 0.0
    """Sum of their losses."""
    step: int = 0
    """Steps done in all."""
    seconds: float = 0.0
    sharing: int = 1
    """The most runs that used the device at a time, this one included."""
    lines: int = 0
    """Lines of metrics.jsonl."""
    epochs_to_99: int | None = None
    """Epochs until 99 % of the validation split were whole, at full length."""
    lowest: float | None = None
    """The lowest validation loss at full length."""
    lowest_epoch: int = 0
    """Epochs finished in this stage when it was met."""
    stopped: Stopped | None = None
    """Why this stage ended before its epochs were over."""
    last: dict[str, Any] | None = None
    best: dict[str, Any] | None = None
    """The last evaluation, and the best one at full length, as in metrics.jsonl."""


@dataclass(frozen=True)
class Saved:
    """What `last/` holds: weights, optimiser state and position."""

    weights: dict[str, Tensor]
    optimiser: dict[str, Tensor]
    position: Position


class RunFolder:
    """Opens a folder for a run, new or to be resumed, for this process alone."""

    def __init__(self, path: Path, run: Run, about: dict[str, Any], *, resume: bool) -> None:
        self.path, self.run, self.about = path, run, about
        with _writing(path), contextlib.ExitStack() as stack:
            self._check_usable(resume)
            path.mkdir(parents=True, exist_ok=True)
            self._lock = stack.enter_context((path / LOCK).open("a"))
            try:
                fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise PermnetError(f"another process is training in {path}") from None
            self._lock.truncate(0)
            self._lock.write(f"{os.getpid()}\n")
            self._lock.flush()
            if (path / RUN).exists():
                self._check_same(about["data_sha256"])
            else:
                _write_json(path / RUN, {"format": FORMAT, "run": to_json(run), **about})
            for name in ("last", "best"):
                old = path / f".{name}.old"  # where a kill between two renames left it
                if old.exists() and not (path / name).exists():
                    old.rename(path / name)
            stack.pop_all()  # all is well: the lock stays

    def close(self) -> None:
        self._lock.close()

    def _check_usable(self, resume: bool) -> None:
        if self.path.exists() and not self.path.is_dir():
            raise PermnetError(f"{self.path} is not a folder: choose another one")
        names = [p.name for p in self.path.iterdir()] if self.path.exists() else []
        ours = RUN in names or all(name.startswith(".") for name in names)
        if not ours:
            raise PermnetError(
                f"{self.path} holds other things and no {RUN}: choose an empty or new folder"
            )
        if resume and not self.path.exists():
            raise PermnetError(f"nothing to resume: {self.path} does not exist")
        if RUN in names and not resume:
            raise PermnetError(
                f"{self.path} already holds a run: add --resume to go on, or choose another folder"
            )

    def _check_same(self, data_sha256: dict[str, str]) -> None:
        there = _read_json(self.path / RUN)
        if there.get("format") != FORMAT:
            raise PermnetError(
                f"{self.path / RUN}: its format is {there.get('format')!r}, this version reads "
                f"{FORMAT}: resume it with the version that began it, or choose a new folder"
            )
        before = to_json(from_json(Run, there.get("run"), f"{self.path / RUN}: run"))
        now = to_json(self.run)
        for field, old, new in _differences(before, now):
            raise PermnetError(
                f"cannot resume {self.path} with a changed config: {field} was {old!r} and is now "
                f"{new!r}; give the old value, or choose a new folder"
            )
        if there.get("data_sha256") != data_sha256:
            raise PermnetError(f"cannot resume {self.path}: it was trained on other data")

    def result(self) -> dict[str, Any] | None:
        path = self.path / RESULT
        if not path.exists():
            return None
        result = _read_json(path)
        if result.get("status") != "finished":
            raise PermnetError(f"{path} is not the result of a finished run: move it elsewhere")
        test = result.get("test")
        told = {*result, *(test if isinstance(test, dict) else ())}
        for name in ("steps", "seconds", "benchmark", "ta", "wea", "count"):
            if name not in told:
                raise PermnetError(f"{path} is not the whole result of a run: it has no {name}")
        return result

    def write_result(self, result: dict[str, Any]) -> None:
        with _writing(self.path / RESULT):
            _write_json(self.path / RESULT, result)

    def write_answers(self, benchmark: str, answers: list[list[str]]) -> None:
        """Those to a test split, as `permnet score` reads them."""
        path = self.path / ANSWERS / f"{benchmark}.jsonl"
        with _writing(path):
            path.parent.mkdir(exist_ok=True)
            _write_text(path, "".join(json.dumps({"output": row}) + "\n" for row in answers))

    def log(self, line: dict[str, Any]) -> None:
        with (
            _writing(self.path / METRICS),
            (self.path / METRICS).open("a", encoding="utf-8") as file,
        ):
            file.write(json.dumps(line, allow_nan=False) + "\n")
            file.flush()
            os.fsync(file.fileno())

    def check_space(self, model: Seq2Seq) -> None:
        """Refuses to start on a disk that could not hold last, best and a new one beside them."""
        weights = sum(p.numel() * p.element_size() for p in model.parameters())
        needed, free = 8 * weights + 2**20, shutil.disk_usage(self.path).free
        if free < needed:
            raise PermnetError(
                f"{self.path} has {free / 2**20:.0f} MiB left, the checkpoints of this run need "
                f"{needed / 2**20:.0f} MiB: free some space or choose another disk"
            )

    def save(
        self,
        name: str,
        model: Seq2Seq,
        vocab: Vocab,
        position: Position,
        optimiser: dict[str, Tensor] | None = None,
    ) -> None:
        """Replaces a checkpoint; with the optimiser's state it can be resumed from."""
        provenance = {
            "seed": self.run.train.seed,
            "figures": position.last,
            **self.about,
            "sharing": position.sharing,
        }
        with checkpoint.replacing(self.path / name) as partial:
            checkpoint.write(partial, model, self.run, vocab, provenance)
            if optimiser is not None:
                state = {k: v.detach().cpu() for k, v in optimiser.items()}
                (partial / OPTIMISER).write_bytes(save_tensors(state))
                (partial / POSITION).write_text(json.dumps(asdict(position), allow_nan=False))

    def load(self) -> Saved | None:
        """What was saved last, with `metrics.jsonl` cut to it; None if nothing was."""
        folder = self.path / "last"
        if not folder.exists():
            self._cut(0)
            return None
        weights = checkpoint.load(folder).model.state_dict()
        try:
            optimiser = load_tensors((folder / OPTIMISER).read_bytes())
            position = from_json(Position, _read_json(folder / POSITION), POSITION)
        except (OSError, SafetensorError, PermnetError) as error:
            raise PermnetError(f"cannot resume from {folder}: {error}") from error
        self._cut(position.lines)
        return Saved(weights, optimiser, position)

    def _cut(self, lines: int) -> None:
        path = self.path / METRICS
        there = path.read_text("utf-8").splitlines(keepends=True) if path.exists() else []
        if len(there) < lines:
            raise PermnetError(f"cannot resume: {path} has {len(there)} lines of {lines}")
        if len(there) > lines:
            _write_text(path, "".join(there[:lines]))


def wait_until_free(path: Path, seconds: float) -> None:
    """Gives a process that trains in the folder, and may be ending, so long to end."""
    until, told = time.monotonic() + seconds, False
    while _is_locked(path / LOCK) and time.monotonic() < until:
        if not told:
            waiting = f"another process is training in {path}: waiting up to {seconds:.0f} s"
            print(waiting, file=sys.stderr, flush=True)
        told = True
        time.sleep(0.2)


def _is_locked(lock: Path) -> bool:
    try:
        with lock.open("r+") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:  # there is none; what else may be wrong is said when it is taken
        return False
    return False


def _differences(
    before: dict[str, Any], now: dict[str, Any], prefix: str = ""
) -> Iterator[tuple[str, Any, Any]]:
    for name, old in before.items():
        if isinstance(old, dict):
            yield from _differences(old, now[name], f"{prefix}{name}.")
        elif old != now[name]:
            yield f"{prefix}{name}", old, now[name]


def _read_json(path: Path) -> dict[str, Any]:
    try:
        value = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise PermnetError(f"cannot read {path}: {error}") from error
    if not isinstance(value, dict):
        raise PermnetError(f"{path} is not a JSON object")
    return value


def _write_json(path: Path, value: dict[str, Any]) -> None:
    _write_text(path, json.dumps(value, indent=1, allow_nan=False) + "\n")


def _write_text(path: Path, text: str) -> None:
    partial = path.with_name(f".{path.name}.part")
    with partial.open("w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    partial.replace(path)


@contextlib.contextmanager
def _writing(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise PermnetError(f"cannot write {path}: {error.strerror or error}") from error
