"""What pages and wheels showed, against what is known: the builds, and the GPU code in them. Pure.

What is seen makes a row published; what a good page doesn't have any more
makes it unverified, so that only a look in the very run brings it back; what
is withdrawn stays so. What couldn't be looked at stays as it was.
"""

from __future__ import annotations

import re

from torchinstall.catalog.evidence import Evidence, build_name, preferred, same_wheels
from torchinstall.catalog.folders import majors
from torchinstall.catalog.gpu_code import TORCH, WITH_CODE, code
from torchinstall.catalog.known import Fresh, Known, Want
from torchinstall.catalog.observe import SEEN, Item, Shelf
from torchinstall.catalog.rows import (
    CHOSEN_OFFLINE,
    DECLARED,
    MEASURED,
    PUBLISHED,
    REPORTED,
    UNADVERTISED,
    UNVERIFIED,
    WITHDRAWN,
)
from torchinstall.model.sighting import DEFAULT
from torchinstall.model.variant import MPS, backend, toolkit
from torchinstall.model.version import numbers

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Row = dict[str, Any]

PROVED_BY_SIGHT = frozenset({DECLARED, REPORTED, UNVERIFIED})
"""Statuses that a look at the page betters; unadvertised means there and not in the matrix, seen or not."""
_REQUIRES = re.compile(r">=3\.\d+(?:\.\d+)?")


def update(fresh: Fresh, evidence: Evidence) -> None:
    """Lay what was seen over what is known: releases, builds and their GPU code; wishes go to ``fresh.wants``."""
    default = evidence.shelf(DEFAULT, TORCH)
    touched: list[tuple[str, str, str]] = []
    _releases(fresh, evidence)
    if default is not None:
        touched += _default_builds(fresh, evidence, default)
    for folder, project in evidence.shelves:
        shelf = evidence.shelf(folder, project)
        if project == TORCH and folder != DEFAULT and shelf is not None:
            touched += _folder_builds(fresh, evidence, shelf)
    code(fresh, evidence, [*touched, *(key for key in evidence.again if key not in touched)])


def _releases(fresh: Fresh, evidence: Evidence) -> None:
    """Add a head for each release that isn't known, and note what the default index has taken back."""
    known = fresh.known
    found: dict[str, list[tuple[str, Item]]] = {}
    for (folder, project), shelf in evidence.shelves.items():
        if project == TORCH and shelf.state == SEEN:
            for item in shelf.items:
                found.setdefault(item.version, []).append((folder, item))
    for torch, places in found.items():
        of_default = [item for folder, item in places if folder == DEFAULT]
        yanked = bool(of_default) and all(item.yanked for item in of_default)
        if torch in known.releases:
            head = {k: v for k, v in known.releases[torch].items() if k not in {"builds", "companions"}}
            if yanked != head["yanked"] and of_default:
                fresh.header(torch, {**head, "yanked": yanked})
                fresh.change(
                    "release", f"torch {torch}", "taken back on the default index" if yanked else "no longer taken back"
                )
        elif numbers(torch) > numbers(known.oldest) and _kept_folders(places, known):
            fresh.header(torch, _head(torch, [item for _, item in places], evidence, fresh.date, yanked=yanked))
            fresh.change("release", f"torch {torch}", "a new release")


def _kept_folders(places: list[tuple[str, Item]], known: Known) -> bool:
    return any(folder == DEFAULT or not why_kept_out(folder, known) for folder, _ in places)


def _head(torch: str, items: list[Item], evidence: Evidence, date: str, *, yanked: bool) -> Row:
    files = [file for item in items for file in item.files]
    said = [m.requires_python for item in items if (m := evidence.of(item)) and m.requires_python]
    said += [file.requires_python for file in files if file.requires_python]
    python = next((text for text in said if _REQUIRES.fullmatch(text)), None)
    if python is None:
        minors = [
            n for file in files for tag in file.python for n in numbers(tag.removeprefix("cp3")) if tag[:3] == "cp3"
        ]
        python = f">=3.{min(minors, default=10)}"
    uploaded = sorted(file.uploaded for file in files if file.uploaded)
    return {
        "torch": torch, "date": uploaded[0] if uploaded else date, "requires_python": python, "yanked": yanked,
        "warnings": [],
    }  # fmt: skip


def _default_builds(fresh: Fresh, evidence: Evidence, shelf: Shelf) -> list[tuple[str, str, str]]:
    known, touched = fresh.known, []
    for item in shelf.items:
        if item.yanked or numbers(item.version) < numbers(known.oldest):
            continue
        row = known.default(item.version, item.platform)
        if row is not None:
            _seen(fresh, evidence, item.version, row, item, DEFAULT)
            continue
        inside = evidence.of(item)
        variant = item.variant or (inside.variant if inside is not None else None)
        if variant is None:
            fresh.wants.append(Want(wheel=preferred(item), platform=item.platform, code=item.platform in WITH_CODE))
            continue
        if why := why_kept_out(variant, known):
            fresh.change("note", f"torch {item.version} on the default index", why)
            continue
        old = fresh.find(item.version, variant, item.platform)
        if old is not None and old["status"] == WITHDRAWN:
            continue
        local = "" if item.platform.startswith("macos") else f"+{variant}"
        new = {
            "variant": variant, "platform": item.platform, "local": local, "status": MEASURED, "default": True,
            "wheels": item.as_row(),
        }  # fmt: skip
        text = f"measured: METADATA and version.py of the wheel on the default index, by range request, {fresh.date}"
        source = (f"wheel-{fresh.date}", text) if inside else evidence.page(DEFAULT, TORCH, fresh.date)
        fresh.build(item.version, new, source)
        fresh.change("build", build_name(item.version, variant, item.platform), "the build of the default index")
        touched.append((item.version, variant, item.platform))
    for (torch, _, platform), row in known.builds.items():
        if row.get("default") and shelf.item(torch, platform) is None:
            _gone(fresh, evidence, torch, row, DEFAULT)
    return touched


