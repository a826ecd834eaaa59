"""The permutation problems of the paper (section 4.1): sampled, written as tokens, read back.

An input lists data, then `<sep>`, then what is asked for; the output is the data in that order.

    direct      <sos> c a b <sep> 1 0 2 <eos>              <sos> a c b <eos>
    indirect    <sos> c 2 a 3 b 1 <sep> 3 2 1 <eos>        <sos> a c b <eos>
    dict        <sos> c 2 a 3 b 1 <sep> 3 3 1 <eos>        <sos> a a b <eos>

Direct indices count from 0, keys from 1. `dict` is indirect with queries that may repeat.
"""

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from permnet.errors import PermnetError, unknown
from permnet.vocab import EOS, PAD, SEP, SOS, SPECIALS, Vocab, data_names

Kind = Literal["direct", "indirect", "dict"]
KINDS: tuple[Kind, ...] = get_args(Kind)

NOISE = tuple(f"~{i}" for i in range(10))
MOST_TOKENS = 32_000  # two names each, data and key, and every id fits in 16 bits
BLOCK = 1000  # rows drawn at once: they stay in the cache, four times as fast as all together


@dataclass(frozen=True)
class Examples:
    """Ids, one example a row, padded on the right with `PAD`.

    `inputs` (count, L) run from `<sos>` to `<eos>`; `targets` (count, T) end with `<eos>` and have
    no `<sos>`: what a decoder emits.
    """

    inputs: np.ndarray
    targets: np.ndarray

    def __len__(self) -> int:
        return len(self.inputs)

    def __getitem__(self, rows: slice) -> "Examples":
        return self.take(rows)

    def take(self, rows: slice | np.ndarray) -> "Examples":
        return Examples(self.inputs[rows], self.targets[rows])

    @property
    def lengths(self) -> np.ndarray:
        """The number of output tokens of each example, `<eos>` not counted."""
        return np.count_nonzero(self.targets, axis=1) - 1


