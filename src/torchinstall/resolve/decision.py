"""The decision itself: which cards, which candidates fit, which of them is best, and how it is to be had."""

from __future__ import annotations

from functools import partial

from torchinstall.catalog.rows import UNVERIFIED, WITHDRAWN
from torchinstall.model.plan import Reason
from torchinstall.model.sentences import reason
from torchinstall.model.sighting import Sightings
from torchinstall.model.value import Value
from torchinstall.model.variant import CPU, NPU, backend
from torchinstall.model.version import numbers
from torchinstall.resolve import npu
from torchinstall.resolve.candidates import Candidates, candidates, named_variant
from torchinstall.resolve.cards import select, wanted_variant
from torchinstall.resolve.dependents import settled
from torchinstall.resolve.facts import completed
from torchinstall.resolve.fallback import Supply, supply
from torchinstall.resolve.joint import TORCH, Solution, companion_names, lacking
from torchinstall.resolve.selection import Selection
from torchinstall.resolve.sources import IDEAL, Sources
from torchinstall.resolve.target import Target, target_of, unfit
from torchinstall.resolve.wishes import admits

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from torchinstall.catalog.catalog import Catalog
    from torchinstall.catalog.rows import Build
    from torchinstall.model.machine import Machine
    from torchinstall.model.request import Request, Wish

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
    candidates: Candidates = Candidates()
    solution: Solution | None = None
    supply: Supply | None = None
    stopped: Reason | None = None
    undetermined: bool = False


class Fitting:
    """The builds that fit, best first: gone through anew each time, and no further than is asked for."""

    def __init__(self, judged: Candidates) -> None:
        self._judged = judged

    def __iter__(self) -> Iterator[Build]:
        return self._judged.fitting()

    def __len__(self) -> int:
        return len(self._judged)

    def __bool__(self) -> bool:
        return next(iter(self), None) is not None


def decide(question: Question) -> Decision:
    """Judge every candidate and choose; keeps everything that a report or an explanation needs."""
    request, catalog = question.request, question.catalog
    machine = completed(question.machine, catalog)
    target = target_of(machine)
    selection = select(machine, request, catalog)
    request = settled(request, selection.backend, catalog)
    base = Decision(target=target, selection=selection)
    if target.os is None or target.arch is None:
        return base.replace(stopped=reason("platform-unknown"), undetermined=True)
    if (why := unfit(target)) is not None:
        return base.replace(stopped=why)
    if (clash := _variant_clash(request)) is not None:
        return base.replace(stopped=clash)
    if selection.undetermined is not None:
        return base.replace(stopped=selection.undetermined, undetermined=True)
    if request.require_gpu and selection.backend == "cpu":
        because = selection.why[0].text if selection.why else ""
        return base.replace(stopped=reason("require-gpu", because=because))
    allows = (
        partial(npu.allows, machine=machine, request=request, catalog=catalog) if selection.backend == NPU else None
    )
    sources = Sources(question.sightings, target, catalog, request.mirror, allows)
    judged = candidates(machine, request, selection, target, catalog, sources.seen)
    base = base.replace(candidates=judged)
    if selection.blocked is not None:
        return base.replace(stopped=selection.blocked)
    fitting = Fitting(judged)
    companions = companion_names(request, catalog.joint, selection.backend)
    found = supply(fitting, companions, request, machine, catalog, sources)
    if found is not None:
        return base.replace(solution=found.solution, supply=found)
    return base.replace(stopped=_why_nothing(base, fitting, companions, request, catalog, sources))


def _variant_clash(request: Request) -> Reason | None:
    """Return the conflict where the option, the requirements and the constraints name different variants."""
    named = {f"--variant {request.variant}": request.variant} if request.variant else {}
    named |= {
        f"{wish.text} (from {wish.origin})": wish.variant
        for wish in (*request.wishes, *request.constraints)
        if wish.variant and wish.name != npu.TORCH_NPU
    }
    variants = set(named.values())
    if NPU in variants:
        variants.discard(CPU)  # torch-npu stands on the CPU build
    return reason("conflict", wishes=", ".join(named)) if len(variants) > 1 else None


