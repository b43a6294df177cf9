"""Wheel variants: ``cpu``, ``cu126``, ``rocm7.2``, ``xpu``, ``npu``, ``mps``."""

from __future__ import annotations

import re
from functools import lru_cache

from torchinstall.model.pattern import pattern
from torchinstall.model.version import Numbers, numbers

CPU = "cpu"
MPS = "mps"
XPU = "xpu"
NPU = "npu"

_CUDA = re.compile(r"cu(\d{2,3})(\d)")
_ROCM = pattern(r"rocm(\d+(?:\.\d+)*)")


@lru_cache(maxsize=512)
def backend(variant: str) -> str:
    """Return the family of a variant: cuda, rocm, cpu, xpu, npu or mps; ``""`` for a name of no known form."""
    if _CUDA.fullmatch(variant):
        return "cuda"
    if _ROCM.fullmatch(variant):
        return "rocm"
    return variant if variant in {CPU, MPS, XPU, NPU} else ""


@lru_cache(maxsize=512)
def toolkit(variant: str) -> str:
    """Return the CUDA or ROCm version of a variant (``cu126`` is ``12.6``), ``""`` where there is none."""
    if match := _CUDA.fullmatch(variant):
        return f"{match[1]}.{match[2]}"
    if match := _ROCM.fullmatch(variant):
        return match[1]
    return ""


def order(variant: str) -> Numbers:
    """Return a sort key: within a backend the higher toolkit version is the greater key."""
    return numbers(toolkit(variant))
