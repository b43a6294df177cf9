"""A stand-in for a package outside the torch family."""

from __future__ import annotations

from transformers.version import __version__

__all__ = ["__version__"]
