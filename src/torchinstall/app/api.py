"""The Python interface: what ``torchinstall.detect``, ``plan``, ``install``, ``verify`` and ``diagnose`` are.

The same use cases as the commands', with the same options as keywords. They
read the environment variables and the working directory of the process, print
nothing and ask nothing: a risky question that ``yes`` doesn't answer is an
error. What can't be done is raised as a subclass of ``TorchInstallError``
whose ``exit_code`` is that of the command.
"""

from __future__ import annotations

from torchinstall.errors import BlockedError, IndexUnreachableError, UndeterminedError, UnprovenError, VerifyError
from torchinstall.model.options import Options
from torchinstall.model.plan import BLOCKED, UNDETERMINED
from torchinstall.model.verdict import FAILED, PROVED

TYPE_CHECKING = False
if TYPE_CHECKING:
    import os
    from collections.abc import Mapping, Sequence
    from typing import Any

    from torchinstall.app.base import App
    from torchinstall.app.transact import Installed
    from torchinstall.model.finding import Diagnosis
    from torchinstall.model.machine import Machine
    from torchinstall.model.plan import Plan
    from torchinstall.model.verdict import Verdict

    Names = str | Sequence[str]
    Path = str | os.PathLike[str]
    Document = str | Mapping[str, Any]


def detect(
    *,
    python: Path | None = None,
    venv: Path | None = None,
    gpu: Names = (),
    driver: Names = (),
    os: str | None = None,
    arch: str | None = None,
    glibc: str | None = None,
    sysroot: Path | None = None,
) -> Machine:
    """Return this machine as it is seen, with what is declared laid over it.

    Raises ``UsageError`` for a card or system that isn't known, or an interpreter that isn't there.
    """
    options = _options(python=python, venv=venv, gpu=gpu, driver=driver, os=os, arch=arch, glibc=glibc, sysroot=sysroot)
    return _app().detect(options)


def plan(
    *requirements: str,
    machine: Machine | Document | None = None,
    variant: str | None = None,
    cpu: bool = False,
    require_gpu: bool = False,
    gpu: Names = (),
    driver: Names = (),
    os: str | None = None,
    arch: str | None = None,
    glibc: str | None = None,
    python: Path | None = None,
    venv: Path | None = None,
    mirror: str | None = None,
    offline: bool = False,
    upgrade: bool = False,
    pre: bool = False,
    allow_older: bool = False,
    sysroot: Path | None = None,
) -> Plan:
    """Return the decision for this machine, or for ``machine`` (a value, a document or its JSON text).

    ``requirements`` are what pip takes; none means torch. A plan may be blocked or undetermined: that is an
    answer, with reasons, and no error. Raises ``UsageError`` for a requirement or machine that is none.
    """
    options = _options(
        requirements=requirements, variant=variant, cpu=cpu, require_gpu=require_gpu, gpu=gpu, driver=driver, os=os,
        arch=arch, glibc=glibc, python=python, venv=venv, mirror=mirror, offline=offline, upgrade=upgrade, pre=pre,
        allow_older=allow_older, sysroot=sysroot,
    )  # fmt: skip
    app = _app()
    if machine is None:
        return app.plan(options).plan
    return app.planned(_machine(app, machine, options), options, None).plan


def install(
    *requirements: str,
    variant: str | None = None,
    cpu: bool = False,
    require_gpu: bool = False,
    gpu: Names = (),
    driver: Names = (),
    python: Path | None = None,
    venv: Path | None = None,
    system: bool = False,
    mirror: str | None = None,
    offline: bool = False,
    upgrade: bool = False,
    pre: bool = False,
    allow_older: bool = False,
    dry_run: bool = False,
    verify: bool = True,
    keep: bool = False,
    yes: bool = False,
    replace_vendor_build: bool = False,
    require_hashes: bool = False,
    installer: str = "uv",
    sysroot: Path | None = None,
) -> Installed:
    """Detect, resolve, install and verify; the environment is as it was after any end but success.

    Raises ``BlockedError``, ``UndeterminedError`` or ``IndexUnreachableError`` where nothing was begun,
    ``VerifyError`` where the new build failed its proof and was taken back, ``UnprovenError`` where it stays
    and its proof met a cause outside the wheel, and what the installer and the target raise.
    """
    from torchinstall.app.install import install as run

    options = _options(
        requirements=requirements, variant=variant, cpu=cpu, require_gpu=require_gpu, gpu=gpu, driver=driver,
        python=python, venv=venv, system=system, mirror=mirror, offline=offline, upgrade=upgrade, pre=pre,
        allow_older=allow_older, dry_run=dry_run, verify=verify, keep=keep, yes=yes,
        replace_vendor_build=replace_vendor_build,
        require_hashes=require_hashes, installer=installer, sysroot=sysroot,
    )  # fmt: skip
    done = run(_app(), options, show=lambda _planned: None, ask=lambda _question: False, progress=False)
    chosen = done.planned.plan
    if done.stopped:
        raise _stopped(chosen)
    if done.verdict is not None and done.verdict.outcome != PROVED:
        kind = VerifyError if done.verdict.outcome == FAILED else UnprovenError
        raise kind(done.verdict.text, why=done.verdict.cause, todo=done.verdict.todo, details=done.verdict.tail)
    return done


