"""Where the compatibility data is: a folder of the user's own, the installed wheel, or the checkout."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from torchinstall.errors import CatalogError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

VARIABLE = "TORCHINSTALL_INDEX_DATA"
NO_OVERLAY = "TORCHINSTALL_NO_OVERLAY"
CACHE_VARIABLE = "TORCHINSTALL_CACHE_DIR"
MARK = "meta.json"


def find_index_data() -> Path:
    """Return the folder of the compatibility data.

    The environment variable ``TORCHINSTALL_INDEX_DATA`` replaces the data that
    came with torchinstall. Raises ``CatalogError`` where there is no such folder.
    """
    named = os.environ.get(VARIABLE)
    if named:
        folder = Path(named)
        if not (folder / MARK).is_file():
            raise CatalogError(
                f"{VARIABLE} names {named}, which has no {MARK}",
                why="a folder of compatibility data holds meta.json, releases/ and gpus/",
                todo=[f"set {VARIABLE} to such a folder, or unset it to take the data of torchinstall"],
            )
        return folder
    package = Path(__file__).resolve().parent.parent
    # A wheel carries the data inside the package; in a checkout it stands at the top.
    for folder in (package / "_index_data", package.parent.parent / "index_data"):
        if (folder / MARK).is_file():
            return folder
    raise CatalogError(
        "the compatibility data of torchinstall is missing",
        why=f"neither {package / '_index_data'} nor a checkout round it holds {MARK}",
        todo=["install torchinstall again", f"or point {VARIABLE} at a copy of index_data/"],
    )


def cache_dir(environ: Mapping[str, str]) -> Path:
    """Return the folder of what torchinstall may keep and can lose; it need not exist.

    ``TORCHINSTALL_CACHE_DIR`` replaces the usual place: XDG's on any system where its variable is set, as in
    uv; else that of the system. (platformdirs says the same, but every plan asks, and its import would
    cost a third of the plan.)
    """
    if named := environ.get(CACHE_VARIABLE):
        return Path(named).expanduser()
    if named := environ.get("XDG_CACHE_HOME"):
        return Path(named) / "torchinstall"
    if os.name == "nt":
        local = environ.get("LOCALAPPDATA")
        return (Path(local) if local else Path.home() / "AppData" / "Local") / "torchinstall" / "Cache"
    home = Path(environ["HOME"]) if environ.get("HOME") else Path.home()
    return home / ("Library/Caches" if sys.platform == "darwin" else ".cache") / "torchinstall"


def overlay_dir(environ: Mapping[str, str]) -> Path:
    """Return the folder of refreshed rows; it need not exist."""
    return cache_dir(environ) / "catalog"
