"""Masks: environment variables by which the user, or a batch system, hides accelerators from programs.

A mask that names cards is the user's choice of cards. An empty one, ``-1``, or one that names no card
that is there, hides nothing from the plan: it is reported instead.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from torchinstall.probe.facts import GpuFacts
    from torchinstall.probe.system import System

BUS_ORDER = "CUDA_DEVICE_ORDER"
CUDA_MASK = "CUDA_VISIBLE_DEVICES"
_MASKS = {
    "nvidia": (CUDA_MASK,),
    # ROCR hides at the lowest level, HIP numbers what is left; HIP obeys CUDA's name as well, which is
    # meant for NVIDIA's cards where there are some.
    "amd": ("ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", CUDA_MASK),
    "intel": ("ZE_AFFINITY_MASK",),
    "ascend": ("ASCEND_RT_VISIBLE_DEVICES",),
}


def apply_masks(system: System, gpus: Sequence[GpuFacts], cuda_order: Sequence[str] = ()) -> None:
    """Mark the cards that a mask leaves visible and those that it hides; without a mask nothing is marked.

    ``cuda_order`` is the order of bus addresses in which CUDA numbers the cards, where libcuda told it.
    """
    nvidia = any(gpu.vendor == "nvidia" for gpu in gpus)
    for vendor, names in _MASKS.items():
        own = [gpu for gpu in gpus if gpu.vendor == vendor]
        for name in names:
            value = system.environ.get(name)
            if value is None or not own or (vendor == "amd" and name == CUDA_MASK and nvidia):
                continue
            order = cuda_numbering(system, own, cuda_order) if vendor == "nvidia" else own
            chosen = named_cards(value, order)
            if chosen is None:
                system.note(
                    f"{name}={value} names no accelerator that is here: programs will see none; the plan ignores it"
                )
                continue
            for gpu in own:
                gpu.correct("visible", any(gpu is card for card in chosen), name)
            if vendor == "amd":
                own = chosen  # the next level numbers what this one left


def named_cards(mask: str, order: Sequence[GpuFacts]) -> list[GpuFacts] | None:
    """Return the cards that a mask names, by number or by the beginning of a UUID; ``None`` if it names none.

    As CUDA reads it, everything after the first entry that isn't valid counts for nothing.
    """
    chosen: list[GpuFacts] = []
    for entry in (piece.strip() for piece in mask.split(",")):
        card = _card(entry, order)
        if card is None:
            break
        chosen.append(card)
    return chosen or None


def _card(entry: str, order: Sequence[GpuFacts]) -> GpuFacts | None:
    # ZE_AFFINITY_MASK may name a tile of a card: 0.1.
    number = entry.partition(".")[0]
    if number.isdecimal():
        return order[int(number)] if int(number) < len(order) else None
    if entry.startswith("MIG-"):
        # An instance's name doesn't always hold its card's; with one card there is no doubt.
        parent = entry.removeprefix("MIG-").partition("/")[0]
        fitting = [gpu for gpu in order if parent.startswith("GPU-") and gpu.get("uuid") == parent]
        return fitting[0] if fitting else (order[0] if len(order) == 1 else None)
    if not entry.startswith("GPU-"):
        return None
    fitting = [gpu for gpu in order if str(gpu.get("uuid") or "").startswith(entry)]
    return fitting[0] if len(fitting) == 1 else None


def cuda_numbering(system: System, gpus: Sequence[GpuFacts], cuda_order: Sequence[str]) -> list[GpuFacts]:
    """Return the cards in the order in which CUDA numbers them.

    Without CUDA_DEVICE_ORDER=PCI_BUS_ID it is the fastest first. Where libcuda couldn't be asked, the order
    of different cards is estimated by compute capability and memory, and that is noted.
    """
    if system.environ.get(BUS_ORDER) == "PCI_BUS_ID":
        return list(gpus)
    places = {bus_id: place for place, bus_id in enumerate(cuda_order)}
    if all(gpu.get("bus_id") in places for gpu in gpus):
        return sorted(gpus, key=lambda gpu: places[gpu.get("bus_id")])
    if len({(gpu.get("compute_capability"), gpu.get("name")) for gpu in gpus}) > 1:
        system.note(
            "CUDA numbers the fastest card first; libcuda couldn't be asked for the order, so it was estimated "
            f"({BUS_ORDER}=PCI_BUS_ID makes it certain)"
        )
    return sorted(gpus, key=_speed)


def _speed(gpu: GpuFacts) -> tuple[float, int]:
    capability = str(gpu.get("compute_capability") or "0")
    try:
        number = float(capability)
    except ValueError:
        number = 0.0
    return -number, -int(gpu.get("memory_mib") or 0)
