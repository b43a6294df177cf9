"""Facts while they are gathered: the first source that knows a fact wins, and is remembered with it."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class Facts:
    """What is known so far of one thing; ask the sources in order of precedence."""

    def __init__(self) -> None:
        self.values: dict[str, Any] = {}
        self.sources: dict[str, str] = {}

    def put(self, field: str, value: object, source: str) -> None:
        """Keep a fact unless it is unknown here (``None`` or ``""``) or a better source has given it."""
        if value is None or value == "" or field in self.values:
            return
        self.values[field] = value
        self.sources[field] = source

    def correct(self, field: str, value: object, source: str) -> None:
        """Replace a fact by what a more exact source says."""
        self.values[field] = value
        self.sources[field] = source

    def take(self, other: Facts) -> None:
        """Keep what another source knows and this one doesn't."""
        for field, source in other.sources.items():
            self.put(field, other.values.get(field), source)

    def get(self, field: str) -> Any:
        """Return the fact, ``None`` where it isn't known."""
        return self.values.get(field)


class GpuFacts(Facts):
    """One accelerator. ``compute``: whether the table says that a PyTorch build can be meant for it."""

    def __init__(self, vendor: str) -> None:
        super().__init__()
        self.values["vendor"] = vendor
        self.compute: bool | None = None

    @property
    def vendor(self) -> str:
        """The maker, as in the machine JSON."""
        return str(self.values["vendor"])

    @property
    def may_compute(self) -> bool:
        """Whether a PyTorch build can be meant for it, as far as is known; Intel's table lists all that can."""
        return self.compute is True if self.vendor == "intel" else self.compute is not False


class VendorFacts:
    """What the probe of one vendor found: its accelerators, and its driver (``None``: no trace of one)."""

    def __init__(self, gpus: list[GpuFacts] | None = None, driver: Facts | None = None) -> None:
        self.gpus = gpus or []
        self.driver = driver
