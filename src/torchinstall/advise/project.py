"""Requirement and project files, line by line: pins that will break, indexes without wheels, old channels."""

from __future__ import annotations

import ast
import re

from torchinstall.advise.check import finding
from torchinstall.advise.requirement import CFG, REQUIREMENTS, SHELL, TOML, YAML, Pin, install_words, pin
from torchinstall.model.version import at_least

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from torchinstall.advise.span import Active
    from torchinstall.advise.table import Table
    from torchinstall.model.advice import Finding

_LONGEST = 10_000
"""Characters of a line: a longer one wasn't written by a person, and patterns take their time over it."""
_COMMENT = re.compile(r"(?:^|\s)#.*")
_INDEX = re.compile(r"download(?:-r2)?\.pytorch\.org/whl/(cu\d{2,4}|rocm\d[\d.]*)\b")
_SECTION = re.compile(r"\s*\[+\s*([^\]]+?)\s*\]+\s*$")
_KEY = re.compile(r"""\s*["']?([\w.-]+)["']?\s*=\s*(.*)""")
_QUOTED = re.compile(r"""(["'])((?:(?!\1)[^\\])*)\1""")
_ITEM = re.compile(r"\s*-\s+(.*)")
_CHANNELS = re.compile(r"\s*channels\s*:\s*(\[.*)?$")


def check_project(text: str, file: str, kind: str, table: Table) -> list[Finding]:
    """Return the findings of one file; ``kind`` says how its requirements are written."""
    reader = {TOML: _toml, CFG: _cfg, REQUIREMENTS: _plain, YAML: _yaml, SHELL: _shell}[kind]
    found: list[Finding] = []
    lines = [line if len(line) <= _LONGEST else "" for line in text.splitlines()]
    plain = [_COMMENT.sub("", line) for line in lines]
    for number, requirement in reader(plain):
        found += _about(requirement, file, number, _column(lines[number - 1], requirement.written), table)
    for number, line in enumerate(plain, start=1):
        found += _lines(line, file, number, table, commands=kind in {SHELL, YAML})
    if kind == YAML:
        found += _channels(plain, file, table)
    return sorted(set(found), key=lambda one: (one.line, one.column, one.rule))


def check_strings(tree: ast.AST, file: str, table: Table) -> list[Finding]:
    """Return the findings among the texts in lists of a ``setup.py``: requirements are written so there."""
    found: list[Finding] = []
    for node in ast.walk(tree):
        for item in node.elts if isinstance(node, (ast.List, ast.Tuple)) else ():
            if isinstance(item, ast.Constant) and isinstance(item.value, str):
                requirement = pin(item.value)
                if requirement is not None:
                    found += _about(requirement, file, item.lineno, item.col_offset + 1, table)
    return found


def _about(requirement: Pin, file: str, line: int, column: int, table: Table) -> Iterator[Finding]:
    rules = list(table.requirements.get(requirement.name, ()))
    rules += [active for pattern, active in table.like if pattern.fullmatch(requirement.name)]
    for active in rules:
        if _applies(active, requirement, table):
            yield finding(active, file, line, column, requirement.text)


def _applies(active: Active, requirement: Pin, table: Table) -> bool:
    rule = active.rule
    if rule.detect == "pin":
        version = table.target.versions.get(requirement.name)
        return version is not None and requirement.excludes(version)
    if rule.pinned and not requirement.bound_above:
        return False
    if rule.version_from is not None:
        return any(at_least(version, rule.version_from) for version in requirement.at_least)
    if rule.version_below is not None:
        highest = requirement.highest
        return highest is not None and not at_least(highest, rule.version_below)
    return True


def _lines(line: str, file: str, number: int, table: Table, *, commands: bool) -> Iterator[Finding]:
    if table.index is not None and "pytorch.org" in line:
        for match in _INDEX.finditer(line):
            if match[1] in table.target.gone:
                yield finding(table.index, file, number, match.start() + 1, match[0])
    if commands:
        for pattern, active in table.lines:
            match_ = pattern.search(line)
            if match_ is not None:
                yield finding(active, file, number, match_.start() + 1, match_[0].strip())


def _channels(lines: list[str], file: str, table: Table) -> Iterator[Finding]:
    """Find the channels of a conda environment: the items below ``channels:``, or the list behind it."""
    inside = False
    for number, line in enumerate(lines, start=1):
        start = _CHANNELS.match(line)
        if start is not None:
            inside = start[1] is None
            names = re.findall(r"[\w./-]+", start[1] or "")
        elif inside and (item := _ITEM.match(line)):
            names = [item[1].strip().strip("\"'")]
        else:
            inside = inside and not line.strip()
            continue
        for name in names:
            for active in table.channels.get(name, ()):
                yield finding(active, file, number, _column(line, name), name)


def _plain(lines: list[str]) -> Iterator[tuple[int, Pin]]:
    for number, line in enumerate(lines, start=1):
        requirement = pin(line)
        if requirement is not None:
            yield number, requirement


def _cfg(lines: list[str]) -> Iterator[tuple[int, Pin]]:
    for number, line in enumerate(lines, start=1):
        words = line.partition("=")[2] if re.match(r"\s*(?:deps|install_requires|setup_requires)\s*=", line) else line
        requirement = pin(words) if line[:1].isspace() or words is not line else None
        if requirement is not None:
            yield number, requirement


def _toml(lines: list[str]) -> Iterator[tuple[int, Pin]]:
    section = key = ""
    for number, line in enumerate(lines, start=1):
        if head := _SECTION.match(line):
            section, key = head[1], ""
            continue
        value = line
        if pair := _KEY.match(line):
            key, value = pair[1], pair[2]
            if section.endswith("dependencies") and "poetry" in section:
                versions = _QUOTED.search(value)
                requirement = pin(f"{key} {_poetry(versions[2])}" if versions else key)
                if requirement is not None:
                    yield number, requirement.replace(text=key)
                continue
        lists = section.endswith(("dependencies", "dependency-groups")) or key.endswith("dependencies")
        if lists or (section == "build-system" and key == "requires"):
            for quoted in _QUOTED.finditer(value):
                requirement = pin(quoted[2])
                if requirement is not None:
                    yield number, requirement


def _poetry(text: str) -> str:
    """Return a version of Poetry as a specifier: a caret keeps the first part that isn't 0, a bare number is exact."""
    text = text.strip()
    if match := re.fullmatch(r"\^\s*(\d+(?:\.\d+)*)", text):
        parts = [int(part) for part in match[1].split(".")]
        first = next((n for n, part in enumerate(parts) if part), len(parts) - 1)
        return f">={match[1]},<" + ".".join(map(str, [*parts[:first], parts[first] + 1]))
    if match := re.fullmatch(r"~\s*(\d+\.\d+)(?:\.\d+)*", text):
        return f"=={match[1]}.*"
    return f"=={text}" if text[:1].isdigit() else "" if text == "*" else text


def _yaml(lines: list[str]) -> Iterator[tuple[int, Pin]]:
    for number, line in enumerate(lines, start=1):
        item = _ITEM.match(line)
        if item:
            requirement = pin(item[1].strip().strip("\"'"), conda=True)
            if requirement is not None:
                yield number, requirement
    yield from _shell(lines)


def _shell(lines: list[str]) -> Iterator[tuple[int, Pin]]:
    installing = False
    for number, line in enumerate(lines, start=1):
        words, installing = install_words(line, going_on=installing)
        for word in words:
            requirement = pin(word, conda=True)
            if requirement is not None:
                yield number, requirement


def _column(line: str, text: str) -> int:
    return max(line.find(text), 0) + 1
