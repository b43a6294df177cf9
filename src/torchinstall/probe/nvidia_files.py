"""What the files of /sys, /proc and /dev say of the NVIDIA driver: microseconds, no privileges, no library."""

from __future__ import annotations

import re

from torchinstall.model.value import Value
from torchinstall.model.version import is_driver_version
from torchinstall.probe.pci import bus_address

TYPE_CHECKING = False
if TYPE_CHECKING:
    from torchinstall.probe.system import System

# Four wordings of this line are in the field, with double spaces and with dates in any language;
# the version is the first number of this shape that is no part of a longer word.
_VERSION = re.compile(r"(?<![\w.])(\d{2,4}\.\d{1,3}(?:\.\d{1,3})?)(?![\w.])")
_GPU_NODE = re.compile(r"nvidia\d+")
_PROC = "/proc/driver/nvidia"
_NVRM = "NVRM version:"


class DeviceNodes(Value):
    """The driver's nodes in /dev. ``seen`` is false where /dev itself couldn't be listed."""

    seen: bool = False
    control: bool = False
    gpus: tuple[str, ...] = ()
    wsl: bool = False

    @property
    def usable(self) -> bool:
        """Whether a program could reach a device through them."""
        return (self.control and bool(self.gpus)) or self.wsl


class ProcGpu(Value):
    """One device as /proc tells it: no compute capability there, and the minor number is no index."""

    bus_id: str
    name: str | None = None
    uuid: str | None = None
    excluded: bool = False


def sysfs_module_version(system: System) -> str | None:
    """Return the version of the loaded kernel module."""
    line = system.read_line("/sys/module/nvidia/version")
    if line is None:
        return None
    if not is_driver_version(line):
        system.note(f"/sys/module/nvidia/version holds no driver version: {line:.40}")
        return None
    return line


def procfs_driver(system: System) -> tuple[str | None, str | None]:
    """Return the version of the loaded kernel module and whether it is the ``open`` or the ``closed`` one."""
    text = system.read_text(f"{_PROC}/version")
    if text is None:
        return None, None
    found = nvrm_version(text)
    if found is None:
        line = next((line for line in text.splitlines() if line.startswith(_NVRM)), "")
        system.note(f"{_PROC}/version holds no driver version: {line:.60}")
        return None, None
    return found


def nvrm_version(text: str) -> tuple[str, str] | None:
    """Return version and flavour of the kernel module from the text of /proc/driver/nvidia/version."""
    # The compiler's version stands in the next line.
    line = next((line.strip() for line in text.splitlines() if line.strip().startswith(_NVRM)), "")
    match = _VERSION.search(line)
    return (match[1], "open" if " Open " in line else "closed") if match else None


def procfs_gpus(system: System) -> tuple[ProcGpu, ...]:
    """Return the devices that the loaded driver has taken."""
    gpus = []
    for name in system.listdir(f"{_PROC}/gpus"):
        gpu = gpu_information(system.read_text(f"{_PROC}/gpus/{name}/information") or "", name)
        if gpu is None:
            system.note(f"{_PROC}/gpus/{name} tells no PCI address")
        else:
            gpus.append(gpu)
    return tuple(gpus)


def gpu_information(text: str, folder: str = "") -> ProcGpu | None:
    """Return the device of one ``information`` file; its ``folder`` is named after the address, too."""
    fields = {key.strip(): value.strip() for key, _, value in (line.partition(":") for line in text.splitlines())}
    address = bus_address(fields.get("Bus Location", "")) or bus_address(folder)
    if address is None:
        return None
    model, uuid = fields.get("Model", ""), fields.get("GPU UUID", "")
    return ProcGpu(
        bus_id=address,
        name=model if model and model != "Unknown" else None,
        # Before the first use of a card its UUID is a row of question marks.
        uuid=uuid if uuid.startswith("GPU-") and "?" not in uuid else None,
        excluded="Yes" in {fields.get("GPU Excluded"), fields.get("Blacklisted")},
    )


def device_nodes(system: System) -> DeviceNodes:
    """Return which of the driver's device nodes are there; in a container their absence means no access."""
    names = system.listdir("/dev")
    return DeviceNodes(
        seen=bool(names),
        control="nvidiactl" in names,
        gpus=tuple(name for name in names if _GPU_NODE.fullmatch(name)),
        wsl="dxg" in names,
    )


def fabric_manager(system: System) -> bool | None:
    """Tell whether the fabric manager runs; ``None`` where there are no NVSwitches for it to manage."""
    if not any(name.startswith("nvidia-nvswitch") for name in system.listdir("/dev")):
        return None
    # The service writes it when it is up. Inside a container the file of the host isn't seen.
    return any(system.exists(f"{run}/nvidia-fabricmanager/nv-fabricmanager.pid") for run in ("/run", "/var/run"))


def module_file(system: System, kernel: str | None) -> str | None:
    """Return the installed kernel module of the running kernel, loaded or not."""
    if not kernel:
        return None
    base = f"/lib/modules/{kernel}"
    for folder in ("updates/dkms", "extra", "kernel/drivers/video", "extra/nvidia", "updates", "kernel/nvidia"):
        for suffix in ("", ".xz", ".zst", ".gz"):
            if system.exists(path := f"{base}/{folder}/nvidia.ko{suffix}"):
                return path
    return None
