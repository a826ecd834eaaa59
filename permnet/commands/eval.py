"""`permnet eval`: the figures of a trained model on a benchmark."""

from json import dumps
from pathlib import Path
from typing import Annotated

from rich.console import Console
from rich.progress import Progress
from tyro.conf import Positional, arg

from permnet.commands.score import figures_table, recompiling
from permnet.tasks.benchmarks import SplitName
from permnet.tasks.find import find


def evaluate(
    model: Positional[Annotated[str, arg(metavar="MODEL")]],
    /,
    benchmark: str | None = None,
    split: SplitName = "test",
    limit: int | None = None,
    data: Path | None = None,
    recompile: bool = False,
    json: bool = False,
) -> int:
    """Measure a trained model on a benchmark.

    The model runs freely, the most likely token at each step; TA with teacher forcing is given
    beside it. A GPU is used where there is one.

    For example:

        permnet eval PI1-4
        permnet eval runs/mine/best --benchmark PI10 --split validation --limit 1000 --json
        permnet eval runs/switch/last --benchmark switch-6 --recompile

    Args:
        model: A shipped model or a checkpoint's folder.
        benchmark: Its name, such as PI20 or PI20@1; unless given, the one it was trained on.
        split: Which split.
        limit: Only its first so many examples.
        data: Switch sets only: the folder of their data; without it the 1,000 test examples that
            ship are answered.
        recompile: Switch sets only: also compile each answer, with gcc, and see whether it gives
            the assembly that it was read from.
        json: Print one JSON object instead of a table.
    """
    import torch

    from permnet.checkpoint import load
    from permnet.evaluate import evaluate as figures_of

    checkpoint = load(model)
    bench = find(benchmark or checkpoint.run.benchmark, data)
    chosen = bench.split(split, limit)
    on_device = checkpoint.model.to("cuda" if torch.cuda.is_available() else "cpu")
    verify, compiler = recompiling() if recompile else (None, {})
    screen = Console(stderr=True)
    with Progress(console=screen, transient=True, disable=not screen.is_terminal) as bar:
        job = bar.add_task(str(bench))
        figures = figures_of(
            on_device,
            chosen,
            vocab=checkpoint.vocab,
            verify=verify,
            progress=lambda done, total: bar.update(job, completed=done, total=total),
        )
    figures |= compiler
    if json:
        print(dumps(figures, allow_nan=False))
    else:
        console = Console()
        console.print(figures_table(figures))
        console.print(f"TA with teacher forcing: {100 * figures['teacher_forced_ta']:.2f} %")
    return 0
