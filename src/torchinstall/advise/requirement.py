"""A requirement as it is written in a file, with what its specifier says; kinds of files by name."""

from __future__ import annotations

import re

from torchinstall.model.value import Value
from torchinstall.model.version import numbers

PYTHON, NOTEBOOK = "python", "notebook"
REQUIREMENTS, TOML, CFG, YAML, SHELL = "requirements", "toml", "cfg", "yaml", "shell"

_REQUIREMENTS_FILE = re.compile(
    r"(?:.*[-_.])?(?:requirements?|constraints?|reqs)(?:[-_.].*)?\.(?:txt|in|pip)", re.IGNORECASE
)
_SHELL_FILE = re.compile(
    r"(?:.*\.)?(?:dockerfile|containerfile)(?:\..*)?|makefile|.*\.(?:sh|bash|zsh|mk)", re.IGNORECASE
)
_REQUIREMENT = re.compile(
    r"""\s*["']?(?P<name>[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?)
    (?P<extras>\s*\[[^\]]*\])?
    \s*(?P<spec>\(?(?:\s*(?:===|~=|==|!=|<=|>=|<|>|=)\s*[0-9][\w.*+!-]*\s*,?)*\)?)
    \s*(?:[;@\\].*|--hash.*)?["']?\s*,?\s*$""",
    re.VERBOSE,
)
_PART = re.compile(r"(===|~=|==|!=|<=|>=|<|>|=)\s*([0-9][\w.*+!-]*)")
_INSTALL = re.compile(
    r"\b(?:pip\d?(?:\.\d+)?|uv|conda|mamba|micromamba|poetry|pdm|pipenv)\b[^|;&#]*?\s(?:install|add|create|download)\s"
)


class Pin(Value):
    """One requirement; ``name`` in normal form and as it is ``written``, ``parts`` its (operator, version)."""

    name: str
    written: str
    parts: tuple[tuple[str, str], ...]
    text: str

    @property
    def bound_above(self) -> bool:
        """Tell whether newer releases are kept out: ==, ~=, or an upper bound."""
        return any(operator in {"==", "===", "~=", "<", "<="} for operator, _ in self.parts)

    @property
    def at_least(self) -> tuple[str, ...]:
        """The versions that it asks for, or for anything above."""
        return tuple(version for operator, version in self.parts if operator in {"==", "===", "~=", ">=", ">"})

    @property
    def highest(self) -> str | None:
        """The highest version that it names as exact or as its bound."""
        named = [version for operator, version in self.parts if operator in {"==", "===", "~=", "<", "<="}]
        return max(named, key=numbers, default=None)

    def excludes(self, version: str) -> bool:
        """Tell whether the specifier keeps a version out; a local part isn't looked at."""
        from packaging.specifiers import InvalidSpecifier, SpecifierSet

        try:
            specifier = SpecifierSet(",".join(operator + number.partition("+")[0] for operator, number in self.parts))
        except InvalidSpecifier:
            return False
        return not specifier.contains(version, prereleases=True)


def kind_of(name: str) -> str | None:
    """Return how a file of this name is read, ``None`` for files that aren't."""
    lower = name.lower()
    if lower.endswith((".py", ".pyi", ".pyw")):
        return PYTHON
    if lower.endswith(".ipynb"):
        return NOTEBOOK
    if _REQUIREMENTS_FILE.fullmatch(name):
        return REQUIREMENTS
    if lower in {"pyproject.toml", "pixi.toml"} or lower == "pipfile":
        return TOML
    if lower in {"setup.cfg", "tox.ini"}:
        return CFG
    if lower.endswith((".yml", ".yaml")):
        return YAML
    return SHELL if _SHELL_FILE.fullmatch(name) else None


def pin(text: str, *, conda: bool = False) -> Pin | None:
    """Return the requirement that a text is, ``None`` where it is something else.

    With ``conda`` a single ``=`` is a prefix, as conda has it: ``pytorch=2.5``.
    """
    match = _REQUIREMENT.match(text)
    if match is None:
        return None
    parts = []
    for operator, version in _PART.findall(match["spec"]):
        if operator == "=":
            if not conda:
                return None
            operator, version = "==", f"{version.partition('=')[0].rstrip('.*')}.*"  # noqa: PLW2901 - pip's words for it
        parts.append((operator, version))
    name = re.sub(r"[-_.]+", "-", match["name"]).lower()
    spec = ",".join(operator + version for operator, version in parts)
    return Pin(
        name=name, parts=tuple(parts), written=match["name"], text=f"{match['name']}{match['extras'] or ''}{spec}"
    )


def install_words(line: str, *, going_on: bool) -> tuple[list[str], bool]:
    """Return the words of a command that installs packages, and whether the next line goes on with it."""
    more = line.rstrip().endswith("\\")
    match = _INSTALL.search(line)
    if match is None and not going_on:
        return [], False
    rest = line[match.end() :] if match else line
    rest = re.split(r"[|;&]", rest.rstrip().removesuffix("\\").replace("\\n", " "))[0] if '"' not in rest else rest
    words = [word.strip("\"'`,[]()") for word in rest.split()]
    return [word for word in words if word and not word.startswith("-") and "/" not in word], more
