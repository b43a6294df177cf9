"""The shipped data in a form that is read in a millisecond: made with the wheel, bound to the JSON files beside it.

JSON is the source of truth. The prepared file holds what the rows of releases and GPU code come to after every
check, as plain lists that ``marshal`` reads, and the other documents of a plan as they are. It counts only while
each JSON file has the size that it had when this was made and isn't younger; whatever is wrong, JSON is read.
Made by ``scripts/prepare_index_data.py`` when a wheel is built; a checkout has none.
"""

from __future__ import annotations

import marshal
import os
import sys

from torchinstall.catalog.rows import ArchList, Build, Companion, Release, WheelTag

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, TypeVar

    from torchinstall.catalog.catalog import Catalog
    from torchinstall.model.value import Value

    V = TypeVar("V", bound=Value)

FILE = "prepared.bin"
FORM = 1
"""The form of the file; another one isn't read."""
SLACK_S = 60
"""How much younger than this file a JSON file may be: unpacking a wheel takes a while."""
DOCUMENTS = (
    "ascend.json", "cuda.json", "dependents.json", "family.json", "indexes.json", "jetson.json", "macos.json",
    "meta.json", "mirrors.json", "rocm.json", "vendors.json", "xpu.json",
)  # fmt: skip
"""What plans read besides releases and GPU code."""
_MARSHAL = 4  # the form of Python 3.4, which all later ones read


class Prepared:
    """The prepared rows of one folder; each is made when it is asked for."""

    def __init__(self, content: dict[str, Any]) -> None:
        self._content = content
        self._wheels: list[tuple[WheelTag, ...] | None] = [None] * len(content["wheels"])
        self.versions: tuple[str, ...] = tuple(content["releases"])
        """All torch releases, newest first."""
        self.yanked: frozenset[str] = frozenset(content["yanked"])
        self.paired: frozenset[str] = frozenset(content["paired"])
        """The names that have rows which pair them with torch."""

    def document(self, name: str) -> Any:
        """Return a JSON document, ``None`` for one that isn't kept whole."""
        data = self._content["documents"].get(name)
        return None if data is None else marshal.loads(data)  # noqa: S302 - as much our own as the modules beside it

    def builds(self, platform: str) -> tuple[Build, ...]:
        """Return every build of a platform, newest torch first."""
        data = self._content["builds"].get(platform)
        return () if data is None else tuple(map(self._build, marshal.loads(data)))  # noqa: S302

    def default_variant(self, torch: str, platform: str) -> str | None:
        """Return the variant that the default index serves on a platform."""
        found: str | None = self._content["defaults"].get(torch, {}).get(platform)
        return found

    def release(self, torch: str) -> Release | None:
        """Return one release with all that belongs to it."""
        data = self._content["releases"].get(torch)
        if data is None:
            return None
        fields, builds, companions = marshal.loads(data)  # noqa: S302
        return _made(
            Release, (*fields, tuple(map(self._build, builds)), tuple(map(self._companion, companions))), _RELEASE
        )

    def arch_lists(self) -> dict[tuple[str, str, str], ArchList]:
        """Return the lists of GPU code by torch, variant and platform."""
        return {
            (row[0], row[1], row[2]): _made(ArchList, row, ArchList._fields)
            for row in marshal.loads(self._content["arch"])  # noqa: S302
        }

    def _build(self, row: tuple[Any, ...]) -> Build:
        build = _made(Build, row, Build._fields)
        build.__dict__["wheels"] = self._tags(build.__dict__["wheels"])
        return build

    def _companion(self, row: tuple[Any, ...]) -> Companion:
        companion = _made(Companion, row, Companion._fields)
        companion.__dict__["wheels"] = self._tags(companion.__dict__["wheels"])
        return companion

    def _tags(self, number: int) -> tuple[WheelTag, ...]:
        found = self._wheels[number]
        if found is None:
            pairs = self._content["wheels"][number]
            found = self._wheels[number] = tuple(WheelTag(platform=p, pythons=pythons) for p, pythons in pairs)
        return found


_FIELDS = (Release._fields, Build._fields, Companion._fields, WheelTag._fields, ArchList._fields)
_RELEASE = (*(name for name in Release._fields if name not in {"builds", "companions"}), "builds", "companions")


def _made(cls: type[V], row: tuple[Any, ...], names: tuple[str, ...]) -> V:
    """Return a value of fields that were checked before."""
    value = cls.__new__(cls)
    value.__dict__.update(zip(names, row, strict=True))
    return value


def open_prepared(folder: str) -> Prepared | None:
    """Return what is prepared for a folder of data, ``None`` where nothing is, or not for these very files."""
    path = os.path.join(folder, FILE)
    try:
        with open(path, "rb") as file:
            content = marshal.load(file)  # noqa: S302 - as above
            limit = os.fstat(file.fileno()).st_mtime + SLACK_S
        if content["form"] != FORM or content["fields"] != _FIELDS:
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
        "fields": _FIELDS,
        "sizes": {name: os.path.getsize(os.path.join(folder, name)) for name in bound},
        "minors": len(minors),
        "documents": documents,
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
                    tuple(release.__dict__[name] for name in _RELEASE[:-2]),
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
