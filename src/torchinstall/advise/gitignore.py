"""What .gitignore files leave out, by the rules of git: the last pattern that matches decides."""

from __future__ import annotations

import re

from torchinstall.model.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence


class Pattern(Value):
    """One line of a .gitignore, as a regular expression over the path below its folder."""

    expression: re.Pattern[str]
    negated: bool
    folders_only: bool


class Ignores(Value):
    """The patterns of one folder. ``folder`` is its path from the root, ``""`` for the root; no slash at the end."""

    folder: str
    patterns: tuple[Pattern, ...]


def read_ignores(text: str, folder: str) -> Ignores:
    """Return the patterns of a .gitignore; lines that mean nothing are passed over, as git does."""
    return Ignores(folder=folder, patterns=tuple(p for line in text.splitlines() if (p := _pattern(line)) is not None))


def is_ignored(path: str, levels: Sequence[Ignores], *, is_folder: bool) -> bool:
    """Tell whether a path (slashes, from the root) is left out by the files from the root down to its folder.

    The folders above it have been asked before: git never looks into a folder that is ignored.
    """
    for level in reversed(levels):
        below = path if not level.folder else path[len(level.folder) + 1 :]
        for pattern in reversed(level.patterns):
            if (is_folder or not pattern.folders_only) and pattern.expression.fullmatch(below):
                return not pattern.negated
    return False


def _pattern(line: str) -> Pattern | None:
    line = re.sub(r"(?<!\\)\s+$", "", line)
    if not line or line.startswith("#"):
        return None
    negated = line.startswith("!")
    if negated:
        line = line[1:]
    folders_only = line.endswith("/")
    line = line.rstrip("/")
    if not line:
        return None
    anchored = "/" in line
    body = _expression(line.removeprefix("/"))
    try:
        expression = re.compile(body if anchored else f"(?:.*/)?{body}", re.DOTALL)
    except re.error:
        return None
    return Pattern(expression=expression, negated=negated, folders_only=folders_only)


def _expression(glob: str) -> str:
    out, at = [], 0
    while at < len(glob):
        char = glob[at]
        if glob.startswith("**/", at) and (at == 0 or glob[at - 1] == "/"):
            out.append("(?:.*/)?")
            at += 3
        elif glob[at:] == "**" and (at == 0 or glob[at - 1] == "/"):
            out.append(".+")
            at += 2
        elif char == "*":
            out.append("[^/]*")
            at += 1
        elif char == "?":
            out.append("[^/]")
            at += 1
        elif char == "[" and (end := glob.find("]", at + 2)) > 0:
            inner = glob[at + 1 : end].replace("\\", "\\\\")
            out.append(f"[^{inner[1:]}]" if inner[0] in "!^" else f"[{inner}]")
            at = end + 1
        else:
            if char == "\\" and at + 1 < len(glob):
                at += 1
                char = glob[at]
            out.append(re.escape(char))
            at += 1
    return "".join(out)
