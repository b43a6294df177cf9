"""PCI devices that can be accelerators, from sysfs. About a millisecond, no privileges, no vendor library.

Inside a container the host's devices show here; in WSL2 there are none.
"""

from __future__ import annotations

import re

from torchinstall.model.value import Value
from torchinstall.probe.facts import GpuFacts

TYPE_CHECKING = False
if TYPE_CHECKING:
    from torchinstall.model.card import CardLookup
    from torchinstall.probe.system import System

SOURCE = "pci"
REGISTRY = "registry"
TABLE = "pci id table"
NO_DRIVER = "none"
"""``driver`` of a card to which no kernel driver is bound, as against one where nobody could look."""

VGA, DISPLAY_3D, DISPLAY, ACCELERATOR = "0300", "0302", "0380", "1200"
_CLASSES = frozenset({VGA, DISPLAY_3D, DISPLAY, ACCELERATOR})

# Registered vendor ids (https://pci-ids.ucw.cz), to tell whose card it is. What a card can do is data.
NVIDIA, AMD, INTEL, HUAWEI = "10de", "1002", "8086", "19e5"
OTHERS = {
    "1d94": "hygon",
    "9999": "metax",
    "1ed5": "mthreads",
    "cabc": "cambricon",
    "1e3e": "iluvatar",
    "1e36": "enflame",
    "1d22": "kunlunxin",
    "1ded": "thead",
}

_ROOT = "/sys/bus/pci/devices"
_HEX = re.compile(r"0x([0-9a-f]{4,6})", re.IGNORECASE)
_BUS_ID = re.compile(r"(?:([0-9a-f]{4,8}):)?([0-9a-f]{2}):([0-9a-f]{2})(?:\.([0-7]))?", re.IGNORECASE)


class PciDevice(Value):
    """One device. ``vendor``, ``device`` and ``class_code`` are four hex digits; ``driver`` the bound kernel driver.

    ``bus_id`` is ``None`` where the source doesn't tell the address (the registry of Windows), which does
    tell ``name``, ``driver_version`` and ``memory_mib``.
    """

    bus_id: str | None = None
    vendor: str
    device: str
    class_code: str
    driver: str | None = NO_DRIVER
    boot_vga: bool = False
    name: str | None = None
    driver_version: str | None = None
    memory_mib: int | None = None

    @property
    def pci_id(self) -> str:
        """Vendor and device as ``10de:2684``."""
        return f"{self.vendor}:{self.device}"


def sysfs_pci_devices(system: System) -> tuple[PciDevice, ...]:
    """Return every display controller and processing accelerator, by bus address."""
    devices = []
    for name in system.listdir(_ROOT):
        folder = f"{_ROOT}/{name}"
        code = _number(system, f"{folder}/class")
        if code is None or code[:4] not in _CLASSES:
            continue
        vendor, device = _number(system, f"{folder}/vendor"), _number(system, f"{folder}/device")
        if vendor is None or device is None:
            system.note(f"the display or accelerator device {name} doesn't tell its PCI id")
            continue
        link = system.readlink(f"{folder}/driver")
        devices.append(
            PciDevice(
                bus_id=bus_address(name) or name,
                vendor=vendor,
                device=device,
                class_code=code[:4],
                driver=link.rstrip("/").rpartition("/")[2] if link else NO_DRIVER,
                boot_vga=system.read_line(f"{folder}/boot_vga") == "1",
            )
        )
    return tuple(devices)


def _number(system: System, path: str) -> str | None:
    line = system.read_line(path)
    match = _HEX.fullmatch(line) if line else None
    return match[1].lower() if match else None


def bus_address(text: str) -> str | None:
    """Return a PCI address as sysfs writes it: ``00000000:01:00.0`` and ``1:00.0``'s full form are ``0000:01:00.0``."""
    match = _BUS_ID.fullmatch(text.strip())
    if match is None:
        return None
    domain = int(match[1] or "0", 16)
    return f"{domain:04x}:{match[2].lower()}:{match[3].lower()}.{match[4] or '0'}"


def add_device(gpu: GpuFacts, device: PciDevice) -> None:
    """Add what sysfs says of a card."""
    gpu.put("pci_id", device.pci_id, SOURCE)
    gpu.put("bus_id", device.bus_id, SOURCE)
    gpu.put("driver", device.driver, SOURCE)
    gpu.put("name", device.name, REGISTRY)
    gpu.put("memory_mib", device.memory_mib, REGISTRY)


def add_card(gpu: GpuFacts, cards: CardLookup) -> None:
    """Add what the table knows of the card's PCI id; whatever was seen on the machine itself stands."""
    pci_id = gpu.get("pci_id")
    card = cards(pci_id) if pci_id else None
    if card is None:
        return
    gpu.compute = card.compute
    for field in ("name", "compute_capability", "gfx", "soc", "family", "integrated"):
        gpu.put(field, getattr(card, field), TABLE)


def other_gpus(system: System, devices: tuple[PciDevice, ...], cards: CardLookup) -> list[GpuFacts]:
    """Return the accelerators of makers that have no probe of their own here; an unknown maker's are noted."""
    gpus = []
    for device in devices:
        if device.vendor in {NVIDIA, AMD, INTEL, HUAWEI}:
            continue
        card = cards(device.pci_id)
        vendor = card.vendor if card else OTHERS.get(device.vendor)
        if vendor is None:
            # Server management chips and the displays of virtual machines end here: nobody computes on them.
            if device.class_code == ACCELERATOR:
                system.note(f"the accelerator at {device.bus_id} is of an unknown maker (PCI id {device.pci_id})")
            continue
        gpu = GpuFacts(vendor)
        add_device(gpu, device)
        add_card(gpu, cards)
        gpus.append(gpu)
        system.note(f"{vendor} has a PyTorch build of its own for the accelerator here; the usual wheels don't use it")
    return gpus
