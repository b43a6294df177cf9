"""Where the compatibility data is: a folder of the user's own, the installed wheel, or the checkout."""

from __future__ import annotations

import os
from pathlib import Path

from torchinstall.errors import CatalogError

VARIABLE = "TORCHINSTALL_INDEX_DATA"
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
