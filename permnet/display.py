"""What a person sees of a training under way; nothing without a terminal, or without rich."""

import contextlib
from collections.abc import Iterator
from importlib.util import find_spec
from typing import Protocol


class Display(Protocol):
    def __call__(self, done: float, total: float, text: str) -> None: ...


@contextlib.contextmanager
def progress_bar(shown: bool) -> Iterator[Display]:
    """A function that moves the bar to `done` of `total` and puts a text beside it."""
    if not shown or find_spec("rich") is None:
        yield lambda done, total, text: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TimeRemainingColumn(compact=True, elapsed_when_finished=True),
    )
    screen = Console(stderr=True)
    hidden = not screen.is_terminal
    with Progress(*columns, console=screen, transient=True, disable=hidden) as bar:
        task = bar.add_task("")
        yield lambda done, total, text: bar.update(
            task, completed=done, total=total, description=text
        )
