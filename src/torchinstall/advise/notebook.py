"""Notebooks: the code cells as one module, each line knowing its cell; magics taken out."""

from __future__ import annotations

import json
import re

from torchinstall.advise.check import UnreadableError, parse
from torchinstall.model.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_PYTHON_MAGICS = frozenset({"time", "timeit", "capture", "prun", "python", "python3", "pypy"})
_ASSIGNED = re.compile(r"[\w.]+\s*=\s*[%!]")
_LINE_END = re.compile(r"\r\n?|\n")


class Cells(Value):
    """The code of a notebook. ``places``: of each line of ``source`` its cell and line within it, from 1.

    ``commands``: the lines for the shell, with their places; ``faults``: cells that aren't Python, and why.
    """

    source: str
    places: tuple[tuple[int, int], ...]
    commands: tuple[tuple[int, int, str], ...] = ()
    faults: tuple[str, ...] = ()


def read_notebook(text: str) -> Cells:
    """Return the code of a notebook. Raises ``UnreadableError`` where it isn't one."""
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise UnreadableError(f"isn't a notebook: {error}") from None
    cells = _cells(document)
    if cells is None:
        raise UnreadableError("isn't a notebook: it has no cells")
    parts: list[list[str]] = []
    places: list[tuple[int, int]] = []
    commands: list[tuple[int, int, str]] = []
    faults: list[str] = []
    for number, cell in enumerate(cells, start=1):
        if not isinstance(cell, dict) or cell.get("cell_type") != "code":
            continue
        lines = _LINE_END.split(_text(cell.get("source", cell.get("input", ""))))
        code = _body(lines, number, commands)
        if not _parses([code]):  # what is Python as it stands may begin a line with %, too
            code = [_without_magic(line, at, number, commands) for at, line in enumerate(code, start=1)]
        parts.append(code)
        places += [(number, at + 1) for at in range(len(code))]
    if not _parses(parts):
        parts = [
            _only_python(code, number, faults) for number, code in zip(_numbers(places, parts), parts, strict=True)
        ]
    source = "\n".join(line for code in parts for line in code)
    return Cells(source=source, places=tuple(places), commands=tuple(commands), faults=tuple(faults))


def _cells(document: Any) -> list[Any] | None:
    if not isinstance(document, dict):
        return None
    cells = document.get("cells")
    if cells is None:  # before version 4 of the format
        sheets = document.get("worksheets")
        cells = sheets[0].get("cells") if isinstance(sheets, list) and sheets and isinstance(sheets[0], dict) else None
    return cells if isinstance(cells, list) else None


def _text(source: Any) -> str:
    if isinstance(source, list):
        return "".join(part for part in source if isinstance(part, str))
    return source if isinstance(source, str) else ""


def _body(lines: list[str], number: int, commands: list[tuple[int, int, str]]) -> list[str]:
    """Return the lines of a cell; of one that another language is in, as many empty ones."""
    first = next((line.strip() for line in lines if line.strip()), "")
    if not first.startswith("%%"):
        return lines
    magic = re.match(r"%%(\w*)", first)
    name = magic[1] if magic else ""
    if name in _PYTHON_MAGICS:
        return [line if line.strip() != first else "" for line in lines]
    if name in {"bash", "sh", "script"}:
        commands.extend((number, at, line) for at, line in enumerate(lines, start=1))
    return ["" for _ in lines]


def _without_magic(line: str, at: int, number: int, commands: list[tuple[int, int, str]]) -> str:
    plain = line.strip()
    magic = plain.startswith(("%", "!", "?")) or plain.endswith("?") or _ASSIGNED.match(plain)
    if not magic or plain.startswith("#"):
        return line
    commands.append((number, at, line))
    return line[: len(line) - len(line.lstrip())] + "pass"


def _parses(parts: list[list[str]]) -> bool:
    try:
        parse("\n".join(line for code in parts for line in code), "notebook")
    except UnreadableError:
        return False
    return True


def _only_python(code: list[str], number: int, faults: list[str]) -> list[str]:
    try:
        parse("\n".join(code), "cell")
    except UnreadableError as error:
        faults.append(f"cell {number} {error}")
        return ["" for _ in code]
    return code


def _numbers(places: list[tuple[int, int]], parts: list[list[str]]) -> list[int]:
    """Return the number of the cell of each part; an empty part has none that matters."""
    numbers, at = [], 0
    for code in parts:
        numbers.append(places[at][0] if code else 0)
        at += len(code)
    return numbers
