"""A companion for the torch that is there: who asks for torchvision doesn't ask for another torch."""

from __future__ import annotations

from torchinstall.model.plan import INSTALL, Alternative, Plan
from torchinstall.model.request import Request, Wish
from torchinstall.model.sentences import reason
from torchinstall.model.variant import NPU, backend
from torchinstall.resolve.decision import Question, decide
from torchinstall.resolve.joint import TORCH, companion_names
from torchinstall.resolve.keep import companions_right, fitting_build, vendor_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from torchinstall.catalog.catalog import Catalog
    from torchinstall.model.machine import Machine
    from torchinstall.model.sighting import Sightings

ORIGIN = "what is installed"


def beside_installed(machine: Machine, request: Request, catalog: Catalog, sightings: Sightings) -> Request:
    """Return the request bound to the installed torch, where that fits and all else can be had for it.

    As uv does it: what is installed is preferred while it satisfies everything, unless an upgrade is asked for.
    The same request where nothing is installed, it doesn't fit, or the newest serves as well (``keep``).
    """
    installed = machine.installed.get(TORCH)
    if installed is None or request.upgrade or vendor_of(machine) is not None:
        return request
    if not companion_names(request, catalog.joint, ""):
        return request
    question = Question(machine=machine, request=request, catalog=catalog, sightings=sightings)
    decision = decide(question)
    if decision.selection.backend == NPU:
        return request
    build = fitting_build(decision, machine, request)
    if build is None or companions_right(build, machine, request, catalog):
        return request
    version, _, local = installed.partition("+")
    wish = Wish(
        name=TORCH, specifier=f"=={version}", variant=local if backend(local) else None, text=f"{TORCH}=={installed}",
        origin=ORIGIN,
    )  # fmt: skip
    bound = request.replace(constraints=(*request.constraints, wish))
    found = decide(question.replace(request=bound))
    if found.solution is None:
        return request  # an index that is down is no reason: what is installed isn't replaced for that
    same = (found.solution.build.torch, found.solution.build.variant) == (build.torch, build.variant)
    return bound if same else request


def said(plan: Plan, bound: Request, free: Plan) -> Plan:
    """Return the plan beside the installed torch with the word that it stays, and what an upgrade would bring.

    ``free`` is the plan of the request without that bond.
    """
    if plan.outcome != INSTALL or plan.torch is None or plan.variant is None:
        return plan
    text = next(wish.text for wish in bound.constraints if wish.origin == ORIGIN)
    chosen = tuple(one for one in plan.why if one.rule not in {"chosen-newest", "chosen-named"})
    why = (reason("kept-beside", torch=text.partition("==")[2]), *chosen)
    alternatives = plan.alternatives
    if free.torch and free.variant and (free.torch, free.variant) != (plan.torch, plan.variant):
        newer = Alternative(torch=free.torch, variant=free.variant, reason=reason("if-upgrade"), command="--upgrade")
        alternatives = (newer, *(way for way in alternatives if (way.torch, way.variant) != (free.torch, free.variant)))
    return plan.replace(why=why, alternatives=alternatives[:3])
