"""What is known of a card by its PCI id or its marketing name."""

from __future__ import annotations

from torchinstall.model.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeAlias


class Card(Value):
    """One product. ``compute_capability`` is for NVIDIA, ``gfx`` for AMD, ``family`` for Intel, ``soc`` for Ascend.

    ``compute`` tells whether a PyTorch wheel can be meant for it at all (an Intel display adapter before
    Arc isn't one); ``None`` where the data doesn't say. ``source`` names the list it was read from.
    """

    vendor: str
    name: str
    pci_id: str | None = None
    chip: str | None = None
    generation: str | None = None
    compute_capability: str | None = None
    gfx: str | None = None
    family: str | None = None
    soc: str | None = None
    integrated: bool | None = None
    compute: bool | None = None
    source: str = ""


if TYPE_CHECKING:
    CardLookup: TypeAlias = Callable[[str], Card | None]
    """From a PCI id (``10de:2684``, lower case) to what is known of the card."""
