"""Sweeps: a list of runs, done one by one or a few at a time, finished ones left alone.

A sweep's folder holds a run folder for each run, `results/NAME.json` for each finished one, and an
archive of what is worth carrying home. Run it again and it goes on where it stopped.
"""

import contextlib
import json
import subprocess
import sys
import tarfile
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any, Literal

from permnet.config import Run, from_json, to_json
from permnet.display import Display, progress_bar
from permnet.ending import SIGNALS, on_ending, without_interrupts
from permnet.errors import PermnetError
from permnet.plan import DAMAGED, Planned, Runs, label_of, plan
from permnet.provenance import invocation
from permnet.tasks.switch.benchmark import is_switch

Carry = Literal["results", "weights", "everything"]

CURVE = ("step", "epoch", "seconds", "loss", "ta", "wea", "stage")
"""What a result keeps of each evaluation; `stage` is the length trained on."""
SHORTEST = 10.0
"""Seconds that must be left for a run to be started."""
LEAVING = 30.0
"""Seconds of the time budget that are left to the archive, at the most."""


@dataclass
class Outcome:
    """What became of the runs of a sweep, by name; `failed` tells why."""

    finished: dict[str, dict[str, Any]] = field(default_factory=dict)
    unfinished: list[str] = field(default_factory=list)
    failed: dict[str, str] = field(default_factory=dict)
    archive: Path | None = None


def sweep(
    runs: Runs,
    folder: Path,
    *,
    shard: tuple[int, int] = (1, 1),
    missing: bool = False,
    whole: bool = False,
    parallel: int = 1,
    beside: int = 0,
    time_budget: float | None = None,
    device: Literal["auto", "cpu", "cuda"] = "auto",
    test_limit: int | None = None,
    carry: Carry = "weights",
    progress: bool = True,
    data: Path | None = None,
) -> Outcome:
    """Do the runs of sweeps, given by their names or as name → run, `parallel` at a time.

    Before `time_budget` seconds are over all runs stop with checkpoints; with `whole` none is begun
    that would not end before, as far as `plan` knows. A run that fails does not keep the others
    from going on. A SIGTERM, SIGHUP or Ctrl-C stops them all at once, with checkpoints. `beside`
    runs of other sweeps use the device meanwhile. `data` is the folder of the switch sets' data.
    """
    check(parallel, beside, time_budget, whole)
    planned = plan(runs, folder, shard, missing=missing)
    _check_device(device)
    _check_writable(folder)
    deadline = None
    if time_budget is not None:  # a little is kept for the archive
        deadline = time.time() + time_budget - min(0.05 * time_budget, LEAVING)
    with progress_bar(progress) as display:
        listed = not isinstance(runs, dict)
        common = {
            "deadline": deadline,
            "device": device,
            "sharing": parallel + beside,
            "test_limit": test_limit,
        }
        sweeping = _Sweeping(planned, folder, common, data, listed, whole, display)
        with on_ending(lambda _: sweeping.stop()), ThreadPoolExecutor(parallel) as pool:
            try:
                for done in [pool.submit(sweeping.work) for _ in range(parallel)]:
                    done.result()
            except BaseException:  # an interrupt from the keyboard: begin nothing more
                sweeping.clear()
                sweeping.stop()
                raise
    outcome = sweeping.outcome
    name = label_of(runs)
    label = f"{name}-{shard[0]}of{shard[1]}" if shard[1] > 1 else name
    outcome.archive = _archive(folder / f"{label}.tar.gz", folder, planned, carry)
    return outcome


def check(parallel: int, beside: int, time_budget: float | None, whole: bool) -> None:
    """Refuses options with which no sweep can be done."""
    if parallel < 1:
        raise PermnetError(f"parallel is 1 or more, not {parallel}")
    if beside < 0:
        raise PermnetError(f"beside is 0 or more, not {beside}")
    if time_budget is not None and not time_budget > 0:
        raise PermnetError(f"time_budget is above 0 seconds, not {time_budget}")
    if whole and time_budget is None:
        raise PermnetError("whole is about a time budget: give time_budget, too")


def _check_device(device: str) -> None:
    """Refuses a GPU that is not there once, and not for every run."""
    if device != "cuda":
        return
    import torch  # which the sweep itself does without

    if not torch.cuda.device_count():
        raise PermnetError("this machine has no GPU: leave out --device cuda")


