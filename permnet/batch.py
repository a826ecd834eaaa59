"""Batches: padded rows of ids on a device, and the order in which training meets them."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from permnet.tasks.switch.dataset import Ragged
from permnet.vocab import PAD, SOS, SPECIALS, Vocab

BUCKETS = 8


@dataclass(frozen=True)
class Batch:
    """Inputs (B, L) from `<sos>` to `<eos>`, targets (B, T) up to `<eos>`, padded at the right."""

    inputs: Tensor
    targets: Tensor

    @property
    def previous(self) -> Tensor:
        """The tokens before each target: `<sos>`, then the targets but the last."""
        first = torch.full_like(self.targets[:, :1], SOS)
        return torch.cat([first, self.targets[:, :-1]], dim=1)

    def __len__(self) -> int:
        return len(self.inputs)

    def rows(self, index: Tensor) -> "Batch":
        return Batch(self.inputs[index].long(), self.targets[index].long())


def pad(rows: list[list[int]], device: torch.device | str = "cpu") -> Tensor:
    """Rows of different lengths as one tensor, `<pad>` at the right."""
    width = max(map(len, rows), default=0)
    return torch.tensor([row + [PAD] * (width - len(row)) for row in rows], device=device)


def resident(
    inputs: np.ndarray,
    targets: np.ndarray,
    vocab: Vocab,
    device: torch.device | str = "cpu",
    multiple: int = 1,
) -> Batch:
    """A whole split on the device, as the smallest integers that hold its ids.

    The arrays hold ids of the benchmark's own vocabulary, without reserved ids. Inputs are padded
    to a multiple of `multiple` tokens: at 8 a GPU's matrix units take every product.
    """
    kind = torch.uint8 if len(vocab) <= 256 else torch.int16
    wider = np.pad(inputs, ((0, 0), (0, -inputs.shape[1] % multiple)), constant_values=PAD)
    # Copies: frombuffer-backed arrays may be read-only, and torch warns of those.
    parts = (torch.from_numpy(vocab.shifted(a).astype(np.int32)) for a in (wider, targets))
    return Batch(*(p.to(kind).to(device) for p in parts))


@dataclass(frozen=True)
class Bucket:
    """Examples of like length: their numbers in the split (N,), and their ids, padded alike."""

    rows: np.ndarray
    data: Batch

    def __len__(self) -> int:
        return len(self.rows)

    def share(self, part: int, parts: int) -> "Bucket":
        """Every parts-th example."""
        own = slice(part, None, parts)
        return Bucket(self.rows[own], Batch(self.data.inputs[own], self.data.targets[own]))


def buckets(
    inputs: Ragged,
    targets: Ragged,
    chosen: np.ndarray,
    least: int = 1,
    device: torch.device | str = "cpu",
) -> list[Bucket]:
    """The examples that a mask chooses, by length: at most `BUCKETS` shapes, the shortest first.

    The shapes are equal steps up to the longest input and the longest target, and an example goes
    to the first that holds both of its sides. A bucket of fewer than `least` examples joins the
    next. On a GPU widths are multiples of 8, so that its matrix units take every product.
    """
    numbers = np.flatnonzero(chosen)
    sides = [side.lengths[numbers] for side in (inputs, targets)]
    reach = np.maximum(*(lengths / lengths.max(initial=1) for lengths in sides))
    step = np.maximum(np.ceil(BUCKETS * reach - 1e-9), 1)
    groups: list[np.ndarray] = []
    held = numbers[:0]
    for number in range(1, BUCKETS + 1):
        held = np.union1d(held, numbers[step == number])
        if len(held) >= least:
            groups.append(held)
            held = numbers[:0]
    if len(held):
        groups[-1:] = [np.union1d(groups[-1], held) if groups else held]
    return [_bucket(inputs, targets, group, device) for group in groups]


def _bucket(
    inputs: Ragged, targets: Ragged, rows: np.ndarray, device: torch.device | str
) -> Bucket:
    multiple = 8 if torch.device(device).type == "cuda" else 1
    chosen = np.zeros(len(inputs), dtype=bool)
    chosen[rows] = True
    parts = []
    for side in (inputs, targets):
        width = -(-int(side.lengths[rows].max()) // multiple) * multiple
        ids = side.padded(chosen, width).astype(np.int16)
        parts.append(torch.from_numpy(ids).to(device))
    return Bucket(rows, Batch(*parts))


def repeats(data: Batch) -> bool:
    """Whether some token of a target, special ones apart, stands more than once in its input."""
    for inputs, targets in zip(data.inputs.split(8192), data.targets.split(8192), strict=True):
        size = 1 + int(torch.maximum(inputs.max(), targets.max()))
        counts = torch.zeros(len(inputs), size, dtype=torch.int16, device=inputs.device)
        counts.scatter_add_(1, inputs.long(), torch.ones_like(inputs, dtype=torch.int16))
        asked = targets.long()
        if bool(((counts.gather(1, asked) > 1) & (asked >= len(SPECIALS))).any()):
            return True
    return False


def epoch(data: Sequence[Batch], size: int, generator: torch.Generator) -> list[tuple[int, Tensor]]:
    """An epoch's batches, each the number of its bucket and of its rows there.

    A seeded permutation of each bucket, its ragged end dropped; then of all batches.
    """
    batches = []
    for number, bucket in enumerate(data):
        order = torch.randperm(len(bucket), generator=generator, device=generator.device)
        starts = range(0, len(bucket) - size + 1, size)
        batches += [(number, order[start : start + size]) for start in starts]
    if len(data) == 1:
        return batches
    order = torch.randperm(len(batches), generator=generator, device=generator.device)
    return [batches[i] for i in order.tolist()]


def renamed(
    batch: Batch, groups: Sequence[Tensor], vocab_size: int, generator: torch.Generator
) -> Batch:
    """Each example with the ids of a group swapped at random, in input and target."""
    device = batch.inputs.device
    table = torch.arange(vocab_size, device=device).repeat(len(batch), 1)
    for ids in groups:
        noise = torch.rand(len(batch), len(ids), generator=generator, device=device)
        table.index_copy_(1, ids, ids[noise.argsort(1)])
    return Batch(table.gather(1, batch.inputs), table.gather(1, batch.targets))


def lend(batch: Batch, vocab: Vocab, share: float, generator: torch.Generator) -> Batch:
    """The batch with a share of each example's tokens under reserved ids, in input and target.

    So a model learns to use which token stands where, not which token it is; in use the same ids
    stand for tokens never seen. No more tokens of an example change than there are reserved ids.
    """
    if not vocab.reserved or not share:
        return batch
    size, device = len(vocab), batch.inputs.device

    def noise() -> Tensor:
        return torch.rand(len(batch), size, generator=generator, device=device)

    present = torch.zeros(len(batch), size, dtype=torch.bool, device=device)
    present.scatter_(1, batch.inputs, True)
    present[:, : vocab.first_token] = False
    chosen = present & (noise() < share)
    # A random order of the chosen tokens, first in line: their places are the reserved ids, which
    # are themselves shuffled, so that every embedding is trained alike.
    place = (noise() + (~chosen).float()).argsort(1).argsort(1)
    shuffled = noise()[:, : vocab.reserved].argsort(1) + len(SPECIALS)
    lent = shuffled.gather(1, place.clamp(max=vocab.reserved - 1))
    itself = torch.arange(size, device=device).expand_as(lent)
    table = torch.where(chosen & (place < vocab.reserved), lent, itself)
    return Batch(table.gather(1, batch.inputs), table.gather(1, batch.targets))
