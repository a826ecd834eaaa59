"""How many of a question's tokens may be unseen: the shipped models that reserve ids, on a CPU.

    python -m benchmarks.unseen --out results/unseen.json    # seconds
    python runs/ship.py                                      # puts it into the model card

Of the first test questions, each at a model's greatest length, a share of the names (data and keys,
not indices) becomes words that no model has seen; the answer has to hold them. Which of the names
is drawn with a fixed seed. The questions go the way of `permnet resolve --model`.
"""

import argparse
import json
import random
from pathlib import Path
from typing import Any

import torch

from benchmarks.command import positive, run
from permnet.answers import Resolver
from permnet.checkpoint import describe, shipped
from permnet.metrics import wilson
from permnet.provenance import provenance
from permnet.tasks.benchmarks import benchmark
from permnet.tasks.permutation import Task, to_tokens
from permnet.vocab import SPECIALS

SHARES = (0.0, 0.25, 0.5, 0.75, 1.0)


def questions(name: str, count: int) -> list[tuple[list[str], list[str]]]:
    """The first test questions of the greatest length, with their answers."""
    split = benchmark(name).split("test")
    longest = split.examples.lengths == split.benchmark.task.longest
    return list(to_tokens(split.vocab, split.examples.take(longest.nonzero()[0][:count])))


def rename(asked: list[str], share: float, direct: bool, chance: random.Random) -> dict[str, str]:
    """New words for a share of the names in a question."""
    end = asked.index("<sep>") if direct else len(asked)
    names = sorted(set(asked[:end]) - {*SPECIALS})
    chosen = chance.sample(names, round(share * len(names)))
    return {token: f"word{i}" for i, token in enumerate(chosen)}


def measure(name: str, share: float, count: int) -> dict[str, Any]:
    resolver, chance = Resolver.load(name), random.Random(0)
    run, task = resolver.checkpoint.run, resolver.checkpoint.task
    assert isinstance(task, Task)
    texts, wanted, unseen = [], [], 0
    for asked, answer in questions(run.benchmark, count):
        words = rename(asked, share, task.kind == "direct", chance)
        texts.append(" ".join(words.get(token, token) for token in asked))
        wanted.append([words.get(token, token) for token in answer[1:-1]])
        unseen = len(words)
    right = sum(a.tokens == b for a, b in zip(resolver(texts), wanted, strict=True))
    return {
        "model": name,
        "length": task.longest,
        "share": share,
        "unseen": unseen,
        "count": len(texts),
        "right": right,
        "interval": wilson(right, len(texts)),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=positive, default=1000, help="questions for each share")
    parser.add_argument("--out", type=Path)
    args = parser.parse_args()
    rows = []
    for name in shipped():
        about = describe(name)
        if isinstance(about.task, Task) and about.vocab.reserved:
            for share in SHARES:
                rows.append(measure(name, share, args.count))
                print(rows[-1], flush=True)
    if args.out:
        told = {**provenance(torch.device("cpu")), "rows": rows}
        args.out.write_text(json.dumps(told, indent=1) + "\n")


if __name__ == "__main__":
    run(main)
