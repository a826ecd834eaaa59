"""Other programs, run within limits of time, memory and output, without a shell or a terminal."""

import os
import select
import shutil
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import IO

SECONDS = 60
MEMORY = 2 << 30
OUTPUT = 256 << 20

# Limits are set between fork and exec, where a Python function is unsafe beside threads. `prlimit`
# of Linux does it in a millisecond; elsewhere another Python does.
_LIMITED = """
import os, resource, sys
for limit, value in zip(("RLIMIT_CPU", "RLIMIT_AS", "RLIMIT_FSIZE"), map(int, sys.argv[1:4])):
    resource.setrlimit(getattr(resource, limit), (value, value))
os.execv(sys.argv[4], sys.argv[4:])
"""


def run_limited(command: Sequence[str], folder: Path, messages: IO[bytes] | None = None) -> None:
    """Run a program, given by its full path, in a folder; CalledProcessError or TimeoutExpired.

    What it says of errors goes to `messages`. Nothing that it started outlives a timeout or an
    interrupt.
    """
    process = subprocess.Popen(
        _limited(command),
        cwd=folder,
        env={**os.environ, "TMPDIR": str(folder), "LC_ALL": "C"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=messages or subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        code = _wait(process, 2 * SECONDS)
    except BaseException:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        raise
    if code:
        raise subprocess.CalledProcessError(code, list(command))


def _limited(command: Sequence[str]) -> list[str]:
    if setter := shutil.which("prlimit"):
        return [setter, f"--cpu={SECONDS}", f"--as={MEMORY}", f"--fsize={OUTPUT}", *command]
    limits = map(str, (SECONDS, MEMORY, OUTPUT))
    return [sys.executable, "-I", "-S", "-c", _LIMITED, *limits, *command]


def _wait(process: subprocess.Popen[bytes], seconds: int) -> int:
    """Its exit code. `wait` with a timeout looks now and then; Linux can tell at once."""
    try:
        ended = os.pidfd_open(process.pid)
    except (AttributeError, OSError):
        return process.wait(timeout=seconds)
    try:
        poll = select.poll()
        poll.register(ended, select.POLLIN)
        if not poll.poll(1000 * seconds):
            raise subprocess.TimeoutExpired(process.args, seconds)
        return process.wait()
    finally:
        os.close(ended)
