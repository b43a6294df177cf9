"""Which torchvision and torchaudio go with which torch, after a refresh. Pure.

A version that the rows pair with a torch goes with all variants of it. A
version that no row knows goes with what its metadata admits; where the metadata
says nothing of torch, with the newest torch alone, and only if it is new itself:
an old one of that kind was made for another torch.
"""

from __future__ import annotations

from torchinstall.catalog.evidence import Evidence, preferred, same_wheels
from torchinstall.catalog.known import COMPANIONS, Fresh, Want
from torchinstall.catalog.observe import SEEN, Shelf
from torchinstall.catalog.rows import CHOSEN_OFFLINE, MEASURED, PUBLISHED, UNADVERTISED, UNVERIFIED, WITHDRAWN
from torchinstall.catalog.update import PROVED_BY_SIGHT
from torchinstall.model.sighting import DEFAULT
from torchinstall.model.version import numbers

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from packaging.specifiers import SpecifierSet

    Row = dict[str, Any]

_NEWEST = 2
"""How many versions of a companion are looked into, newest first."""


def pair(fresh: Fresh, evidence: Evidence) -> None:
    """Lay what the companions' pages showed over the known pairings; wishes go to ``fresh.wants``."""
    worker = _Pairing(fresh, evidence)
    for (torch, variant, platform), row in sorted(
        fresh.builds().items(), key=lambda entry: numbers(entry[0][0]), reverse=True
    ):
        folder = DEFAULT if row.get("default") else variant
        for name in COMPANIONS:
            shelf = evidence.shelf(folder, name)
            if row["status"] != WITHDRAWN and shelf is not None:
                worker.confirm(torch, name, variant, platform, shelf)
                if row["status"] in CHOSEN_OFFLINE | {UNADVERTISED} and shelf.state == SEEN:
                    worker.add(torch, name, variant, platform, shelf)


class _Pairing:
    def __init__(self, fresh: Fresh, evidence: Evidence) -> None:
        self._fresh = fresh
        self._evidence = evidence
        self._rows = fresh.pairings()
        self._versions: dict[tuple[str, str], set[str]] = {}
        self._of_build: dict[tuple[str, str, str, str], set[str]] = {}
        for (torch, name, version, variant, platform), row in self._rows.items():
            if row["status"] != WITHDRAWN:
                self._versions.setdefault((torch, name), set()).add(version)
            self._of_build.setdefault((torch, name, variant, platform), set()).add(version)
        self._known = {(name, version) for (_, name), versions in self._versions.items() for version in versions}
        self._newest = max((key[0] for key in fresh.builds()), key=numbers)
        self._asked: set[object] = set()
        self._requirements: dict[tuple[str, str], SpecifierSet | None] = {}
        for inside in evidence.measured.values():
            if inside.name in COMPANIONS:
                self._requirements[inside.name, inside.version.partition("+")[0]] = torch_of(inside.requires)

    def confirm(self, torch: str, name: str, variant: str, platform: str, shelf: Shelf) -> None:
        """Better or lower the known pairings of a build by what the page has."""
        for version in sorted(self._of_build.get((torch, name, variant, platform), ())):
            row = self._rows[torch, name, version, variant, platform]
            item = shelf.item(version, platform)
            here = {**row, "variants": [variant], "platforms": [platform]}
            what = f"{name} {version} with {torch}+{variant} {platform}"
            if item is None or item.yanked:
                if row["status"] in CHOSEN_OFFLINE:
                    gone = self._evidence.gone(shelf.folder, name, self._fresh.date)
                    self._fresh.companion(torch, {**here, "status": UNVERIFIED}, gone)
                    self._fresh.change("companion", what, f"{row['status']} -> {UNVERIFIED}: its page doesn't have it")
                continue
            status = PUBLISHED if row["status"] in PROVED_BY_SIGHT else row["status"]
            if row["status"] == WITHDRAWN or (status == row["status"] and same_wheels(row["wheels"], item.as_row())):
                continue
            page = self._evidence.page(shelf.folder, name, self._fresh.date)
            self._fresh.companion(torch, {**here, "status": status, "wheels": item.as_row()}, page)
            text = "other wheels" if status == row["status"] else f"{row['status']} -> {status}"
            certain = row["status"] in CHOSEN_OFFLINE and same_wheels(row["wheels"], item.as_row())
            self._fresh.change("confirmed" if certain else "companion", what, text)

    def add(self, torch: str, name: str, variant: str, platform: str, shelf: Shelf) -> None:
        """Add pairings that no row has yet."""
        have = self._of_build.get((torch, name, variant, platform), set())
        items = [i for i in shelf.items if i.platform == platform and not i.yanked and i.version not in have]
        items.sort(key=lambda item: numbers(item.version), reverse=True)
        newest_known = max(map(numbers, have), default=())
        for item in items[:_NEWEST] if not have else [i for i in items[:_NEWEST] if numbers(i.version) > newest_known]:
            pins = self._pairs(torch, name, item.version, preferred_item=item, newest=items[0].version)
            if pins is None:
                continue
            status = PUBLISHED
            if shelf.folder == DEFAULT:
                inside = self._evidence.of(item)
                if inside is None:
                    self._want(item, platform, ("variant", name, item.version, platform))
                    continue
                if inside.variant != variant:
                    continue  # a build for another CUDA: next to this torch it doesn't load
                status = MEASURED
            row = {
                "name": name, "version": item.version, "variants": [variant], "platforms": [platform],
                "status": status, "wheels": item.as_row(), **({"pins_torch": True} if pins else {}),
            }  # fmt: skip
            self._fresh.companion(torch, row, self._evidence.page(shelf.folder, name, self._fresh.date))
            self._fresh.change(
                "companion", f"{name} {item.version} with {torch}+{variant} {platform}", f"new: {status}"
            )

    def _pairs(self, torch: str, name: str, version: str, *, preferred_item: Any, newest: str) -> bool | None:
        """Tell whether a version goes with a torch: ``None`` for no or not known, else whether it pins that torch."""
        rows = self._fresh.known.companions
        if version in self._versions.get((torch, name), ()):
            return any(row.get("pins_torch") for key, row in rows.items() if key[:3] == (torch, name, version))
        new_torch = torch not in self._fresh.known.reviewed
        if not new_torch and (name, version) in self._known:
            return None  # a person has said what it goes with
        if (name, version) not in self._requirements:
            self._want(preferred_item, preferred_item.platform, (name, version))
            return None
        wanted = self._requirements[name, version]
        if wanted is None:
            fits = (name, version) not in self._known and torch == self._newest and version == newest
            return False if fits else None
        if not wanted.contains(torch):
            return None
        return any(part.operator == "==" and "*" not in part.version for part in wanted)

    def _want(self, item: Any, platform: str, key: object) -> None:
        if key not in self._asked:
            self._asked.add(key)
            self._fresh.wants.append(Want(wheel=preferred(item), platform=platform))


def torch_of(requires: Iterable[str]) -> SpecifierSet | None:
    """Return what Requires-Dist lines ask of torch, ``None`` where they name no version of it."""
    from packaging.requirements import InvalidRequirement, Requirement

    for text in requires:
        try:
            requirement = Requirement(text)
        except InvalidRequirement:
            continue
        if requirement.name.lower() == "torch" and requirement.specifier and "extra" not in str(requirement.marker):
            return requirement.specifier
    return None
