"""Training, in plain sight: set up, fit, and the test split once at the end.

    result = train(Run("PI10"), Path("runs/pi10"))

`fit.py` is the loop, `step.py` one step of it, `runfolder.py` what is kept on disk.
"""

import logging
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

import torch
from lightning_fabric import Fabric
from lightning_fabric.strategies.ddp import DDPStrategy

from permnet.build import FIXED_LENGTH, check_model
from permnet.checkpoint import check_start, weights_sha256
from permnet.config import Run, to_json
from permnet.display import progress_bar
from permnet.ending import interrupted_after, on_ending
from permnet.errors import PermnetError
from permnet.fit import Clock, Trainer, on_first
from permnet.provenance import provenance
from permnet.runfolder import RunFolder, Saved
from permnet.settings import check_processes, check_settings
from permnet.tasks.benchmarks import SPLITS, Benchmark
from permnet.tasks.find import find
from permnet.tasks.switch.benchmark import SwitchBenchmark

DeviceName = Literal["auto", "cpu", "cuda"]


def train(
    run: Run,
    folder: Path,
    *,
    data: Path | None = None,
    resume: bool = False,
    device: DeviceName = "auto",
    devices: int = 1,
    nodes: int = 1,
    time_budget: float | None = None,
    sharing: int = 1,
    test_limit: int | None = None,
    progress: bool = True,
    origin: dict[str, str] | None = None,
) -> dict[str, Any]:
    """Train a run in a folder and return what `result.json` there then holds.

    `data` is the folder of a switch set's data. `devices` and `nodes` are how many processes take
    part, started by torchrun or by Fabric itself; they share the batch. Before `time_budget`
    seconds are over the run stops with a checkpoint to resume from, and the result says
    `"status": "unfinished"`; a SIGTERM or SIGHUP makes it do so at once. So does a first
    Ctrl-C, and interrupts afterwards. A finished run that is resumed returns its result at once.
    `sharing` runs use the device at a time: a time limit is then so many times longer. `test_limit`
    tests on the first so many examples only. `origin` is what the result says of its `command`
    instead of this process's own.
    """
    check_processes(devices, nodes, time_budget)
    clock = Clock(time_budget, sharing)
    bench = find(run.benchmark, data)
    check(run, bench, devices * nodes, test_limit)
    fabric = _fabric(run, device, devices, nodes)
    about = {
        **provenance(fabric.device),
        **(origin or {}),
        "data_sha256": {name: bench.sha256(name) for name in SPLITS},
    }
    if run.train.start:
        about["start_sha256"] = weights_sha256(run.train.start)

    def stop() -> None:
        clock.stop()
        if progress and fabric.is_global_zero:
            print("stopping with a checkpoint; Ctrl-C again ends at once", file=sys.stderr)

    with interrupted_after(stop):
        # Under MPS a process that dies amid its work takes along all others that share the device.
        with on_ending(lambda _: clock.stop()):
            result = _train(fabric, run, bench, folder, about, clock, resume, test_limit, progress)
        if fabric.world_size > 1:
            # Left to the end of the process, the group's threads may hang or abort it: end it here,
            # when all have nothing left to say and the model that refers to it is gone.
            fabric.barrier()
            torch.distributed.destroy_process_group()
    return result


def _train(
    fabric: Fabric,
    run: Run,
    bench: Benchmark | SwitchBenchmark,
    folder: Path,
    about: dict[str, Any],
    clock: Clock,
    resume: bool,
    test_limit: int | None,
    progress: bool,
) -> dict[str, Any]:
    files: list[RunFolder] = []  # stays empty in all processes but the first

    def open_folder() -> tuple[dict[str, Any] | None, Saved | None]:
        files.append(RunFolder(folder, run, about, resume=resume))
        result = files[0].result()
        return result, None if result else files[0].load()

    try:
        result, saved = on_first(fabric, open_folder)
        if result is not None:
            return result
        shown = progress and fabric.is_global_zero
        with _matmul_precision(run, fabric.device), progress_bar(shown) as display:
            trainer = Trainer(fabric, run, bench, files[0] if files else None, clock, display)
            trainer.restore(saved)
            with _compiling(run):
                done = trainer.fit()
            return on_first(fabric, lambda: _finish(trainer, about, test_limit, done))
    finally:
        for opened in files:
            opened.close()


