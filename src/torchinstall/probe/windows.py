"""Display adapters of Windows, from the registry: no PowerShell, no WMI, milliseconds.

The numbers are those that WMI shows (``Win32_VideoController``). Of NVIDIA's the last five digits are the
release: 32.0.15.8129 is 581.29.
"""

from __future__ import annotations

import re

from torchinstall.probe.pci import DISPLAY, PciDevice

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from torchinstall.probe.system import System

CLASS = r"SYSTEM\CurrentControlSet\Control\Class\{4d36e968-e325-11ce-bfc1-08002be10318}"
"""The class of display adapters; each installed one has a numbered key there."""

VALUES = ("MatchingDeviceId", "DriverDesc", "DriverVersion", "ProviderName", "HardwareInformation.qwMemorySize")

_HARDWARE = re.compile(r"PCI\\VEN_([0-9A-F]{4})&DEV_([0-9A-F]{4})", re.IGNORECASE)
_WINDOWS_NUMBER = re.compile(r"\d+\.\d+\.(\d+)\.(\d+)")
_RELEASE_DIGITS = 5
_BASIC = "microsoft"
"""Provider of the adapter that Windows takes where the maker's driver is missing."""


def registry_adapters(system: System) -> tuple[PciDevice, ...]:
    """Return the display adapters that are or were installed, in the registry's order."""
    found = (adapter(key) for key in system.registry_keys(CLASS, VALUES))
    return tuple(device for device in found if device is not None)


def adapter(values: Mapping[str, object]) -> PciDevice | None:
    """Return the device of one key by the VEN and DEV parts of its hardware id; ``None`` for no PCI device."""
    match = _HARDWARE.search(str(values.get("MatchingDeviceId", "")))
    if match is None:
        return None
    basic = str(values.get("ProviderName", "")).lower() == _BASIC
    memory = values.get("HardwareInformation.qwMemorySize")
    return PciDevice(
        vendor=match[1].lower(),
        device=match[2].lower(),
        class_code=DISPLAY,
        driver=None,
        # The basic adapter's own name says nothing of the card.
        name=None if basic else str(values.get("DriverDesc") or "") or None,
        driver_version=None if basic else str(values.get("DriverVersion") or "") or None,
        memory_mib=memory >> 20 if isinstance(memory, int) and memory > 0 else None,
    )


def nvidia_release(number: str | None) -> str | None:
    """Return the NVIDIA release that a driver number of Windows stands for; ``None`` for no such number."""
    match = _WINDOWS_NUMBER.fullmatch(number or "")
    if match is None:
        return None
    digits = f"{match[1]}{match[2]:0>4}"[-_RELEASE_DIGITS:]
    return f"{int(digits[:3])}.{digits[3:]}" if len(digits) == _RELEASE_DIGITS else None
