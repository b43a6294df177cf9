"""The compatibility data as one object: frozen rows with look-ups, each file read when first asked for."""

from __future__ import annotations

from torchinstall.catalog.other_backends import OtherBackends
from torchinstall.catalog.parse_tables import (
    VENDORS,
    parse_arch_lists,
    parse_cards,
    parse_cuda,
    parse_family,
    parse_indexes,
    parse_integrated_targets,
    parse_mps_floors,
    parse_other_cards,
    parse_verify_causes,
)
from torchinstall.catalog.row_reader import top
from torchinstall.catalog.rows import DECLARED, STATUSES, ArchList
from torchinstall.model.card import Card
from torchinstall.model.variant import CPU, NPU, backend
from torchinstall.model.version import numbers

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any, Protocol

    from torchinstall.catalog.mirrors import Mirror
    from torchinstall.catalog.overlay import Overlay
    from torchinstall.catalog.parse_tables import CudaTables, Indexes, MpsFloor
    from torchinstall.catalog.prepared import Prepared
    from torchinstall.catalog.rows import Build, Companion, Floor, Generation, Release, Tegra
    from torchinstall.model.advice import Advice
    from torchinstall.model.cause import Cause, Signatures

    class Reader(Protocol):
        """Where the data files come from."""

        def read(self, name: str) -> Any:
            """Return the JSON document of one file, such as ``cuda.json``."""

        def minors(self) -> tuple[str, ...]:
            """Return the torch minors that have a file, such as ``2.15``."""

        @property
        def prepared(self) -> Prepared | None:
            """What these files come to, where that was worked out when the wheel was built."""


_VENDOR_OF = {"10de": "nvidia", "1002": "amd", "8086": "intel"}
_OTHER_MAKERS = frozenset({"19e5", "1d94", "1ed5", "cabc", "9999", "1e36", "1d22"})
"""Vendor ids in gpus/others.json: its other ids belong to makers of other things, for which no file is read."""
_LIST_PLATFORM = "linux_x86_64"
_TARGETS = "integrated targets"


