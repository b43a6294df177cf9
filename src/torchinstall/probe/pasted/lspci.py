"""``lspci -nn``, with or without ``-k``: numbers are read, names only where there are no numbers."""

from __future__ import annotations

import re

from torchinstall.probe.facts import GpuFacts
from torchinstall.probe.nvidia_state import NOUVEAU
from torchinstall.probe.pasted.draft import Draft
from torchinstall.probe.pci import (
    ACCELERATOR,
    AMD,
    DISPLAY,
    DISPLAY_3D,
    HUAWEI,
    INTEL,
    NO_DRIVER,
    NVIDIA,
    OTHERS,
    VGA,
    bus_address,
)

SOURCE = "lspci"

_DEVICE = re.compile(
    r"^\s*((?:[0-9a-f]{4,8}:)?[0-9a-f]{2}:[0-9a-f]{2}\.[0-7])\s+"
    r"([A-Z0-9][^:\[]*?)\s*(?:\[([0-9a-f]{4})\])?:\s+(.*)$",
    re.IGNORECASE,
)
_IDS = re.compile(r"\[([0-9a-f]{4}):([0-9a-f]{4})\]", re.IGNORECASE)
_DRIVER = re.compile(r"^\s+Kernel driver in use:\s*(\S+)")
_MODULES = re.compile(r"^\s+Kernel modules:\s*(.+?)\s*$")
_PRODUCT = re.compile(
    r"(?:\[AMD/ATI\]|Corporation|Ltd\.)\s+(?:\S[^\[]*\[([^\]]+)\]|(\S[^\[(]*?))\s*(?:\(rev \w+\))?\s*$"
)
_CLASSES = {
    "VGA compatible controller": VGA,
    "3D controller": DISPLAY_3D,
    "Display controller": DISPLAY,
    "Processing accelerators": ACCELERATOR,
}
_MAKERS = {NVIDIA: "nvidia", AMD: "amd", INTEL: "intel", HUAWEI: "ascend", **OTHERS}
_NAMES = (
    ("nvidia corporation", "nvidia"),
    ("advanced micro devices", "amd"),
    ("intel corporation", "intel"),
    ("huawei", "ascend"),
)


def read_lspci(text: str, draft: Draft) -> None:
    """Add the accelerators that lspci lists; an old list of names doesn't matter."""
    gpus: list[GpuFacts] = []
    own: GpuFacts | None = None
    modules: dict[int, str] = {}
    for line in text.splitlines():
        device = _DEVICE.match(line)
        if device:
            own = _gpu(device)
            if own is not None:
                gpus.append(own)
        elif own is not None and (match := _DRIVER.match(line)):
            own.put("driver", match[1], SOURCE)
        elif own is not None and (match := _MODULES.match(line)):
            modules[id(own)] = match[1]
    for gpu in gpus:
        if id(gpu) in modules:
            gpu.put("driver", NO_DRIVER, SOURCE)  # -k was given, and no driver is in use
    # Further functions of one accelerator aren't further accelerators.
    first = {gpu.get("bus_id") for gpu in gpus if gpu.vendor == "ascend" and str(gpu.get("bus_id")).endswith(".0")}
    gpus = [
        gpu
        for gpu in gpus
        if gpu.vendor != "ascend" or gpu.get("bus_id") in first or f"{gpu.get('bus_id')[:-1]}0" not in first
    ]
    draft.add_gpus(gpus)
    nvidia = [gpu for gpu in gpus if gpu.vendor == "nvidia"]
    bound = {gpu.get("driver") for gpu in nvidia} - {None}
    if bound and bound <= NOUVEAU:
        draft.drivers["nvidia"].put("state", "nouveau", SOURCE)
    elif bound == {NO_DRIVER}:
        installed = any("nvidia" in modules.get(id(gpu), "").replace("nvidiafb", "") for gpu in nvidia)
        draft.drivers["nvidia"].put("state", "not-loaded" if installed else "missing", SOURCE)
    intel = next((gpu.get("driver") for gpu in gpus if gpu.vendor == "intel" and gpu.get("driver")), None)
    draft.drivers["intel"].put("kernel_module", intel if intel != NO_DRIVER else None, SOURCE)


def _gpu(device: re.Match[str]) -> GpuFacts | None:
    address, heading, code, rest = device.groups()
    code = code.lower() if code else _CLASSES.get(heading.strip())
    if code not in _CLASSES.values():
        return None
    ids = _IDS.search(rest)
    if ids:
        vendor = _MAKERS.get(ids[1].lower())
    else:
        vendor = next((vendor for word, vendor in _NAMES if word in rest.lower()), None)
    if vendor is None or (vendor == "intel") is (code == ACCELERATOR) is True:
        return None
    if vendor == "ascend" and code != ACCELERATOR:
        return None  # Huawei's server management controller
    gpu = GpuFacts(vendor)
    gpu.put("bus_id", bus_address(address), SOURCE)
    if ids:
        gpu.put("pci_id", f"{ids[1]}:{ids[2]}".lower(), SOURCE)
    elif product := _PRODUCT.search(rest):
        gpu.put("name", product[1] or product[2], SOURCE)
    return gpu
