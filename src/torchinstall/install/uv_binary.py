"""Find the uv that does the work, and make sure that it is new enough."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from torchinstall.errors import InstallError
from torchinstall.model.version import at_least

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

MINIMUM = "0.8"
"""The first uv whose flat indexes, explicit indexes and ``pip install -r pyproject.toml`` all do as is needed."""

_NAME = "uv.exe" if os.name == "nt" else "uv"


def find_uv(environ: Mapping[str, str]) -> str:
    """Return the absolute path of uv: ``$UV``, beside this Python, the ``uv`` package, then PATH.

    Raises ``InstallError`` where there is none, or only one older than ``MINIMUM``.
    """
    seen: list[str] = []
    for candidate in _candidates(environ):
        version = uv_version(candidate, environ)
        if version is None:
            continue
        if at_least(version, MINIMUM):
            return candidate
        seen.append(f"{candidate} is uv {version}")
    if seen:
        raise InstallError(
            f"uv is too old: {'; '.join(seen)}",
            why=f"binding torch to one index needs uv {MINIMUM} or newer",
            todo=["uv self update", "or install torchinstall anew: it brings its own uv"],
        )
    raise InstallError(
        "uv isn't there",
        why="it does the installing; it was looked for in $UV, beside this Python and on PATH",
        todo=["pip install uv", "or use pip instead: --installer pip"],
    )


def uv_version(path: str, environ: Mapping[str, str]) -> str | None:
    """Return the version of a uv binary, ``None`` where it can't be run."""
    import subprocess

    # Only the version is wanted: nothing of the caller's settings may make this call fail.
    env = {name: environ[name] for name in ("PATH", "HOME", "SYSTEMROOT", "TEMP", "TMP") if name in environ}
    try:
        done = subprocess.run([path, "--version"], capture_output=True, text=True, timeout=20, env=env, check=False)
    except (OSError, subprocess.SubprocessError):
        return None
    words = done.stdout.split()
    return words[1] if done.returncode == 0 and len(words) > 1 and words[0] == "uv" else None


def _candidates(environ: Mapping[str, str]) -> list[str]:
    found: list[str] = []
    if environ.get("UV"):
        found.append(environ["UV"])
    found.append(str(Path(sys.executable).parent / _NAME))
    try:
        from uv import find_uv_bin

        found.append(str(find_uv_bin()))
    except (ImportError, FileNotFoundError):
        pass
    # Not shutil.which: on Windows it looks in the current directory first.
    found += [str(Path(folder) / _NAME) for folder in environ.get("PATH", "").split(os.pathsep) if folder]
    absolute = (str(Path(path).absolute()) for path in found if Path(path).is_absolute())
    return [path for path in dict.fromkeys(absolute) if os.access(path, os.X_OK) and Path(path).is_file()]
