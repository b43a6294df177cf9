"""From the listings of index pages to what the catalogue speaks of: version, variant, platform and wheel tags."""

from __future__ import annotations

import re

from torchinstall.model.sighting import DEFAULT, Listing, WheelFile
from torchinstall.model.value import Value
from torchinstall.model.variant import CPU, MPS, backend

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    Wheels = dict[str, list[str]]

SEEN = "seen"
_RELEASE = re.compile(r"\d+(?:\.\d+)+")
_PYTHON = re.compile(r"cp3\d{1,2}")
_LINUX = re.compile(r"(?:manylinux\w+|linux)_(x86_64|aarch64)")
_MACOS = re.compile(r"macosx_\d+_\d+_(arm64|x86_64)")


class Item(Value):
    """The wheels of one version for one platform on one page. ``local`` as on the page (``+cu126``), or ``""``.

    ``wheels``: platform tag to Python tags, as (tag, tags) pairs; yanked files aren't in it.
    ``yanked``: all of them were taken back.
    """

    version: str
    platform: str
    variant: str | None
    local: str
    wheels: tuple[tuple[str, tuple[str, ...]], ...]
    files: tuple[WheelFile, ...]
    yanked: bool = False

    def as_row(self) -> Wheels:
        """Return the wheels as a row of the data has them."""
        return {platform: list(pythons) for platform, pythons in self.wheels}


class Shelf(Value):
    """What one page has. ``folder`` is that of a variant, or ``default`` for the default index.

    ``state`` as in ``Listing``; a page that holds wheels of nothing that was asked for is ``unreachable``.
    ``notes``: what was kept out, and why.
    """

    folder: str
    project: str
    state: str
    error: str = ""
    items: tuple[Item, ...] = ()
    notes: tuple[str, ...] = ()

    def item(self, version: str, platform: str) -> Item | None:
        """Return the wheels of a version for a platform."""
        return next((i for i in self.items if i.version == version and i.platform == platform), None)


def observe(listing: Listing, pythons: Iterable[str]) -> Shelf:
    """Return the shelf of a listing; ``pythons`` are the tags that an abi3 wheel is written out for."""
    folder = DEFAULT if listing.role == DEFAULT else listing.variant or ""
    shelf = Shelf(folder=folder, project=listing.project, state=listing.state, error=listing.error)
    if listing.state != SEEN:
        return shelf
    if not listing.wheels:
        return shelf.replace(state="unreachable", error=f"the page has no wheel of {listing.project}")
    groups: dict[tuple[str, str], list[tuple[WheelFile, str, str]]] = {}
    strange: dict[str, str] = {}
    for wheel in listing.wheels:
        version, _, local = wheel.version.partition("+")
        tag, platform = _platform(wheel)
        if not _RELEASE.fullmatch(version) or platform is None:
            continue  # pre-releases and systems that the catalogue doesn't speak of
        if why := _strange(folder, local, platform):
            strange.setdefault(f"{listing.project} {wheel.version}", why)
            continue
        groups.setdefault((version, platform), []).append((wheel, tag, local))
    known = tuple(pythons)
    items = [_item(key, found, folder, known) for key, found in groups.items()]
    notes = tuple(f"{name} on {folder}: {why}" for name, why in strange.items())
    return shelf.replace(items=tuple(item for item in items if item is not None), notes=notes)


def _item(
    key: tuple[str, str], found: list[tuple[WheelFile, str, str]], folder: str, known: tuple[str, ...]
) -> Item | None:
    version, platform = key
    wheels: dict[str, list[str]] = {}
    files = []
    for wheel, tag, _ in found:
        tags = _pythons(wheel, known)
        if not tags:
            continue  # another interpreter, or a tag of a kind that nobody has seen yet
        files.append(wheel)
        if not wheel.yanked:
            wheels.setdefault(tag, []).extend(tags)
    if not files:
        return None
    return Item(
        version=version,
        platform=platform,
        variant=_variant(folder, platform),
        local=next((f"+{local}" for _, _, local in found if local), ""),
        wheels=tuple((tag, tuple(sorted(set(tags), key=python_key))) for tag, tags in sorted(wheels.items())),
        files=tuple(files),
        yanked=not wheels,
    )


def python_key(tag: str) -> tuple[int, int, bool]:
    """Return the sort key of a Python tag: cp39 before cp310, free-threaded after the ordinary one."""
    digits = tag.strip("abcdefghijklmnopqrstuvwxyz")
    return int(digits[:1] or 0), int(digits[1:] or 0), tag.endswith("t")


def _variant(folder: str, platform: str) -> str | None:
    """Return the variant of a wheel in a folder; the default index tells only that of macOS by its place."""
    if platform == "macos_arm64":
        return MPS
    if platform == "macos_x86_64":
        return CPU
    return None if folder == DEFAULT else folder


def _strange(folder: str, local: str, platform: str) -> str:
    if folder == DEFAULT or platform.startswith("macos"):
        return f"a local version ({local}) where there is none" if local else ""
    if local == folder or (not local and folder == CPU):
        return ""
    if not local:
        return "no variant in its version"
    return f"it is of another variant ({local})" if backend(local) else f"{local} isn't a variant that is known"


def _platform(wheel: WheelFile) -> tuple[str, str | None]:
    for tag in wheel.platform:
        if match := _LINUX.fullmatch(tag):
            return tag, f"linux_{match[1]}"
        if match := _MACOS.fullmatch(tag):
            return tag, f"macos_{match[1]}"
        if tag in {"win_amd64", "win_arm64"}:
            return tag, tag
    return "", None


def _pythons(wheel: WheelFile, known: tuple[str, ...]) -> list[str]:
    """Return the Python tags that a wheel serves; an abi3 wheel serves every ordinary one from its own on."""
    if any(tag in {"py3", "py2.py3"} for tag in wheel.python):
        return ["py3"]
    tags = [tag for tag in wheel.python if _PYTHON.fullmatch(tag)]
    if "abi3" in wheel.abi:
        return [k for k in known if not k.endswith("t") and any(python_key(k) >= python_key(tag) for tag in tags)]
    if "none" in wheel.abi:
        return tags  # macOS wheels up to torch 2.10
    return [f"{tag}{mark}" for tag in tags for mark in ("", "t") if f"{tag}{mark}" in wheel.abi]
