"""Round an installation: what is checked and said before it, what is written and said after it."""

from __future__ import annotations

from pathlib import Path

from torchinstall.errors import InstallError, TorchInstallError, UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from torchinstall.app.base import App, Planned
    from torchinstall.app.transact import Installed
    from torchinstall.install.backend import Installer, Job
    from torchinstall.install.preflight import Space
    from torchinstall.install.target import Target
    from torchinstall.install.uv import Uv
    from torchinstall.model.machine import Python
    from torchinstall.model.options import Options
    from torchinstall.model.plan import Pin

_SHOWN = 4
"""Processes or packages named in one sentence; the rest is counted."""


def installer(app: App, options: Options, *, layer: bool = False) -> Installer:
    """Return the back end that was asked for, with settings that spare memory where there is little.

    ``layer``: a layer of an image is being made, where a cache that nobody mounted would stay for ever.
    """
    from torchinstall.catalog.locate import find_index_data
    from torchinstall.install.caution import LOW_MEMORY, free_memory, sparing

    environ = dict(app.environ)
    if layer and not {"UV_CACHE_DIR", "PIP_CACHE_DIR"} & environ.keys():
        environ |= {"UV_NO_CACHE": "1", "PIP_NO_CACHE_DIR": "1"}
    free = free_memory()
    if free is not None and free < LOW_MEMORY:
        environ |= sparing(environ)
    if options.installer == "pip":
        from torchinstall.install.pip import Pip

        return Pip(environ, index_data=find_index_data())
    from torchinstall.install.uv import Uv

    return Uv(environ, index_data=find_index_data())


def python_of(app: App, target: Target) -> Python:
    """Return what the target's interpreter says of itself; the machine round it isn't looked at."""
    from torchinstall.probe.system import real_system
    from torchinstall.probe.target import TargetQuestion

    return TargetQuestion(real_system(app.environ), str(target.python)).answer().python


def beforehand(planned: Planned, target: Target) -> list[str]:
    """Return what is good to know before anything changes, in words."""
    from torchinstall.install import caution
    from torchinstall.resolve.wishes import markers

    machine, plan = planned.machine, planned.plan
    python = machine.python
    roots = [path for path in (python.purelib, python.platlib) if path]
    notes = []
    if target.exists:
        broken = caution.broken_by(roots, _versions(planned), markers(machine) or {})
        notes += [f"after this, {words}" for words in broken]
        users = [f"{name or 'a process'} ({number})" for number, name in caution.using_torch(roots)]
        if users:
            notes.append(
                f"{_listed(users)} has this environment's torch loaded, and goes on with the old files until it ends"
            )
        if target.prefix is not None and caution.is_conda_base(Path(target.prefix)):
            notes.append(
                f"{target.prefix} is conda's base environment, which conda itself runs from: an environment of its "
                "own is safer (conda create -n torch python, or --venv DIR)"
            )
    free = caution.free_memory()
    if free is not None and free < caution.LOW_MEMORY:
        notes.append(f"{free // 2**20} MB of memory are free: one file at a time is read and unpacked")
    site = python.platlib or python.purelib
    long_paths = caution.windows_long_paths()
    windows = machine.os.name == "windows" and not long_paths
    if site and (warning := caution.path_too_long(site, windows=windows, long_paths=long_paths)):
        notes.append(warning)
    if plan.packages and (size := _download(planned)):
        notes.append(f"{', '.join(pin.name for pin in plan.packages)} take {size} to download, without dependencies")
    return notes


def project_risks(app: App, target: Target) -> list[str]:
    """Return the risky questions that the place of the environment asks."""
    from torchinstall.install.caution import lock_manager

    question = lock_manager(target, app.cwd) if target.exists else None
    return [question] if question else []


def needed_space(app: App, job: Job, options: Options) -> Space | None:
    """Return what the installation takes with its dependencies; ``None`` where there is room for anything."""
    from torchinstall.install.sizes import ample, space_of, with_sizes

    if ample(job, app.environ):
        return None
    try:
        wheels = with_sizes(locker(app).lock(job), app.client(offline=job.offline))
    except TorchInstallError:
        # What can't be resolved can't be summed either; the installation itself will say why, in its own words.
        return None
    return space_of(job, wheels, options.installer)


def locker(app: App) -> Uv:
    """Return uv as what resolves a plan into files; pip has no such thing."""
    from torchinstall.catalog.locate import find_index_data
    from torchinstall.install.uv import Uv

    return Uv(app.environ, index_data=find_index_data())


def with_hashes(app: App, job: Job, mirror: str | None) -> Job:
    """Return the job with the hash of every file that it takes, as ``--require-hashes`` wants it.

    What the index announces counts, but not what a mirror (``mirror``, its address) says of itself.
    Raises ``InstallError`` where one has none.
    """
    wheels = locker(app).lock(job)
    proved = {pin.name for pin in job.plan.packages if pin.sha256 or not _of_mirror(pin, mirror)}
    family = {pin.name for pin in job.plan.packages}
    wheels = tuple(w.replace(sha256=None) if w.name in family - proved else w for w in wheels)
    bare = [f"{wheel.name} {wheel.version}" for wheel in wheels if wheel.sha256 is None]
    if bare:
        raise InstallError(
            f"{_listed(bare)} has no known hash",
            why="--require-hashes allows nothing without one, and neither the catalogue nor an index tells it",
            todo=["leave --require-hashes out", "or take it from an index that tells hashes"],
        )
    return job.replace(hashes={f"{wheel.name}=={wheel.version}": str(wheel.sha256) for wheel in wheels})


def _of_mirror(pin: Pin, mirror: str | None) -> bool:
    return mirror is not None and pin.index.startswith(mirror.partition("{variant}")[0])


def afterwards(app: App, done: Installed, job: Job, options: Options) -> Installed:
    """Find and do what comes after success: orphans of another CUDA major, and a constraints file if asked for."""
    from torchinstall.install.caution import orphans
    from torchinstall.install.preflight import target_paths

    left = tuple(orphans(target_paths(job.target), job.plan.variant))
    if options.write_constraints is None:
        return done.replace(orphans=left)
    path = write_constraints(app, job.target, options.write_constraints)
    return done.replace(orphans=left, constraints=path)


def write_constraints(app: App, target: Target, name: str) -> str:
    """Write the constraints file that keeps the torch family as it is; return its path."""
    from torchinstall.install.preflight import target_paths
    from torchinstall.install.receipt import constraints

    path = app.cwd / Path(name).expanduser()
    family = (*app.catalog.joint, "torch-npu")
    try:
        path.write_text(constraints(target_paths(target), family), "utf-8")
    except OSError as error:
        raise UsageError(
            f"the constraints file {path} can't be written",
            why=error.strerror or str(error),
            todo=["name another place: --write-constraints FILE"],
        ) from None
    return str(path)


def _versions(planned: Planned) -> dict[str, str]:
    """Return name to version of the pins, with the local part that they have inside."""
    return {pin.name: pin.version for pin in planned.plan.packages if pin.index != "installed"}


def _download(planned: Planned) -> str | None:
    from torchinstall.install.sizes import words

    if not any(pin.index == "default" or "://" in pin.index for pin in planned.plan.packages):
        return None  # from a folder: nothing is downloaded
    sizes = [pin.size for pin in planned.plan.packages]
    known = [size for size in sizes if size is not None]
    return words(sum(known)) if known and len(known) == len(sizes) else None


def _listed(names: Iterable[str]) -> str:
    shown = list(names)
    more = f" and {len(shown) - _SHOWN} more" if len(shown) > _SHOWN else ""
    return ", ".join(shown[:_SHOWN]) + more
