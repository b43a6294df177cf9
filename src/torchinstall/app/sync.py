"""Sync: what undid the choice since it was made, and the mending of it where it comes from.

A later ``uv sync`` or ``pip install`` brings another torch back for as long
as the project file says so: the environment alone is the wrong place to mend.
"""

from __future__ import annotations

import re
from pathlib import Path

from torchinstall.app.export import Exported, export, write
from torchinstall.app.install import install
from torchinstall.app.transact import Installed
from torchinstall.model.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import Any

    from torchinstall.app.base import App, Planned
    from torchinstall.model.machine import Machine
    from torchinstall.model.options import Options

PROJECT = "pyproject.toml"
LOCK = "uv.lock"


class Synced(Value):
    """What a sync found and did.

    ``drifted``: the environment isn't what was installed last; ``culprits``: who brought the other build, in
    words; ``exported``: the project file, where there is one; ``locked``: whether its lock was made anew, or
    why not; ``installed``: what was done to the environment.
    """

    drifted: bool
    culprits: tuple[str, ...] = ()
    exported: Exported | None = None
    mended: bool = False
    locked: str = ""
    installed: Installed | None = None


def sync(
    app: App,
    options: Options,
    *,
    show: Callable[[Planned], None],
    ask: Callable[[str], bool],
    tell: Callable[[Sequence[str]], None],
    progress: bool,
) -> Synced:
    """Say who pulled another build in, mend the project file, then the environment; ``dry_run`` only says.

    Raises what an export and an installation raise; the project file is written before the environment is
    changed, so that a sync that stops half-way can be repeated.
    """
    target = app.target(options)
    machine = app.seen(options, target)
    project = _project(app)
    exported = None
    if project is not None:
        here = options.replace(venv=None, python=str(target.python)) if target.exists else options
        exported = export(app, here, "uv", output=str(project))
    if exported is not None and exported.stopped is not None:
        show(exported.stopped)
        return Synced(drifted=False, exported=exported)
    drifted, culprits = found(machine, target.prefix, project)
    tell(culprits)
    mended, locked = False, ""
    if exported is not None and exported.difference:
        tell([f"{exported.path} doesn't say what this machine needs, so the next `uv sync` would undo it again"])
        if not options.dry_run:
            mended = write(exported)
            locked = _lock(app, Path(exported.path).parent)
    # The way back to what was installed is no downgrade; and of a lock-managed project that says the same by now
    # nothing needs to be asked.
    yes = options.yes or drifted or mended or bool(locked) or (exported is not None and not exported.difference)
    wanted = options.replace(yes=yes, requirements=_wanted(app, options, exported))
    done = install(app, wanted, show=show, ask=ask, tell=tell, progress=progress)
    return Synced(drifted=drifted, culprits=culprits, exported=exported, mended=mended, locked=locked, installed=done)


def found(machine: Machine, prefix: str | None, project: Path | None) -> tuple[bool, tuple[str, ...]]:
    """Return whether the environment has another torch than was installed last, and who brought it."""
    from torchinstall.install.receipt import read_receipt

    now = machine.installed.get("torch")
    receipt = read_receipt(prefix) if prefix else None
    was = dict(receipt.packages).get("torch") if receipt is not None else None
    drifted = was is not None and now != was
    words = []
    if was is not None and now is None:
        words.append(f"torch {was} was installed here, and is gone")
    elif was is not None and drifted:
        tool = _installer(machine)
        words.append(f"torch {was} was installed here; now it is {now}" + (f", put there by {tool}" if tool else ""))
    if drifted or receipt is None:
        words += _locked(project)
        words += [f"{name} requires it: {text}" for name, text in dependents(machine)]
    return drifted, tuple(words)


def dependents(machine: Machine) -> list[tuple[str, str]]:
    """Return the installed packages outside the torch family that require torch, with what they say of it."""
    from torchinstall.resolve.wishes import normal

    rows = []
    for info in _dist_infos(machine):
        try:
            lines = (info / "METADATA").read_text("utf-8").splitlines()
        except (OSError, UnicodeDecodeError):
            continue
        for line in lines:
            if not line:
                break  # the description begins
            name, _, text = line.partition(": ")
            own = normal(info.name.partition("-")[0])
            if name == "Requires-Dist" and _names_torch(text) and own not in machine.installed:
                rows.append((info.name.removesuffix(".dist-info").replace("-", " "), text))
    return sorted(set(rows))


def _names_torch(text: str) -> bool:
    return re.match(r"torch(?![\w.-])", text) is not None and "extra ==" not in text


def _installer(machine: Machine) -> str:
    """Return who put torch there, as its record says."""
    for info in _dist_infos(machine):
        if info.name.lower().startswith("torch-"):
            try:
                return (info / "INSTALLER").read_text("utf-8").strip()
            except (OSError, UnicodeDecodeError):
                return ""
    return ""


def _dist_infos(machine: Machine) -> Iterator[Path]:
    roots = dict.fromkeys(path for path in (machine.python.purelib, machine.python.platlib) if path)
    for root in roots:
        yield from sorted(Path(root).glob("*.dist-info"))


def _locked(project: Path | None) -> list[str]:
    """Return what the project's lock says of torch: where it takes it from, and for whom."""
    document = _toml(project.with_name(LOCK)) if project is not None else {}
    words = []
    for package in document.get("package", []):
        if package.get("name") == "torch":
            source = package.get("source", {})
            where = source.get("registry") or source.get("url") or source.get("path") or "an unnamed source"
            words.append(f"{LOCK} takes torch {package.get('version', '')} from {where}")
    if words:
        users = [
            p["name"] for p in document["package"] if any(d.get("name") == "torch" for d in p.get("dependencies", []))
        ]
        words.append(f"in {LOCK} torch is there for {', '.join(dict.fromkeys(users)) or 'nobody'}")
    return words


def _toml(path: Path) -> dict[str, Any]:
    from torchinstall.errors import UsageError
    from torchinstall.install.config_files import read_toml

    try:
        return read_toml(path) if path.is_file() else {}
    except UsageError:
        return {}  # a lock that nobody can read tells nothing; uv says more of it


def _project(app: App) -> Path | None:
    """Return the project file that uv would use: here, or above. One without ``[project]`` is some tool's settings."""
    for folder in (app.cwd, *app.cwd.parents):
        if (folder / PROJECT).is_file():
            # Also where the line is broken: whoever reads the file says so then.
            found = re.search(r"^\s*\[\s*project\b", (folder / PROJECT).read_text("utf-8", "replace"), re.MULTILINE)
            return folder / PROJECT if found else None
    return None


def _wanted(app: App, options: Options, exported: Exported | None) -> tuple[str, ...]:
    """Return what the project requires of the torch family, beside what was asked for."""
    if exported is None:
        return options.requirements
    from torchinstall.export.project import project_name, wishes

    own = wishes(exported.text, app.catalog.family)
    asked = {project_name(text) for text in options.requirements}
    return (*options.requirements, *(text for text in own if project_name(text) not in asked))


def _lock(app: App, folder: Path) -> str:
    """Make the project's lock anew, where it has one; return in words what came of it."""
    if not (folder / LOCK).is_file():
        return ""
    from torchinstall.install.process import run
    from torchinstall.install.uv_binary import find_uv

    done = run([find_uv(app.environ), "lock", "--project", str(folder)], env=app.environ, cwd=folder, show=False)
    if done.returncode == 0:
        return f"{LOCK} was made anew"
    return f"{LOCK} couldn't be made anew; `uv lock` says: {done.tail.strip()[-300:]}"
