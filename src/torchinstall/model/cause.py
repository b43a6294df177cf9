"""Error texts that are recognised, and what they mean for a new build. The rows are data; see index_data."""

from __future__ import annotations

from torchinstall.model.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any


class Cause(Value):
    """One text that torch, a driver or a loader prints, and its meaning.

    ``pattern`` is a regular expression, searched without regard to case. ``text`` and ``todo`` may use its
    named groups, and ``{torch} {variant} {device} {step} {found_cuda}``. ``outcome``: failed (another wheel
    could cure it) or unproven (the cause is outside the wheel). ``steps``: only for these steps of the check
    (``nms``); none for all.
    """

    id: str
    pattern: str
    outcome: str
    cause: str
    text: str
    todo: tuple[str, ...] = ()
    steps: tuple[str, ...] = ()
    status: str = ""
    source: str = ""
    checked: str = ""


def causes_from_document(document: Mapping[str, Any]) -> tuple[Cause, ...]:
    """Return the rows of ``verify_causes.json`` in their order: the first that matches counts.

    The names of sources are replaced by what they stand for. Raises ``KeyError`` or ``TypeError`` where the
    document isn't of the form that its schema describes.
    """
    sources = document["sources"]
    causes = []
    for row in document["rows"]:
        lists = {name: tuple(row.get(name, ())) for name in ("todo", "steps")}
        causes.append(Cause(**{**row, **lists, "source": sources[row["source"]]}))
    return tuple(causes)
