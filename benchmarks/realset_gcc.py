"""The switches of a C file as gcc's own dumps tell them.

The first dump (`-fdump-tree-gimple-lineno`) is of the program as written: every label, and in which
order they stand. The last (`-fdump-tree-switchlower…-details`) lists each switch that is still one
when gcc turns it into compares, bit tests and tables: what the machine code must do.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from benchmarks.realset_clang import LONGEST_RANGE, Label

_PLACE = r"(?:\[[^\[\]]*:\d+:\d+(?: discrim \d+)?\] )?"
_SWITCH = re.compile(rf"{_PLACE}switch \(.*\) <(.*)>")
_ENTRY = re.compile(
    r"(?P<place>\[[^\[\]]*:\d+:\d+\] )?"
    r"(?:default|case (?P<first>-?\d+)(?: \.\.\. (?P<last>-?\d+))?)"
    r": <?(?P<to>[\w.$]+)>?(?: \[[^\]]*\])?(?:, |$)"
)
_LABEL = re.compile(rf"{_PLACE}(?:<([^<>]+)>|([A-Za-z_]\w*)):")
_GOTO = re.compile(rf"{_PLACE}goto (?:<([^<>]+)>|([A-Za-z_]\w*));")
_DECIDED = re.compile(
    rf"{_PLACE}if \((-?\d+) (==|!=) (-?\d+)\) goto <([^<>]+)>; else goto <([^<>]+)>;"
)
_RETURN = re.compile(rf"{_PLACE}return;")
_STRUCTURE = re.compile(rf"{_PLACE}(?:[{{}}]|try|finally|// predicted .*|)")
_PROCESSED = re.compile(r"beginning to process the following SWITCH statement \(.*:(\d+)\) :.*")
_FUNCTION = re.compile(r";; Function .* \(([^,\s]+), funcdef_no=")


@dataclass(frozen=True)
class Dispatch:
    """Where the values of a switch go: labels by target, and the target of all others."""

    targets: dict[str, tuple[int, ...]]
    default: str
    explicit: bool  # the default was written
    line: int | None = None


def entries(listed: str, line: int | None = None) -> Dispatch:
    """The list behind a switch in a dump.

    >>> entries("default: <L6> [INV], case 1: <L0> [INV], case 3 ... 5: <L1> [INV]").targets
    {'L0': (1,), 'L1': (3, 4, 5)}
    """
    targets: dict[str, list[int]] = {}
    default, explicit, end = "", False, 0
    for entry in _ENTRY.finditer(listed):
        if entry.start() != end:
            break
        end = entry.end()
        if entry["first"] is None:
            default, explicit = entry["to"], entry["place"] is not None
            continue
        first = int(entry["first"])
        last = min(int(entry["last"] or first), first + LONGEST_RANGE)
        targets.setdefault(entry["to"], []).extend(range(first, last + 1))
    if end != len(listed) or not default:
        raise ValueError(f"gcc's list of labels is not understood: {listed!r}")
    targets.pop(default, None)  # labels beside the default are part of it
    return Dispatch({to: tuple(found) for to, found in targets.items()}, default, explicit, line)


def lowered(dump: str) -> dict[str, list[Dispatch]]:
    """The switches of each function in the last dump in which they exist, by assembler name."""
    found: dict[str, list[Dispatch]] = {}
    lines = iter(dump.splitlines())
    function = ""
    for line in lines:
        if header := _FUNCTION.match(line):
            function = header[1]
        elif begins := _PROCESSED.fullmatch(line):
            switch = _SWITCH.fullmatch(next(lines))
            if switch is None:
                raise ValueError(f"gcc's dump lists no switch behind {line!r}")
            found.setdefault(function, []).append(entries(switch[1], int(begins[1]) or None))
    return found


@dataclass
class _Function:
    """The labels of a function: which stand at the same place, and what comes after them."""

    order: list[list[str]] = field(default_factory=list)
    leads: dict[int, str] = field(default_factory=dict)  # of a bare jump: place → where
    switches: list[Dispatch] = field(default_factory=list)

    def place(self) -> dict[str, int]:
        return {label: i for i, labels in enumerate(self.order) for label in labels}


@dataclass(frozen=True)
class WrittenSwitch:
    """A switch in gcc's first dump, in the shape of the other side's."""

    blocks: tuple[tuple[Label, ...], ...]
    goes: tuple[str, ...]  # for each block where control ends up that enters it
    empty: tuple[bool, ...]  # whether it is nothing but a jump
    exit: str  # where values without a label go


def written(dump: str, functions: Iterable[str]) -> dict[str, list[WrittenSwitch]]:
    """The switches of each of these functions in gcc's first dump."""
    known = set(functions)
    found: dict[str, list[WrittenSwitch]] = {}
    for name, body in _bodies(dump, known):
        function = _read(body)
        found[name] = [_written(function, switch) for switch in function.switches]
    return found


