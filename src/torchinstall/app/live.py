"""Doctor on this machine: the environment from outside, then the machine, then (if asked) a real kernel."""

from __future__ import annotations

from torchinstall.errors import UsageError
from torchinstall.model.finding import Diagnosis
from torchinstall.model.inspection import Damaged, Inspection
from torchinstall.model.machine import Machine
from torchinstall.model.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from torchinstall.app.base import App
    from torchinstall.install.target import Target
    from torchinstall.model.options import Options
    from torchinstall.model.request import Request

_WATCHED = ("torch", "torchvision", "torchaudio", "triton", "torch-npu")


class Checkup(Value):
    """A diagnosis of this machine together with what it was made from."""

    diagnosis: Diagnosis
    target: Target
    machine: Machine
    inspection: Inspection


def doctor_live(app: App, options: Options, *, verify: bool = False) -> Checkup:
    """Diagnose the target environment on this machine; nothing is imported there unless ``verify``.

    Raises ``UsageError`` where there is no environment, or where the one that was named isn't there.
    """
    from torchinstall.diagnose.doctor import diagnose
    from torchinstall.diagnose.environment import environment_findings

    target = app.target_if_any(options)
    if target is None:
        if not options.sysroot:
            target = app.target(options)  # says what is missing
        else:
            return _of_the_machine_alone(app, options)
    if not target.exists:
        raise UsageError(
            f"there is no environment in {target.prefix}",
            why="a diagnosis is of what is installed, and nothing is there",
            todo=["look at the name after --venv", f"torchinstall install --venv {options.venv} makes one"],
        )
    machine, seen = look(app, options, target)
    request = _request(app, options, machine)
    text = _reports(app, options)
    found = environment_findings(seen, machine)
    diagnosis = diagnose(machine, request, app.catalog, text=text, first=found)
    if diagnosis.action != "none" and _is_cpu(machine):
        diagnosis = _with_who(diagnosis, machine)
    if verify:
        diagnosis = _proved(app, target, machine, request, diagnosis)
    return Checkup(diagnosis=_for_place(diagnosis, options), target=target, machine=machine, inspection=seen)


def _for_place(diagnosis: Diagnosis, options: Options) -> Diagnosis:
    """Let the commands name the environment that was named: as printed, they are to mend that one."""
    place = ("--venv", options.venv) if options.venv else ("--python", options.python) if options.python else None
    if place is None:
        return diagnosis
    from shlex import join

    return diagnosis.replace(
        findings=tuple(
            found.replace(command=f"{found.command} {join(map(str, place))}")
            if found.command.startswith("torchinstall ") and "&&" not in found.command
            else found
            for found in diagnosis.findings
        )
    )


def _of_the_machine_alone(app: App, options: Options) -> Checkup:
    """Diagnose a fake machine, which says itself what is installed; no real environment shows on it."""
    from torchinstall.diagnose.doctor import diagnose
    from torchinstall.install.target import Target

    machine = app.declared(app.seen(options, None), options)
    diagnosis = diagnose(machine, _request(app, options, machine), app.catalog, text=_reports(app, options))
    nowhere = Target(python=None, prefix=None, origin="--sysroot", exists=False)
    return Checkup(diagnosis=diagnosis, target=nowhere, machine=machine, inspection=Inspection())


def look(app: App, options: Options, target: Target) -> tuple[Machine, Inspection]:
    """Return the machine, and what its target environment looks like from outside."""
    from torchinstall.resolve.wishes import markers
    from torchinstall.verify.look import Look
    from torchinstall.verify.survey import survey

    environ = _variables(app.environ)
    question = Look(str(target.python), environ) if target.exists else None
    machine = app.declared(app.seen(options, target), options)
    roots = [path for path in (machine.python.purelib, machine.python.platlib) if path]
    if question is None:
        return machine, Inspection()
    seen = survey(
        question.answer(),
        list(dict.fromkeys(roots)),
        environ,
        markers=markers(machine),
        cwd=str(app.cwd),
        linux=machine.os.name == "linux",
    )
    return machine, seen.replace(
        damaged=_damaged(roots, machine), journal=_journal(target, machine), settings=_settings(app, target)
    )


def _variables(environ: Mapping[str, str]) -> dict[str, str]:
    """Return the variables for the look: torchinstall's own must not change what the target's Python does."""
    return {name: value for name, value in environ.items() if not name.startswith("TORCHINSTALL_")}


def _damaged(roots: list[str], machine: Machine) -> tuple[Damaged, ...]:
    from torchinstall.install.records import damaged

    names = [name for name in machine.installed if name in _WATCHED or name.startswith(("nvidia-", "rocm", "cuda-"))]
    return tuple(Damaged(name=d.name, version=d.version, words=d.words()) for d in damaged(roots, names))


def _journal(target: Target, machine: Machine) -> str:
    from torchinstall.install.journal import left_behind

    prefix = target.prefix or machine.python.prefix
    left = left_behind(prefix) if prefix else None
    return left.words() if left is not None else ""


def _settings(app: App, target: Target) -> tuple[tuple[str, str], ...]:
    from torchinstall.index.location import redact
    from torchinstall.install.settings import DEFAULT_INDEX, EXTRA_INDEX, NO_INDEX, read_settings

    settings = read_settings(app.environ, cwd=app.cwd, prefix=app.cwd / target.prefix if target.prefix else None)
    names = {DEFAULT_INDEX, EXTRA_INDEX, NO_INDEX}
    return tuple(
        (f"{entry.name}: {redact(entry.value)}", f"{entry.tool}, {entry.origin}")
        for entry in settings.entries
        if entry.name in names
    )


def _request(app: App, options: Options, machine: Machine) -> Request:
    return app.request(options, None, machine)


def _reports(app: App, options: Options) -> str:
    from torchinstall.app.doctor import read_report

    return "\n".join(read_report(app, name)[1] for name in options.reports)


def _is_cpu(machine: Machine) -> bool:
    return machine.installed.get("torch", "").endswith("+cpu") and bool(machine.gpus)


def _with_who(diagnosis: Diagnosis, machine: Machine) -> Diagnosis:
    """Add to a CPU build by accident who asked for torch: that is who brings it back."""
    from torchinstall.verify.survey import requiring

    roots = [path for path in (machine.python.purelib, machine.python.platlib) if path]
    names = requiring(roots)
    if not names:
        return diagnosis
    line = f"required by: {', '.join(names[:8])}"
    findings = tuple(f.replace(evidence=(*f.evidence, line)) if f.id == "cpu-build" else f for f in diagnosis.findings)
    return diagnosis.replace(findings=findings)


def _proved(app: App, target: Target, machine: Machine, request: Request, diagnosis: Diagnosis) -> Diagnosis:
    """Run the check and lay its verdict over the diagnosis: a kernel beats the tables, both ways."""
    from torchinstall.app.verify import check
    from torchinstall.diagnose.proof import with_verdict
    from torchinstall.resolve.promise import of_environment

    if "torch" not in machine.installed:
        return diagnosis
    verdict = check(app, str(target.python), of_environment(machine, request, app.catalog))
    return with_verdict(diagnosis, verdict)


__all__ = ["Checkup", "doctor_live", "look"]
