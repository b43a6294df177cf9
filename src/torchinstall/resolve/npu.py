"""The rules of Ascend NPUs (policy 8): torch-npu, torch, CANN, Python and architecture as one pinned row."""

from __future__ import annotations

import re

from torchinstall.model.pattern import pattern
from torchinstall.model.plan import Device, Need, Pin, Reason
from torchinstall.model.sentences import reason
from torchinstall.model.version import at_least, numbers

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from torchinstall.catalog.backend_rows import CannWindow, NpuRow, Soc
    from torchinstall.catalog.catalog import Catalog
    from torchinstall.catalog.rows import Build, Companion
    from torchinstall.model.machine import Machine
    from torchinstall.model.request import Request
    from torchinstall.resolve.selection import Card
    from torchinstall.resolve.target import Target

TORCH_NPU = "torch-npu"
_CANN = pattern(r"(\d+)\.(\d+)(?:\.(\d+))?(?:\.?rc(\d+))?", re.IGNORECASE)


def cann_key(text: str) -> tuple[int, int, int, bool, int] | None:
    """Return a sort key of a CANN version: 8.2.RC1 is before 8.2.0, and that before 8.3.RC1."""
    match = _CANN.match(text.strip())
    if match is None:
        return None
    return int(match[1]), int(match[2]), int(match[3] or 0), match[4] is None, int(match[4] or 0)


def why_not(
    build: Build, cards: tuple[Card, ...], machine: Machine, request: Request, target: Target, catalog: Catalog
) -> Reason | None:
    """Return why no torch-npu of this torch can be used here; ``None`` where one can."""
    rows = [row for row in _rows(build, catalog) if _released(row, request)]
    here = {"torch": build.torch}
    if not rows:
        return reason("npu-none", **here)
    cann = machine.ascend.cann if machine.ascend else None
    for card in cards:
        soc = _soc(card, catalog)
        if soc is not None and soc.cann_from and cann and not at_least(cann, soc.cann_from):
            return reason("cann-soc", card=card.name, minimum=soc.cann_from, found=cann, source=soc.source)
    fitting = [row for row in rows if cann is None or fits_cann(row, cann, catalog)]
    if not fitting and cann is not None:
        spans = [span(row, catalog) for row in rows]
        key = cann_key(cann)
        lowest = min(spans, key=lambda pair: cann_key(pair[0]) or (0, 0, 0, True, 0))
        wanted = lowest[0] if lowest[0] == lowest[1] else f"{lowest[0]} to {lowest[1]}"
        floor = cann_key(lowest[0])
        rule = "cann-too-old" if key is not None and floor is not None and key < floor else "cann-other"
        first = rows[-1]
        return reason(
            rule, npu=first.torch_npu, wanted=wanted, minimum=lowest[0], found=cann, source=first.source, **here
        )
    if target.python_tag and not any(target.python_tag in row.pythons for row in fitting):
        pythons = ", ".join(dict.fromkeys(_python(tag) for row in reversed(fitting) for tag in row.pythons))
        facts = {"variant": "npu", "python": target.python or "?", "pythons": pythons}
        return reason("no-python", source=fitting[0].source, **facts, **here)
    return None


def allows(companion: Companion, machine: Machine, request: Request, catalog: Catalog) -> bool:
    """Tell whether a torch-npu release may be taken here; every other companion may."""
    if companion.name != TORCH_NPU:
        return True
    cann = machine.ascend.cann if machine.ascend else None
    row = row_of(companion.version, companion.platforms[0], catalog)
    return row is not None and _released(row, request) and (cann is None or fits_cann(row, cann, catalog))


def row_of(version: str, platform: str, catalog: Catalog) -> NpuRow | None:
    """Return the row of one torch-npu release on one platform."""
    arch = platform.removeprefix("linux_")
    return next((row for row in catalog.ascend.rows if row.torch_npu == version and row.arch == arch), None)


def fits_cann(row: NpuRow, cann: str, catalog: Catalog) -> bool:
    """Tell whether a row runs with an installed CANN: inside its window, or the very CANN it was made for."""
    key = cann_key(cann)
    if key is None or row.cann is None:
        return False
    window = _window(row, catalog)
    if window is not None:
        return numbers(window.cann_from) <= key[:2] <= numbers(window.cann_to)
    own = cann_key(row.cann)
    if own is None:
        return False
    known = any(other.cann and cann_key(other.cann) == key for other in catalog.ascend.rows)
    return own == key if known else own[:2] == key[:2]


def span(row: NpuRow, catalog: Catalog) -> tuple[str, str]:
    """Return the lowest and the highest CANN of a row."""
    window = _window(row, catalog)
    return (window.cann_from, window.cann_to) if window is not None else (row.cann or "", row.cann or "")


