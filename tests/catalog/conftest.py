"""The shipped catalogue, and a small one of our own to break."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from torchinstall.catalog.catalog import Catalog
from torchinstall.catalog.load import load_catalog

if TYPE_CHECKING:
    from collections.abc import Callable

ROOT = Path(__file__).resolve().parents[2]
DATA = ROOT / "index_data"


@pytest.fixture(scope="session")
def catalog() -> Catalog:
    """The data of the checkout; sessions share it, because rows are frozen."""
    return load_catalog(DATA)


SURE = {"status": "measured", "source": "seen", "checked": "2026-11-30"}
SOURCES = {"schema": 1, "sources": {"seen": "read out of the wheel"}}


@pytest.fixture
def small_data() -> dict[str, Any]:
    """Two releases, one card and one floor: the smallest data that every look-up can work on."""
    tag = {"manylinux_2_28_x86_64": ["cp312", "cp310", "cp313t", "cp313"]}
    return {
        "meta.json": {"schema": 1, "date": "2026-11-30"},
        "releases/torch-9.9.json": {
            **SOURCES,
            "releases": [
                {
                    "torch": "9.9.0",
                    "date": "2026-01-01",
                    "requires_python": ">=3.10",
                    "yanked": False,
                    "warnings": ["a warning"],
                    "builds": [
                        {
                            **SURE,
                            "variant": "cu130",
                            "platform": "linux_x86_64",
                            "default": True,
                            "local": "+cu130",
                            "wheels": tag,
                        },
                        {**SURE, "variant": "cu126", "platform": "linux_x86_64", "inherited": True, "local": "+cu126"},
                    ],
                    "companions": [
                        {
                            **SURE,
                            "name": "torchvision",
                            "version": "1.9.0",
                            "variants": ["*"],
                            "platforms": ["*"],
                            "wheels": tag,
                        },
                        {
                            **SURE,
                            "name": "torchvision",
                            "version": "1.10.0",
                            "variants": ["cu130"],
                            "platforms": ["linux_x86_64"],
                            "wheels": tag,
                        },
                    ],
                }
            ],
        },
        "releases/torch-9.10.json": {
            **SOURCES,
            "releases": [
                {
                    "torch": "9.10.0",
                    "date": "2026-02-01",
                    "requires_python": ">=3.10",
                    "yanked": False,
                    "warnings": [],
                    "builds": [{**SURE, "variant": "cu130", "platform": "win_amd64", "local": "+cu130"}],
                    "companions": [],
                }
            ],
        },
        "arch.json": {
            **SOURCES,
            "arch_lists": [
                {**SURE, "torch": "9.9.0", "variant": "cu130", "platform": "linux_x86_64", "sass": [75, 80]},
                {**SURE, "torch": "9.10.0", "variant": "cu130", "platform": "win_amd64", "sass": [80, 90]},
            ],
        },
        "cuda.json": {
            **SOURCES,
            "floors": [{**SURE, "major": 13, "linux": "580.65.06", "windows": "580.88"}],
            "generations": [
                {
                    **SURE,
                    "name": "Ada",
                    "compute_capabilities": ["8.9"],
                    "open_module": "either",
                    "floor": {"linux": "520.61.05", "windows": None},
                }
            ],
            "tegra": [],
        },
        "gpus/nvidia.json": {
            **SOURCES,
            "cards": [
                {
                    **SURE,
                    "id": "10de:2684",
                    "name": "GeForce RTX 4090",
                    "chip": "AD102",
                    "generation": "Ada",
                    "compute_capability": "8.9",
                }
            ],
            "products": [],
        },
        "gpus/amd.json": {
            **SOURCES,
            "cards": [],
            "products": [],
            "integrated_targets": [{**SURE, "gfx": "gfx9999"}],
        },
        "verify_causes.json": {
            **SOURCES,
            "rows": [
                {**SURE, "id": "boom", "pattern": "boom", "outcome": "failed", "cause": "boom", "text": "it went boom"}
            ],
        },
        "gpus/intel.json": {**SOURCES, "cards": [], "products": []},
        "indexes.json": {
            **SOURCES,
            "indexes": [{**SURE, "name": "pytorch", "url": "https://wheels.example/whl/", "kind": "simple"}],
            "variants": [{**SURE, "variant": "mps", "path": "cpu"}],
        },
        "macos.json": {
            **SOURCES,
            "mps_floors": [{**SURE, "torch_from": "9.9", "torch_below": "9.10", "macos": "14.0"}],
        },
        "family.json": {**SOURCES, "packages": [{**SURE, "name": "torch", "role": "torch"}]},
    }


@pytest.fixture
def write_data(tmp_path: Path) -> Callable[[dict[str, Any]], Path]:
    """Write documents as the files of a data folder."""

    def write(data: dict[str, Any]) -> Path:
        for name, document in data.items():
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(json.dumps(document), encoding="utf-8")
        return tmp_path

    return write
