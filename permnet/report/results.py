"""The committed results, `results/runs/NAME.json`, one for each run: read, and checked."""

import json
import math
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Literal, cast

from permnet.config import Run, from_json
from permnet.errors import PermnetError
from permnet.metrics import wilson
from permnet.sweep import rendered


@dataclass(frozen=True)
class Figures:
    """TA, WEA and their like over so many examples."""

    ta: float
    wea: float
    count: int
    skeleton: float | None = None
    """Of switch sets: the share of right skeletons."""
    recompiles: float | None = None
    """Of switch sets: the share of answers that compile to their input; None if not tried."""

    def __post_init__(self) -> None:
        shares = (self.ta, self.wea, self.skeleton or 0.0, self.recompiles or 0.0)
        if not (all(0 <= share <= 1 for share in shares) and self.count > 0):
            raise PermnetError(f"TA and WEA are fractions of 1 example or more, not {self}")

    @property
    def interval(self) -> tuple[float, float]:
        """95 %, of the WEA."""
        return wilson(round(self.wea * self.count), self.count)


@dataclass(frozen=True)
class Tested:
    """The figures on a test split: on all of it, and by length."""

    figures: Figures
    by_length: dict[int, Figures]


@dataclass(frozen=True)
class Validated:
    """An evaluation on the validation split."""

    wea: float
    epoch: int


@dataclass(frozen=True)
class Evaluation:
    """A point of the learning curve; `length` is the one trained on, which may grow."""

    step: int
    epoch: int
    seconds: float
    loss: float
    ta: float
    wea: float
    length: int


@dataclass(frozen=True, kw_only=True)
class Course:
    """How long a run took, and why it ended before its epochs were over, if it did."""

    track: Literal["fixed", "fresh"]
    steps: int
    epochs: int
    epochs_to_99: int | None
    seconds: float
    stopped: Literal["solved", "patience", "time"] | None = None


@dataclass(frozen=True, kw_only=True)
class Result(Course):
    """What a finished run left: the last epoch on the test split, and how it got there."""

    name: str
    file: str
    run: Run
    test: Figures
    by_length: dict[int, Figures]
    unseen: Figures | None
    """On the test examples that do not stand in training, where some do."""
    tests: dict[str, Tested]
    """On other benchmarks than its own, by their names."""
    last: Validated
    best: Validated
    data_sha256: str
    device: str
    curve: tuple[Evaluation, ...]

    @property
    def at_full_length(self) -> tuple[Evaluation, ...]:
        """The end of the curve: while lengths grow, evaluations are on examples so short."""
        return tuple(point for point in self.curve if point.length == self.curve[-1].length)


def read_results(folder: Path) -> dict[str, Result]:
    """All results in the folder, by name; other files than JSON are left alone."""
    if not folder.is_dir():
        raise PermnetError(f"{folder} is not a folder: give the one that holds runs/NAME.json")
    results = {}
    for path in sorted(folder.glob("runs/*.json")):
        file = f"{folder.resolve().name}/runs/{path.name}"
        raw = read_json(path)
        if not isinstance(raw, dict) or raw.get("status") != "finished":
            raise PermnetError(f"{path} is not the result of a finished run: move it elsewhere")
        try:
            results[path.stem] = _result(path.stem, file, raw)
        except (KeyError, TypeError, AttributeError) as error:
            raise PermnetError(f"{path} is not a result: {error!r}") from error
        except ValueError as error:
            raise PermnetError(f"{path}: {error}") from error
    return results


def put_figures(path: Path, figures: dict[str, Any]) -> None:
    """Into the result of a run the figures of the same answers, with what more was found of them.

    They are the same if they are to the same examples and as many are right.
    """
    name, raw = figures["benchmark"], cast(Any, read_json(path))
    try:
        there = raw["test"] if raw["test"]["benchmark"] == name else raw["tests"][name]
        differing = [mark for mark in _SAME if there[mark] != figures[mark]]
        there |= figures
        text = rendered(raw)
    except (KeyError, TypeError) as error:
        raise PermnetError(f"{path} is not the result of a run tested on {name}") from error
    if differing:
        raise PermnetError(
            f"{path} is of other answers: {', '.join(differing)} of its test on {name} differ"
        )
    path.write_text(text, "utf-8")


_SAME = ("data_sha256", "count", "wea", "ta")


def read_json(path: Path) -> object:
    """The value in a file; NaN and what is too large for a float are no JSON."""
    try:
        return json.loads(path.read_text("utf-8"), parse_constant=_finite, parse_float=_finite)
    except (OSError, ValueError, RecursionError) as error:
        raise PermnetError(f"cannot read {path}: {error}") from error


def _finite(text: str) -> float:
    if not math.isfinite(float(text)):
        raise ValueError(f"{text} is not a finite number")
    return float(text)


def _result(name: str, file: str, raw: dict[str, Any]) -> Result:
    test = raw["test"]
    unseen = test["unseen"]
    some_seen = unseen is not None and 0 < unseen["count"] < test["count"]
    return Result(
        name=name,
        file=file,
        run=from_json(Run, raw["run"], "run"),
        test=_part(Figures, test, "test"),
        by_length=_by_length(test, "test"),
        unseen=_part(Figures, unseen, "test.unseen") if some_seen else None,
        tests={
            other: Tested(
                _part(Figures, part, f"tests.{other}"), _by_length(part, f"tests.{other}")
            )
            for other, part in raw.get("tests", {}).items()
        },
        last=_part(Validated, raw["validation"]["last"], "validation.last"),
        best=_part(Validated, raw["validation"]["best"], "validation.best"),
        data_sha256=str(test["data_sha256"]),
        device=str(raw["hardware"]["device"]),
        curve=tuple(
            from_json(Evaluation, dict(zip(_POINT, point, strict=True)), "curve")
            for point in raw.get("curve", ())
        ),
        **vars(_part(Course, raw, "result")),
    )


def _by_length(part: dict[str, Any], where: str) -> dict[int, Figures]:
    return {
        int(length): _part(Figures, figures, f"{where}.by_length.{length}")
        for length, figures in part["by_length"].items()
    }


_POINT = [field.name for field in fields(Evaluation)]


def _part(cls: type[Any], raw: dict[str, Any], where: str) -> Any:
    """The fields of this class, of an object that holds more."""
    known = [field.name for field in fields(cls)]
    return from_json(cls, {name: raw[name] for name in known if name in raw}, where)
