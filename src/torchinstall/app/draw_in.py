"""Other packages of a request: which of the torch family they draw in, and which torch they allow.

timm wants torchvision, xformers wants one torch: what the installer would take from the default index for
them is looked at by a dry run before anything is shown, and decided here as if it had been asked for.
"""

from __future__ import annotations

import contextlib

from torchinstall.errors import BlockedError, InstallError
from torchinstall.model.plan import INSTALL, SATISFIED
from torchinstall.model.request import Wish

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from torchinstall.app.base import App, Planned
    from torchinstall.install.backend import Installer, Job
    from torchinstall.install.target import Target
    from torchinstall.model.options import Options

    MakeJob = Callable[[Planned, Target], Job]


def settled(
    app: App, planned: Planned, target: Target, options: Options, backend: Installer, make_job: MakeJob
) -> Planned:
    """Return the plan with what the other packages draw in, and with the torch that they allow.

    Raises ``BlockedError`` where they allow none that fits, and what the installer raises for a package that
    can't be had.
    """
    plan = planned.plan
    if not plan.others or plan.outcome not in {INSTALL, SATISFIED} or plan.unreachable is not None:
        return planned
    with trial(app, target) as place:
        try:
            changes = backend.preview(make_job(planned, place))
        except InstallError as error:
            planned = _with_allowed_torch(app, planned, target, options, backend, make_job, place, error)
            changes = backend.preview(make_job(planned, place))
    ours = set(app.catalog.joint) - {pin.name for pin in planned.plan.packages}
    drawn = sorted({change.name for change in changes if change.name in ours and change.after is not None})
    if not drawn:
        return planned
    wider = options.replace(requirements=(*options.requirements, *drawn))
    kept = planned.plan.torch
    # First with the torch that is planned or kept: what somebody draws in is no reason to change it.
    limit = Wish(name="torch", specifier=f"=={kept}", text=f"torch=={kept}", origin="what was planned before")
    again = app.planned(planned.machine, wider, target, constraints=(limit,))
    if again.plan.outcome in {INSTALL, SATISFIED}:
        return again
    return app.planned(planned.machine, wider, target)


@contextlib.contextmanager
def trial(app: App, target: Target) -> Iterator[Target]:
    """Yield an environment for a dry run: the target, or an empty one of its Python where it isn't there yet."""
    if target.exists:
        yield target
        return
    import tempfile
    from pathlib import Path

    from torchinstall.install.target import create_venv, interpreter_in

    with tempfile.TemporaryDirectory(prefix="torchinstall-") as folder:
        prefix = Path(folder) / "env"
        create_venv(prefix, target.python, app.environ, app.cwd)
        yield target.replace(python=str(interpreter_in(prefix)), prefix=str(prefix), exists=True)


def _with_allowed_torch(
    app: App,
    planned: Planned,
    target: Target,
    options: Options,
    backend: Installer,
    make_job: MakeJob,
    place: Target,
    error: InstallError,
) -> Planned:
    """Ask the installer which torch the other packages take by themselves, and plan that one."""
    free = planned.replace(plan=planned.plan.replace(packages=(), outcome=INSTALL))
    changes = backend.preview(make_job(free, place))
    taken = next((change.after for change in changes if change.name == "torch" and change.after), None)
    if taken is None or taken.partition("+")[0] == planned.plan.torch:
        raise error
    version = taken.partition("+")[0]
    names = ", ".join(planned.plan.other_packages)
    limit = Wish(name="torch", specifier=f"=={version}", text=f"torch=={version}", origin=f"the needs of {names}")
    again = app.planned(planned.machine, options, target, constraints=(limit,))
    if again.plan.outcome not in {INSTALL, SATISFIED}:
        why = again.plan.blocked.text if again.plan.blocked is not None else ""
        raise BlockedError(
            f"{names} can't be had together with a torch that fits here",
            why=f"by themselves they take torch {version}, and {why}",
            todo=["take another version of them", "or leave them away and install torch alone"],
            details=error.details,
        )
    return again
