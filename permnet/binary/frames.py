"""Where functions begin and end by `.eh_frame`, which stripped programs keep to unwind by.

The section is a row of records, read once from front to back: a CIE says how addresses are written,
each FDE names the CIE that it belongs to and gives the first address and the length of a function.
"""

import struct
from collections.abc import Iterator

# The low half of a pointer's encoding: its size and signedness.
_FORMATS = {0x00: "<Q", 0x02: "<H", 0x03: "<I", 0x04: "<Q", 0x0A: "<h", 0x0B: "<i", 0x0C: "<q"}
_ABSOLUTE, _RELATIVE, _OMITTED = 0x00, 0x10, 0xFF


def function_ranges(section: memoryview, address: int) -> Iterator[tuple[int, int]]:
    """(first address, size) of each function; records that make no sense are passed over."""
    encodings: dict[int, int | None] = {}
    position = 0
    while position + 4 <= len(section):
        (length,) = struct.unpack_from("<I", section, position)
        start = position + 4
        if length == 0xFFFFFFFF and start + 8 <= len(section):
            (length,) = struct.unpack_from("<Q", section, start)
            start += 8
        end = start + length
        if length < 4 or end > len(section):
            return  # the terminator, or nothing that could be trusted
        (cie,) = struct.unpack_from("<I", section, start)
        if cie == 0:
            encodings[position] = _encoding(section[start + 4 : end])
        else:
            encoding = encodings.get(start - cie)
            if encoding is not None:
                yield from _range(section[start + 4 : end], address + start + 4, encoding)
        position = end


def _encoding(cie: memoryview) -> int | None:
    """How the FDEs of a CIE write addresses; None where this reader does not understand it."""
    text, _, rest = bytes(cie[1:]).partition(b"\0")
    if not text.startswith(b"z"):
        return _ABSOLUTE if not text else None
    position = 0
    for _ in range(3):  # code alignment, data alignment, return register: LEB128
        position = _after_leb(rest, position)
    position = _after_leb(rest, position)  # length of what follows
    for letter in text[1:].decode(errors="replace"):
        if letter == "R":
            return rest[position] if position < len(rest) else None
        if letter == "L":
            position += 1
        elif letter == "P":
            if position >= len(rest) or rest[position] & 0x0F not in _FORMATS:
                return None
            position += 1 + struct.calcsize(_FORMATS[rest[position] & 0x0F])
        elif letter not in "SB":
            return None
    return _ABSOLUTE


def _after_leb(data: bytes, position: int) -> int:
    while position < len(data) and data[position] & 0x80:
        position += 1
    return position + 1


def _range(fde: memoryview, address: int, encoding: int) -> Iterator[tuple[int, int]]:
    format, base = _FORMATS.get(encoding & 0x0F), encoding & 0x70
    if encoding == _OMITTED or format is None or base not in (_ABSOLUTE, _RELATIVE):
        return
    size = struct.calcsize(format)
    if len(fde) < 2 * size:
        return
    (start,) = struct.unpack_from(format, fde)
    (length,) = struct.unpack_from(format.upper() if size > 1 else format, fde, size)
    yield (start + (address if base == _RELATIVE else 0)) % (1 << 64), length
