"""npu-smi's tables: five layouts are in the field, told apart by their cells and headings, never by the version.

Two lines a chip, the name in the first, the bus address in the second. 910B prints exact names; A3 prints
``Ascend910`` for both dies of a 910C and has a column ``Phy-ID``; 310P has no column of HBM; 950 has its
name in a cell of its own; release 26 made everything wider. ``npu-smi info -m`` has no frame at all.
"""

from __future__ import annotations

import re

from torchinstall.probe.facts import GpuFacts
from torchinstall.probe.pci import bus_address

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

SOURCE = "npu-smi"

_NAME = r"(?:Ascend\s?)?((?:310|910|950)[0-9A-Za-z]*)"
_CHIP = re.compile(rf"\d+\s+{_NAME}")
_NAME_ALONE = re.compile(_NAME)
_USAGE = re.compile(r"\d+\s*/\s*(\d+)")
_VERSION = re.compile(r"npu-smi\s+\S+\s+Version:\s*(\d\S*)")
_LISTED = re.compile(rf"\s*\d+\s+\d+\s+\d+\s+{_NAME}\s*", re.IGNORECASE)
_LIST_HEAD = "Chip Logic ID"
_TWO_DIES = "Phy-ID"
_BARE, _A3 = "910", "910C"
"""Name of both dies of an A3 module in the table, and what the module is called elsewhere."""

_CELLS = 3


def driver_version(text: str) -> str | None:
    """Return the version of the Ascend driver in the table's headline."""
    match = _VERSION.search(text)
    return match[1] if match else None


def chips(text: str) -> list[GpuFacts]:
    """Return the chips of a table, or of the list that ``npu-smi info -m`` prints."""
    if _LIST_HEAD in text:
        return [_chip(match[1], None, "") for line in text.splitlines() if (match := _LISTED.fullmatch(line))]
    found = []
    name = None
    bare = _A3 if _TWO_DIES in text else None
    for cells in _rows(text):
        first = _name(cells)
        place = next((number for number, cell in enumerate(cells) if bus_address(cell)), None)
        if place is not None and name is not None:
            figures = cells[place + 1] if place + 1 < len(cells) else ""
            found.append(_chip(name, bus_address(cells[place]), figures, bare))
            name = None
        elif place is None and first is not None:
            name = first
    return found


def _rows(text: str) -> Iterator[list[str]]:
    for line in text.splitlines():
        if "|" not in line:
            continue
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if len(cells) >= _CELLS:
            yield cells


def _name(cells: Sequence[str]) -> str | None:
    match = _CHIP.fullmatch(cells[0])
    if match is None and cells[0].isdecimal():
        match = _NAME_ALONE.fullmatch(cells[1])
    return match[1] if match else None


def _chip(name: str, address: str | None, figures: str, bare: str | None = None) -> GpuFacts:
    gpu = GpuFacts("ascend")
    gpu.put("name", f"Ascend {name}", SOURCE)
    gpu.put("bus_id", address, SOURCE)
    # The oldest generation is called 910 as well: only the second column of ids tells an A3.
    gpu.put("soc", name if name != _BARE else bare, SOURCE)
    usages = _USAGE.findall(figures)
    # On a chip without HBM its figure is 0 / 0, and the memory stands before it.
    memory = next((int(total) for total in reversed(usages) if int(total)), None)
    gpu.put("memory_mib", memory, SOURCE)
    return gpu
