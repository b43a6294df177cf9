"""The environment that is meant: found as uv finds it, created where that was asked for.

Nothing of the interpreter is asked here; ``Target.with_facts`` takes in what
the interrogation of the interpreter found.
"""

from __future__ import annotations

import contextlib
import os
import re
import sys
from pathlib import Path

from torchinstall.errors import TargetError, UsageError
from torchinstall.install.process import postponed
from torchinstall.install.uv_binary import find_uv
from torchinstall.model.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from torchinstall.model.machine import Python

VENV = "venv"
CONDA = "conda"
SYSTEM = "system"

PRIVATE_MARK = "torchinstall-private"
"""A file of this name in an environment says that it was made to run torchinstall alone."""

_BASE_NAMES = {"base", "root"}
_TRUE = {"1", "true", "t", "yes", "y", "on"}


class Target(Value):
    """One environment. ``python``: its interpreter (of a missing one: the interpreter that it would get).

    ``origin`` says how it was found; ``kind``: venv, conda or system. ``exists`` is false for a ``--venv``
    that isn't there yet, ``created`` true for one that this run made. ``system``: the user said ``--system``.
    ``purelib``, ``platlib`` and ``scripts`` are unknown until the interpreter was asked.
    """

    python: str | None
    prefix: str | None
    origin: str
    kind: str = VENV
    exists: bool = True
    created: bool = False
    folders: tuple[str, ...] = ()
    """Folders that this run made for a created environment, innermost first; its own is not among them where
    it was there before, empty."""
    system: bool = False
    purelib: str | None = None
    platlib: str | None = None
    scripts: str | None = None
    externally_managed: bool | None = None

    def with_facts(self, python: Python) -> Target:
        """Return the target with what its interpreter said of itself."""
        return self.replace(
            python=self.python or python.path,
            prefix=python.prefix or self.prefix,
            purelib=python.purelib,
            platlib=python.platlib,
            scripts=python.scripts,
            externally_managed=python.externally_managed,
        )


def find_target(
    *,
    python: str | None,
    venv: str | None,
    system: bool,
    environ: Mapping[str, str],
    cwd: Path,
    create: bool = False,
    own_prefix: str | None = None,
) -> Target:
    """Return the environment of a call: ``--venv``, ``--python``, ``--system``, else as uv finds one.

    ``create`` makes a missing ``--venv``. ``own_prefix`` is the environment torchinstall runs from
    (``sys.prefix``), which is never the target where it is a tool's own. Raises ``UsageError`` where there is
    none, or where what was named isn't one.
    """
    own = own_prefix or sys.prefix
    python = python or environ.get("UV_PYTHON", "").strip() or None  # as good as --python, for uv
    if venv is not None:
        return _named_venv(venv, python, environ, cwd, create=create, own=own)
    system = system or environ.get("UV_SYSTEM_PYTHON", "").strip().lower() in _TRUE
    if python is not None:
        return _named_python(python, environ, cwd, system=system, own=own)
    if system:
        found = _uv_python_find(None, environ, cwd, system=True, own=own)
        return Target(python=found, prefix=None, origin="--system", kind=SYSTEM, system=True)
    for prefix, origin, kind in _candidates(environ, cwd):
        interpreter = interpreter_in(prefix)
        if interpreter is not None and not _is_own_tool(prefix, own):
            return Target(python=str(interpreter), prefix=str(prefix), origin=origin, kind=kind)
    raise UsageError(
        "no virtual environment found",
        why=f"VIRTUAL_ENV and CONDA_PREFIX name none, and there is no .venv in {cwd} or above",
        todo=[
            "--venv .venv makes one here and installs into it",
            "--system installs into the system's Python on purpose (usual in a container image)",
        ],
    )


def interpreter_in(prefix: Path) -> Path | None:
    """Return the interpreter of an environment, ``None`` where there isn't one."""
    names = ("Scripts/python.exe", "python.exe") if os.name == "nt" else ("bin/python", "bin/python3")
    for name in names:
        path = prefix / name
        try:
            found = path.is_file() and os.access(path, os.X_OK)
        except OSError:
            continue  # a folder on the way that may not be looked into
        if found:
            return path.absolute()
    return None


def is_tool_environment(prefix: Path) -> bool:
    """Tell whether an environment was made by uvx, ``uv tool``, pipx or our own one-liner to run one tool."""
    marks = ("uv-receipt.toml", "pipx_metadata.json", PRIVATE_MARK)
    if any((prefix / mark).exists() for mark in marks):
        return True
    # uvx runs from an environment inside uv's cache, which is tagged as a cache folder.
    return (prefix.resolve().parent.parent / "CACHEDIR.TAG").exists()


