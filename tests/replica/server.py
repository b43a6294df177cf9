"""The server: a PyTorch index under /whl, a default index under /simple, flat mirrors under /flat."""

from __future__ import annotations

import collections
import dataclasses
import fnmatch
import hashlib
import http.server
import re
import threading
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

from replica import pages
from replica.faults import GARBAGE, Fault, Faults

if TYPE_CHECKING:
    from pathlib import Path

    from typing_extensions import Self

    from replica.wheels import StubWheel

_RANGE = re.compile(r"bytes=(\d*)-(\d*)")


@dataclasses.dataclass
class Asked:
    """One request that came in, and what was sent: ``sent`` counts the bytes of the body."""

    method: str
    path: str
    headers: dict[str, str]
    status: int = 0
    sent: int = 0


_LARGE = 1 << 20
_tags: dict[int, tuple[bytes, str]] = {}
"""Tags of large bodies, which are kept with them: a server that hashed a real wheel anew for each request would be
slower than any index, and that would be measured as ours or uv's time."""


def _tag(body: bytes) -> str:
    """Return the ETag of a body."""
    known = _tags.get(id(body))
    if known is not None and known[0] is body:
        return known[1]
    tag = f'"{hashlib.md5(body, usedforsecurity=False).hexdigest()}"'
    if len(body) > _LARGE:
        _tags[id(body)] = (body, tag)
    return tag


@dataclasses.dataclass
class _Answer:
    status: int
    body: bytes = b""
    type: str = pages.HTML_TYPE
    location: str | None = None
    ranges: bool = False