def _folder_builds(fresh: Fresh, evidence: Evidence, shelf: Shelf) -> list[tuple[str, str, str]]:
    known, folder, touched = fresh.known, shelf.folder, []
    if shelf.items and (why := why_kept_out(folder, known)):
        versions = ", ".join(sorted({item.version for item in shelf.items}, key=numbers))
        fresh.change("note", folder, f"the index has it (torch {versions}): {why}")
        return []
    for item in shelf.items:
        variant = item.variant or folder
        if item.yanked or variant == MPS or numbers(item.version) < numbers(known.oldest):
            continue
        row = fresh.find(item.version, variant, item.platform)
        if row is not None and row.get("default"):
            continue  # judged by the default index, from which it is taken
        if row is not None and row["status"] == WITHDRAWN:
            fresh.change("note", build_name(item.version, variant, item.platform), "listed again, and left withdrawn")
            continue
        if row is not None:
            if _seen(fresh, evidence, item.version, row, item, folder):
                touched.append((item.version, variant, item.platform))
            continue
        # A release that a person has looked through doesn't advertise what isn't in its rows.
        status = UNADVERTISED if item.version in known.reviewed else PUBLISHED
        new = {
            "variant": variant, "platform": item.platform, "local": item.local, "status": status,
            "wheels": item.as_row(),
        }  # fmt: skip
        fresh.build(item.version, new, evidence.page(folder, TORCH, fresh.date))
        fresh.change("build", build_name(item.version, variant, item.platform), f"new: {status}")
        touched.append((item.version, variant, item.platform))
    if folder not in known.variants and shelf.items:
        fresh.variant(folder, evidence.page(folder, TORCH, fresh.date))
    for (torch, variant, platform), row in fresh.builds().items():
        if variant == folder and not row.get("default") and shelf.item(torch, platform) is None:
            _gone(fresh, evidence, torch, row, folder)
    return touched


def why_kept_out(variant: str, known: Known) -> str:
    """Return why builds of this variant can't be judged by any rule, ``""`` where they can."""
    kind = backend(variant)
    if not kind:
        return f"{variant} is no variant of a known kind; it is kept out"
    major = numbers(toolkit(variant))[:1]
    if kind == "cuda" and major[0] not in known.cuda_majors:
        return f"no driver floor is known for CUDA {major[0]}; it is kept out until a row says one"
    if kind == "rocm" and major[0] not in majors(known.variants, "rocm"):
        return f"no rule is known for ROCm {major[0]}; it is kept out until a row says which cards it serves"
    return ""


def _seen(fresh: Fresh, evidence: Evidence, torch: str, row: Row, item: Item, folder: str) -> bool:
    """Take over what a page shows of a known build; the answer tells whether it may be chosen only now."""
    if row["status"] == WITHDRAWN:
        return False
    status = PUBLISHED if row["status"] in PROVED_BY_SIGHT else row["status"]
    same = same_wheels(fresh.known.wheels(row, torch), item.as_row())
    if same and status == row["status"]:
        return False
    new = {k: v for k, v in row.items() if k != "inherited"}
    fresh.build(torch, {**new, "status": status, "wheels": item.as_row()}, evidence.page(folder, TORCH, fresh.date))
    name = build_name(torch, row["variant"], row["platform"])
    if status != row["status"]:
        kind = "confirmed" if row["status"] in CHOSEN_OFFLINE else "status"
        fresh.change(kind, name, f"{row['status']} -> {status}")
    if not same and row["status"] in CHOSEN_OFFLINE:
        fresh.change("wheels", name, _difference(fresh.known.wheels(row, torch), item.as_row()))
    return row["status"] not in CHOSEN_OFFLINE and status in CHOSEN_OFFLINE


def _gone(fresh: Fresh, evidence: Evidence, torch: str, row: Row, folder: str) -> None:
    if row["status"] in CHOSEN_OFFLINE:
        fresh.build(torch, {**row, "status": UNVERIFIED}, evidence.gone(folder, TORCH, fresh.date))
        name = build_name(torch, row["variant"], row["platform"])
        fresh.change("status", name, f"{row['status']} -> {UNVERIFIED}: its page doesn't have it")


def _difference(old: Row, new: Row) -> str:
    before = {tag for tags in old.values() for tag in tags}
    after = {tag for tags in new.values() for tag in tags}
    parts = [f"+{tag}" for tag in sorted(after - before)] + [f"-{tag}" for tag in sorted(before - after)]
    return "wheels: " + (" ".join(parts) or f"{', '.join(sorted(old))} -> {', '.join(sorted(new))}")
