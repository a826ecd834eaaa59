"""Other programs, run within limits of time, memory and output, without a shell or a terminal."""

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

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


def run_limited(command: Sequence[str], folder: Path) -> None:
    """Run a program, given by its full path, in a folder; CalledProcessError or TimeoutExpired."""
    limits = map(str, (SECONDS, MEMORY, OUTPUT))
    subprocess.run(
        [sys.executable, "-I", "-S", "-c", _LIMITED, *limits, *command],
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        timeout=2 * SECONDS,
        check=True,
    )
