"""Find a pip that can install into an environment: its own, the one bundled with its Python, or a borrowed one."""

from __future__ import annotations

import os

from torchinstall.errors import InstallError
from torchinstall.install.uv_binary import find_uv
from torchinstall.model.value import Value
from torchinstall.model.version import at_least

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

MINIMUM = "22.3"
"""The first pip with ``--report`` and hashes for every kind of requirement that is used here."""

_TIMEOUT_S = 60
_BUNDLED = """
import glob, os
try:
    import ensurepip
    found = glob.glob(os.path.join(os.path.dirname(ensurepip.__file__), "_bundled", "pip-*.whl"))
    found += glob.glob(os.path.join(getattr(ensurepip, "_WHEEL_PKG_DIR", None) or "", "pip-*.whl"))
except ImportError:
    found = []
print("\\n".join(sorted(os.path.abspath(path) for path in found)[-1:]))
"""


class Pip(Value):
    """How pip is called: ``python -m pip``, with ``path`` (a wheel or folder that holds pip) on its search path."""

    python: str
    version: str
    path: str | None = None

    def argv(self, *words: str) -> list[str]:
        """Return a command line."""
        return [self.python, "-m", "pip", "--disable-pip-version-check", "--no-input", *words]

    def environment(self, environ: Mapping[str, str]) -> dict[str, str]:
        """Return the caller's environment, made ready for this pip."""
        env = {name: value for name, value in environ.items() if name not in {"PYTHONPATH", "PYTHONHOME"}}
        if self.path is not None:
            env["PYTHONPATH"] = self.path
        return env


def find_pip(python: str, environ: Mapping[str, str], folder: Path) -> Pip:
    """Return a pip for the environment of ``python``. The environment itself is not changed for it.

    ``folder`` takes a borrowed pip where the environment has none and its Python brings none. Raises
    ``InstallError`` where none can be had.
    """
    own = _version(Pip(python=python, version=""), environ)
    if own is not None and at_least(own, MINIMUM):
        return Pip(python=python, version=own)
    bundled = _output([python, "-c", _BUNDLED], dict(environ))
    version = _unpack(bundled, folder / "pip") if bundled else None
    if version is not None:
        return Pip(python=python, version=version, path=str(folder / "pip"))
    borrowed = _borrow(python, environ, folder)
    if borrowed is not None:
        return borrowed
    old = f"; its own is {own}" if own else ""
    raise InstallError(
        f"there is no pip for {python}",
        why=f"it has no pip {MINIMUM} or newer{old}, its Python doesn't bring one, and uv couldn't fetch one",
        todo=["use uv, which needs no pip: --installer uv", f"or give it one: {python} -m ensurepip --upgrade"],
    )


def _unpack(wheel: str, place: Path) -> str | None:
    """Unpack a bundled pip, which starts in a third of the time that it needs from its archive; return its version."""
    import zipfile

    version = wheel.replace("\\", "/").rpartition("/")[2].split("-")[1]
    if not at_least(version, MINIMUM):
        return None
    try:
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(place)
    except (OSError, zipfile.BadZipFile):
        return None
    return version


def _borrow(python: str, environ: Mapping[str, str], folder: Path) -> Pip | None:
    """Fetch pip with uv into a folder of ours."""
    try:
        uv = find_uv(environ)
    except InstallError:
        return None
    env = {name: value for name, value in environ.items() if name not in {"VIRTUAL_ENV", "UV_PYTHON", "CONDA_PREFIX"}}
    place = str(folder / "pip")
    if _output([uv, "pip", "install", "--quiet", "--python", python, "--target", place, "pip"], env) is None:
        return None
    found = _version(Pip(python=python, version="", path=place), environ)
    return Pip(python=python, version=found, path=place) if found else None


def _version(pip: Pip, environ: Mapping[str, str]) -> str | None:
    words = (_output(pip.argv("--version"), pip.environment(environ)) or "").split()
    return words[1] if len(words) > 1 and words[0] == "pip" else None


def _output(argv: list[str], env: dict[str, str]) -> str | None:
    import subprocess

    try:
        done = subprocess.run(
            argv, capture_output=True, text=True, timeout=_TIMEOUT_S, env=env, check=False, cwd=os.sep,
            stdin=subprocess.DEVNULL,
        )  # fmt: skip
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip() if done.returncode == 0 else None
