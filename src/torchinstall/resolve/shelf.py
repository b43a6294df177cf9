"""Tables that decisions share: kept with the catalogue that they are worked out from, and bounded."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from torchinstall.catalog.catalog import Catalog

_SHELVES = 512
"""Most tables kept for one catalogue: judged wheels by target, judged versions by requirement, code by card."""


_FEW = frozenset({"ranked", "others", "eligible", "firsts", "pythons", "names of dependents"})
"""Tables of which there are only as many as platforms and backends: never given up."""


def shelf(catalog: Catalog, key: tuple[object, ...]) -> dict[Any, Any]:
    """Return a table that is kept with the catalogue under a key; only so many are kept."""
    found = catalog.memo.get(key)
    if found is None:
        if len(catalog.memo) >= _SHELVES:
            for old in [name for name in catalog.memo if name[0] not in _FEW]:
                del catalog.memo[old]
        found = catalog.memo[key] = {}
    table: dict[Any, Any] = found
    return table
