"""The refreshed rows in the user's cache: one file, written in one step, taken whole or not at all.

The file holds documents of the same form as ``index_data/`` with only the rows
that a refresh has seen otherwise. It belongs to one PyTorch index, and counts
until the shipped data is younger.
"""

from __future__ import annotations

import json

from torchinstall._version import __version__
from torchinstall.catalog.merge import INDEXES, may_overlay, merged
from torchinstall.catalog.row_reader import broken, top
from torchinstall.errors import CatalogError
from torchinstall.model.value import EMPTY, Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path
    from typing import Any

    from torchinstall.catalog.catalog import Reader

META = "meta.json"
SCHEMA = "schema/overlay.schema.json"
_PREFIX = "releases/torch-"


class Overlay(Value):
    """What a refresh has found. ``index``: the PyTorch index that it is true of; ``date``: the day.

    ``pages``: what was looked at, a row a page, those that couldn't be reached included. ``measured``: what
    was read out of wheels, so that the same wheel isn't read twice.
    """

    date: str
    index: str
    documents: Mapping[str, Any] = EMPTY
    pages: tuple[Mapping[str, str], ...] = ()
    measured: tuple[Mapping[str, Any], ...] = ()


class OverlaidReader:
    """Data files with an overlay laid over them."""

    prepared = None

    def __init__(self, shipped: Reader, overlay: Overlay) -> None:
        self._shipped = shipped
        self._overlay = overlay

    def read(self, name: str) -> Any:
        """Return the JSON document of one file, refreshed rows laid over the shipped ones."""
        if name == META:
            shipped = self._shipped.read(name)
            return {**shipped, "date": max(str(shipped.get("date")), self._overlay.date)}
        over = self._overlay.documents.get(name)
        if over is None:
            return self._shipped.read(name)
        new = name.startswith(_PREFIX) and _minor(name) not in self._shipped.minors()
        return merged(name, None if new else self._shipped.read(name), over)

    def minors(self) -> tuple[str, ...]:
        """Return the torch minors that have a file."""
        added = {_minor(name) for name in self._overlay.documents if name.startswith(_PREFIX)}
        return tuple(sorted(added.union(self._shipped.minors())))


def overlay_name(index: str) -> str:
    """Return the file name of the overlay for a PyTorch index: each index has one of its own."""
    import hashlib

    return f"overlay-{hashlib.sha256(index.rstrip('/').encode()).hexdigest()[:12]}.json"


def read_overlay(path: Path, shipped: Reader) -> Overlay:
    """Return the overlay of a file, checked by the schemas of the shipped data.

    The check takes longer than the rest of a plan, so the writer leaves a stamp beside the file; while it is
    that of the very bytes and of this version, the check isn't done again. Raises ``CatalogError`` where
    anything is wrong.
    """
    try:
        content = path.read_bytes()
        document = json.loads(content)
    except OSError as error:
        raise broken(path.name, "", f"can't be read ({error.strerror or error})") from error
    except (ValueError, RecursionError) as error:
        raise broken(path.name, "", f"isn't JSON: {error}") from error
    try:
        stamped = stamp_file(path).read_text("utf-8") == stamp(content)
    except (OSError, UnicodeDecodeError):
        stamped = False
    return overlay_of(document, path.name, None if stamped else shipped)


def overlay_of(document: Any, file: str, shipped: Reader | None) -> Overlay:
    """Return the overlay in a document; ``shipped`` has the schemas, ``None`` for one that was checked before.

    Raises ``CatalogError`` where anything in it is wrong.
    """
    if shipped is not None:
        _check(document, file, shipped)
    return Overlay(
        date=document["date"],
        index=document["index"],
        documents=document["documents"],
        pages=tuple(document["pages"]),
        measured=tuple(document["measured"]),
    )


def _check(document: Any, file: str, shipped: Reader) -> None:
    from torchinstall.catalog.schema import check

    check(document, shipped.read(SCHEMA), file)
    head = top(document, file)
    for name, part in document["documents"].items():
        if not may_overlay(name):
            head.fail(f"holds rows of {name}, which a refresh never changes")
        kind = "release" if name.startswith(_PREFIX) else name.removesuffix(".json")
        check(part, shipped.read(f"schema/{kind}.schema.json"), f"{file}, {name}")
        if kind == "release":
            _check_minor(part, name, head.fail)


def stamp_file(path: Path) -> Path:
    """Return where the stamp of an overlay's file is kept."""
    return path.with_suffix(".checked")


def stamp(content: bytes) -> str:
    """Return the mark of contents that this version of torchinstall has found in order."""
    import hashlib

    return f"{hashlib.sha256(content).hexdigest()} {__version__}"


def overlay_text(overlay: Overlay) -> str:
    """Return the contents of an overlay's file."""
    document = {
        "schema": 1, "date": overlay.date, "index": overlay.index, "documents": overlay.documents,
        "pages": overlay.pages, "measured": overlay.measured,
    }  # fmt: skip
    return json.dumps(document, ensure_ascii=False, sort_keys=True, separators=(",", ":"), default=list)


def base_url(reader: Reader) -> str:
    """Return the PyTorch index that data files name, ``""`` where they name none."""
    try:
        rows = reader.read(INDEXES)["indexes"]
        return str(next(row["url"] for row in rows if row["name"] == "pytorch")).rstrip("/")
    except (CatalogError, KeyError, TypeError, StopIteration):
        return ""


def _check_minor(part: Any, name: str, fail: Any) -> None:
    for release in part["releases"]:
        if ".".join(release["torch"].split(".")[:2]) != _minor(name):
            fail(f"has torch {release['torch']} in {name}")


def _minor(name: str) -> str:
    return name.removeprefix(_PREFIX).removesuffix(".json")
