"""What would have to change: each way out is found by deciding again with that one thing changed."""

from __future__ import annotations

from torchinstall.catalog.rows import UNADVERTISED, UNVERIFIED
from torchinstall.model.machine import MACOS, Machine, NvidiaDriver
from torchinstall.model.plan import Alternative, DevicePlan, Reason
from torchinstall.model.sentences import reason
from torchinstall.model.variant import CPU, NPU
from torchinstall.model.version import at_least, numbers
from torchinstall.resolve import cuda, npu
from torchinstall.resolve.cards import MASKS
from torchinstall.resolve.decision import Decision, Question, decide
from torchinstall.resolve.joint import TORCH, companion_names
from torchinstall.resolve.selection import Card
from torchinstall.resolve.shelf import shelf

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from torchinstall.catalog.catalog import Catalog
    from torchinstall.model.request import Request
    from torchinstall.resolve.fallback import Supply

_SYSTEM_RULES = frozenset({"tegra-l4t", "glibc", "macos-tag", "macos-mps"})
_DRIVER_RULES = frozenset({"driver-too-old", "left-new", "left-dropped"})
_BROKEN_DRIVER = frozenset(
    {"driver-missing", "driver-nouveau", "driver-not-loaded", "driver-library-mismatch", "driver-no-device"}
)


def after_choice(decision: Decision, question: Question) -> tuple[Alternative, ...]:
    """Return the one or two changes worth knowing that would bring a newer torch."""
    solution = decision.solution
    if solution is None:
        return ()
    machine = question.machine
    chosen = numbers(solution.build.torch)
    rules = {candidate.rule for candidate in decision.candidates.above(solution.build.torch)}
    found: list[Alternative] = []
    if "driver-too-old" in rules:
        found += _with_driver(decision, question, newest_above=chosen)
    if "status" in rules:
        found += _with_variant_named(decision, question, chosen)
    if machine.os.name == MACOS and _emulated(machine):
        native = machine.replace(python=machine.python.replace(arch=machine.arch))
        other = decide(question.replace(machine=native))
        if other.solution is not None and numbers(other.solution.build.torch) > chosen:
            found.append(_alternative(other, reason("if-arm-python")))
    if len(decision.selection.cards) > 1:
        found += _with_one_card(decision, question, chosen)
    if decision.selection.backend == CPU and not decision.selection.named:
        found += _with_integrated(decision, question)
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

    for way in (*_with_driver(decision, question), *_with_cann(decision, question)):
        add(way)
    if decision.stopped is not None and decision.stopped.rule == "status":
        for way in _with_variant_named(decision, question, (), statuses=frozenset({UNADVERTISED, UNVERIFIED})):
            add(way)
    for changed, why in _changed_requests(request):
        other = decide(question.replace(request=changed))
        if other.solution is not None:
            add(_alternative(other, why))
    for python in _other_pythons(decision, machine, question.catalog):
        changed_machine = machine.replace(python=machine.python.replace(version=python, free_threaded=False))
        other = decide(question.replace(machine=changed_machine))
        if other.solution is not None:
            add(_alternative(other, reason("if-python", python=python)))
            break
    for changed_machine, why in _changed_systems(decision, machine, question.catalog):
        other = decide(question.replace(machine=changed_machine))
        if other.solution is not None:
            add(_alternative(other, why))
    if decision.selection.backend not in {"cpu", ""} or decision.selection.blocked is not None:
        other = decide(question.replace(request=request.replace(variant=CPU)))
        if other.solution is not None and not request.require_gpu:
            add(_alternative(other, reason("if-cpu")))
    return tuple(found[:5])


def one_card(decision: Decision, question: Question) -> list[Alternative]:
    """Return what the best of several cards alone could have, where they can't have anything together."""
    return _with_one_card(decision, question, ()) if len(decision.selection.cards) > 1 else []


def _emulated(machine: Machine) -> bool:
    """Tell whether an x86_64 Python runs on an arm64 Mac, which then sees no torch above 2.2."""
    arch = machine.python.arch
    return arch is not None and arch != machine.arch and arch.lower() in {"x86_64", "amd64"}


def _with_integrated(decision: Decision, question: Question) -> list[Alternative]:
    """Return the ROCm plan for integrated AMD graphics that don't count by themselves."""
    for number, why in decision.selection.left_out:
        if why.rule != "integrated-left" or (question.machine.gpus or ())[number].vendor != "amd":
            continue
        gpus = tuple(
            gpu.replace(integrated=False) if n == number else gpu for n, gpu in enumerate(question.machine.gpus or ())
        )
        counted = question.replace(machine=question.machine.replace(gpus=gpus))
        for left_away in _fewest(question.request):
            kept = tuple(wish for wish in question.request.wishes if wish.name not in left_away)
            other = decide(counted.replace(request=question.request.replace(wishes=kept)))
            if other.solution is not None and other.selection.backend == "rocm":
                build = other.solution.build
                facts = {"card": why.params["card"], "variant": build.variant, "names": " and ".join(left_away)}
                rule = "if-rocm-without" if left_away else "if-rocm"
                names = " ".join([f"torch=={build.torch}", *(wish.text for wish in kept if wish.name != TORCH)])
                return [_alternative(other, reason(rule, **facts), f"--variant {build.variant} {names}")]
    return []


