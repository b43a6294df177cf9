"""What a verification has to show: that of a plan, and that of an environment as it is."""

from __future__ import annotations

from torchinstall.model.request import Request
from torchinstall.model.value import Value
from torchinstall.model.variant import CPU, MPS, NPU, backend
from torchinstall.resolve.cards import select
from torchinstall.resolve.facts import completed
from torchinstall.resolve.joint import TORCH
from torchinstall.resolve.target import target_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from torchinstall.catalog.catalog import Catalog
    from torchinstall.model.machine import Machine
    from torchinstall.model.plan import Plan


class Promise(Value):
    """What must hold. ``backend``: where kernels must run; ``cards``: on how many devices, where that is known."""

    torch: str | None = None
    variant: str | None = None
    backend: str | None = None
    cards: int | None = None
    companions: tuple[str, ...] = ()


def of_plan(plan: Plan, machine: Machine) -> Promise:
    """Return what a plan promises; on a machine that is only declared, kernels can run on the CPU alone.

    torch beside torch-npu doesn't even import without CANN, so that there the NPU is asked for in any case:
    the answer then names what is missing.
    """
    counted = [device for device in plan.devices if device.runs == "yes"]
    kind = backend(plan.variant or "")
    on_cpu = kind != NPU and (machine.declared or (kind != CPU and not counted))
    return Promise(
        torch=plan.torch,
        variant=plan.variant,
        backend=CPU if on_cpu else kind,
        cards=len(counted) if counted and not machine.declared else None,
        companions=tuple(pin.name for pin in plan.packages if pin.name != TORCH),
    )


def of_environment(machine: Machine, request: Request, catalog: Catalog) -> Promise:
    """Return what the installed torch must show here: that it uses the accelerator that this machine has."""
    machine = completed(machine, catalog)
    version, _, local = machine.installed.get(TORCH, "").partition("+")
    selection = select(machine, request, catalog)
    # A card that nobody can place, or that has no driver, is still one that a CPU build would leave unused.
    unsettled = bool(selection.backend) and (selection.undetermined is not None or selection.blocked is not None)
    variant = local or (MPS if target_of(machine).platform == "macos_arm64" else None)
    return Promise(
        torch=version or None,
        variant=variant,
        backend=selection.backend if selection.cards or unsettled else (backend(variant or "") or CPU),
        cards=len(selection.cards) or None,
        companions=tuple(name for name in ("torchvision", "torchaudio") if name in machine.installed),
    )
