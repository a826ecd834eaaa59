"""What the page is told of one question: the model's own record, and the exact answer beside it.

Positions count all input tokens, `<sos>` is 0. Arrays travel as they were computed, float32 in
base64 (`floats`), so that what is marked on the page can be checked against the model bit by bit.
Of the arrays a model may have, `T` output tokens, `L` input tokens, `V` ids, `P` longest array:

    logits, vocabulary, resolver (T, V)   vocabulary + resolver = logits
    positions (T, L)                      how much each speaks for its token: v_dw of PermNetI
    roles (L, 4)                          DATA, KEY, QUERY, NOT_RELEVANT
    m_dk, m_kp, m_dp (L, L); v_pw, attention (T, L)                      of PermNetI
    v_arr (1, L); v_attn (T, L); v_ind (T, P); index_embedding (V, P)    of PermNetD
"""

import base64
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from permnet.answers import ask, read, task_of
from permnet.checkpoint import Checkpoint
from permnet.models.resolver import DirectMemory, IndirectMemory
from permnet.tasks.permutation import NOISE, Task, to_tokens
from permnet.tasks.solve import solve
from permnet.vocab import EOS, SEP, SPECIALS


@dataclass(frozen=True)
class Parts:
    """Where data, their keys (none in direct tasks) and queries stand."""

    data: tuple[int, ...]
    keys: tuple[int, ...]
    queries: tuple[int, ...]


@dataclass(frozen=True)
class Way:
    """How a step got from its query to its datum.

    `datum` is the position that gave most to the token; `query` the one this step is to answer.
    Between them, of the model's own record: through `key`, the largest summand of M_dp[datum,
    query] = Σ M_dk[datum, key] M_kp[key, query]; or by `offset` from the start of the array, the
    largest summand of the datum's antidiagonal, Σ v_arr[datum - offset] v_ind[offset].
    """

    query: int | None
    key: int | None
    datum: int | None
    offset: int | None = None


def record(checkpoint: Checkpoint, text: str) -> dict[str, Any]:
    """The answer to a text and all that led to it, as JSON values."""
    began = time.perf_counter()
    task, vocab = task_of(checkpoint), checkpoint.vocab
    question = read(text, checkpoint)
    found, places = ask(checkpoint, [question])
    seconds = time.perf_counter() - began
    names = vocab.decode(range(len(vocab)), question.lent)
    tokens = [names[i] for i in question.ids]
    parts = find_parts(task, tokens)
    arrays = _arrays(checkpoint, found.memory, found.steps)
    output = [names[i] for i in found.ids[0].tolist()]
    expected = [*solve(task.kind, tokens, NOISE if task.noise else ()), SPECIALS[EOS]]
    return {
        "tokens": tokens,
        "parts": asdict(parts),
        "names": names,
        "output": output,
        "expected": expected,
        "confidence": found.confidence[0].tolist(),
        "ways": [
            asdict(_way(arrays, parts, t, None if at < 0 else at + 1))
            for t, at in enumerate(places[0].tolist())
        ],
        "true_ways": [asdict(way) for way in true_ways(task, parts, tokens)],
        "arrays": {name: floats(array) for name, array in arrays.items()},
        "parameters": sum(p.numel() for p in checkpoint.model.parameters()),
        "seconds": seconds,
    }


def sample(task: Task, seed: int) -> str:
    """A question of the task, `<sos>` and `<eos>` left out."""
    examples = task.sample(1, np.random.RandomState(seed))
    ((asked, _),) = to_tokens(task.vocab(), examples)
    return " ".join(asked[1:-1])


def floats(array: Tensor) -> dict[str, Any]:
    """`{"shape": […], "base64": …}`, little-endian float32."""
    values = array.detach().float().contiguous().numpy().astype("<f4")
    return {"shape": list(values.shape), "base64": base64.b64encode(values.tobytes()).decode()}


def find_parts(task: Task, tokens: Sequence[str]) -> Parts:
    """The parts of a question that has been read without an error.

    >>> find_parts(Task("indirect", 1, 4), "<sos> a 1 b 2 <sep> 2 1 <eos>".split())
    Parts(data=(1, 3), keys=(2, 4), queries=(6, 7))
    """
    sep = tokens.index(SPECIALS[SEP])
    real = [i for i, t in enumerate(tokens) if not (task.noise and t in NOISE)][1:-1]
    source = tuple(i for i in real if i < sep)
    queries = tuple(i for i in real if i > sep)
    if task.kind == "direct":
        return Parts(source, (), queries)
    return Parts(source[::2], source[1::2], queries)


def true_ways(task: Task, parts: Parts, tokens: Sequence[str]) -> list[Way]:
    """From each query to the datum that it asks for."""
    if task.kind == "direct":
        offsets = [int(tokens[query]) for query in parts.queries]
        return [
            Way(query, None, parts.data[offset], offset)
            for query, offset in zip(parts.queries, offsets, strict=True)
        ]
    index = {tokens[key]: i for i, key in enumerate(parts.keys)}
    found = [index[tokens[query]] for query in parts.queries]
    return [
        Way(query, parts.keys[i], parts.data[i])
        for query, i in zip(parts.queries, found, strict=True)
    ]


def _way(arrays: dict[str, Tensor], parts: Parts, step: int, datum: int | None) -> Way:
    query = parts.queries[step] if step < len(parts.queries) else None
    key = offset = None
    if datum is not None and query is not None and "m_dp" in arrays and parts.keys:
        keys = list(parts.keys)
        summands = arrays["m_dk"][datum, keys] * arrays["m_kp"][keys, query]
        key = keys[int(summands.argmax())]
    if datum is not None and "v_arr" in arrays:
        v_ind = arrays["v_ind"][step][: datum + 1]
        starts = datum - torch.arange(len(v_ind), device=v_ind.device)
        offset = int((arrays["v_arr"][0, starts] * v_ind).argmax())
    return Way(query, key, datum, offset)


def _arrays(checkpoint: Checkpoint, memory: Any, steps: Sequence[Any]) -> dict[str, Tensor]:
    """Whatever of the arrays above this model has, of the first example."""

    def over_steps(name: str) -> Tensor:
        return torch.stack([getattr(step, name)[0] for step in steps])

    def pointed(name: str) -> Tensor:
        return torch.cat([getattr(step.point, name)[0] for step in steps])

    found = {"logits": over_steps("logits")}
    if steps[0].positions is not None:
        found["positions"] = over_steps("positions")
    if hasattr(steps[0], "point"):
        found |= {"vocabulary": over_steps("v_vocab"), "resolver": pointed("logits")}
    read, without = getattr(memory, "resolver", None), checkpoint.run.model.without
    if isinstance(read, IndirectMemory):
        found |= {"m_dk": read.m_dk[0], "m_kp": read.m_kp[0], "m_dp": read.m_dp[0]}
        if without != "m_d+m_k+m_p":
            found["roles"] = read.m_label[0]
        if hasattr(steps[0], "point"):
            found["v_pw"] = pointed("v_pw")
            if without != "attn":
                found["attention"] = over_steps("attention")
    if isinstance(read, DirectMemory):
        found["v_ind"] = pointed("v_ind")
        if without != "v_arr":
            found["v_arr"] = read.v_arr
        if without != "m_ind":
            found["v_attn"] = pointed("v_attn")
            found["index_embedding"] = checkpoint.model.get_parameter("resolver.emb_ind.weight")
    return found
