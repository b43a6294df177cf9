"""Where a wheel comes from (policy 10): the default index, the variant's own index, or the user's own sources."""

from __future__ import annotations

from torchinstall.catalog.rows import CHOSEN_OFFLINE, WheelTag
from torchinstall.model.machine import MACOS
from torchinstall.model.sighting import (
    DEFAULT,
    EXTRA,
    FIND_LINKS,
    MIRROR,
    PYTORCH,
    Listing,
    Sightings,
    WheelFile,
)
from torchinstall.model.value import Value
from torchinstall.model.variant import CPU, MPS, NPU
from torchinstall.model.version import at_least
from torchinstall.resolve.target import Target, platform_floor, python_names, wheel_for

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from torchinstall.catalog.catalog import Catalog
    from torchinstall.catalog.rows import Build, Companion

IDEAL = "ideal"
REACHABLE = "reachable"
OWN = "own"
"""How strictly sources are read: as if what couldn't be looked at were there; only what was seen or not
asked; only folders and extra indexes that the user has configured."""


class Place(Value):
    """One wheel's source. ``index``: ``"default"`` or a URL; ``live``: seen there in this run."""

    index: str
    kind: str
    role: str
    live: bool
    version: str
    wheel: WheelFile | None = None


def shelf_of(build: Build) -> str:
    """Return the variant under whose name a build lies on PyTorch's index: under an NPU it is the CPU build."""
    return CPU if build.variant == NPU else build.variant


class Sources:
    """The sightings of one run, asked about builds and companions.

    ``allows`` tells of a companion whether the rules of its backend let it in (torch-npu and CANN).
    """

    def __init__(
        self,
        sightings: Sightings,
        target: Target,
        catalog: Catalog,
        mirror: str | None = None,
        allows: Callable[[Companion], bool] | None = None,
    ) -> None:
        self._allows = allows
        self._listings = sightings.listings
        self._target = target
        self._catalog = catalog
        self._mirror = mirror

    def home(self, build: Build) -> tuple[str, str]:
        """Return (role, URL) of the index that a build belongs to; the default index has no URL here."""
        if build.default:
            return DEFAULT, "default"
        return PYTORCH, build.index or self._catalog.index_url(shelf_of(build))

    def seen(self, build: Build) -> bool:
        """Tell whether any source showed the very wheel in this run."""
        return any(
            self._matching(listing, build.torch, build) for listing in self._listings if listing.project == "torch"
        )

    def torch(self, build: Build, mode: str) -> Place | None:
        """Return where this build can be had; ``None``: nowhere, in this mode."""
        return self._place("torch", build.torch, build, mode)

    def companion(self, row: Companion, build: Build, mode: str) -> Place | None:
        """Return where a companion of this build can be had; unverified rows only where they were seen."""
        if self._allows is not None and not self._allows(row):
            return None
        place = self._place(row.name, row.version, build, mode, on_default=row.on_default)
        if place is None or place.live:
            return place
        known = row.status in CHOSEN_OFFLINE and wheel_for(row.wheels, self._target) is not None
        return place if known else None

    def pythons(self, place: Place) -> tuple[str, ...] | None:
        """Return the Pythons for which a place has its wheel; ``None`` where that wasn't seen in this run.

        The catalogue says what was published; a folder holds what somebody put there.
        """
        chosen = place.wheel
        if chosen is None:
            return None
        there = next((item.wheels for item in self._listings if any(wheel is chosen for wheel in item.wheels)), ())
        tags: set[str] = set()
        for wheel in there:
            if wheel.version != chosen.version or wheel.yanked:
                continue
            if any(_platform_fits(tag, self._target) for tag in wheel.platform):
                tags |= _python_tags(wheel)
        return None if "abi3" in tags else python_names((WheelTag(platform="", pythons=tuple(sorted(tags))),))

    def unreachable(self, build: Build, *, on_default: bool = False) -> Listing | None:
        """Return the listing that says that the build's own index couldn't be looked at."""
        role, url = (DEFAULT, "default") if on_default else self.home(build)
        failed = [item for item in self._listings if item.state == "unreachable"]
        if role == DEFAULT:
            return next((item for item in failed if item.role == DEFAULT), None)
        exact = next((item for item in failed if item.role == PYTORCH and item.url == url), None)
        if exact is not None:
            return exact
        if any(item.url == url and item.state != "unreachable" for item in self._listings):
            return None
        if build.index:
            return None
        # All variants live on one host: what one page met, the others would meet.
        base = self._catalog.index_url("")
        return next((item for item in failed if item.role == PYTORCH and item.url.startswith(base)), None)

    def absent(self, build: Build) -> Listing | None:
        """Return the listing that shows that the build isn't on its own index."""
        place = self._home_place("torch", build.torch, build)
        return place if isinstance(place, Listing) else None

    def _place(self, name: str, version: str, build: Build, mode: str, *, on_default: bool = False) -> Place | None:
        # What only the default index has comes from there, whatever the sources of its torch.
        if mode != OWN or on_default:
            home = self._home_place(name, version, build, on_default=on_default)
            reached = mode == IDEAL or self.unreachable(build, on_default=on_default) is None
            if isinstance(home, Place) and (home.live or reached):
                return home
        for listing in self._listings:
            if listing.role not in {EXTRA, FIND_LINKS} or listing.project != name or listing.state != "seen":
                continue
            if wheel := self._matching(listing, version, build):
                return Place(
                    index=listing.url, kind=listing.kind, role=listing.role, live=True,
                    version=wheel.version, wheel=wheel,
                )  # fmt: skip
        return None

    def _home_place(self, name: str, version: str, build: Build, *, on_default: bool = False) -> Place | Listing:
        """Return the place on the build's own index (or mirror), or the listing that shows it isn't there."""
        role, url = (DEFAULT, "default") if on_default else self.home(build)
        missing: Listing | None = None
        for wanted in (role,) if on_default or build.index else (MIRROR, role):
            for listing in self._listings:
                if listing.role != wanted or listing.project != name:
                    continue
                if wanted != DEFAULT and listing.variant != shelf_of(build):
                    continue
                if listing.state == "unreachable":
                    continue
                if wheel := self._matching(listing, version, build):
                    where = "default" if wanted == DEFAULT else listing.url
                    return Place(
                        index=where, kind=listing.kind, role=wanted, live=True,
                        version=wheel.version, wheel=wheel,
                    )  # fmt: skip
                missing = listing
        if missing is not None and missing.role == role:
            return missing
        local = "" if role == DEFAULT or build.local is None else build.local
        return Place(index=url, kind="simple", role=role, live=False, version=version + local)

    def _matching(self, listing: Listing, version: str, build: Build) -> WheelFile | None:
        if listing.state != "seen":
            return None
        wanted = self._versions(listing, version, build)
        found = [
            wheel for wheel in listing.wheels if wheel.version in wanted and not wheel.yanked and self._fits(wheel)
        ]
        # Of equal wheels the one with the plainest ABI; the order of the page decides the rest.
        return found[0] if found else None

    def _versions(self, listing: Listing, version: str, build: Build) -> frozenset[str]:
        """Return the versions under which a source shows this build.

        A wheel without local part on the default index, or in a folder or extra index that mirrors it, is the
        default variant; elsewhere it is the variant of the index that it lies on.
        """
        named = f"{version}{build.local}" if build.local else f"{version}+{shelf_of(build)}"
        if build.variant == MPS or listing.project in self._catalog.on_default:
            return frozenset({version})
        if listing.role in {DEFAULT, EXTRA, FIND_LINKS}:
            # The local part may be hidden there; then it is the default variant, never cpu.
            return frozenset({version, named}) if build.default else frozenset({named})
        return frozenset({version, named})

    def _fits(self, wheel: WheelFile) -> bool:
        target = self._target
        if target.python_tag is not None and not _python_fits(wheel, target.python_tag):
            return False
        return any(_platform_fits(tag, target) for tag in wheel.platform)


