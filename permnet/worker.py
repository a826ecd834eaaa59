"""A process that trains what it is told: a JSON object in on each line, a JSON object out.

`sweep.py` starts it. It lives on from run to run, since starting torch and a GPU takes as long as a
small run. A SIGTERM ends the run it is at, with a checkpoint, and it asks for the next.
"""

import contextlib
import gc
import json
import os
import sys
import time
from pathlib import Path
from typing import Any

import torch

from permnet.config import Run, from_json
from permnet.errors import PermnetError
from permnet.train import train


def main() -> None:
    # Answers alone go to standard output: what libraries print there goes to standard error.
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    for line in sys.stdin:
        answers.write(json.dumps(_answer(json.loads(line))) + "\n")
        answers.flush()
        gc.collect()
        if torch.cuda.is_available():
            torch.cuda.empty_cache()


def _answer(job: dict[str, Any]) -> dict[str, Any]:
    folder = Path(job["folder"])
    left = None if job["deadline"] is None else job["deadline"] - time.time()
    if left is not None and left <= 0:  # it went by while this process started
        return {"status": "unfinished"}
    try:
        return train(
            from_json(Run, job["run"]),
            folder,
            data=None if job["data"] is None else Path(job["data"]),
            resume=folder.exists(),
            device=job["device"],
            time_budget=left,
            sharing=job["sharing"],
            test_limit=job["test_limit"],
            progress=False,
            origin=job["origin"],
        )
    except (PermnetError, torch.OutOfMemoryError) as error:
        return {"status": "failed", "error": str(error)}


if __name__ == "__main__":
    with contextlib.suppress(KeyboardInterrupt, BrokenPipeError):  # whoever asked may be gone
        main()
