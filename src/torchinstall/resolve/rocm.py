"""The rules of ROCm wheels (policy 8): code that works for every gfx, and a driver that the wheel's ROCm runs on.

A gfx in a wheel's list is no proof: the data says from which ROCm on its libraries have nothing for a card.
"""

from __future__ import annotations

from torchinstall.model.plan import Device, Need, Reason
from torchinstall.model.sentences import reason
from torchinstall.model.variant import toolkit
from torchinstall.model.version import at_least, numbers

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from torchinstall.catalog.backend_rows import RocmDriver, RocmFault, VendorBuild
    from torchinstall.catalog.catalog import Catalog
    from torchinstall.catalog.rows import Build
    from torchinstall.model.machine import Machine
    from torchinstall.resolve.selection import Card

ALL_DEVICES = "device-all"
"""AMD's extra with the code of every card, for a variant that was named without one."""
_LINUX = "linux_x86_64"


def offered(platform: str, cards: tuple[Card, ...], catalog: Catalog) -> tuple[Build, ...]:
    """Return the builds of AMD's own indexes, each as these cards need it: its folder, its extras."""
    return tuple(_for_cards(row, cards) for row in catalog.amd_builds(platform))


def why_not(
    build: Build, cards: tuple[Card, ...], machine: Machine, catalog: Catalog, *, named: bool = False
) -> Reason | None:
    """Return the first rule that this build fails on these cards; ``None`` where it runs on all of them.

    Who has named the variant (``named``) gets it from AMD's index, and without the driver that it likes.
    """
    here = {"torch": build.torch, "variant": build.variant}
    wsl = bool(machine.os.wsl)
    if not build.index and wsl:
        return reason("rocm-wsl", **here)
    for card in cards:
        gfx = card.gpu.gfx or ""
        if any(gfx in row.gfx for row in catalog.rocm.none):
            return _no_code(build, card, (), catalog)
        if build.index:
            row = _row(build, catalog)
            if row is None or gfx not in row.gfx:
                return _no_code(build, card, row.gfx if row else (), catalog)
            continue
        code = catalog.rocm.code.get(toolkit(build.variant))
        if code is None:
            return reason("rocm-unknown", source=build.source, **here)
        if gfx not in code.gfx:
            return _no_code(build, card, code.gfx, catalog, code.source)
        if (fault := _fault(gfx, build, catalog)) is not None:
            facts = {"card": card.name, "gfx": gfx, **here}
            if fault.torch_from:
                return reason("rocm-torch", limit=fault.torch_from, source=fault.source, **facts)
            rule = "rocm-libraries" if fault.rocm_below is None else "rocm-early"
            return reason(rule, limit=fault.rocm_below or fault.rocm_from, source=fault.source, **facts)
    if named:
        return None
    if build.index and not wsl and cards and served_by_pytorch(build.platform, cards, catalog):
        names = ", ".join(dict.fromkeys(card.gpu.gfx or "" for card in cards))
        return reason("rocm-vendor", gfx=names, **here)
    driver = _wants_driver(build, catalog)
    if driver is not None and cards and not _driver_reaches(driver, machine) and _others_serve(build, cards, catalog):
        return reason("rocm-driver", rocm=driver.rocm, dkms=driver.dkms, source=driver.source, **here)
    return None


def served_by_pytorch(platform: str, cards: Iterable[Card], catalog: Catalog) -> bool:
    """Tell whether some wheel on PyTorch's own index runs on all of these cards."""
    found = list(cards)
    return any(
        all(runs_on(build, card.gpu.gfx or "", catalog) for card in found)
        for build in catalog.builds(platform)
        if build.variant.startswith("rocm") and build.status != "withdrawn"
    )


def runs_on(build: Build, gfx: str, catalog: Catalog) -> bool:
    """Tell whether a build has code for a gfx target that is known to work."""
    if build.index:
        row = _row(build, catalog)
        return row is not None and gfx in row.gfx
    code = catalog.rocm.code.get(toolkit(build.variant))
    return code is not None and gfx in code.gfx and _fault(gfx, build, catalog) is None


def devices(build: Build, cards: tuple[Card, ...], catalog: Catalog) -> tuple[Device, ...]:
    """Return what the build means for each card."""
    return tuple(
        Device(
            gpu=card.number,
            runs="yes" if runs_on(build, card.gpu.gfx or "", catalog) else "unknown",
            by=card.gpu.gfx or "",
        )
        for card in cards
    )


