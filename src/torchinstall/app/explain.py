"""Explain: the decision asked about one variant or version."""

from __future__ import annotations

from torchinstall.errors import UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from torchinstall.app.base import App
    from torchinstall.install.settings import Settings
    from torchinstall.model.explanation import Explanation
    from torchinstall.model.machine import Machine
    from torchinstall.model.options import Options


def explain(app: App, options: Options, what: str, machine_text: str | None = None) -> Explanation:
    """Return why ``what`` is chosen, possible or impossible on the machine; by the catalogue, without a look outside.

    Raises ``RequirementError`` where ``what`` is neither a variant nor a version nor a requirement, and
    ``UsageError`` where reports tell of several machines.
    """
    from torchinstall.resolve.decision import Question
    from torchinstall.resolve.explain import asked
    from torchinstall.resolve.explain import explain as explained

    machine, settings = _machine(app, options, machine_text)
    request = app.request(options, settings, machine)
    question = Question(machine=machine, request=request, catalog=app.catalog)
    return explained(question, asked(what, app.catalog.joint))


def _machine(app: App, options: Options, text: str | None) -> tuple[Machine, Settings | None]:
    """Return the machine that is meant; for this one with the constraints that uv and pip are configured with."""
    if options.reports:
        machines = app.reported(options)
        if len(machines) > 1:
            raise UsageError(
                f"the reports tell of {len(machines)} machines",
                why="an explanation is about one",
                todo=["give the report of one machine"],
            )
        return machines[0], None
    if text is not None:
        return app.read_machine(text, options), None
    from torchinstall.install.settings import read_settings

    target = app.target_if_any(options)
    machine = app.declared(app.seen(options, target), options)
    if options.sysroot and target is None:
        return machine, None
    prefix = app.cwd / target.prefix if target is not None and target.prefix else None
    return machine, read_settings(app.environ, cwd=app.cwd, prefix=prefix)
