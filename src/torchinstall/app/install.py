"""Install: detect, resolve, change the environment in one transaction, prove it."""

from __future__ import annotations

from torchinstall.app.base import Planned
from torchinstall.app.verify import check, proof
from torchinstall.errors import UsageError
from torchinstall.model.plan import BLOCKED, INSTALL, SATISFIED, UNDETERMINED
from torchinstall.model.value import Value
from torchinstall.model.verdict import PROVED, Verdict
from torchinstall.model.version import at_least

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from torchinstall.app.base import App
    from torchinstall.install.backend import Job
    from torchinstall.install.target import Target
    from torchinstall.model.options import Options

UNVERIFIED = Verdict(outcome=PROVED, cause="not-asked", text="not verified, as asked")


class Installed(Value):
    """What an install came to. ``changes``: what the installer changed or would change, in words.

    ``stopped``: there was nothing to install; the plan says why.
    """

    planned: Planned
    verdict: Verdict | None = None
    changes: tuple[str, ...] = ()
    changed: bool = False
    restored: bool = False
    stopped: bool = False


def install(
    app: App,
    options: Options,
    *,
    show: Callable[[Planned], None],
    ask: Callable[[str], bool],
    progress: bool,
) -> Installed:
    """Detect, resolve, install and verify; the environment is as it was after any end but success.

    ``show`` is given the plan before anything changes; ``ask`` answers a risky question. A plan that is
    blocked, undetermined or out of reach ends there. Raises the errors of the installer and of the target.
    """
    target = app.target(options)
    machine = app.declared(app.seen(options, target), options)
    planned, verdict = _what_works_stays(app, app.planned(machine, options, target), target, options)
    show(planned)
    plan = planned.plan
    if plan.outcome in {BLOCKED, UNDETERMINED} or plan.unreachable is not None:
        return Installed(planned=planned, stopped=True)
    if plan.outcome == SATISFIED and not plan.others:
        if verdict is None and options.verify:
            verdict = proof(app, target, planned)
        return Installed(planned=planned, verdict=verdict)
    for question in risks(planned, options):
        if not (options.yes or ask(question)):
            raise UsageError(f"not done: {question}", todo=["--yes goes ahead with it"])
    return _transaction(app, planned, target, options, progress=progress)


def risks(planned: Planned, options: Options) -> list[str]:
    """Return the questions that only a yes answers: what an unattended run must not do by itself."""
    questions = []
    plan, machine = planned.plan, planned.machine
    installed = machine.installed.get("torch")
    if installed and plan.torch and plan.outcome == INSTALL and not at_least(plan.torch, installed.partition("+")[0]):
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


def _transaction(app: App, planned: Planned, target: Target, options: Options, *, progress: bool) -> Installed:
    from torchinstall.catalog.locate import find_index_data
    from torchinstall.install import transaction
    from torchinstall.install.backend import all_new
    from torchinstall.install.uv import Uv

    installer = Uv(app.environ, index_data=find_index_data())
    if options.dry_run:
        job = _job(app, planned, target, progress=False)
        changes = installer.preview(job) if target.exists else all_new(planned.plan)
        return Installed(planned=planned, changes=tuple(change.words() for change in changes))
    made = target if target.exists else app.target(options, create=True)
    job = _job(app, planned, made.with_facts(app.seen(options, made).python), progress=progress)
    outcome = transaction.install(
        job,
        installer,
        verify=lambda: proof(app, job.target, planned) if options.verify else UNVERIFIED,
        environ=app.environ,
        keep=options.keep,
        # A layer of an image has no use for the way back, only for its space.
        keep_previous=not (planned.machine.container is not None and planned.machine.container.build),
    )
    return Installed(
        planned=planned.replace(target=job.target),
        verdict=outcome.verdict if options.verify else None,
        changes=tuple(change.words() for change in outcome.changes),
        changed=not outcome.restored,
        restored=outcome.restored,
    )


def _job(app: App, planned: Planned, target: Target, *, progress: bool) -> Job:
    from torchinstall.install.backend import Job
    from torchinstall.resolve.keep import stale_packages

    return Job(
        plan=planned.plan,
        target=target,
        settings=planned.settings,
        cwd=app.cwd,
        reinstall=stale_packages(planned.plan, planned.machine),
        offline=planned.request.offline,
        show=progress,
    )
