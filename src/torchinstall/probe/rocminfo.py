"""rocminfo's list of agents: a confirmation of what the kernel tells, and the only source where there is no KFD.

``HSA_OVERRIDE_GFX_VERSION`` changes the gfx in it, but neither the chip id nor the marketing name: where
the table knows the chip, a contradiction shows the override.
"""

from __future__ import annotations

import re

from torchinstall.probe.facts import GpuFacts
from torchinstall.probe.pci import AMD, add_card

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from torchinstall.model.card import CardLookup
    from torchinstall.probe.system import System

SOURCE = "rocminfo"

_ANSI = re.compile(r"\x1b\[[0-9;]*m")
_AGENT = re.compile(r"^[ \t]*Agent \d+[ \t]*$", re.MULTILINE)
_FIELD = re.compile(r"^\s*([A-Z][A-Za-z ]*?):\s*(\S.*?)\s*$")
_GFX = re.compile(r"gfx[0-9a-f]{3,5}")
_CHIP = re.compile(r"\d+\(0x([0-9a-f]{1,4})\)", re.IGNORECASE)
_MODULE = re.compile(r"ROCk module version (\d[\w.]*) is loaded")


def agents(text: str, cards: CardLookup) -> tuple[list[GpuFacts], list[str]]:
    """Return the GPU agents, and a sentence for each whose gfx isn't the one that its chip has."""
    gpus, notes = [], []
    for block in _AGENT.split(_ANSI.sub("", text))[1:]:
        fields = _first_fields(block)
        if fields.get("Device Type") != "GPU" or not _GFX.fullmatch(fields.get("Name", "")):
            continue
        gpu, note = _gpu(fields, cards)
        gpus.append(gpu)
        if note:
            notes.append(note)
    return gpus, notes


def module_version(text: str) -> str | None:
    """Return the version of AMD's own kernel module, which the headline names; the kernel's own has none."""
    match = _MODULE.search(text)
    return match[1] if match else None


def rocminfo_gpus(system: System, cards: CardLookup) -> list[GpuFacts]:
    """Ask rocminfo; its notes become the system's."""
    answer = system.run(["rocminfo"], extra=("/opt/rocm/bin",))
    if answer is None:
        return []
    if answer.rc != 0:
        system.note(f"rocminfo failed: {answer.ending()}")
    gpus, notes = agents(answer.out, cards)
    for note in notes:
        system.note(note)
    return gpus


def _first_fields(block: str) -> Mapping[str, str]:
    # The names come again further down, for the pools and instruction sets of the agent.
    fields: dict[str, str] = {}
    for line in block.splitlines():
        match = _FIELD.match(line)
        if match:
            fields.setdefault(match[1], match[2])
    return fields


def _gpu(fields: Mapping[str, str], cards: CardLookup) -> tuple[GpuFacts, str]:
    gpu = GpuFacts("amd")
    gfx, marketing = fields["Name"], fields.get("Marketing Name", "")
    chip = _CHIP.fullmatch(fields.get("Chip ID", ""))
    if chip:
        gpu.put("pci_id", f"{AMD}:{chip[1].lower():0>4}", SOURCE)
    place, domain = fields.get("BDFID", ""), fields.get("Domain", "0")
    if place.isdecimal() and int(place) and domain.isdecimal():
        number = int(place)
        address = f"{int(domain):04x}:{number >> 8 & 0xFF:02x}:{number >> 3 & 0x1F:02x}.{number & 7}"
        gpu.put("bus_id", address, SOURCE)
    if marketing and marketing != gfx:
        gpu.put("name", marketing, SOURCE)
    known = cards(gpu.get("pci_id")) if chip else None
    note = ""
    if known is not None and known.gfx and known.gfx != gfx:
        note = (
            f"rocminfo calls {marketing or known.name} {gfx}, but the chip is {known.gfx}: "
            "HSA_OVERRIDE_GFX_VERSION is at work"
        )
    else:
        gpu.put("gfx", gfx, SOURCE)
    add_card(gpu, cards)
    return gpu, note