def _check_writable(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise PermnetError(f"cannot write {folder}: {error.strerror or error}") from error


class _Sweeping:
    """The queue of runs, and what the threads that empty it share."""

    def __init__(
        self,
        planned: list[Planned],
        folder: Path,
        common: dict[str, Any],
        data: Path | None,
        listed: bool,
        whole: bool,
        display: Display,
    ) -> None:
        self.folder, self.common, self.data, self.display = folder, common, data, display
        self.whole = whole
        self.deadline: float | None = common["deadline"]
        self.listed = listed  # so that each run has a command of its own
        self.total, self.running = len(planned), set[str]()
        self.outcome, self.lock = Outcome(), threading.Lock()
        self.workers = set[subprocess.Popen[str]]()
        self.queue: SimpleQueue[Planned] = SimpleQueue()
        for job in planned:
            if job.status == "finished":
                self._note(job.name, {"status": "finished"})
            else:
                self.queue.put(job)

    def clear(self) -> None:
        with contextlib.suppress(Empty):
            while True:
                self.queue.get_nowait()

    def stop(self) -> None:
        """Leaves no time for anything more."""
        self.deadline = 0.0
        for worker in tuple(self.workers):
            worker.terminate()

    def work(self) -> None:
        """Trains runs off the queue, in a process of its own, until there is none or no time."""
        while not self.queue.empty():
            with _start_worker() as worker:
                self.workers.add(worker)
                try:
                    while worker.poll() is None:
                        job = self.queue.get_nowait()
                        if self.deadline is not None and self._ends(job) > self.deadline:
                            self._note(job.name, {"status": "unfinished"})
                            continue
                        self._note(job.name, {"status": "running"})
                        self._note(job.name, self._ask(worker, job))
                except Empty:
                    return
                finally:
                    self.workers.discard(worker)
                    worker.terminate()

    def _ends(self, job: Planned) -> float:
        """When it will have ended, or at least been worth its beginning, if it begins now."""
        seconds = SHORTEST
        if self.whole and job.status == "new" and job.seconds is not None:
            longer = self.common["sharing"] if job.run.train.time_limit else 1  # as the limit is
            seconds = max(seconds, job.seconds * longer)
        return time.time() + seconds

    def _ask(self, worker: "subprocess.Popen[str]", job: Planned) -> dict[str, Any]:
        assert worker.stdin is not None
        assert worker.stdout is not None
        typed = invocation()
        request = {
            "run": to_json(job.run),
            "folder": str(self.folder / job.name),
            "data": str(self.data) if self.data and is_switch(job.run.benchmark) else None,
            "origin": {
                "command": f"permnet sweep {job.name}" if self.listed else typed,
                "invoked_as": typed,
            },
            **self.common,
        }
        try:
            worker.stdin.write(json.dumps(request) + "\n")
            worker.stdin.flush()
            line = worker.stdout.readline()
        except BrokenPipeError:
            line = ""
        if line:
            answer: dict[str, Any] = json.loads(line)
            return answer
        code = worker.wait()
        if -code in SIGNALS and self.deadline == 0.0:  # stopped before it had begun
            return {"status": "unfinished"}
        return {"status": "failed", "error": f"its process ended with code {code}"}

    def _note(self, name: str, answer: dict[str, Any]) -> None:
        kept = ""
        if answer["status"] == "finished":
            answer, kept = _finished(self.folder / name)
        with self.lock:
            self.running.discard(name)
            outcome, status = self.outcome, answer["status"]
            if status == "running":
                self.running.add(name)
            elif status == "finished":
                outcome.finished[name] = answer
                results = self.folder / "results"
                results.mkdir(parents=True, exist_ok=True)
                (results / f"{name}.json").write_text(kept, "utf-8")
            elif status == "unfinished":
                outcome.unfinished.append(name)
            else:
                outcome.failed[name] = answer["error"]
            over = len(outcome.finished) + len(outcome.unfinished) + len(outcome.failed)
            text = f"{over} of {self.total} runs · now {', '.join(sorted(self.running)) or 'none'}"
            self.display(over, self.total, text)
            print(f"{name}: {_in_words(answer)}", file=sys.stderr, flush=True)


def _in_words(answer: dict[str, Any]) -> str:
    if answer["status"] == "finished":
        return f"finished, WEA {100 * answer['test']['wea']:.2f} % after {answer['seconds']:.0f} s"
    return f"failed, {answer['error']}" if answer["status"] == "failed" else answer["status"]


def _start_worker() -> "subprocess.Popen[str]":
    command = [sys.executable, "-m", "permnet.worker"]
    with without_interrupts():
        return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def _finished(folder: Path) -> tuple[dict[str, Any], str]:
    """What a finished run left, and as text to be kept; one whose files are damaged has failed."""
    try:
        result: dict[str, Any] = json.loads((folder / "result.json").read_text("utf-8"))
        from_json(Run, result["run"]), _in_words(result)
        return result, rendered({**result, "curve": _curve(folder / "metrics.jsonl")})
    except DAMAGED as error:
        told = f"{folder} cannot be read, remove it: {error!r}"
        return {"status": "failed", "error": told}, ""


def _curve(metrics: Path) -> list[list[float]]:
    """A point for each evaluation; without a file, none."""
    lines = map(json.loads, metrics.read_text("utf-8").splitlines() if metrics.exists() else ())
    return [[round(line[name], 6) for name in CURVE] for line in lines]


def rendered(result: dict[str, Any]) -> str:
    """A result with its learning curve, a point a line, as text to be kept."""
    rows = ",".join(f"\n  {point}" for point in result["curve"])
    others = {name: value for name, value in result.items() if name != "curve"}
    text = json.dumps(others, indent=1, allow_nan=False).removesuffix("}").rstrip()
    return f'{text},\n "curve": [{rows}]\n}}\n'


def _archive(path: Path, folder: Path, planned: list[Planned], carry: Carry) -> Path:
    """Results and learning curves; with the final weights; or all that resuming needs."""
    wanted = ["run.json", "metrics.jsonl", "answers", "result.json"]
    if carry == "weights":
        wanted += ["last/config.json", "last/model.safetensors"]
    elif carry == "everything":
        wanted += ["last", "best"]
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f".{path.name}.part")
    with tarfile.open(partial, "w:gz") as tar:
        for job in planned:
            for name in (f"results/{job.name}.json", *(f"{job.name}/{file}" for file in wanted)):
                if (folder / name).exists():
                    tar.add(folder / name, name)
    partial.replace(path)
    return path
