"""The rows of the catalogue as the data files have them, found by key: what a refresh compares with and adds to."""

from __future__ import annotations

from torchinstall.catalog.merge import ARCH, INDEXES, grouped
from torchinstall.model.catalog_report import Change
from torchinstall.model.value import Value
from torchinstall.model.version import numbers

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from torchinstall.catalog.catalog import Reader
    from torchinstall.model.sighting import WheelFile

    Row = dict[str, Any]
    BuildKey = tuple[str, str, str]
    CompanionKey = tuple[str, str, str, str, str]

COMPANIONS = ("torchvision", "torchaudio")


class Want(Value):
    """A wheel whose inside would tell what no page tells. ``code``: also which GPU code is in it."""

    wheel: WheelFile
    platform: str
    code: bool = False


class Known:
    """All rows by key, as the JSON files have them; they are never written to.

    A build's key is (torch, variant, platform), a companion's (torch, name, version, variant, platform).
    ``reviewed`` are the releases that a person has looked through: those of the shipped data.
    """

    def __init__(self, reader: Reader, reviewed: Iterable[str] | None = None) -> None:
        self.releases: dict[str, Row] = {}
        self.builds: dict[BuildKey, Row] = {}
        self.companions: dict[CompanionKey, Row] = {}
        self.archs: dict[BuildKey, Row] = {}
        for minor in reader.minors():
            document = reader.read(f"releases/torch-{minor}.json")
            for release in document["releases"]:
                self._add(release)
        for row in reader.read(ARCH)["arch_lists"]:
            self.archs[row["torch"], row["variant"], row["platform"]] = row
        self.reviewed = frozenset(self.releases if reviewed is None else reviewed)
        paths = reader.read(INDEXES)["variants"]
        self.variants = tuple(row["variant"] for row in paths if row["variant"] == row["path"])
        self.cuda_majors = frozenset(row["major"] for row in reader.read("cuda.json")["floors"])

    def _add(self, release: Row) -> None:
        torch = release["torch"]
        self.releases[torch] = release
        for row in release["builds"]:
            self.builds[torch, row["variant"], row["platform"]] = row
        for row in release["companions"]:
            for platform in row["platforms"]:
                for variant in row["variants"]:
                    self.companions[torch, row["name"], row["version"], variant, platform] = row

    @property
    def newest(self) -> str:
        """The newest torch release."""
        return max(self.releases, key=numbers)

    @property
    def oldest(self) -> str:
        """The oldest torch release; what is older on a page isn't the catalogue's business."""
        return min(self.releases, key=numbers)

    @property
    def pythons(self) -> tuple[str, ...]:
        """The Python tags that some build has."""
        found = {tag for row in self.builds.values() for tags in row.get("wheels", {}).values() for tag in tags}
        return tuple(sorted(found - {"py3"}))

    def default(self, torch: str, platform: str) -> Row | None:
        """Return the build that the default index serves."""
        rows = (self.builds[key] for key in self.builds if key[0] == torch and key[2] == platform)
        return next((row for row in rows if row.get("default")), None)

    def wheels(self, row: Row, torch: str) -> dict[str, list[str]]:
        """Return the wheels of a build, those of the default build where it inherits them."""
        if "wheels" in row:
            found: dict[str, list[str]] = row["wheels"]
            return found
        base = self.default(torch, row["platform"]) if row.get("inherited") else None
        return base["wheels"] if base is not None else {}


