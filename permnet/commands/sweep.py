"""`permnet sweep`: a list of runs."""

import re
import sys
from pathlib import Path
from typing import Annotated, Literal

from tyro.conf import Positional, arg

from permnet.errors import PermnetError
from permnet.plan import Planned, label_of, plan
from permnet.sweep import Carry, check
from permnet.sweep import sweep as do_sweep


def sweep(
    names: Positional[Annotated[tuple[str, ...], arg(metavar="NAME…")]],
    /,
    out: Path | None = None,
    shard: str = "1/1",
    parallel: int = 1,
    beside: int = 0,
    time_budget: float | None = None,
    device: Literal["auto", "cpu", "cuda"] = "auto",
    test_limit: int | None = None,
    carry: Carry = "weights",
    data: Path | None = None,
    missing: bool = False,
    whole: bool = False,
    dry_run: bool = False,
) -> int:
    """Train a whole list of runs, such as a table of the paper, or several.

    Finished runs are left alone and unfinished ones resumed, so the same command goes on where it
    stopped. The folder gets a result for each run in `results/`, and an archive of them all.

    For example:

        permnet sweep smoke
        permnet sweep table3 --dry-run
        permnet sweep table3 --out runs/table3 --parallel 4 --time-budget 1700
        permnet sweep table1 --shard 2/8
        permnet sweep table6 table7 baselines --missing --out runs/campaign
        permnet sweep switch --data DIR

    Args:
        names: The lists: smoke, table1 to table7, noise, worth, paper-permnets, baselines, ours,
            rates, switch, switch-rates, switch-parts, switch-long, dispatch, dispatch-rates; or a
            row of a table, such as permneti-PI10, or one of its runs, permneti-PI10-seed0.
        out: The folder; runs/NAME if not given, for several runs/sweep.
        shard: Do part i of n only, as i/n with i from 1 to n.
        parallel: Runs at a time, sharing one GPU.
        beside: Runs of other sweeps that share it, too; time limits are then longer.
        time_budget: Stop with checkpoints before so many seconds are over.
        device: Where to train; auto takes a GPU if there is one.
        test_limit: Test on the first so many examples only.
        carry: What goes into the archive: results, or also the final weights, or everything.
        data: The folder of the switch sets' data, for the runs that need it.
        missing: Leave out runs whose results are in results/, with the same settings.
        whole: Begin no run that would not end before the time budget, by what like runs took.
        dry_run: Only print the list, with times estimated from results, on the device of these.
    """
    if not names:
        raise PermnetError("name a list, such as smoke or table3")
    folder = out or Path("runs") / label_of(names)
    match = re.fullmatch(r"(\d+)/(\d+)", shard)
    if not match:
        raise PermnetError(f"a shard is i/n, such as 2/8, not {shard!r}")
    part = int(match[1]), int(match[2])
    if dry_run:
        check(parallel, beside, time_budget, whole)
        _print_plan(plan(names, folder, part, missing=missing))
        return 0
    outcome = do_sweep(
        names,
        folder,
        shard=part,
        missing=missing,
        whole=whole,
        parallel=parallel,
        beside=beside,
        time_budget=time_budget,
        device=device,
        test_limit=test_limit,
        carry=carry,
        data=data,
    )
    print(
        f"{len(outcome.finished)} finished, {len(outcome.unfinished)} unfinished, "
        f"{len(outcome.failed)} failed; {outcome.archive}"
    )
    for failed, reason in outcome.failed.items():
        print(f"{failed}: {reason}", file=sys.stderr)
    return 1 if outcome.failed else 0


def _print_plan(planned: list[Planned]) -> None:
    width = max((len(p.name) for p in planned), default=0)
    for p in planned:
        seconds = "unknown" if p.seconds is None else f"{p.seconds:.0f} s on {p.device}"
        print(f"{p.name:{width}}  {p.status:8}  at most {p.steps} steps  {seconds}")
    known = [p.seconds for p in planned if p.seconds is not None and p.status != "finished"]
    left = sum(p.status != "finished" for p in planned)
    print(f"{left} of {len(planned)} runs left, {sum(known):.0f} s for the {len(known)} known")
