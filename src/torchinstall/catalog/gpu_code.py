"""The GPU code of builds that a refresh found: measured, as the release's own table has it, or taken over. Pure."""

from __future__ import annotations

from torchinstall.catalog.evidence import Evidence, build_name, preferred
from torchinstall.catalog.known import Fresh, Want
from torchinstall.catalog.rows import DECLARED, MEASURED, UNVERIFIED
from torchinstall.model.measured import SASS_STREAM, Measured
from torchinstall.model.sighting import DEFAULT
from torchinstall.model.variant import backend, order, toolkit
from torchinstall.model.version import numbers

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from torchinstall.catalog.observe import Item

    Row = dict[str, Any]

TORCH = "torch"
WITH_CODE = ("linux_x86_64", "linux_aarch64")
"""The platforms whose default wheels hold GPU code; those of the others are taken to be like Linux x86_64."""


def code(fresh: Fresh, evidence: Evidence, touched: list[tuple[str, str, str]]) -> None:
    """Give each new CUDA build its GPU code: measured, as the release's own table has it, or inherited."""
    for torch, variant, platform in touched:
        if backend(variant) != "cuda" or platform not in WITH_CODE:
            continue
        item = _item_of(evidence, fresh, torch, variant, platform)
        inside = evidence.of(item) if item is not None else None
        old = fresh.find_arch(torch, variant, platform)
        unsure = old is None or old["status"] != MEASURED or (torch, variant, platform) in evidence.again
        if inside is None and item is not None and unsure:
            fresh.wants.append(Want(wheel=preferred(item), platform=platform, code=True))
        if inside is not None and inside.sass:
            _measured_code(fresh, (torch, variant, platform), inside)
        elif old is None:
            _assumed_code(fresh, evidence, torch, variant, platform)


def _measured_code(fresh: Fresh, key: tuple[str, str, str], inside: Measured) -> None:
    torch, variant, platform = key
    measured = inside.sass_from == SASS_STREAM
    status = MEASURED if measured else DECLARED
    old = fresh.find_arch(*key)
    if old is not None and set(old["sass"]) == set(inside.sass) and old["status"] in {status, MEASURED}:
        return
    row = {"variant": variant, "platform": platform, "sass": list(inside.sass), "status": status}
    text = f"{'measured: ' if measured else ''}{inside.sass_from}, read by range request, {fresh.date}"
    fresh.arch(torch, row, (f"{'code' if measured else 'table'}-{fresh.date}", text))
    shown = " ".join(map(str, inside.sass))
    fresh.change("code", build_name(*key), f"{status}: {shown}")


def _assumed_code(fresh: Fresh, evidence: Evidence, torch: str, variant: str, platform: str) -> None:
    for inside in evidence.measured.values():
        if inside.name != TORCH or inside.version.partition("+")[0] != torch:
            continue
        for cuda, where, sass in inside.table:
            if cuda == toolkit(variant) and where == platform:
                row = {"variant": variant, "platform": platform, "sass": list(sass), "status": DECLARED}
                fresh.arch(torch, row, (f"table-{fresh.date}", f"the table in the release's own wheel, {fresh.date}"))
                return
    older = _nearest(fresh, torch, variant, platform)
    if older is None:
        return
    row = {"variant": variant, "platform": platform, "sass": older["sass"], "status": UNVERIFIED}
    of = f"{older['torch']}+{older['variant']}"
    text = f"taken over from torch {of} on {fresh.date}; nothing was measured"
    fresh.arch(torch, row, (f"as-{of}-{fresh.date}", text))
    fresh.change("code", build_name(torch, variant, platform), f"{UNVERIFIED}: as in {of}")


def _nearest(fresh: Fresh, torch: str, variant: str, platform: str) -> Row | None:
    """Return the list of the nearest older release with this variant, else with the nearest one of its major."""
    major = numbers(toolkit(variant))[0]
    rows = [
        row
        for (other, name, where), row in fresh.arch_rows().items()
        if where == platform and numbers(other) <= numbers(torch) and numbers(toolkit(name))[0] == major
    ]
    below = [row for row in rows if order(row["variant"]) <= order(variant)] or rows
    return max(
        below, key=lambda row: (row["variant"] == variant, numbers(row["torch"]), order(row["variant"])), default=None
    )


def _item_of(evidence: Evidence, fresh: Fresh, torch: str, variant: str, platform: str) -> Item | None:
    row = fresh.find(torch, variant, platform)
    shelf = evidence.shelf(DEFAULT if row is not None and row.get("default") else variant, TORCH)
    return shelf.item(torch, platform) if shelf is not None else None