class Fresh:
    """The rows that a refresh found otherwise, gathered by key, and the documents of an overlay made from them."""

    def __init__(self, known: Known, date: str) -> None:
        self.known = known
        self.date = date
        self.changes: list[Change] = []
        self.wants: list[Want] = []
        self._headers: dict[str, Row] = {}
        self._builds: dict[BuildKey, Row] = {}
        self._companions: dict[CompanionKey, Row] = {}
        self._archs: dict[BuildKey, Row] = {}
        self._variants: dict[str, Row] = {}
        self._sources: dict[str, str] = {}

    def carry(self, documents: dict[str, Any] | Any) -> None:
        """Begin with the rows of an earlier refresh; what is found now replaces them by key."""
        for name, document in documents.items():
            self._sources.update(document.get("sources", {}))
            for release in document.get("releases", ()):
                torch = release["torch"]
                self._headers[torch] = {k: v for k, v in release.items() if k not in {"builds", "companions"}}
                for row in release["builds"]:
                    self._builds[torch, row["variant"], row["platform"]] = row
                for row in release["companions"]:
                    for platform in row["platforms"]:
                        for variant in row["variants"]:
                            key = (torch, row["name"], row["version"], variant, platform)
                            self._companions[key] = {**row, "variants": [variant], "platforms": [platform]}
            for row in document.get("arch_lists", ()):
                self._archs[row["torch"], row["variant"], row["platform"]] = row
            if name == INDEXES:
                self._variants.update({row["variant"]: row for row in document["variants"]})

    def header(self, torch: str, row: Row) -> None:
        """Add a release, or change what stands at its head."""
        self._headers[torch] = row

    def build(self, torch: str, row: Row, source: tuple[str, str]) -> None:
        """Add or replace a build; ``source`` is (key, text)."""
        self._builds[torch, row["variant"], row["platform"]] = self._sourced(row, source)

    def companion(self, torch: str, row: Row, source: tuple[str, str]) -> None:
        """Add or replace one pairing; the row names one variant and one platform."""
        key = (torch, row["name"], row["version"], row["variants"][0], row["platforms"][0])
        self._companions[key] = self._sourced(row, source)

    def arch(self, torch: str, row: Row, source: tuple[str, str]) -> None:
        """Add or replace the GPU code of a build."""
        self._archs[torch, row["variant"], row["platform"]] = self._sourced({"torch": torch, **row}, source)

    def variant(self, name: str, source: tuple[str, str]) -> None:
        """Add the index of a variant."""
        row = {"variant": name, "path": name, "status": "published"}
        self._variants[name] = self._sourced(row, source)

    def change(self, kind: str, what: str, text: str) -> None:
        """Say what was found otherwise."""
        self.changes.append(Change(kind=kind, what=what, text=text))

    def find(self, torch: str, variant: str, platform: str) -> Row | None:
        """Return a build as it is now known."""
        key = (torch, variant, platform)
        return self._builds.get(key) or self.known.builds.get(key)

    def find_arch(self, torch: str, variant: str, platform: str) -> Row | None:
        """Return the GPU code of a build as it is now known."""
        key = (torch, variant, platform)
        return self._archs.get(key) or self.known.archs.get(key)

    def builds(self) -> dict[BuildKey, Row]:
        """Return all builds as they are now known."""
        return {**self.known.builds, **self._builds}

    def arch_rows(self) -> dict[BuildKey, Row]:
        """Return all lists of GPU code as they are now known."""
        return {**self.known.archs, **self._archs}

    def pairings(self) -> dict[CompanionKey, Row]:
        """Return all companions as they are now known."""
        return {**self.known.companions, **self._companions}

    def documents(self) -> dict[str, Any]:
        """Return the documents of the overlay, in the form of the data files."""
        found: dict[str, Any] = {}
        by_minor: dict[str, list[Row]] = {}
        torches = {key[0] for key in (*self._builds, *self._companions)} | set(self._headers)
        for torch in sorted(torches, key=numbers, reverse=True):
            by_minor.setdefault(".".join(torch.split(".")[:2]), []).append(self._release(torch))
        for minor, releases in by_minor.items():
            rows = [row for release in releases for row in (*release["builds"], *release["companions"])]
            found[f"releases/torch-{minor}.json"] = self._document("releases", releases, rows)
        if self._archs:
            found[ARCH] = self._document("arch_lists", list(self._archs.values()), self._archs.values())
        if self._variants:
            rows = list(self._variants.values())
            found[INDEXES] = {**self._document("variants", rows, rows), "indexes": []}
        return found

    def _release(self, torch: str) -> Row:
        builds = [row for key, row in self._builds.items() if key[0] == torch]
        companions = grouped(row for key, row in self._companions.items() if key[0] == torch)
        head = self._headers.get(torch)
        if head is None:
            whole = self.known.releases[torch]
            head = {k: v for k, v in whole.items() if k not in {"builds", "companions"}}
        return {**head, "builds": builds, "companions": companions}

    def _document(self, field: str, value: list[Row], rows: Iterable[Row]) -> Row:
        used = {row["source"] for row in rows}
        sources = {key: self._sources[key] for key in sorted(used)} or {"refresh": f"catalog refresh of {self.date}"}
        return {"schema": 1, "sources": sources, field: value}

    def _sourced(self, row: Row, source: tuple[str, str]) -> Row:
        key, text = source
        self._sources[key] = text
        return {**row, "source": key, "checked": self.date}
