"""Index pages kept on disk, each with the mark (ETag or date) by which its server tells whether it has changed.

Every use asks the server: what is kept only saves the transfer. A general
cache (CacheControl) would also answer by itself as long as a page is said to
be fresh, and a catalogue that checks itself must not take an answer of yesterday.
"""

from __future__ import annotations

import hashlib
import json
import os

from torchinstall.model.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

_MOST_DAYS = 90


class Kept(Value):
    """One page as it was kept. ``etag`` and ``modified`` are the server's own words."""

    url: str
    body: bytes
    content_type: str
    etag: str = ""
    modified: str = ""

    @property
    def conditions(self) -> dict[str, str]:
        """The headers that ask the server to answer only if the page has changed."""
        found = {"If-None-Match": self.etag, "If-Modified-Since": self.modified}
        return {name: value for name, value in found.items() if value}


class PageCache:
    """A folder of kept pages. A fault in it is never an error: the page is read again."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._broken = False

    def get(self, url: str) -> Kept | None:
        """Return the page of an address, ``None`` where none is kept or what is kept is damaged."""
        try:
            head, _, body = self._path(url).read_bytes().partition(b"\n")
            fields = json.loads(head)
            if fields["asked"] != url or fields["sha256"] != hashlib.sha256(body).hexdigest():
                return None
            return Kept(
                url=str(fields["url"]),
                body=body,
                content_type=str(fields["type"]),
                etag=str(fields["etag"]),
                modified=str(fields["modified"]),
            )
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def put(self, asked: str, page: Kept) -> None:
        """Keep a page; without a mark of the server's there is nothing to ask by, and it isn't kept."""
        if self._broken or not page.conditions:
            return
        fields = {
            "asked": asked, "url": page.url, "type": page.content_type, "etag": page.etag, "modified": page.modified,
            "sha256": hashlib.sha256(page.body).hexdigest(),
        }  # fmt: skip
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            replace_file(self._path(asked), json.dumps(fields).encode() + b"\n" + page.body)
        except OSError:
            self._broken = True  # a full or read-only disk: once is enough

    def prune(self, now: float) -> None:
        """Remove pages that nobody has written for months; ``now`` in seconds of the epoch."""
        try:
            for path in self._folder.glob("*.page"):
                if now - path.stat().st_mtime > _MOST_DAYS * 86400:
                    path.unlink()
        except OSError:
            return

    def _path(self, url: str) -> Path:
        return self._folder / f"{hashlib.sha256(url.encode()).hexdigest()[:32]}.page"


def kept_page(asked: str, url: str, body: bytes, content_type: str, headers: Mapping[str, str]) -> Kept | None:
    """Return what to keep of an answer, ``None`` where its address holds credentials."""
    if "@" in asked.partition("://")[2].partition("/")[0]:
        return None
    return Kept(
        url=url, body=body, content_type=content_type,
        etag=headers.get("ETag", ""), modified=headers.get("Last-Modified", ""),
    )  # fmt: skip


def replace_file(path: Path, content: bytes) -> None:
    """Write a file in one step: readers see the old or the new one, also after a crash. Raises ``OSError``."""
    import tempfile

    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(name, path)  # noqa: PTH105 - the name is a text here
    except BaseException:
        os.unlink(name)  # noqa: PTH108
        raise
