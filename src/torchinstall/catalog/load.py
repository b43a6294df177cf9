"""From a folder of JSON files to the catalogue."""

from __future__ import annotations

import json

from torchinstall.catalog.catalog import Catalog
from torchinstall.catalog.locate import find_index_data
from torchinstall.catalog.row_reader import broken

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pathlib import Path
    from typing import Any

_PREFIX = "torch-"


def load_catalog(directory: Path | None = None) -> Catalog:
    """Return the catalogue of ``directory``, by default of the data that came with torchinstall.

    Only meta.json is read at once; the other files when they are asked for.
    Raises ``CatalogError`` where there is no data, and where a file is broken,
    naming file and row; the latter also from the look-ups.
    """
    return Catalog(FolderReader(directory or find_index_data()))


class FolderReader:
    """Data files in a folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._minors: tuple[str, ...] | None = None

    def read(self, name: str) -> Any:
        """Return the JSON document of one file; raises ``CatalogError`` where it can't be read."""
        try:
            text = (self._folder / name).read_text(encoding="utf-8")
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
            paths = (self._folder / "releases").glob(f"{_PREFIX}*.json")
            self._minors = tuple(sorted(path.stem.removeprefix(_PREFIX) for path in paths))
        return self._minors
