"""Verify: a real kernel on every device that torch sees in the target environment."""

from __future__ import annotations

from torchinstall.errors import UsageError
from torchinstall.model.plan import SATISFIED
from torchinstall.model.request import Request
from torchinstall.model.variant import CPU, backend

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from torchinstall.app.base import App, Planned
    from torchinstall.install.target import Target
    from torchinstall.model.machine import Machine
    from torchinstall.model.options import Options
    from torchinstall.model.verdict import Verdict
    from torchinstall.resolve.promise import Promise


_NEEDS_DEVICE = frozenset({"cuda", "rocm", "xpu"})


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
    promise = of_environment(machine, request, app.catalog)
    built = machine.container is not None and machine.container.build is True
    static = built and backend(promise.variant or "") in _NEEDS_DEVICE
    if static:
        promise = promise.replace(backend=CPU, cards=None)
    verdict = check(
        app, str(target.python), promise, static=static, compile=options.compile, user_site=in_user_site(machine)
    )
    return _for_place(verdict, options)


def _for_place(verdict: Verdict, options: Options) -> Verdict:
    """Say that the commands are for the environment that was named: as printed, they find another one."""
    from shlex import join

    place = ("--venv", options.venv) if options.venv else ("--python", options.python) if options.python else None
    if place is None or not any("torchinstall" in step for step in verdict.todo):
        return verdict
    words = join(map(str, place))
    return verdict.replace(todo=(*verdict.todo, f"add {words} to these commands: it is that environment"))


def in_user_site(machine: Machine) -> bool:
    """Tell whether torch lies in the user's own folder: an isolated Python doesn't look there."""
    from pathlib import Path

    python = machine.python
    if python.environment not in {"system", "conda"} or "torch" not in machine.installed:
        return False
    roots = [path for path in (python.purelib, python.platlib) if path]
    return bool(roots) and not any((Path(root) / "torch").is_dir() for root in roots)


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
    """Prove what a plan promises; what is kept has to show that it uses the accelerators that are here."""
    from torchinstall.resolve.promise import of_environment, of_plan

    plan = planned.plan
    if plan.outcome == SATISFIED and not planned.machine.declared:
        promise = of_environment(planned.machine, planned.request, app.catalog)
    else:
        promise = of_plan(plan, planned.machine)
    # Where the promise is the CPU though the build is for a card, none can be here.
    static = promise.backend == CPU and backend(plan.variant or "") in _NEEDS_DEVICE
    codes = tuple(dict.fromkeys(device.by for device in plan.devices if device.by.startswith("sm_")))
    return check(app, str(target.python), promise, codes=codes, static=static)


def check(app: App, python: str, promise: Promise, **more: Any) -> Verdict:
    """Run the check in an interpreter and judge it by a promise; ``more`` are further fields of ``Expect``."""
    from torchinstall.verify.check import verify as run
    from torchinstall.verify.values import Expect

    return run(python, Expect(**promise.__dict__, **more), app.catalog.verify_causes, environ=app.environ)