def needs(build: Build, cards: tuple[Card, ...], machine: Machine, catalog: Catalog) -> tuple[Need, ...]:
    """Return what the build needs of the machine beside the wheel."""
    found = machine.amd.amdgpu if machine.amd else None
    wsl = bool(machine.os.wsl)
    state = machine.amd.state if machine.amd else None
    result = []
    for row in catalog.rocm.access:
        if row.platform == build.platform and row.wsl == wsl:
            met = True if state == "ok" and row.what == "amdgpu" else None
            driver = _wants_driver(build, catalog)
            minimum = driver.dkms if driver is not None and row.what == "amdgpu" else ""
            if minimum:
                met = _driver_reaches(driver, machine) if driver and machine.amd else None
            result.append(Need(what=row.what, minimum=minimum, found=found, met=met, note=row.note))
    return tuple(result)


def why(build: Build, cards: tuple[Card, ...], machine: Machine, catalog: Catalog) -> tuple[Reason, ...]:
    """Return the facts about cards and driver that speak for this build."""
    reasons = []
    code = catalog.rocm.code.get(toolkit(build.variant))
    source = code.source if code is not None and not build.index else build.source
    for gfx, name in {card.gpu.gfx or "": card.name for card in cards}.items():
        reasons.append(reason("rocm-covers", card=name, gfx=gfx, variant=build.variant, source=source))
    if build.index:
        reasons.append(reason("rocm-amd-index", url=build.index, torch=build.torch, source=build.source))
    driver = _wants_driver(build, catalog)
    if driver is not None and machine.amd is not None and _driver_reaches(driver, machine):
        found = machine.amd.amdgpu or machine.amd.rocm
        reasons.append(reason("rocm-driver-ok", found=found, rocm=driver.rocm, source=driver.source))
    version = toolkit(build.variant)
    reasons += [
        reason("rocm-feature", feature=row.feature, rocm=row.rocm_from, torch=row.torch_from, source=row.source)
        for row in catalog.rocm.features
        if at_least(version, row.rocm_from) and at_least(build.torch, row.torch_from)
    ]
    return tuple(reasons)


def _for_cards(row: VendorBuild, cards: tuple[Card, ...]) -> Build:
    targets = tuple(dict.fromkeys(card.gpu.gfx or "" for card in cards))
    build = row.build
    if row.extra:
        extras = tuple(row.extra.format(gfx=gfx) for gfx in targets) or (ALL_DEVICES,)
        build = build.replace(extras=extras)
    for family, gfx in row.families:
        if targets and all(target in gfx for target in targets):
            return build.replace(index=build.index.replace("{family}", family))
    return build


def _row(build: Build, catalog: Catalog) -> VendorBuild | None:
    rows = catalog.amd_builds(build.platform)
    return next((r for r in rows if (r.build.torch, r.build.variant) == (build.torch, build.variant)), None)


def _no_code(build: Build, card: Card, listed: tuple[str, ...], catalog: Catalog, source: str = "") -> Reason:
    gfx = card.gpu.gfx or ""
    here = {"torch": build.torch, "variant": build.variant, "card": card.name, "gfx": gfx}
    for row in catalog.rocm.none:
        if gfx in row.gfx:
            return reason("rocm-no-wheel", name=row.name, source=row.source, **here)
    return reason("rocm-no-code", archs=", ".join(listed), source=source or build.source, **here)


def _fault(gfx: str, build: Build, catalog: Catalog) -> RocmFault | None:
    version = toolkit(build.variant)
    for fault in catalog.rocm.faults:
        below = fault.rocm_below
        if fault.gfx != gfx or (fault.torch_from and not at_least(build.torch, fault.torch_from)):
            continue
        if at_least(version, fault.rocm_from) and (below is None or not at_least(version, below)):
            return fault
    return None


def _wants_driver(build: Build, catalog: Catalog) -> RocmDriver | None:
    if build.index or build.platform != _LINUX:
        return None
    rows = [row for row in catalog.rocm.drivers if at_least(toolkit(build.variant), row.rocm)]
    return max(rows, key=lambda row: numbers(row.rocm), default=None)


def _driver_reaches(driver: RocmDriver, machine: Machine) -> bool:
    amd = machine.amd
    if amd is None:
        return False
    dkms = amd.dkms is not False and amd.amdgpu is not None and at_least(amd.amdgpu, driver.dkms)
    return dkms or (amd.rocm is not None and at_least(amd.rocm, driver.host_rocm))


def _others_serve(build: Build, cards: tuple[Card, ...], catalog: Catalog) -> bool:
    """Tell whether a wheel with an older ROCm serves the cards, so that the new one can wait for its driver."""
    return any(
        _wants_driver(other, catalog) is None and all(runs_on(other, card.gpu.gfx or "", catalog) for card in cards)
        for other in catalog.builds(build.platform)
        if other.variant.startswith("rocm") and other.status != "withdrawn"
    )
