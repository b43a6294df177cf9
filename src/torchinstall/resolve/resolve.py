"""``resolve``: the one entrance to the decision. Total and deterministic."""

from __future__ import annotations

from torchinstall.errors import EXIT_BLOCKED, EXIT_UNDETERMINED
from torchinstall.model.plan import BLOCKED, INSTALL, UNDETERMINED, CatalogInfo, Plan
from torchinstall.model.sighting import Sightings
from torchinstall.resolve import report
from torchinstall.resolve.facts import completed
from torchinstall.resolve.keep import keep_vendors
from torchinstall.resolve.decision import NOTHING_SEEN, Question, decide

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

    ``brief`` keeps only the best loser of each variant (batch mode). Never raises for any machine or request: what can't be is a plan too (``blocked``, ``undetermined``).
    """
    machine = completed(machine, catalog)
    question = Question(machine=machine, request=request, catalog=catalog, sightings=sightings)
    decision = decide(question)
    target = decision.target
    plan = Plan(
        outcome=INSTALL,
        platform=target.platform,
        python=target.python,
        rejected=report.rejections(decision, brief=brief),
        warnings=decision.selection.warnings,
        catalog=CatalogInfo(date=catalog.date),
        others=request.others,
        installed={name: machine.installed[name] for name in sorted(machine.installed)},
    )
    if decision.solution is not None:
        return report.with_choice(plan, decision, question)
    if decision.undetermined:
        return plan.replace(outcome=UNDETERMINED, blocked=decision.stopped, exit_code=EXIT_UNDETERMINED)
    blocked = plan.replace(outcome=BLOCKED, blocked=decision.stopped, exit_code=EXIT_BLOCKED)
    return keep_vendors(report.with_ways_out(blocked, decision, question), decision, question)