@dataclass(frozen=True)
class Task:
    """A distribution over examples, and the vocabulary they are written in.

    The length is uniform in `shortest` … `longest`. Data and keys are drawn without repetition from
    `tokens` names each (as many as `longest` unless given). With `noise`, 0 … `noise` distractors
    (a uniform number) stand among them: anywhere between `<sos>` and `<eos>`, except that the data
    of a direct task stay contiguous, for an index is an offset into them.
    """

    kind: Kind
    shortest: int
    longest: int
    noise: int = 0
    tokens: int | None = None

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise unknown("kind of task", self.kind, KINDS)
        if not 1 <= self.shortest <= self.longest:
            raise PermnetError(
                f"lengths are 1 ≤ shortest ≤ longest, not {self.shortest} and {self.longest}"
            )
        if self.noise < 0:
            raise PermnetError(f"noise is a number of tokens, 0 or more, not {self.noise}")
        if not self.longest <= self.size <= MOST_TOKENS:
            raise PermnetError(
                f"tokens is at least the longest length ({self.longest}) and at most "
                f"{MOST_TOKENS}, not {self.size}"
            )

    @property
    def size(self) -> int:
        """N, the number of data names, and of indices or keys, in the vocabulary."""
        return self.longest if self.tokens is None else self.tokens

    @property
    def input_width(self) -> int:
        """L, the number of columns of sampled inputs."""
        return (2 if self.kind == "direct" else 3) * self.longest + 3 + self.noise

    @property
    def target_width(self) -> int:
        """T, the number of columns of sampled targets."""
        return self.longest + 1

    def vocab(self, reserved: int = 0) -> Vocab:
        """Tokens in the order noise (if there is any), data, indices or keys."""
        first = 0 if self.kind == "direct" else 1
        references = map(str, range(first, first + self.size))
        noise = NOISE if self.noise else ()
        return Vocab((*noise, *data_names(self.size), *references), reserved)

    def sample(self, count: int, random: np.random.RandomState) -> Examples:
        """Draw examples, in the ids of `vocab()`; the same on every platform and NumPy version.

        For that everything comes from `random_sample`, whose stream is frozen, and from sorts
        whose result does not depend on the algorithm.
        """
        blocks = [
            self._block(min(BLOCK, count - done), random) for done in range(0, max(count, 1), BLOCK)
        ]
        return Examples(
            np.concatenate([block.inputs for block in blocks], dtype="<u2"),
            np.concatenate([block.targets for block in blocks], dtype="<u2"),
        )

    def _block(self, count: int, random: np.random.RandomState) -> Examples:
        length = self.shortest + _below(random, self.longest - self.shortest + 1, (count, 1))
        present = np.arange(self.longest) < length
        first_datum = len(SPECIALS) + (len(NOISE) if self.noise else 0)
        first_reference = first_datum + self.size

        data = self._names(random, present, first_datum)
        if self.kind == "direct":
            source = data
        else:
            keys = self._names(random, present, first_reference)
            source = np.stack([data, keys], axis=2).reshape(count, 2 * self.longest)

        if self.kind == "dict":
            asked = _below(random, length, present.shape)
        else:
            asked = _permutations(random, present)
        if self.kind == "direct":
            queries = np.where(present, asked + first_reference, PAD)
        else:
            queries = np.where(present, np.take_along_axis(keys, asked, axis=1), PAD)
        answers = np.where(present, np.take_along_axis(data, asked, axis=1), PAD)

        sos, sep, eos = (np.full((count, 1), special) for special in (SOS, SEP, EOS))
        inputs = _pack(sos, source, sep, queries, eos)
        if self.noise:
            inputs = self._with_noise(inputs, length, random)
        return Examples(inputs, _pack(answers, eos))

    def _names(self, random: np.random.RandomState, present: np.ndarray, first: int) -> np.ndarray:
        """Distinct ids out of `size`, from `first` on, where present; elsewhere `PAD`."""
        order = _permutations(random, np.ones((len(present), self.size), dtype=bool))
        return np.where(present, order[:, : self.longest] + first, PAD)

    def _with_noise(
        self, inputs: np.ndarray, length: np.ndarray, random: np.random.RandomState
    ) -> np.ndarray:
        """Put each distractor in front of one of the tokens after `<sos>`."""
        count, width = inputs.shape
        shape = (count, self.noise)
        ends = np.count_nonzero(inputs, axis=1)[:, None] - 1  # where <eos> stands
        noise_count = _below(random, self.noise + 1, (count, 1))
        nth = np.arange(self.noise)
        noise = np.where(nth < noise_count, len(SPECIALS) + _below(random, len(NOISE), shape), PAD)
        if self.kind == "direct":
            # The first few go before the data, so that these start at any offset, the others
            # before <sep> or behind it: never between two data.
            offset = _below(random, noise_count + 1, (count, 1))
            behind = length + 1 + _below(random, ends - length, shape)
            before = np.where(nth < offset, 1, behind)
        else:
            before = 1 + _below(random, ends, shape)
        places = np.broadcast_to(2 * np.arange(width) + 1, inputs.shape)
        order = np.argsort(np.concatenate([places, 2 * before], axis=1), axis=1, kind="stable")
        return _pack(np.take_along_axis(np.concatenate([inputs, noise], axis=1), order, axis=1))


def _below(
    random: np.random.RandomState, bound: int | np.ndarray, shape: tuple[int, ...]
) -> np.ndarray:
    """Uniform integers 0 … bound − 1."""
    return (random.random_sample(shape) * bound).astype(np.int64)


def _permutations(random: np.random.RandomState, present: np.ndarray) -> np.ndarray:
    """Per row a random order of the columns present, and after them the others.

    Each column sorts by 48 random bits, or by all ones where it is absent, with its own number in
    the 16 bits below: no two are equal, so every sorting algorithm agrees.
    """
    bits = (random.random_sample(present.shape) * 2.0**48).astype(np.uint64)
    bits[~present] = 2**48 - 1
    bits <<= np.uint64(16)
    bits |= np.arange(present.shape[1], dtype=np.uint64)
    bits.sort(axis=1)
    return (bits & np.uint64(0xFFFF)).astype(np.int64)


def _pack(*columns: np.ndarray) -> np.ndarray:
    """Join the columns and move the padding of every row to its right end."""
    wide = np.concatenate(columns, axis=1, dtype="<u2", casting="unsafe")
    real = wide != PAD
    packed = np.zeros_like(wide)
    packed[np.arange(wide.shape[1]) < np.count_nonzero(real, axis=1)[:, None]] = wide[real]
    return packed


def to_tokens(vocab: Vocab, examples: Examples) -> Iterator[tuple[list[str], list[str]]]:
    """Each example as the paper lists it: input and output, both from `<sos>` to `<eos>`.

    `vocab` is the one whose ids the examples hold.

    >>> task = Task("indirect", 3, 3)
    >>> for asked, answer in to_tokens(task.vocab(), task.sample(1, np.random.RandomState(0))):
    ...     print(*asked, "→", *answer)
    <sos> c 1 b 3 a 2 <sep> 2 1 3 <eos> → <sos> a c b <eos>
    """
    names = [vocab.name(i) for i in range(len(vocab))]
    for row, target in zip(examples.inputs.tolist(), examples.targets.tolist(), strict=True):
        output = [names[i] for i in target if i != PAD]
        yield [names[i] for i in row if i != PAD], [SPECIALS[SOS], *output]


