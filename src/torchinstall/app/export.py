"""Export: a plan as a file of another tool; and whether the file that is there still says the same."""

from __future__ import annotations

import os
from pathlib import Path

from torchinstall.app.base import Planned
from torchinstall.app.bound import bound_dependencies
from torchinstall.errors import IndexUnreachableError, TargetError, UsageError
from torchinstall.model.plan import BLOCKED, UNDETERMINED
from torchinstall.model.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from torchinstall.app.base import App
    from torchinstall.model.machine import Machine
    from torchinstall.model.options import Options

FILES = {
    "requirements": "requirements.txt",
    "pylock": "pylock.toml",
    "uv": "pyproject.toml",
    "environment": "environment.yml",
    "dockerfile": "Dockerfile",
    "poetry": "pyproject.toml",
    "pdm": "pyproject.toml",
}
"""The formats, and how the file of each is called."""

SEVERAL = frozenset({"uv"})
"""Formats that can hold plans for several machines."""

CHECKED = frozenset(FILES) - {"poetry", "pdm"}
"""Formats that are whole files, or edited in place, so that a file can be compared."""


class Exported(Value):
    """What an export came to. ``before`` is what the file says now, ``None`` where there is none.

    ``stopped``: a plan that can't be exported since it is blocked or undetermined.
    """

    format: str
    text: str = ""
    path: str = ""
    before: str | None = None
    planned: tuple[Planned, ...] = ()
    stopped: Planned | None = None
    notes: tuple[str, ...] = ()
    difference: tuple[str, ...] = ()


def export(
    app: App,
    options: Options,
    format: str,  # noqa: A002 - the name of the option
    *,
    machines: Sequence[str | Machine] = (),
    output: str | None = None,
    flavour: str = "pip",
    check: bool = False,
) -> Exported:
    """Plan, and return the file's text and what the file says now; nothing is written.

    ``machines`` are machine documents, or machines. Several of them, several ``--gpu`` or several variants (with
    commas) are a project for several machines, where the format has a notion of that. What is installed here
    counts for nothing: a file is for wherever it is read. ``check`` asks only whether the file there says what
    the plans say, so that a lock isn't made anew for it. Raises ``UsageError`` for a file that can't be used and
    ``IndexUnreachableError`` for a plan whose index couldn't be asked.
    """
    path = _path(app, format, output)
    before = _read(path)
    options = _with_project(app, options, format, before)
    plans: list[Planned] = []
    for one, machine in _each(options, machines, format):
        planned = _planned(app, one, machine)
        if planned.plan.outcome in {BLOCKED, UNDETERMINED}:
            return Exported(format=format, path=str(path), before=before, stopped=planned)
        if planned.plan.unreachable is not None:
            raise IndexUnreachableError(
                "the plan couldn't be confirmed",
                why=planned.plan.unreachable.text,
                todo=["try again", "--offline writes what the shipped data says, without asking"],
            )
        if all(_what(planned) != _what(other) for other in plans):
            plans.append(planned)
    if check and format == "pylock":
        return Exported(
            format=format, path=str(path), before=before, planned=tuple(plans), difference=_of_lock(path, plans)
        )
    text = _text(app, options, format, plans, before, flavour=flavour, name=path.parent.name)
    return Exported(
        format=format,
        text=text,
        path=str(path),
        before=before,
        planned=tuple(plans),
        notes=_notes(format, plans, text),
        difference=_difference(format, path, before or "", text, plans),
    )


def _difference(
    format: str,  # noqa: A002
    path: Path,
    before: str,
    text: str,
    plans: Sequence[Planned],
) -> tuple[str, ...]:
    """Return what the file says otherwise; a project's lock is looked at too, where there is one."""
    from torchinstall.export.difference import difference, holds

    if format in {"requirements", "environment"}:
        others = [other for planned in plans for other in planned.plan.others if other not in before]
        if not others and all(holds(before, planned.plan.packages) for planned in plans):
            return ()
    found = difference(before, text, name=path.name)
    lock = path.with_name("uv.lock")
    return found + _of_lock(lock, plans) if format == "uv" and lock.is_file() else found


def _of_lock(path: Path, plans: Sequence[Planned]) -> tuple[str, ...]:
    from torchinstall.export.difference import lock_difference
    from torchinstall.install.config_files import read_toml

    if not path.is_file():
        return (f"+{path.name}: there is none",)
    lock = read_toml(path)
    pins = [pin for planned in plans for pin in planned.plan.packages]
    return lock_difference(lock, pins, name=path.name)


def write(exported: Exported) -> bool:
    """Write the file, whole or not at all; tell whether it changed. Raises ``TargetError``."""
    path = Path(exported.path).resolve()
    if exported.before == exported.text:
        return False
    unfinished = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        # The line ends of the file stay what they are.
        unfinished.write_bytes(exported.text.encode())
        if path.exists():
            if not os.access(path, os.W_OK):
                raise PermissionError(13, "the file is read-only", str(path))
            unfinished.chmod(path.stat().st_mode & 0o7777)
        unfinished.replace(path)
    except OSError as error:
        unfinished.unlink(missing_ok=True)
        raise TargetError(
            f"{path} can't be written",
            why=error.strerror or str(error),
            todo=["nothing was changed", "-o FILE writes somewhere else, -o - to standard output"],
        ) from None
    return True


