"""Figures 4 to 6 of the paper, from trained models: what is inside them, and whether it is so."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from permnet.batch import Batch
from permnet.checkpoint import Checkpoint, describe, load
from permnet.errors import PermnetError
from permnet.models.permneti import PermNetI
from permnet.report.figures import Figure
from permnet.tasks.benchmarks import benchmark
from permnet.tasks.find import find
from permnet.tasks.permutation import to_tokens
from permnet.tasks.solve import solve
from permnet.vocab import SEP, SPECIALS

EXAMPLES = 1000
"""Of the validation split."""


def measure(folder: Path) -> dict[str, Figure]:
    """The figures whose models are in the folder, as checkpoints or as runs of a sweep."""
    if not folder.is_dir():
        raise PermnetError(f"{folder} is not a folder: give the one that holds checkpoints")
    wanted = {
        "Figure 4": (("permnetd", "PD40", None), index_embedding),
        "Figure 5": (("permneti", "PI20", None), references),
        "Figure 6": (("permneti", "PI10", "m_d"), without_m_d),
    }
    found = dict(_checkpoints(folder))
    return {
        name: draw(load(found[key]), found[key].relative_to(folder).as_posix())
        for name, (key, draw) in wanted.items()
        if key in found
    }


def _checkpoints(folder: Path) -> Iterator[tuple[tuple[str, str, str | None], Path]]:
    """Model, benchmark and ablation of each checkpoint; of equals the first by name comes last."""
    paths = {path.parent for path in folder.glob("*/config.json")}
    finished = {path.with_name("last") for path in folder.glob("*/result.json")}
    paths |= {path for path in finished if path.is_dir()}
    for path in sorted(paths, reverse=True):
        run = describe(path).run
        if not run.model.equal:  # an addition of ours, which the paper's figures do not have
            yield (run.model.name, find(run.benchmark).name, run.model.without), path


def _run_name(trained: Checkpoint, name: str) -> str:
    """A shipped model says which run it is; a run's folder is called after it."""
    return str(trained.provenance.get("run_name", name.removesuffix("/last")))


def index_embedding(trained: Checkpoint, name: str) -> Figure:
    """Figure 4: the offset that each token means to PermNetD. Index tokens are the last rows."""
    weight = trained.model.get_parameter("resolver.emb_ind.weight").detach()
    size = weight.shape[1]
    indices, diagonal = weight[-size:], torch.arange(size)
    right = int((indices.argmax(1) == diagonal).sum())
    absolute = int((indices.abs().argmax(1) == diagonal).sum())
    return Figure(
        title="Index embedding",
        claim=f"the largest weight stands on the diagonal in {right} of {size} index rows "
        f"(by absolute value in {absolute}).",
        measured=right / size,
        checkpoint=name,
        rows=tuple(trained.vocab.name(i) for i in range(len(trained.vocab))),
        columns=tuple(map(str, range(size))),
        matrix=_rounded(weight),
        run=_run_name(trained, name),
    )


def references(trained: Checkpoint, name: str) -> Figure:
    """Figure 5: M_dp, which leads from each query (column) to its datum (row)."""
    seen = _Seen(trained)
    on_datum, _ = seen.shares()
    return Figure(
        title="M_dp",
        claim=f"the largest value of a query's column stands on the datum that the solver names in "
        f"{100 * on_datum:.2f} % of the columns, over {EXAMPLES:,} validation examples.",
        measured=on_datum,
        checkpoint=name,
        rows=seen.tokens[0],
        columns=seen.tokens[0],
        matrix=_rounded(seen.m_dp[0]),
        run=_run_name(trained, name),
    )


def without_m_d(trained: Checkpoint, name: str) -> Figure:
    """Figure 6: M_dp of a model without M_d, and what its fixed-vocabulary part has learned."""
    seen = _Seen(trained)
    on_datum, on_key = seen.shares()
    data, keys, special = seen.vocabulary_logits()
    return Figure(
        title="M_dp without M_d",
        claim=f"the largest value of a query's column stands on the datum in {100 * on_datum:.2f} "
        f"% and on its key in {100 * on_key:.2f} % of the columns, over {EXAMPLES:,} validation "
        f"examples; where a datum is due, the fixed-vocabulary part gives data tokens {data:+.2f}, "
        f"keys {keys:+.2f} and special tokens {special:+.2f} on average.",
        measured=on_datum + on_key,
        checkpoint=name,
        rows=seen.tokens[0],
        columns=seen.tokens[0],
        matrix=_rounded(seen.m_dp[0]),
        run=_run_name(trained, name),
        vocabulary=tuple(round(value, 2) for value in (data, keys, special)),
    )


class _Seen:
    """A PermNetI at work on validation examples."""

    @torch.no_grad()
    def __init__(self, trained: Checkpoint) -> None:
        bench = benchmark(trained.run.benchmark)
        self.task, self.vocab = bench.task, trained.vocab
        split = bench.split("validation", EXAMPLES)
        self.tokens = [tuple(asked) for asked, _ in to_tokens(split.vocab, split.examples)]
        self.batch = Batch(
            *(
                torch.from_numpy(self.vocab.shifted(ids).astype(np.int64))
                for ids in (split.examples.inputs, split.examples.targets)
            )
        )
        assert isinstance(trained.model, PermNetI)
        self.model = trained.model
        self.memory = self.model.encode(self.batch.inputs)
        self.m_dp = self.memory.resolver.m_dp

    def shares(self) -> tuple[float, float]:
        """Of all query columns, those whose largest value stands on the right datum, or its key."""
        first_query = 1 + int((self.batch.inputs[0] == SEP).nonzero()[0])
        on_datum = on_key = columns = 0
        for tokens, m_dp in zip(self.tokens, self.m_dp, strict=True):
            answer = solve(self.task.kind, tokens)
            found = m_dp.argmax(0).tolist()
            for column, datum in enumerate(answer, first_query):
                at = tokens.index(datum)
                on_datum += found[column] == at
                on_key += found[column] == at + 1
                columns += 1
        return on_datum / columns, on_key / columns

    @torch.no_grad()
    def vocabulary_logits(self) -> tuple[float, float, float]:
        """Mean of v_vocab over the steps that emit data, for data, keys and special tokens."""
        state, total = self.model.start(self.memory), torch.zeros(len(self.vocab))
        steps = self.task.longest
        for previous in self.batch.previous[:, :steps].unbind(1):
            step: Any = self.model.step(self.memory, state, previous)
            state, total = step.state, total + step.v_vocab.mean(0)
        first, size = self.vocab.first_token, self.task.size
        mean = total / steps
        data, keys = mean[first : first + size], mean[first + size :]
        return float(data.mean()), float(keys.mean()), float(mean[1 : len(SPECIALS)].mean())


def _rounded(matrix: Tensor) -> tuple[tuple[float, ...], ...]:
    return tuple(tuple(round(value, 4) for value in row) for row in matrix.tolist())
