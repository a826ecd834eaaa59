"""What tests name are labels, and what has no label is not what a test is for."""

from collections import Counter

from permnet.switches.alike import is_jump_between, same_code
from permnet.switches.arrivals import Way
from permnet.switches.claim import Claim
from permnet.switches.contents import UnprovenError
from permnet.switches.cpu import Cpu
from permnet.switches.graph import Graph
from permnet.switches.intervals import size

LONGEST_RANGE = 4096  # of labels: a longer one is what lies beyond a bound


class Named:
    """Of each block what the tests that lead there say of its values, run by run."""

    def __init__(self, graph: Graph, claim: Claim) -> None:
        self._claim = claim
        self._doubtful = _doubtful(graph, claim)
        self._apart = {claim.default, *self._doubtful}  # places without a label, not the same code
        self._before: Way = (-1,)
        self._named: Counter[int] = Counter()
        self._left: Counter[int] = Counter()
        self._shown: dict[int, str] = {}

    def note(self, cpu: Cpu, way: Way, by_size: tuple[bool, ...]) -> None:
        """A run that ended, behind the one of the numbers before; UnprovenError for some."""
        target = way[-1]
        if {target, self._before[-1]} <= self._apart and target != self._before[-1]:
            both = zip(way, self._before, by_size, strict=False)
            if not next((size for one, other, size in both if one != other), True):
                label = self._claim.scrutinee.label(cpu.x)
                raise UnprovenError(f"{label} is told from the number before: one is a label")
        self._before = way
        if cpu.named is False or (cpu.named is None and not self._doubtful.get(target)):
            self._doubtful.pop(target, None)
        if cpu.named:
            self._named[target] += cpu.high - cpu.low + 1
        elif cpu.missed and 1 != cpu.low < cpu.high:  # for what is not 0 is for what is above it
            self._left[target] += cpu.high - cpu.low + 1
            low, high = (self._claim.scrutinee.label(end) for end in (cpu.low, cpu.high))
            self._shown[target] = f"{low} to {high}"

    def check(self) -> None:
        """UnprovenError if a label is none, as far as tests tell, or a label was left out."""
        for block in self._claim.blocks:
            if self._left[block.target] > self._named[block.target]:
                shown = self._shown[block.target]
                raise UnprovenError(f"{shown} are left over from tests: labels or none")
        if self._doubtful:
            at = min(self._doubtful)
            raise UnprovenError(f"values are tested for that lead to {at:#x}: they are labels")

    def is_named(self, target: int) -> bool:
        """Whether a test names some of the values that lead to a block."""
        return bool(self._named[target])


def _doubtful(graph: Graph, claim: Claim) -> dict[int, bool]:
    """The places of values without a label that do other than the default does.

    With each whether its values are a range that comparisons of sizes may be there to find.
    """
    default, last = claim.default, (1 << claim.scrutinee.bits) - 1
    return {
        copy.target: len(copy.values) == 1
        and copy.values[0][0] > 0
        and copy.values[0][1] < last
        and size(copy.values) <= LONGEST_RANGE
        for copy in claim.copies
        if default is None
        or not (
            same_code(graph, copy.target, default) or is_jump_between(graph, copy.target, default)
        )
    }
