"""Other programs, run within limits of time, memory and output, without a shell or a terminal."""

import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import IO

SECONDS = 60
MEMORY = 2 << 30
OUTPUT = 256 << 20

# Limits are set between fork and exec; a Python function called there is unsafe beside threads.
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
    limits = map(str, (SECONDS, MEMORY, OUTPUT))
    process = subprocess.Popen(
        [sys.executable, "-I", "-S", "-c", _LIMITED, *limits, *command],
        cwd=folder,
        env={**os.environ, "TMPDIR": str(folder), "LC_ALL": "C"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=messages or subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        code = process.wait(timeout=2 * SECONDS)
    except BaseException:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        raise
    if code:
        raise subprocess.CalledProcessError(code, list(command))