class Catalog(OtherBackends):
    """What is known of torch builds, drivers and cards. Rows are frozen; the same question has the same answer.

    Every look-up may raise ``CatalogError`` where the file behind it is broken.
    """

    def __init__(self, reader: Reader) -> None:
        self._reader = reader
        self._prepared = reader.prepared
        self._files: dict[str, Any] = {}
        self._by_minor: dict[str, tuple[Release, ...]] = {}
        self._builds: dict[str, tuple[Build, ...]] = {}
        self._releases: tuple[Release, ...] | None = None
        self._joint: tuple[str, ...] | None = None
        self._yanked: frozenset[str] | None = None
        self._by_torch: dict[str, Release | None] = {}
        self._archs: dict[tuple[str, str, str], ArchList | None] = {}
        self.memo: dict[tuple[Any, ...], Any] = {}
        """Tables that are worked out from the rows; they live and die with this catalogue."""
        ready = self._prepared
        self.date = ready.date if ready else top(reader.read("meta.json"), "meta.json").text("date")
        """The day of the data, as in 2026-11-30."""
        self.overlay: Overlay | None = None
        """The refreshed rows that are laid over the shipped ones."""
        self.refused = ""
        """Why refreshed rows that are there were passed over."""

    def read_all(self, names: Iterable[str]) -> None:
        """Read these files now: a fault in one comes up here instead of in a look-up."""
        parsers = {"arch.json": parse_arch_lists, "indexes.json": parse_indexes}
        for name in names:
            if name.startswith("releases/torch-"):
                self._minor(name.removeprefix("releases/torch-").removesuffix(".json"))
            else:
                self._file(name, parsers[name])

    @property
    def mirrors(self) -> tuple[Mirror, ...]:
        """The mirrors of the PyTorch index that are known by name."""
        from torchinstall.catalog.mirrors import FILE, parse_mirrors

        found: tuple[Mirror, ...] = self._file(FILE, parse_mirrors)
        return found

    # -- releases -----------------------------------------------------------

    @property
    def releases(self) -> tuple[Release, ...]:
        """All torch releases, newest first."""
        if self._releases is None:
            if self._prepared is not None:
                found = [release for torch in self._prepared.versions if (release := self.release(torch))]
            else:
                found = [release for minor in self._reader.minors() for release in self._minor(minor)]
            self._releases = tuple(sorted(found, key=lambda release: numbers(release.torch), reverse=True))
        return self._releases

    @property
    def yanked(self) -> frozenset[str]:
        """The releases that were withdrawn from the default index."""
        if self._prepared is not None:
            return self._prepared.yanked
        if self._yanked is None:
            self._yanked = frozenset(release.torch for release in self.releases if release.yanked)
        return self._yanked

    def release(self, torch: str) -> Release | None:
        """Return one release by its version without a local part, ``None`` where it isn't known."""
        if torch not in self._by_torch and self._prepared is not None:
            self._by_torch[torch] = self._prepared.release(torch)
        if torch not in self._by_torch:
            minor = ".".join(torch.split(".")[:2])
            known = self._minor(minor) if minor in self._reader.minors() else ()
            self._by_torch[torch] = next((release for release in known if release.torch == torch), None)
        return self._by_torch[torch]

    def _minor(self, minor: str) -> tuple[Release, ...]:
        if minor not in self._by_minor:
            file = f"releases/torch-{minor}.json"
            from torchinstall.catalog.parse_releases import parse_releases

            self._by_minor[minor] = parse_releases(self._reader.read(file), file)
        return self._by_minor[minor]

    def builds(self, platform: str) -> tuple[Build, ...]:
        """Return every build of a platform, newest torch first, withdrawn ones included."""
        if platform not in self._builds and self._prepared is not None:
            self._builds[platform] = self._prepared.builds(platform)
        if platform not in self._builds:
            self._builds[platform] = tuple(
                build for release in self.releases for build in release.builds if build.platform == platform
            )
        return self._builds[platform]

    def default_variant(self, torch: str, platform: str) -> str | None:
        """Return the variant that the default index serves on a platform, ``None`` where it serves none."""
        if self._prepared is not None:
            return self._prepared.default_variant(torch, platform)
        release = self.release(torch)
        if release is None:
            return None
        return next((b.variant for b in release.builds if b.default and b.platform == platform), None)

    def pythons(self, build: Build) -> tuple[str, ...]:
        """Return the Python tags of a build, oldest first, free-threaded after the ordinary one."""
        tags = {tag for wheel in build.wheels for tag in wheel.pythons}
        return tuple(sorted(tags, key=_python_key))

    def companions(self, name: str, build: Build) -> tuple[Companion, ...]:
        """Return the versions of a companion that go with a build, newest first, withdrawn included."""
        if build.index or (build.variant == NPU and name == "torch-npu"):
            return self._vendor_companions(name, build)
        release = self.release(build.torch)
        rows = [row for row in release.companions if row.name == name] if release else []
        if not rows:
            return self._dependents(name, build)
        if build.variant == NPU:
            build = build.replace(variant=CPU)  # torch under an NPU is the CPU build, and so is what goes with it
        found = [row for row in rows if _holds(row.variants, build.variant) and _holds(row.platforms, build.platform)]
        found.sort(key=lambda row: (tuple(-n for n in numbers(row.version)), STATUSES.index(row.status)))
        return tuple(found)

    # -- NVIDIA -------------------------------------------------------------

    def arch_list(self, build: Build) -> ArchList | None:
        """Return the GPU code inside a CUDA build, ``None`` for other backends and where nothing is known.

        A CUDA build without a list of its own has that of the Linux x86_64 build of the same torch and variant.
        """
        key = (build.torch, build.variant, build.platform)
        if key not in self._archs:
            self._archs[key] = self._arch_list(build)
        return self._archs[key]

    def _arch_list(self, build: Build) -> ArchList | None:
        if backend(build.variant) != "cuda":
            return None
        lists = self.arch_lists()
        own = lists.get((build.torch, build.variant, build.platform))
        if own is not None:
            return own
        other = lists.get((build.torch, build.variant, _LIST_PLATFORM))
        if other is None:
            return None
        # The other list may be measured; that it holds here too is only declared.
        worse = max(other.status, DECLARED, key=STATUSES.index)
        return other.replace(platform=build.platform, status=worse, inherited_from=_LIST_PLATFORM)

    def arch_lists(self) -> dict[tuple[str, str, str], ArchList]:
        """Return the lists of GPU code that are known, by torch, variant and platform."""
        if "arch.json" not in self._files and self._prepared is not None:
            self._files["arch.json"] = self._prepared.arch_lists()
        lists: dict[tuple[str, str, str], ArchList] = self._file("arch.json", parse_arch_lists)
        return lists

    def cuda_floor(self, major: int) -> Floor | None:
        """Return the lowest drivers for wheels of one CUDA major."""
        return self._cuda().floors.get(major)

    def generation(self, compute_capability: str) -> Generation | None:
        """Return the generation of cards with this compute capability, such as ``8.9``."""
        return next(
            (g for g in self._cuda().generations if compute_capability in g.compute_capabilities),
            None,
        )

    def tegra(self, soc: str | None, compute_capability: str | None) -> Tegra | None:
        """Return the Tegra family of a SoC such as ``tegra234``, or of a compute capability that only Tegra has."""
        rows = self._cuda().tegra
        if soc is not None:
            return next((row for row in rows if soc.lower() in row.socs), None)
        return next((row for row in rows if row.compute_capability == compute_capability), None)

    def has_arm_host(self, name: str, compute_capability: str | None) -> bool:
        """Tell whether an NVIDIA product comes with NVIDIA's own Arm processor: Tegra boards, Grace, GB10."""
        tables = self._cuda()
        if any(row.compute_capability == compute_capability for row in tables.tegra):
            return True
        words = name.upper().replace("(", " ").replace(")", " ").split()
        return any(host.upper() in words for host in tables.arm_hosts)

    def _cuda(self) -> CudaTables:
        tables: CudaTables = self._file("cuda.json", parse_cuda)
        return tables

    # -- cards --------------------------------------------------------------

    def card(self, pci_id: str) -> Card | None:
        """Return the card with a PCI id such as ``10de:2684``, or a Tegra SoC such as ``tegra234``; in either case."""
        key = pci_id.lower()
        if key.startswith("tegra"):
            return next((_board(row) for row in self._cuda().tegra if key in row.socs), None)
        maker = key.partition(":")[0]
        vendor = _VENDOR_OF.get(maker)
        if vendor is not None:
            return self._cards_by_id(vendor).get(key)
        if maker not in _OTHER_MAKERS:
            return None
        others: dict[str, Card] = self._file("gpus/others.json", parse_other_cards)
        return others.get(key)

    def find_cards(self, text: str) -> tuple[Card, ...]:
        """Return the cards that a marketing name can mean, such as ``RTX 4090`` or ``7900 XTX``.

        One entry a distinct name and chip code; several where the text is
        ambiguous, none where it fits nothing. The exact name wins over parts.
        """
        from torchinstall.catalog.names import find_by_name

        return find_by_name(text, [card for vendor in VENDORS for part in self._cards(vendor) for card in part])

    def gfx_is_target(self, gfx: str) -> bool:
        """Tell whether integrated AMD graphics of this gfx, such as ``gfx1151``, count as an accelerator."""
        if _TARGETS not in self._files:
            self._files[_TARGETS] = parse_integrated_targets(self._reader.read("gpus/amd.json"), "gpus/amd.json")
        targets: frozenset[str] = self._files[_TARGETS]
        return gfx in targets

    def _cards(self, vendor: str) -> tuple[tuple[Card, ...], tuple[Card, ...]]:
        parsed: tuple[tuple[Card, ...], tuple[Card, ...]] = self._file(
            f"gpus/{vendor}.json", lambda document, file: parse_cards(document, file, vendor)
        )
        return parsed

    def _cards_by_id(self, vendor: str) -> dict[str, Card]:
        key = f"{vendor} by id"
        if key not in self._files:
            self._files[key] = {card.pci_id: card for card in self._cards(vendor)[0]}
        by_id: dict[str, Card] = self._files[key]
        return by_id

    # -- indexes and the rest -----------------------------------------------

    def index_url(self, variant: str) -> str:
        """Return the URL of a variant's PyTorch index, without a slash at the end.

        A variant that the table doesn't know stands under its own name, as all have so far.
        """
        indexes: Indexes = self._file("indexes.json", parse_indexes)
        return f"{indexes.base}/{indexes.paths.get(variant, variant)}"

    def mps_floor(self, torch: str) -> tuple[str, str] | None:
        """Return the lowest macOS for the MPS backend of a torch release, and the source of it."""
        floors: tuple[MpsFloor, ...] = self._file("macos.json", parse_mps_floors)
        version = numbers(torch)
        for floor in floors:
            below = floor.torch_below
            if numbers(floor.torch_from) <= version and (below is None or version < numbers(below)):
                return floor.macos, floor.source
        return None

    @property
    def joint(self) -> tuple[str, ...]:
        """The names that are chosen together: torch, and what has rows that pair it with torch."""
        if self._joint is None:
            if self._prepared is not None:
                paired = self._prepared.paired
            else:
                paired = frozenset(row.name for release in self.releases for row in release.companions)
            known = sorted(self.dependents)
            self._joint = ("torch", *(name for name in self.family if name in paired), "torch-npu", *known)
        return self._joint

    @property
    def family(self) -> tuple[str, ...]:
        """The names of the packages that are bound to the variant's index, torch first."""
        names: tuple[str, ...] = self._file("family.json", parse_family)
        return names

    @property
    def verify_causes(self) -> tuple[Cause, ...]:
        """The error texts that a verification recognises, the first that matches counts."""
        causes: tuple[Cause, ...] = self._file("verify_causes.json", parse_verify_causes)
        return causes

    @property
    def signatures(self) -> Signatures:
        """The texts of reports that the doctor recognises."""
        from torchinstall.catalog.parse_signatures import parse_signatures

        table: Signatures = self._file("signatures.json", parse_signatures)
        return table

    @property
    def advice(self) -> Advice:
        """The rules of advice, and those of the code scan."""
        from torchinstall.catalog.advice import parse_advice

        advice: Advice = self._file(
            "advice.json", lambda rules, _: parse_advice(rules, self._reader.read("migrations.json"))
        )
        return advice

    def _file(self, name: str, parse: Any) -> Any:
        if name not in self._files:
            self._files[name] = parse(self._reader.read(name), name)
        return self._files[name]


def _board(tegra: Tegra) -> Card:
    return Card(
        vendor="nvidia",
        name=tegra.name,
        compute_capability=tegra.compute_capability,
        integrated=True,
        compute=True,
        source=tegra.source,
    )


def _holds(names: tuple[str, ...], name: str) -> bool:
    return "*" in names or name in names


def _python_key(tag: str) -> tuple[int, int, bool]:
    digits = tag.strip("abcdefghijklmnopqrstuvwxyz")
    return int(digits[:1] or 0), int(digits[1:] or 0), tag.endswith("t")
