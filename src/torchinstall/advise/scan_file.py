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
_MOST_VALUES = 100_000
"""Commas of a Python file: past this it is a table that a program wrote, and its tree takes a kilobyte a value."""
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
    if kind == PYTHON and findings and not data.isascii():
        findings = _in_characters(findings, data)
    kept, quiet = silenced(findings, Comments(data))
    return Scan(findings=tuple(kept), files=1, lines=lines, silenced=quiet)


def _python(name: str, data: bytes, table: Table) -> list[Finding]:
    is_setup = name.rpartition("/")[2] == "setup.py"
    if _MARK not in data and not is_setup:
        return []
    if data.count(b",") > _MOST_VALUES:
        raise UnreadableError("is a table of more than 100,000 values: generated, most likely")
    tree = parse(data, name)
    found = check(tree, name, table, strings=_NATIVE.search(data) is not None)
    return found + check_strings(tree, name, table) if is_setup else found


def _notebook(name: str, data: bytes, table: Table) -> Scan:
    cells = read_notebook(_decoded(data))
    found = []
    for finding in _in_characters(check(parse(cells.source, name), name, table), cells.source.encode()):
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


def _in_characters(findings: list[Finding], data: bytes) -> list[Finding]:
    """Return the findings with columns counted in characters, as editors do; syntax trees count bytes of UTF-8."""
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = data.decode("latin-1")
    lines = [line.encode() for line in re.split(r"\r\n?|\n", text)]
    shifted = []
    for finding in findings:
        before = lines[finding.line - 1][: finding.column - 1] if finding.line <= len(lines) else b""
        shifted.append(finding.replace(column=len(before.decode("utf-8", "replace")) + 1))
    return shifted


def _decoded(data: bytes) -> str:
    """Return the text of a file that isn't Python; a byte that isn't UTF-8 spoils only its own place."""
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return data.decode("utf-16", errors="replace")
    return data.decode("utf-8-sig", errors="replace")
