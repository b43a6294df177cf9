"""What follows from a machine's own facts, before anything is decided: masks, hints, numbers that are none."""

from __future__ import annotations

from torchinstall.model.machine import Gpu, Machine
from torchinstall.model.version import is_driver_version, numbers

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from torchinstall.catalog.catalog import Catalog

MASKS = {
    "nvidia": ("CUDA_VISIBLE_DEVICES",),
    "amd": ("HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES"),
}
"""Variables that choose cards, by vendor; they name them by number (in the order of the list) or by UUID."""

_HINTS = ("NVIDIA_REQUIRE_CUDA", "CUDA_VERSION", "NVIDIA_VISIBLE_DEVICES")
_HINT_PREFIXES = ("ROCM", "ASCEND")
_NO_DEVICE_ASKED = frozenset({"", "void", "none"})


def completed(machine: Machine, catalog: Catalog) -> Machine:
    """Return the machine with what its own facts imply; nothing that it says is contradicted."""
    machine = _with_l4t(machine, catalog)
    machine = _with_tegra_gpu(machine, catalog)
    machine = _with_masks(machine)
    machine = _with_hints(machine)
    driver = machine.nvidia
    if driver is not None and driver.version is not None and not is_driver_version(driver.version):
        # Not a number of a driver: as good as unknown, and no floor is measured against it.
        machine = machine.replace(nvidia=driver.replace(version=None))
    return machine


def hints(environment: Mapping[str, str]) -> tuple[str, ...]:
    """Return the variables that speak of an accelerator, as an image or its builder sets them."""
    return tuple(
        f"{name}={value}"
        for name, value in sorted(environment.items())
        if (name in _HINTS or name.startswith(_HINT_PREFIXES)) and value.strip().lower() not in _NO_DEVICE_ASKED
    )


def is_empty_mask(value: str) -> bool:
    """Tell whether a mask hides every card: such a one is reported and doesn't count for the plan."""
    return value.strip() in {"", "-1"}


def useless_masks(machine: Machine) -> tuple[tuple[str, str], ...]:
    """Return the masks, with their values, that name none of the cards that are here: they count for nothing."""
    gpus = machine.gpus or ()
    found = []
    for vendor, variables in MASKS.items():
        cards = [gpu for gpu in gpus if gpu.vendor == vendor]
        # HIP obeys CUDA's name as well, which is meant for NVIDIA's cards where there are some.
        if vendor == "amd" and all(gpu.vendor != "nvidia" for gpu in gpus):
            variables = (*variables, *MASKS["nvidia"])  # noqa: PLW2901 - one more for this vendor
        for name in variables:
            value = machine.environment.get(name)
            if value is not None and cards and not is_empty_mask(value) and _names_none(value, cards):
                found.append((name, value))
    return tuple(found)


def _names_none(mask: str, cards: list[Gpu]) -> bool:
    """Tell whether a mask surely names none of these cards."""
    first = mask.split(",", maxsplit=1)[0].strip()
    if first.startswith("MIG-") or (first.startswith("GPU-") and not all(card.uuid for card in cards)):
        return False  # an instance's name doesn't hold its card's; and what isn't known can't be compared
    return not _named_by(mask, cards)


def _with_l4t(machine: Machine, catalog: Catalog) -> Machine:
    """Fill in the L4T of a Jetson whose JetPack is told."""
    board = machine.jetson
    if board is None or board.l4t or not board.jetpack:
        return machine
    told = numbers(board.jetpack)
    rows = [row for row in catalog.jetpacks if numbers(row.jetpack) == told[: len(numbers(row.jetpack))]]
    return machine.replace(jetson=board.replace(l4t=rows[0].l4t)) if rows else machine


def _with_tegra_gpu(machine: Machine, catalog: Catalog) -> Machine:
    """Return the machine with the GPU that every Tegra board has on its chip, listed or not."""
    board = machine.jetson
    if board is None or machine.gpus:
        return machine
    row = catalog.tegra(board.soc, None) if board.soc else None
    gpu = Gpu(
        vendor="nvidia",
        name=row.name if row is not None else board.model or "the Tegra GPU",
        compute_capability=row.compute_capability if row is not None else None,
        integrated=True,
    )
    return machine.replace(gpus=(gpu,))


def _with_masks(machine: Machine) -> Machine:
    gpus = machine.gpus
    if not gpus:
        return machine
    for vendor, variables in MASKS.items():
        places = [number for number, gpu in enumerate(gpus) if gpu.vendor == vendor]
        mask = next((machine.environment[name] for name in variables if name in machine.environment), None)
        if mask is None or not places:
            continue
        if is_empty_mask(mask):
            gpus = tuple(gpu.replace(visible=None) if n in places else gpu for n, gpu in enumerate(gpus))
        elif all(gpus[number].visible is None for number in places):
            shown = _named_by(mask, [gpus[number] for number in places])
            if shown:
                gpus = tuple(
                    gpu.replace(visible=places.index(n) in shown) if n in places else gpu for n, gpu in enumerate(gpus)
                )
    return machine.replace(gpus=gpus) if gpus is not machine.gpus else machine


def _named_by(mask: str, cards: list[Gpu]) -> set[int]:
    """Return the places of the cards that a mask names; CUDA ignores all behind a word that it doesn't know."""
    shown: set[int] = set()
    for word in (part.strip() for part in mask.split(",")):
        if word.isdigit() and int(word) < len(cards):
            shown.add(int(word))
            continue
        found = [n for n, card in enumerate(cards) if card.uuid and word and card.uuid.startswith(word)]
        if len(found) != 1:
            break
        shown.add(found[0])
    return shown


def _with_hints(machine: Machine) -> Machine:
    box = machine.container
    if box is None or box.gpu_access is not False or box.evidence:
        return machine
    seen = hints(machine.environment)
    if machine.gpus:
        seen = (*(f"a {gpu.vendor} card of the host" for gpu in machine.gpus[:1]), *seen)
    return machine.replace(container=box.replace(evidence=seen)) if seen else machine