class Replica:
    """An index on 127.0.0.1 with a free port. Start it, or use it as a context manager.

    ``requests`` is the list of what was asked so far. Publishing is allowed at any time. ``absent`` is the
    status for what isn't under /whl: 403 as on the real one, which uv passes over for that host alone.
    """

    def __init__(self, tmp_path: Path | None = None, *, absent: int = 403) -> None:
        self.folder = tmp_path
        self.absent = absent
        self.requests: list[Asked] = []
        self.faults = Faults()
        self._lock = threading.Lock()
        self._stopping = threading.Event()
        self._variants: dict[str, dict[str, list[StubWheel]]] = collections.defaultdict(dict)
        self._default: dict[str, list[StubWheel]] = {}
        self._files: dict[str, StubWheel] = {}
        self._server: http.server.ThreadingHTTPServer | None = None
        self._thread: threading.Thread | None = None

    # Publishing

    def add_wheel(self, variant: str, wheel: StubWheel) -> StubWheel:
        """Publish a wheel on the PyTorch index of ``variant``."""
        with self._lock:
            self._variants[variant].setdefault(wheel.project, []).append(wheel)
            self._files[f"/whl/{variant}/{wheel.filename}"] = wheel
        return wheel

    def add_default(self, wheel: StubWheel) -> StubWheel:
        """Publish a wheel on the stand-in of the default index."""
        with self._lock:
            self._default.setdefault(wheel.project, []).append(wheel)
            self._files[f"/packages/{wheel.filename}"] = wheel
        return wheel

    def flat_dir(self, path: Path, *wheels: StubWheel) -> Path:
        """Write wheels (all that are published where none are named) to a find-links folder."""
        path.mkdir(parents=True, exist_ok=True)
        for wheel in wheels or self._files.values():
            (path / wheel.filename).write_bytes(wheel.content)
        return path

    # Addresses

    @property
    def base(self) -> str:
        assert self._server, "the replica isn't started"
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    @property
    def index_base(self) -> str:
        return f"{self.base}/whl"

    @property
    def default_url(self) -> str:
        return f"{self.base}/simple"

    def url(self, variant: str) -> str:
        """Return the index of one variant."""
        return f"{self.index_base}/{variant}"

    def flat_url(self, variant: str) -> str:
        """Return the flat page of one variant's wheels, as some mirrors have instead of an index."""
        return f"{self.base}/flat/{variant}/"

    def file_url(self, variant: str, wheel: StubWheel) -> str:
        """Return the address of one wheel on a variant's index."""
        return f"{self.url(variant)}/{wheel.filename.replace('+', '%2B')}"

    # Faults and counts

    def fault(self, pattern: str, **fields: object) -> Fault:
        """Switch a fault on for paths such as ``/whl/cu132/*``; see ``Fault`` for the fields."""
        fault = Fault(**fields)  # type: ignore[arg-type]
        self.faults.add(pattern, fault)
        return fault

    def heal(self, pattern: str | None = None) -> None:
        """Switch faults off."""
        self.faults.heal(pattern)

    def count(self, pattern: str = "*") -> int:
        """Return how many requests came for paths that match."""
        return sum(fnmatch.fnmatchcase(asked.path, pattern) for asked in list(self.requests))

    @property
    def bytes_sent(self) -> int:
        return sum(asked.sent for asked in list(self.requests))

    # Life

    def start(self) -> Self:
        self._stopping.clear()
        handler = type("Handler", (_Handler,), {"replica": self})
        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self._server.daemon_threads = True
        self._server.block_on_close = False
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)
        self._thread.start()
        return self

    def stop(self) -> None:
        """Stop listening; an address that is kept refuses connections from now on."""
        self._stopping.set()
        if self._server and self._thread:
            self._server.shutdown()
            self._server.server_close()
            self._thread.join()
            self._thread = None

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_error: object) -> None:
        self.stop()

    # Answers

    def answer(self, path: str, accept: str, fault: Fault) -> _Answer:
        """Return what a healthy index says, but for the faults in the content itself."""
        if wheel := self._files.get(path):
            content = wheel.content
            if fault.wrong_hash:
                content = content[:-1] + bytes([content[-1] ^ 1])
            return _Answer(200, content, "binary/octet-stream", ranges=True)
        if path.endswith(".metadata") and (wheel := self._files.get(path.removesuffix(".metadata"))):
            return _Answer(200, wheel.metadata, "binary/octet-stream", ranges=True)
        parts = path.strip("/").split("/")
        if parts[0] == "whl":
            return self._pytorch(path, parts[1:], fault)
        if parts[0] == "simple":
            return self._simple(path, parts[1:], accept, fault)
        if parts[0] == "flat" and len(parts) == 2 and parts[1] in self._variants:
            wheels = [wheel for rows in list(self._variants[parts[1]].values()) for wheel in rows]
            return _Answer(200, pages.flat_html(wheels, f"/whl/{parts[1]}/"))
        return _Answer(404, b"Not Found")

    def _pytorch(self, path: str, parts: list[str], fault: Fault) -> _Answer:
        denied = _Answer(self.absent, b"<Error><Code>AccessDenied</Code></Error>", "application/xml")
        if not parts or not all(parts):
            names = {name for projects in list(self._variants.values()) for name in projects}
            return _Answer(200, pages.root_html(names, "/whl/"))
        projects = self._variants.get(parts[0])
        if projects is None or len(parts) > 2 or (len(parts) == 2 and parts[1] not in projects):
            return denied
        if not path.endswith("/"):
            return _Answer(301, location=f"{path}/")
        if len(parts) == 1:
            return _Answer(200, pages.root_html(list(projects), f"/whl/{parts[0]}/"))
        prefix = f"/whl/{parts[0]}/"
        wheels = list(projects[parts[1]])
        return _Answer(200, pages.project_html(parts[1], wheels, prefix, python=False, wrong_hash=fault.wrong_hash))

    def _simple(self, path: str, parts: list[str], accept: str, fault: Fault) -> _Answer:
        if not parts or not all(parts):
            return _Answer(200, pages.root_html(list(self._default), "/simple/"))
        wheels = self._default.get(parts[0])
        if wheels is None or len(parts) > 1:
            return _Answer(404, b"Not Found", "text/plain")
        if not path.endswith("/"):
            return _Answer(301, location=f"{path}/")
        if pages.JSON_TYPE in accept:
            body = pages.project_json(parts[0], list(wheels), "/packages/", wrong_hash=fault.wrong_hash)
            return _Answer(200, body, pages.JSON_TYPE)
        body = pages.project_html(parts[0], list(wheels), "/packages/", python=True, wrong_hash=fault.wrong_hash)
        return _Answer(200, body)


