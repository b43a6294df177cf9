"""Ascend NPUs: npu-smi's exact chip names, then device nodes and PCI; driver and CANN versions from their files."""

from __future__ import annotations

import re

from torchinstall.probe import npu_smi
from torchinstall.probe.facts import Facts, GpuFacts, VendorFacts
from torchinstall.probe.pci import ACCELERATOR, HUAWEI, PciDevice, add_card, add_device

TYPE_CHECKING = False
if TYPE_CHECKING:
    from torchinstall.model.card import CardLookup
    from torchinstall.probe.system import System

_NODE = re.compile(r"davinci\d+")
_INFO_VERSION = re.compile(r"^version\s*=\s*(\S+)", re.IGNORECASE | re.MULTILINE)
_DRIVER = "/usr/local/Ascend/driver"
_HOMES = ("/usr/local/Ascend/ascend-toolkit/latest", "/usr/local/Ascend/cann", "/usr/local/Ascend/cann/latest")


def ascend_facts(system: System, devices: tuple[PciDevice, ...], cards: CardLookup) -> VendorFacts:
    """Return the NPUs and what is known of driver and CANN."""
    # Huawei's server management controller is a display device of the same vendor.
    own = _cards([device for device in devices if device.vendor == HUAWEI and device.class_code == ACCELERATOR])
    nodes = davinci_nodes(system)
    if not own and not nodes:
        return VendorFacts()
    table = npu_smi_table(system) if nodes else ""
    gpus = npu_smi.chips(table)
    for device in own:
        same = [gpu for gpu in gpus if gpu.get("bus_id") == device.bus_id]
        for gpu in same or [GpuFacts("ascend")]:  # two chips of a 310P Duo share one address
            add_device(gpu, device)
            if not same:
                gpus.append(gpu)
    while len(gpus) < len(nodes):
        gpu = GpuFacts("ascend")
        gpu.sources["vendor"] = "device node"
        gpus.append(gpu)
    for gpu in gpus:
        add_card(gpu, cards)
    gpus.sort(key=lambda gpu: gpu.get("bus_id") or "~")
    driver = Facts()
    driver.put("driver", info_version(system.read_text(f"{_DRIVER}/version.info")), "version.info")
    driver.put("driver", npu_smi.driver_version(table), "npu-smi")
    driver.put("cann", cann_version(system), "ascend_toolkit_install.info")
    if nodes and not any(system.may_use(f"/dev/{node}") for node in nodes):
        system.note(f"/dev/{nodes[0]} can't be opened by this user: NPU programs need its group (HwHiAiUser)")
    state = "ok" if nodes else "no-device" if driver.get("driver") else "missing"
    driver.put("state", state, "/dev")
    return VendorFacts(gpus, driver)


def davinci_nodes(system: System) -> tuple[str, ...]:
    """Return the device nodes of the NPUs."""
    return tuple(name for name in system.listdir("/dev") if _NODE.fullmatch(name))


def npu_smi_table(system: System) -> str:
    """Return what ``npu-smi info`` prints; ``""`` where there is no such command, or (with a note) it failed."""
    answer = system.run(["npu-smi", "info"], extra=("/usr/local/bin", "/usr/local/sbin"))
    if answer is None:
        return ""
    if answer.rc != 0:
        system.note(f"npu-smi failed: {answer.ending()}")
        return ""
    return answer.out


def cann_version(system: System) -> str | None:
    """Return the version of the CANN toolkit that the environment names, or the one in its usual place."""
    named = [system.environ.get(name) for name in ("ASCEND_TOOLKIT_HOME", "ASCEND_HOME_PATH")]
    arch = system.arch or "aarch64"
    for home in (*named, *_HOMES):
        if not home or not home.startswith("/"):
            continue
        for folder in (f"{home}/{arch}-linux", home):
            if version := info_version(system.read_text(f"{folder}/ascend_toolkit_install.info")):
                return version
    return None


def info_version(text: str | None) -> str | None:
    """Return the version in the text of one of Ascend's ``.info`` files."""
    match = _INFO_VERSION.search(text) if text else None
    return match[1] if match else None


def _cards(devices: list[PciDevice]) -> list[PciDevice]:
    """Leave out further functions of a card that has a function 0."""
    first = {device.bus_id for device in devices if device.bus_id and device.bus_id.endswith(".0")}
    return [
        device
        for device in devices
        if device.bus_id is None or device.bus_id.endswith(".0") or f"{device.bus_id[:-1]}0" not in first
    ]
