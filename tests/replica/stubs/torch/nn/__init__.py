"""torch.nn of the stand-in."""

from __future__ import annotations

from torch.nn import functional

__all__ = ["functional"]
