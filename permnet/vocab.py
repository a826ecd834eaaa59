"""Tokens and ids: the special tokens, a fixed vocabulary, and ids lent to tokens never seen before.

Ids stand in the order *specials, reserved, tokens*, and the tokens of a benchmark in the order
noise, data, indices or keys. So the index rows of PermNetD's index embedding come last, as in
Figure 4 of the paper.

A token outside the vocabulary gets one of the reserved ids, for the length of one example: within
the example the same token has the same id and two tokens have two ids, so an unseen key can be
matched, an unseen datum copied, and both come back under their own names.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np

from permnet.errors import PermnetError

PAD, SOS, EOS, SEP = range(4)
SPECIALS = ("<pad>", "<sos>", "<eos>", "<sep>")


@dataclass(frozen=True)
class Vocab:
    """A fixed list of tokens and `reserved` ids to lend.

    >>> vocab = Vocab(("a", "b", "1", "2"), reserved=2)
    >>> ids, lent = vocab.encode("a 1 zebra 77 <sep> 77 1".split())
    >>> ids
    [6, 8, 4, 5, 3, 5, 8]
    >>> vocab.decode([4, 6], lent)
    ['zebra', 'a']
    """

    tokens: tuple[str, ...]
    reserved: int = 0
    _ids: dict[str, int] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if self.reserved < 0:
            raise PermnetError(f"a vocabulary reserves 0 ids or more, not {self.reserved}")
        names = [*SPECIALS, *self.tokens]
        for token in self.tokens:
            if not token or token.split() != [token]:
                raise PermnetError(f"a token is a word without white space, not {token!r}")
        if len(set(names)) != len(names):
            doubled = sorted({t for t in names if names.count(t) > 1})
            raise PermnetError(f"a token stands twice in the vocabulary: {' '.join(doubled)}")
        ids = {name: i for i, name in enumerate(SPECIALS)}
        ids |= {name: self.first_token + i for i, name in enumerate(self.tokens)}
        object.__setattr__(self, "_ids", ids)

    @property
    def first_token(self) -> int:
        """The id of the first ordinary token, after the specials and the reserved ids."""
        return len(SPECIALS) + self.reserved

    def __len__(self) -> int:
        return self.first_token + len(self.tokens)

    def __contains__(self, token: str) -> bool:
        return token in self._ids

    def encode(
        self, tokens: Iterable[str], lent: dict[str, int] | None = None
    ) -> tuple[list[int], dict[str, int]]:
        """Ids of the tokens, and what was lent: unseen token → reserved id, in order of appearance.

        Pass the `lent` of an example's input on to encode its output under the same names.
        """
        lent = dict(lent or {})
        ids = []
        for token in tokens:
            known = self._ids.get(token)
            if known is None:
                if token not in lent and len(lent) >= self.reserved:
                    raise PermnetError(
                        f"token {token!r} is not in the vocabulary of {len(self.tokens)} tokens"
                        + (
                            f" and all {self.reserved} reserved ids are lent out in this example"
                            if self.reserved
                            else " and this model reserves no ids for unseen tokens"
                        )
                    )
                known = lent.setdefault(token, len(SPECIALS) + len(lent))
            ids.append(known)
        return ids, lent

    def decode(self, ids: Iterable[int], lent: dict[str, int] | None = None) -> list[str]:
        """Names of the ids; a reserved id that was not lent reads `<unk0>`, `<unk1>`, …"""
        names = {i: token for token, i in (lent or {}).items()}
        return [names.get(i) or self.name(i) for i in map(int, ids)]

    def name(self, i: int) -> str:
        if not 0 <= i < len(self):
            raise PermnetError(f"id {i} is outside the vocabulary of {len(self)} ids")
        if i < len(SPECIALS):
            return SPECIALS[i]
        if i < self.first_token:
            return f"<unk{i - len(SPECIALS)}>"
        return self.tokens[i - self.first_token]

    def shifted(self, ids: np.ndarray) -> np.ndarray:
        """Ids of a vocabulary without reserved ids, as ids of this one (benchmarks hold none)."""
        return np.where(ids < len(SPECIALS), ids, ids + self.reserved).astype(ids.dtype)

    def to_json(self) -> dict[str, object]:
        return {"tokens": list(self.tokens), "reserved": self.reserved}

    @classmethod
    def from_json(cls, raw: object) -> "Vocab":
        if not (
            isinstance(raw, dict)
            and isinstance(raw.get("tokens"), list)
            and all(isinstance(t, str) for t in raw["tokens"])
            and type(raw.get("reserved")) is int
        ):
            raise PermnetError("a vocabulary is {'tokens': [names], 'reserved': count}")
        return cls(tuple(raw["tokens"]), raw["reserved"])


def data_names(n: int) -> list[str]:
    """The names of n data tokens: a … z, aa, ab, …

    >>> data_names(29)[24:]
    ['y', 'z', 'aa', 'ab', 'ac']
    """
    names = []
    for i in range(n):
        name = ""
        i += 1
        while i:
            i, letter = divmod(i - 1, 26)
            name = chr(ord("a") + letter) + name
        names.append(name)
    return names