def _why_nothing(
    decision: Decision,
    fitting: Fitting,
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
    if (unheard := _unheard_of(decision, request, catalog)) is not None:
        return unheard
    if (best := next(iter(fitting), None)) is not None:
        gone = sources.absent(best)
        return reason("absent", url=gone.url if gone else "its index", torch=best.torch, variant=best.variant)
    cards = decision.selection.cards
    kinds = {(card.name, card.cc, card.gpu.gfx) for card in cards}
    names = list(dict.fromkeys(card.name for card in cards))
    named = wanted_variant(request)
    near = nearest(decision)
    if near is not None and (len(kinds) <= 1 or near.rule not in {"no-kernel", "driver-too-old"}):
        return near
    if len(kinds) > 1:
        return reason("no-tuple-all", cards=", ".join(f"{c.name} ({c.cc})" if c.cc else c.name for c in cards))
    return reason("no-tuple", target=", ".join(names) or named or "this machine")


def _unheard_of(decision: Decision, request: Request, catalog: Catalog) -> Reason | None:
    """Return what in the request exists nowhere: the variant, the version, or the version as that variant."""
    platform = decision.target.platform or ""
    builds = decision.candidates.builds
    named = named_variant(request, decision.target)
    if named not in {None, NPU} and all(build.variant != named for build in builds):
        known = dict.fromkeys(build.variant for build in builds if build.status not in {WITHDRAWN, UNVERIFIED})
        return reason("unknown-variant", variant=named, variants=", ".join(known))
    if decision.selection.backend == NPU and all(build.variant != NPU for build in builds):
        return reason("npu-platform", platform=platform)
    wanted = decision.selection.backend
    if wanted in _NAMES and all(backend(b.variant) != wanted or b.status == WITHDRAWN for b in builds):
        return reason("backend-platform", backend=_NAMES[wanted], platform=platform)
    wish = next((w for w in (*request.wishes, *request.constraints) if w.name == TORCH and w.specifier), None)
    if wish is None:
        return None
    admitted = [build for build in builds if admits(wish.specifier, build.torch, pre=request.pre)]
    if not admitted:
        return _no_version(wish, builds, platform)
    if decision.selection.backend == NPU and all(build.variant != NPU for build in admitted):
        newest = next((build for build in builds if build.variant == NPU), None)
        rows = catalog.companions(npu.TORCH_NPU, newest) if newest is not None else ()
        if newest is None or not rows:
            return reason("npu-platform", platform=platform)
        facts = {"torch": admitted[0].torch, "newest": newest.torch, "npu": rows[0].version}
        return reason("npu-newest", source=rows[0].source, **facts)
    if named is not None and all(build.variant != named or build.status == WITHDRAWN for build in admitted):
        here = dict.fromkeys(b.variant for b in admitted if b.status not in {WITHDRAWN, UNVERIFIED})
        return reason(
            "never-existed", torch=admitted[0].torch, variant=named, platform=platform, variants=", ".join(here)
        )
    return None


def _no_version(wish: Wish, builds: Sequence[Build], platform: str) -> Reason:
    """Name the releases next to a version that doesn't exist."""
    versions = list(dict.fromkeys(build.torch for build in builds))
    wanted = numbers(wish.specifier)
    below = next((v for v in versions if numbers(v) <= wanted), None)
    above = next((v for v in reversed(versions) if numbers(v) > wanted), None)
    near = " and ".join(v for v in (below, above) if v) or "none"
    return reason("no-such-version", requirement=wish.text, origin=wish.origin, platform=platform, versions=near)


_NAMES = {"cuda": "CUDA", "rocm": "ROCm", "xpu": "XPU"}
_FAR = (
    "other-variant",
    "backend",
    "not-cpu",
    "withdrawn",
    "version",
    "status",
    "yanked",
    "pre-release",
    "rocm-unknown",
    "arch-unknown",
)
"""Rules that say that a candidate wasn't meant at all: poor explanations of why nothing fits."""


def nearest(decision: Decision) -> Reason | None:
    """Return why the best candidate that was meant at all doesn't fit; the version rule where it binds all."""
    for candidate in decision.candidates.eligible():
        if candidate.rule is not None and candidate.rule not in _FAR:
            return candidate.why_not
    for rule in ("version", "status", "withdrawn"):
        for candidate in decision.candidates:
            if candidate.rule == rule:
                return candidate.why_not
    return None
