"""Members of a wheel that lies on a server, read by range requests: a few kilobytes instead of half a gigabyte.

``remotezip`` puts Python's ``zipfile`` over ranges. What is added here are the
limits: bytes, requests and seconds, since a page names the address, and who
answers there may send anything.
"""

from __future__ import annotations

import time
import zipfile
import zlib

from torchinstall.index.location import redact

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import TracebackType
    from typing import Any

    from remotezip import RemoteZip
    from typing_extensions import Self

    from torchinstall.index.http import Client

MAX_DIRECTORY = 16_000_000
"""Bytes of the central directory and its neighbours; that of torch 2.15 (13,000 members) has 1.3 MB."""
MAX_MEMBER = 4_000_000
"""Bytes of a member that is read whole."""
CHUNK = 1 << 18
_PARTIAL = 206
_TIMEOUT = (5.0, 20.0)
_SECONDS = 120.0


class RemoteWheelError(Exception):
    """The wheel can't be read in parts; the message says why, without credentials."""


class Meter:
    """What a reading may cost, and what it has cost so far."""

    def __init__(self, most: int, seconds: float = _SECONDS) -> None:
        self.most = most
        self.transferred = 0
        self.requests = 0
        self._deadline = time.monotonic() + seconds

    def count(self, size: int) -> None:
        """Add bytes that came in; raises ``RemoteWheelError`` above the limits."""
        self.transferred += size
        if self.transferred > self.most:
            raise RemoteWheelError(f"more than {self.most} bytes would have to be read")
        if time.monotonic() > self._deadline:
            raise RemoteWheelError("reading it takes too long")


class RemoteWheel:
    """An open wheel on a server. Use it as a context manager.

    Raises ``RemoteWheelError`` for a server without ranges, for what isn't a wheel, and above the limits.
    """

    def __init__(self, url: str, *, session: Client, most: int = MAX_DIRECTORY, seconds: float = _SECONDS) -> None:
        self.url = url
        self.meter = Meter(most, seconds)
        self._zip = _guarded(lambda: _open(url, session, self.meter))
        self.size: int = self._zip.size()
        self.names = frozenset(self._zip.namelist())

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._zip.close()

    def text(self, name: str) -> str:
        """Return a small member as text. Raises also where there is none, or where it is large."""
        if name not in self.names:
            raise RemoteWheelError(f"has no {name}")
        if self._zip.getinfo(name).file_size > MAX_MEMBER:
            raise RemoteWheelError(f"{name} is larger than {MAX_MEMBER} bytes")
        content: bytes = _guarded(lambda: self._zip.read(name))
        return content.decode("utf-8", "replace")

    def stream(self, name: str) -> Iterator[bytes]:
        """Yield a member piece by piece as it comes; the connection is closed when the reader stops."""
        info = self._zip.getinfo(name)
        # Not through ZipFile.open: a deflated member of this size is only ever read from its start,
        # and the checksum at its end is out of reach.
        with _guarded(lambda: self._zip.open(info)) as member:
            while chunk := _guarded(lambda: member.read(CHUNK)):
                yield chunk


def _open(url: str, client: Client, meter: Meter) -> RemoteZip:
    from remotezip import RemoteFetcher, RemoteZip

    class Fetcher(RemoteFetcher):  # type: ignore[misc]
        """Counts requests and bytes, and refuses a range that is over the limit before it is asked for."""

        def fetch(self, data_range: tuple[int, int | None], stream: bool = False) -> Any:
            first, last = data_range
            if not stream and last is not None and last - first > MAX_DIRECTORY:
                raise RemoteWheelError(f"its list of members has more than {MAX_DIRECTORY} bytes")
            if stream and last is not None:
                # No more than may be read, or the server would send ahead of what is; one byte over tells.
                last = min(last, first + max(meter.most - meter.transferred, 0))
            return super().fetch((first, last), stream=stream)

        def _request(self, kwargs: dict[str, Any]) -> tuple[_Counted, str]:
            meter.requests += 1
            answer = client.session().get(self._url, stream=True, **kwargs)
            found = answer.headers.get("Content-Range", "")
            if answer.status_code != _PARTIAL or not found.startswith("bytes "):
                answer.close()  # or the rest of it would go on coming
                if answer.ok:
                    raise RemoteWheelError("the server doesn't answer range requests")
                raise RemoteWheelError(f"HTTP {answer.status_code} {answer.reason or ''}".rstrip())
            return _Counted(answer.raw, meter), found

    return RemoteZip(
        url, session=client.session(), fetcher=Fetcher, timeout=_TIMEOUT, headers={"Accept-Encoding": "identity"}
    )


class _Counted:
    """The raw answer, with what is read from it counted."""

    def __init__(self, raw: Any, meter: Meter) -> None:
        self._raw = raw
        self._meter = meter

    def read(self, size: int | None = None) -> bytes:
        data: bytes = self._raw.read(size)
        self._meter.count(len(data))
        return data

    def __getattr__(self, name: str) -> Any:
        return getattr(self._raw, name)


def _guarded(act: Any) -> Any:
    """Run one step; whatever goes wrong on the other side becomes ``RemoteWheelError``."""
    import requests
    import urllib3
    from remotezip import RemoteZipError

    try:
        return act()
    except RemoteWheelError:
        raise
    except RemoteZipError as error:
        raise RemoteWheelError(redact(str(error))[:200] or "the server doesn't answer range requests") from error
    except (zipfile.BadZipFile, zlib.error, EOFError, KeyError, NotImplementedError, RuntimeError) as error:
        raise RemoteWheelError(f"isn't a readable wheel ({error})") from error
    except (requests.RequestException, urllib3.exceptions.HTTPError, OSError, ValueError) as error:
        raise RemoteWheelError(redact(f"{type(error).__name__}: {error}")[:200]) from error
