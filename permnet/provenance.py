"""Where a result comes from: command, versions, code and machine."""

import datetime
import functools
import hashlib
import os
import platform
import shlex
import subprocess
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import permnet

if TYPE_CHECKING:
    import torch

ROOT = Path(permnet.__file__).parent


def invocation() -> str:
    """The command line of this process, without the folders of full paths.

    They are of the machine, and no part of what was measured.
    """
    program = Path(sys.argv[0])
    # `python -m permnet` runs permnet/__main__.py.
    name = program.parent.name if program.name == "__main__.py" else program.name
    words = (
        word[: word.find("=") + 1] + _bare(word[word.find("=") + 1 :]) for word in sys.argv[1:]
    )
    return shlex.join([name, *words])


def _bare(word: str) -> str:
    return Path(word).name if word.startswith("/") else word


def provenance(device: "torch.device") -> dict[str, Any]:
    """As JSON values; a run, a result and a checkpoint all carry it."""
    import torch  # here, so that a process that only starts others does without

    return {
        "command": invocation(),
        "versions": {
            "python": platform.python_version(),
            "torch": torch.__version__,
            "numpy": _version("numpy"),
            "lightning_fabric": _version("lightning-fabric", "pytorch-lightning", "lightning"),
            "permnet": permnet.__version__,
        },
        "commit": _commit(),
        "source_sha256": source_sha256(),
        "hardware": {
            "device": torch.cuda.get_device_name(device) if device.type == "cuda" else "cpu",
            "cpu": platform.machine(),
            "cores": os.cpu_count(),
        },
        "date": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
    }


@functools.cache  # the code that runs is the one that was there first
def source_sha256() -> str:
    """A digest of the package's own code: of the lines `sha256sum` prints for its files, sorted."""
    lines = (
        f"{hashlib.sha256((ROOT / name).read_bytes()).hexdigest()}  {name}\n"
        for name in sorted(path.relative_to(ROOT).as_posix() for path in ROOT.rglob("*.py"))
    )
    return hashlib.sha256("".join(lines).encode()).hexdigest()


def _version(*names: str) -> str | None:
    """The version of the first of these packages that is installed: they ship the same module."""
    for name in names:
        try:
            return version(name)
        except PackageNotFoundError:
            continue
    return None


def _commit() -> str | None:
    """The commit of the checkout that the package runs from, marked where files differ from it."""
    root = ROOT.parent
    if not (root / ".git").exists():
        return None
    command = ["git", "-C", str(root), "describe", "--always", "--abbrev=40", "--dirty"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=10, check=True)
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip()
