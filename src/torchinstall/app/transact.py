"""A plan put into effect in an environment, in one transaction."""

from __future__ import annotations

from torchinstall.app.around import afterwards, installer, needed_space, python_of, with_hashes
from torchinstall.app.base import Planned
from torchinstall.app.bound import bound_dependencies
from torchinstall.app.verify import proof
from torchinstall.model.plan import SATISFIED
from torchinstall.model.value import Value
from torchinstall.model.verdict import PROVED, Verdict

TYPE_CHECKING = False
if TYPE_CHECKING:
    from torchinstall.app.base import App
    from torchinstall.install.backend import Job
    from torchinstall.install.target import Target
    from torchinstall.model.options import Options

UNVERIFIED = Verdict(outcome=PROVED, cause="not-asked", text="not verified, as asked")


class Installed(Value):
    """What an install came to. ``changes``: what the installer changed or would change, in words.

    ``stopped``: there was nothing to install; the plan says why. ``orphans``: packages of an old CUDA major
    that nothing needs any more. ``constraints``: the constraints file that was written.
    """

    planned: Planned
    verdict: Verdict | None = None
    changes: tuple[str, ...] = ()
    changed: bool = False
    restored: bool = False
    stopped: bool = False
    orphans: tuple[str, ...] = ()
    constraints: str | None = None


def transact(
    app: App, planned: Planned, target: Target, options: Options, *, progress: bool, reinstall: tuple[str, ...]
) -> Installed:
    """Install what the plan says, and prove it; ``reinstall`` names what isn't believed to be there.

    The environment is as it was after any end but success; with ``dry_run`` only the changes are told. Raises
    the errors of the installer and of the target.
    """
    from torchinstall.app.draw_in import trial
    from torchinstall.install import transaction

    box = planned.machine.container
    backend = installer(app, options, layer=box is not None and box.build is True)
    if options.dry_run:
        with trial(app, target) as place:
            changes = backend.preview(job_of(app, planned, place, progress=False, reinstall=reinstall))
        return Installed(planned=planned, changes=tuple(change.words() for change in changes))
    made = target if target.exists else app.target(options, create=True)
    try:
        known = planned.machine.python if target.exists else None
        made = made.with_facts(known if known is not None and known.purelib else python_of(app, made))
        job = job_of(app, planned, made, progress=progress, reinstall=reinstall)
        if options.require_hashes:
            job = with_hashes(app, job, planned.request.mirror)
        space = needed_space(app, job, options)
    except BaseException:
        if made.created:
            transaction.remove_created(made)
        raise
    outcome = transaction.install(
        job,
        backend,
        verify=lambda: proof(app, job.target, planned) if options.verify else UNVERIFIED,
        environ=app.environ,
        keep=options.keep,
        space=space,
        # A layer of an image has no use for the way back, only for its space.
        keep_previous=not (planned.machine.container is not None and planned.machine.container.build),
    )
    done = Installed(
        planned=planned.replace(target=job.target),
        verdict=outcome.verdict if options.verify else None,
        changes=tuple(change.words() for change in outcome.changes),
        changed=not outcome.restored,
        restored=outcome.restored,
    )
    return done if outcome.restored else afterwards(app, done, job, options)


def job_of(app: App, planned: Planned, target: Target, *, progress: bool, reinstall: tuple[str, ...]) -> Job:
    """Return what an installer is given for a plan."""
    from torchinstall.install.backend import Job
    from torchinstall.resolve.keep import stale_packages

    plan = planned.plan
    kept: dict[str, str] = {}
    if plan.outcome == SATISFIED:
        # What is kept isn't installed anew: it only has to stay, whatever the other packages would like.
        kept = _by_metadata(planned)
        plan = plan.replace(packages=())
    return Job(
        plan=plan,
        target=target,
        settings=planned.settings,
        cwd=app.cwd,
        reinstall=tuple(dict.fromkeys([*stale_packages(plan, planned.machine), *reinstall])),
        bound=bound_dependencies(app, planned),
        offline=planned.request.offline,
        show=progress,
        kept=kept,
    )


def _by_metadata(planned: Planned) -> dict[str, str]:
    """Return the kept packages at the version that their metadata shows, which is what an installer compares."""
    from torchinstall.install.records import installed

    python = planned.machine.python
    roots = dict.fromkeys(path for path in (python.purelib, python.platlib) if path)
    found = {name: version for root in roots for name, version, _ in installed(root)}
    return {pin.name: found[pin.name] for pin in planned.plan.packages if pin.name in found}
