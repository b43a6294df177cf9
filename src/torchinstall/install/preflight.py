"""What must hold before anything is changed: the target is there, writable, ours to change, and has room."""

from __future__ import annotations

import os
from pathlib import Path

from torchinstall.errors import TargetError
from torchinstall.model.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from torchinstall.install.target import Target


class Space(Value):
    """What an installation takes, in bytes; ``None`` where it isn't known, and then it isn't checked.

    ``target``: unpacked in the environment; ``cache``: in the installer's cache; ``temp``: in the folder for
    temporary files.
    """

    target: int | None = None
    cache: int | None = None
    temp: int | None = None


def check_target(target: Target) -> None:
    """Raise ``TargetError`` unless the environment is there, may be changed, and can be written."""
    if target.python is None or not Path(target.python).exists():
        raise TargetError(
            f"the target environment {target.prefix or ''} has no Python".replace("  ", " "),
            why=f"{target.python or 'its interpreter'} isn't there",
            todo=["make it anew, or name another one with --venv or --python"],
        )
    if target.externally_managed and not target.system:
        raise TargetError(
            f"{target.python} is externally managed",
            why="its packages belong to the operating system, which they might break (PEP 668)",
            todo=["--venv .venv makes an environment here", "--system installs there all the same"],
        )
    for path in target_paths(target):
        place = _existing(path)
        if not os.access(place, os.W_OK | os.X_OK):
            raise TargetError(
                f"{path} can't be written",
                why=f"no permission to write in {place}, or it is mounted read-only",
                todo=["--venv DIR uses an environment of your own", f"or have {place} made writable"],
            )


def check_space(target: Target, space: Space, environ: Mapping[str, str]) -> None:
    """Raise ``TargetError`` where a file system has less room than the installation takes there.

    Unpacked files in the cache are linked into the environment where both lie on one file system, and then
    count once (``UV_LINK_MODE`` of copy aside).
    """
    import shutil

    linked = environ.get("UV_LINK_MODE", "") not in {"copy", "symlink"}
    needs: dict[int, tuple[Path, int]] = {}
    paths = target_paths(target)
    places = [
        (paths[0] if paths else None, space.target),
        (cache_dir(environ), space.cache),
        (temp_dir(environ), space.temp),
    ]
    for number, (path, size) in enumerate(places):
        if path is None or size is None:
            continue
        place = _existing(path)
        device = place.stat().st_dev
        before = needs.get(device)
        if before is None:
            needs[device] = (path, size)
        elif number == 1 and linked:
            needs[device] = (before[0], max(before[1], size))
        else:
            needs[device] = (before[0], before[1] + size)
    for path, size in needs.values():
        free = shutil.disk_usage(_existing(path)).free
        if free < size:
            raise TargetError(
                f"not enough space for {path}: {_gigabytes(size)} needed, {_gigabytes(free)} free",
                why="a full disk would leave half an installation",
                todo=[
                    f"free {_gigabytes(size - free)} there",
                    "name another environment with --venv, or another cache with UV_CACHE_DIR",
                    "name another folder for temporary files with TMPDIR",
                ],
            )


def target_paths(target: Target) -> list[Path]:
    """Return the folders of the environment that an installation writes to."""
    named = dict.fromkeys(path for path in (target.purelib, target.platlib, target.scripts) if path)
    return [Path(path) for path in named] or ([Path(target.prefix)] if target.prefix else [])


def cache_dir(environ: Mapping[str, str]) -> Path:
    """Return uv's cache folder (uv documentation, "Caching")."""
    if environ.get("UV_CACHE_DIR"):
        return Path(environ["UV_CACHE_DIR"]).absolute()
    home = Path(environ.get("HOME") or environ.get("USERPROFILE") or Path.home())
    if os.name == "nt":
        return Path(environ.get("LOCALAPPDATA") or home / "AppData" / "Local") / "uv" / "cache"
    return Path(environ.get("XDG_CACHE_HOME") or home / ".cache") / "uv"


def temp_dir(environ: Mapping[str, str]) -> Path:
    """Return the folder for temporary files."""
    if os.name == "nt":
        return Path(environ.get("TEMP") or environ.get("TMP") or r"C:\Windows\Temp")
    return Path(environ.get("TMPDIR") or "/tmp")  # noqa: S108 - the fallback that every program takes


def _existing(path: Path) -> Path:
    """Return the path or its nearest parent that is there."""
    while not path.exists() and path != path.parent:
        path = path.parent
    return path


def _gigabytes(size: int) -> str:
    tenths = round(size / 1e8)
    return f"{tenths / 10:.1f} GB" if tenths else f"{max(1, round(size / 1e6))} MB"
