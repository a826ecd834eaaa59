"""The model that proposes: what it answers to a dispatch is a claim for the proof.

Which tests belong to a dispatch and where its value lies comes from the rules' walk; which labels
lead where, and what takes the rest, from the model.
"""

from collections.abc import Iterable, Iterator, Sequence

from permnet.batch import pad
from permnet.checkpoint import load, shipped
from permnet.decode import beam, greedy
from permnet.errors import PermnetError
from permnet.models import Seq2Seq
from permnet.switches.claim import Claim
from permnet.switches.find import Dispatch
from permnet.switches.graph import Graph
from permnet.switches.model_tokens import LONGEST, claimed, question, scrutinee_of
from permnet.switches.regions import Region
from permnet.switches.rules import FEWEST_TESTS, RefusedError, claims
from permnet.tasks.dispatch import DISPATCH
from permnet.vocab import EOS, SOS, Vocab

ROWS = 32  # dispatches at once
N_BEST = 10  # answers that are tried before the model gives up
Encoded = tuple[list[int], dict[str, int]]  # a question, and the ids that it lends to tokens


class Reader:
    """A proposer: a model of `switch-dispatch` and its vocabulary."""

    def __init__(self, model: Seq2Seq, vocab: Vocab) -> None:
        self.model, self.vocab = model, vocab

    def __call__(self, dispatches: Sequence[Dispatch]) -> list[Iterable[Claim]]:
        """What the model claims of each, the likeliest first; RefusedError where it cannot."""
        proposed: list[Iterable[Claim]] = [()] * len(dispatches)
        asked: dict[int, Encoded] = {}
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
            inputs = pad([asked[i][0] for i in rows])
            answers = greedy(self.model, inputs, inputs.shape[1]).ids.tolist()
            for i, ids in zip(rows, answers, strict=True):
                proposed[i] = self._claims(ids, asked[i], *dispatches[i])
        return proposed

    def _claims(
        self, ids: list[int], asked: Encoded, graph: Graph, region: Region
    ) -> Iterator[Claim]:
        """What the greedy answer says, and if that is not proven what the next likely ones say."""
        refused = ""
        for answer in self._answers(ids, asked[0]):
            try:
                tokens = self.vocab.decode(answer, asked[1])
                yield from claimed(tokens, graph, region, scrutinee_of(graph, region))
            except PermnetError as error:
                refused = refused or f"the model's answer is no claim: {error}"
        if refused:
            raise RefusedError(refused)

    def _answers(self, first: list[int], asked: list[int]) -> Iterator[list[int]]:
        """Answers without `<eos>`; the others are searched for when the first has been tried."""
        seen = [_ended(first)]
        yield seen[0]
        found = beam(self.model, pad([asked]), len(asked), N_BEST).ids[0].tolist()
        for ids in map(_ended, found):
            if ids not in seen:
                seen.append(ids)
                yield ids

    def _encoded(self, graph: Graph, region: Region) -> Encoded:
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


def _ended(ids: list[int]) -> list[int]:
    """An answer up to `<eos>`; one without it is no answer."""
    return ids[: ids.index(EOS)] if EOS in ids else []


def _refused(reason: str) -> Iterator[Claim]:
    raise RefusedError(reason)
    yield
