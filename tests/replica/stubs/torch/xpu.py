"""torch.xpu of the stand-in."""

from __future__ import annotations

from torch import _act


def is_available():
    return not _act.unavailable("xpu")


def device_count():
    return len(_act.cards()) if is_available() else 0


def get_device_name(index=0):
    return _act.cards()[index or 0]["name"]


def is_bf16_supported(including_emulation=True):
    return True


def synchronize(_index=None):
    return None
