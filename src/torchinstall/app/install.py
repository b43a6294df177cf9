"""Install: detect, resolve, change the environment in one transaction, prove it."""

from __future__ import annotations

from torchinstall.app.around import beforehand, installer, project_risks, write_constraints
from torchinstall.app.missing import missing, with_missing, words
from torchinstall.app.transact import Installed, job_of, transact
from torchinstall.app.verify import check, proof
from torchinstall.errors import UsageError
from torchinstall.model.plan import BLOCKED, INSTALL, SATISFIED, UNDETERMINED
from torchinstall.model.verdict import FAILED, PROVED, Verdict
from torchinstall.model.version import is_newer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from torchinstall.app.base import App, Planned
    from torchinstall.install.backend import Job
    from torchinstall.install.records import Damage
    from torchinstall.install.target import Target
    from torchinstall.model.machine import Machine
    from torchinstall.model.options import Options


def install(
    app: App,
    options: Options,
    *,
    show: Callable[[Planned], None],
    ask: Callable[[str], bool],
    progress: bool,
    tell: Callable[[Sequence[str]], None] = lambda _notes: None,
) -> Installed:
    """Detect, resolve, install and verify; the environment is as it was after any end but success.

    ``show`` is given the plan before anything changes, ``tell`` what else is good to know before; ``ask``
    answers a risky question. A plan that is blocked, undetermined or out of reach ends there. Raises the
    errors of the installer and of the target.
    """
    from torchinstall.install.process import terminations_as_interrupts

    with terminations_as_interrupts():
        return _install(app, options, show, ask, tell, progress=progress)


def _install(
    app: App,
    options: Options,
    show: Callable[[Planned], None],
    ask: Callable[[str], bool],
    tell: Callable[[Sequence[str]], None],
    *,
    progress: bool,
) -> Installed:
    if options.bundle is not None:
        from torchinstall.app.bundle import from_bundle

        app, options = from_bundle(app, options)
    target = app.target(options)
    seen = app.seen(options, target, asks=True)
    if not options.dry_run and _recovered(seen, target, tell):
        seen = app.seen(options, target)
    machine = app.declared(seen, options)
    planned, verdict = _what_works_stays(app, app.planned(machine, options, target), target, options)
    hurt = _damaged(planned, target)
    gaps = missing(planned, target) if planned.plan.outcome == SATISFIED else ()
    bare = {gap.package for gap in gaps if gap.built_against}
    broken = {damage.name for damage in hurt}
    if planned.plan.outcome == SATISFIED and (broken or bare):
        # Metadata says it's there, the disk says it's half there: only a kernel can tell which is right.
        verdict = verdict or proof(app, target, planned)
        if verdict.outcome == FAILED:
            tell([f"half installed, and put in anew: {damage.words()}" for damage in hurt])
            tell([f"put in anew with {gap.wanted}, which {gap.package} requires" for gap in gaps if gap.built_against])
            broken |= bare
            rest = {name: version for name, version in machine.installed.items() if name not in broken}
            planned, verdict = app.planned(machine.replace(installed=rest), options, target), None
    planned = _with_what_others_need(app, planned, target, options)
    gaps = tuple(gap for gap in gaps if not gap.built_against)
    if gaps and planned.plan.outcome == SATISFIED:
        tell(words(gaps))
        planned = with_missing(planned, gaps)
    show(planned)
    plan = planned.plan
    if plan.outcome in {BLOCKED, UNDETERMINED} or plan.unreachable is not None:
        return Installed(planned=planned, stopped=True)
    if plan.outcome == SATISFIED and not plan.others:
        if verdict is None and options.verify:
            verdict = proof(app, target, planned)
        done = Installed(planned=planned.replace(target=target), verdict=verdict)
        if options.write_constraints is not None and not options.dry_run:
            whole = target.with_facts(planned.machine.python)
            done = done.replace(constraints=write_constraints(app, whole, options.write_constraints))
        return done
    if options.sysroot:
        tell([f"the machine is the one under {options.sysroot} (--sysroot); the environment is this one's"])
    tell(beforehand(planned, target))
    for question in [*risks(planned, options), *project_risks(app, target)]:
        if not (options.yes or options.dry_run or ask(question)):
            raise UsageError(f"not done: {question}", todo=["--yes goes ahead with it"])
    return transact(app, planned, target, options, progress=progress, reinstall=tuple(sorted(broken)))


def _with_what_others_need(app: App, planned: Planned, target: Target, options: Options) -> Planned:
    from torchinstall.app.draw_in import settled

    if not planned.plan.others or options.bundle is not None:
        return planned

    def make_job(some: Planned, place: Target) -> Job:
        return job_of(app, some, place, progress=False, reinstall=())

    return settled(app, planned, target, options, installer(app, options), make_job)


def _recovered(machine: Machine, target: Target, tell: Callable[[Sequence[str]], None]) -> bool:
    """Undo what a killed run left, before anything is read from the environment; tell whether there was anything."""
    from torchinstall.install.journal import left_behind
    from torchinstall.install.transaction import recover_target

    prefix = target.prefix or machine.python.prefix
    if not target.exists or prefix is None or (left := left_behind(prefix)) is None:
        return False
    recovered = recover_target(target.replace(prefix=prefix))
    if recovered:
        tell([f"{left.words()}: the environment was brought back to what it was before"])
    return recovered


def _damaged(planned: Planned, target: Target) -> tuple[Damage, ...]:
    """Return the packages of the torch family that aren't whole on disk."""
    from torchinstall.install.records import damaged

    python = planned.machine.python
    roots = [path for path in (python.purelib, python.platlib) if path]
    return damaged(roots, tuple(planned.machine.installed)) if target.exists else ()


def risks(planned: Planned, options: Options) -> list[str]:
    """Return the questions that only a yes answers: what an unattended run must not do by itself."""
    questions = []
    plan, machine = planned.plan, planned.machine
    installed = machine.installed.get("torch")
    if installed and plan.torch and plan.outcome == INSTALL and is_newer(installed, plan.torch):
        asked = any(wish.name == "torch" and wish.specifier for wish in planned.request.wishes)
        if not asked:
            questions.append(f"torch {installed} would be replaced by the older {plan.torch}")
    built = machine.container is not None and machine.container.build
    if machine.declared and not built and not options.drivers and planned.request.variant is None:
        questions.append("the declared machine isn't this one, and the environment is here")
    return questions


def _what_works_stays(app: App, planned: Planned, target: Target, options: Options) -> tuple[Planned, Verdict | None]:
    """Keep an installed torch that the tables don't know but that passes verification: a kernel beats a table."""
    from torchinstall.resolve.keep import kept_by_proof, worth_proving
    from torchinstall.resolve.promise import of_environment

    if not target.exists or not worth_proving(planned.plan, planned.machine, planned.request, app.catalog):
        return planned, None
    promise = of_environment(planned.machine, planned.request, app.catalog)
    verdict = check(app, str(target.python), promise)
    if verdict.outcome != PROVED or options.dry_run:
        return planned, None
    plan = kept_by_proof(planned.plan, planned.machine, planned.request, app.catalog)
    return planned.replace(plan=plan), verdict
