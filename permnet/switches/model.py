"""The model that proposes: what it answers to a dispatch is a claim for the proof.

Which tests belong to a dispatch and where its value lies comes from the rules' walk; which labels
lead where, and what takes the rest, from the model.
"""

from collections.abc import Iterable, Iterator, Sequence

from permnet.batch import pad
from permnet.checkpoint import load, shipped
from permnet.decode import greedy
from permnet.errors import PermnetError
from permnet.models import Seq2Seq
from permnet.switches.claim import Claim
from permnet.switches.find import Dispatch
from permnet.switches.graph import Graph
from permnet.switches.model_tokens import LONGEST, claimed, question, scrutinee_of
from permnet.switches.regions import Region
from permnet.switches.rules import FEWEST_TESTS, RefusedError, claims
from permnet.tasks.dispatch import DISPATCH
from permnet.vocab import EOS, PAD, SOS, SPECIALS, Vocab

ROWS = 32  # dispatches at once
LONGEST_ANSWER = 200  # tokens; of the training data 100 is about the most


class Reader:
    """A proposer: a model of `switch-dispatch` and its vocabulary."""

    def __init__(self, model: Seq2Seq, vocab: Vocab) -> None:
        self.model, self.vocab = model, vocab

    def __call__(self, dispatches: Sequence[Dispatch]) -> list[Iterable[Claim]]:
        """What the model claims of each; RefusedError where it gives no claim."""
        proposed: list[Iterable[Claim]] = [()] * len(dispatches)
        asked: dict[int, tuple[list[int], dict[str, int]]] = {}
        for i, (graph, region) in enumerate(dispatches):
            if not _may_be_switch(graph, region):
                continue
            try:
                asked[i] = self._encoded(graph, region)
            except (PermnetError, RefusedError) as error:
                proposed[i] = _refused(f"outside the domain of the model: {error}")
        order = sorted(asked, key=lambda i: len(asked[i][0]))
        for first in range(0, len(order), ROWS):
            rows = order[first : first + ROWS]
            answers = greedy(self.model, pad([asked[i][0] for i in rows]), LONGEST_ANSWER)
            for i, ids in zip(rows, answers.ids.tolist(), strict=True):
                said = self.vocab.decode((t for t in ids if t != PAD), asked[i][1])
                proposed[i] = _claims(said, *dispatches[i])
        return proposed

    def _encoded(self, graph: Graph, region: Region) -> tuple[list[int], dict[str, int]]:
        """The ids of a question, and those lent to numbers for it."""
        tokens = question(graph, region, scrutinee_of(graph, region))
        if len(tokens) > LONGEST:
            raise PermnetError(f"its question has {len(tokens)} tokens, more than {LONGEST}")
        ids, lent = self.vocab.encode(tokens)
        return [SOS, *ids, EOS], lent


def shipped_reader() -> Reader:
    """With the model that comes with the package."""
    if DISPATCH not in shipped():
        raise PermnetError("no model of dispatches comes with this copy: use --proposer rules")
    checkpoint = load(DISPATCH)
    return Reader(checkpoint.model, checkpoint.vocab)


def _may_be_switch(graph: Graph, region: Region) -> bool:
    """Whether there is enough of it to be one, no chain of ifs, and all of its tests are known."""
    try:
        return next(claims(graph, region), None) is not None
    except RefusedError:
        followed = all(edge.kind in ("hit", "miss", "order") for edge in region.edges)
        return followed and region.chain + 1 < FEWEST_TESTS


def _claims(said: list[str], graph: Graph, region: Region) -> Iterator[Claim]:
    """What an answer up to `<eos>` says."""
    end = SPECIALS[EOS]
    if end not in said:
        raise RefusedError(f"the model did not end its answer in {LONGEST_ANSWER} tokens")
    try:
        tokens = said[: said.index(end)]
        yield from claimed(tokens, graph, region, scrutinee_of(graph, region))
    except PermnetError as error:
        raise RefusedError(f"the model's answer is no claim: {error}") from error


def _refused(reason: str) -> Iterator[Claim]:
    raise RefusedError(reason)
    yield
