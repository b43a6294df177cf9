"""Display adapters of Windows, from the registry: no PowerShell, no WMI, milliseconds."""

from __future__ import annotations

import re
import sys

from torchinstall.probe.pci import DISPLAY, PciDevice

TYPE_CHECKING = False
if TYPE_CHECKING:
    from torchinstall.probe.system import System

_CLASS = r"SYSTEM\CurrentControlSet\Control\Class\{4d36e968-e325-11ce-bfc1-08002be10318}"
"""The class of display adapters; each installed one has a numbered key there."""

_HARDWARE = re.compile(r"PCI\\VEN_([0-9A-F]{4})&DEV_([0-9A-F]{4})", re.IGNORECASE)


def registry_adapters(system: System) -> tuple[PciDevice, ...]:
    """Return the display adapters that have a driver, in the registry's order."""
    devices: list[PciDevice] = []
    if sys.platform == "win32":
        import winreg

        try:
            with winreg.OpenKey(winreg.HKEY_LOCAL_MACHINE, _CLASS) as top:
                for number in range(winreg.QueryInfoKey(top)[0]):
                    try:
                        with winreg.OpenKey(top, winreg.EnumKey(top, number)) as key:
                            device = adapter(str(winreg.QueryValueEx(key, "MatchingDeviceId")[0]))
                    except OSError:
                        continue  # "Properties", which is closed to users, and adapters that are no PCI devices
                    if device is not None:
                        devices.append(device)
        except OSError as error:
            system.note(f"the display adapters could not be read from the registry: {error}")
    return tuple(devices)


def adapter(hardware: str) -> PciDevice | None:
    """Return the device that a hardware id names by its VEN and DEV parts; ``None`` for no PCI device."""
    match = _HARDWARE.search(hardware)
    if match is None:
        return None
    return PciDevice(vendor=match[1].lower(), device=match[2].lower(), class_code=DISPLAY, driver=None)
