"""What works stays (policy 9): an installed torch that fits is kept, a vendor's build is never replaced unasked."""

from __future__ import annotations

from torchinstall.errors import EXIT_BLOCKED
from torchinstall.model.plan import BLOCKED, INSTALL, SATISFIED, Alternative, Pin, Plan, Reason
from torchinstall.model.sentences import reason
from torchinstall.model.variant import CPU, MPS, NPU, backend
from torchinstall.model.version import is_newer
from torchinstall.resolve import cuda, npu
from torchinstall.resolve.candidates import named_variant
from torchinstall.resolve.joint import TORCH, companion_names
from torchinstall.resolve.npu import TORCH_NPU
from torchinstall.resolve.sources import shelf_of
from torchinstall.resolve.target import python_names
from torchinstall.resolve.wishes import admits

TYPE_CHECKING = False
if TYPE_CHECKING:
    from torchinstall.catalog.catalog import Catalog
    from torchinstall.catalog.rows import Build
    from torchinstall.model.machine import Machine
    from torchinstall.model.request import Request
    from torchinstall.resolve.decision import Decision, Question

_OF_A_WHEEL = frozenset({"named-unverified", "named-unsure"})
"""Warnings of a wheel that would be fetched; what is installed is there."""
_OTHER_OWNERS = {"conda": "conda", "distribution": "the distribution"}


def keep(plan: Plan, decision: Decision, question: Question) -> Plan:
    """Return the plan to keep what is installed, where that is right; else the given plan."""
    machine, request, catalog = question.machine, question.request, question.catalog
    installed = machine.installed.get(TORCH)
    if installed is None:
        return plan
    vendor = vendor_of(machine)
    if vendor is not None and not request.replace_vendor_build:
        return _vendors(plan, decision, question, vendor)
    if request.upgrade:
        same = installed_variant(machine, decision) == plan.variant and _base(installed) == plan.torch
        if not same:
            return plan
    build = fitting_build(decision, machine, request)
    if build is None or not companions_right(build, machine, request, catalog):
        return with_downgrade_said(plan, machine)
    why = reason("kept", torch=build.torch, variant=build.variant, source=build.source)
    kept = _of_its_own(_satisfied(plan, question, why, build), build, decision, question)
    # Who asks for an upgrade is told why there was none to be had.
    return kept.replace(fallback=plan.fallback) if request.upgrade else kept


def _of_its_own(kept: Plan, build: Build, decision: Decision, question: Question) -> Plan:
    """Return the kept plan with the needs and devices of what is kept, not of what would have replaced it."""
    kept = kept.replace(
        pythons=python_names(build.wheels), warnings=tuple(w for w in kept.warnings if w.rule != "need-unmet")
    )
    if decision.selection.backend != "cuda":
        return kept
    cards = decision.selection.cards
    left = tuple(device for device in kept.devices if device.runs == "left-out")
    found = (*cuda.devices(build, cards, question.catalog), *left)
    return kept.replace(
        needs=cuda.needs(build, cards, question.machine, question.catalog),
        devices=tuple(sorted(found, key=lambda device: device.gpu)),
    )


def keep_vendors(plan: Plan, decision: Decision, question: Question) -> Plan:
    """Return the plan to keep a vendor's build where PyTorch has none for the card; else the blocked plan as it is."""
    stopped = decision.stopped
    vendor = vendor_of(question.machine) if question.machine.installed.get(TORCH) else None
    for_such = stopped is not None and stopped.rule.startswith(("vendor-", "tegra-"))
    if vendor is None or not for_such or question.request.replace_vendor_build:
        return plan
    return _vendors(plan, decision, question, vendor)


def _vendors(plan: Plan, decision: Decision, question: Question, vendor: str) -> Plan:
    """Keep somebody else's build where it holds what was asked; else stop: it is never replaced unasked."""
    machine, request = question.machine, question.request
    installed = machine.installed[TORCH]
    local = installed.partition("+")[2]
    known = local if backend(local) else None
    named = named_variant(request, decision.target)
    holds = _admitted(TORCH, installed, request) and named in {None, known}
    holds = holds and all(
        name in machine.installed and _admitted(name, machine.installed[name], request)
        for name in companion_names(request, question.catalog.joint, decision.selection.backend)
    )
    if known is not None:
        row = next(
            (c for c in decision.candidates if (c.build.torch, c.build.variant) == (_base(installed), known)), None
        )
        unfit = row is not None and row.rule in _CANNOT_RUN
        holds = holds and not unfit and not (known == CPU and decision.selection.backend not in {CPU, NPU, ""})
    if holds:
        kept = _satisfied(plan, question, reason("kept-vendor", version=installed, by=vendor))
        return kept.replace(variant=known, blocked=None, exit_code=0, needs=(), pythons=(), per_device=())
    why = reason("vendor-build", version=installed, by=vendor)
    return plan.replace(outcome=BLOCKED, blocked=why, exit_code=EXIT_BLOCKED, packages=(), commands={})


_CANNOT_RUN = frozenset({"no-kernel", "driver-too-old", "tegra-none", "tegra-l4t", "tegra-cuda", "backend", "not-cpu"})
"""Rules that hold for a build whoever made it."""


def with_downgrade_said(plan: Plan, machine: Machine) -> Plan:
    """Return the plan with a word about a newer torch that it would replace."""
    installed = machine.installed.get(TORCH)
    if plan.outcome != INSTALL or installed is None or plan.torch is None or not is_newer(installed, plan.torch):
        return plan
    return plan.replace(warnings=(*plan.warnings, reason("downgrade", installed=installed, torch=plan.torch)))