def verify(*, python: Path | None = None, venv: Path | None = None, cpu: bool = False) -> Verdict:
    """Run a real kernel on every visible device in the target environment; the verdict says what came of it.

    ``cpu`` says that a CPU build is meant. Raises ``UsageError`` where there is no torch to be proved.
    """
    from torchinstall.app.verify import verify as run

    return run(_app(), _options(python=python, venv=venv, cpu=cpu))


def diagnose(
    *reports: str,
    machine: Document | None = None,
    requirements: Names = (),
    python: Path | None = None,
    venv: Path | None = None,
    cpu: bool = False,
    verify: bool = False,
    offline: bool = False,
) -> Diagnosis:
    """Say what is wrong with the environment here, or on the machine that is described, and what mends it.

    ``reports`` are names of files with what a tool printed there; ``machine`` is a document. With neither it
    is this environment, and ``verify`` also runs a kernel in it. Nothing is changed. Of several machines in
    the reports the first is answered.
    """
    options = _options(
        requirements=[requirements] if isinstance(requirements, str) else requirements,
        reports=reports, python=python, venv=venv, cpu=cpu, offline=offline,
    )  # fmt: skip
    app = _app()
    if machine is None and not reports:
        from torchinstall.app.live import doctor_live

        return doctor_live(app, options, verify=verify).diagnosis
    from torchinstall.app.doctor import doctor_texts

    return doctor_texts(app, options, _text(machine) if machine is not None else None)[0]


def _app() -> App:
    import os
    from pathlib import Path

    from torchinstall.app.base import App

    return App(os.environ, Path.cwd())


def _options(**given: Any) -> Options:
    """Return the options; the names are the command line's, and one card may be a string."""
    renamed = {"gpu": "gpus", "driver": "drivers"}
    values: dict[str, Any] = {}
    for name, value in given.items():
        if name in renamed:
            values[renamed[name]] = (value,) if isinstance(value, str) else tuple(value)
        elif name in {"requirements", "reports"}:
            values[name] = tuple(value)
        elif name in {"python", "venv", "sysroot"} and value is not None:
            values[name] = str(value)
        else:
            values[name] = value
    return Options(**values)


def _machine(app: App, machine: Machine | Document, options: Options) -> Machine:
    from torchinstall.model.machine import Machine

    if isinstance(machine, Machine):
        return app.declared(app.completed(machine), options)
    return app.read_machine(_text(machine), options)


def _text(document: Document) -> str:
    import json

    return document if isinstance(document, str) else json.dumps(document)


def _stopped(chosen: Plan) -> BlockedError | UndeterminedError | IndexUnreachableError:
    """Return a plan that can't be carried out as an error."""
    if chosen.unreachable is not None:
        return IndexUnreachableError(chosen.unreachable.text)
    why = chosen.blocked.text if chosen.blocked is not None else chosen.outcome
    ways = tuple(f"torch {way.torch} {way.variant}, if {way.reason.text}" for way in chosen.alternatives)
    if chosen.outcome == UNDETERMINED:
        return UndeterminedError(why, todo=('name the target: gpu="RTX 4090", variant="cu130" or cpu=True',))
    return BlockedError(why, why="" if chosen.outcome == BLOCKED else chosen.outcome, todo=ways)