def _finish(
    trainer: Trainer, about: dict[str, Any], test_limit: int | None, done: bool
) -> dict[str, Any]:
    """Runs the test split, once, and writes the result, if training is done and time is left."""
    run, at, clock, files = trainer.run, trainer.position, trainer.clock, trainer.files
    assert files is not None
    count = test_limit or trainer.bench.size("test")
    # Twice that of validation, whose teacher forcing may take a shorter way.
    testing = 2 * clock.slowest.get("evaluate", 0.0) * count / run.train.evaluate_limit
    result = {
        "status": "unfinished",
        "run": to_json(run),
        "seed": run.train.seed,
        "track": trainer.material.track,
        "parameters": sum(p.numel() for p in trainer.model.parameters()),
        "seconds": round(trainer.seconds_before + clock.elapsed(), 3),
        "steps": at.step,
        "epochs": at.epochs,
        "epochs_to_99": at.epochs_to_99,
        "stopped": at.stopped,
        "validation": {"last": at.last, "best": at.best},
        **about,
        "sharing": at.sharing,
    }
    if not done or not clock.enough_for(testing):
        return result
    figures, answers = trainer.material.test(trainer.model, test_limit)
    result |= {"status": "finished", **figures}
    for name, tokens in answers.items():
        files.write_answers(name, tokens)
    files.write_result(result)
    return result


def check(
    run: Run, bench: Benchmark | SwitchBenchmark, processes: int, test_limit: int | None
) -> None:
    """Refuses what cannot work, before anything is written."""
    check_model(run.model, bench.task)
    check_settings(run.train, bench, processes, test_limit)
    if run.train.start:
        check_start(run, bench.task)
    if run.train.compile and run.model.name != "transformer":
        raise PermnetError(f"train.compile is for transformer, not {run.model.name}: leave it out")
    if run.train.grow and run.model.without in FIXED_LENGTH:
        raise PermnetError(
            f"train.grow is empty without {run.model.without}: such a model reads inputs of one "
            f"length, not {run.train.grow}"
        )


def _fabric(run: Run, device: DeviceName, devices: int, nodes: int) -> Fabric:
    """Joins the processes that train together; alone it only chooses a device."""
    gpus, processes = torch.cuda.device_count(), devices * nodes
    cuda = device == "cuda" or (device == "auto" and (gpus > 0 or processes > 1))
    if cuda and devices > gpus:
        raise PermnetError(
            f"{devices} GPUs were asked for and this machine has {gpus}: "
            "lower --devices, or add --device cpu"
        )
    started = int(os.environ.get("WORLD_SIZE", "1"))
    if "TORCHELASTIC_RUN_ID" in os.environ and started != processes:
        raise PermnetError(
            f"torchrun started {started} processes, but --devices {devices} times --nodes {nodes} "
            f"is {processes}: make them agree"
        )
    with _without_advice():
        fabric = Fabric(
            accelerator="cuda" if cuda else "cpu",
            devices=devices,
            num_nodes=nodes,
            # An ablated model has parameters without a gradient.
            strategy=DDPStrategy(find_unused_parameters=run.model.without is not None)
            if processes > 1
            else "auto",
            precision="bf16-mixed" if run.train.precision == "bf16" else "32-true",
        )
        if os.environ.get("LT_CLI_USED") != "1":  # else `fabric run` has launched the processes
            fabric.launch()
    return fabric


@contextmanager
def _without_advice() -> Iterator[None]:
    """Keeps Fabric from advising to set the precision of products, which `_matmul_precision` does.

    It looks when it first meets the device, before a run has set anything.
    """
    log = logging.getLogger("lightning_fabric.utilities.rank_zero")

    def other(record: logging.LogRecord) -> bool:
        return "set_float32_matmul_precision" not in record.getMessage()

    log.addFilter(other)
    try:
        yield
    finally:
        log.removeFilter(other)


@contextmanager
def _compiling(run: Run) -> Iterator[None]:
    """Says in a line what torch.compile lacks, as a C++ compiler."""
    if not run.train.compile:
        yield
        return
    from torch._dynamo.exc import BackendCompilerFailed  # slow to import, like all that compiles

    try:
        yield
    except BackendCompilerFailed as error:
        reason = str(error.inner_exception).partition("\n")[0]
        raise PermnetError(f"train.compile failed, leave it out: {reason}") from error


@contextmanager
def _matmul_precision(run: Run, device: torch.device) -> Iterator[None]:
    """TF32 on CUDA, unless the run is in full precision; put back afterwards."""
    if device.type != "cuda":
        yield
        return
    before = torch.get_float32_matmul_precision(), torch.backends.cudnn.allow_tf32
    full = run.train.precision == "fp32"
    torch.set_float32_matmul_precision("highest" if full else "high")
    torch.backends.cudnn.allow_tf32 = not full
    try:
        yield
    finally:
        torch.set_float32_matmul_precision(before[0])
        torch.backends.cudnn.allow_tf32 = before[1]
