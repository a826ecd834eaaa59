"""The models that the page offers: those shipped, and those a person named when it was started."""

import threading
from collections.abc import Sequence
from typing import Any

from permnet import checkpoint
from permnet.checkpoint import Checkpoint, Description, describe, find, load, shipped
from permnet.decompiling.answer import Answerer
from permnet.decompiling.pipeline import MODELS as DECOMPILERS
from permnet.decompiling.pipeline import Pipeline, shipped_decompilers
from permnet.errors import PermnetError, unknown
from permnet.tasks.permutation import Task

N_BEST = 5  # candidates that the page lists


class Models:
    """Checkpoints by the name they are offered under, read when first asked for.

    Only what was named at the start can be asked for: a page cannot make the server read a folder.
    """

    def __init__(self, named: Sequence[str] = ()) -> None:
        given = {*map(offered, named)}
        # The page asks one decompiler: at first the one that knows the most of C.
        names = (*map(offered, named), *reversed(shipped_decompilers()), *shipped())
        known = {name: describe(name) for name in names}
        known = {name: d for name, d in known.items() if name in given or _has_page(d)}
        if not known:
            raise PermnetError("no trained models come with this copy: name one with --model")

        def place(name: str) -> int:  # after those named the models for keys, with most to show
            return 0 if name in given else 1 if _kind(known[name]) == "indirect" else 2

        self._about = {name: known[name] for name in sorted(known, key=place)}
        self._loaded: dict[str, Checkpoint] = {}
        self._lock = threading.Lock()

    def __getitem__(self, name: str) -> Checkpoint:
        if name not in self._about:
            raise unknown("model", name, self._about)
        with self._lock:
            if name not in self._loaded:
                self._loaded[name] = load(name)
            return self._loaded[name]

    def warm(self) -> None:
        """Read the first model now, so that the first answer comes at once."""
        self[next(iter(self._about))]

    def pipeline(self, name: str) -> Pipeline:
        """The decompiler of that name."""
        trained = self[name]
        if trained.run.model.name not in DECOMPILERS:
            raise PermnetError(f"{name} is a {trained.run.model.name}, not a decompiler")
        return Pipeline(Answerer(trained.model, trained.vocab), n_best=N_BEST)

    def listed(self) -> list[dict[str, Any]]:
        """What the page says of each, the first one first; `kind` is None for decompilers."""
        return [
            {
                "name": name,
                "architecture": about.run.model.name,
                "without": about.run.model.without,
                "benchmark": about.run.benchmark,
                "kind": _kind(about),
            }
            for name, about in self._about.items()
        ]


def _kind(about: Description) -> str | None:
    """What is asked of a model; None for a decompiler."""
    return about.task.kind if isinstance(about.task, Task) else None


def _has_page(about: Description) -> bool:
    return isinstance(about.task, Task) or about.run.model.name in DECOMPILERS


def offered(name: str) -> str:
    """What the page calls a model: a shipped one by its name, others by the folder as given."""
    folder = find(name)
    return folder.name if folder.parent == checkpoint.SHIPPED else name
