"""Machine documents from files and stdin: one document, or JSON lines."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from torchinstall.errors import MachineFileError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator


def read_lines(name: str) -> Iterator[str]:
    """Yield the lines of a file, or of stdin for ``-``. Raises ``MachineFileError`` where it can't be read."""
    if name == "-":
        yield from sys.stdin
        return
    try:
        with Path(name).open(encoding="utf-8") as file:
            yield from file
    except (OSError, UnicodeDecodeError) as error:
        raise MachineFileError(
            f"the machine file {name} can't be read",
            why=str(error),
            todo=["make one with `torchinstall detect --json`"],
        ) from None


def opened(name: str) -> tuple[bool, Iterator[str]]:
    """Return whether a source holds JSON lines (a batch), and all its lines."""
    lines = read_lines(name)
    first = next(lines, "")
    second = next(lines, None)

    def everything() -> Iterator[str]:
        yield first
        if second is not None:
            yield second
        yield from lines

    return _is_batch(first, more=second is not None), everything()


def _is_batch(first: str, *, more: bool) -> bool:
    """Tell JSON lines from one document: a line that is a whole object, and another after it or an id in it."""
    try:
        document = json.loads(first)
    except (ValueError, RecursionError):
        return False
    return isinstance(document, dict) and (more or "machine" in document or "id" in document)
