"""The decision: one tuple of torch version, variant, index and companions, or why there is none."""

from __future__ import annotations

from torchinstall.model.value import EMPTY, Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

INSTALL = "install"
SATISFIED = "satisfied"
BLOCKED = "blocked"
UNDETERMINED = "undetermined"


class Pin(Value):
    """One package at one version from one index. ``index``: ``"default"`` or a URL; ``size`` in bytes."""

    name: str
    version: str
    index: str
    kind: str = "simple"
    extras: tuple[str, ...] = ()
    url: str | None = None
    sha256: str | None = None
    hashes: tuple[str, ...] = ()
    """The hashes that the user allows (``sha256:...``); none for any."""
    size: int | None = None
    local: str | None = None
    """The local part that the wheel carries inside (torch/version.py), whether or not its index shows it."""


class Device(Value):
    """What the choice means for one accelerator. ``runs``: yes, no, left-out or unknown; ``by``: the code used."""

    gpu: int
    runs: str
    by: str = ""
    why: str = ""


class Need(Value):
    """Something outside Python that the choice needs. ``met``: ``None`` where it can't be known here."""

    what: str
    minimum: str
    found: str | None = None
    met: bool | None = None
    note: str = ""


class Reason(Value):
    """A rule that decided, in words, with the source of the fact behind it.

    ``params`` are the facts in the sentence, so that it can be said in another language.
    """

    rule: str
    text: str
    source: str = ""
    params: Mapping[str, str] = EMPTY


class Rejection(Value):
    """A candidate that lost, and the first rule that it failed."""

    torch: str
    variant: str
    reason: Reason


class Alternative(Value):
    """Another tuple, and what would have to change for it (``reason``; ``if`` in JSON)."""

    torch: str
    variant: str
    reason: Reason
    command: str = ""


class DevicePlan(Value):
    """The plan for one card alone, where no tuple fits all."""

    gpu: int
    outcome: str
    torch: str | None = None
    variant: str | None = None
    reason: Reason | None = None
    hide: str = ""


class CatalogInfo(Value):
    """Age of the data, and whether a live index confirmed the choice."""

    date: str
    live: bool = False
    confirmed: tuple[str, ...] = ()


class Plan(Value):
    """The answer to one request on one machine. A pure function of its inputs."""

    outcome: str
    torch: str | None = None
    variant: str | None = None
    platform: str | None = None
    python: str | None = None
    packages: tuple[Pin, ...] = ()
    others: tuple[str, ...] = ()
    devices: tuple[Device, ...] = ()
    needs: tuple[Need, ...] = ()
    why: tuple[Reason, ...] = ()
    rejected: tuple[Rejection, ...] = ()
    alternatives: tuple[Alternative, ...] = ()
    warnings: tuple[Reason, ...] = ()
    catalog: CatalogInfo
    commands: Mapping[str, tuple[str, ...]] = EMPTY  # type: ignore[assignment]
    environment: Mapping[str, str] = EMPTY
    pythons: tuple[str, ...] = ()
    blocked: Reason | None = None
    per_device: tuple[DevicePlan, ...] = ()
    fallback: Reason | None = None
    unreachable: Reason | None = None
    """The chosen tuple's index couldn't be reached, and no other source may stand in: an install stops here."""
    installed: Mapping[str, str] = EMPTY
    exit_code: int = 0

    @property
    def other_packages(self) -> tuple[str, ...]:
        """Return ``others`` without the options of requirement files; what is editable is a package."""
        return tuple(text for text in self.others if not is_option(text))

    @property
    def options(self) -> tuple[str, ...]:
        """Return the option lines of requirement files (``--extra-index-url ...``) among ``others``."""
        return tuple(text for text in self.others if is_option(text))


def is_option(line: str) -> bool:
    """Tell whether a line of a requirements file is an option for the installer, and no package."""
    return line.startswith("-") and not line.startswith(("-e", "--editable"))