def devices(build: Build, cards: tuple[Card, ...], catalog: Catalog) -> tuple[Device, ...]:
    """Return what the build means for each NPU: one torch-npu wheel serves every chip that is documented."""
    result = []
    for card in cards:
        soc = _soc(card, catalog)
        result.append(Device(gpu=card.number, runs="yes" if soc else "unknown", by=soc.family if soc else ""))
    return tuple(result)


def needs(row: NpuRow | None, cards: Iterable[Card], machine: Machine, catalog: Catalog) -> tuple[Need, ...]:
    """Return the CANN and the driver that the choice needs."""
    if row is None:
        return ()
    ascend = machine.ascend
    cann = ascend.cann if ascend else None
    driver = ascend.driver if ascend else None
    low, high = span(row, catalog)
    for card in cards:
        soc = _soc(card, catalog)
        if soc is not None and soc.cann_from and not at_least(low, soc.cann_from):
            low = soc.cann_from
    note = f"up to {high}" if high != low else "this very version"
    if row.cann and row.cann not in {low, high}:
        note += f", made for {row.cann}"
    found = [Need(what="cann", minimum=low, found=cann, met=None if cann is None else True, note=note)]
    floor = cann or low
    minimum = next((r.minimum for r in catalog.ascend.drivers if at_least(floor, r.cann_from)), None)
    if minimum is not None:
        met = at_least(driver, minimum) if driver and numbers(driver) else None
        found.append(Need(what="ascend-driver", minimum=minimum, found=driver, met=met, note=f"for CANN {floor}"))
    return tuple(found)


def why(row: NpuRow | None, cards: Iterable[Card], machine: Machine, catalog: Catalog) -> tuple[Reason, ...]:
    """Return the facts that speak for the pair of torch and torch-npu."""
    if row is None:
        return ()
    low, high = span(row, catalog)
    cann = machine.ascend.cann if machine.ascend else None
    facts = {"npu": row.torch_npu, "torch": row.torch, "source": row.source}
    reasons = [reason("npu-pair", **facts)]
    wanted = low if low == high else f"{low} to {high}"
    rule = "cann-ok" if cann else "cann-assumed"
    reasons.append(reason(rule, found=cann, wanted=wanted, **facts))
    if any(_soc(card, catalog) is None for card in cards):
        reasons.append(reason("npu-soc-unknown", card=next(c.name for c in cards if _soc(c, catalog) is None)))
    return tuple(reasons)


def undeclared(row: NpuRow, target: Target, catalog: Catalog) -> tuple[Pin, ...]:
    """Return what this torch-npu imports without declaring it, at the documented versions."""
    return tuple(
        Pin(name=need.name, version=need.version, index="default", local=None)
        for need in catalog.ascend.undeclared
        if need.name not in row.declares and target.python_tag in need.pythons
    )


def environment(machine: Machine, row: NpuRow, catalog: Catalog) -> dict[str, str]:
    """Return what must be set where torch-npu is used: CANN's libraries aren't on the loader's path by themselves."""
    cann = (machine.ascend.cann if machine.ascend else None) or span(row, catalog)[0]
    for line in catalog.ascend.environment:
        if line.cann_from is None or at_least(cann, line.cann_from):
            return {"set_env.sh": f"source {line.script}"}
    return {}


def newest_for_cann(cann: str, arch: str, catalog: Catalog) -> NpuRow | None:
    """Return the newest released torch-npu that runs with a CANN."""
    rows = (r for r in catalog.ascend.rows if r.arch == arch and not (r.prerelease or r.partial))
    return next((row for row in rows if fits_cann(row, cann, catalog)), None)


def _rows(build: Build, catalog: Catalog) -> list[NpuRow]:
    arch = build.platform.removeprefix("linux_")
    return [row for row in catalog.ascend.rows if row.torch == build.torch and row.arch == arch]


def _released(row: NpuRow, request: Request) -> bool:
    """Leave out pre-releases, uploads that stopped half-way, and posts of which nobody says the CANN, unless named."""
    if any(wish.name == TORCH_NPU and wish.specifier == f"=={row.torch_npu}" for wish in request.wishes):
        return True
    return not row.partial and row.cann is not None and (request.pre or not row.prerelease)


def _window(row: NpuRow, catalog: Catalog) -> CannWindow | None:
    if row.release is None:
        return None
    return next((w for w in catalog.ascend.windows if at_least(row.release, w.releases_from)), None)


def _soc(card: Card, catalog: Catalog) -> Soc | None:
    text = (card.gpu.soc or card.gpu.name or "").upper().removeprefix("ASCEND").strip(" _-")
    return next((soc for soc in catalog.ascend.socs if re.fullmatch(soc.pattern, text, re.IGNORECASE)), None)


def _python(tag: str) -> str:
    return f"{tag[2]}.{tag[3:]}"
