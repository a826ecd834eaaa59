"""What a sweep has to do: which runs, how far each is, and how long it will take."""

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from permnet.config import Run, from_json
from permnet.errors import PermnetError
from permnet.experiments import runs_of

Status = Literal["new", "started", "finished"]
DAMAGED = (OSError, ValueError, LookupError, TypeError)
"""What reading a run's damaged files may raise."""

Runs = str | tuple[str, ...] | dict[str, Run]
"""The name of a list of runs, several of them, or the runs themselves by their names."""


@dataclass(frozen=True)
class Planned:
    """A run of a sweep: where it stands, its steps at the most, and the seconds they will take.

    On the device where the like was measured, which may be another than this machine's.
    """

    name: str
    run: Run
    status: Status
    steps: int
    seconds: float | None
    device: str | None


def plan(
    runs: Runs,
    folder: Path,
    shard: tuple[int, int] = (1, 1),
    *,
    missing: bool = False,
) -> list[Planned]:
    """The runs of this shard, with estimates from results in the folder or in `results/`.

    With `missing` only those that `results/` does not have, at these very settings.
    """
    if not isinstance(runs, dict):
        names = (runs,) if isinstance(runs, str) else runs
        runs = {run: made for name in names for run, made in runs_of(name).items()}
    part, parts = shard
    if not 1 <= part <= parts:
        raise PermnetError(f"a shard is i/n with i from 1 to n, not {part}/{parts}")
    kept = list(_recorded(Path("results").rglob("*.json")))
    recorded = [*_recorded(folder.glob("*/result.json")), *kept]
    if missing:
        there = {run for run, *_ in kept}
        runs = {name: run for name, run in runs.items() if run not in there}
    return [
        Planned(name, run, _status(folder / name, run), _steps(run), *_estimate(run, recorded))
        for name, run in list(runs.items())[part - 1 :: parts]
    ]


def label_of(runs: Runs) -> str:
    """What its folder and archive are called: the name of the list, if it is a single one."""
    names = (runs,) if isinstance(runs, str) else runs
    return names[0] if isinstance(names, tuple) and len(names) == 1 else "sweep"


def _status(folder: Path, run: Run) -> Status:
    """A run that was finished with other settings is not: resuming it says which they are."""
    result = folder / "result.json"
    if result.exists() and _settings(result) in (run, None):
        return "finished"
    return "started" if (folder / "run.json").exists() else "new"


def _settings(result: Path) -> Run | None:
    """Those of a result; None where they cannot be read, of which `_finished` tells."""
    try:
        return from_json(Run, json.loads(result.read_text("utf-8"))["run"])
    except DAMAGED:
        return None


def _steps(run: Run) -> int:
    c = run.train
    return (c.examples // c.batch) * (c.epochs + len(c.grow) * c.grow_epochs)


def _recorded(paths: Iterable[Path]) -> Iterator[tuple[Run, float, str]]:
    """The runs of results, the seconds that a step took, and where; passes over other files."""
    for path in sorted(paths):
        try:
            result = json.loads(path.read_text("utf-8"))
            run = from_json(Run, result["run"])
            device = dict(result.get("hardware", {})).get("device", "an unknown device")
            yield run, float(result["seconds"]) / int(result["steps"]), str(device)
        except (*DAMAGED, ArithmeticError):
            continue


def _estimate(
    run: Run, recorded: list[tuple[Run, float, str]]
) -> tuple[float, str] | tuple[None, None]:
    """Steps times the seconds a step took before, at the same benchmark, model and batch.

    Of an ablation that was never run it is the full model's, which takes hardly less.
    """

    def sort(run: Run) -> tuple[object, ...]:
        return run.benchmark.partition("@")[0], run.model, run.train.batch

    for like in (run, replace(run, model=replace(run.model, without=None))):
        for done, per_step, device in recorded:
            if sort(done) == sort(like):
                seconds = _steps(run) * per_step
                return min(seconds, run.train.time_limit or seconds), device
    return None, None
