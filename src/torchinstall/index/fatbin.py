"""The GPU architectures in a library, found in its fat binaries while it streams by.

``libtorch_cuda.so`` is one deflated member of hundreds of megabytes: its
section table, at the end, can't be reached without inflating all of it. So the
stream is scanned for containers, and left when the answer has settled.

A container starts with the magic 0xBA55ED50, version 1, a header of 16 bytes
and the size of what follows; then entry after entry: a kind (1 PTX, 2 machine
code), the sizes of its header and content, and at byte 28 the architecture
(the layout that ``cuobjdump`` reads; measured on wheels of torch 2.0 to 2.15).
"""

from __future__ import annotations

import struct
from collections import Counter

from torchinstall.model.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    Entries = frozenset[tuple[int, int]]

MAGIC = struct.pack("<I", 0xBA55ED50)
PTX, CODE = 1, 2
STABLE = 12
"""Containers in a row that must agree with all before them. In wheels of torch 2.0 to 2.15 one is enough on
x86_64; on aarch64 58 containers of a single architecture come first, and those don't count."""

_HEADER = struct.Struct("<IHHQ")
_ENTRY = struct.Struct("<HHIQ")
_ENTRY_SIZE = 32
_ARCH_AT = 28
_MAX_CONTAINER = 1 << 28
_FULL = 0.5
"""The share of containers from which on an architecture counts as being in all; seen: at least 0.88, at most 0.12."""


class Scan(Value):
    """What the containers hold. ``full``: code in (almost) all; ``partial``: in some; ``ptx``: as source.

    ``settled``: the list is complete, by agreement or because all was read (``whole``).
    """

    full: tuple[int, ...]
    partial: tuple[int, ...] = ()
    ptx: tuple[int, ...] = ()
    containers: int = 0
    settled: bool = False
    whole: bool = False


def scan(pieces: Iterable[bytes], *, stop_early: bool = True) -> Scan:
    """Return the architectures in a stream; with ``stop_early`` reads no further than they take to settle.

    Where the stream ends by an error of its own, that error comes through.
    """
    counts: Counter[tuple[int, int]] = Counter()
    seen: set[int] = set()
    containers = agreeing = 0
    for entries in containers_in(pieces):
        containers += 1
        counts.update(entries)
        code = {arch for kind, arch in entries if kind == CODE}
        if code - seen:
            agreeing = 0
        elif len(code) > 1 and code == seen:
            agreeing += 1
        seen |= code
        if stop_early and agreeing >= STABLE:
            return Scan(full=tuple(sorted(seen)), ptx=_kind(counts, PTX), containers=containers, settled=True)
    most = max((counts[key] for key in counts if key[0] == CODE), default=0)
    full = tuple(arch for arch in _kind(counts, CODE) if counts[CODE, arch] >= _FULL * most)
    return Scan(
        full=full,
        partial=tuple(arch for arch in _kind(counts, CODE) if arch not in full),
        ptx=_kind(counts, PTX),
        containers=containers,
        settled=bool(containers),
        whole=True,
    )


def containers_in(pieces: Iterable[bytes]) -> Iterator[Entries]:
    """Yield the (kind, architecture) pairs of each container; the magic inside other bytes is passed over."""
    buffer = bytearray()
    for piece in pieces:
        buffer += piece
        at = 0
        while True:
            found = buffer.find(MAGIC, at)
            if found < 0:
                at = max(at, len(buffer) - len(MAGIC) + 1)  # the magic may be cut in two
                break
            at = found
            if len(buffer) - at < _HEADER.size:
                break
            _, version, header, size = _HEADER.unpack_from(buffer, at)
            if version != 1 or header != _HEADER.size or not _ENTRY_SIZE <= size <= _MAX_CONTAINER:
                at += len(MAGIC)
                continue
            end = at + header + size
            if len(buffer) < end:
                break
            entries = _entries(buffer, at + header, end)
            if entries:
                yield entries
            at = end if entries else at + len(MAGIC)
        del buffer[:at]


def _entries(buffer: bytearray, at: int, end: int) -> Entries:
    found = set()
    while at + _ENTRY_SIZE <= end:
        kind, _, header, size = _ENTRY.unpack_from(buffer, at)
        (arch,) = struct.unpack_from("<I", buffer, at + _ARCH_AT)
        if kind not in {PTX, CODE} or header < _ENTRY_SIZE or not 10 <= arch <= 999:  # noqa: PLR2004 - sm_10 and up
            return frozenset()
        found.add((kind, arch))
        at += header + size
    return frozenset(found)


def _kind(counts: Counter[tuple[int, int]], kind: int) -> tuple[int, ...]:
    return tuple(sorted(arch for found, arch in counts if found == kind))
