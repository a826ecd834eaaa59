"""What a process does when it is told to end."""

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

SIGNALS = (signal.SIGTERM, signal.SIGHUP)


@contextmanager
def on_ending(action: Callable[[int], None]) -> Iterator[None]:
    """A SIGTERM or SIGHUP calls the action with its number, and ends the process no longer.

    One that is ignored, as SIGHUP is under nohup, stays so.
    """
    if threading.current_thread() is not threading.main_thread():  # signals are not for others
        yield
        return
    before = {n: old for n in SIGNALS if (old := signal.getsignal(n)) is not signal.SIG_IGN}
    for number in before:
        signal.signal(number, lambda number, _: action(number))
    try:
        yield
    finally:
        for number, old in before.items():
            signal.signal(number, old)
