"""Where the compatibility data is: a folder of the user's own, the installed wheel, or the checkout."""

from __future__ import annotations

import os
import sys

from torchinstall.errors import CatalogError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

VARIABLE = "TORCHINSTALL_INDEX_DATA"
NO_OVERLAY = "TORCHINSTALL_NO_OVERLAY"
CACHE_VARIABLE = "TORCHINSTALL_CACHE_DIR"
MARK = "meta.json"


def find_index_data() -> Path:
    """Return the folder of the compatibility data, as ``data_folder`` finds it."""
    from pathlib import Path

    return Path(data_folder())


def data_folder() -> str:
    """Return the folder of the compatibility data, as a text: ``pathlib`` is a tenth of a plan's start.

    The environment variable ``TORCHINSTALL_INDEX_DATA`` replaces the data that
    came with torchinstall. Raises ``CatalogError`` where there is no such folder.
    """
    named = os.environ.get(VARIABLE)
    if named:
        if not os.path.isfile(os.path.join(named, MARK)):
            raise CatalogError(
                f"{VARIABLE} names {named}, which has no {MARK}",
                why="a folder of compatibility data holds meta.json, releases/ and gpus/",
                todo=[f"set {VARIABLE} to such a folder, or unset it to take the data of torchinstall"],
            )
        return named
    package = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))
    own = os.path.join(package, "_index_data")
    checkout = os.path.join(os.path.dirname(os.path.dirname(package)), "index_data")
    # A wheel carries the data inside the package; in a checkout it stands at the top.
    for folder in (own, checkout):
        if os.path.isfile(os.path.join(folder, MARK)):
            return folder
    raise CatalogError(
        "the compatibility data of torchinstall is missing",
        why=f"neither {own} nor a checkout round it holds {MARK}",
        todo=["install torchinstall again", f"or point {VARIABLE} at a copy of index_data/"],
    )


def cache_dir(environ: Mapping[str, str]) -> Path:
    """Return the folder of what torchinstall may keep and can lose, as ``cache_folder`` finds it."""
    from pathlib import Path

    return Path(cache_folder(environ))


def cache_folder(environ: Mapping[str, str]) -> str:
    """Return the folder of what torchinstall may keep and can lose; it need not exist.

    ``TORCHINSTALL_CACHE_DIR`` replaces the usual place: XDG's on any system where its variable is set, as in
    uv; else that of the system. (platformdirs says the same, but every plan asks, and its import would
    cost a third of the plan.)
    """
    if named := environ.get(CACHE_VARIABLE):
        return os.path.expanduser(named)
    if named := environ.get("XDG_CACHE_HOME"):
        return os.path.join(named, "torchinstall")
    home = os.path.expanduser("~")
    if os.name == "nt":
        local = environ.get("LOCALAPPDATA") or os.path.join(home, "AppData", "Local")
        return os.path.join(local, "torchinstall", "Cache")
    caches = os.path.join("Library", "Caches") if sys.platform == "darwin" else ".cache"
    return os.path.join(environ.get("HOME") or home, caches, "torchinstall")


def overlay_dir(environ: Mapping[str, str]) -> Path:
    """Return the folder of refreshed rows; it need not exist."""
    return cache_dir(environ) / "catalog"
