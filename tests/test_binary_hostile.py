"""Files made to hurt: whatever the bytes, functions come out or one error does, soon."""

import contextlib
import struct
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from permnet.binary import Binary, instructions, labelled_assembly, open_binary
from permnet.binary.frames import function_ranges
from permnet.binary.operands import parse_operands
from permnet.errors import PermnetError
from tests.test_binary import PROGRAM, SOURCE, compiled

HEADER, SECTION = 64, 64


@pytest.fixture(scope="session")
def files(tmp_path_factory: pytest.TempPathFactory) -> list[bytes]:
    folder = tmp_path_factory.mktemp("elf")
    flags = ("-O1", "-nostdlib", "-static-pie", "-s")
    source = PROGRAM + "int puts(const char *s) { return *s; }"
    return [
        compiled(folder, SOURCE, "-O1", "-c").read_bytes(),
        compiled(folder, source, *flags, name="program").read_bytes(),
    ]


def use(data: bytes) -> int:
    """All that is ever asked of a file; the bytes of code gone through."""
    binary = Binary(memoryview(data))
    total = 0
    for function in binary.functions():
        total += function.size
        assert len(function.code) == function.size
        for instruction in instructions(function):
            assert isinstance(instruction.operands, tuple)
        labelled_assembly(function)
    return total


def survives(data: bytes) -> None:
    with contextlib.suppress(PermnetError):
        assert use(data) <= 2 * len(data)


def test_the_files_themselves_are_read(files: list[bytes]) -> None:
    assert all(use(data) > 10 for data in files)


WHICH, ANYWHERE = st.integers(0, 1), st.integers(0, 2**32 - 1)
CHANGES = st.lists(
    st.tuples(
        st.sampled_from(["header", "sections", "all"]),
        ANYWHERE,
        st.sampled_from([0, 1, 2, 127, 128, 254, 255]),
    ),
    min_size=1,
    max_size=8,
)
ABSURD = st.lists(
    st.tuples(
        ANYWHERE,
        st.sampled_from([8, 16, 24, 32, 40, 48]),
        st.one_of(st.integers(0, 64), st.integers(0, 2**16), st.integers(0, 2**64 - 1)),
    ),
    min_size=1,
    max_size=4,
)


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(which=WHICH, changes=CHANGES)
def test_changed_bytes(files: list[bytes], which: int, changes: list[tuple[str, int, int]]) -> None:
    changed = bytearray(files[which])
    headers = struct.unpack_from("<Q", changed, 40)[0]
    parts = {"header": (0, HEADER), "sections": (headers, len(changed)), "all": (0, len(changed))}
    for part, anywhere, value in changes:
        first, end = parts[part]
        changed[first + anywhere % (end - first)] = value
    survives(bytes(changed))


@settings(max_examples=150, deadline=None)
@given(which=WHICH, fields=ABSURD)
def test_absurd_fields(files: list[bytes], which: int, fields: list[tuple[int, int, int]]) -> None:
    """Whole fields of section headers: sizes, offsets, links that lead anywhere."""
    changed = bytearray(files[which])
    start, count = (
        struct.unpack_from("<Q", changed, 40)[0],
        struct.unpack_from("<H", changed, 60)[0],
    )
    for anywhere, field, value in fields:
        struct.pack_into("<Q", changed, start + SECTION * (anywhere % count) + field, value)
    survives(bytes(changed))


@settings(max_examples=100, deadline=None)
@given(which=WHICH, anywhere=ANYWHERE)
def test_truncated(files: list[bytes], which: int, anywhere: int) -> None:
    whole = files[which]
    survives(whole[: anywhere % (len(whole) + 1)])


@given(st.binary(max_size=300))
def test_junk(junk: bytes) -> None:
    survives(junk)
    survives(b"\x7fELF\x02\x01" + junk)


@given(st.binary(max_size=300))
def test_frames_of_anything_end(junk: bytes) -> None:
    assert len(list(function_ranges(memoryview(junk), 0x1000))) <= len(junk)


def record(content: bytes) -> bytes:
    return struct.pack("<I", len(content)) + content


def test_frames_that_point_to_themselves_or_nowhere() -> None:
    cie = record(struct.pack("<I", 0) + b"\x01zR\0\x01\x78\x10\x01\x1b" + bytes(3))
    back = struct.pack("<I", len(cie) + 4)
    good = record(back + struct.pack("<iI", 0x100, 7) + bytes(4))
    itself = record(struct.pack("<I", 4) + bytes(12))
    nowhere = record(struct.pack("<I", 0xFFFFFFF0) + bytes(12))
    found = list(function_ranges(memoryview(cie + good + itself + nowhere), 0x1000))
    assert found == [(0x1000 + len(cie) + 8 + 0x100, 7)]
    endless = struct.pack("<I", 0xFFFFFFF0) + bytes(40)
    assert list(function_ranges(memoryview(cie + good + endless), 0)) != []


def test_an_object_of_no_sections(files: list[bytes]) -> None:
    """Their number is in the first of them where the header says 0."""
    data = bytearray(files[0])
    (start,) = struct.unpack_from("<Q", data, 40)
    struct.pack_into("<H", data, 60, 0)
    struct.pack_into("<Q", data, start + 32, 0)
    with pytest.raises(PermnetError, match="no section headers"):
        Binary(memoryview(data))


def test_overlapping_sections_cost_no_more_than_the_file(files: list[bytes]) -> None:
    """Many headers of code that all name the same bytes, at different addresses."""
    data = bytearray(files[1])
    start, count = struct.unpack_from("<Q", data, 40)[0], struct.unpack_from("<H", data, 60)[0]
    rows = [data[start + SECTION * i : start + SECTION * (i + 1)] for i in range(count)]
    code = max(rows, key=lambda row: bool(row[8] & 4) * struct.unpack_from("<Q", row, 32)[0])
    struct.pack_into("<QQ", code, 24, 0, len(data))
    many = 1000
    for i in range(many):
        struct.pack_into("<Q", code, 16, 0x100000 * (i + 1))
        rows.append(bytearray(code))
    struct.pack_into("<Q", data, 40, len(data))
    struct.pack_into("<H", data, 60, len(rows))
    with pytest.raises(PermnetError, match="overlap"):
        use(bytes(data) + b"".join(rows))


@given(st.text(max_size=60))
def test_operands_of_anything(text: str) -> None:
    assert isinstance(parse_operands(text), tuple)


def test_files_that_cannot_be_opened(tmp_path: Path) -> None:
    (tmp_path / "empty").touch()
    for path, said in (
        (tmp_path / "empty", "empty"),
        (tmp_path / "none", "No such"),
        (tmp_path, "directory"),
    ):
        with pytest.raises(PermnetError, match=said), open_binary(path):
            pass
