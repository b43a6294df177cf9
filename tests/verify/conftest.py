"""Environments with stub packages in them, and the real table of causes."""

from __future__ import annotations

import json
import os
import sys
import venv
from pathlib import Path

import pytest

from replica import StubWheel, install
from torchinstall.model.cause import causes_from_document

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="session")
def document():
    return json.loads((ROOT / "index_data" / "verify_causes.json").read_text(encoding="utf-8"))


@pytest.fixture(scope="session")
def causes(document):
    return causes_from_document(document)


class Environment:
    """A virtual environment without pip."""

    def __init__(self, folder: Path) -> None:
        venv.create(folder, with_pip=False, symlinks=os.name != "nt")
        windows = os.name == "nt"
        self.python = str(folder / ("Scripts/python.exe" if windows else "bin/python"))
        version = f"python{sys.version_info.major}.{sys.version_info.minor}"
        self.site = folder / ("Lib/site-packages" if windows else f"lib/{version}/site-packages")

    def add(self, name: str, version: str, **fields: object) -> None:
        install(StubWheel(name, version, **fields), self.site)  # type: ignore[arg-type]

    def files(self) -> set[str]:
        return {path.relative_to(self.site).as_posix() for path in self.site.rglob("*")}


@pytest.fixture
def environment(tmp_path):
    """Make an environment whose torch acts out a behaviour."""

    def make(behaviour=None, version="2.15.0+cu132", **fields):
        made = Environment(tmp_path / f"env{len(list(tmp_path.iterdir()))}")
        made.add("torch", version, behaviour=behaviour, **fields)
        return made

    return make
