"""The decision itself: which cards, which candidates fit, which of them is best, and how it is to be had."""

from __future__ import annotations

from torchinstall.model.plan import Reason
from torchinstall.model.sentences import reason
from torchinstall.model.sighting import Sightings
from torchinstall.model.value import Value
from torchinstall.resolve.candidates import Candidate, candidates
from torchinstall.resolve.cards import Selection, select, wanted_variant
from torchinstall.resolve.fallback import Supply, supply
from torchinstall.resolve.joint import TORCH, Solution, companion_names, lacking
from torchinstall.resolve.sources import IDEAL, Sources
from torchinstall.resolve.target import Target, target_of, unfit

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from torchinstall.catalog.catalog import Catalog
    from torchinstall.catalog.rows import Build
    from torchinstall.model.machine import Machine
    from torchinstall.model.request import Request

NOTHING_SEEN = Sightings()


class Question(Value):
    """All that a decision depends on; the ways out are found by asking again with one thing replaced."""

    machine: Machine
    request: Request
    catalog: Catalog
    sightings: Sightings = NOTHING_SEEN


class Decision(Value):
    """All that was found out on the way to a plan; ``solution`` is ``None`` where nothing fits."""

    target: Target
    selection: Selection
    candidates: tuple[Candidate, ...] = ()
    solution: Solution | None = None
    supply: Supply | None = None
    stopped: Reason | None = None
    undetermined: bool = False


def decide(question: Question) -> Decision:
    """Judge every candidate and choose; keeps everything that a report or an explanation needs."""
    machine, request, catalog = question.machine, question.request, question.catalog
    target = target_of(machine)
    selection = select(machine, request, catalog)
    base = Decision(target=target, selection=selection)
    if target.os is None or target.arch is None:
        return base.replace(stopped=reason("platform-unknown"), undetermined=True)
    if (why := unfit(target)) is not None:
        return base.replace(stopped=why)
    if selection.undetermined is not None:
        return base.replace(stopped=selection.undetermined, undetermined=True)
    if request.require_gpu and selection.backend == "cpu":
        because = selection.why[0].text if selection.why else ""
        return base.replace(stopped=reason("require-gpu", because=because))
    sources = Sources(question.sightings, target, catalog, request.mirror)
    judged = candidates(machine, request, selection, target, catalog, sources.seen)
    base = base.replace(candidates=judged)
    if selection.blocked is not None:
        return base.replace(stopped=selection.blocked)
    fitting = [candidate.build for candidate in judged if candidate.why_not is None]
    companions = companion_names(request, catalog.joint)
    found = supply(fitting, companions, request, machine, catalog, sources)
    if found is not None:
        return base.replace(solution=found.solution, supply=found)
    return base.replace(stopped=_why_nothing(base, fitting, companions, request, catalog, sources))


def _why_nothing(
    decision: Decision,
    fitting: Sequence[Build],
    companions: tuple[str, ...],
    request: Request,
    catalog: Catalog,
    sources: Sources,
) -> Reason:
    if fitting and companions:
        missing = lacking(fitting, companions, request, catalog, sources, IDEAL)
        fixed = [w.text for w in request.wishes if w.specifier and w.name in (*missing, TORCH)]
        if missing and any(w.specifier for w in request.wishes if w.name in missing):
            return reason("conflict", wishes=", ".join(fixed))
        if missing:
            return reason("companion-none", name=" and ".join(missing))
    if fitting:
        gone = sources.absent(fitting[0])
        return reason(
            "absent",
            url=gone.url if gone else "its index",
            torch=fitting[0].torch,
            variant=fitting[0].variant,
        )
    cards = decision.selection.cards
    names = list(dict.fromkeys(card.name for card in cards))
    named = wanted_variant(request)
    near = nearest(decision)
    if near is not None and (len(names) <= 1 or near.rule not in {"no-kernel", "driver-too-old"}):
        return near
    if len(names) > 1:
        return reason("no-tuple-all", cards=", ".join(f"{c.name} ({c.cc})" if c.cc else c.name for c in cards))
    return reason("no-tuple", target=", ".join(names) or named or "this machine")


_FAR = ("other-variant", "backend", "not-cpu", "withdrawn", "version", "status", "yanked", "pre-release")
"""Rules that say that a candidate wasn't meant at all: poor explanations of why nothing fits."""


def nearest(decision: Decision) -> Reason | None:
    """Return why the best candidate that was meant at all doesn't fit; the version rule where it binds all."""
    meant = [c.why_not for c in decision.candidates if c.why_not is not None and c.why_not.rule not in _FAR]
    if meant:
        return meant[0]
    for rule in ("version", "status", "withdrawn"):
        for candidate in decision.candidates:
            if candidate.why_not is not None and candidate.why_not.rule == rule:
                return candidate.why_not
    return None
