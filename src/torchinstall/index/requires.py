"""Which dependencies of a build must come from the build's own index.

ROCm and XPU builds require packages (triton-rocm, rocm, ...) that only their
own index has right; on the default index the names are placeholders, or
anybody's. So what a build pins and its index carries is bound to that index.
"""

from __future__ import annotations

from torchinstall.index.http import OK
from torchinstall.index.location import canonical, local_path
from torchinstall.index.look import Question, look

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from packaging.requirements import Requirement

    from torchinstall.index.http import Client
    from torchinstall.model.sighting import Listing, WheelFile

_PINS = frozenset({"==", "~="})
"""torch pins its triton exactly up to 2.13, and within a minor release (~=3.8.0) from 2.14 on."""

DEPTH = 3
"""rocm requires rocm-sdk-core, which requires a device package; nothing goes deeper."""


def read_requirements(wheel: WheelFile, *, session: Client, limit_s: float = 3.0) -> tuple[str, ...] | None:
    """Return the Requires-Dist lines of a wheel, ``None`` where they can't be read without the whole wheel.

    From the metadata file beside the wheel (PEP 658), or from the wheel itself where it lies in a folder.
    """
    path = local_path(wheel.url)
    if path is not None:
        text = _metadata_in(str(path))
    else:
        page = session.fetch(f"{wheel.url}.metadata", limit_s=limit_s)
        text = page.text if page.state == OK and page.text.startswith("Metadata-Version") else None
    if text is None:
        return None
    header = text.partition("\n\n")[0]
    lines = (line.partition(":") for line in header.splitlines())
    return tuple(value.strip() for name, _, value in lines if name.lower() == "requires-dist")


def carried_dependencies(
    wheels: Iterable[WheelFile],
    index_url: str,
    *,
    session: Client,
    environment: Mapping[str, str] | None = None,
    with_extras: Mapping[str, Iterable[str]] | None = None,
    limit_s: float = 3.0,
) -> dict[str, str]:
    """Return the pinned dependencies of wheels that their index carries, as name to index URL.

    ``environment`` holds the target's values for markers (PEP 508) where they differ from this machine's;
    ``with_extras`` the extras that are installed, by the name of the wheel.
    What can't be looked up is left out: the installer then takes it from the default index.
    """
    found: dict[str, str] = {}
    layer: list[tuple[WheelFile, frozenset[str]]] = [
        (wheel, frozenset((with_extras or {}).get(wheel.name, ()))) for wheel in wheels
    ]
    own = {wheel.name for wheel, _ in layer}
    for _ in range(DEPTH):
        wanted: dict[str, Requirement] = {}
        for wheel, extras in layer:
            for requirement in _pinned(wheel, extras, session, environment, limit_s):
                name = canonical(requirement.name)
                if name not in found and name not in own:
                    wanted[name] = requirement
        if not wanted:
            break
        listings = look([Question(url=index_url, project=name) for name in wanted], limit_s=limit_s, session=session)
        layer = []
        for listing in listings:
            requirement = wanted[listing.project]
            if (wheel_found := _newest(listing, requirement)) is not None:
                found[listing.project] = index_url
                layer.append((wheel_found, frozenset(requirement.extras)))
    return found


def _pinned(
    wheel: WheelFile,
    extras: frozenset[str],
    session: Client,
    environment: Mapping[str, str] | None,
    limit_s: float,
) -> Iterator[Requirement]:
    from packaging.requirements import InvalidRequirement, Requirement

    for text in read_requirements(wheel, session=session, limit_s=limit_s) or ():
        try:
            requirement = Requirement(text)
        except InvalidRequirement:
            continue
        marker = requirement.marker
        applies = marker is None or any(
            marker.evaluate({**(environment or {}), "extra": extra}) for extra in {"", *extras}
        )
        if applies and requirement.url is None and any(part.operator in _PINS for part in requirement.specifier):
            yield requirement


def _newest(listing: Listing, requirement: Requirement) -> WheelFile | None:
    from packaging.version import Version

    fitting = [wheel for wheel in listing.wheels if requirement.specifier.contains(wheel.version, prereleases=True)]
    return max(fitting, key=lambda wheel: Version(wheel.version), default=None)


def _metadata_in(path: str) -> str | None:
    import zipfile

    try:
        with zipfile.ZipFile(path) as archive:
            for name in archive.namelist():
                if name.endswith(".dist-info/METADATA") and name.count("/") == 1:
                    return archive.read(name).decode("utf-8", "replace").replace("\r\n", "\n")
    except (OSError, ValueError, zipfile.BadZipFile):
        pass
    return None
