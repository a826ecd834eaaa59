"""The switches of a C file as libclang sees them: blocks in source order, labels as integers.

Needs `pip install libclang`. The text is what gcc's own preprocessor wrote, so that both read the
same program.
"""

import ctypes
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from permnet.errors import PermnetError

LONGEST_RANGE = 4096  # a range of labels that is wider is not written out

# Types that gcc knows and libclang does not; the headers of the C library name them.
_TYPES = {
    "_Float32": "float",
    "_Float64": "double",
    "_Float32x": "double",
    "_Float64x": "long double",
    "_Float128": "__float128",
}
_MARKER = re.compile(r'# (\d+) "([^"]*)"')
_BREAKABLE = ("SWITCH_STMT", "FOR_STMT", "WHILE_STMT", "DO_STMT")
_INTEGER = 1  # the kind of an evaluated expression

Label = int | str  # "default"


@dataclass(frozen=True)
class SourceSwitch:
    """One switch statement; labels that stand beside `default` are left out of its block."""

    function: str
    file: str
    line: int
    blocks: tuple[tuple[Label, ...], ...]
    type: str
    bits: int
    signed: bool
    depth: int  # of switches around it
    ranges: bool
    scattered: bool  # a label stands inside another statement of the body
    told: bool  # whether a default is written can be seen in machine code, see `_Body.told`

    @property
    def labels(self) -> list[int]:
        return [label for block in self.blocks for label in block if isinstance(label, int)]


@lru_cache
def _library() -> Any:
    try:
        from clang import cindex
    except ImportError as error:
        raise PermnetError("libclang is not installed: pip install libclang") from error
    for name, result, given in (
        ("clang_Cursor_Evaluate", ctypes.c_void_p, cindex.Cursor),
        ("clang_EvalResult_getKind", ctypes.c_int, ctypes.c_void_p),
        ("clang_EvalResult_getAsLongLong", ctypes.c_longlong, ctypes.c_void_p),
        ("clang_EvalResult_dispose", None, ctypes.c_void_p),
    ):
        function = getattr(cindex.conf.lib, name)
        function.restype, function.argtypes = result, [given]
    return cindex


def source_switches(preprocessed: Path) -> list[SourceSwitch]:
    """The switches of each function, an outer one before those within it."""
    places = written_at(preprocessed.read_text(errors="replace"))
    return [
        _read(node.spelling, switch, depth, *places[switch.location.line - 1])
        for node in _parsed(preprocessed).get_children()
        if node.kind.name == "FUNCTION_DECL" and node.is_definition()
        for switch, depth in _switches(node, 0)
    ]


@dataclass(frozen=True)
class Statement:
    """A switch in the text, its body, and the block of statements that it stands in."""

    line: int
    body: Any
    around: Any


def statements(preprocessed: Path, function: str) -> list[Statement]:
    """Where the switches of a function stand in preprocessed text."""
    places = written_at(preprocessed.read_text(errors="replace"))

    def found(node: Any, around: Any) -> Iterator[Statement]:
        for child in node.get_children():
            if child.kind.name == "SWITCH_STMT":
                *_, body = child.get_children()
                yield Statement(places[child.location.line - 1][1], body, around)
            yield from found(child, child if child.kind.name == "COMPOUND_STMT" else around)

    return [
        statement
        for node in _parsed(preprocessed).get_children()
        if node.spelling == function and node.is_definition()
        for statement in found(node, node)
    ]


def _parsed(preprocessed: Path) -> Any:
    cindex = _library()
    options = [f"-D{name}={meant}" for name, meant in _TYPES.items()]
    return cindex.Index.create().parse(str(preprocessed), args=["-x", "c", "-w", *options]).cursor


def written_at(preprocessed: str) -> list[tuple[str, int]]:
    """File and line where each line of preprocessed text was written.

    >>> written_at('# 7 "a.c"\\nint x;\\nint y;')
    [('', 1), ('a.c', 7), ('a.c', 8)]
    """
    places = []
    file, line = "", 1
    for text in preprocessed.split("\n"):
        places.append((file, line))
        line += 1
        if marker := _MARKER.match(text):
            file, line = marker[2], int(marker[1])
    return places


def _switches(node: Any, depth: int) -> Iterator[tuple[Any, int]]:
    for child in node.get_children():
        inside = child.kind.name == "SWITCH_STMT"
        if inside:
            yield child, depth
        yield from _switches(child, depth + inside)


