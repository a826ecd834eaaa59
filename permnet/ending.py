"""What processes do when they are told to end."""

import multiprocessing
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from multiprocessing import resource_tracker
from multiprocessing.pool import Pool

SIGNALS = (signal.SIGTERM, signal.SIGHUP)


@contextmanager
def on_ending(
    action: Callable[[int], None], signals: Sequence[signal.Signals] = SIGNALS
) -> Iterator[None]:
    """A SIGTERM or SIGHUP calls the action with its number, and ends the process no longer.

    One that is ignored, as SIGHUP is under nohup, stays so.
    """
    if threading.current_thread() is not threading.main_thread():  # signals are not for others
        yield
        return
    before = {n: old for n in signals if (old := signal.getsignal(n)) is not signal.SIG_IGN}
    for number in before:
        signal.signal(number, lambda number, _: action(number))
    try:
        yield
    finally:
        for number, old in before.items():
            signal.signal(number, old)


@contextmanager
def interrupted_after(stop: Callable[[], None]) -> Iterator[None]:
    """The first Ctrl-C calls `stop`, and interrupts when what is done here has come to its end.

    A second one does not wait for that.
    """
    pressed = False

    def press(_: int) -> None:
        nonlocal pressed
        if pressed:
            raise KeyboardInterrupt
        pressed = True
        stop()

    with on_ending(press, (signal.SIGINT,)):
        yield
    if pressed:
        raise KeyboardInterrupt


@contextmanager
def without_interrupts() -> Iterator[None]:
    """Processes started in it never hear of a Ctrl-C, not even while they begin.

    A terminal sends it to all, but one is enough to end the others in order: this one.
    """
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def pool(processes: int, begin: Callable[[], None] | None = None) -> Pool:
    """Processes that never hear of a Ctrl-C; each calls `begin` first."""
    resource_tracker.ensure_running()  # begun by the first of them, it would undo the block
    with without_interrupts():
        return multiprocessing.get_context("spawn").Pool(processes, begin)
