"""The experiments as data: every run builds, and the tables hold what the paper printed."""

import re
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from permnet.build import build
from permnet.config import Run, from_json, to_json
from permnet.errors import PermnetError
from permnet.experiments import SWEEPS, TABLES, runs_of
from permnet.experiments.presets import PRESETS
from permnet.experiments.tables import PERMNETS
from permnet.tasks.benchmarks import benchmark
from permnet.tasks.dispatch import DISPATCH
from permnet.tasks.switch.benchmark import is_switch, switch_benchmark
from permnet.tasks.switch.dataset import WIDE, vocabulary
from permnet.train import check
from permnet.vocab import Vocab

RUNS = {name: run for runs in SWEEPS.values() for name, run in runs.items()}
READERS = {name: run for name, run in RUNS.items() if run.benchmark == DISPATCH}
SWITCH = {n: run for n, run in RUNS.items() if is_switch(run.benchmark) and n not in READERS}
DRAWN = {name: run for name, run in RUNS.items() if not is_switch(run.benchmark)}
CELLS = [(table.name, cell) for table in TABLES for cell in table.all_cells]


@pytest.mark.parametrize("name", [*PRESETS, *DRAWN])
def test_every_preset_and_every_run_builds(name: str) -> None:
    run = PRESETS[name] if name in PRESETS else DRAWN[name]
    bench = benchmark(run.benchmark)
    check(run, bench, processes=1, test_limit=None)
    with torch.device("meta"):
        model = build(run.model, bench.task.vocab(run.train.reserved), bench.task)
    assert sum(p.numel() for p in model.parameters()) > 0
    assert from_json(Run, to_json(run)) == run


@pytest.mark.parametrize("name", SWITCH)
def test_every_run_on_switches_builds_and_is_small_enough_to_ship(name: str) -> None:
    run = SWITCH[name]
    bench = switch_benchmark(run.benchmark)
    # As large as that of the training split, which does not ship.
    vocab = vocabulary(bench.split("test"), run.train.reserved, least=8)
    with torch.device("meta"):
        model = build(run.model, vocab, bench.task)
    assert len(vocab) > 500
    assert 2 * sum(p.numel() for p in model.parameters()) <= 8 * 2**20
    assert from_json(Run, to_json(run)) == run
    assert run.train.grow == tuple(n for n in run.train.grow if n < bench.task.longest)


@pytest.mark.parametrize("name", READERS)
def test_every_reader_of_dispatches_is_small(name: str) -> None:
    run = READERS[name]
    words = [f".L{i}" for i in range(100)] + [str(i) for i in range(50)]
    with torch.device("meta"):
        vocab = Vocab(tuple(words), run.train.reserved)
        model = build(run.model, vocab, switch_benchmark(DISPATCH).task)
    assert 2 * sum(p.numel() for p in model.parameters()) <= 2 * 2**20
    assert from_json(Run, to_json(run)) == run


def test_both_decompilers_have_the_same_size_data_budget_and_number_of_rates() -> None:
    for sweep in ("switch", "switch-rates", "switch-long"):
        runs = SWEEPS[sweep]
        for name, run in runs.items():
            if run.benchmark == WIDE:  # one is trained on it, to ship
                continue
            other = "decompiler" if run.model.name == "copy-decompiler" else "copy-decompiler"
            twin = runs[name.replace(run.model.name, other, 1)]
            ours = other == "decompiler"
            model = replace(run.model, name=other, equal=ours, recall=ours)
            assert twin == replace(run, model=model)
    tried = [
        (r.benchmark, r.model.name, r.train.rate, r.train.epochs)
        for r in SWEEPS["switch-rates"].values()
    ]
    assert len(tried) == len(set(tried)) == 8


def test_a_name_stands_for_one_run_and_a_run_has_one_name() -> None:
    for runs in SWEEPS.values():
        for name, run in runs.items():
            assert RUNS[name] == run
    assert len({str(to_json(run)) for run in RUNS.values()}) == len(RUNS)


def test_names_are_plain_file_names_that_say_what_is_trained() -> None:
    for name, run in RUNS.items():
        assert re.fullmatch(r"[A-Za-z0-9_.+-]+", name)
        assert f"-{run.benchmark}" in name
        assert name.endswith(f"-seed{run.train.seed}") or name in SWEEPS["smoke"]
        assert run.model.without is None or f"-without-{run.model.without}-" in name