def create_venv(prefix: Path, python: str | None, environ: Mapping[str, str], cwd: Path) -> tuple[str, ...]:
    """Make a virtual environment with uv, and return the folders that had to be made, innermost first.

    Raises ``TargetError`` where that fails; what was made for it is gone then, and nothing else.
    """
    import subprocess

    made = _make_folders(prefix)
    argv = [find_uv(environ), "venv", "--quiet", "--no-project", "--no-python-downloads", "--allow-existing"]
    argv += ["--python", python] if python else []
    env = {name: value for name, value in environ.items() if name not in {"UV_VENV_CLEAR", "UV_PROJECT", "UV_PYTHON"}}
    try:
        done = subprocess.run(
            [*argv, str(prefix)], capture_output=True, text=True, env=env, cwd=cwd, check=False, timeout=300
        )
    except BaseException:
        remove_made(prefix, made)
        raise
    if done.returncode == 0:
        return made
    remove_made(prefix, made)
    raise TargetError(
        f"no virtual environment could be made in {prefix}",
        why="uv says so below",
        todo=["name another place with --venv DIR", "name a Python that is installed with --python"],
        details=done.stderr.strip(),
    )


def remove_made(prefix: Path, folders: tuple[str, ...]) -> None:
    """Remove an environment that this run made: what is in its folder, and the folders that were made for it."""
    import shutil

    with contextlib.suppress(OSError):
        for entry in list(prefix.iterdir()):
            if entry.is_dir() and not entry.is_symlink():
                shutil.rmtree(entry, ignore_errors=True)
            else:
                entry.unlink(missing_ok=True)
    for folder in folders:
        with contextlib.suppress(OSError):
            Path(folder).rmdir()  # one that somebody has put something into stays


def _make_folders(prefix: Path) -> tuple[str, ...]:
    missing = []
    for folder in (prefix, *prefix.parents):
        if folder.exists():
            break
        missing.append(folder)
    try:
        prefix.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise TargetError(
            f"{prefix} can't be made", why=error.strerror or str(error), todo=["name another place with --venv DIR"]
        ) from None
    return tuple(str(folder) for folder in missing)


@contextlib.contextmanager
def _making(prefix: Path) -> Iterator[None]:
    """Let one run at a time make an environment; the lock can't lie in the folder, and leaves nothing behind.

    Its file goes while it is still held: who waits opens it anew for each try. It has no folder of its own, which
    one run would remove while another is about to use it.
    """
    import hashlib
    import tempfile

    from filelock import FileLock

    user = getattr(os, "getuid", lambda: "user")()
    name = hashlib.sha256(str(prefix).encode("utf-8", "surrogateescape")).hexdigest()[:24]
    lock = Path(tempfile.gettempdir()) / f"torchinstall-{user}-{name}.lock"
    try:
        with FileLock(lock, timeout=120):
            try:
                yield
            finally:
                if os.name == "posix":
                    lock.unlink(missing_ok=True)
    finally:
        if os.name != "posix":  # an open file can't be removed there
            with contextlib.suppress(OSError):
                lock.unlink(missing_ok=True)


def _named_venv(
    venv: str, python: str | None, environ: Mapping[str, str], cwd: Path, *, create: bool, own: str
) -> Target:
    prefix = Path(os.path.normpath(cwd / Path(venv).expanduser()))
    _refuse_own(prefix, own, f"--venv {venv}")
    found = interpreter_in(prefix)
    if found is not None:
        kind = CONDA if (prefix / "conda-meta").is_dir() else VENV
        return Target(python=str(found), prefix=str(prefix), origin="--venv", kind=kind)
    try:
        taken = prefix.exists() and (not prefix.is_dir() or any(prefix.iterdir()))
    except OSError as error:
        raise TargetError(
            f"{prefix} can't be looked into",
            why=error.strerror or str(error),
            todo=["name another place with --venv DIR", "or have somebody allow it"],
        ) from None
    if taken:
        raise UsageError(
            f"{prefix} isn't a virtual environment",
            why="something else is there, and it isn't overwritten",
            todo=["name another folder", "or remove it"],
        )
    base = _uv_python_find(python, environ, cwd, system=True, own=own)
    if not create:
        return Target(python=base, prefix=str(prefix), origin="--venv", exists=False)
    folders: tuple[str, ...] | None = None
    try:
        with _making(prefix):
            found = interpreter_in(prefix)
            if found is not None:  # another run was quicker, and it is that run's
                return Target(python=str(found), prefix=str(prefix), origin="--venv")
            with postponed():
                folders = create_venv(prefix, base, environ, cwd)
        found = interpreter_in(prefix)
        if found is None:
            raise TargetError(  # noqa: TRY301 - what was made goes again below, for this as for an interrupt
                f"uv made {prefix}, but there is no Python in it", todo=["remove it and try again"]
            )
        return Target(python=str(found), prefix=str(prefix), origin="--venv", created=True, folders=folders)
    except BaseException:
        # Also an interrupt that came while the environment was being made, and is told only now.
        if folders is not None:
            remove_made(prefix, folders)
        raise


