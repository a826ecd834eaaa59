"""Puts a trained run among the shipped models, in half precision, and renews their model card.

python runs/ship.py RUN_FOLDER NAME     measure the converted weights on the test split, ship them
python runs/ship.py RUN_FOLDER NAME --data DIR      the same of a switch set, whose data lie in DIR
python runs/ship.py                     only renew the model card
"""

import argparse
import itertools
import json
from pathlib import Path
from typing import Any

import torch

from permnet.checkpoint import (
    SHIPPED,
    WEIGHTS,
    describe,
    load,
    save,
    shipped,
    weights_sha256,
)
from permnet.evaluate import evaluate
from permnet.experiments import TABLES

RESULTS = Path(__file__).parents[1] / "results"
UNSEEN = RESULTS / "unseen.json"
KEPT = (
    "command",
    "commit",
    "source_sha256",
    "versions",
    "hardware",
    "date",
    "seed",
    "seconds",
    "steps",
    "epochs",
    "cut_short_after_epoch",
    "start_sha256",
)

CARD = """# The shipped models

Each resolves references in the language of one benchmark (see `DATASHEET.md`): tokens that name
data, keys or indices, no natural language and no program text. Three are of another kind:
switch-wide and switch-20 read the assembly of a function and write its C (see
`docs/decompile.md`), switch-dispatch reads the tests of a switch's machine code (see
`docs/switches-model.md`). Weights are stored in half precision and used in single precision; the
figures were measured after that conversion, by free-running greedy decoding on the benchmark's
whole test split (of switch-wide's and switch-20's, the 1,000 shipped functions), with a 95 %
interval; on switch-wide other C than the source may be right, too. Where several seeds were
trained the best on validation ships, so these figures stand above the worst seeds of
`RESULTS.md`.

| model | architecture | trained on | parameters | MiB | whole examples | interval | unseen tokens |
|---|---|---|---|---|---|---|---|
{rows}

Made with:

{commands}

Where they come from: the commit of the code, `-dirty` where files differed from it; where none was
recorded the SHA-256 of the package's sources, if that was; and the run's row in `RESULTS.md`.

| model | commit | row |
|---|---|---|
{origins}

Unseen tokens, measured by `python -m benchmarks.unseen` (`results/unseen.json`): whole examples
right of 1,000 test questions each, all of a model's greatest length, where a share of the names in
a question, which makes the number in brackets, are words that the model has never seen.

| model | length | in training | none | 25 % | 50 % | 75 % | all |
|---|---|---|---|---|---|---|---|
{unseen}

Checksums (SHA-256 of `model.safetensors`):

{checksums}

**Use.** `permnet resolve` answers with the smallest model that was trained for the like of a
question; `permnet decompile` asks switch-20, then switch-wide, and `permnet switches --proposer`
switch-dispatch: gcc verifies, and a proof proves, what they say. **Limits.** A model answers
within the lengths, token roles and shape of question it was trained on; outside them it may
answer with confidence and be wrong. PermNetI models of permutation benchmarks expect every key to
be asked for once. Models with reserved ids take as many unseen tokens in one question as they
reserve; the others refuse unknown tokens.
"""


def ship(folder: Path, name: str, data: Path | None) -> None:
    trained = load(folder / "last")
    about = _made(folder) | {"run_name": folder.name}
    save(SHIPPED / name, trained.model, trained.run, trained.vocab, about, half=True)
    converted = load(SHIPPED / name)
    device = "cuda" if torch.cuda.is_available() else "cpu"  # a CPU takes long over PD100
    figures = evaluate(
        converted.model.to(device), trained.run.benchmark, "test", vocab=converted.vocab, data=data
    )
    kept = ("ta", "wea", "wea_interval", "skeleton", "count", "unseen")
    about |= {
        "figures": {k: figures[k] for k in kept if k in figures},
        "data_sha256": figures["data_sha256"],
    }
    save(SHIPPED / name, trained.model, trained.run, trained.vocab, about, half=True)
    print(f"{name}: WEA {100 * figures['wea']:.3f} % after conversion")


def _made(folder: Path) -> dict[str, Any]:
    """How the run was made; one that was cut short has no result, but its checkpoint says it."""
    ended = folder / "result.json"
    if ended.exists():
        result = json.loads(ended.read_text())
    else:
        result = dict(describe(folder / "last").provenance)
        last = result["figures"]  # those of its last evaluation
        result |= {"seconds": last["seconds"], "cut_short_after_epoch": last["epoch"]}
    return {key: result[key] for key in KEPT if key in result}


def unseen() -> list[dict[str, Any]]:
    """What was measured of the shipped models: one row for each number of unseen tokens."""
    rows: list[dict[str, Any]] = json.loads(UNSEEN.read_text())["rows"]
    return rows


def origin(name: str) -> str:
    """The code a shipped model was trained with, and the row of the results that it backs."""
    made = describe(name).provenance
    result = RESULTS / "runs" / f"{made['run_name']}.json"
    if result.exists():  # it has the digest, which models shipped earlier were not given
        made = json.loads(result.read_text()) | made
    digest = made.get("source_sha256")
    code = made["commit"] or (f"sources {digest}" if digest else "–")
    return f"| {name} | {code} | {_row(made['run_name'], made['seed'], result.exists())} |"


def _row(run: str, seed: int, finished: bool) -> str:
    for cell in itertools.chain.from_iterable(table.all_cells for table in TABLES):
        if run in cell.runs:
            return f"`{cell.name}`, seed {seed}"
    return f"`{run}`, in no table" if finished else "no row: a small example"


def card() -> str:
    rows, commands, checksums = [], [], []
    for name in shipped():
        about, weights = describe(name), SHIPPED / name / WEIGHTS
        run, figures = about.run, about.provenance["figures"]
        low, high = (100 * x for x in figures["wea_interval"])
        count = sum(p.numel() for p in load(name).model.parameters())
        rows.append(
            f"| {name} | {run.model.name}, H {run.model.hidden} | {run.benchmark} "
            f"| {count:,} | {weights.stat().st_size / 2**20:.2f} | {100 * figures['wea']:.3f} % "
            f"| {low:.3f}–{high:.3f} | {about.vocab.reserved or 'none'} |"
        )
        short = about.provenance.get("cut_short_after_epoch")
        commands.append(
            f"- {name}: `{about.provenance['command']}`"
            + (f", cut short after epoch {short}" if short else "")
        )
        checksums.append(f"- {name}: `{weights_sha256(name)}`")
    measured = []
    for name, group in itertools.groupby(unseen(), lambda row: row["model"]):
        cells = list(group)
        right = [f"{100 * c['right'] / c['count']:.1f} % ({c['unseen']})" for c in cells]
        trained = f"{100 * describe(name).run.train.unseen:.0f} %"
        measured.append(f"| {name} | {cells[0]['length']} | {trained} | {' | '.join(right)} |")
    parts = {"rows": rows, "commands": commands, "checksums": checksums, "unseen": measured}
    parts["origins"] = [origin(name) for name in shipped()]
    return CARD.format(**{key: "\n".join(lines) for key, lines in parts.items()})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, nargs="?")
    parser.add_argument("name", nargs="?")
    parser.add_argument("--data", type=Path, help="the folder of a switch set's data")
    args = parser.parse_args()
    if args.folder is not None:
        ship(args.folder, args.name or parser.error("give the NAME to ship it under"), args.data)
    (SHIPPED / "README.md").write_text(card())


if __name__ == "__main__":
    main()