def from_tokens(vocab: Vocab, pairs: Iterable[tuple[Sequence[str], Sequence[str]]]) -> Examples:
    """The inverse of `to_tokens`, as wide as the longest example."""
    inputs, targets = [], []
    for asked, answer in pairs:
        for side in (asked, answer):
            if len(side) < 2 or (side[0], side[-1]) != (SPECIALS[SOS], SPECIALS[EOS]):
                raise PermnetError(f"an example runs from <sos> to <eos>, not {' '.join(side)!r}")
        ids, lent = vocab.encode(asked)
        inputs.append(ids)
        targets.append(vocab.encode(answer[1:], lent)[0])
    return Examples(_padded(inputs), _padded(targets))


def _padded(rows: list[list[int]]) -> np.ndarray:
    out = np.full((len(rows), max(map(len, rows), default=0)), PAD, dtype="<u2")
    for i, row in enumerate(rows):
        out[i, : len(row)] = row
    return out


@dataclass(frozen=True)
class Parsed:
    """A question in its parts; `keys` is empty for a direct one."""

    data: tuple[str, ...]
    keys: tuple[str, ...]
    queries: tuple[str, ...]


def parse(kind: Kind, tokens: Sequence[str], noise_tokens: Collection[str] = ()) -> Parsed:
    """Take a question apart, or say what is wrong with it; no answer is computed.

    The enclosing `<sos>` and `<eos>` may be left out. Queries may repeat and be more or fewer than
    the data. A key that stands twice is refused, since a query for it would have two answers.

    >>> parse("indirect", "a 1 b 2 <sep> 2".split())
    Parsed(data=('a', 'b'), keys=('1', '2'), queries=('2',))
    """
    if kind not in KINDS:
        raise unknown("kind of task", kind, KINDS)
    body = list(tokens)
    if body[:1] == [SPECIALS[SOS]]:
        body = body[1:]
    if body[-1:] == [SPECIALS[EOS]]:
        body = body[:-1]
    if not body:
        raise PermnetError("the question is empty: write data, <sep> and what is asked for")
    for special in (PAD, SOS, EOS):
        if SPECIALS[special] in body:
            raise PermnetError(f"{SPECIALS[special]} stands inside the question: leave it out")
    if body.count(SPECIALS[SEP]) != 1:
        raise PermnetError(f"a question has one <sep>, this one has {body.count(SPECIALS[SEP])}")
    at = body.index(SPECIALS[SEP])
    source, queries = (
        [token for token in part if token not in noise_tokens]
        for part in (body[:at], body[at + 1 :])
    )
    if not source:
        raise PermnetError("no data stand before <sep>: write at least one")
    if not queries:
        raise PermnetError("nothing is asked for after <sep>: write at least one index or key")
    if kind == "direct":
        _check_contiguous(body[:at], noise_tokens)
        _check_indices(queries, len(source))
        return Parsed(tuple(source), (), tuple(queries))
    if len(source) % 2:
        raise PermnetError(f"datum {source[-1]!r} has no key: {len(source)} tokens before <sep>")
    data, keys = source[::2], source[1::2]
    known = set()
    for key in keys:
        if key in known:
            raise PermnetError(f"key {key!r} stands twice: every key names one datum")
        known.add(key)
    for query in queries:
        if query not in known:
            raise PermnetError(f"key {query!r} has no datum: it does not stand before <sep>")
    return Parsed(tuple(data), tuple(keys), tuple(queries))


def _check_contiguous(before_sep: list[str], noise_tokens: Collection[str]) -> None:
    is_noise = [token in noise_tokens for token in before_sep]
    first = is_noise.index(False)
    last = len(is_noise) - 1 - is_noise[::-1].index(False)
    for token in before_sep[first:last]:
        if token in noise_tokens:
            raise PermnetError(f"noise {token!r} stands between data, which must be contiguous")


def _check_indices(queries: list[str], count: int) -> None:
    indices = {str(i) for i in range(count)}
    for query in queries:
        if not re.fullmatch("-?[0-9]+", query):
            raise PermnetError(f"index {query!r} is not an integer")
        if query not in indices:
            raise PermnetError(f"index {query!r} is out of range: {count} data have 0…{count - 1}")
