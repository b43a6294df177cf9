"""Error texts that are recognised, and what they mean for a new build. The rows are data; see index_data."""

from __future__ import annotations

from torchinstall.model.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any


class Cause(Value):
    """One text that torch, a driver or a loader prints, and its meaning.

    ``pattern`` is a regular expression, searched without regard to case; where it has named groups, ``text``
    and ``todo`` may use them (``{name}``), beside ``{torch} {variant} {device} {step} {found_cuda}``.
    ``outcome``: failed (another wheel could cure it) or unproven (the cause is outside the wheel).
    ``steps``: only for these steps of the check (``nms``); none for all.
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


def causes_from_rows(rows: Iterable[Mapping[str, Any]]) -> tuple[Cause, ...]:
    """Return the rows of ``verify_causes.json`` as values, in their order: the first that matches counts.

    Raises ``TypeError`` for a row with a field that is unknown or missing.
    """
    lists = ("todo", "steps")
    return tuple(
        Cause(**{name: tuple(item) if name in lists else item for name, item in row.items()}) for row in rows
    )
