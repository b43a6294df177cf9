"""What a shared library needs, read from its ELF headers: no process, no loading, a few reads a file.

Format: System V ABI, chapter 5 (program header, dynamic section); little endian, 64 bits, as all wheels are.
"""

from __future__ import annotations

import struct

from torchinstall.model.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import BinaryIO

_PT_LOAD, _PT_DYNAMIC = 1, 2
_DT_NEEDED, _DT_STRTAB, _DT_SONAME, _DT_RPATH, _DT_RUNPATH, _DT_STRSZ = 1, 5, 14, 15, 29, 10
_MOST_ENTRIES = 4000
_MOST_BYTES = 64 << 20


class Library(Value):
    """The dynamic section of one file. ``rpath`` is searched before LD_LIBRARY_PATH, ``runpath`` after it."""

    soname: str = ""
    needed: tuple[str, ...] = ()
    rpath: tuple[str, ...] = ()
    runpath: tuple[str, ...] = ()


def read_library(path: str) -> Library | None:
    """Return what a shared library needs; ``None`` for what isn't a 64-bit little-endian ELF file or is cut off."""
    try:
        with open(path, "rb") as file:  # noqa: PTH123 - called for hundreds of files
            return _read(file)
    except (OSError, struct.error, ValueError, UnicodeDecodeError, MemoryError):
        return None


def _read(file: BinaryIO) -> Library | None:
    head = file.read(64)
    if head[:6] != b"\x7fELF\x02\x01":
        return None
    (offset,) = struct.unpack_from("<Q", head, 32)
    size, count = struct.unpack_from("<HH", head, 54)
    if size < 56 or count > _MOST_ENTRIES:  # noqa: PLR2004 - the size of a 64-bit program header
        return None
    file.seek(offset)
    table = file.read(size * count)
    segments = [struct.unpack_from("<IIQQQQ", table, number * size) for number in range(count)]
    dynamic = next((s for s in segments if s[0] == _PT_DYNAMIC), None)
    if dynamic is None:
        return Library()
    file.seek(dynamic[2])
    entries = file.read(min(dynamic[5], _MOST_ENTRIES * 16))
    tags: list[tuple[int, int]] = []
    for place in range(0, len(entries) - 15, 16):
        tag, value = struct.unpack_from("<qQ", entries, place)
        if tag == 0:
            break
        tags.append((tag, value))
    values = dict(tags)
    if _DT_STRTAB not in values:
        return Library()
    strings = _strings(file, segments, values[_DT_STRTAB], values.get(_DT_STRSZ, 0))

    def text(place: int) -> str:
        end = strings.find(b"\0", place)
        return strings[place : end if end >= 0 else None].decode()

    def paths(tag: int) -> tuple[str, ...]:
        return tuple(part for part in text(values[tag]).split(":") if part) if tag in values else ()

    return Library(
        soname=text(values[_DT_SONAME]) if _DT_SONAME in values else "",
        needed=tuple(text(value) for tag, value in tags if tag == _DT_NEEDED),
        rpath=paths(_DT_RPATH),
        runpath=paths(_DT_RUNPATH),
    )


def _strings(file: BinaryIO, segments: list[tuple[int, ...]], address: int, size: int) -> bytes:
    """Return the string table: its address in memory is turned into a place in the file."""
    for kind, _flags, offset, virtual, _physical, length in segments:
        if kind == _PT_LOAD and virtual <= address < virtual + length:
            file.seek(offset + address - virtual)
            return file.read(min(size or length, _MOST_BYTES))
    return b""
