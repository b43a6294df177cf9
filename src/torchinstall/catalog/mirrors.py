"""Mirrors of the PyTorch index that are known by name."""

from __future__ import annotations

from torchinstall.catalog.row_reader import top
from torchinstall.model.value import Value

FILE = "mirrors.json"
KINDS = ("simple", "flat")
PLACE = "{variant}"


class Mirror(Value):
    """One mirror. ``url`` has ``{variant}`` in it; ``kind``: simple (a page a project) or flat (one page)."""

    name: str
    aliases: tuple[str, ...]
    url: str
    kind: str
    status: str
    source: str
    checked: str
    note: str = ""


def parse_mirrors(document: object, file: str) -> tuple[Mirror, ...]:
    """Return the mirrors in their order. Raises ``CatalogError`` naming the row that is broken."""
    found = []
    for row in top(document, file).rows("mirrors", ("name",)):
        url, kind = row.text("url"), row.text("kind")
        if PLACE not in url:
            row.fail(f"url has no {PLACE}")
        if kind not in KINDS:
            row.fail(f"kind is {kind!r}")
        found.append(
            Mirror(
                name=row.text("name"),
                aliases=row.texts("aliases"),
                url=url,
                kind=kind,
                status=row.status(),
                source=row.source(),
                checked=row.text("checked"),
                note=row.optional_text("note") or "",
            )
        )
    return tuple(found)