def worth_proving(plan: Plan, machine: Machine, request: Request, catalog: Catalog) -> bool:
    """Tell whether to try what is installed before replacing it: admitted, complete, and no CPU build beside a card."""
    installed = machine.installed.get(TORCH)
    if installed is None or plan.outcome not in {INSTALL, BLOCKED} or request.upgrade or request.variant:
        return False
    if any(wish.variant for wish in request.wishes if wish.name == TORCH):
        return False
    cpu = installed.endswith(f"+{CPU}")
    if cpu and plan.variant not in {CPU, NPU}:
        return False
    names = (TORCH, *companion_names(request, catalog.joint, plan.variant or ""))
    return all(name in machine.installed and _admitted(name, machine.installed[name], request) for name in names)


def kept_by_proof(plan: Plan, machine: Machine, request: Request, catalog: Catalog) -> Plan:
    """Return the plan that keeps what is installed, because it passed verification here."""
    why = reason("kept-proved", torch=machine.installed[TORCH])
    kept = _kept(plan, machine, request, catalog, why, None)
    local = machine.installed[TORCH].partition("+")[2]
    return kept.replace(blocked=None, exit_code=0, variant=local or kept.variant, per_device=())


def vendor_of(machine: Machine) -> str | None:
    """Return why the installed torch counts as somebody else's, ``None`` where it is PyTorch's own wheel."""
    installed = machine.installed.get(TORCH, "")
    local = installed.partition("+")[2]
    by = machine.installed_by.get(TORCH)
    if by in _OTHER_OWNERS:
        return f"installed by {_OTHER_OWNERS[by]}"
    if local and not backend(local):
        return f"local version +{local}"
    if machine.jetson is not None:
        return "a Tegra board's own build"
    return None


def installed_variant(machine: Machine, decision: Decision) -> str | None:
    """Return the variant of the installed torch; one without a local part is the platform's plain wheel."""
    installed = machine.installed.get(TORCH)
    if installed is None:
        return None
    local = installed.partition("+")[2]
    if local:
        return local
    return MPS if decision.target.platform == "macos_arm64" else CPU


def fitting_build(decision: Decision, machine: Machine, request: Request) -> Build | None:
    """Return the row of the installed torch, if it fits by the tables and the request admits it."""
    installed = machine.installed.get(TORCH)
    if installed is None or not _admitted(TORCH, installed, request):
        return None
    variant = installed_variant(machine, decision)
    named = named_variant(request, decision.target)
    if named is not None and named != variant:
        return None
    if decision.selection.backend == NPU and variant == CPU and TORCH_NPU in machine.installed:
        variant = NPU  # torch under an NPU is the CPU build
    for number, build in enumerate(decision.candidates.builds):
        if build.torch == _base(installed) and build.variant == variant:
            return build if decision.candidates[number].rule is None else None
    return None


def companions_right(build: Build, machine: Machine, request: Request, catalog: Catalog) -> bool:
    """Tell whether every companion that is asked for is installed, and is the one that belongs to this build."""
    for name in companion_names(request, catalog.joint, build.variant):
        installed = machine.installed.get(name)
        if installed is None or not _admitted(name, installed, request):
            return False
        rows = [row for row in catalog.companions(name, build) if npu.allows(row, machine, request, catalog)]
        if _base(installed) not in {row.version for row in rows}:
            return False
        local = installed.partition("+")[2]
        if local and local != shelf_of(build):
            return False
    return True


def _satisfied(plan: Plan, question: Question, why: Reason, build: Build | None = None) -> Plan:
    return _kept(plan, question.machine, question.request, question.catalog, why, build)


def _kept(plan: Plan, machine: Machine, request: Request, catalog: Catalog, why: Reason, build: Build | None) -> Plan:
    names = (TORCH, *companion_names(request, catalog.joint, plan.variant or ""))
    packages = tuple(
        Pin(name=name, version=machine.installed[name], index="installed", local=None)
        for name in names
        if name in machine.installed
    )
    installed = machine.installed[TORCH]
    alternatives = plan.alternatives
    if build is not None and plan.torch and plan.variant and (build.torch, build.variant) != (plan.torch, plan.variant):
        newer = Alternative(torch=plan.torch, variant=plan.variant, reason=reason("if-upgrade"), command="--upgrade")
        alternatives = (newer, *alternatives)
    return plan.replace(
        outcome=SATISFIED,
        torch=_base(installed),
        variant=build.variant if build else (installed.partition("+")[2] or plan.variant),
        packages=packages,
        why=(why,),
        alternatives=alternatives[:3],
        commands={},
        fallback=None,
        unreachable=None,
        warnings=tuple(w for w in plan.warnings if w.rule not in _OF_A_WHEEL),
    )


def _admitted(name: str, installed: str, request: Request) -> bool:
    return all(
        admits(wish.specifier, _base(installed), pre=True)
        for wish in (*request.wishes, *request.constraints)
        if wish.name == name
    )


def _base(version: str) -> str:
    return version.partition("+")[0]


def stale_packages(plan: Plan, machine: Machine) -> tuple[str, ...]:
    """Return the packages to reinstall though the installer may think that they are right.

    The default index shows no local part, so uv and pip take an installed ``2.15.0+cpu`` for its ``2.15.0``;
    only what torch/version.py says tells them apart.
    """
    stale = []
    for pin in plan.packages:
        installed = machine.installed.get(pin.name)
        if installed is None or _base(installed) != _base(pin.version):
            continue
        local = installed.partition("+")[2]
        wanted = (pin.local or "").lstrip("+")
        if local != wanted:
            stale.append(pin.name)
    return tuple(stale)
