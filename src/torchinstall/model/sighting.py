"""What the sources were found to have: index pages and folders, as looked at in this run."""

from __future__ import annotations

from torchinstall.model.value import Value

PYTORCH = "pytorch"
DEFAULT = "default"
EXTRA = "extra"
FIND_LINKS = "find-links"
MIRROR = "mirror"


class WheelFile(Value):
    """One wheel on a source. ``version`` as in the file name, local part included; ``size`` in bytes.

    ``requires_python`` and ``uploaded`` (a day) as the page says them. ``metadata``: METADATA can be had
    beside the wheel (PEP 658), with this sha256, or ``""`` where the page gives none.
    """

    filename: str
    name: str
    version: str
    python: tuple[str, ...]
    abi: tuple[str, ...]
    platform: tuple[str, ...]
    url: str
    sha256: str | None = None
    size: int | None = None
    yanked: bool = False
    requires_python: str | None = None
    uploaded: str | None = None
    metadata: str | None = None


class Listing(Value):
    """One project's page on one source.

    ``kind``: ``simple`` (PEP 503 or 691) or ``flat`` (a folder or page of wheels). ``role`` says why the
    source is asked. ``state``: ``seen`` (looked at; ``wheels`` is all it has), ``absent`` (there is no such
    page) or ``unreachable`` (could not look; ``error`` says why).
    """

    url: str
    kind: str = "simple"
    role: str = PYTORCH
    variant: str | None = None
    project: str
    state: str
    error: str = ""
    wheels: tuple[WheelFile, ...] = ()


class Sightings(Value):
    """All listings of one run; none means that nobody looked, and the catalogue alone decides."""

    listings: tuple[Listing, ...] = ()
