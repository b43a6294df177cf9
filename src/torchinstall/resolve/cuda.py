"""The rules of CUDA wheels: code for every card, and a driver that reaches the floor (policy 2)."""

from __future__ import annotations

from torchinstall.model.plan import Device, Need, Reason
from torchinstall.model.sentences import reason
from torchinstall.model.value import Value
from torchinstall.model.variant import toolkit
from torchinstall.model.version import at_least, numbers
from torchinstall.resolve.cards import is_windows_driver, reaches
from torchinstall.resolve.selection import Card
from torchinstall.resolve.shelf import shelf

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from torchinstall.catalog.catalog import Catalog
    from torchinstall.catalog.rows import ArchList, Build
    from torchinstall.model.machine import Machine
    from torchinstall.resolve.target import Target


class DriverFloor(Value):
    """What a CUDA build asks of the driver. ``met``: ``None`` where no version is known."""

    minimum: str
    below: int | None
    last_branch: int | None
    found: str | None
    met: bool | None
    forward: bool
    source: str


def code_for(card: Card, archs: ArchList, catalog: Catalog) -> int | None:
    """Return the best code in a wheel for a card: same major, minor at most the card's (86 for 8.9).

    Code for some Tegra ids serves that id alone. There is no PTX in release wheels, so nothing is ever
    compiled for a newer major.
    """
    major, minor = numbers(card.cc)[:2]
    whole = major * 10 + minor
    if card.tegra is not None and card.tegra.own_code:
        return whole if whole in archs.sass else None
    own = own_ids(archs, catalog)
    return max((sm for sm in archs.sass if sm // 10 == major and sm % 10 <= minor and sm not in own), default=None)


def own_ids(archs: ArchList, catalog: Catalog) -> frozenset[int]:
    """Return the ids in a list that are Tegra's own: their code serves no other card."""
    known = shelf(catalog, ("own code",))
    found: frozenset[int] | None = known.get(archs.sass)
    if found is None:
        rows = ((sm, catalog.tegra(None, f"{sm // 10}.{sm % 10}")) for sm in archs.sass)
        found = known[archs.sass] = frozenset(sm for sm, row in rows if row is not None and row.own_code)
    return found


class Verdicts:
    """The rules of CUDA builds for some cards, with what many builds share worked out once."""

    def __init__(self, cards: tuple[Card, ...], machine: Machine, target: Target, catalog: Catalog) -> None:
        self._cards, self._machine, self._catalog = cards, machine, catalog
        self._floors: dict[int, DriverFloor | None] = {}
        kinds: dict[tuple[str, bool, bool], Card] = {}
        for card in cards:
            # Cards of one architecture share their fate; the first lends its name.
            kinds.setdefault((card.cc, card.tegra is not None, bool(card.tegra and card.tegra.own_code)), card)
        self._kinds = [(card, shelf(catalog, ("code", target.platform, *kind))) for kind, card in kinds.items()]

    def __call__(self, build: Build) -> tuple[str, Callable[[], Reason]] | None:
        """Return the first rule that this build fails on these cards; ``None`` where it runs on all of them."""
        catalog = self._catalog
        archs = catalog.arch_list(build)
        here = {"torch": build.torch, "variant": build.variant}
        if archs is None:
            return "arch-unknown", lambda: reason("arch-unknown", source=build.source, **here)
        for card, known in self._kinds:
            if card.tegra is not None and (why := _tegra(build, card, self._machine)) is not None:
                return why.rule, lambda why=why: why
            key = (build.torch, build.variant)
            if key not in known:
                known[key] = code_for(card, archs, catalog)
            if known[key] is None:
                return "no-kernel", lambda card=card: _no_kernel(build, card, archs)
        major = numbers(toolkit(build.variant))[0]
        if major not in self._floors:
            self._floors[major] = driver_floor(build, self._cards, self._machine, catalog)
        floor = self._floors[major]
        if floor is not None and floor.met is False:
            facts = {"major": major, "minimum": floor.minimum, "found": floor.found}
            return "driver-too-old", lambda: reason("driver-too-old", source=floor.source, **facts)
        return None


def _no_kernel(build: Build, card: Card, archs: ArchList) -> Reason:
    names = ", ".join(f"sm_{sm}" for sm in archs.sass)
    facts = {"torch": build.torch, "variant": build.variant, "card": card.name, "cc": card.cc}
    return reason("no-kernel", archs=names, source=archs.source, **facts)


def driver_floor(build: Build, cards: tuple[Card, ...], machine: Machine, catalog: Catalog) -> DriverFloor | None:
    """Return the driver that this build needs for these cards; ``None`` on Tegra, where the numbers mean nothing."""
    if any(card.tegra is not None for card in cards):
        return None
    major = numbers(toolkit(build.variant))[0]
    row = catalog.cuda_floor(major)
    if row is None:
        return None
    windows = is_windows_driver(machine)
    minimum = (row.windows if windows else row.linux) or ""
    source = row.source
    floors = [row]
    below = last = None
    for card in cards:
        generation = card.generation
        if generation is None:
            continue
        if generation.floor is not None:
            floors.append(generation.floor)
            floor = generation.floor.windows if windows else generation.floor.linux
            if floor and not at_least(minimum or "0", floor):
                minimum, source = floor, generation.floor.source
        if generation.dropped_branch and (below is None or generation.dropped_branch < below):
            below, last = generation.dropped_branch, generation.last_branch
    driver = machine.nvidia
    found = driver.version if driver else None
    met: bool | None = None
    forward = False
    answer = driver.libcuda if driver else None
    announced = (driver.cuda or answer) if driver else None
    if found is not None:
        met = all(reaches(found, floor, windows=windows) for floor in floors)
        compatible = not any("geforce" in card.name.lower() for card in cards)  # data.md: "Not for GeForce"
        if not met and compatible and answer and numbers(answer)[:1] >= (major,):
            met = forward = True
    elif announced and numbers(announced)[:1] < (major,):
        # No number, but a word: a driver that announces CUDA 12 is none of CUDA 13.
        met, found = False, f"one that announces CUDA {announced}"
    return DriverFloor(
        minimum=minimum, below=below, last_branch=last, found=found, met=met, forward=forward, source=source
    )


def devices(build: Build, cards: tuple[Card, ...], catalog: Catalog) -> tuple[Device, ...]:
    """Return what the build means for each card."""
    archs = catalog.arch_list(build)
    result = []
    for card in cards:
        code = code_for(card, archs, catalog) if archs else None
        by = f"sm_{code}" if code else ""
        result.append(Device(gpu=card.number, runs="yes" if code else "unknown", by=by))
    return tuple(result)


def needs(build: Build, cards: tuple[Card, ...], machine: Machine, catalog: Catalog) -> tuple[Need, ...]:
    """Return what the build needs of the machine, met or not."""
    tegra = next((card.tegra for card in cards if card.tegra is not None), None)
    if tegra is not None:
        found = machine.jetson.l4t if machine.jetson else None
        minimum = tegra.sbsa_from_l4t or ""
        met = at_least(found, minimum) if found and minimum else None
        return (Need(what="l4t", minimum=minimum, found=found, met=met),)
    floor = driver_floor(build, cards, machine, catalog)
    if floor is None or not floor.minimum:
        return ()
    note = "forward compatibility" if floor.forward else (f"below {floor.below}" if floor.below else "")
    return (Need(what="nvidia-driver", minimum=floor.minimum, found=floor.found, met=floor.met, note=note),)


def why(build: Build, cards: tuple[Card, ...], machine: Machine, catalog: Catalog) -> tuple[Reason, ...]:
    """Return the facts about cards and driver that speak for this build."""
    reasons = []
    archs = catalog.arch_list(build)
    seen = set()
    for card in cards:
        code = code_for(card, archs, catalog) if archs else None
        if archs and code and (card.name, code) not in seen:
            seen.add((card.name, code))
            reasons.append(reason("covers", card=card.name, cc=card.cc, code=f"sm_{code}", source=archs.source))
    floor = driver_floor(build, cards, machine, catalog)
    if floor is None or not floor.minimum:
        return tuple(reasons)
    major = numbers(toolkit(build.variant))[0]
    facts = {"minimum": floor.minimum, "source": floor.source}
    if floor.forward and machine.nvidia:
        reasons.append(reason("driver-compat", found=floor.found, libcuda=machine.nvidia.libcuda, **facts))
    elif floor.found:
        reasons.append(reason("driver-ok", found=floor.found, major=major, **facts))
    elif floor.below:
        reasons.append(reason("driver-assumed-below", below=floor.below, **facts))
    else:
        reasons.append(reason("driver-assumed", **facts))
    return tuple(reasons)


def _tegra(build: Build, card: Card, machine: Machine) -> Reason | None:
    tegra = card.tegra
    if tegra is None:
        return None
    if tegra.sbsa_from_l4t is None:
        return reason("tegra-none", card=card.name, advice=tegra.advice, source=tegra.source)
    if tegra.sbsa_from_cuda and not at_least(toolkit(build.variant), tegra.sbsa_from_cuda):
        return reason("tegra-cuda", card=card.name, minimum=tegra.sbsa_from_cuda, source=tegra.source)
    found = machine.jetson.l4t if machine.jetson else None
    if found and not at_least(found, tegra.sbsa_from_l4t):
        facts = {"card": card.name, "minimum": tegra.sbsa_from_l4t, "found": found, "advice": tegra.advice}
        return reason("tegra-l4t", source=tegra.source, **facts)
    return None
