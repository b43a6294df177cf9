"""What uv and pip are configured with: indexes, find-links, constraints, offline; each with its origin.

Read directly, since asking pip takes longer than the rest of a plan. The file
rules are those of pip's and uv's own documentation on configuration files.
"""

from __future__ import annotations

import sys

from torchinstall.errors import UsageError
from torchinstall.install.config_files import pip_files, read_ini, read_toml, uv_files
from torchinstall.model.value import EMPTY, Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path
    from typing import Any

DEFAULT_INDEX = "default-index"
EXTRA_INDEX = "extra-index"
FIND_LINKS = "find-links"
CONSTRAINT = "constraint"
NO_INDEX = "no-index"
OFFLINE = "offline"
CERT = "cert"

UV = "uv"
PIP = "pip"

_PIP_KEYS = {
    "index-url": DEFAULT_INDEX,
    "extra-index-url": EXTRA_INDEX,
    "find-links": FIND_LINKS,
    "constraint": CONSTRAINT,
    "no-index": NO_INDEX,
    "cert": CERT,
}
_UV_VARIABLES = (
    ("UV_DEFAULT_INDEX", DEFAULT_INDEX, None),
    ("UV_INDEX_URL", DEFAULT_INDEX, None),
    ("UV_INDEX", EXTRA_INDEX, None),
    ("UV_EXTRA_INDEX_URL", EXTRA_INDEX, None),
    ("UV_FIND_LINKS", FIND_LINKS, ","),
    ("UV_CONSTRAINT", CONSTRAINT, None),
    ("UV_NO_INDEX", NO_INDEX, None),
    ("UV_OFFLINE", OFFLINE, None),
)
_FLAGS = {NO_INDEX, OFFLINE}
_PATHS = {FIND_LINKS, CONSTRAINT, CERT, DEFAULT_INDEX, EXTRA_INDEX}
_TRUE = {"1", "true", "t", "yes", "y", "on"}


class Setting(Value):
    """One setting. ``name`` is a constant of this module; ``origin`` the variable or file it was read from.

    Paths are absolute. ``label`` is the name that uv knows an index by (``corp=https://...``).
    """

    name: str
    value: str
    tool: str
    origin: str
    label: str = ""


class Settings(Value):
    """The settings that are in force. ``entries``: all that were read, strongest first, with their origins."""

    default_index: str | None = None
    extra_indexes: tuple[str, ...] = ()
    find_links: tuple[str, ...] = ()
    constraint_files: tuple[str, ...] = ()
    no_index: bool = False
    offline: bool = False
    cert: str | None = None
    entries: tuple[Setting, ...] = ()
    index_strategy: str | None = None
    """How uv is told to choose among its indexes; it says nothing about packages that are bound to one."""
    passed: Mapping[str, str] = EMPTY
    """Settings of uv.toml files about how to reach and keep files, as the variables that uv has for them."""

    def origin(self, value: str) -> str:
        """Return where a value was set (``PIP_FIND_LINKS``, a file), ``""`` for a value that isn't a setting."""
        return next((entry.origin for entry in self.entries if entry.value == value), "")

    def of(self, tool: str, name: str) -> tuple[Setting, ...]:
        """Return the settings of one tool under one name."""
        return tuple(entry for entry in self.entries if entry.tool == tool and entry.name == name)


def read_settings(
    environ: Mapping[str, str], *, cwd: Path | None, prefix: Path | None = None, root: Path | str = "/"
) -> Settings:
    """Return what uv and pip would go by for an environment at ``prefix``.

    ``cwd`` is what relative paths of variables are relative to (``None``: the working directory); its own
    configuration isn't read.
    ``root`` stands before the system-wide places. Raises ``UsageError`` for a file that can't be parsed, as
    uv and pip do.
    """
    entries = [*_uv_entries(environ, cwd, root), *_pip_entries(environ, cwd, prefix, root)]
    names = {name: [entry for entry in entries if entry.name == name] for name in (*_PATHS, *_FLAGS)}
    default = names[DEFAULT_INDEX]
    return Settings(
        default_index=default[0].value if default else None,
        extra_indexes=_values(names[EXTRA_INDEX]),
        find_links=_values(names[FIND_LINKS]),
        constraint_files=_values(names[CONSTRAINT]),
        no_index=bool(names[NO_INDEX]),
        offline=bool(names[OFFLINE]),
        cert=names[CERT][0].value if names[CERT] else None,
        entries=tuple(entries),
        index_strategy=environ.get("UV_INDEX_STRATEGY") or _strategy(environ, root),
        passed=_passed(environ, root),
    )


_PASSED = {
    "native-tls": "UV_NATIVE_TLS",
    "system-certs": "UV_SYSTEM_CERTS",
    "allow-insecure-host": "UV_INSECURE_HOST",
    "keyring-provider": "UV_KEYRING_PROVIDER",
    "cache-dir": "UV_CACHE_DIR",
    "no-cache": "UV_NO_CACHE",
    "link-mode": "UV_LINK_MODE",
    "compile-bytecode": "UV_COMPILE_BYTECODE",
    "concurrent-downloads": "UV_CONCURRENT_DOWNLOADS",
    "concurrent-installs": "UV_CONCURRENT_INSTALLS",
    "http-proxy": "HTTP_PROXY",
    "https-proxy": "HTTPS_PROXY",
    "no-proxy": "NO_PROXY",
}


