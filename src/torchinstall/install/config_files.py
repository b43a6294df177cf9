"""Where pip and uv keep their configuration files, and how those are read."""

from __future__ import annotations

import os

from torchinstall.errors import UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path
    from typing import Any

DARWIN = "darwin"
WIN32 = "win32"


def pip_files(
    environ: Mapping[str, str], *, platform: str, prefix: Path | None = None, root: Path | str = "/"
) -> list[Path]:
    """Return pip's files, weakest first: system, user, environment (``prefix``), ``PIP_CONFIG_FILE``.

    ``PIP_CONFIG_FILE`` takes the place of the user's file; the null device there switches all files off.
    ``platform`` as in ``sys.platform``. Source: pip documentation, "Configuration".
    """
    named = environ.get("PIP_CONFIG_FILE", "")
    if named == os.devnull:
        return []
    ini = "pip.ini" if platform == WIN32 else "pip.conf"
    home = _home(environ)
    system: list[str] = []
    user = [_join(home, ".pip" if platform != WIN32 else "pip", ini)]
    if platform == WIN32:
        system = [_join(environ.get("PROGRAMDATA") or r"C:\ProgramData", "pip", ini)]
        user.append(_join(environ.get("APPDATA") or _join(home, "AppData", "Roaming"), "pip", ini))
    elif platform == DARWIN:
        support = _join(home, "Library", "Application Support", "pip")
        system = [_join(root, "Library", "Application Support", "pip", ini)]
        user.append(_join(support if os.path.isdir(support) else _join(home, ".config", "pip"), ini))
    else:
        # Against the XDG rule, pip lets the last of the folders win, and /etc over all (measured, pip 23.2).
        system = [*(_join(path, "pip", ini) for path in _xdg_dirs(environ, root)), _join(root, "etc", ini)]
        user.append(_join(_xdg_home(environ, home), "pip", ini))
    files = [*system]
    if not (named and os.path.exists(named)):
        files += user
    if prefix is not None:
        files.append(_join(prefix, ini))
    if named:
        files.append(named)
    return _files(files)


def uv_files(environ: Mapping[str, str], *, platform: str, root: Path | str = "/") -> list[Path]:
    """Return uv's files outside projects, strongest first: user's, then the system's.

    ``UV_CONFIG_FILE`` takes the place of both, ``UV_NO_CONFIG`` switches them off. The project round the
    current directory is left out on purpose: the target environment need not belong to it.
    Source: uv documentation, "Configuration files".
    """
    named = environ.get("UV_CONFIG_FILE", "")
    if named:
        return _files([named])
    if environ.get("UV_NO_CONFIG", "").strip().lower() in {"1", "true", "t", "yes", "y", "on"}:
        return []
    home = _home(environ)
    if platform == WIN32:
        user = _join(environ.get("APPDATA") or _join(home, "AppData", "Roaming"), "uv", "uv.toml")
        system = [_join(environ.get("PROGRAMDATA") or r"C:\ProgramData", "uv", "uv.toml")]
    else:
        user = _join(_xdg_home(environ, home), "uv", "uv.toml")
        system = [_join(path, "uv", "uv.toml") for path in _xdg_dirs(environ, root)]
        system.append(_join(root, "etc", "uv", "uv.toml"))
    return [*_files([user]), *_files(system)[:1]]


def read_ini(path: Path) -> Iterator[tuple[str, str, str]]:
    """Yield section, key (dashes) and value of a pip file. Raises ``UsageError`` where it can't be read."""
    import configparser

    parser = configparser.RawConfigParser()
    try:
        parser.read_string(path.read_text("utf-8"))
    except (OSError, UnicodeDecodeError, configparser.Error) as error:
        raise _unreadable(path, "pip", error, "PIP_CONFIG_FILE=" + os.devnull) from None
    for section in parser.sections():
        for key, value in parser.items(section):
            yield section, key.replace("_", "-"), value


def read_toml(path: Path) -> dict[str, Any]:
    """Return the content of a uv.toml. Raises ``UsageError`` where it can't be read."""
    import importlib
    import sys

    reader: Any = importlib.import_module("tomllib" if sys.version_info >= (3, 11) else "tomli")
    try:
        document: dict[str, Any] = reader.loads(path.read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise _unreadable(path, "uv", error, "UV_NO_CONFIG=1") from None
    return document


def _unreadable(path: Path, tool: str, error: Exception, switch: str) -> UsageError:
    reason = error.strerror if isinstance(error, OSError) and error.strerror else _first_line(error)
    return UsageError(
        f"{tool}'s configuration file {path} can't be read",
        why=reason,
        todo=[f"correct {path}", f"set {switch} to leave it out for this call"],
    )


def _first_line(error: Exception) -> str:
    """Return what a parser says, with the line where it says which; TOML's says line and column by itself.

    The text of the line isn't shown: an index's password may stand in it.
    """
    text = str(error).splitlines()[0].replace(": '<string>'", "").replace("'<string>'", "it")
    errors = getattr(error, "errors", None)
    line = errors[0][0] if errors else getattr(error, "lineno", None)
    return text if line is None or "line" in text else f"{text.rstrip('.:')} (at line {line})"


def _files(names: Iterable[str]) -> list[Path]:
    """Return those of the names that are files; mostly there are none, and ``pathlib`` isn't needed."""
    found = [name for name in names if os.path.isfile(name)]
    if not found:
        return []
    from pathlib import Path

    return [Path(name) for name in found]


def _join(*parts: Path | str) -> str:
    return os.path.join(*parts)


def _home(environ: Mapping[str, str]) -> str:
    return environ.get("HOME") or environ.get("USERPROFILE") or os.path.expanduser("~")


def _xdg_home(environ: Mapping[str, str], home: str) -> str:
    return environ.get("XDG_CONFIG_HOME") or _join(home, ".config")


def _xdg_dirs(environ: Mapping[str, str], root: Path | str) -> list[str]:
    named = [part for part in environ.get("XDG_CONFIG_DIRS", "").split(os.pathsep) if part]
    return named or [_join(root, "etc", "xdg")]
