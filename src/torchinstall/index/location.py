"""Where a source is: a URL or a path, told apart, joined, and shown without its credentials."""

from __future__ import annotations

import os

from torchinstall.model.pattern import pattern

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pathlib import Path

_USERINFO = pattern(r"(?<=://)[^/@\s]+(?=@)")
_SCHEME = pattern(r"[A-Za-z][A-Za-z0-9+.-]+://")
_DRIVE = pattern(r"/[A-Za-z]:")
_SEPARATORS = pattern(r"[-_.]+")


def redact(text: str) -> str:
    """Return ``text`` with the user and password of every URL in it replaced by ``***``."""
    return _USERINFO.sub("***", text)


def canonical(name: str) -> str:
    """Return a project name as indexes spell it: lower case, runs of ``-_.`` as one dash."""
    return _SEPARATORS.sub("-", name).lower()


def is_url(location: str) -> bool:
    """Tell whether a location is a URL; a Windows drive letter is no scheme."""
    return _SCHEME.match(location) is not None


def local_path(location: str) -> Path | None:
    """Return the path that a location means (``file://`` URL, plain path), ``None`` for the network."""
    from pathlib import Path
    from urllib.parse import unquote, urlsplit

    if not is_url(location):
        return Path(location).expanduser()
    parts = urlsplit(location)
    if parts.scheme.lower() != "file":
        return None
    host = f"//{parts.netloc}" if parts.netloc not in {"", "localhost"} else ""
    path = unquote(host + parts.path)
    if os.name == "nt" and _DRIVE.match(path):
        path = path[1:]  # /C:/wheels; urllib.request has a function for it, at eighty milliseconds
    return Path(path)


def absolute(location: str, base: Path | None) -> str:
    """Return a location that means the same from any directory: relative paths are taken from ``base``.

    Without a base they are taken from the working directory.
    """
    if is_url(location):
        return location
    from pathlib import Path

    return os.path.normpath((base or Path.cwd()) / Path(location).expanduser())


def file_url(path: Path) -> str:
    """Return the ``file://`` URL of an absolute path."""
    return path.absolute().as_uri()


def project_url(base_url: str, project: str) -> str:
    """Return the page of a project on a PEP 503 index."""
    from urllib.parse import quote

    return f"{base_url.rstrip('/')}/{quote(canonical(project))}/"


def host_of(url: str) -> str:
    """Return the host and port of a URL, lower case, without credentials; ``""`` for a path."""
    from urllib.parse import urlsplit

    netloc = urlsplit(url).netloc if is_url(url) else ""
    return netloc.rpartition("@")[2].lower()
