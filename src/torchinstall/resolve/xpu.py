"""The rules of Intel GPUs (policy 8): only the families that the documentation of a torch release lists."""

from __future__ import annotations

from torchinstall.model.plan import Device, Need, Reason
from torchinstall.model.sentences import reason
from torchinstall.model.version import at_least

TYPE_CHECKING = False
if TYPE_CHECKING:
    from torchinstall.catalog.backend_rows import XpuFamily
    from torchinstall.catalog.catalog import Catalog
    from torchinstall.catalog.rows import Build
    from torchinstall.model.machine import Gpu, Machine
    from torchinstall.resolve.selection import Card


def family_of(gpu: Gpu, catalog: Catalog) -> XpuFamily | None:
    """Return the row of a card's family: as told, by its PCI id, or by a name whose meanings agree."""
    name = gpu.family
    if not name and gpu.pci_id and (known := catalog.card(gpu.pci_id.lower())) is not None:
        name = known.family
    if not name and gpu.name:
        names = {card.family for card in catalog.find_cards(gpu.name) if card.vendor == "intel"}
        name = names.pop() if len(names) == 1 else None
    if not name:
        return None
    plain = name.split(" (")[0].lower()
    return next((row for row in catalog.xpu.families if row.family.lower() == plain), None)


def why_not(build: Build, cards: tuple[Card, ...], machine: Machine, catalog: Catalog) -> Reason | None:
    """Return the first card whose family this torch doesn't list; one of unknown family is taken as listed."""
    for card in cards:
        row = family_of(card.gpu, catalog)
        if row is not None and not at_least(build.torch, row.torch_from):
            return reason("xpu-family", card=card.name, family=row.family, minimum=row.torch_from, source=row.source)
    return None


def devices(build: Build, cards: tuple[Card, ...], catalog: Catalog) -> tuple[Device, ...]:
    """Return what the build means for each card."""
    rows = ((card, family_of(card.gpu, catalog)) for card in cards)
    return tuple(
        Device(gpu=card.number, runs="yes" if row else "unknown", by=row.family if row else "") for card, row in rows
    )


def needs(build: Build, cards: tuple[Card, ...], machine: Machine, catalog: Catalog) -> tuple[Need, ...]:
    """Return what the system must bring: Level Zero and Intel's compute runtime, or the Windows driver."""
    found = machine.intel.level_zero if machine.intel else None
    return tuple(
        Need(what=row.what, minimum="", found=found, met=True if found else None, note=row.note)
        for row in catalog.xpu.access
        if row.platform == build.platform
    )


def why(build: Build, cards: tuple[Card, ...], machine: Machine, catalog: Catalog) -> tuple[Reason, ...]:
    """Return the families that the build is documented for."""
    known = {card.name: family_of(card.gpu, catalog) for card in cards}
    return tuple(
        reason("xpu-covers", card=name, family=row.family, minimum=row.torch_from, source=row.source)
        for name, row in known.items()
        if row is not None
    )
