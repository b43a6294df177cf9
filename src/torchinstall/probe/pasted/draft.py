"""A machine while it is read from text: several tools may have told of it, each of a part."""

from __future__ import annotations

from torchinstall.model.machine import (
    AmdDriver,
    AscendDriver,
    Gpu,
    IntelDriver,
    Jetson,
    Machine,
    NvidiaDriver,
    Os,
    Python,
)
from torchinstall.probe.facts import Facts, GpuFacts
from torchinstall.probe.pci import add_card

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any, TypeVar

    from torchinstall.model.card import CardLookup
    from torchinstall.model.value import Value

    V = TypeVar("V", bound=Value)

_DRIVERS: dict[str, type[Value]] = {
    "nvidia": NvidiaDriver,
    "amd": AmdDriver,
    "intel": IntelDriver,
    "ascend": AscendDriver,
}
CUT = "..."
"""How tables end a name that was too long for them."""


class Draft:
    """What is known so far. ``looked``: accelerators were listed, so that none is an answer; ``tegra``: a board."""

    def __init__(self) -> None:
        self.os = Facts()
        self.python = Facts()
        self.jetson = Facts()
        self.drivers = {name: Facts() for name in _DRIVERS}
        self.gpus: list[GpuFacts] = []
        self.looked = False
        self.tegra = False
        self.arch: str | None = None
        self.hpc: str | None = None
        self.installed: dict[str, str] = {}
        self.installed_by: dict[str, str] = {}
        self.environment: dict[str, str] = {}
        self.notes: list[str] = []

    @property
    def empty(self) -> bool:
        """Whether nothing at all was read."""
        parts = (self.os, self.python, self.jetson, *self.drivers.values())
        known = any(facts.values for facts in parts) or self.gpus or self.looked
        return not (known or self.arch or self.installed or self.environment or self.notes)

    def note(self, text: str) -> None:
        """Keep a sentence on what could not be told; each one once."""
        if text not in self.notes:
            self.notes.append(text)

    def add_gpus(self, gpus: Iterable[GpuFacts]) -> None:
        """Add what one tool listed; a card that another tool listed as well is the same card.

        Cards are matched by address, then by UUID, then, where both lists are equally long, by their place.
        """
        given = list(gpus)
        for vendor in dict.fromkeys(gpu.vendor for gpu in given):
            told = _once([gpu for gpu in given if gpu.vendor == vendor])
            own = [gpu for gpu in self.gpus if gpu.vendor == vendor]
            taken: list[GpuFacts] = []
            for number, gpu in enumerate(told):
                same = _same(gpu, number, own, told, taken)
                if same is not None:
                    taken.append(same)
                    _join(same, gpu)
                elif not own or gpu.get("bus_id") or gpu.get("uuid"):
                    self.gpus.append(gpu)

    def machine(self, cards: CardLookup) -> Machine:
        """Return the machine, each fact with its source."""
        sources: dict[str, str] = {}
        for gpu in self.gpus:
            add_card(gpu, cards)
        gpus = tuple(_value(Gpu, gpu, f"gpus[{number}]", sources) for number, gpu in enumerate(self.gpus))
        parts: dict[str, Any] = {
            name: _value(cls, facts, f"drivers.{name}", sources)
            for name, cls in _DRIVERS.items()
            if (facts := self.drivers[name]).values
        }
        return Machine(
            os=_value(Os, self.os, "os", sources),
            arch=self.arch,
            python=_value(Python, self.python, "python", sources),
            gpus=gpus if gpus or self.looked else None,
            jetson=_value(Jetson, self.jetson, "jetson", sources) if self.tegra or self.jetson.values else None,
            hpc=self.hpc,
            installed=dict(self.installed),
            installed_by=dict(self.installed_by),
            environment=dict(self.environment),
            sources=sources,
            notes=tuple(self.notes),
            **parts,
        )


def vendor_of_name(name: str) -> str:
    """Return the maker by a product's name, as far as it is telling; NVIDIA's tools print its own cards."""
    plain = name.lower()
    if plain.startswith(("amd", "radeon", "instinct")):
        return "amd"
    if plain.startswith("intel"):
        return "intel"
    return "apple" if plain.startswith("apple") else "nvidia"


def _once(gpus: list[GpuFacts]) -> list[GpuFacts]:
    """Leave out what a tool that was run twice printed again; two NPUs may share an address."""
    kept: dict[object, GpuFacts] = {}
    for number, gpu in enumerate(gpus):
        place = gpu.get("bus_id") if gpu.vendor != "ascend" else None
        kept.setdefault(place or gpu.get("uuid") or number, gpu)
    return list(kept.values())


def _same(
    gpu: GpuFacts, number: int, own: list[GpuFacts], told: list[GpuFacts], taken: list[GpuFacts]
) -> GpuFacts | None:
    left = [card for card in own if not any(card is one for one in taken)]
    for field in ("bus_id", "uuid"):
        if gpu.get(field):
            found = next((card for card in left if card.get(field) == gpu.get(field)), None)
            if found is not None:
                return found
    if len(own) != len(told):
        return None
    place = own[number]
    both_known = gpu.get("bus_id") and place.get("bus_id")
    return place if not both_known and not any(place is one for one in taken) else None


def _join(gpu: GpuFacts, other: GpuFacts) -> None:
    name, better = str(gpu.get("name") or ""), str(other.get("name") or "")
    if name.endswith(CUT) and better and not better.endswith(CUT):
        gpu.correct("name", better, other.sources["name"])
    gpu.take(other)


def _value(cls: type[V], facts: Facts, path: str, sources: dict[str, str]) -> V:
    for field, source in facts.sources.items():
        sources[f"{path}.{field}"] = source
    return cls(**facts.values)
