"""Ascend NPUs: npu-smi's exact chip names, then device nodes and PCI; driver and CANN versions from their files."""

from __future__ import annotations

import re

from torchinstall.probe.facts import Facts, GpuFacts, VendorFacts
from torchinstall.probe.pci import ACCELERATOR, HUAWEI, PciDevice, add_card, add_device, bus_address

TYPE_CHECKING = False
if TYPE_CHECKING:
    from torchinstall.model.card import CardLookup
    from torchinstall.probe.system import System

_NODE = re.compile(r"davinci\d+")
_CHIP = re.compile(r"\d+\s+(?:Ascend\s?)?(\d{3}\w*)")
_USAGE = re.compile(r"\d+\s*/\s*(\d+)")
_INFO_VERSION = re.compile(r"^version\s*=\s*(\S+)", re.IGNORECASE | re.MULTILINE)
_BARE = "910"
"""What npu-smi calls every chip of the third generation: no exact name, the table knows more."""

_DRIVER = "/usr/local/Ascend/driver"
_HOMES = ("/usr/local/Ascend/ascend-toolkit/latest", "/usr/local/Ascend/cann", "/usr/local/Ascend/cann/latest")


def ascend_facts(system: System, devices: tuple[PciDevice, ...], cards: CardLookup) -> VendorFacts:
    """Return the NPUs and what is known of driver and CANN."""
    # Huawei's server management controller is a display device of the same vendor.
    own = [device for device in devices if device.vendor == HUAWEI and device.class_code == ACCELERATOR]
    nodes = davinci_nodes(system)
    if not own and not nodes:
        return VendorFacts()
    gpus = npu_smi_chips(system) if nodes else []
    for device in own:
        gpu = next((gpu for gpu in gpus if gpu.get("bus_id") == device.bus_id), None)
        if gpu is None:
            gpu = GpuFacts("ascend")
            gpus.append(gpu)
        add_device(gpu, device)
    while len(gpus) < len(nodes):
        gpu = GpuFacts("ascend")
        gpu.sources["vendor"] = "device node"
        gpus.append(gpu)
    for gpu in gpus:
        add_card(gpu, cards)
    gpus.sort(key=lambda gpu: gpu.get("bus_id") or "~")
    driver = Facts()
    driver.put("driver", _info(system, f"{_DRIVER}/version.info"), "version.info")
    driver.put("cann", cann_version(system), "ascend_toolkit_install.info")
    state = "ok" if nodes else "no-device" if driver.get("driver") else "missing"
    driver.put("state", state, "/dev")
    return VendorFacts(gpus, driver)


def davinci_nodes(system: System) -> tuple[str, ...]:
    """Return the device nodes of the NPUs."""
    return tuple(name for name in system.listdir("/dev") if _NODE.fullmatch(name))


def npu_smi_chips(system: System) -> list[GpuFacts]:
    """Return the chips of npu-smi's table: two lines each, the name in the first, the address in the second."""
    answer = system.run(["npu-smi", "info"], extra=("/usr/local/bin", "/usr/local/sbin"))
    if answer is None:
        return []
    if answer.rc != 0:
        system.note(f"npu-smi failed: {answer.ending()}")
        return []
    chips = []
    name = None
    for line in answer.out.splitlines():
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if len(cells) < 3:  # noqa: PLR2004 - name, health, figures
            continue
        match = _CHIP.fullmatch(cells[0])
        address = bus_address(cells[1])
        if match and address is None:
            name = match[1]
        elif address and name:
            chips.append(_chip(name, address, cells[2]))
            name = None
    return chips


def _chip(name: str, address: str, figures: str) -> GpuFacts:
    gpu = GpuFacts("ascend")
    gpu.put("name", f"Ascend {name}", "npu-smi")
    gpu.put("bus_id", address, "npu-smi")
    gpu.put("soc", name if name != _BARE else None, "npu-smi")
    usages = _USAGE.findall(figures)
    memory = int(usages[-1]) if usages else 0
    gpu.put("memory_mib", memory or None, "npu-smi")
    return gpu


def cann_version(system: System) -> str | None:
    """Return the version of the CANN toolkit that the environment names, or the one in its usual place."""
    named = [system.environ.get(name) for name in ("ASCEND_TOOLKIT_HOME", "ASCEND_HOME_PATH")]
    arch = system.arch or "aarch64"
    for home in (*named, *_HOMES):
        if not home or not home.startswith("/"):
            continue
        for folder in (f"{home}/{arch}-linux", home):
            if version := _info(system, f"{folder}/ascend_toolkit_install.info"):
                return version
    return None


def _info(system: System, path: str) -> str | None:
    text = system.read_text(path)
    match = _INFO_VERSION.search(text) if text else None
    return match[1] if match else None