def _what(planned: Planned) -> tuple[object, ...]:
    return planned.plan.platform, planned.plan.packages


def _planned(app: App, options: Options, given: str | Machine | None) -> Planned:
    target = None
    if isinstance(given, str):
        machine = app.read_machine(given, options)
    elif given is not None:
        machine = given
    else:
        target = app.target_if_any(options)
        machine = app.declared(app.seen(options, target), options)
    return app.planned(machine.replace(installed={}, installed_by={}), options, target)


def _each(
    options: Options,
    machines: Sequence[str | Machine],
    format: str,  # noqa: A002
) -> list[tuple[Options, str | Machine | None]]:
    """Return one question a machine."""
    variants = [name.strip() for name in (options.variant or "").split(",") if name.strip()]
    several = len(variants) > 1 or len(machines) > 1
    if several and format not in SEVERAL:
        raise UsageError(
            f"a {FILES[format]} for several machines",
            why=f"--format {format} can hold one plan",
            todo=["--format uv makes an extra for each", "or write a file for each"],
        )
    if machines:
        return [(options, one) for one in machines]
    if len(variants) > 1:
        return [(options.replace(variant=name), None) for name in variants]
    if len(options.gpus) > 1 and format in SEVERAL:
        return [(options.replace(gpus=(gpu,)), None) for gpu in options.gpus]
    return [(options, None)]


def _with_project(app: App, options: Options, format: str, before: str | None) -> Options:  # noqa: A002
    """Return the options with what the project itself requires of the torch family."""
    if format != "uv" or not before:
        return options
    from torchinstall.export.project import wishes

    # What the command line asks for doesn't win over the project: it stays there, and both go into the lock.
    return options.replace(of_project=wishes(before, app.catalog.family))


def _text(
    app: App,
    options: Options,
    format: str,  # noqa: A002
    plans: Sequence[Planned],
    before: str | None,
    *,
    flavour: str,
    name: str,
) -> str:
    first = plans[0]
    if format == "uv":
        from torchinstall.export.project import Part, edited

        parts = [Part(plan=planned.plan, bound=bound_dependencies(app, planned)) for planned in plans]
        text = (before or "").replace("\r\n", "\n")
        done = edited(
            text, parts, name=name, family=app.catalog.family, asked=options.requirements, replace=options.yes
        )
        return done.replace("\n", "\r\n") if before and "\r\n" in before else done
    if format == "pylock":
        from torchinstall.app.lock import pylock_text

        return pylock_text(app, first)
    if format in {"poetry", "pdm"}:
        from torchinstall.export.snippets import pdm_text, poetry_text

        return (poetry_text if format == "poetry" else pdm_text)(first.plan, bound_dependencies(app, first))
    if format == "environment":
        from torchinstall.export.environment import environment_text

        return environment_text(first.plan)
    if format == "dockerfile":
        from torchinstall.export.dockerfile import dockerfile_text

        return dockerfile_text(first.plan, gpus=options.gpus, drivers=options.drivers, mirror=options.mirror or "")
    from torchinstall.export.requirements import requirements_text

    return requirements_text(first.plan, flavour=flavour)


def _notes(format: str, plans: Sequence[Planned], text: str) -> tuple[str, ...]:  # noqa: A002
    from torchinstall.export.places import has_credentials, local_folder
    from torchinstall.export.requirements import left_out

    notes: list[str] = []
    if any(has_credentials(planned.plan) for planned in plans):
        notes.append("user and password of an index are left out: give them to the installer by netrc or variables")
    for planned in plans:
        plan = planned.plan
        notes += [plan.fallback.text] if plan.fallback is not None else []
        folders = dict.fromkeys(pin.index for pin in plan.packages if local_folder(pin))
        notes += [f"{folder} is a folder of this machine: elsewhere the file finds nothing there" for folder in folders]
    if format == "uv":
        from torchinstall.export.project import pythons_without_wheels

        found = (pythons_without_wheels(text, planned.plan) for planned in plans)
        notes += [words for words in dict.fromkeys(found) if words]
    out = left_out(plans[0].plan) if format in {"requirements", "environment"} else ()
    if out:
        notes.append(f"left out, since the file names one index for all of it: {', '.join(out)}; install them after it")
    return tuple(notes)


def _path(app: App, format: str, output: str | None) -> Path:  # noqa: A002
    name = FILES[format]
    if output and output != "-":
        path = app.cwd / output
        return path / name if path.is_dir() else path
    if format in SEVERAL:
        for folder in (app.cwd, *app.cwd.parents):
            if (folder / name).is_file():
                return folder / name
    return app.cwd / name


def _read(path: Path) -> str | None:
    try:
        return path.read_bytes().decode()
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{path} can't be read", why=str(error), todo=["nothing was changed"]) from None
