"""`permnet train`: one run, from a preset and what is changed in it."""

import dataclasses
import sys
import typing
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias

from tyro.conf import Positional, arg

from permnet.config import ModelConfig, ModelName, Run, TrainConfig
from permnet.errors import PermnetError, unknown
from permnet.experiments import dispatch, switch
from permnet.experiments.presets import PRESETS as PAPER_PRESETS
from permnet.settings import check_processes, check_settings
from permnet.tasks.benchmarks import Benchmark
from permnet.tasks.dispatch import DISPATCH
from permnet.tasks.find import find
from permnet.tasks.switch.benchmark import SwitchBenchmark

PRESETS = PAPER_PRESETS | switch.PRESETS | dispatch.PRESETS


def _changes(config: type) -> type:
    """The config with every field None: what is not given on the command line."""
    hints = typing.get_type_hints(config)
    shown = arg(help_behavior_hint="(default: the preset's)")
    fields = [
        (f.name, Annotated[hints[f.name] | None, shown], None) for f in dataclasses.fields(config)
    ]
    # A subclass, for the parser finds the help of a field in the source of its class or a base.
    return dataclasses.make_dataclass(config.__name__, fields, bases=(config,), frozen=True)


ENDED = {
    None: "",
    "solved": ", ended when solved",
    "patience": ", ended since the validation loss fell no more",
    "time": ", ended by the time limit",
}


if TYPE_CHECKING:
    ModelChanges: TypeAlias = ModelConfig
    TrainChanges: TypeAlias = TrainConfig
else:
    ModelChanges, TrainChanges = _changes(ModelConfig), _changes(TrainConfig)


def train(
    benchmark: Positional[Annotated[str, arg(metavar="BENCHMARK")]],
    /,
    out: Path,
    model: ModelChanges = ModelChanges(),  # noqa: B008
    train: TrainChanges = TrainChanges(),  # noqa: B008
    preset: str | None = None,
    data: Path | None = None,
    resume: bool = False,
    device: Literal["auto", "cpu", "cuda"] = "auto",
    devices: int = 1,
    nodes: int = 1,
    time_budget: float | None = None,
    test_limit: int | None = None,
) -> int:
    """Train a model on a benchmark.

    It starts from the paper's settings for that model and benchmark, where there are any; options
    named model.* and train.* change them. The folder then holds the checkpoints `last` and `best`,
    a line for each evaluation in `metrics.jsonl`, and at the end `result.json`.

    For example:

        permnet train PI10 --out runs/pi10
        permnet train PI10 --out runs/pi10 --resume
        permnet train PD20 --out runs/pd20 --train.epochs 200 --train.stop-when-solved 0.999
        permnet train PI10 --out runs/gru --model.name gru --train.seed 1
        permnet train PI20 --out runs/pi20 --preset permneti/PI10 --train.grow 5 10
        permnet train switch-20 --out runs/switch --data DIR
        torchrun --nproc-per-node 4 -m permnet train PI100 --out runs/pi100 --devices 4

    Args:
        benchmark: Its name, such as PI20 or PI20@1; or switch-6, switch-10, switch-20, switch-wide
            and, with the labels that gcc gives, switch-6-raw and so on; or switch-dispatch.
        out: The folder of the run: new, or empty, or with --resume that of the run to go on with.
        model: Changes to the model.
        train: Changes to how it is trained.
        preset: Settings of another pair of model and benchmark, such as permneti/PI10.
        data: Switch sets only: the folder that permnet data --generate filled, or for
            switch-dispatch python -m permnet.switches.model_data.
        resume: Go on where the run in the folder stopped, or was killed.
        device: Where to train; auto takes a GPU if there is one.
        devices: Processes on this machine; they share the batch.
        nodes: Machines.
        time_budget: Stop with a checkpoint before so many seconds are over.
        test_limit: Test on the first so many examples only.
    """
    run = settings(benchmark, _given(model), _given(train), preset)
    check_processes(devices, nodes, time_budget)
    bench = find(run.benchmark, data)
    if isinstance(bench, Benchmark):  # to read a switch set takes time, which the budget counts
        check_settings(run.train, bench, devices * nodes, test_limit)
    try:
        from lightning_fabric.utilities.rank_zero import rank_zero_only

        from permnet.train import train as train_run
    except ModuleNotFoundError as error:
        if error.name != "lightning_fabric":
            raise
        raise PermnetError("training needs Fabric: pip install 'permnet[train]'") from error
    try:
        result = train_run(
            run,
            out,
            data=data,
            resume=resume,
            device=device,
            devices=devices,
            nodes=nodes,
            time_budget=time_budget,
            test_limit=test_limit,
        )
    except KeyboardInterrupt:
        if getattr(rank_zero_only, "rank", 0) != 0:
            return 0  # Fabric kills the first process when another fails
        if (out / "last").exists():
            print(f"stopped, {out / 'last'} is kept: --resume goes on", file=sys.stderr)
        raise
    if getattr(rank_zero_only, "rank", 0) != 0:
        return 0  # the first process speaks for all
    if result["status"] == "unfinished":
        print(f"stopped after {result['steps']} steps: --resume goes on", file=sys.stderr)
        return 0
    test = result["test"]
    skeleton = f", skeleton {100 * test['skeleton']:.2f} %" if "skeleton" in test else ""
    print(
        f"{test['benchmark']} test: TA {100 * test['ta']:.2f} %, "
        f"WEA {100 * test['wea']:.2f} %{skeleton} of "
        f"{test['count']} examples; {result['steps']} steps in {result['seconds']:.0f} s"
        f"{ENDED[result.get('stopped')]}; {out}"
    )
    return 0


def settings(
    benchmark: str, model: dict[str, Any], train: dict[str, Any], preset: str | None = None
) -> Run:
    """The run of a benchmark: a preset, by default the benchmark's own, with changes."""
    bench = find(benchmark)
    if preset is not None and preset not in PRESETS:
        raise unknown("preset", preset, PRESETS)
    name: ModelName = model.get("name", _usual(bench))
    own = Run(bench.name, ModelConfig(name=name))
    base = PRESETS[preset] if preset else PRESETS.get(f"{name}/{bench.name}", own)
    return Run(
        str(bench),
        dataclasses.replace(base.model, **model),
        dataclasses.replace(base.train, **train),
    )


def _usual(bench: Benchmark | SwitchBenchmark) -> ModelName:
    if isinstance(bench, SwitchBenchmark):
        return "permneti" if bench.name == DISPATCH else "decompiler"
    return "permnetd" if bench.task.kind == "direct" else "permneti"


def _given(changes: Any) -> dict[str, Any]:
    return {k: v for k, v in dataclasses.asdict(changes).items() if v is not None}
