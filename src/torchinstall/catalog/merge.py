"""Laying refreshed rows over shipped ones, by key: the same rules when a catalogue is loaded and when data is written.

A withdrawn row of the shipped data stays as it is whatever is laid over it: it
was withdrawn by a person who knew why, and a page that lists it again doesn't
change that.
"""

from __future__ import annotations

from torchinstall.catalog.rows import WITHDRAWN
from torchinstall.model.version import numbers

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from typing import Any

    Row = dict[str, Any]
    Document = dict[str, Any]

RELEASES = "releases/"
ARCH = "arch.json"
INDEXES = "indexes.json"
_LISTS: dict[str, tuple[str, tuple[str, ...]]] = {
    ARCH: ("arch_lists", ("torch", "variant", "platform")),
    INDEXES: ("variants", ("variant",)),
}


def may_overlay(name: str) -> bool:
    """Tell whether a file of this name may have rows laid over it; floors, cards and the rest may not."""
    return name in _LISTS or (name.startswith(RELEASES) and "/" not in name[len(RELEASES) :])


def merged(name: str, shipped: Document | None, over: Document) -> Document:
    """Return one data file with the rows of ``over`` in it; ``shipped`` is ``None`` where the file is new.

    Neither is changed. Both must have been checked by their schema.
    """
    if shipped is None:
        return over
    sources, renamed = _sources(shipped.get("sources", {}), over.get("sources", {}))
    found: Document = {**shipped, "sources": sources}
    if name.startswith(RELEASES):
        found["releases"] = _releases(shipped["releases"], over["releases"], renamed)
    else:
        field, key = _LISTS[name]
        rows = (_renamed(row, renamed) for row in over.get(field, ()))
        found[field] = _laid_over(shipped[field], rows, lambda row: tuple(row[part] for part in key))
    return found


def without_unused_sources(document: Document) -> Document:
    """Return a document whose "sources" hold what its rows name, and no more."""
    used = {row["source"] for row in _all_rows(document) if "source" in row}
    return {**document, "sources": {key: text for key, text in document["sources"].items() if key in used}}


def grouped(rows: Iterable[Row]) -> list[Row]:
    """Return companion rows with equal rows of several variants written as one."""
    groups: dict[str, Row] = {}
    for row in rows:
        key = repr(sorted((name, value) for name, value in row.items() if name != "variants"))
        if key in groups:
            groups[key]["variants"] += [v for v in row["variants"] if v not in groups[key]["variants"]]
        else:
            groups[key] = {**row, "variants": list(row["variants"])}
    return list(groups.values())


def _releases(shipped: list[Row], over: list[Row], renamed: dict[str, str]) -> list[Row]:
    by_torch = {release["torch"]: release for release in shipped}
    for release in over:
        new = {**release, "builds": [_renamed(row, renamed) for row in release["builds"]]}
        new["companions"] = [_renamed(row, renamed) for row in release["companions"]]
        old = by_torch.get(release["torch"])
        by_torch[release["torch"]] = new if old is None else _release(old, new)
    return sorted(by_torch.values(), key=lambda release: numbers(release["torch"]), reverse=True)


def _release(old: Row, new: Row) -> Row:
    builds = _laid_over(old["builds"], new["builds"], lambda row: (row["variant"], row["platform"]), "platform")
    return {
        **old,
        "yanked": new["yanked"],
        "builds": builds,
        "companions": _companions(old["companions"], new["companions"]),
    }


def _laid_over(
    shipped: list[Row], over: Iterable[Row], key: Callable[[Row], object], near: str | None = None
) -> list[Row]:
    rows = {key(row): row for row in shipped}
    added = []
    for row in over:
        old = rows.get(key(row))
        if old is None:
            added.append(row)
        elif old.get("status") != WITHDRAWN:
            rows[key(row)] = row
    found = list(rows.values())
    for row in added:
        # A new row stands behind the last one of its platform, so that a diff of the data reads well.
        places = [n for n, other in enumerate(found, start=1) if near and other[near] == row[near]]
        found.insert(places[-1] if places else len(found), row)
    return found


def _companions(shipped: list[Row], over: list[Row]) -> list[Row]:
    """Companion rows name several variants and platforms: a row loses the pairs that a refreshed one has."""
    kept: set[tuple[str, str, str, str]] = set()
    for row in shipped:
        if row["status"] == WITHDRAWN:
            kept |= set(_pairs(row))
    fresh = {pair: row for row in over for pair in _pairs(row) if pair not in kept}
    found = []
    for row in shipped:
        pairs = list(_pairs(row))
        if "*" in row["variants"] or "*" in row["platforms"] or not any(pair in fresh for pair in pairs):
            # A row for all variants stays whole; the loader takes the surer of two rows.
            found.append(row)
            continue
        found += [{**row, "variants": [pair[2]], "platforms": [pair[3]]} for pair in pairs if pair not in fresh]
    found += [{**row, "variants": [pair[2]], "platforms": [pair[3]]} for pair, row in fresh.items()]
    return grouped(found)


def _pairs(row: Row) -> Iterator[tuple[str, str, str, str]]:
    for platform in row["platforms"]:
        for variant in row["variants"]:
            yield row["name"], row["version"], variant, platform


def _sources(shipped: dict[str, str], over: dict[str, str]) -> tuple[dict[str, str], dict[str, str]]:
    """Return all sources, and new names for those of ``over`` whose name means something else already."""
    found, renamed = dict(shipped), {}
    for key, text in over.items():
        name = key
        while found.get(name, text) != text:
            name += "'"
        found[name] = text
        if name != key:
            renamed[key] = name
    return found, renamed


def _renamed(row: Row, renamed: dict[str, str]) -> Row:
    return {**row, "source": renamed[row["source"]]} if row["source"] in renamed else row


def _all_rows(item: object) -> Iterator[Row]:
    if isinstance(item, dict):
        yield item
        for value in item.values():
            yield from _all_rows(value)
    elif isinstance(item, list):
        for entry in item:
            yield from _all_rows(entry)
