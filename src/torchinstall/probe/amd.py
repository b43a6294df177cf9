"""AMD accelerators: the kernel's compute topology (KFD) first, which no override can deceive, then PCI.

``HSA_OVERRIDE_GFX_VERSION`` makes rocminfo tell another chip than the one that is there; sysfs doesn't.
"""

from __future__ import annotations

import re

from torchinstall.model.machine import LINUX
from torchinstall.probe.facts import Facts, GpuFacts, VendorFacts
from torchinstall.probe.pci import AMD, PciDevice, add_card, add_device
from torchinstall.probe.rocminfo import rocminfo_gpus

TYPE_CHECKING = False
if TYPE_CHECKING:
    from torchinstall.model.card import CardLookup
    from torchinstall.probe.system import System

_NODES = "/sys/class/kfd/kfd/topology/nodes"
_AMD_IN_KFD = 4098
"""0x1002. NVIDIA's open module and Hygon's driver register nodes too, under their own vendor id."""

_OVERRIDE = "HSA_OVERRIDE_GFX_VERSION"
_KERNEL = re.compile(r"\d+\.\d+")
_VERSION = re.compile(r"\d+\.\d+(?:\.\d+)?")


def amd_facts(system: System, devices: tuple[PciDevice, ...], cards: CardLookup) -> VendorFacts:
    """Return AMD's GPUs and what is known of their stack."""
    gpus = kfd_gpus(system)
    override = system.environ.get(_OVERRIDE)
    if override and gpus:
        system.note(f"{_OVERRIDE}={override} is set: programs are told another gfx than the one that is here")
    for device in devices:
        if device.vendor != AMD:
            continue
        gpu = next((gpu for gpu in gpus if device.bus_id and gpu.get("bus_id") == device.bus_id), None)
        if gpu is None:
            gpu = GpuFacts("amd")
            gpus.append(gpu)
        add_device(gpu, device)
        gpu.put("memory_mib", _vram(system, device), "sysfs")
    for gpu in gpus:
        add_card(gpu, cards)
    _confirm(system, gpus, cards)
    gpus.sort(key=lambda gpu: gpu.get("bus_id") or "~")
    return VendorFacts(gpus, _driver(system) if gpus and system.os_name == LINUX else None)


def _confirm(system: System, gpus: list[GpuFacts], cards: CardLookup) -> None:
    """Ask rocminfo where the kernel and the table leave the gfx open, and under WSL2, which has no KFD."""
    # A process costs 50 ms and may hang with the driver: not for what the kernel has told already.
    wsl = system.exists("/dev/dxg") and not gpus
    if not wsl and not any(gpu.get("gfx") is None for gpu in gpus):
        return
    for told in rocminfo_gpus(system, cards):
        own = next((gpu for gpu in gpus if gpu.get("bus_id") == told.get("bus_id")), None)
        if own is not None:
            own.take(told)
        elif wsl:
            gpus.append(told)


def kfd_gpus(system: System) -> list[GpuFacts]:
    """Return the GPUs of the compute topology with their gfx target; one card's partitions are one GPU."""
    gpus: list[GpuFacts] = []
    places = set()
    for node in sorted(system.listdir(_NODES), key=lambda name: (len(name), name)):
        # Nodes of GPUs that weren't given to a container are listed, but can't be read.
        text = system.read_text(f"{_NODES}/{node}/properties")
        properties = _numbers(text or "")
        if properties.get("vendor_id") != _AMD_IN_KFD or not properties.get("simd_count"):
            continue
        gpu = GpuFacts("amd")
        location, domain = properties.get("location_id", 0), properties.get("domain", 0)
        if location:
            # Compute partitions (CPX) of a card are functions of the same PCI device.
            if (domain, location >> 3) in places:
                continue
            places.add((domain, location >> 3))
            gpu.put(
                "bus_id", f"{domain:04x}:{location >> 8 & 0xFF:02x}:{location >> 3 & 0x1F:02x}.{location & 7}", "kfd"
            )
        if device := properties.get("device_id"):
            gpu.put("pci_id", f"{AMD}:{device:04x}", "kfd")
        gpu.put("gfx", gfx_target(properties.get("gfx_target_version", 0)), "kfd")
        if properties.get("cpu_cores_count"):
            gpu.put("integrated", value=True, source="kfd")
        gpus.append(gpu)
    return gpus


def gfx_target(number: int) -> str | None:
    """Return the name of a gfx_target_version: 90010 is gfx90a, 110000 is gfx1100."""
    if number <= 0:
        return None  # a CPU, or a kernel from before this key
    return f"gfx{number // 10000}{number // 100 % 100}{number % 100:x}"


def _numbers(text: str) -> dict[str, int]:
    pairs = (line.split() for line in text.splitlines())
    return {pair[0]: int(pair[1]) for pair in pairs if len(pair) == 2 and pair[1].isdecimal()}  # noqa: PLR2004


def _vram(system: System, device: PciDevice) -> int | None:
    line = system.read_line(f"/sys/bus/pci/devices/{device.bus_id}/mem_info_vram_total")
    return int(line) >> 20 if line and line.isdecimal() else None


def _driver(system: System) -> Facts:
    driver = Facts()
    kernel = _KERNEL.match(system.kernel_release or "")
    driver.put("kernel", kernel[0] if kernel else None, "uname")
    loaded = system.is_dir("/sys/module/amdgpu")
    # Only the module of AMD's own packages has a version; the kernel's own has none.
    version = system.read_line("/sys/module/amdgpu/version")
    driver.put("amdgpu", version, "sysfs")
    if loaded:
        driver.put("dkms", version is not None, "sysfs")
    driver.put("rocm", rocm_version(system), "/opt/rocm")
    if system.exists("/dev/dxg"):
        # Under WSL2 the driver is that of Windows, reached through this node and a library of ROCm.
        driver.put("state", "ok" if driver.get("rocm") else "missing", "/dev/dxg")
    elif not loaded:
        driver.put("state", "not-loaded", "sysfs")
    elif not system.exists("/dev/kfd"):
        driver.put("state", "no-device", "/dev")
        system.note("there is no /dev/kfd: ROCm programs find no device (a container must be given it)")
    else:
        driver.put("state", "ok", "/dev")
        if not system.may_use("/dev/kfd"):
            system.note("/dev/kfd can't be opened by this user: ROCm needs membership of the groups render and video")
    return driver


def rocm_version(system: System) -> str | None:
    """Return the installed ROCm release, such as 7.2.0."""
    for folder in (system.environ.get("ROCM_PATH"), "/opt/rocm", "/opt/rocm/core"):
        line = system.read_line(f"{folder}/.info/version") if folder and folder.startswith("/") else None
        if line and (match := _VERSION.match(line)):
            return match[0]
    return None
