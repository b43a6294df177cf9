"""The values of a selection: a card that counts, and what the wheel must run on."""

from __future__ import annotations

from torchinstall.model.machine import Gpu
from torchinstall.model.plan import Reason
from torchinstall.model.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from torchinstall.catalog.rows import Generation, Tegra

BACKEND_OF_VENDOR = {"nvidia": "cuda", "amd": "rocm", "intel": "xpu", "ascend": "npu", "apple": "mps"}
FOREIGN_DRIVERS = frozenset({"nouveau", "nova", "nova_core", "vfio-pci", "pci-stub"})
"""Kernel drivers under which a card computes nothing."""


class Card(Value):
    """One accelerator that counts. ``number`` is its place in the machine's list."""

    number: int
    gpu: Gpu
    name: str
    cc: str = ""
    generation: Generation | None = None
    tegra: Tegra | None = None


class Selection(Value):
    """What the wheel must run on. ``backend``: cuda, rocm, xpu, npu, mps or cpu; ``""`` where it can't be said.

    ``blocked`` or ``undetermined`` carry the reason why no wheel can be chosen at all; ``named`` says that
    the user named a variant, so that no card is needed.
    """

    backend: str
    cards: tuple[Card, ...] = ()
    left_out: tuple[tuple[int, Reason], ...] = ()
    warnings: tuple[Reason, ...] = ()
    blocked: Reason | None = None
    undetermined: Reason | None = None
    named: bool = False
    why: tuple[Reason, ...] = ()


def card_name(gpu: Gpu) -> str:
    """Return how people call the card."""
    told = f"AMD {gpu.gfx}" if gpu.gfx else f"Ascend {gpu.soc}" if gpu.soc else None
    name = gpu.name or told or (f"{gpu.vendor} card {gpu.pci_id}" if gpu.pci_id else f"{gpu.vendor} card")
    return name.removeprefix("NVIDIA ") or name
