"""The shipped data in a form that is read in a millisecond: made with the wheel, bound to the JSON files beside it.

JSON is the source of truth. The prepared file holds what the rows of releases and GPU code come to after every
check, as plain lists that ``marshal`` reads, and the other documents of a plan as they are. It counts only while
each JSON file has the size that it had when this was made and isn't younger; whatever is wrong, JSON is read.
Made by ``scripts/prepare_index_data.py`` when a wheel is built; a checkout has none.
"""

from __future__ import annotations

import marshal

from torchinstall.catalog.rows import ArchList, Build, Companion, Release, WheelTag

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, TypeVar

    from torchinstall.model.value import Value

    V = TypeVar("V", bound=Value)

FORM = 1
"""The form of the file; another one isn't read."""


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
        self.dependents: frozenset[str] = frozenset(content["dependents"])
        """The packages besides torch's companions of which it is known which torch they require."""
        self.date: str = content["date"]

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
            Release, (*fields, tuple(map(self._build, builds)), tuple(map(self._companion, companions))), RELEASE
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


FIELDS = (Release._fields, Build._fields, Companion._fields, WheelTag._fields, ArchList._fields)
RELEASE = (*(name for name in Release._fields if name not in {"builds", "companions"}), "builds", "companions")


def _made(cls: type[V], row: tuple[Any, ...], names: tuple[str, ...]) -> V:
    """Return a value of fields that were checked before."""
    value = cls.__new__(cls)
    value.__dict__.update(zip(names, row, strict=True))
    return value