def _read(function: str, switch: Any, depth: int, file: str, line: int) -> SourceSwitch:
    *_, condition, body = switch.get_children()
    promoted = condition.type.get_canonical()
    plain = _bare(condition)
    reader = _Body(*_integer(promoted))
    statements = list(body.get_children()) if body.kind.name == "COMPOUND_STMT" else [body]
    for statement in statements:
        reader.read(statement)
    bits, signed = _integer(plain.type.get_canonical())
    blocks = [
        ("default",) if "default" in block else tuple(sorted(block)) for block in reader.blocks
    ]
    return SourceSwitch(
        function=function,
        file=file,
        line=line,
        blocks=tuple(blocks),
        type=plain.type.spelling,
        bits=bits,
        signed=signed,
        depth=depth,
        ranges=reader.ranges,
        scattered=reader.read_labels != sum(1 for _ in _labels(body)),
        told=reader.told(),
    )


def _bare(expression: Any) -> Any:
    """An expression without the conversions that C puts around it."""
    while expression.kind.name in ("UNEXPOSED_EXPR", "PAREN_EXPR"):
        inner = list(expression.get_children())
        if len(inner) != 1:
            break
        (expression,) = inner
    return expression


def _integer(type: Any) -> tuple[int, bool]:
    """Bits and signedness of an integer type or enumeration."""
    if type.kind.name == "ENUM":
        type = type.get_declaration().enum_type.get_canonical()
    signed = type.kind.name in ("CHAR_S", "SCHAR", "SHORT", "INT", "LONG", "LONGLONG")
    return 8 * type.get_size(), signed


def _labels(node: Any) -> Iterator[Any]:
    """The labels of a switch's body, those of inner switches left out."""
    for child in node.get_children():
        if child.kind.name in ("CASE_STMT", "DEFAULT_STMT"):
            yield child
        if child.kind.name != "SWITCH_STMT":
            yield from _labels(child)


class _Body:
    """Reads the statements of a switch's body one after the other."""

    def __init__(self, bits: int, signed: bool) -> None:
        self.bits, self.signed = bits, signed
        self.blocks: list[list[Label]] = []
        self.open = False  # nothing yet stands between the last label and here
        self.read_labels = 0
        self.ranges = False
        self.left: set[int] = set()  # blocks with a `break` inside another statement
        self.ended: set[int] = set()  # blocks with one at their end

    def told(self) -> bool:
        """Whether a default is in sight: not the last block, or some block jumps past its place.

        A default at the end that all blocks leave by `return`, or enter, is the same code as a
        switch without default and the same statements behind it.
        """
        named = [i for i, block in enumerate(self.blocks) if "default" in block]
        if named and named[0] < len(self.blocks) - 1:
            return True
        last = len(self.blocks) - 1 - len(named)
        return bool((self.left | (self.ended - {last})) - {*named})

    def read(self, statement: Any) -> None:
        kind = statement.kind.name
        if kind not in ("CASE_STMT", "DEFAULT_STMT"):
            if not _nothing(statement):
                self.open = False
            if self.blocks and any(_breaks(statement)):
                last = _last(statement).kind.name == "BREAK_STMT"
                (self.ended if last else self.left).add(len(self.blocks) - 1)
            return
        if not self.open:
            self.blocks.append([])
            self.open = True
        self.read_labels += 1
        *values, inner = statement.get_children()
        if kind == "DEFAULT_STMT":
            self.blocks[-1].append("default")
        else:
            first, last = self._value(values[0]), self._value(values[-1])
            self.ranges |= len(values) > 1
            # Written out as far as the limit: the other side does the same.
            self.blocks[-1] += range(first, min(last, first + LONGEST_RANGE) + 1)
        self.read(inner)

    def _value(self, expression: Any) -> int:
        """An integer constant, converted to the type switched on."""
        library = _library().conf.lib
        result = library.clang_Cursor_Evaluate(expression)
        try:
            if not result or library.clang_EvalResult_getKind(result) != _INTEGER:
                raise PermnetError(f"line {expression.location.line}: a label is no integer")
            value = library.clang_EvalResult_getAsLongLong(result) % (1 << self.bits)
        finally:
            if result:
                library.clang_EvalResult_dispose(result)
        return value - (1 << self.bits) if self.signed and value >> (self.bits - 1) else value


def _breaks(statement: Any) -> Iterator[bool]:
    """The `break`s of a statement that leave the switch around it."""
    if statement.kind.name == "BREAK_STMT":
        yield True
    elif statement.kind.name not in _BREAKABLE:
        for child in statement.get_children():
            yield from _breaks(child)


def _last(statement: Any) -> Any:
    """The statement at the end of a block in braces."""
    while statement.kind.name == "COMPOUND_STMT":
        *_, statement = statement.get_children()
    return statement


def _nothing(statement: Any) -> bool:
    """Whether a statement does nothing, as `;`, `{}` and a fall-through attribute do."""
    kind = statement.kind.name
    if kind == "COMPOUND_STMT":
        return all(_nothing(child) for child in statement.get_children())
    if kind == "UNEXPOSED_STMT":  # an attribute, with what it is given to
        return [child.kind.name for child in statement.get_children()] == ["NULL_STMT"]
    return kind == "NULL_STMT"