_LONGEST_NAME = 255
"""Characters of one name in a path; at a longer one the system refuses to look."""


def _named_python(python: str, environ: Mapping[str, str], cwd: Path, *, system: bool, own: str) -> Target:
    if any(len(part) > _LONGEST_NAME for part in re.split(r"[\\\\/]", python)):
        raise UsageError(f"--python {python[:60]}... is no Python", why=f"it is {len(python)} characters long")
    path = cwd / Path(python).expanduser()
    looks_like_path = os.sep in python or bool(os.altsep and os.altsep in python) or path.is_dir()
    if path.is_dir():
        found = interpreter_in(path)
    elif path.is_file() and os.access(path, os.X_OK):
        found = Path(os.path.normpath(path))
    else:
        found = None
    if found is None and looks_like_path:
        raise UsageError(
            f"--python {python}: there is no Python",
            why=f"{path} is neither an interpreter nor an environment that has one",
            todo=["name an interpreter, an environment's folder or a version such as 3.12"],
        )
    if found is None:
        found = Path(_uv_python_find(python, environ, cwd, system=system, own=own))
    prefix = found.parent.parent
    if (prefix / "pyvenv.cfg").is_file():
        _refuse_own(prefix, own, f"--python {python}")
        return Target(python=str(found), prefix=str(prefix), origin="--python", system=system)
    if (prefix / "conda-meta").is_dir():
        return Target(python=str(found), prefix=str(prefix), origin="--python", kind=CONDA, system=system)
    return Target(python=str(found), prefix=None, origin="--python", kind=SYSTEM, system=system)


def _candidates(environ: Mapping[str, str], cwd: Path) -> list[tuple[Path, str, str]]:
    found = []
    if environ.get("VIRTUAL_ENV"):
        found.append((cwd / environ["VIRTUAL_ENV"], "VIRTUAL_ENV", VENV))
    conda = environ.get("CONDA_PREFIX")
    # conda's base environment counts as a system Python, as in uv: it runs conda itself.
    if conda and environ.get("CONDA_DEFAULT_ENV", "") not in _BASE_NAMES:
        found.append((Path(conda), "CONDA_PREFIX", CONDA))
    for folder in (cwd, *cwd.parents):
        if (folder / ".venv").is_dir():
            found.append((folder / ".venv", f".venv in {folder}", VENV))
            break
    return found


def _is_own_tool(prefix: Path, own: str) -> bool:
    return prefix.resolve() == Path(own).resolve() and is_tool_environment(prefix)


def _refuse_own(prefix: Path, own: str, words: str) -> None:
    if _is_own_tool(prefix, own):
        raise UsageError(
            f"{words} is the environment that torchinstall itself runs from",
            why="it belongs to the tool, and is thrown away with it",
            todo=["name the environment of your project", "--venv .venv makes one here"],
        )


def _uv_python_find(python: str | None, environ: Mapping[str, str], cwd: Path, *, system: bool, own: str) -> str:
    import subprocess

    env = dict(environ)
    if env.get("VIRTUAL_ENV") and _is_own_tool(cwd / env["VIRTUAL_ENV"], own):
        del env["VIRTUAL_ENV"]
    argv = [find_uv(environ), "python", "find", "--no-python-downloads", "--no-project"]
    argv += ["--system"] if system else []
    argv += [python] if python else []
    done = subprocess.run(argv, capture_output=True, text=True, env=env, cwd=cwd, check=False, timeout=120)
    found = done.stdout.strip()
    if done.returncode != 0 or not found:
        raise UsageError(
            f"no Python found for --python {python}" if python else "no Python found",
            why="uv looked in the environments at hand and on PATH",
            todo=["name an interpreter by its path", "`uv python list` shows what is there"],
            details=done.stderr.strip(),
        )
    return found