def _python_fits(wheel: WheelFile, tag: str) -> bool:
    if any(python in {"py3", "py2.py3"} for python in wheel.python):
        return True
    plain = tag.rstrip("t")
    return plain in wheel.python and (tag in wheel.abi or ("abi3" in wheel.abi and not tag.endswith("t")))


def _python_tags(wheel: WheelFile) -> set[str]:
    """Return the tags of a wheel as rows have them: ``cp314t`` where the ABI is that, ``abi3`` for many."""
    abis = {abi for abi in wheel.abi if abi == "abi3" or abi.startswith("cp")}
    plain = {python for python in wheel.python if python.startswith("cp")}
    anything = {"py3"} if any(python.startswith("py") for python in wheel.python) else set()
    return (abis or plain) | anything


def _platform_fits(tag: str, target: Target) -> bool:
    platform = target.platform or ""
    if tag == "any":
        return True
    if platform.startswith("win"):
        return tag == platform
    system, arch = ("macosx", platform[6:]) if platform.startswith("macos_") else ("linux", platform[6:])
    if not tag.endswith(arch) and not (system == "macosx" and tag.endswith("universal2")):
        return False
    if system == "linux" and not tag.startswith(("manylinux", "linux_")):
        return False
    if system == "macosx" and not tag.startswith("macosx"):
        return False
    floor = platform_floor(tag)
    found = target.os_version if target.os == MACOS else target.glibc
    return not floor or not found or at_least(found, floor)
