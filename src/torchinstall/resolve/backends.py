"""The rules of each backend behind one face: what a build fails, what it means for each card, what it needs."""

from __future__ import annotations

from torchinstall.model.variant import MPS, NPU
from torchinstall.resolve import cuda, npu, rocm, xpu
from torchinstall.resolve.target import mps_floor

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeAlias

    from torchinstall.catalog.backend_rows import NpuRow
    from torchinstall.catalog.catalog import Catalog
    from torchinstall.catalog.rows import Build
    from torchinstall.model.machine import Machine
    from torchinstall.model.plan import Device, Need, Pin, Reason
    from torchinstall.model.request import Request
    from torchinstall.resolve.joint import Solution
    from torchinstall.resolve.selection import Selection
    from torchinstall.resolve.target import Target

    Verdicts: TypeAlias = Callable[[Build], "tuple[str, Callable[[], Reason]] | None"]
    """From a build to the rule that it fails and the sentence for it; ``None`` where it fails none."""

_CARDS = {"cuda": cuda, "rocm": rocm, "xpu": xpu}


def verdicts(selection: Selection, machine: Machine, request: Request, target: Target, catalog: Catalog) -> Verdicts:
    """Return the rules of the selection's backend, ready to be asked about one build after the other."""
    cards, kind = selection.cards, selection.backend
    if kind == "cuda":
        return cuda.Verdicts(cards, machine, target, catalog)
    rules: dict[str, Callable[[Build], Reason | None]] = {
        "rocm": lambda build: rocm.why_not(build, cards, machine, catalog, named=selection.named),
        "xpu": lambda build: xpu.why_not(build, cards, machine, catalog),
        NPU: lambda build: npu.why_not(build, cards, machine, request, target, catalog),
        MPS: lambda build: mps_floor(build, target, catalog),
    }
    rule = rules.get(kind)

    def judge(build: Build) -> tuple[str, Callable[[], Reason]] | None:
        why = rule(build) if rule is not None else None
        return None if why is None else (why.rule, lambda: why)

    return judge


def devices(selection: Selection, build: Build, catalog: Catalog) -> tuple[Device, ...]:
    """Return what the build means for each card that counts."""
    from torchinstall.model.plan import Device

    if selection.backend == NPU:
        return npu.devices(build, selection.cards, catalog)
    rules = _CARDS.get(selection.backend)
    if rules is None:
        return tuple(Device(gpu=card.number, runs="yes") for card in selection.cards)
    found: tuple[Device, ...] = rules.devices(build, selection.cards, catalog)
    return found


def needs(selection: Selection, solution: Solution, machine: Machine, catalog: Catalog) -> tuple[Need, ...]:
    """Return what the choice needs of the machine beside Python and the wheel."""
    build, cards = solution.build, selection.cards
    if selection.backend == NPU:
        return npu.needs(_npu_row(solution, catalog), cards, machine, catalog)
    rules = _CARDS.get(selection.backend)
    return rules.needs(build, cards, machine, catalog) if rules is not None else ()


def why(selection: Selection, solution: Solution, machine: Machine, catalog: Catalog) -> tuple[Reason, ...]:
    """Return the facts about cards and driver that speak for the choice."""
    if selection.backend == NPU:
        return npu.why(_npu_row(solution, catalog), selection.cards, machine, catalog)
    rules = _CARDS.get(selection.backend)
    return rules.why(solution.build, selection.cards, machine, catalog) if rules is not None else ()


def added(selection: Selection, solution: Solution, target: Target, catalog: Catalog) -> tuple[Pin, ...]:
    """Return the packages that the choice needs and that its own metadata doesn't name."""
    row = _npu_row(solution, catalog) if selection.backend == NPU else None
    return npu.undeclared(row, target, catalog) if row is not None else ()


def others(selection: Selection, catalog: Catalog) -> tuple[str, ...]:
    """Return the requirements of the backend's own software, in whatever version."""
    return catalog.ascend.cann_needs if selection.backend == NPU and selection.cards else ()


def environment(selection: Selection, solution: Solution, machine: Machine, catalog: Catalog) -> dict[str, str]:
    """Return what must be set where the choice is used."""
    row = _npu_row(solution, catalog) if selection.backend == NPU else None
    if row is not None:
        return npu.environment(machine, row, catalog)
    if selection.backend == "rocm" and selection.left_out:
        amd = [number for number, gpu in enumerate(machine.gpus or ()) if gpu.vendor == "amd"]
        left = {number for number, _ in selection.left_out}
        kept = [str(amd.index(card.number)) for card in selection.cards if card.number in amd]
        # A card that is masked already needs no second mask.
        shown = [n for n in amd if n in left and (machine.gpus or ())[n].visible is not False]
        if kept and shown:
            return {"HIP_VISIBLE_DEVICES": ",".join(kept)}
    return {}


def _npu_row(solution: Solution, catalog: Catalog) -> NpuRow | None:
    choice = solution.choices.get(npu.TORCH_NPU)
    return npu.row_of(choice.version, solution.build.platform, catalog) if choice is not None else None