@pytest.mark.parametrize(("table", "cell"), CELLS)
def test_a_cell_trains_what_it_says(table: str, cell) -> None:
    names = (
        (table, "switch-rates", "switch-parts", "switch-long") if table == "switch" else (table,)
    )
    assert cell.runs.keys() <= {run for name in names for run in SWEEPS[name]}
    seeds = [run.train.seed for run in cell.runs.values()]
    assert seeds == list(range(len(seeds)))
    first = next(iter(cell.runs.values()))
    for run in cell.runs.values():
        assert replace(run, train=replace(run.train, seed=0)) == first
        assert (run.benchmark, run.model.without) == (cell.benchmark, cell.variant)
    if cell.recipe == "paper" and "noise" not in cell.benchmark and "DICT" not in cell.benchmark:
        expected = PRESETS[f"{cell.model}/{cell.benchmark}"]
        ends = ("patience", "time_limit", "stop_when_solved", "evaluate_every")
        open_ = ("precision", "compile") if cell.model == "transformer" else ()
        like = {name: getattr(expected.train, name) for name in (*ends, *open_)}
        train = replace(first.train, **like)
        assert replace(first, model=replace(first.model, without=None), train=train) == expected


@pytest.mark.parametrize("name", RUNS)
def test_only_baselines_may_end_early_and_on_pd10_and_pi10_only_solved(name: str) -> None:
    run = RUNS[name]
    # A pair that is compared has equal budgets, so neither of the two may end early.
    pair = name.startswith("worth-") or name in SWITCH
    baseline = run.model.name not in PERMNETS and not pair
    assert run.train.stop_when_solved == (1.0 if baseline else 0.0)
    may = baseline and run.benchmark not in ("PD10", "PI10")
    assert (run.train.patience, run.train.time_limit) == ((0.5, 240.0) if may else (0.0, 0.0))


def test_a_sweep_a_row_and_a_run_have_names() -> None:
    assert runs_of("table3") == SWEEPS["table3"]
    assert list(runs_of("permneti-PI10")) == [f"permneti-PI10-seed{i}" for i in range(3)]
    for name, run in RUNS.items():
        assert runs_of(name) == {name: run}
    with pytest.raises(PermnetError, match="did you mean permneti-PI100-grow"):
        runs_of("permneti-PI100-gro")


def test_three_seeds_up_to_length_20_and_on_dict() -> None:
    for table in TABLES:
        for cell in table.cells:
            if cell.model in PERMNETS and cell.variant is None:
                long = re.search("40|100", cell.benchmark)
                assert len(cell.runs) == (1 if long else 3), cell


def test_the_quick_runs_come_first_and_pd100_last() -> None:
    names = list(SWEEPS["paper-permnets"])
    assert names[0] == "permneti-PI10-seed0"
    assert names[-1] == "permnetd-PD100-seed0"
    assert not {run.model.name for run in SWEEPS["paper-permnets"].values()} - {*PERMNETS}


PAPER = Path(__file__).parent / "paper_tables.txt"


def test_the_paper_s_figures_are_those_it_printed() -> None:
    printed = set()
    for line in PAPER.read_text().splitlines():
        if line and not line.startswith("#"):
            table, model, where, variant, ta, wea = line.split()
            without = None if variant == "-" else variant
            printed.add((table, model, where, without, float(ta), float(wea)))
    ours = {
        (
            table.name,
            cell.model,
            cell.benchmark,
            cell.variant,
            round(100 * cell.paper_ta, 2),
            round(100 * cell.paper_wea, 2),
        )
        for table in TABLES
        for cell in table.cells
    }
    assert ours == printed
    for table in TABLES:
        assert all(cell.paper_wea is None for cell in table.more + table.ours)


def test_the_pairs_that_show_what_the_part_is_worth_are_equal_but_for_it() -> None:
    runs = SWEEPS["worth"]
    for name, run in runs.items():
        other = runs[name.replace("transformer-resolver", "transformer")]
        assert run.train == other.train
        sizes = []
        for one in (run, other):
            task = benchmark(one.benchmark).task
            model = build(one.model, task.vocab(), task)
            sizes.append(sum(parameter.numel() for parameter in model.parameters()))
        assert abs(sizes[0] - sizes[1]) < 0.001 * sizes[0]
