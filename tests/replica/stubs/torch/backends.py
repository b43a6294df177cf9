"""torch.backends of the stand-in."""

from __future__ import annotations

from torch import _act


class mps:  # noqa: N801 - the name that torch has
    @staticmethod
    def is_available():
        return not _act.unavailable("mps")

    @staticmethod
    def is_built():
        return _act.kind() == "mps"
