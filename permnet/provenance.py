"""Where a result comes from: command, versions, commit and machine."""

import datetime
import os
import platform
import shlex
import subprocess
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np
import torch

import permnet


def provenance(device: torch.device) -> dict[str, Any]:
    """As JSON values; a run, a result and a checkpoint all carry it."""
    return {
        "command": shlex.join([Path(sys.argv[0]).name, *sys.argv[1:]]),
        "versions": {
            "python": platform.python_version(),
            "torch": torch.__version__,
            "numpy": np.__version__,
            "lightning_fabric": _version("lightning-fabric", "pytorch-lightning", "lightning"),
            "permnet": permnet.__version__,
        },
        "commit": _commit(),
        "hardware": {
            "device": torch.cuda.get_device_name(device) if device.type == "cuda" else "cpu",
            "cpu": platform.machine(),
            "cores": os.cpu_count(),
        },
        "date": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
    }


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
    root = Path(permnet.__file__).parent.parent
    if not (root / ".git").exists():
        return None
    command = ["git", "-C", str(root), "describe", "--always", "--abbrev=40", "--dirty"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=10, check=True)
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip()