class _Handler(http.server.BaseHTTPRequestHandler):
    """One connection. Its class attribute ``replica`` is set by ``Replica.start``."""

    replica: Replica
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        self._serve()

    def do_HEAD(self) -> None:
        self._serve()

    def _serve(self) -> None:
        path = unquote(urlsplit(self.path).path)
        asked = Asked(self.command, path, dict(self.headers.items()))
        with self.replica._lock:
            self.replica.requests.append(asked)
        fault = self.replica.faults.take(path)
        if self.replica._stopping.is_set():  # a connection that was kept open
            self.close_connection = True
            return
        if fault.delay and self.replica._stopping.wait(fault.delay):
            self.close_connection = True
            return
        if fault.drop:
            self.close_connection = True
            return
        if fault.redirect:
            answer = _Answer(302, location=fault.redirect)
        elif fault.status:
            answer = _Answer(fault.status, f"fault {fault.status}".encode(), "text/plain")
        elif fault.garbage:
            answer = _Answer(200, GARBAGE)
        else:
            answer = self.replica.answer(path, self.headers.get("Accept", ""), fault)
        self._send(asked, answer, fault)

    def _send(self, asked: Asked, answer: _Answer, fault: Fault) -> None:
        body, extra = answer.body, {}
        tag = _tag(body)
        if answer.status == 200:
            extra["ETag"] = tag
            if self.headers.get("If-None-Match") == tag:
                answer, body = _Answer(304), b""
        if answer.ranges and answer.status == 200 and not fault.ignore_range:
            extra["Accept-Ranges"] = "bytes"
            if wanted := self.headers.get("Range"):
                answer, body = self._cut(wanted, answer, body, extra)
        if answer.location:
            extra["Location"] = answer.location
        asked.status = answer.status
        try:
            self.send_response(answer.status)
            self.send_header("Content-Type", answer.type)
            self.send_header("Content-Length", str(len(body)))
            for name, value in extra.items():
                self.send_header(name, value)
            self.end_headers()
            if self.command != "HEAD" and answer.status != 304:
                self._write(asked, body, fault)
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True

    @staticmethod
    def _cut(wanted: str, answer: _Answer, body: bytes, extra: dict[str, str]) -> tuple[_Answer, bytes]:
        match = _RANGE.fullmatch(wanted.strip())
        if not match or match[0] == "bytes=-":
            return answer, body
        size = len(body)
        first, last = match[1], match[2]
        start = int(first) if first else max(0, size - int(last))
        stop = min(size, int(last) + 1) if first and last else size
        if start >= size or start >= stop:
            extra["Content-Range"] = f"bytes */{size}"
            return _Answer(416, type=answer.type), b""
        extra["Content-Range"] = f"bytes {start}-{stop - 1}/{size}"
        return _Answer(206, type=answer.type), body[start:stop]

    def _write(self, asked: Asked, body: bytes, fault: Fault) -> None:
        whole = body if fault.truncate is None else body[: fault.truncate]
        step = fault.chunk if fault.drip else 1 << 16
        for at in range(0, len(whole), step):
            chunk = whole[at : at + step]
            asked.sent += len(chunk)  # before the reader can know of it, so that a test sees the full count
            self.wfile.write(chunk)
            self.wfile.flush()
            if fault.drip and self.replica._stopping.wait(fault.drip):
                break
        if asked.sent < len(body):
            self.close_connection = True

    def log_message(self, *_words: object) -> None:
        """Say nothing: the list of requests is the log."""
