"""Explain: the decision asked about one variant or version."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from torchinstall.app.base import App
    from torchinstall.model.explanation import Explanation
    from torchinstall.model.options import Options


def explain(app: App, options: Options, what: str, machine_text: str | None = None) -> Explanation:
    """Return why ``what`` is chosen, possible or impossible on the machine; by the catalogue, without a look outside.

    Raises ``RequirementError`` where ``what`` is neither a variant nor a version nor a requirement.
    """
    from torchinstall.resolve.decision import Question
    from torchinstall.resolve.explain import asked
    from torchinstall.resolve.explain import explain as explained

    if machine_text is not None:
        machine = app.read_machine(machine_text, options)
    else:
        machine = app.declared(app.seen(options, app.target_if_any(options)), options)
    request = app.request(options, None, machine)
    question = Question(machine=machine, request=request, catalog=app.catalog)
    return explained(question, asked(what, app.catalog.joint))
