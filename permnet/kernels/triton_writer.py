"""The reads of `writer`'s step on a GPU: same names, same arguments as `_Plain`.

M_e and the attention's keys are nearly all the bytes of a step, so `_look` and `_look_backward`
read each once. A long example is shared by SPLITS programs, or the chip would wait for few of
them; `_settle` and `_held_backward` put their parts together. Positions that hold a token are
fetched HELD at a time: most tokens stand in few, a bracket in a hundred, and then all others wait.
"""

from dataclasses import replace

import torch
import triton
from torch import Tensor

from permnet.kernels.triton_attended import _up
from permnet.kernels.triton_reads import _ask, _held, _look, _settle
from permnet.kernels.triton_reads_backward import _held_backward, _keys_backward, _look_backward
from permnet.kernels.writer import Held, Source
from permnet.ops import powers

HELD = 32
"""Positions of a token fetched at once, at most."""
FETCHED = 8192
"""Numbers fetched at once of those positions."""
CELLS = 2048
"""Of M_e or the keys, how many numbers a program takes at once."""
PROGRAMS = 1024
"""How many programs should share a step's positions; an H200 runs 132 times a few at once."""


def _sizes(source: Source) -> tuple[int, int, int]:
    """Positions a program takes at once, programs of an example, the positions of each."""
    batch, length, widest = *source.m_e.shape[:2], max(source.m_e.shape[2], source.keys.shape[2])
    chunk = max(1, min(_up(length), CELLS // _up(widest)))
    splits = min(_up(max(1, PROGRAMS // batch)), _up(triton.cdiv(length, chunk)))
    return chunk, splits, chunk * triton.cdiv(length, chunk * splits)


def _at_once(size: int) -> int:
    """Positions fetched at once."""
    return max(1, min(HELD, FETCHED // _up(size)))


def _held_of(held: Held, t: int) -> tuple[Tensor, ...]:
    return held.order, held.first[t], held.last[t]


def prepared(source: Source) -> Source:
    """The same with powers in the place of the attention's keys."""
    return replace(source, keys=powers(source.keys.float()).to(source.keys.dtype))


def read(source: Source, held: Held, t: int, h: Tensor, looking: Tensor, weights: Tensor,
         taken: Tensor | None, read: Tensor) -> None:  # fmt: skip
    batch, length, width = source.m_e.shape
    inner, size, resolves = source.keys.shape[2], h.shape[1], taken is not None
    chunk, splits, span = _sizes(source)
    sums, parts = h.new_empty(batch, splits, 4), h.new_empty(batch, splits, 2, width)
    row = read.stride(0)
    _held[(batch,)](
        h, source.m_e, source.copy_keys, source.asking, source.bias, *_held_of(held, t),
        held.asks[t].view(torch.uint8), weights[0], taken, read, length, width, size, row,
        RESOLVES=resolves, HELD=_at_once(size), SS=_up(size), DS=_up(width), num_warps=8,
    )  # fmt: skip
    if resolves:
        block = min(_up(length), 128)
        _ask[(batch, triton.cdiv(length, block))](
            source.m_dp, source.lengths, *_held_of(held, t), taken, weights[2], length,
            HELD=HELD, BLOCK=block, num_warps=4,
        )  # fmt: skip
    _look[(batch, splits)](
        looking, source.m_e, source.keys, source.score, source.lengths, weights[1],
        weights[2] if resolves else None, sums, parts,
        length, width, inner, looking.stride(0), span,
        RESOLVES=resolves, CHUNK=chunk, AS=_up(inner), DS=_up(width), num_warps=4,
    )  # fmt: skip
    _settle[(batch, 2 if resolves else 1)](
        sums, parts, source.lengths, weights[1:], read[:, width:], batch, length, width, row,
        SPLITS=splits, BLOCK=min(_up(length), 1024), DS=_up(width), num_warps=4,
    )  # fmt: skip


def read_backward(source: Source, held: Held, t: int, dread: Tensor, looking: Tensor,
                  weights: Tensor, taken: Tensor | None, dscores: Tensor, dtaken: Tensor | None,
                  dlooking: Tensor, dh: Tensor) -> None:  # fmt: skip
    batch, length, width = source.m_e.shape
    inner, size, resolves = source.keys.shape[2], dh.shape[1], taken is not None
    chunk, splits, span = _sizes(source)
    sums, parts = dh.new_empty(batch, splits, 2), dh.new_empty(batch, splits, 2, inner)
    dweights, dqueries = dh.new_empty(2, batch, length).unbind()
    queries = weights[2] if resolves else None
    row = dread.stride(0)
    _look_backward[(batch, splits)](
        dread, looking, source.m_e, source.keys, source.lengths, weights[1], queries, dweights,
        dqueries, sums, parts, length, width, inner, row, span,
        RESOLVES=resolves, CHUNK=chunk, AS=_up(inner), DS=_up(width), num_warps=4,
    )  # fmt: skip
    _held_backward[(batch,)](
        dread, source.m_e, source.copy_keys, source.asking, source.m_dp, source.score,
        source.lengths, *_held_of(held, t), weights[0], weights[1], queries, taken, dweights,
        dqueries, sums, parts, dscores[0], dscores[1], dscores[2] if resolves else None, dtaken,
        dlooking, dh, length, width, inner, size, row, dlooking.stride(0),
        RESOLVES=resolves, HELD=_at_once(size), SPLITS=splits, BLOCK=min(_up(length), 256),
        AS=_up(inner), SS=_up(size), DS=_up(width), num_warps=8,
    )  # fmt: skip


def keys_backward(looking: Tensor, source: Source, dlooked: Tensor) -> tuple[Tensor, Tensor]:
    steps, batch, inner = looking.shape
    length = source.keys.shape[1]
    chunk = _sizes(source)[0]
    splits = triton.cdiv(length, chunk)
    dkeys = looking.new_empty(source.keys.shape)
    dscore = looking.new_empty(batch * splits, inner)
    _keys_backward[(batch, splits)](
        looking, source.keys, source.score, source.lengths, dlooked, dkeys, dscore,
        batch, steps, length, inner, dlooked.stride(0),
        CHUNK=chunk, AS=_up(inner), num_warps=4,
    )  # fmt: skip
    return dkeys, dscore.sum(0)
