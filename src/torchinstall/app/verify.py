"""Verify: a real kernel on every device that torch sees in the target environment."""

from __future__ import annotations

from torchinstall.errors import UsageError
from torchinstall.model.request import Request
from torchinstall.model.variant import CPU

TYPE_CHECKING = False
if TYPE_CHECKING:
    from torchinstall.app.base import App, Planned
    from torchinstall.install.target import Target
    from torchinstall.model.options import Options
    from torchinstall.model.verdict import Verdict
    from torchinstall.resolve.promise import Promise


def verify(app: App, options: Options) -> Verdict:
    """Prove the torch that is installed. Raises ``UsageError`` where there is none."""
    from torchinstall.resolve.promise import of_environment

    target = _existing(app, options)
    machine = app.seen(options, target)
    if "torch" not in machine.installed:
        raise UsageError(
            f"torch isn't installed in {target.prefix or target.python}",
            todo=[
                f"torchinstall --venv {options.venv} torch" if options.venv else "torchinstall torch",
                "or name another environment with --venv or --python",
            ],
        )
    request = Request(variant=CPU if options.cpu else None)
    return check(app, str(target.python), of_environment(machine, request, app.catalog))


def _existing(app: App, options: Options) -> Target:
    """Return the environment to look at; one that isn't there can't be proved."""
    try:
        target = app.target(options)
    except UsageError as error:
        if options.venv or options.python:
            raise
        raise UsageError(
            error.what, why=error.why, todo=["name one: torchinstall verify --venv DIR, or --python PATH"]
        ) from None
    if not target.exists:
        raise UsageError(f"there is no environment in {options.venv}", todo=["look at the name after --venv"])
    return target


def proof(app: App, target: Target, planned: Planned) -> Verdict:
    """Prove what a plan promises."""
    from torchinstall.resolve.promise import of_plan

    return check(app, str(target.python), of_plan(planned.plan, planned.machine))


def check(app: App, python: str, promise: Promise) -> Verdict:
    """Run the check in an interpreter and judge it by a promise."""
    from torchinstall.verify.check import verify as run
    from torchinstall.verify.values import Expect

    return run(python, Expect(**promise.__dict__), app.catalog.verify_causes, environ=app.environ)
