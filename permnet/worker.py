"""A process that trains what it is told: a JSON object in on each line, a JSON object out.

`sweep.py` starts it. It lives on from run to run, since starting torch and a GPU takes as long as a
small run. A SIGTERM or SIGHUP ends the run it is at, with a checkpoint, and it asks for the next.
When the process that asks dies, however that may be, it ends in the same way.
"""

import contextlib
import gc
import json
import os
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from queue import SimpleQueue
from typing import Any

import torch

from permnet.config import Run, from_json
from permnet.errors import PermnetError
from permnet.runfolder import wait_until_free
from permnet.train import train

ENDING = 60.0
"""Seconds that a process which trains in the folder already, and may be ending, is given."""


def main() -> None:
    # Answers alone go to standard output: what libraries print there goes to standard error.
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    busy = threading.Event()
    for line in _requests(busy):
        busy.set()
        answer = _answer(json.loads(line))
        busy.clear()
        answers.write(json.dumps(answer) + "\n")
        answers.flush()
        gc.collect()
        if torch.cuda.is_available():
            torch.cuda.empty_cache()


def _requests(busy: threading.Event) -> Iterator[bytes]:
    """The lines of standard input, at whose end a run that is under way ends, as on a SIGTERM.

    Its other end is held by the process that asks alone, and the system closes it with that.
    """
    lines: SimpleQueue[bytes] = SimpleQueue()

    def listen() -> None:
        # Unbuffered: a thread that waits in a buffer's lock when Python ends would abort it.
        with open(0, "rb", buffering=0, closefd=False) as stream:
            while line := stream.readline():
                lines.put(line)
        lines.put(b"")
        if busy.is_set():  # else the process ends by itself, in order, as one with a GPU should
            os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=listen, daemon=True).start()
    return iter(lines.get, b"")


def _answer(job: dict[str, Any]) -> dict[str, Any]:
    folder, deadline = Path(job["folder"]), job["deadline"]
    wait_until_free(folder, ENDING if deadline is None else min(ENDING, deadline - time.time()))
    left = None if deadline is None else deadline - time.time()
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
