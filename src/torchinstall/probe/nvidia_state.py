"""What can be said of the NVIDIA driver: one word, from what every source answered. Pure."""

from __future__ import annotations

from torchinstall.model.value import Value
from torchinstall.probe.native import NVML_DRIVER_NOT_LOADED, NVML_LIBRARY_MISMATCH, NVML_NO_DEVICE, NativeAnswer
from torchinstall.probe.nvidia_files import DeviceNodes
from torchinstall.probe.smi import NOT_FOUND, NOT_LOADED, SmiAnswer

NOUVEAU = frozenset({"nouveau", "nova", "nova_core"})


class Evidence(Value):
    """What the state is judged by. ``bound``: the kernel driver of every NVIDIA card on the bus.

    ``registered``: the registry of Windows names a driver of NVIDIA's for one.
    """

    bound: tuple[str, ...] = ()
    module: bool = False
    module_file: bool = False
    nodes: DeviceNodes = DeviceNodes()
    nvml: NativeAnswer = NativeAnswer()
    smi: SmiAnswer | None = None
    wsl: bool = False
    windows: bool = False
    registered: bool = False
    tegra: bool = False
    libraries: bool = False


def driver_state(seen: Evidence) -> tuple[str | None, str, str]:
    """Return the state, the source that decided, and a note (``""`` for none); no state without a driver or card."""
    if told := _told(seen):
        return told
    if seen.tegra:
        return "ok", "tegra", ""  # its driver is part of the system, there is no other
    if seen.module:
        return _module_loaded(seen)
    if seen.wsl or seen.windows:
        return _under_windows(seen)
    if not seen.bound:
        if seen.nodes.gpus:
            return "unknown", "/dev", "/dev has a node of an NVIDIA card, and nothing tells what the card is"
        return None, "", ""
    if any(driver in NOUVEAU for driver in seen.bound):
        return "nouveau", "pci", ""
    if seen.nvml.loaded or seen.module_file or (seen.smi is not None and seen.smi.rc is not None):
        source = "nvml" if seen.nvml.loaded else "kernel module file" if seen.module_file else "nvidia-smi"
        return "not-loaded", source, "the NVIDIA driver is installed, but its kernel module isn't loaded"
    return "missing", "pci", ""


_NOT_STARTED, _STARTING = 1, 2


def device_notes(nvml: NativeAnswer, manager: bool | None) -> tuple[str, ...]:
    """Return what keeps programs from a card that NVML lists, or changes what its numbers mean."""
    notes = []
    for gpu in nvml.gpus:
        name = gpu.name or "the card"
        if gpu.mig and gpu.instances == 0:
            notes.append(
                f"MIG is on for {name} at {gpu.bus_id}, without an instance: CUDA programs find no device there"
            )
        elif gpu.mig and gpu.instances:
            notes.append(f"{name} at {gpu.bus_id} is divided into {gpu.instances} MIG instances: a program uses one")
        if gpu.virtual:
            notes.append(f"{name} is a virtual GPU: the driver named here is the guest's, the host has its own")
    waiting = any(gpu.fabric in {_NOT_STARTED, _STARTING} for gpu in nvml.gpus)
    if waiting or manager is False:
        reason = "the NVLink fabric isn't ready" if waiting else "there are NVSwitches, and no fabric manager runs"
        notes.append(f"{reason}: CUDA fails with error 802 until nvidia-fabricmanager of the driver's version is up")
    return tuple(notes)


_CUDA_CODES = {
    34: (
        "the libcuda.so.1 that programs find is the CUDA toolkit's stub, which drives nothing: "
        "take its folder out of LD_LIBRARY_PATH"
    ),
    304: "CUDA may not open the device nodes here (error 304): a sandbox or control group keeps them from programs",
    802: "CUDA isn't ready (error 802): the fabric manager of the driver's version must run",
    803: "libcuda is of another release than the kernel module (error 803): reboot, or reload the module",
    804: "a cuda-compat libcuda is found first, and this card isn't one that it supports (error 804)",
    999: "CUDA fails to start (error 999): the module nvidia_uvm may not be loaded",
}
"""CUresult, https://docs.nvidia.com/cuda/cuda-driver-api/: what keeps every program from starting CUDA."""


def libcuda_note(libcuda: NativeAnswer) -> str | None:
    """Return what libcuda's own answer means for programs; nothing for success and for codes that tell nothing."""
    return _CUDA_CODES.get(libcuda.code or 0) if libcuda.loaded else None


def _told(seen: Evidence) -> tuple[str, str, str] | None:
    """Return what NVML or nvidia-smi said in so many words."""
    nvml, smi = seen.nvml, seen.smi
    if nvml.gpus:
        return "ok", "nvml", ""
    if nvml.code == NVML_LIBRARY_MISMATCH:
        return "library-mismatch", "nvml", ""
    if nvml.code in NVML_NO_DEVICE or nvml.count == 0:
        return ("no-device", "nvml", "") if seen.module or seen.bound else None
    if smi is None:
        return None
    if smi.gpus:
        return "ok", "nvidia-smi", ""
    if smi.mismatch:
        return "library-mismatch", "nvidia-smi", ""
    if smi.rc == NOT_FOUND or "no devices were found" in smi.text.lower():
        return "no-device", "nvidia-smi", ""
    return None


def _module_loaded(seen: Evidence) -> tuple[str, str, str]:
    nvml, nodes = seen.nvml, seen.nodes
    # The first use of NVML would have made the nodes: without an answer from it, what is missing stays missing.
    if nodes.seen and not nodes.usable:
        return (
            "no-device",
            "/dev",
            "the kernel module is loaded, but /dev has no NVIDIA device: no program can reach a card",
        )
    if nvml.ending:
        return "unknown", "nvml", ""  # the note on how it ended stands already
    if nvml.loaded and nvml.code != NVML_DRIVER_NOT_LOADED:
        return "unknown", "nvml", f"NVML failed with code {nvml.code}"
    if nvml.loaded or (seen.smi is not None and seen.smi.rc == NOT_LOADED):
        return "unknown", "nvml" if nvml.loaded else "nvidia-smi", "the driver's tool says that no driver is loaded"
    if not nodes.seen:
        return "unknown", "/dev", "/dev could not be listed: whether a program can reach the card isn't known"
    return "ok", "sysfs", ""


def _under_windows(seen: Evidence) -> tuple[str | None, str, str]:
    where = "WSL2" if seen.wsl else "Windows"
    if seen.nvml.ending or (seen.nvml.loaded and seen.nvml.code is not None):
        return (
            "unknown",
            "nvml",
            f"the NVIDIA driver of {where} is there, but NVML didn't answer (code {seen.nvml.code})",
        )
    if seen.smi is not None:
        return "unknown", "nvidia-smi", f"the NVIDIA driver of {where} is there, but nvidia-smi didn't list its cards"
    if seen.libraries:
        return (
            "unknown",
            "driver library",
            f"the NVIDIA driver of {where} is there, but neither NVML nor nvidia-smi could be asked",
        )
    if seen.registered:
        return "ok", "registry", ""
    return ("missing", "pci", "") if seen.bound else (None, "", "")
