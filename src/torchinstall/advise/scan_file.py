"""One file of any kind against the rules, from its bytes."""

from __future__ import annotations

import re

from torchinstall.advise.check import Comments, UnreadableError, check, parse, silenced
from torchinstall.advise.notebook import read_notebook
from torchinstall.advise.project import check_project, check_strings
from torchinstall.advise.requirement import NOTEBOOK, PYTHON, SHELL
from torchinstall.model.advice import Finding, Scan, Skipped

TYPE_CHECKING = False
if TYPE_CHECKING:
    from torchinstall.advise.table import Table

_MARK = b"torch"
"""A Python file without this word imports nothing of the family."""
_NATIVE = re.compile(rb"cpp_extension")


def scan_file(name: str, data: bytes, kind: str, table: Table) -> Scan:
    """Return what one file has; what can't be read is told, never raised."""
    lines = data.count(b"\n") + (not data.endswith(b"\n") and bool(data)) if kind == PYTHON else 0
    try:
        if kind == PYTHON:
            findings = _python(name, data, table)
        elif kind == NOTEBOOK:
            return _notebook(name, data, table)
        else:
            findings = check_project(_decoded(data), name, kind, table)
    except UnreadableError as error:
        return Scan(skipped=(Skipped(file=name, why=str(error)),), files=1, lines=lines)
    kept, quiet = silenced(findings, Comments(data))
    return Scan(findings=tuple(kept), files=1, lines=lines, silenced=quiet)


def _python(name: str, data: bytes, table: Table) -> list[Finding]:
    is_setup = name.rpartition("/")[2] == "setup.py"
    if _MARK not in data and not is_setup:
        return []
    tree = parse(data, name)
    found = check(tree, name, table, strings=_NATIVE.search(data) is not None)
    return found + check_strings(tree, name, table) if is_setup else found


def _notebook(name: str, data: bytes, table: Table) -> Scan:
    cells = read_notebook(_decoded(data))
    found = []
    for finding in check(parse(cells.source, name), name, table):
        cell, line = cells.places[finding.line - 1]
        found.append(finding.replace(cell=cell, line=line))
    for cell, line, text in cells.commands:
        command = text.lstrip().lstrip("!%")
        found += [one.replace(cell=cell, line=line) for one in check_project(command, name, SHELL, table)]
    comments = Comments(cells.source.encode())
    places = {place: number for number, place in enumerate(cells.places, start=1)}
    kept = [one for one in found if not comments.silence(one.replace(line=places.get((one.cell or 0, one.line), 0)))]
    return Scan(
        findings=tuple(sorted(kept, key=lambda one: (one.cell or 0, one.line, one.column, one.rule))),
        skipped=tuple(Skipped(file=name, why=fault) for fault in cells.faults),
        files=1,
        lines=len(cells.places),
        silenced=len(found) - len(kept),
    )


def _decoded(data: bytes) -> str:
    """Return the text of a file that isn't Python; a byte that isn't UTF-8 spoils only its own place."""
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return data.decode("utf-16", errors="replace")
    return data.decode("utf-8-sig", errors="replace")
