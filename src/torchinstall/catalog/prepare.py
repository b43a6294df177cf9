"""Making the prepared form of the data, and opening it: only while it is that of the very JSON files beside it."""

from __future__ import annotations

import marshal
import os
import sys

from torchinstall.catalog.prepared import FIELDS, FORM, RELEASE, Prepared

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from torchinstall.catalog.catalog import Catalog
    from torchinstall.catalog.rows import Build, Companion, WheelTag

FILE = "prepared.bin"
SLACK_S = 60
"""How much younger than this file a JSON file may be: unpacking a wheel takes a while."""
DOCUMENTS = (
    "ascend.json", "cuda.json", "dependents.json", "family.json", "indexes.json", "jetson.json", "macos.json",
    "meta.json", "mirrors.json", "rocm.json", "vendors.json", "xpu.json",
)  # fmt: skip
"""What plans read besides releases and GPU code."""
_MARSHAL = 4  # the form of Python 3.4, which all later ones read


def open_prepared(folder: str) -> Prepared | None:
    """Return what is prepared for a folder of data, ``None`` where nothing is, or not for these very files."""
    path = os.path.join(folder, FILE)
    try:
        with open(path, "rb") as file:
            content = marshal.load(file)  # noqa: S302 - as above
            limit = os.fstat(file.fileno()).st_mtime + SLACK_S
        if content["form"] != FORM or content["fields"] != FIELDS:
            return None
        for name, size in content["sizes"].items():
            known = os.stat(f"{folder}/{name}")
            if known.st_size != size or known.st_mtime > limit:
                return None
        if len(os.listdir(f"{folder}/releases")) != content["minors"]:
            return None
        return Prepared(content)
    except (OSError, ValueError, EOFError, TypeError, KeyError, LookupError):
        return None


def prepare(catalog: Catalog, folder: str) -> bytes:
    """Return the prepared form of a catalogue that was read from the JSON files in ``folder``."""
    import json

    documents = {}
    for name in DOCUMENTS:
        with open(os.path.join(folder, name), encoding="utf-8") as file:
            documents[name] = _dumped(json.load(file))
    minors = sorted(os.listdir(os.path.join(folder, "releases")))
    bound = sorted(["arch.json", *DOCUMENTS, *(f"releases/{name}" for name in minors)])
    wheels: dict[tuple[WheelTag, ...], int] = {}
    releases = catalog.releases
    platforms = sorted({build.platform for release in releases for build in release.builds})
    content = {
        "form": FORM,
        "fields": FIELDS,
        "sizes": {name: os.path.getsize(os.path.join(folder, name)) for name in bound},
        "minors": len(minors),
        "documents": documents,
        "date": catalog.date,
        "dependents": sorted(catalog.dependents),
        "yanked": sorted(release.torch for release in releases if release.yanked),
        "paired": sorted({row.name for release in releases for row in release.companions}),
        "defaults": {
            release.torch: {build.platform: build.variant for build in reversed(release.builds) if build.default}
            for release in releases
        },
        "builds": {
            platform: _dumped([_row(build, wheels) for build in catalog.builds(platform)]) for platform in platforms
        },
        "releases": {
            release.torch: _dumped(
                (
                    tuple(release.__dict__[name] for name in RELEASE[:-2]),
                    [_row(build, wheels) for build in release.builds],
                    [_row(row, wheels) for row in release.companions],
                )
            )
            for release in releases
        },
        "arch": _dumped([tuple(row.__dict__.values()) for row in catalog.arch_lists().values()]),
    }
    content["wheels"] = [tuple((tag.platform, tag.pythons) for tag in tags) for tags in wheels]
    return _dumped(content)


def _row(value: Build | Companion, wheels: dict[tuple[WheelTag, ...], int]) -> tuple[Any, ...]:
    number = wheels.setdefault(value.wheels, len(wheels))
    return tuple(number if name == "wheels" else _shared(value.__dict__[name]) for name in value._fields)


def _shared(field: Any) -> Any:
    """Return the one object for equal texts: ``marshal`` writes it once."""
    return sys.intern(field) if isinstance(field, str) else field


def _dumped(content: Any) -> bytes:
    return marshal.dumps(content, _MARSHAL)
