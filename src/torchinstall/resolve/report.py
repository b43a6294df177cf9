"""A decision in the words of a plan: pins, reasons, losers, commands."""

from __future__ import annotations

from torchinstall.catalog.rows import CHOSEN_OFFLINE, UNVERIFIED
from torchinstall.model.plan import Device, Pin, Plan, Reason, Rejection
from torchinstall.model.sentences import reason
from torchinstall.model.sighting import DEFAULT, FIND_LINKS
from torchinstall.model.variant import CPU, NPU, backend
from torchinstall.model.version import numbers
from torchinstall.resolve import backends
from torchinstall.resolve.candidates import preferred_variant
from torchinstall.resolve.joint import TORCH, Choice, Solution
from torchinstall.resolve.keep import keep
from torchinstall.resolve.sources import Sources
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
    packages = pins(solution, question.request, backends.added(decision.selection, solution, decision.target, catalog))
    live = tuple(dict.fromkeys(c.place.index for c in solution.choices.values() if c.place.live))
    needs = backends.needs(decision.selection, solution, machine, catalog)
    unmet = tuple(
        reason("need-unmet", what=need.what, minimum=need.minimum, note=need.note or "-", found=need.found or "nothing")
        for need in needs
        if need.met is False
    )
    others = plan.others + backends.others(decision.selection, catalog)
    chosen = plan.replace(
        warnings=plan.warnings + _unsure(solution) + unmet,
        torch=build.torch,
        variant=build.variant,
        packages=packages,
        devices=_devices(decision, build, catalog),
        needs=needs,
        environment=backends.environment(decision.selection, solution, machine, catalog),
        others=others,
        why=why(decision, solution, machine, catalog, bundled=question.request.bundle),
        catalog=plan.catalog.replace(live=solution.choices[TORCH].place.live, confirmed=live),
        commands=commands(packages, others),
        pythons=_pythons(solution, Sources(question.sightings, decision.target, catalog)),
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


def pins(solution: Solution, request: Request, added: tuple[Pin, ...] = ()) -> tuple[Pin, ...]:
    """Return the exact packages to install, torch first; ``added`` are what their metadata forgets."""
    extras = {wish.name: wish.extras for wish in request.wishes}
    hashes = {wish.name: wish.hashes for wish in (*request.constraints, *request.wishes) if wish.hashes}
    ordered = [solution.choices[TORCH], *(c for name, c in sorted(solution.choices.items()) if name != TORCH)]
    chosen = (_pin(choice, extras.get(choice.name, ())) for choice in ordered)
    return (*(pin.replace(hashes=hashes.get(pin.name, ())) for pin in chosen), *added)


def _pin(choice: Choice, extras: tuple[str, ...]) -> Pin:
    place, build = choice.place, choice.build
    wheel = place.wheel
    local = build.local if build.local is not None else (f"+{CPU}" if build.variant in {CPU, NPU} else "")
    if choice.row is not None and choice.row.on_default:
        local = ""
    if choice.name in build.extras_on:
        extras = tuple(dict.fromkeys((*extras, *build.extras)))
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


def _unsure(solution: Solution) -> tuple[Reason, ...]:
    """Say of a build that only its name brought here that no one vouches for it, where it wasn't seen either."""
    build = solution.build
    if build.status in CHOSEN_OFFLINE or solution.choices[TORCH].place.live:
        return ()
    facts = {"torch": build.torch, "variant": build.variant, "source": build.source}
    if build.status == UNVERIFIED:
        return (reason("named-unverified", **facts),)
    return (reason("named-unsure", status=build.status, **facts),)


def _pythons(solution: Solution, sources: Sources) -> tuple[str, ...]:
    """Return the Pythons for which all of the choice has wheels: as seen where it is taken from, else as published."""
    seen = sources.pythons(solution.choices[TORCH].place)
    found = python_names(solution.build.wheels) if seen is None else seen
    for choice in solution.choices.values():
        names = sources.pythons(choice.place) if choice.name != TORCH else None
        if names is None and choice.row is not None and choice.row.wheels:
            names = python_names(choice.row.wheels)
        if names is not None and names != ("any",):
            found = tuple(name for name in found if name in names)
    return found


def commands(packages: tuple[Pin, ...], others: tuple[str, ...] = ()) -> dict[str, tuple[str, ...]]:
    """Return the commands by which a person would install this by hand; several are joined by ``&&``."""
    by_index: dict[tuple[str, str], list[str]] = {}
    for pin in packages:
        extras = f"[{','.join(pin.extras)}]" if pin.extras else ""
        by_index.setdefault((pin.index, pin.kind), []).append(f"{pin.name}{extras}=={pin.version}")
    plain = [text for text in others if not text.startswith("-")]
    if plain:
        by_index.setdefault(("default", "simple"), []).extend(plain)
    # One index a command: with two, pip takes the highest version of either and uv the first that answers.
    # What the default index serves comes last, when the family that it must not touch is there.
    groups = sorted(by_index.items(), key=lambda item: item[0][0] == "default")
    found: dict[str, tuple[str, ...]] = {}
    for tool, words in (("uv", ("uv", "pip", "install")), ("pip", ("python", "-m", "pip", "install"))):
        line: tuple[str, ...] = ()
        for (index, kind), names in groups:
            where: tuple[str, ...] = ()
            if index != "default":
                where = ("--find-links", index) if kind == "flat" else ("--index-url", index)
            line += (*(("&&",) if line else ()), *words, *names, *where)
        found[tool] = line
    return found


def rejections(decision: Decision, *, brief: bool = False) -> tuple[Rejection, ...]:
    """Return every candidate that lost with the rule that it lost by, best first; ``brief``: one of each variant."""
    solution = decision.solution
    lost = []
    told: set[str] = set()
    chosen = (solution.build.torch, solution.build.variant) if solution is not None else None
    builds = decision.candidates.builds
    # In batch mode one loser of each variant is enough; they are all found long before the oldest release.
    numbered = decision.candidates.firsts if brief and solution is not None else range(len(builds))
    for number in numbered:
        build = builds[number]
        if (brief and build.variant in told) or (build.torch, build.variant) == chosen:
            continue
        lost_by = decision.candidates[number].why_not
        if lost_by is None and solution is not None:
            lost_by = outranked(build, solution, decision)
        if lost_by is not None:
            told.add(build.variant)
            lost.append(Rejection.unchecked({"torch": build.torch, "variant": build.variant, "reason": lost_by}))
    return tuple(lost)


def outranked(build: Build, solution: Solution, decision: Decision) -> Reason:
    """Return why a build that fits isn't the one that was chosen."""
    chosen = solution.build
    supply = decision.supply
    if supply is not None and supply.fallback is not None and numbers(build.torch) >= numbers(chosen.torch):
        return supply.fallback
    if numbers(build.torch) > numbers(chosen.torch):
        names = " or ".join(name for name in solution.choices if name != TORCH) or "a companion"
        return reason("companion", name=names)
    if build.torch != chosen.torch:
        return reason("not-newest", chosen=chosen.torch)
    if backend(chosen.variant) == "rocm":
        return reason("lower-rocm", chosen=chosen.variant, torch=chosen.torch)
    if chosen.default or build.experimental == chosen.experimental:
        rule = "not-default" if chosen.default else "lower-cuda"
        return reason(rule, chosen=chosen.variant, torch=chosen.torch)
    return reason("experimental", variant=build.variant, torch=build.torch, chosen=chosen.variant)


def _devices(decision: Decision, build: Build, catalog: Catalog) -> tuple[Device, ...]:
    selection = decision.selection
    counted = backends.devices(selection, build, catalog)
    left = tuple(Device(gpu=number, runs="left-out", why=why.text) for number, why in selection.left_out)
    return tuple(sorted(counted + left, key=lambda device: device.gpu))


def why(
    decision: Decision, solution: Solution, machine: Machine, catalog: Catalog, *, bundled: bool = False
) -> tuple[Reason, ...]:
    """Return the reasons for a choice: the rule that decided, the cards, the driver, the companions.

    ``bundled``: it was a bundle that named version and variant.
    """
    build, selection = solution.build, decision.selection
    reasons = list(selection.why)
    if build.variant == "mps":
        reasons.append(reason("mps"))
    pair = {"torch": build.torch, "variant": build.variant}
    here = {**pair, "source": build.source}
    same = (n for n, other in enumerate(decision.candidates.builds) if other.torch == build.torch)
    fitting = [c.build.variant for n in same if (c := decision.candidates[n]).rule is None]
    if decision.supply is None or decision.supply.solution is decision.supply.ideal:
        reasons.append(reason("chosen-newest", torch=build.torch, source=build.source))
    if selection.named:
        reasons.append(reason("chosen-bundled" if bundled else "chosen-named", **here))
    elif len(fitting) == 1:
        reasons.append(reason("chosen-only", **here))
    elif build.variant == preferred_variant(build.torch, decision.target.platform, catalog):
        # On Windows the default index serves CPU builds: what is followed there is its choice for Linux.
        windows = (decision.target.platform or "").startswith("win")
        reasons.append(
            reason("chosen-as-linux" if windows and selection.backend == "cuda" else "chosen-default", **here)
        )
    elif selection.backend in {"cuda", "rocm"}:
        kind = "CUDA" if selection.backend == "cuda" else "ROCm"
        reasons.append(reason("chosen-highest", kind=kind, **here))
    reasons.extend(backends.why(selection, solution, machine, catalog))
    reasons.extend(
        reason("companion-pinned", name=choice.name, version=choice.version, source=choice.row.source, **pair)
        for choice in solution.choices.values()
        if choice.row is not None
    )
    place = solution.choices[TORCH].place
    if bundled and place.role == FIND_LINKS:
        reasons.append(reason("from-bundle", where=place.index, **pair))
    elif place.live:
        url = "the default index" if place.index == "default" else place.index
        reasons.append(reason("seen-live", url=url))
    return tuple(reasons)
