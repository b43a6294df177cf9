"""What stands in when the best wheel's index can't be reached (policy 10): said each time, never in silence."""

from __future__ import annotations

from torchinstall.model.plan import Reason
from torchinstall.model.sentences import reason
from torchinstall.model.value import Value
from torchinstall.model.version import is_newer, numbers
from torchinstall.resolve.joint import TORCH, Solution, solve
from torchinstall.resolve.sources import IDEAL, OWN, REACHABLE, Sources

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from torchinstall.catalog.catalog import Catalog
    from torchinstall.model.machine import Machine
    from torchinstall.model.request import Request
    from torchinstall.resolve.joint import Builds


class Supply(Value):
    """The choice together with how it is to be had.

    ``fallback``: why another source or version than the best was taken. ``unreachable``: the choice can't be
    had in this run; ``nearest`` is then the newest fitting one that a reachable source has.
    """

    solution: Solution
    ideal: Solution
    fallback: Reason | None = None
    unreachable: Reason | None = None
    nearest: Solution | None = None


def supply(
    builds: Builds,
    companions: Sequence[str],
    request: Request,
    machine: Machine,
    catalog: Catalog,
    sources: Sources,
) -> Supply | None:
    """Choose among the fitting builds, and among the sources that have them; ``None``: nothing can be had."""
    ideal = solve(builds, companions, request, catalog, sources, IDEAL)
    if ideal is None:
        return None
    lost = [
        choice
        for choice in ideal.choices.values()
        if not choice.place.live
        and sources.unreachable(choice.build, on_default=bool(choice.row and choice.row.on_default)) is not None
    ]
    if not lost:
        return Supply(solution=ideal, ideal=ideal)
    listing = sources.unreachable(ideal.build)
    said = {
        "index": listing.url if listing else "its index",
        "error": listing.error if listing else "no answer",
    }
    own = solve(builds, companions, request, catalog, sources, OWN)
    if own is not None and _not_below_installed(own, machine):
        if request.bundle:
            return Supply(solution=own, ideal=ideal)  # nothing else was to be asked
        place = own.choices[TORCH].place
        if own.build == ideal.build:
            why = reason("fallback-own", torch=own.build.torch, variant=own.build.variant, where=place.index, **said)
        else:
            why = reason("fallback-own-older", ideal=ideal.build.torch, where=place.index, **said)
        return Supply(solution=own, ideal=ideal, fallback=why)
    reachable = solve(builds, companions, request, catalog, sources, REACHABLE)
    if reachable is not None and _not_below_installed(reachable, machine):
        facts = {"torch": reachable.build.torch, "ideal": ideal.build.torch, **said}
        if numbers(reachable.build.torch)[:2] == numbers(ideal.build.torch)[:2]:
            return Supply(solution=reachable, ideal=ideal, fallback=reason("fallback-patch", **facts))
        if request.allow_older or request.offline:
            return Supply(solution=reachable, ideal=ideal, fallback=reason("fallback-older", **facts))
    if request.offline:
        # Nothing at hand has it as a file; the installer's cache may, and will say so if it hasn't.
        return Supply(solution=ideal, ideal=ideal)
    if reachable is None and companions:
        alone = (solve(builds, (), request, catalog, sources, mode) for mode in (OWN, REACHABLE))
        reachable = next((found for found in alone if found is not None), None)
    why = reason("index-unreachable", torch=ideal.build.torch, variant=ideal.build.variant, **said)
    return Supply(solution=ideal, ideal=ideal, unreachable=why, nearest=reachable)


def _not_below_installed(solution: Solution, machine: Machine) -> bool:
    installed = machine.installed.get(TORCH)
    return installed is None or not is_newer(installed, solution.build.torch)
