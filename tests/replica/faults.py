"""What can go wrong between an index and its reader, switched on per path."""

from __future__ import annotations

import dataclasses
import fnmatch
import threading

GARBAGE = b"<html><head><title>Sign in</title></head><body><form action='/login'>Network</form></body></html>"


@dataclasses.dataclass
class Fault:
    """One fault. Several fields may be set together; ``times`` limits it to the first so many requests.

    ``status``: answer with this code. ``delay``: seconds before the answer. ``drip``: seconds between chunks
    of ``chunk`` bytes. ``truncate``: cut the body after so many bytes, with the full length announced.
    ``garbage``: a log-in page with 200. ``wrong_hash``: a page announces other hashes, a file has one byte
    changed. ``drop``: close without an answer. ``ignore_range``: the whole body, whatever was asked.
    ``redirect``: answer 302 to this address.
    """

    status: int | None = None
    delay: float = 0
    drip: float = 0
    chunk: int = 1024
    truncate: int | None = None
    garbage: bool = False
    wrong_hash: bool = False
    drop: bool = False
    ignore_range: bool = False
    redirect: str | None = None
    times: int | None = None


class Faults:
    """The faults that are switched on, by path pattern (``fnmatch``); the latest that matches wins."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._rows: list[tuple[str, Fault]] = []

    def add(self, pattern: str, fault: Fault) -> None:
        with self._lock:
            self._rows.append((pattern, fault))

    def heal(self, pattern: str | None = None) -> None:
        with self._lock:
            self._rows = [] if pattern is None else [row for row in self._rows if row[0] != pattern]

    def take(self, path: str) -> Fault:
        """Return the fault for a request of ``path``, and count it; an empty one where there is none."""
        with self._lock:
            for pattern, fault in reversed(self._rows):
                if not fnmatch.fnmatchcase(path, pattern) or fault.times == 0:
                    continue
                if fault.times is not None:
                    fault.times -= 1
                return fault
        return Fault()