def _fewest(request: Request) -> list[tuple[str, ...]]:
    """Return what of the companions could be left away, the least first: nothing, one of them, all."""
    names = tuple(dict.fromkeys(wish.name for wish in request.wishes if wish.name != TORCH))
    return list(dict.fromkeys([(), *((name,) for name in names), names]))


def _with_cann(decision: Decision, question: Question) -> list[Alternative]:
    """Try a CANN that some torch-npu runs with, the window of the newest first."""
    machine = question.machine
    if decision.selection.backend != NPU or machine.ascend is None or machine.ascend.cann is None:
        return []
    ascend = machine.ascend
    other = decide(question.replace(machine=machine.replace(ascend=ascend.replace(cann=None))))
    if other.solution is None or (choice := other.solution.choices.get(npu.TORCH_NPU)) is None:
        return []  # another card decides there, or torch-npu has nothing for the platform
    row = npu.row_of(choice.version, other.solution.build.platform, question.catalog)
    if row is None:
        return []
    low, high = npu.span(row, question.catalog)
    changed = machine.replace(ascend=ascend.replace(cann=low))
    checked = decide(question.replace(machine=changed))
    if checked.solution is None:
        return []
    wanted = low if low == high else f"{low} to {high}"
    return [_alternative(checked, reason("if-cann-any", wanted=wanted, source=row.source))]


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
    missing = [name for name in supply.ideal.choices if name not in supply.nearest.choices]
    if missing:
        why = reason("if-companion", name=" and ".join(missing))
        return (Alternative(torch=build.torch, variant=build.variant, reason=why),)
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
        driven = machine.nvidia.replace(kernel_module=None, state="ok")
        other = decide(question.replace(machine=machine.replace(nvidia=driven)))
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
    elif driver.version is None:
        rule = "if-driver-installed" if driver.state in {"missing", "nouveau"} else "if-driver-answers"
        why = reason(rule, minimum=floor.minimum, source=floor.source)
    elif at_least(driver.version, floor.minimum) and driver.state != "ok":
        # New enough, and yet it doesn't answer: another number is no cure.
        why = reason("if-driver-works", found=driver.version, minimum=floor.minimum, source=floor.source)
    else:
        why = reason("if-driver", minimum=floor.minimum, source=floor.source)
    return [_alternative(other, why)]


def _with_variant_named(
    decision: Decision,
    question: Question,
    above: tuple[int, ...],
    statuses: frozenset[str] = frozenset({UNADVERTISED}),
) -> list[Alternative]:
    for candidate in decision.candidates:
        if numbers(candidate.build.torch) <= above:
            break
        if candidate.rule != "status" or candidate.build.status not in statuses:
            continue
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
    for bound in request.constraints:
        if bound.specifier:
            changed = request.replace(constraints=tuple(wish for wish in request.constraints if wish is not bound))
            yield changed, reason("if-constraint", requirement=bound.text, origin=bound.origin)
    if request.variant and request.variant != CPU:
        yield request.replace(variant=None), reason("if-variant", variant=request.variant)
    for name in companion_names(request, [wish.name for wish in request.wishes]):
        changed = request.replace(wishes=tuple(w for w in request.wishes if w.name != name))
        yield changed, reason("if-companion", name=name)


def _changed_systems(decision: Decision, machine: Machine, catalog: Catalog) -> Iterator[tuple[Machine, Reason]]:
    for candidate in decision.candidates.eligible():
        if candidate.rule not in _SYSTEM_RULES or (why := candidate.why_not) is None:
            continue
        if why.rule == "tegra-l4t" and machine.jetson is not None:
            minimum = why.params["minimum"]
            board = next((row.jetpack for row in catalog.jetpacks if at_least(row.l4t, minimum)), minimum)
            yield (
                machine.replace(jetson=machine.jetson.replace(l4t=minimum)),
                reason("if-l4t", minimum=minimum, jetpack=board),
            )
            return
        if why.rule == "glibc":
            system = machine.os.replace(glibc=why.params["minimum"])
            yield machine.replace(os=system), reason("if-glibc", minimum=why.params["minimum"])
            return
        if why.rule in {"macos-tag", "macos-mps"}:
            system = machine.os.replace(version=why.params["minimum"])
            yield machine.replace(os=system), reason("if-macos", minimum=why.params["minimum"])
            return


def _other_pythons(decision: Decision, machine: Machine, catalog: Catalog) -> list[str]:
    """Return other Pythons, nearest first: going down a version is the smaller change than going up two.

    None where nothing was lost for want of a wheel for this one.
    """
    here = numbers(machine.python.version or "")[:2]
    if len(here) < 2:  # noqa: PLR2004 - major and minor
        return []
    companion = decision.stopped is not None and decision.stopped.rule in {"companion-none", "conflict"}
    if not companion and all(candidate.rule != "no-python" for candidate in decision.candidates.eligible()):
        return []
    shelved = shelf(catalog, ("pythons",))
    known: set[int] = shelved.setdefault("minors", set()) or {
        int(tag[3:])
        for release in catalog.releases
        for build in release.builds
        for wheel in build.wheels
        for tag in wheel.pythons
        if tag.startswith("cp3") and tag[3:].isdigit()
    }
    shelved["minors"] = known
    # The ordinary build of a free-threaded Python is another one, and the nearest.
    others = sorted(
        known if machine.python.free_threaded else known - {here[1]}, key=lambda minor: (abs(minor - here[1]), minor)
    )
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
