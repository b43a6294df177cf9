"""``resolve``: the one entrance to the decision. Total and deterministic."""

from __future__ import annotations

import re

from torchinstall.errors import EXIT_BLOCKED, EXIT_UNDETERMINED
from torchinstall.model.plan import BLOCKED, INSTALL, UNDETERMINED, CatalogInfo, Plan, Reason, is_option
from torchinstall.model.sentences import reason
from torchinstall.model.sighting import Sightings
from torchinstall.resolve import report
from torchinstall.resolve.cards import select
from torchinstall.resolve.conflict import conflict
from torchinstall.resolve.decision import NOTHING_SEEN, Question, decide
from torchinstall.resolve.dependents import settled, warnings
from torchinstall.resolve.facts import completed
from torchinstall.resolve.keep import keep_vendors

TYPE_CHECKING = False
if TYPE_CHECKING:
    from torchinstall.catalog.catalog import Catalog
    from torchinstall.model.machine import Machine
    from torchinstall.model.request import Request


def resolve(
    machine: Machine,
    request: Request,
    catalog: Catalog,
    sightings: Sightings = NOTHING_SEEN,
    *,
    brief: bool = False,
) -> Plan:
    """Return the plan: what to install, or why nothing can be, with the reasons and the ways out.

    ``brief`` keeps only the best loser of each variant (batch mode). Never raises for any machine or
    request: what can't be is a plan too (``blocked``, ``undetermined``).
    """
    machine = completed(machine, catalog)
    if any(wish.name in catalog.dependents for wish in request.wishes):
        request = settled(request, select(machine, request, catalog).backend, catalog)
    if "torch" not in machine.installed:
        return _resolved(machine, request, catalog, sightings, brief=brief)
    from torchinstall.resolve.beside import beside_installed, said

    bound = beside_installed(machine, request, catalog, sightings)
    if bound is request:
        return _resolved(machine, request, catalog, sightings, brief=brief)
    beside = _resolved(machine, bound, catalog, sightings, brief=brief)
    return said(beside, bound, _resolved(machine, request, catalog, sightings, brief=brief))


def _resolved(machine: Machine, request: Request, catalog: Catalog, sightings: Sightings, *, brief: bool) -> Plan:
    question = Question(machine=machine, request=request, catalog=catalog, sightings=sightings)
    decision = decide(question)
    target = decision.target
    plan = Plan(
        outcome=INSTALL,
        platform=target.platform,
        python=target.python,
        rejected=report.rejections(decision, brief=brief),
        warnings=decision.selection.warnings + _hints_said(request) + warnings(request, catalog),
        catalog=CatalogInfo(date=catalog.date),
        others=request.others,
        installed={name: machine.installed[name] for name in sorted(machine.installed)},
    )
    if decision.solution is not None:
        return report.with_choice(plan, decision, question)
    if decision.undetermined:
        return plan.replace(outcome=UNDETERMINED, blocked=decision.stopped, exit_code=EXIT_UNDETERMINED)
    stopped = conflict(question, decision) or decision.stopped
    blocked = plan.replace(outcome=BLOCKED, blocked=stopped, exit_code=EXIT_BLOCKED)
    return keep_vendors(report.with_ways_out(blocked, decision, question), decision, question)


def _hints_said(request: Request) -> tuple[Reason, ...]:
    """Say of a requirement file's index options that they don't bind the torch family."""
    options = [text for text in request.others if is_option(text)]
    # Credentials in an address are nobody's business but the installer's.
    return tuple(reason("index-hint", option=re.sub(r"//[^/@\s]+@", "//***@", option)) for option in options)