def _bodies(dump: str, known: set[str]) -> Iterator[tuple[str, list[str]]]:
    name, body = "", list[str]()
    for line in dump.splitlines():
        if line and not line[0].isspace() and not _STRUCTURE.fullmatch(line):
            called = (word for word in re.findall(r"([\w$]+) \(", line) if word in known)
            name, body = next(called, ""), []
        elif line == "}":
            if name:
                yield name, body
            name = ""
        else:
            body.append(line.strip())


def _read(lines: list[str]) -> _Function:
    function = _Function()
    after_label = False
    for line in _without_declarations(lines):
        switch = _SWITCH.fullmatch(line)
        if label := _LABEL.fullmatch(line):
            if not after_label:
                function.order.append([])
            function.order[-1].append(label[1] or label[2])
            after_label = True
            continue
        if _STRUCTURE.fullmatch(line):
            continue
        if after_label and (to := _bare_jump(line)):
            function.leads[len(function.order) - 1] = to
        if switch:
            function.switches.append(entries(switch[1]))
        after_label = False
    return function


def _bare_jump(line: str) -> str | None:
    """Where a statement leads that does nothing but jump; `if (0 != 0)` is one too."""
    if goto := _GOTO.fullmatch(line):
        return goto[1] or goto[2]
    if decided := _DECIDED.fullmatch(line):
        left, sign, right, then, otherwise = decided.groups()
        return then if (left == right) == (sign == "==") else otherwise
    return "return" if _RETURN.fullmatch(line) else None


def _without_declarations(lines: list[str]) -> Iterator[str]:
    """What a scope declares stands behind its brace, up to an empty line."""
    i = 0
    while i < len(lines):
        yield lines[i]
        i += 1
        if not lines[i - 1].endswith("{"):
            continue
        end = next((j for j in range(i, len(lines)) if not lines[j]), len(lines))
        declared = lines[i:end]
        if declared and not any(_is_code(line) for line in declared):
            i = end


def _is_code(line: str) -> bool:
    known = (_LABEL, _GOTO, _SWITCH)
    return line.startswith(("[", "if (", "return")) or any(kind.fullmatch(line) for kind in known)


def _ends(function: _Function, switch: Dispatch) -> bool:
    """Whether nothing stands between the default's label and that of the switch's end."""
    (labels,) = [labels for labels in function.order if switch.default in labels]
    behind = labels[labels.index(switch.default) + 1 :]
    return any(label.startswith("D.") and label not in switch.targets for label in behind)


def _written(function: _Function, switch: Dispatch) -> WrittenSwitch:
    place = function.place()
    by_place: dict[int, list[int]] = {}
    for label, values in switch.targets.items():
        by_place.setdefault(place[label], []).extend(values)
    exit = place[switch.default]
    by_place.pop(exit, None)
    blocks: dict[int, tuple[Label, ...]] = {at: tuple(sorted(v)) for at, v in by_place.items()}
    if switch.explicit:
        blocks[exit] = ("default",)
    ordered = sorted(blocks)

    def leads(at: int) -> str:
        seen: set[int] = set()
        while at in function.leads and at not in seen:
            seen.add(at)
            to = function.leads[at]
            if to not in place:
                return to
            at = place[to]
        return str(at)

    return WrittenSwitch(
        blocks=tuple(blocks[at] for at in ordered),
        goes=tuple(leads(at) for at in ordered),
        empty=tuple(
            at in function.leads or (at == exit and _ends(function, switch)) for at in ordered
        ),
        exit=leads(exit),
    )
