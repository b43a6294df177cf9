"""Asks NVML, in a process of its own (``python -I -S``): the library may hang or abort.

Arguments: a cookie, then what to hand to the loader, in order. After every step the facts so far are
printed as JSON between two cookies, so that a hang or a crash later loses only what comes after.
Constants and structures: NVIDIA's NVML API reference, https://docs.nvidia.com/deploy/nvml-api/.
"""

from __future__ import annotations

import ctypes
import json
import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any


class PciInfo(ctypes.Structure):
    """nvmlPciInfo_t, version 3."""

    _fields_ = (
        ("bus_id_legacy", ctypes.c_char * 16),
        ("domain", ctypes.c_uint),
        ("bus", ctypes.c_uint),
        ("device", ctypes.c_uint),
        ("pci_device_id", ctypes.c_uint),
        ("pci_subsystem_id", ctypes.c_uint),
        ("bus_id", ctypes.c_char * 32),
    )


class Memory(ctypes.Structure):
    """nvmlMemory_t, version 1; in bytes."""

    _fields_ = (("total", ctypes.c_ulonglong), ("free", ctypes.c_ulonglong), ("used", ctypes.c_ulonglong))


class FabricInfo(ctypes.Structure):
    """nvmlGpuFabricInfo_t, with room to spare: later versions of it are longer."""

    _fields_ = (
        ("cluster_uuid", ctypes.c_ubyte * 16),
        ("status", ctypes.c_int),
        ("clique_id", ctypes.c_uint),
        ("state", ctypes.c_ubyte),
        ("spare", ctypes.c_ubyte * 64),
    )


VIRTUAL_GPU = 2
"""NVML_GPU_VIRTUALIZATION_MODE_VGPU: this is a guest that was given a part of a card."""


def load(candidates: Sequence[str]) -> tuple[Any, str, str]:
    """Return the library, or None and the loader's complaints."""
    complaints = []
    for candidate in candidates:
        try:
            return ctypes.CDLL(candidate), candidate, ""
        except OSError as error:  # noqa: PERF203 - a few candidates, each may fail
            complaints.append(str(error))
    return None, "", "; ".join(complaints)


def call(library: Any, names: Sequence[str], *arguments: Any) -> int | None:
    """Call the first function of these names that the library has; None where it has none of them."""
    for name in names:
        function = getattr(library, name, None)
        if function is not None:
            return int(function(*arguments))
    return None


def text(library: Any, names: Sequence[str], *before: Any) -> str | None:
    """Return what a function writes into a buffer; None where it fails."""
    buffer = ctypes.create_string_buffer(96)
    done = call(library, names, *before, buffer, ctypes.c_uint(96))
    return buffer.value.decode("utf-8", "replace") if done == 0 else None


def describe(library: Any, handle: ctypes.c_void_p) -> dict[str, Any]:
    """Return the facts of one device."""
    facts: dict[str, Any] = {
        "name": text(library, ["nvmlDeviceGetName"], handle),
        "uuid": text(library, ["nvmlDeviceGetUUID"], handle),
    }
    major, minor = ctypes.c_int(), ctypes.c_int()
    names = ["nvmlDeviceGetCudaComputeCapability"]
    if call(library, names, handle, ctypes.byref(major), ctypes.byref(minor)) == 0:
        facts["compute_capability"] = f"{major.value}.{minor.value}"
    pci = PciInfo()
    newest = call(library, ["nvmlDeviceGetPciInfo_v3"], handle, ctypes.byref(pci))
    if newest == 0 or call(library, ["nvmlDeviceGetPciInfo_v2"], handle, ctypes.byref(pci)) == 0:
        # Version 2 has reserved fields in place of the longer address.
        facts["bus_id"] = (pci.bus_id if newest == 0 and pci.bus_id else pci.bus_id_legacy).decode("ascii", "replace")
        if pci.pci_device_id:
            facts["pci_id"] = f"{pci.pci_device_id & 0xFFFF:04x}:{pci.pci_device_id >> 16:04x}"
    memory = Memory()
    if call(library, ["nvmlDeviceGetMemoryInfo"], handle, ctypes.byref(memory)) == 0 and memory.total:
        facts["memory_mib"] = memory.total >> 20
    current, pending = ctypes.c_uint(), ctypes.c_uint()
    if call(library, ["nvmlDeviceGetMigMode"], handle, ctypes.byref(current), ctypes.byref(pending)) == 0:
        facts["mig"] = current.value == 1
        if facts["mig"]:
            facts["instances"] = instances(library, handle)
    mode = ctypes.c_int()
    if call(library, ["nvmlDeviceGetVirtualizationMode"], handle, ctypes.byref(mode)) == 0:
        facts["virtual"] = mode.value == VIRTUAL_GPU
    fabric = FabricInfo()
    if call(library, ["nvmlDeviceGetGpuFabricInfo"], handle, ctypes.byref(fabric)) == 0:
        facts["fabric"] = fabric.state
    return facts


def instances(library: Any, handle: ctypes.c_void_p) -> int | None:
    """Return how many MIG instances the device is divided into; ``None`` where that can't be told."""
    most = ctypes.c_uint()
    if call(library, ["nvmlDeviceGetMaxMigDeviceCount"], handle, ctypes.byref(most)) != 0:
        return None
    found = 0
    for index in range(min(most.value, 64)):
        device = ctypes.c_void_p()
        names = ["nvmlDeviceGetMigDeviceHandleByIndex"]
        found += call(library, names, handle, ctypes.c_uint(index), ctypes.byref(device)) == 0
    return found


def ask(candidates: Sequence[str], emit: Callable[[dict[str, Any]], None]) -> None:
    """Fill in the facts, telling them after each step."""
    facts: dict[str, Any] = {"loaded": False, "gpus": []}
    library, path, complaint = load(candidates)
    if library is None:
        facts["error"] = complaint
        emit(facts)
        return
    facts.update(loaded=True, path=path)
    emit(facts)
    facts["code"] = call(library, ["nvmlInit_v2", "nvmlInit"])
    if facts["code"] != 0:
        emit(facts)
        return
    facts["driver"] = text(library, ["nvmlSystemGetDriverVersion"])
    version = ctypes.c_int()
    names = ["nvmlSystemGetCudaDriverVersion_v2", "nvmlSystemGetCudaDriverVersion"]
    if call(library, names, ctypes.byref(version)) == 0:
        facts["cuda"] = version.value
    emit(facts)
    count = ctypes.c_uint()
    done = call(library, ["nvmlDeviceGetCount_v2", "nvmlDeviceGetCount"], ctypes.byref(count))
    if done != 0:
        facts["code"] = done
        emit(facts)
        return
    facts["count"] = count.value
    emit(facts)
    for index in range(min(count.value, 256)):
        handle = ctypes.c_void_p()
        names = ["nvmlDeviceGetHandleByIndex_v2", "nvmlDeviceGetHandleByIndex"]
        done = call(library, names, ctypes.c_uint(index), ctypes.byref(handle))
        if done == 0:
            facts["gpus"].append(dict(describe(library, handle), index=index))
        else:
            facts.setdefault("lost", []).append([index, done])
        emit(facts)


def main(cookie: str, *candidates: str) -> None:
    """Print the facts on the true standard output; what the library prints goes to standard error."""
    output = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)

    def emit(facts: dict[str, Any]) -> None:
        output.write(f"\n{cookie}{json.dumps(facts)}{cookie}\n")
        output.flush()

    ask(candidates, emit)
    # No clean-up: a library that hangs on its way out must not keep the answer waiting.
    os._exit(0)


if __name__ == "__main__":
    main(*sys.argv[1:])
