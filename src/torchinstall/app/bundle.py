"""Bundle: every wheel of the plan in a folder; and the installation from such a folder."""

from __future__ import annotations

from pathlib import Path

from torchinstall.app.base import App, Planned
from torchinstall.errors import InstallError, UsageError
from torchinstall.model.plan import INSTALL
from torchinstall.model.value import Value
from torchinstall.model.version import numbers

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from torchinstall.install.backend import Job
    from torchinstall.model.machine import Machine, Python
    from torchinstall.model.options import Options

_GLIBC = ((2, 17), (2, 28), (2, 31), (2, 32), (2, 33), (2, 34), (2, 35), (2, 36), (2, 37), (2, 38), (2, 39), (2, 40))
"""The levels of manylinux that uv knows by name."""
_DEFAULT_GLIBC = "2.28"
_ARCHES = {"x86_64": "x86_64", "aarch64": "aarch64"}


class Bundled(Value):
    """What a bundle came to. ``size`` in bytes; ``stopped``: there is nothing to bundle, and the plan says why."""

    planned: Planned
    folder: str
    files: tuple[str, ...] = ()
    size: int = 0
    stopped: bool = False


def bundle(
    app: App,
    options: Options,
    folder: str,
    *,
    machine_text: str | None,
    show: Callable[[Planned], None],
    told: Callable[[str], None],
) -> Bundled:
    """Download every wheel of the plan with its dependencies into ``folder``; the same call goes on if it stopped.

    ``show`` is given the plan, ``told`` the name of each file that is downloaded. Raises the errors of the
    resolution by uv and of the downloads.
    """
    from torchinstall.app.around import locker
    from torchinstall.export.bundle import BundleFile, fill, finish
    from torchinstall.install.sizes import with_sizes
    from torchinstall.output.jsonout import plan_to_json

    if options.offline:
        raise UsageError(
            "a bundle is made with the network", todo=["leave --offline out", "install --from DIR uses none"]
        )
    machine = _bare(app.read_machine(machine_text, options) if machine_text is not None else app.detect(options))
    _refuse_other_kind(machine.python)
    planned = app.planned(machine, options, None)
    show(planned)
    plan = planned.plan
    if plan.outcome != INSTALL or plan.unreachable is not None:
        return Bundled(planned=planned, folder=folder, stopped=True)
    python = ".".join((machine.python.version or _running()).split(".")[:2])
    job = _job(app, planned)
    wheels = locker(app).lock(job, platform=uv_platform(machine), python=python)
    sources = [wheel.filename for wheel in wheels if not wheel.filename.endswith(".whl")]
    if sources:
        raise InstallError(
            f"{sources[0]} has no wheel for the target",
            why="a bundle holds only what needs no building on the other side",
            todo=["name another version of it", "or leave it out, and bring it there by other means"],
        )
    pinned = {pin.name: pin.sha256 for pin in plan.packages if pin.sha256}
    files = [
        BundleFile(
            name=wheel.name,
            version=wheel.version,
            filename=wheel.filename,
            sha256=pinned.get(wheel.name) or wheel.sha256,
            size=wheel.size,
            url=wheel.url,
        )
        for wheel in with_sizes(wheels, app.client())
    ]
    place = app.cwd / Path(folder).expanduser()
    done = fill(place, files, app.client(), told)
    finish(
        place,
        {
            "made": _now(),
            "torchinstall": _version(),
            "torch": plan.torch,
            "variant": plan.variant,
            "python": python + ("t" if _is_free_threaded() else ""),
            "platform": plan.platform,
            "glibc": machine.os.glibc,
            "catalog": plan.catalog.date,
            "requirements": _requirements(planned, [file.name for file in done], {f.name: f.version for f in done}),
            "plan": {**plan_to_json(plan, compact=True), "rejected": []},
        },
        done,
        _script(),
    )
    return Bundled(
        planned=planned,
        folder=str(place),
        files=tuple(file.filename for file in done),
        size=sum(file.size or 0 for file in done),
    )


