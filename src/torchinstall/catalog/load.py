"""From a folder of JSON files, and the refreshed rows in the user's cache, to the catalogue."""

from __future__ import annotations

import json
import os

from torchinstall.catalog.catalog import Catalog
from torchinstall.catalog.locate import NO_OVERLAY, VARIABLE, cache_folder, data_folder, overlay_dir
from torchinstall.catalog.row_reader import broken
from torchinstall.errors import CatalogError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path
    from typing import Any

    from torchinstall.catalog.prepared import Prepared

_PREFIX = "torch-"


def load_catalog(directory: Path | None = None) -> Catalog:
    """Return the catalogue of ``directory``, by default of the data that came with torchinstall.

    Without a directory, refreshed rows in the user's cache are laid over (``TORCHINSTALL_NO_OVERLAY`` leaves
    them out); an overlay with any fault is passed over whole, and ``Catalog.refused`` says why.
    Else only meta.json is read at once; the other files when they are asked for.
    Raises ``CatalogError`` where there is no data, and where a file is broken,
    naming file and row; the latter also from the look-ups.
    """
    if directory is not None:
        return Catalog(FolderReader(directory))
    shipped = FolderReader(data_folder(), own=not os.environ.get(VARIABLE))
    # As in overlay_dir, without its import of pathlib: mostly there is none.
    if not os.environ.get(NO_OVERLAY) and os.path.isdir(os.path.join(cache_folder(os.environ), "catalog")):
        path = overlay_file(shipped, os.environ)
        if path is not None and path.is_file():
            return overlaid(shipped, path)
    return Catalog(shipped)


def overlaid(shipped: FolderReader, path: Path) -> Catalog:
    """Return the catalogue with an overlay's rows, or without them where the file isn't right in every part."""
    from torchinstall.catalog.overlay import META, OverlaidReader, base_url, read_overlay

    plain = Catalog(shipped)
    try:
        overlay = read_overlay(path, shipped)
        if overlay.index.rstrip("/") != base_url(shipped):
            raise broken(path.name, "", f"is for {overlay.index}, which isn't the PyTorch index of the data")
        if overlay.date < plain.date:
            plain.refused = f"{path.name} is of {overlay.date}, older than the data that came with torchinstall"
            return plain
        catalog = Catalog(OverlaidReader(shipped, overlay))
        catalog.read_all(name for name in overlay.documents if name != META)
    except CatalogError as error:
        plain.refused = error.what
        return plain
    catalog.overlay = overlay
    return catalog


def overlay_file(shipped: FolderReader, environ: Mapping[str, str]) -> Path | None:
    """Return where the overlay of this data is kept, ``None`` where no overlay at all is kept."""
    folder = overlay_dir(environ)
    if not folder.is_dir():
        return None
    from torchinstall.catalog.overlay import base_url, overlay_name

    return folder / overlay_name(base_url(shipped))


class FolderReader:
    """Data files in a folder. ``own``: they came with torchinstall, and may be prepared."""

    def __init__(self, folder: Path | str, *, own: bool = False) -> None:
        self._folder = str(folder)
        self.prepared: Prepared | None = None
        if own:
            from torchinstall.catalog.prepare import open_prepared

            self.prepared = open_prepared(self._folder)
        self._minors: tuple[str, ...] | None = None

    def read(self, name: str) -> Any:
        """Return the JSON document of one file; raises ``CatalogError`` where it can't be read."""
        if self.prepared is not None and (document := self.prepared.document(name)) is not None:
            return document
        try:
            with open(os.path.join(self._folder, name), encoding="utf-8") as file:
                text = file.read()
        except OSError as error:
            raise broken(name, "", f"can't be read ({error.strerror or error})") from error
        except UnicodeDecodeError as error:
            raise broken(name, "", f"isn't UTF-8 (byte {error.start})") from error
        try:
            return json.loads(text)
        except json.JSONDecodeError as error:
            raise broken(name, f"line {error.lineno}, column {error.colno}", f"isn't JSON: {error.msg}") from error

    def minors(self) -> tuple[str, ...]:
        """Return the torch minors that have a file."""
        if self._minors is None:
            try:
                names = os.listdir(os.path.join(self._folder, "releases"))
            except OSError:
                names = []  # no releases are known; meta.json was there
            files = [name for name in names if name.startswith(_PREFIX) and name.endswith(".json")]
            self._minors = tuple(sorted(name.removeprefix(_PREFIX).removesuffix(".json") for name in files))
        return self._minors