def _strategy(environ: Mapping[str, str], root: Path | str) -> str | None:
    """Return the index strategy of uv.toml files; the strongest file first."""
    for path in uv_files(environ, platform=sys.platform, root=root):
        document = read_toml(path)
        pip = document.get("pip")
        for table in (pip if isinstance(pip, dict) else {}, document):
            if isinstance(value := table.get("index-strategy"), str):
                return value
    return None


def _passed(environ: Mapping[str, str], root: Path | str) -> dict[str, str]:
    """Return what uv.toml files say about networks, certificates and caches; the strongest file first."""
    found: dict[str, str] = {}
    for path in uv_files(environ, platform=sys.platform, root=root):
        document = read_toml(path)
        pip = document.get("pip")
        for table in (pip if isinstance(pip, dict) else {}, document):
            for key, variable in _PASSED.items():
                value = table.get(key)
                if isinstance(value, bool):
                    found.setdefault(variable, "true" if value else "false")
                elif isinstance(value, list):
                    found.setdefault(variable, " ".join(map(str, value)))
                elif isinstance(value, (str, int)):
                    found.setdefault(variable, str(value))
    return found


def _values(entries: Iterable[Setting]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(entry.value for entry in entries))


def _pip_entries(environ: Mapping[str, str], cwd: Path | None, prefix: Path | None, root: Path | str) -> list[Setting]:
    """Later files override earlier ones key by key, ``[install]`` overrides ``[global]``, variables override all."""
    found: dict[str, tuple[str, str]] = {}
    sections: dict[str, dict[str, tuple[str, str]]] = {"global": {}, "install": {}}
    for path in pip_files(environ, platform=sys.platform, prefix=prefix, root=root):
        for section, key, value in read_ini(path):
            if section in sections and key in _PIP_KEYS:
                sections[section][key] = (value, str(path))
    for part in sections.values():
        found.update(part)
    for key in _PIP_KEYS:
        variable = "PIP_" + key.upper().replace("-", "_")
        if environ.get(variable):
            found[key] = (environ[variable], variable)
    entries = []
    for key, (text, origin) in found.items():
        name = _PIP_KEYS[key]
        if name in _FLAGS:
            if text.strip().lower() in _TRUE:
                entries.append(Setting(name=name, value="true", tool=PIP, origin=origin))
            continue
        from torchinstall.index.location import absolute

        words = [text.strip()] if name in {DEFAULT_INDEX, CERT} else text.split()
        entries += [Setting(name=name, value=absolute(word, cwd), tool=PIP, origin=origin) for word in words if word]
    return entries


def _uv_entries(environ: Mapping[str, str], cwd: Path | None, root: Path | str) -> list[Setting]:
    entries: list[Setting] = []
    for variable, name, separator in _UV_VARIABLES:
        text = environ.get(variable, "")
        if name in _FLAGS:
            if text.strip().lower() in _TRUE:
                entries.append(Setting(name=name, value="true", tool=UV, origin=variable))
            continue
        words = [word.strip() for word in text.split(separator)]
        entries += [_uv_index(name, word, variable, cwd) for word in words if word]
    for path in uv_files(environ, platform=sys.platform, root=root):
        entries += _uv_file(read_toml(path), path)
    return entries


def _uv_index(name: str, text: str, origin: str, base: Path | None) -> Setting:
    from torchinstall.index.location import absolute

    label, equals, url = text.partition("=")
    if name in {DEFAULT_INDEX, EXTRA_INDEX} and equals and label.replace("-", "").replace("_", "").isalnum():
        return Setting(name=name, value=absolute(url, base), tool=UV, origin=origin, label=label)
    return Setting(name=name, value=absolute(text, base), tool=UV, origin=origin)


def _uv_file(document: Mapping[str, Any], path: Path) -> list[Setting]:
    """``[pip]`` of uv.toml overrides the top level for ``uv pip``, so it comes first."""
    from torchinstall.index.location import absolute, redact

    entries: list[Setting] = []

    def add(name: str, value: object, label: str = "") -> None:
        if not isinstance(value, str):
            raise UsageError(
                f"{path} has {redact(str(value))[:60]!r} where a string is expected",
                todo=[f"correct {path}, or set UV_NO_CONFIG=1 for this call"],
            )
        text = absolute(value, path.parent)
        entries.append(Setting(name=name, value=text, tool=UV, origin=str(path), label=label))

    pip = document.get("pip")
    for table in (pip if isinstance(pip, dict) else {}, document):
        for index in _list(table.get("index")):
            if isinstance(index, dict) and not index.get("explicit"):
                flat = index.get("format") == "flat"
                name = DEFAULT_INDEX if index.get("default") else FIND_LINKS if flat else EXTRA_INDEX
                add(name, index.get("url"), str(index.get("name") or ""))
        for key, name in (("index-url", DEFAULT_INDEX), ("extra-index-url", EXTRA_INDEX), ("find-links", FIND_LINKS)):
            for value in _list(table.get(key)):
                add(name, value)
        for key, name in (("no-index", NO_INDEX), ("offline", OFFLINE)):
            if table.get(key) is True:
                entries.append(Setting(name=name, value="true", tool=UV, origin=str(path)))
    return entries


def _list(value: object) -> list[Any]:
    if value is None:
        return []
    return value if isinstance(value, list) else [value]
