"""What would have to change: each way out is found by deciding again with that one thing changed."""

from __future__ import annotations

from torchinstall.model.machine import Machine, NvidiaDriver
from torchinstall.model.plan import Alternative, DevicePlan, Reason
from torchinstall.model.sentences import reason
from torchinstall.model.variant import CPU
from torchinstall.model.version import numbers
from torchinstall.resolve import cuda
from torchinstall.resolve.cards import MASKS, Card
from torchinstall.resolve.decision import Decision, Question, decide
from torchinstall.resolve.joint import TORCH, companion_names

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from torchinstall.catalog.catalog import Catalog
    from torchinstall.model.request import Request
    from torchinstall.resolve.fallback import Supply

_DRIVER_RULES = frozenset({"driver-too-old", "left-new", "left-dropped"})
_BROKEN_DRIVER = frozenset(
    {"driver-missing", "driver-nouveau", "driver-not-loaded", "driver-library-mismatch", "driver-no-device"}
)


def after_choice(decision: Decision, question: Question) -> tuple[Alternative, ...]:
    """Return the one or two changes worth knowing that would bring a newer torch."""
    solution = decision.solution
    if solution is None:
        return ()
    chosen = numbers(solution.build.torch)
    newer = [c for c in decision.candidates if c.why_not is not None and numbers(c.build.torch) > chosen]
    rules = {c.why_not.rule for c in newer if c.why_not is not None}
    found: list[Alternative] = []
    if "driver-too-old" in rules:
        found += _with_driver(decision, question, newest_above=chosen)
    if "status" in rules:
        found += _with_variant_named(decision, question, chosen)
    if len(decision.selection.cards) > 1:
        found += _with_one_card(decision, question, chosen)
    return tuple(found[:3])


def after_block(decision: Decision, question: Question) -> tuple[Alternative, ...]:
    """Return the nearest ways out of a blocked plan, the smallest change first."""
    machine, request = question.machine, question.request
    found: list[Alternative] = []
    seen: set[tuple[str, str, str]] = set()

    def add(way: Alternative) -> None:
        key = (way.torch, way.variant, way.reason.rule)
        if key not in seen:
            seen.add(key)
            found.append(way)

    for way in _with_driver(decision, question):
        add(way)
    for changed, why in _changed_requests(request):
        other = decide(question.replace(request=changed))
        if other.solution is not None:
            add(_alternative(other, why))
    for python in _other_pythons(machine, question.catalog):
        changed_machine = machine.replace(python=machine.python.replace(version=python, free_threaded=False))
        other = decide(question.replace(machine=changed_machine))
        if other.solution is not None:
            add(_alternative(other, reason("if-python", python=python)))
            break
    for changed_machine, why in _changed_systems(decision, machine):
        other = decide(question.replace(machine=changed_machine))
        if other.solution is not None:
            add(_alternative(other, why))
    if decision.selection.backend not in {"cpu", ""} or decision.selection.blocked is not None:
        other = decide(question.replace(request=request.replace(variant=CPU)))
        if other.solution is not None and not request.require_gpu:
            add(_alternative(other, reason("if-cpu")))
    return tuple(found[:5])


def plan_per_device(decision: Decision, question: Question) -> tuple[DevicePlan, ...]:
    """Return a plan for each card alone, where there are several and no tuple fits all of them."""
    cards = decision.selection.cards
    if len(cards) < 2 or decision.selection.blocked is not None:  # noqa: PLR2004 - several
        return ()
    plans = []
    for card in cards:
        other = decide(question.replace(machine=_alone(question.machine, card)))
        hide = _mask(question.machine, card)
        if other.solution is not None:
            build = other.solution.build
            plans.append(
                DevicePlan(gpu=card.number, outcome="install", torch=build.torch, variant=build.variant, hide=hide)
            )
        else:
            plans.append(DevicePlan(gpu=card.number, outcome="blocked", reason=other.stopped, hide=hide))
    return tuple(plans)


def nearest_reachable(supply: Supply) -> tuple[Alternative, ...]:
    """Return the newest fitting tuple that a reachable source has, where the best one can't be had."""
    if supply.nearest is None:
        return ()
    build = supply.nearest.build
    index = supply.nearest.choices[TORCH].place.index
    where = "the default index" if index == "default" else index
    why = reason("if-reachable", where=where)
    return (Alternative(torch=build.torch, variant=build.variant, reason=why, command="--allow-older"),)


def _alternative(decision: Decision, why: Reason, command: str = "") -> Alternative:
    if decision.solution is None:
        raise ValueError("an alternative needs a solution")
    build = decision.solution.build
    return Alternative(torch=build.torch, variant=build.variant, reason=why, command=command)