def from_bundle(app: App, options: Options) -> tuple[App, Options]:
    """Return the use cases and options by which a bundle is installed: its folder is the one source, no network.

    Raises ``UsageError`` for a folder that isn't a finished bundle, and ``InstallError`` for one that was changed.
    """
    from torchinstall.export.bundle import WHEELS, check, read_manifest

    if options.requirements or options.requirement_files:
        raise UsageError(
            "--from names what to install: everything in the bundle",
            todo=["leave the other requirements out, or make a bundle with them in it"],
        )
    folder = app.cwd / Path(str(options.bundle)).expanduser()
    manifest = read_manifest(folder)
    check(folder, manifest)
    redirecting = ("UV_", "PIP_")
    kept = {"UV", "UV_CACHE_DIR", "UV_NO_CONFIG", "UV_LINK_MODE", "UV_PYTHON_INSTALL_DIR", "PIP_CONFIG_FILE"}
    environ = {name: v for name, v in app.environ.items() if not name.startswith(redirecting) or name in kept}
    environ |= {"UV_FIND_LINKS": str(folder / WHEELS), "UV_NO_INDEX": "1", "UV_NO_CONFIG": "1"}
    chosen = options.replace(requirements=manifest.requirements, offline=True)
    return App(environ, app.cwd), chosen


def uv_platform(machine: Machine) -> str:
    """Return uv's name of the target platform. Raises ``UsageError`` for one that uv has no name for."""
    arch = (machine.arch or "").lower()
    arch = {"arm64": "aarch64", "amd64": "x86_64"}.get(arch, arch)
    if arch in _ARCHES:
        if machine.os.name == "linux" and not machine.os.musl:
            wanted = numbers(machine.os.glibc or _DEFAULT_GLIBC)[:2]
            level = max((known for known in _GLIBC if known <= wanted), default=_GLIBC[0])
            return f"{arch}-manylinux_{level[0]}_{level[1]}"
        if machine.os.name == "windows":
            return f"{arch}-pc-windows-msvc"
        if machine.os.name == "macos":
            return f"{arch}-apple-darwin"
    raise UsageError(
        f"no bundle can be made for {machine.os.name or 'an unknown system'} on {arch or 'an unknown architecture'}",
        why="the wheels of the other packages can't be chosen for it from here",
        todo=["name the target: --os linux --arch x86_64 --glibc 2.28", "or make the bundle on such a machine"],
    )


def _bare(machine: Machine) -> Machine:
    """Return the machine with nothing installed: a bundle is for environments that aren't here."""
    return machine.replace(installed={}, installed_by={})


def _refuse_other_kind(python: Python) -> None:
    """Refuse a free-threaded Python where this one isn't, and the other way round."""
    if python.version is None or bool(python.free_threaded) is _is_free_threaded():
        return
    raise UsageError(
        f"no bundle for Python {python.version}{'t' if python.free_threaded else ''} can be made by this Python",
        why="free-threaded Pythons have wheels of their own, and uv chooses those of the kind that it runs with",
        todo=["run torchinstall with a Python of that kind"],
    )


def _job(app: App, planned: Planned) -> Job:
    import sys

    from torchinstall.app.bound import bound_dependencies
    from torchinstall.install.backend import Job
    from torchinstall.install.target import Target

    return Job(
        plan=planned.plan,
        target=Target(python=sys.executable, prefix=None, origin="this Python resolves for the target"),
        settings=planned.settings,
        cwd=app.cwd,
        bound=bound_dependencies(app, planned),
        show=False,
    )


def _requirements(planned: Planned, names: list[str], versions: dict[str, str]) -> list[str]:
    """Return what the plan was asked for, exactly: the family with its variant, the others at their versions."""
    plan = planned.plan
    family = [pin.name for pin in plan.packages]
    lines = [f"torch=={plan.torch}+{plan.variant}" if plan.variant not in {"mps", "npu"} else f"torch=={plan.torch}"]
    lines += [f"{pin.name}=={pin.version.partition('+')[0]}" for pin in plan.packages if pin.name != "torch"]
    lines += [f"{name}=={versions[name]}" for name in names if name not in family]
    return lines


def _script() -> str:
    from torchinstall.export import _bundle_script

    return Path(_bundle_script.__file__).read_text("utf-8")


def _running() -> str:
    import platform

    return platform.python_version()


def _is_free_threaded() -> bool:
    import sysconfig

    return bool(sysconfig.get_config_var("Py_GIL_DISABLED") == 1)


def _version() -> str:
    from torchinstall._version import __version__

    return __version__


def _now() -> str:
    from datetime import datetime, timezone

    return datetime.now(timezone.utc).isoformat(timespec="seconds")
