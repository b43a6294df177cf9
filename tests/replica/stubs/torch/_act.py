"""The behaviours: what happens at import, at initialisation, at allocation and at the first kernel."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
import warnings
from pathlib import Path

_FACTS = json.loads(Path(__file__).with_name("behaviour.json").read_text())
NAME = _FACTS["name"]
ARCHES = _FACTS["arches"]

_CPU_BUILDS = {"works-cpu", "cpu-build", "works-xpu", "works-mps"}
_TEXTS = {
    "import-error": "libcudart.so.13: cannot open shared object file: No such file or directory",
    "no-kernel-image": (
        "CUDA error: no kernel image is available for execution on the device\n"
        "CUDA kernel errors might be asynchronously reported at some other API call."
    ),
    "driver-too-old": (
        "The NVIDIA driver on your system is too old (found version 11040). Please update your GPU driver by "
        "downloading and installing a new version. Alternatively, install a PyTorch version that has been "
        "compiled with your version of the CUDA driver."
    ),
    "no-driver": "Found no NVIDIA driver on your system. Please check that you have an NVIDIA GPU.",
    "out-of-memory": "CUDA out of memory. Tried to allocate 20.00 MiB. GPU 0 has a total capacity of 22 GiB",
    "device-busy": "CUDA error: all CUDA-capable devices are busy or unavailable",
    "error-802": (
        "Unexpected error from cudaGetDeviceCount(). Did you run some cuda functions before calling "
        "NumCudaDevices() that might have already set an error? Error 802: system not yet initialized"
    ),
    "no-devices": "No CUDA GPUs are available",
}
TEXT = _FACTS["text"] or _TEXTS.get(NAME, "")


class OutOfMemoryError(RuntimeError):
    """As torch has it."""


class AcceleratorError(RuntimeError):
    """As torch has it, with a code."""

    error_code = 209


def at_import():
    if NAME == "import-error":
        raise ImportError(TEXT)
    if NAME == "segfault-import":
        os.kill(os.getpid(), signal.SIGSEGV)


def kind():
    """Return the accelerator that this build is for: cuda, xpu, mps or none."""
    if NAME in {"works-xpu", "works-mps"}:
        return NAME.split("-", 1)[1]
    return "" if NAME in _CPU_BUILDS else "cuda"


def cards():
    """Return the cards that can be seen, after the mask."""
    every = _FACTS["cards"]
    mask = os.environ.get("CUDA_VISIBLE_DEVICES")
    if kind() == "cuda" and mask is not None:
        picked = []
        for part in mask.split(","):
            if not re.fullmatch(r"\d+", part.strip()) or int(part) >= len(every):
                break
            picked.append(every[int(part)])
        return picked
    return every


def unavailable(accelerator):
    """Return why the accelerator can't be used, or nothing; warn as the real one does."""
    if kind() != accelerator:
        return f"Torch not compiled with {accelerator.upper()} enabled"
    if NAME in {"driver-too-old", "error-802", "no-driver", "warn"}:
        return TEXT
    return "" if cards() else _TEXTS["no-devices"]


def warn(accelerator):
    if kind() == accelerator and NAME in {"driver-too-old", "error-802", "warn"}:
        warnings.warn(f"CUDA initialization: {TEXT} (Triggered internally at x.cpp:109.)", stacklevel=3)


def allocate(place):
    """Act out an allocation on a device such as ``cuda:0``."""
    accelerator = place.split(":")[0]
    if accelerator == "cpu":
        return
    if reason := unavailable(accelerator):
        error = AssertionError if "not compiled" in reason else RuntimeError
        raise error(reason)
    if NAME == "out-of-memory":
        raise OutOfMemoryError(TEXT)
    if NAME == "device-busy":
        raise AcceleratorError(TEXT)


def _covered(card):
    if card["gfx"]:
        return card["gfx"] in ARCHES
    major, minor = card["capability"]
    codes = [divmod(int(code[3:]), 10) for code in ARCHES if code.startswith("sm_")]
    return any(code[0] == major and code[1] <= minor for code in codes)


def kernel(place):
    """Act out a kernel on a device; this is where the failures are that only a kernel shows."""
    accelerator, _, number = place.partition(":")
    if accelerator == "cpu" and NAME not in {"segfault", "hang", "raise"}:
        return
    if accelerator == "cpu" and kind() == "cuda":
        return
    if NAME == "segfault":
        os.kill(os.getpid(), signal.SIGSEGV)
    if NAME == "hang":
        if _FACTS["child"]:
            child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
            sys.stderr.write(f"child {child.pid}\n")
            sys.stderr.flush()
        time.sleep(600)
    if NAME == "raise":
        raise RuntimeError(TEXT)
    if NAME == "no-kernel-image" or (kind() == "cuda" and not _covered(cards()[int(number or 0)])):
        raise AcceleratorError(_TEXTS["no-kernel-image"] if NAME != "no-kernel-image" else TEXT)


def result(place, values):
    """Return what a kernel computed: the truth, but for the behaviour ``wrong-result``."""
    if NAME == "wrong-result" and not place.startswith("cpu"):
        return [0.0] * len(values)
    return values
