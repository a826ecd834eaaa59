"""What is said of a switch: which values go to which block. To be proven, whoever says it."""

from dataclasses import dataclass
from typing import Any, Literal

from permnet.binary.operands import Memory, Register
from permnet.switches.intervals import Intervals, numbers

Status = Literal["proven", "unproven", "refused"]
DEFAULT = "default"
FEW = 3  # runs of neighbouring labels: what has no more is as often a chain of ifs in the source


@dataclass(frozen=True)
class Scrutinee:
    """Where the value lies when the dispatch begins: a register, or a place in memory.

    The value is what lies there plus `offset`, if the dispatch begins by adding that.
    """

    place: Register | Memory
    bits: int
    signed: bool
    offset: int = 0

    def label(self, value: int) -> int:
        """A value of so many bits as the number that a programmer would write."""
        return value - (1 << self.bits) if self.signed and value >> (self.bits - 1) else value

    def __str__(self) -> str:
        added = f" {self.offset:+d}" if self.offset else ""
        if isinstance(self.place, Register):
            return self.place.name + added
        place = self.place
        index = f"{place.index}*{place.scale}" if place.index else ""
        inside = "+".join(part for part in (place.base, index) if part)
        segment = f"{place.segment}:" if place.segment else ""
        return f"{segment}{place.displacement}[{inside}]{added}"


@dataclass(frozen=True)
class Block:
    """The first address of a block and the values, without sign, that lead to it."""

    target: int
    values: Intervals


@dataclass(frozen=True)
class Called:
    """The function that is called last where values without a label go.

    `told`: the code tells whether that is a default or what follows.
    """

    function: int
    told: bool


@dataclass(frozen=True)
class Claim:
    """From `start` on, each value of the scrutinee leads to its block, all others to `default`.

    That is None where there are no others. Blocks stand in order of their code. `has_default` says
    whether `default` is a block of the switch; otherwise it is the code behind it. That is a guess,
    which no proof covers; `called` is for guesses at other switches. `copies` are other places that
    values without a label lead to: optimisers copy short code.
    """

    start: int
    scrutinee: Scrutinee
    blocks: tuple[Block, ...]
    default: int | None
    has_default: bool
    copies: tuple[Block, ...] = ()
    called: Called | None = None

    def target(self, value: int) -> int | None:
        """Where a value without sign is claimed to lead."""
        for block in (*self.blocks, *self.copies):
            if any(low <= value <= high for low, high in block.values):
                return block.target
        return self.default

    @property
    def note(self) -> str:
        """What is to be said of it beside what is claimed."""
        few = sum(len(block.values) for block in self.blocks) <= FEW
        return "few labels: may be a chain of ifs" if few else ""

    def labels(self) -> list[list[int | str]]:
        """Of each block in order of code, `["default"]` among them if there is one."""
        named: list[tuple[int, list[int | str]]] = [
            (block.target, sorted(map(self.scrutinee.label, numbers(block.values))))
            for block in self.blocks
        ]
        if self.default is not None and self.has_default:
            named.append((self.default, [DEFAULT]))
        return [labels for _, labels in sorted(named, key=lambda pair: pair[0])]

    def targets(self) -> list[int]:
        """The address of each block of `labels`."""
        addresses = [block.target for block in self.blocks]
        if self.default is not None and self.has_default:
            addresses.append(self.default)
        return sorted(addresses)


@dataclass(frozen=True)
class Switch:
    """A place that looks like a switch, what was claimed of it, and what became of the claim."""

    address: int
    claim: Claim | None
    status: Status
    proposer: str
    reason: str
    seconds: float

    def to_json(self) -> dict[str, Any]:
        claim = self.claim
        return {
            "address": self.address,
            "blocks": claim.labels() if claim else [],
            "targets": claim.targets() if claim else [],
            "default": claim.default if claim else None,
            "copies": [
                {"target": copy.target, "values": [[low, high] for low, high in copy.values]}
                for copy in (claim.copies if claim else ())
            ],
            "scrutinee": {
                "place": str(claim.scrutinee),
                "bits": claim.scrutinee.bits,
                "signed": claim.scrutinee.signed,
                "offset": claim.scrutinee.offset,
                "start": claim.start,
            }
            if claim
            else None,
            "status": self.status,
            "proposer": self.proposer,
            "reason": self.reason,
            "note": claim.note if claim else "",
            "seconds": round(self.seconds, 6),
        }
