"""A plan for an NVIDIA card that nobody has named: the build that serves every card that it can be."""

from __future__ import annotations

from torchinstall.model.machine import Gpu, Machine
from torchinstall.model.plan import INSTALL, UNDETERMINED, Alternative, Plan, Reason
from torchinstall.model.version import numbers
from torchinstall.resolve.resolve import resolve
from torchinstall.resolve.target import target_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from torchinstall.catalog.catalog import Catalog
    from torchinstall.model.request import Request

WHICH_CARD = "which card is it? `torchinstall detect` on that machine says it; if it is this machine, add --live"

_ASSUMED = "card-assumed"


def needs_card(plan: Plan) -> bool:
    """Tell whether a plan was made, or couldn't be made, without knowing the card."""
    return any(w.rule == _ASSUMED for w in plan.warnings) or (
        plan.outcome == UNDETERMINED and plan.blocked is not None and plan.blocked.rule == "card-unknown"
    )


def likely_plan(machine: Machine, request: Request, catalog: Catalog) -> Plan | None:
    """Return the plan that serves every card that an unknown one can be, giving up the newest cards first."""
    for guess in guesses(machine, catalog):
        plan = resolve(guess, request, catalog)
        if plan.outcome != INSTALL:
            continue
        codes = {gpu.compute_capability for gpu in guess.gpus or () if gpu.compute_capability}
        known = {"cards": ", ".join(sorted(codes, key=numbers))}
        text = f"which card this is isn't known: the build serves cards of compute capability {known['cards']}"
        by_driver = [way for way in plan.alternatives if way.reason.rule.startswith("if-driver")]
        return plan.replace(
            warnings=(
                Reason(rule=_ASSUMED, text=text, params=known),
                *(w for w in plan.warnings if not w.rule.startswith("left-")),
            ),
            devices=(),
            alternatives=(*_of_single_cards(guess, request, plan, catalog), *by_driver)[:4],
        )
    return None


def guesses(machine: Machine, catalog: Catalog) -> list[Machine]:
    """Return machines in which the unknown NVIDIA cards are of every kind that torch is built for."""
    gpus = machine.gpus or ()
    if not any(gpu.vendor == "nvidia" for gpu in gpus):
        return []
    known = [gpu for gpu in gpus if gpu.vendor == "nvidia" and gpu.compute_capability]
    codes = _built_for(target_of(machine).platform, catalog)
    found = []
    while codes:
        cards = tuple(Gpu(vendor="nvidia", name=f"a card of {cc}", compute_capability=cc) for cc in codes)
        found.append(machine.replace(gpus=(*known, *cards)))
        codes = codes[:-1]
    return found


def _of_single_cards(machine: Machine, request: Request, plan: Plan, catalog: Catalog) -> list[Alternative]:
    """Return what a card of one kind alone could have, newest first."""
    found: dict[tuple[str, str], Alternative] = {}
    for gpu in machine.gpus or ():
        alone = resolve(machine.replace(gpus=(gpu,)), request, catalog)
        pair = (alone.torch or "", alone.variant or "")
        if alone.outcome != INSTALL or pair == (plan.torch, plan.variant):
            continue
        facts = {"cc": gpu.compute_capability or ""}
        why = Reason(rule="if-card", text=f"the card is of compute capability {facts['cc']}", params=facts)
        found.setdefault(pair, Alternative(torch=pair[0], variant=pair[1], reason=why))
    return sorted(found.values(), key=lambda way: numbers(way.torch), reverse=True)[:3]


def _built_for(platform: str | None, catalog: Catalog) -> list[str]:
    """Return the compute capabilities that the newest CUDA build has code for, oldest first."""
    for build in catalog.builds(platform or "linux_x86_64"):
        listed = catalog.arch_list(build)
        if listed is not None and listed.sass:
            return [f"{code // 10}.{code % 10}" for code in sorted(listed.sass)]
    return []
