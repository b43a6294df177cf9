"""The candidates: every build of the platform, each with the first rule that it fails."""

from __future__ import annotations

from torchinstall.catalog.rows import CHOSEN_OFFLINE, WITHDRAWN
from torchinstall.model.plan import Reason
from torchinstall.model.sentences import reason
from torchinstall.model.value import Value
from torchinstall.model.variant import CPU, MPS, NPU, backend, order
from torchinstall.model.version import at_least, numbers
from torchinstall.resolve import cuda
from torchinstall.resolve.cards import Selection, wanted_variant
from torchinstall.resolve.target import Target, why_no_wheel
from torchinstall.resolve.wishes import admits

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from torchinstall.catalog.catalog import Catalog
    from torchinstall.catalog.rows import Build
    from torchinstall.model.machine import Machine
    from torchinstall.model.request import Request


class Candidate(Value):
    """One build, and why it loses (``None``: it fits)."""

    build: Build
    why_not: Reason | None


def candidates(
    machine: Machine,
    request: Request,
    selection: Selection,
    target: Target,
    catalog: Catalog,
    seen: Callable[[Build], bool],
) -> tuple[Candidate, ...]:
    """Return all builds of the target's platform, best first, each judged by all rules but those of its source.

    ``seen`` tells whether an index showed the very wheel in this run.
    """
    if target.platform is None:
        return ()
    builds = sorted(catalog.builds(target.platform), key=lambda b: rank(b, target, catalog), reverse=True)
    return tuple(
        Candidate(build=build, why_not=_why_not(build, machine, request, selection, target, catalog, seen))
        for build in builds
    )


def rank(build: Build, target: Target, catalog: Catalog) -> tuple[object, ...]:
    """Return the sort key of policy 4: newest torch; then the default variant; then the highest settled one."""
    return (
        numbers(build.torch),
        build.variant == preferred_variant(build.torch, target.platform, catalog),
        not build.experimental,
        order(build.variant),
        build.variant,
    )


def preferred_variant(torch: str, platform: str | None, catalog: Catalog) -> str | None:
    """Return the variant that the default index serves; Windows, where that is CPU, follows Linux x86_64."""
    if platform is None:
        return None
    return catalog.default_variant(torch, "linux_x86_64" if platform == "win_amd64" else platform)


def _why_not(
    build: Build,
    machine: Machine,
    request: Request,
    selection: Selection,
    target: Target,
    catalog: Catalog,
    seen: Callable[[Build], bool],
) -> Reason | None:
    """Judge in the order that helps a reader most: what can never be, the request, the machine, the rest."""
    here = {"torch": build.torch, "variant": build.variant}
    if build.status == WITHDRAWN:
        return reason("withdrawn", source=build.source, **here)
    release = catalog.release(build.torch)
    if release is not None and release.yanked:
        return reason("yanked", torch=build.torch)
    named = named_variant(request, target)
    if named is not None and build.variant != named:
        return reason("other-variant", variant=named)
    for wish in (*request.wishes, *request.constraints):
        if wish.name == "torch" and not admits(wish.specifier, build.torch, pre=request.pre):
            return reason("version", requirement=wish.text, origin=wish.origin)
    if (why := _wrong_backend(build, selection)) is not None:
        return why
    if (why := why_no_wheel(build, target)) is not None:
        return why
    if selection.backend == "cuda" and (why := cuda.why_not(build, selection.cards, machine, catalog)) is not None:
        return why
    if selection.backend == MPS and (why := _mps(build, target, catalog)) is not None:
        return why
    if build.status not in CHOSEN_OFFLINE and named is None and not seen(build):
        return reason("status", status=build.status, source=build.source, **here)
    return None


def named_variant(request: Request, target: Target) -> str | None:
    """Return the variant that was asked for, in this platform's terms: on Apple silicon one wheel is CPU and MPS."""
    named = wanted_variant(request)
    return MPS if named == CPU and target.platform == "macos_arm64" else named


def _wrong_backend(build: Build, selection: Selection) -> Reason | None:
    kind = backend(build.variant)
    wanted = {"cpu": {CPU, MPS}, "mps": {MPS, CPU}, NPU: {CPU}}.get(selection.backend, {selection.backend})
    if kind in wanted:
        return None
    if selection.backend == "cpu":
        return reason("backend", variant=build.variant, target="a machine without an accelerator")
    target = ", ".join(dict.fromkeys(card.name for card in selection.cards)) or f"a {selection.backend} machine"
    if kind == CPU:
        return reason("not-cpu", target=target)
    return reason("backend", variant=build.variant, target=target)


def _mps(build: Build, target: Target, catalog: Catalog) -> Reason | None:
    floor = catalog.mps_floor(build.torch)
    if floor is None or not target.os_version or at_least(target.os_version, floor[0]):
        return None
    return reason("macos-mps", torch=build.torch, minimum=floor[0], found=target.os_version, source=floor[1])
