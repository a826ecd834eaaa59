"""Answers from a model: greedy and beam search over `encode`, `start` and `step`.

`greedy` answers one batch and can show how; a `Decoder` answers many and is fast on a GPU.
"""

import dataclasses
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import chain
from typing import Any

import torch
from torch import Tensor

from permnet.models.base import Seq2Seq, Step, take_rows
from permnet.vocab import EOS, PAD, SOS

LOOK = 8
"""Steps between looks at a GPU, to see whether all rows are done: a look waits for the device."""


@dataclass(frozen=True)
class Answers:
    """Greedy answers: ids (B, T) up to and including `<eos>`, then padding; their probabilities.

    `memory` and `steps` hold everything the model computed on the way, when asked for.
    """

    ids: Tensor
    confidence: Tensor
    memory: Any = None
    steps: tuple[Step, ...] = ()


@torch.no_grad()
def greedy(model: Seq2Seq, inputs: Tensor, max_length: int, *, record: bool = False) -> Answers:
    """The most likely token at each step, until every row has said `<eos>`.

    At most `max_length` tokens a row, `<eos>` counted; a row that has not stopped by then simply
    ends without it. A CPU leaves out rows that are done; in a recorded step they hold anything.
    """
    memory = read = model.encode(inputs)
    state = model.start(memory)
    previous = torch.full_like(inputs[:, 0], SOS)
    done = torch.zeros_like(previous, dtype=torch.bool)
    going = place = torch.arange(len(inputs), device=inputs.device)  # rows; where each row stands
    tokens, chances, steps = [], [], []
    look = LOOK if inputs.is_cuda else 1
    for count in range(1, max_length + 1):
        step = model.step(memory, state, previous)
        logp, token = _most_likely(step.logits)
        tokens.append(token[place].masked_fill(done, PAD))
        chances.append(logp[place].exp().masked_fill(done, 0.0))
        if record:
            steps.append(step if len(going) == len(done) else take_rows(step, place))
        done |= (token == EOS)[place]
        if count % look == 0 and bool(done.all()):
            break
        state, previous = step.state, token
        if not inputs.is_cuda and int((~done).sum()) < 0.75 * len(going):
            left = (~done[going]).nonzero()[:, 0]
            going = going[left]
            numbers = torch.arange(len(going), device=place.device)
            place = torch.zeros_like(place).index_copy(0, going, numbers)
            memory, state, previous = take_rows((memory, state, previous), left)
    ids, confidence = torch.stack(tokens, 1), torch.stack(chances, 1)
    width = int((confidence != 0).any(0).sum())  # the steps before all rows were done
    return Answers(
        ids[:, :width], confidence[:, :width], read if record else None, tuple(steps[:width])
    )


def _most_likely(logits: Tensor) -> tuple[Tensor, Tensor]:
    """The best token of each row, of equal ones the first, after its log-probability."""
    logp, token = torch.log_softmax(logits.float(), dim=-1).max(dim=-1)  # Eq. 13
    return logp, token


def trimmed(ids: Tensor) -> Tensor:
    """Rows (B, T) padded at the right, without the columns that hold only padding."""
    return ids[:, : int((ids != PAD).any(0).sum())]


class Decoder:
    """Greedy answers to batch after batch: those of `greedy`, sooner.

    On a CUDA device a shape of batch that comes a second time in a row is captured in graphs, which
    are replayed from then on. They read the weights where these lie, so that weights trained on
    between two batches count; weights that moved are noticed. Other settings, as the precision of
    products, stay as they were. Elsewhere it is `greedy` itself.
    """

    def __init__(self, model: Seq2Seq) -> None:
        self.model = model
        self.key: tuple[object, ...] = ()
        self.run: Callable[[Tensor], Tensor] | None = None

    @torch.no_grad()
    def __call__(self, inputs: Tensor, max_length: int) -> Tensor:
        """Ids (B, at most max_length): up to `<eos>`, then `<pad>`."""
        weights = chain(self.model.parameters(), self.model.buffers())
        key = (inputs.shape, inputs.device, max_length, *(w.data_ptr() for w in weights))
        if key != self.key:
            self.key, self.run = key, None
            return greedy(self.model, inputs, max_length).ids
        if self.run is None:
            if inputs.is_cuda:
                way = InPlace if keeps_shape(self.model, inputs) else Unrolled
                self.run = way(self.model, inputs, max_length)
            else:
                self.run = lambda rows: greedy(self.model, rows, max_length).ids
        return self.run(inputs)


class InPlace:
    """Greedy decoding of batches of one shape in buffers that never move, as a graph needs it.

    On a CUDA device `begin` and `step` are captured, once each; elsewhere they run as they are. The
    state must keep its shape.
    """

    @torch.no_grad()
    def __init__(self, model: Seq2Seq, like: Tensor, max_length: int) -> None:
        self.model, self.max_length = model, max_length
        self.inputs = like.clone()
        self.rows = torch.arange(len(like), device=like.device)
        self.previous = torch.empty_like(self.rows)
        self.done = torch.empty_like(self.rows, dtype=torch.bool)
        self.ids = self.rows.new_empty(len(like), max_length)
        self.count = self.rows.new_empty(1)
        self.memory: Any = None
        self.state: Any = None
        self.begin, self.step = self._begin, self._step
        if like.is_cuda:
            self.begin = _captured(self._begin)
            self.begin()  # the step is warmed up on what the graph makes, which must be there
            self.step = _captured(self._step)

    @torch.no_grad()
    def __call__(self, inputs: Tensor) -> Tensor:
        self.inputs.copy_(inputs)
        self.begin()
        for count in range(1, self.max_length + 1):
            self.step()
            if count % LOOK == 0 and bool(self.done.all()):
                break
        return trimmed(self.ids).clone()

    def _begin(self) -> None:
        self.memory = self.model.encode(self.inputs)
        # Copied, as a start may be part of the memory, which must not change.
        self.state = take_rows(self.model.start(self.memory), self.rows)
        self.previous.fill_(SOS)
        self.done.zero_()
        self.ids.fill_(PAD)
        self.count.zero_()

    def _step(self) -> None:
        step = self.model.step(self.memory, self.state, self.previous)
        token = _most_likely(step.logits)[1]
        self.ids.index_copy_(1, self.count, token.masked_fill(self.done, PAD)[:, None])
        self.count.add_(1)
        self.done.logical_or_(token == EOS)
        self.previous.copy_(token)
        # All copied before any is written, as a new state may hold parts of the old.
        after = take_rows(step.state, self.rows)
        for old, new in zip(_leaves(self.state), _leaves(after), strict=True):
            if isinstance(old, Tensor):
                old.copy_(new)


