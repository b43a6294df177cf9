"""A stand-in for torchvision in tests."""

from __future__ import annotations

from torchvision import _act, ops, version

_act.at_import()

__version__ = version.__version__
__all__ = ["ops", "version"]
