"""An installer's last words to an error of ours, by the table index_data/installer_errors.json."""

from __future__ import annotations

import json
import re

from torchinstall.errors import CatalogError, IndexUnreachableError, InstallError, TargetError
from torchinstall.index.location import redact
from torchinstall.model.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path
    from typing import Any

    from torchinstall.errors import TorchInstallError

FILE = "installer_errors.json"

_CLASSES: dict[str, type[TorchInstallError]] = {
    "install": InstallError,
    "index": IndexUnreachableError,
    "target": TargetError,
}


class KnownError(Value):
    """One row. ``text``, ``why`` and ``todo`` may hold ``{groups}`` of ``pattern``; ``error``: the class."""

    id: str
    pattern: str
    error: str
    text: str
    why: str
    todo: tuple[str, ...]


def load_known_errors(index_data: Path) -> tuple[KnownError, ...]:
    """Return the table, first match first. Raises ``CatalogError`` naming the row that is broken."""
    path = index_data / FILE
    rows: list[KnownError] = []
    try:
        for row in json.loads(path.read_text("utf-8"))["rows"]:
            rows.append(_known_error(row))  # noqa: PERF401 - the count is needed where one is broken
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise CatalogError(
            f"{path} can't be used",
            why=f"row {len(rows) + 1}: {error}",
            todo=["install torchinstall again, or correct the file"],
        ) from None
    return tuple(rows)


def _known_error(row: dict[str, Any]) -> KnownError:
    if row["error"] not in _CLASSES:
        raise ValueError(f"error is {row['error']!r}")
    try:
        re.compile(row["pattern"])
    except re.error as error:
        raise ValueError(f"pattern: {error}") from None
    fields = {name: str(row[name]) for name in ("id", "pattern", "error", "text", "why")}
    return KnownError(todo=tuple(row["todo"]), **fields)


def explain_failure(installer: str, output: str, rows: Sequence[KnownError], *, tail: str) -> TorchInstallError:
    """Return the error for a failed installer; what no row knows becomes an ``InstallError`` with the tail."""
    for row in rows:
        if match := re.search(row.pattern, output, re.IGNORECASE | re.MULTILINE):
            words = {name: redact(value or "") for name, value in match.groupdict().items()}
            return _CLASSES[row.error](
                _fill(row.text, words),
                why=_fill(row.why, words),
                todo=[_fill(step, words) for step in row.todo],
                details=redact(tail),
            )
    return InstallError(
        f"{installer} failed",
        why="its last lines are below",
        todo=["try again with -v to see all that it does"],
        details=redact(tail),
    )


def _fill(text: str, words: dict[str, str]) -> str:
    return re.sub(r"\{(\w+)\}", lambda match: words.get(match[1], match[0]), text).strip()