def _with_driver(
    decision: Decision,
    question: Question,
    newest_above: tuple[int, ...] | None = None,
) -> list[Alternative]:
    """Try a driver that is new enough; or, where the card was dropped, the last branch that drives it."""
    machine, catalog = question.machine, question.catalog
    stopped = decision.stopped
    gpus = machine.gpus or ()
    if not any(gpu.vendor == "nvidia" for gpu in gpus):
        return []
    if stopped is not None and stopped.rule == "blocked-dropped":
        branch = stopped.params["last"]
        other = decide(question.replace(machine=machine.replace(nvidia=NvidiaDriver(version=branch, state="ok"))))
        if other.solution is None:
            return []
        floor = cuda.driver_floor(other.solution.build, other.selection.cards, machine, catalog)
        minimum = floor.minimum if floor else branch
        return [_alternative(other, reason("if-driver-branch", branch=branch, minimum=minimum))]
    if stopped is not None and stopped.rule == "blocked-module" and machine.nvidia is not None:
        other = decide(question.replace(machine=machine.replace(nvidia=machine.nvidia.replace(kernel_module=None))))
        way = reason("if-module", other=stopped.params["other"])
        return [_alternative(other, way)] if other.solution is not None else []
    driver = machine.nvidia
    if driver is None or (driver.version is None and driver.state in {None, "ok", "unknown"}):
        return []
    # The cards stay those that count now, so that a newer driver isn't praised for dropping one of them.
    counted = {card.number for card in decision.selection.cards}
    kept = tuple(
        gpu.replace(driver=None) if number in counted or not counted else gpu.replace(visible=False)
        for number, gpu in enumerate(gpus)
    )
    changed = machine.replace(nvidia=NvidiaDriver(), gpus=kept)
    other = decide(question.replace(machine=changed))
    if other.solution is None:
        return []
    build = other.solution.build
    if newest_above is not None and numbers(build.torch) <= newest_above:
        return []
    floor = cuda.driver_floor(build, other.selection.cards, changed, catalog)
    if floor is None:
        return []
    if floor.below is not None:
        why = reason("if-driver-branch", branch=floor.last_branch, minimum=floor.minimum)
    else:
        why = reason("if-driver", minimum=floor.minimum, source=floor.source)
    return [_alternative(other, why)]


def _with_variant_named(
    decision: Decision,
    question: Question,
    above: tuple[int, ...],
) -> list[Alternative]:
    for candidate in decision.candidates:
        why = candidate.why_not
        if why is None or why.rule != "status" or why.params.get("status") != "unadvertised":
            continue
        if numbers(candidate.build.torch) <= above:
            break
        variant = candidate.build.variant
        other = decide(question.replace(request=question.request.replace(variant=variant)))
        if other.solution is not None and numbers(other.solution.build.torch) > above:
            return [_alternative(other, reason("if-cuda", variant=variant), f"--variant {variant}")]
    return []


def _with_one_card(
    decision: Decision,
    question: Question,
    above: tuple[int, ...],
) -> list[Alternative]:
    best: Alternative | None = None
    for card in decision.selection.cards:
        other = decide(question.replace(machine=_alone(question.machine, card)))
        if other.solution is None or numbers(other.solution.build.torch) <= above:
            continue
        if best is None or numbers(other.solution.build.torch) > numbers(best.torch):
            best = _alternative(other, reason("if-alone", card=card.name, variable=_mask(question.machine, card)))
    return [best] if best else []


def _changed_requests(request: Request) -> Iterator[tuple[Request, Reason]]:
    for wish in request.wishes:
        if wish.specifier or wish.variant:
            bare = wish.replace(specifier="", variant=None)
            changed = request.replace(wishes=tuple(bare if w is wish else w for w in request.wishes))
            yield changed, reason("if-version", requirement=wish.text)
    if request.variant and request.variant != CPU:
        yield request.replace(variant=None), reason("if-variant", variant=request.variant)
    for name in companion_names(request, [wish.name for wish in request.wishes]):
        changed = request.replace(wishes=tuple(w for w in request.wishes if w.name != name))
        yield changed, reason("if-companion", name=name)


def _changed_systems(decision: Decision, machine: Machine) -> Iterator[tuple[Machine, Reason]]:
    for candidate in decision.candidates:
        why = candidate.why_not
        if why is None:
            continue
        if why.rule == "glibc":
            system = machine.os.replace(glibc=why.params["minimum"])
            yield machine.replace(os=system), reason("if-glibc", minimum=why.params["minimum"])
            return
        if why.rule in {"macos-tag", "macos-mps"}:
            system = machine.os.replace(version=why.params["minimum"])
            yield machine.replace(os=system), reason("if-macos", minimum=why.params["minimum"])
            return


def _other_pythons(machine: Machine, catalog: Catalog) -> list[str]:
    """Return other Pythons, nearest first: going down a version is the smaller change than going up two."""
    here = numbers(machine.python.version or "")[:2]
    if len(here) < 2:  # noqa: PLR2004 - major and minor
        return []
    known = {
        int(tag[3:])
        for release in catalog.releases
        for build in release.builds
        for wheel in build.wheels
        for tag in wheel.pythons
        if tag.startswith("cp3") and tag[3:].isdigit()
    }
    others = sorted(known - {here[1]}, key=lambda minor: (abs(minor - here[1]), minor))
    return [f"3.{minor}" for minor in others]


def _alone(machine: Machine, card: Card) -> Machine:
    gpus = tuple(
        gpu if number == card.number else gpu.replace(visible=False) for number, gpu in enumerate(machine.gpus or ())
    )
    return machine.replace(gpus=gpus)


def _mask(machine: Machine, card: Card) -> str:
    variable = MASKS.get(card.gpu.vendor, "CUDA_VISIBLE_DEVICES")
    if card.gpu.uuid:
        return f"{variable}={card.gpu.uuid}"
    same = [number for number, gpu in enumerate(machine.gpus or ()) if gpu.vendor == card.gpu.vendor]
    number = same.index(card.number)
    order = "CUDA_DEVICE_ORDER=PCI_BUS_ID " if card.gpu.vendor == "nvidia" else ""
    return f"{order}{variable}={number}"
