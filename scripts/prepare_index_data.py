"""Makes the prepared form of index_data/ when a wheel is built: a build hook of hatchling.

The form is described in torchinstall/catalog/prepared.py. An editable install has none, and reads JSON.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

ROOT = Path(__file__).resolve().parent.parent


class PreparedData(BuildHookInterface):  # type: ignore[type-arg]
    """Adds the prepared form beside the JSON files in the wheel."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Write the file into a folder of its own, and have it packed."""
        if version == "editable":
            return
        self.folder = tempfile.TemporaryDirectory()
        sys.path.insert(0, str(ROOT / "src"))
        try:
            from torchinstall.catalog.load import load_catalog
            from torchinstall.catalog.prepare import FILE, prepare

            content = prepare(load_catalog(ROOT / "index_data"), str(ROOT / "index_data"))
        finally:
            sys.path.remove(str(ROOT / "src"))
        path = Path(self.folder.name) / FILE
        path.write_bytes(content)
        build_data["force_include"][str(path)] = f"torchinstall/_index_data/{FILE}"

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:  # noqa: ARG002
        """Take the folder away."""
        if version != "editable":
            self.folder.cleanup()