class Unrolled:
    """Greedy decoding of batches of one shape, for models whose state grows, as Transformers.

    No two steps are alike then, so on a CUDA device all of them are captured, as one graph.
    """

    def __init__(self, model: Seq2Seq, like: Tensor, max_length: int) -> None:
        self.model, self.inputs = model, like.clone()
        self.ids = like.new_empty(len(like), max_length, dtype=torch.long)
        self.answer = _captured(self._answer) if like.is_cuda else self._answer

    @torch.no_grad()
    def __call__(self, inputs: Tensor) -> Tensor:
        self.inputs.copy_(inputs)
        self.answer()
        return trimmed(self.ids).clone()

    @torch.no_grad()
    def _answer(self) -> None:
        memory = self.model.encode(self.inputs)
        state = self.model.start(memory)
        token = torch.full_like(self.ids[:, 0], SOS)
        done = torch.zeros_like(token, dtype=torch.bool)
        for column in self.ids.unbind(1):
            step = self.model.step(memory, state, token)
            state, token = step.state, _most_likely(step.logits)[1]
            column.copy_(token.masked_fill(done, PAD))
            done = done | (token == EOS)


def _captured(action: Callable[[], None]) -> Callable[[], None]:
    """Records an action without arguments in a CUDA graph; what comes back replays it."""
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        action()  # libraries set themselves up on first use
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    # The threads of other libraries, as those that watch over several processes, may go on.
    with torch.cuda.graph(graph, capture_error_mode="thread_local"):
        action()
    return graph.replay


@torch.no_grad()
def keeps_shape(model: Seq2Seq, inputs: Tensor) -> bool:
    """Whether the state after a step has the form of the one before, and can take its place."""
    memory = model.encode(inputs)
    before = model.start(memory)
    after = model.step(memory, before, torch.full_like(inputs[:, 0], SOS)).state
    forms = (
        [(x.shape, x.dtype) if isinstance(x, Tensor) else x for x in _leaves(state)]
        for state in (before, after)
    )
    return next(forms) == next(forms)


def _leaves(tree: Any) -> Iterator[Any]:
    """What a memory, state or step is made of, in order."""
    if isinstance(tree, tuple):
        for part in tree:
            yield from _leaves(part)
    elif dataclasses.is_dataclass(tree):
        for field in dataclasses.fields(tree):
            yield from _leaves(getattr(tree, field.name))
    else:
        yield tree


@dataclass(frozen=True)
class Beams:
    """The `width` best answers of each row, best first: ids (B, W, T), log-probabilities (B, W)."""

    ids: Tensor
    scores: Tensor


@torch.no_grad()
def beam(model: Seq2Seq, inputs: Tensor, max_length: int, width: int) -> Beams:
    """Beam search by the sum of log-probabilities, without length normalisation.

    A finished answer keeps its place and its score; the search ends when all beams of all rows are
    finished. Where there are fewer than `width` answers, the rest have score -inf.
    """
    batch = len(inputs)
    rows = torch.arange(batch, device=inputs.device).repeat_interleave(width)
    memory = take_rows(model.encode(inputs), rows)
    state = model.start(memory)
    previous = torch.full((batch * width,), SOS, device=inputs.device)
    done = torch.zeros(batch, width, dtype=torch.bool, device=inputs.device)
    # All beams of a row start equal: only the first may live, or they would all stay the same.
    scores = torch.full((batch, width), -torch.inf, device=inputs.device)
    scores[:, 0] = 0.0
    ids = inputs.new_empty(batch, width, 0)
    for _ in range(max_length):
        step = model.step(memory, state, previous)
        logp = torch.log_softmax(step.logits.float(), dim=-1).unflatten(0, (batch, width))
        stay = torch.full_like(logp[:1, :1], -torch.inf)
        stay[..., PAD] = 0.0
        logp = torch.where(done[..., None], stay, logp)
        # Sorted, not topk: of equal ones the first is taken, as `greedy` does.
        ranked = (scores[..., None] + logp).flatten(1).sort(dim=1, descending=True, stable=True)
        scores, best = (x[:, :width] for x in ranked)
        parent, token = best // logp.shape[-1], best % logp.shape[-1]
        ids = torch.cat([ids.gather(1, parent[..., None].expand_as(ids)), token[..., None]], dim=2)
        done = done.gather(1, parent) | (token == EOS)
        if bool(done.all()):
            break
        chosen = (parent + width * torch.arange(batch, device=parent.device)[:, None]).flatten()
        state, previous = take_rows(step.state, chosen), token.flatten()
    return Beams(ids, scores)
