"""Asks libcuda what programs will find, in a process of its own (``python -I -S``): it may hang or abort.

Arguments: a cookie, ``version`` or ``devices``, then what to hand to the loader, in order. The version
costs nothing; ``devices`` starts the driver (cuInit), but makes no context. Facts are printed as JSON
between two cookies after every step. https://docs.nvidia.com/cuda/cuda-driver-api/
"""

# Plain os.path: importing pathlib would cost more start-up time than all the calls here.
# ruff: noqa: PTH123
from __future__ import annotations

import ctypes
import json
import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

COMPUTE_CAPABILITY_MAJOR, COMPUTE_CAPABILITY_MINOR = 75, 76
"""CUdevice_attribute."""


def load(candidates: Sequence[str]) -> tuple[Any, str, str]:
    """Return the library, or None and the loader's complaints."""
    complaints = []
    for candidate in candidates:
        try:
            return ctypes.CDLL(candidate), candidate, ""
        except OSError as error:  # noqa: PERF203 - a few candidates, each may fail
            complaints.append(str(error))
    return None, "", "; ".join(complaints)


def mapped() -> str | None:
    """Return the file that the loader took: a compatibility library is known by its folder."""
    try:
        with open("/proc/self/maps") as lines:
            return next((line.split(None, 5)[5].strip() for line in lines if "libcuda.so" in line), None)
    except OSError:
        return None


def attribute(library: Any, number: int, device: ctypes.c_int) -> int | None:
    """Return one attribute of a device; None where it fails."""
    value = ctypes.c_int()
    done = library.cuDeviceGetAttribute(ctypes.byref(value), ctypes.c_int(number), device)
    return value.value if done == 0 else None


def describe(library: Any, device: ctypes.c_int) -> dict[str, Any]:
    """Return the facts of one device."""
    facts: dict[str, Any] = {}
    name = ctypes.create_string_buffer(96)
    if library.cuDeviceGetName(name, ctypes.c_int(96), device) == 0:
        facts["name"] = name.value.decode("utf-8", "replace")
    major = attribute(library, COMPUTE_CAPABILITY_MAJOR, device)
    minor = attribute(library, COMPUTE_CAPABILITY_MINOR, device)
    if major is not None and minor is not None:
        facts["compute_capability"] = f"{major}.{minor}"
    bus_id = ctypes.create_string_buffer(32)
    if hasattr(library, "cuDeviceGetPCIBusId") and library.cuDeviceGetPCIBusId(bus_id, ctypes.c_int(32), device) == 0:
        facts["bus_id"] = bus_id.value.decode("ascii", "replace")
    memory = ctypes.c_size_t()
    if hasattr(library, "cuDeviceTotalMem_v2") and library.cuDeviceTotalMem_v2(ctypes.byref(memory), device) == 0:
        facts["memory_mib"] = memory.value >> 20
    return facts


def ask(how: str, candidates: Sequence[str], emit: Callable[[dict[str, Any]], None]) -> None:
    """Fill in the facts, telling them after each step."""
    facts: dict[str, Any] = {"loaded": False, "gpus": []}
    library, path, complaint = load(candidates)
    if library is None:
        facts["error"] = complaint
        emit(facts)
        return
    facts.update(loaded=True, path=mapped() or path)
    version = ctypes.c_int()
    facts["code"] = library.cuDriverGetVersion(ctypes.byref(version))
    if facts["code"] == 0:
        facts["version"] = version.value
    emit(facts)
    if how != "devices":
        return
    facts["code"] = library.cuInit(ctypes.c_uint(0))
    emit(facts)
    count = ctypes.c_int()
    if facts["code"] != 0 or library.cuDeviceGetCount(ctypes.byref(count)) != 0:
        return
    for index in range(min(count.value, 256)):
        device = ctypes.c_int()
        if library.cuDeviceGet(ctypes.byref(device), ctypes.c_int(index)) == 0:
            facts["gpus"].append(dict(describe(library, device), index=index))
    emit(facts)


def main(cookie: str, how: str, *candidates: str) -> None:
    """Print the facts on the true standard output; what the library prints goes to standard error."""
    output = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)

    def emit(facts: dict[str, Any]) -> None:
        output.write(f"\n{cookie}{json.dumps(facts)}{cookie}\n")
        output.flush()

    ask(how, candidates, emit)
    # No clean-up: a library that hangs on its way out must not keep the answer waiting.
    os._exit(0)


if __name__ == "__main__":
    main(*sys.argv[1:])
