"""A decision in the words of a plan: pins, reasons, losers, commands."""

from __future__ import annotations

from torchinstall.model.plan import Device, Pin, Plan, Reason, Rejection
from torchinstall.model.sentences import reason
from torchinstall.model.sighting import DEFAULT
from torchinstall.model.variant import CPU
from torchinstall.model.version import numbers
from torchinstall.resolve import cuda
from torchinstall.resolve.candidates import preferred_variant
from torchinstall.resolve.joint import TORCH, Choice, Solution
from torchinstall.resolve.keep import keep
from torchinstall.resolve.target import python_names
from torchinstall.resolve.ways_out import after_block, after_choice, nearest_reachable, plan_per_device

TYPE_CHECKING = False
if TYPE_CHECKING:
    from torchinstall.catalog.catalog import Catalog
    from torchinstall.catalog.rows import Build
    from torchinstall.model.machine import Machine
    from torchinstall.model.request import Request
    from torchinstall.resolve.decision import Decision, Question


def with_choice(plan: Plan, decision: Decision, question: Question) -> Plan:
    """Return the plan filled with what was chosen, and with what would change it."""
    machine, catalog = question.machine, question.catalog
    solution, supply = decision.solution, decision.supply
    if solution is None or supply is None:
        return plan
    build = solution.build
    cards = decision.selection.cards
    on_cuda = decision.selection.backend == "cuda"
    packages = pins(solution, question.request)
    live = tuple(dict.fromkeys(c.place.index for c in solution.choices.values() if c.place.live))
    chosen = plan.replace(
        torch=build.torch,
        variant=build.variant,
        packages=packages,
        devices=_devices(decision, build, catalog),
        needs=cuda.needs(build, cards, machine, catalog) if on_cuda else (),
        why=_why(decision, solution, machine, catalog),
        catalog=plan.catalog.replace(live=solution.choices[TORCH].place.live, confirmed=live),
        commands=commands(packages),
        pythons=python_names(build.wheels),
        fallback=supply.fallback,
        unreachable=supply.unreachable,
    )
    if supply.unreachable is not None:
        ways = nearest_reachable(supply) + after_choice(decision, question)
        return keep(chosen.replace(alternatives=ways[:3]), decision, question)
    return keep(chosen.replace(alternatives=after_choice(decision, question)), decision, question)


def with_ways_out(plan: Plan, decision: Decision, question: Question) -> Plan:
    """Return the blocked plan with the nearest ways out, each found by deciding again."""
    return plan.replace(
        alternatives=after_block(decision, question),
        per_device=plan_per_device(decision, question),
    )


def pins(solution: Solution, request: Request) -> tuple[Pin, ...]:
    """Return the exact packages to install, torch first."""
    extras = {wish.name: wish.extras for wish in request.wishes}
    ordered = [solution.choices[TORCH], *(c for name, c in sorted(solution.choices.items()) if name != TORCH)]
    return tuple(_pin(choice, extras.get(choice.name, ())) for choice in ordered)


def _pin(choice: Choice, extras: tuple[str, ...]) -> Pin:
    place, build = choice.place, choice.build
    wheel = place.wheel
    local = build.local if build.local is not None else (f"+{CPU}" if build.variant == CPU else "")
    return Pin(
        name=choice.name,
        version=place.version,
        index=place.index,
        kind=place.kind,
        extras=extras,
        url=wheel.url if wheel and place.role != DEFAULT else None,
        sha256=wheel.sha256 if wheel else None,
        size=wheel.size if wheel else None,
        local=local,
    )


def commands(packages: tuple[Pin, ...]) -> dict[str, tuple[str, ...]]:
    """Return the commands by which a person would install the torch family by hand."""
    by_index: dict[tuple[str, str], list[str]] = {}
    for pin in packages:
        extras = f"[{','.join(pin.extras)}]" if pin.extras else ""
        by_index.setdefault((pin.index, pin.kind), []).append(f"{pin.name}{extras}=={pin.version}")
    # One index a command: with two, pip takes the highest version of either and uv the first that answers.
    ((index, kind), names), *_ = by_index.items()
    where: tuple[str, ...] = ()
    if index != "default":
        where = ("--find-links", index) if kind == "flat" else ("--index-url", index)
    return {
        "uv": ("uv", "pip", "install", *names, *where),
        "pip": ("python", "-m", "pip", "install", *names, *where),
    }


def rejections(decision: Decision) -> tuple[Rejection, ...]:
    """Return every candidate that lost with the rule that it lost by, best first."""
    solution = decision.solution
    lost = []
    for candidate in decision.candidates:
        build = candidate.build
        why = candidate.why_not
        if why is None and solution is not None:
            if build == solution.build:
                continue
            why = _outranked(build, solution, decision)
        if why is not None:
            lost.append(Rejection(torch=build.torch, variant=build.variant, reason=why))
    return tuple(lost)


def _outranked(build: Build, solution: Solution, decision: Decision) -> Reason:
    chosen = solution.build
    supply = decision.supply
    if supply is not None and supply.fallback is not None and numbers(build.torch) >= numbers(chosen.torch):
        return supply.fallback
    if numbers(build.torch) > numbers(chosen.torch):
        names = " or ".join(name for name in solution.choices if name != TORCH) or "a companion"
        return reason("companion", name=names)
    if build.torch != chosen.torch:
        return reason("not-newest", chosen=chosen.torch)
    if chosen.default or build.experimental == chosen.experimental:
        rule = "not-default" if chosen.default else "lower-cuda"
        return reason(rule, chosen=chosen.variant, torch=chosen.torch)
    return reason("experimental", variant=build.variant, torch=build.torch, chosen=chosen.variant)


def _devices(decision: Decision, build: Build, catalog: Catalog) -> tuple[Device, ...]:
    selection = decision.selection
    if selection.backend == "cuda":
        counted = cuda.devices(build, selection.cards, catalog)
    else:
        counted = tuple(Device(gpu=card.number, runs="yes") for card in selection.cards)
    left = tuple(Device(gpu=number, runs="left-out", why=why.text) for number, why in selection.left_out)
    return tuple(sorted(counted + left, key=lambda device: device.gpu))


def _why(decision: Decision, solution: Solution, machine: Machine, catalog: Catalog) -> tuple[Reason, ...]:
    build, selection = solution.build, decision.selection
    reasons = list(selection.why)
    if build.variant == "mps":
        reasons.append(reason("mps"))
    pair = {"torch": build.torch, "variant": build.variant}
    here = {**pair, "source": build.source}
    fitting = [c.build.variant for c in decision.candidates if c.why_not is None and c.build.torch == build.torch]
    if decision.supply is None or decision.supply.solution is decision.supply.ideal:
        reasons.append(reason("chosen-newest", torch=build.torch, source=build.source))
    if selection.named:
        reasons.append(reason("chosen-named", **here))
    elif len(fitting) == 1:
        reasons.append(reason("chosen-only", **here))
    elif build.variant == preferred_variant(build.torch, decision.target.platform, catalog):
        reasons.append(reason("chosen-default", **here))
    elif selection.backend == "cuda":
        reasons.append(reason("chosen-highest", **here))
    if selection.backend == "cuda":
        reasons.extend(cuda.why(build, selection.cards, machine, catalog))
    reasons.extend(
        reason("companion-pinned", name=choice.name, version=choice.version, source=choice.row.source, **pair)
        for choice in solution.choices.values()
        if choice.row is not None
    )
    place = solution.choices[TORCH].place
    if place.live:
        url = "the default index" if place.index == "default" else place.index
        reasons.append(reason("seen-live", url=url))
    return tuple(reasons)
