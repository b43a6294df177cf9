"""Intel graphics from PCI, display adapters included: which of them PyTorch can compute on is the table's to say."""

from __future__ import annotations

import re

from torchinstall.model.machine import LINUX
from torchinstall.probe.facts import Facts, GpuFacts, VendorFacts
from torchinstall.probe.pci import ACCELERATOR, INTEL, NO_DRIVER, PciDevice, add_card, add_device

TYPE_CHECKING = False
if TYPE_CHECKING:
    from torchinstall.model.card import CardLookup
    from torchinstall.probe.system import System

_LOADER = re.compile(r"libze_loader\.so\.(\d+\.\d+\.\d+)")


def intel_facts(system: System, devices: tuple[PciDevice, ...], cards: CardLookup) -> VendorFacts:
    """Return Intel's GPUs, display adapters included, with their family where the table knows one."""
    gpus = []
    for device in devices:
        # Intel's processing accelerators on the bus are NPUs and crypto engines; its GPUs are display devices.
        if device.vendor != INTEL or device.class_code == ACCELERATOR:
            continue
        gpu = GpuFacts("intel")
        add_device(gpu, device)
        add_card(gpu, cards)
        gpus.append(gpu)
    return VendorFacts(gpus, _driver(system, gpus) if gpus and system.os_name == LINUX else None)


def _driver(system: System, gpus: list[GpuFacts]) -> Facts:
    driver = Facts()
    bound = next((gpu.get("driver") for gpu in gpus if gpu.get("driver") not in {None, NO_DRIVER}), None)
    driver.put("kernel_module", bound, "pci")
    driver.put("level_zero", level_zero(system), "libze_loader")
    if any(gpu.may_compute for gpu in gpus) and not level_zero_driver(system):
        system.note("no Level Zero driver of Intel's GPUs was found (libze_intel_gpu.so.1): XPU needs it")
    nodes = render_nodes(system)
    if bound is None:
        driver.put("state", "missing", "pci")
    elif not nodes:
        driver.put("state", "no-device", "/dev")
    else:
        driver.put("state", "ok", "/dev")
        if not any(system.may_use(node) for node in nodes):
            system.note(f"{nodes[0]} can't be opened by this user: XPU needs membership of the group render")
    return driver


def render_nodes(system: System) -> tuple[str, ...]:
    """Return the nodes through which programs compute on GPUs of any maker."""
    return tuple(f"/dev/dri/{name}" for name in system.listdir("/dev/dri") if name.startswith("renderD"))


def level_zero_driver(system: System) -> bool:
    """Tell whether the driver behind the Level Zero loader is where distributions put it."""
    return any(system.exists(f"{folder}/libze_intel_gpu.so.1") for folder in _folders(system))


def _folders(system: System) -> tuple[str, ...]:
    return (f"/usr/lib/{system.arch}-linux-gnu", "/usr/lib64", "/usr/lib", "/usr/local/lib", "/usr/local/lib64")


def level_zero(system: System) -> str | None:
    """Return the version of the Level Zero loader, from the name of its file."""
    for folder in _folders(system):
        link = system.readlink(f"{folder}/libze_loader.so.1")
        if link and (match := _LOADER.search(link)):
            return match[1]
    return None
