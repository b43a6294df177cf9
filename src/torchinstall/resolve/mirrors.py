"""A mirror of the PyTorch index: which one a word means, and whose hashes count for what it serves."""

from __future__ import annotations

from torchinstall.errors import InstallError, UsageError
from torchinstall.model.plan import Reason
from torchinstall.model.sighting import MIRROR, PYTORCH

TYPE_CHECKING = False
if TYPE_CHECKING:
    from torchinstall.catalog.catalog import Catalog
    from torchinstall.model.plan import Pin, Plan
    from torchinstall.model.sighting import Sightings, WheelFile

AUTO = "auto"
EITHER = "either"
"""The kind of a mirror that was given by its address: both kinds of pages are asked for."""

_PLACE = "{variant}"


def meant(text: str | None, catalog: Catalog) -> tuple[str | None, str]:
    """Return the address template and the kind of pages of a mirror that was named, or given by its URL.

    ``None`` for none, and for ``auto``, which is measured and not looked up. Raises ``UsageError`` for a word
    that is neither a name nor an address.
    """
    if text is None or text.lower() == AUTO:
        return None, "simple"
    if "://" in text:
        if not text.lower().startswith(("https://", "http://")):
            raise UsageError(f"--mirror {text!r} isn't a web address", todo=["write https://... or http://..."])
        return (text if _PLACE in text else f"{text.rstrip('/')}/{_PLACE}"), EITHER
    for mirror in catalog.mirrors:
        if text.lower() in {mirror.name, *mirror.aliases}:
            return mirror.url, mirror.kind
    names = ", ".join(mirror.name for mirror in catalog.mirrors)
    raise UsageError(
        f"--mirror {text!r} is neither the name of a mirror nor an address",
        why=f"known by name are {names}; {_PLACE} in an address stands for cu126 and so on",
        todo=[f"--mirror {AUTO} takes the fastest that has the build", "--mirror https://mirror.example/whl/{variant}"],
    )


def with_origin_hashes(plan: Plan, sightings: Sightings) -> Plan:
    """Return the plan with the origin's hashes for what a mirror serves; a mirror's own word proves nothing.

    Where the origin couldn't be asked, the pin has no hash, and a warning says so. Raises ``InstallError``
    where the mirror announces another file than the origin.
    """
    pins, warnings = [], list(plan.warnings)
    for pin in plan.packages:
        served = _listed(pin, sightings, MIRROR)
        if served is None:
            pins.append(pin)
            continue
        origin = _origin(served, sightings)
        if origin is None or origin.sha256 is None:
            text = (
                f"nothing but the mirror vouches for {served.filename}: the PyTorch index, whose hash would prove it, "
                "couldn't be asked"
            )
            warnings.append(Reason(rule="mirror-unproven", text=text))
            pins.append(pin.replace(sha256=None))
            continue
        if served.sha256 not in {None, origin.sha256}:
            raise InstallError(
                f"the mirror has another {served.filename} than the PyTorch index",
                why=f"its hash is {served.sha256}, and that of the original is {origin.sha256}",
                todo=["don't install from this mirror: leave --mirror out, or name another one"],
            )
        pins.append(pin.replace(sha256=origin.sha256))
    pages = [listing for listing in sightings.listings if listing.role == MIRROR]
    if pages and all(page.state == "unreachable" and page.error != "--offline" for page in pages):
        text = f"the mirror that was named can't be reached: {pages[0].url} ({pages[0].error})"
        warnings.append(Reason(rule="mirror-unreachable", text=text, params={"url": pages[0].url}))
    return plan.replace(packages=tuple(pins), warnings=tuple(warnings))


def _listed(pin: Pin, sightings: Sightings, role: str) -> WheelFile | None:
    """Return the wheel of a pin on the page that it is taken from, if that page has this role."""
    for listing in sightings.listings:
        if listing.role == role and listing.url == pin.index and listing.project == pin.name:
            for wheel in listing.wheels:
                if wheel.url == pin.url:
                    return wheel
    return None


def _origin(served: WheelFile, sightings: Sightings) -> WheelFile | None:
    for listing in sightings.listings:
        if listing.role == PYTORCH and listing.project == served.name:
            for wheel in listing.wheels:
                if wheel.filename == served.filename:
                    return wheel
    return None
