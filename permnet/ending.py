"""What a process does when it is told to end."""

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def on_sigterm(action: Callable[[], None]) -> Iterator[None]:
    """A SIGTERM calls the action, and ends the process no longer."""
    if threading.current_thread() is not threading.main_thread():  # signals are not for others
        yield
        return
    before = signal.signal(signal.SIGTERM, lambda *_: action())
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
