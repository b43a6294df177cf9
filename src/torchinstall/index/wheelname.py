"""Wheel file names (binary distribution format, PyPA): name, version and tags."""

from __future__ import annotations

import re

from packaging.version import InvalidVersion, Version

from torchinstall.index.location import canonical
from torchinstall.model.sighting import WheelFile

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TypeAlias

    Parts: TypeAlias = tuple[str, str, str, str, str]

_TAG = r"([A-Za-z0-9_]+(?:\.[A-Za-z0-9_]+)*)"
_WHEEL = re.compile(
    rf"([A-Za-z0-9](?:[\w.]*[A-Za-z0-9])?)-([^-/\\\s]+)(?:-\d[^-/\\\s]*)?-{_TAG}-{_TAG}-{_TAG}\.whl", re.ASCII
)

# packaging.utils.parse_wheel_filename does the same, but its import costs more
# than reading a whole index page, and it makes a set of tag objects per file.


def split_wheel_name(filename: str) -> Parts | None:
    """Return name, version, Python, ABI and platform as written in a file name, ``None`` if it is no wheel."""
    parts = _WHEEL.fullmatch(filename)
    return (parts[1], parts[2], parts[3], parts[4], parts[5]) if parts else None


def wheel_file(
    filename: str,
    url: str,
    *,
    project: str | None = None,
    sha256: str | None = None,
    size: int | None = None,
    yanked: bool = False,
    requires_python: str | None = None,
    uploaded: str | None = None,
    metadata: str | None = None,
) -> WheelFile | None:
    """Return the wheel of this file name, ``None`` where the name isn't one or belongs to another project.

    The version is normalised as PEP 440 says, local part included; ``size`` is in bytes.
    """
    parts = split_wheel_name(filename)
    if parts is None:
        return None
    name = canonical(parts[0])
    if project is not None and name != canonical(project):
        return None
    try:
        version = str(Version(parts[1].replace("_", "-")))
    except InvalidVersion:
        return None
    return WheelFile(
        filename=filename,
        name=name,
        version=version,
        python=tuple(parts[2].split(".")),
        abi=tuple(parts[3].split(".")),
        platform=tuple(parts[4].split(".")),
        url=url,
        sha256=sha256,
        size=size,
        yanked=yanked,
        requires_python=requires_python,
        uploaded=uploaded,
        metadata=metadata,
    )
