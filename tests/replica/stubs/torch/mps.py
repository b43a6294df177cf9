"""torch.mps of the stand-in."""

from __future__ import annotations


def synchronize():
    return None


def device_count():
    return 1
