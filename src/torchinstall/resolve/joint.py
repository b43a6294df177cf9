"""The joint choice of torch and its companions, by resolvelib (see ``provider``).

A torch candidate depends on the companions that were asked for, each bound to that very build. So the
newest torch wins for which all of them exist, and nothing is ever assembled from parts of two variants.
"""

from __future__ import annotations

from torchinstall.model.value import Value
from torchinstall.model.variant import NPU
from torchinstall.resolve.npu import TORCH_NPU
from torchinstall.resolve.wishes import admits

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from typing import Protocol

    from torchinstall.catalog.catalog import Catalog
    from torchinstall.catalog.rows import Build, Companion
    from torchinstall.model.request import Request, Wish
    from torchinstall.resolve.sources import Place, Sources

TORCH = "torch"

if TYPE_CHECKING:

    class Builds(Protocol):
        """Builds, best first, that can be gone through again and again; its length is an upper limit."""

        def __iter__(self) -> Iterator[Build]:
            """Begin with the best."""

        def __len__(self) -> int:
            """Return at least the number of builds."""


class Demand(Value):
    """What resolvelib calls a requirement: a wish, or a companion bound to one build."""

    name: str
    wish: Wish | None = None
    build: Build | None = None


class Choice(Value):
    """What resolvelib calls a candidate: one wheel of one project, with its place."""

    name: str
    version: str
    build: Build
    place: Place
    row: Companion | None = None

    @property
    def key(self) -> tuple[str, str, str, str]:
        """Return what tells it from other wheels of the project."""
        return self.build.torch, self.build.variant, self.version, self.place.index


class Solution(Value):
    """The chosen wheels by project name. ``torch`` is always among them."""

    choices: Mapping[str, Choice]

    @property
    def build(self) -> Build:
        """Return the torch build."""
        return self.choices[TORCH].build


def solve(
    builds: Builds,
    companions: Sequence[str],
    request: Request,
    catalog: Catalog,
    sources: Sources,
    mode: str,
) -> Solution | None:
    """Return the best joint choice among these builds (best first), or ``None``."""
    wishes = [wish for wish in (*request.wishes, *request.constraints) if wish.name == TORCH]
    if not companions:
        return _alone(builds, wishes, request, sources, mode)
    from torchinstall.resolve.provider import solved

    return solved(builds, companions, wishes, request, catalog, sources, mode)


def _alone(builds: Builds, wishes: Sequence[Wish], request: Request, sources: Sources, mode: str) -> Solution | None:
    """Return the best torch alone: nothing depends on it, so the first that meets every wish is resolvelib's answer.

    Most plans are of torch alone, and the import of resolvelib is a seventh of one.
    """
    for choice in torch_choices(builds, sources, mode):
        if all(admits(wish.specifier, choice.version, pre=request.pre) for wish in wishes):
            return Solution(choices={TORCH: choice})
    return None


def torch_choices(builds: Builds, sources: Sources, mode: str) -> Iterator[Choice]:
    """Go through the torch wheels that a source has, best first."""
    for build in builds:
        place = sources.torch(build, mode)
        if place is not None:
            yield Choice(name=TORCH, version=build.torch, build=build, place=place)


def lacking(
    builds: Builds,
    companions: Sequence[str],
    request: Request,
    catalog: Catalog,
    sources: Sources,
    mode: str,
) -> tuple[str, ...]:
    """Return a smallest set of companions that can't be had together, where leaving one away would help."""
    culprits = list(companions)
    for name in companions:
        rest = [other for other in culprits if other != name]
        if solve(builds, rest, request, catalog, sources, mode) is None:
            culprits = rest
    return tuple(culprits)


def companion_names(request: Request, family: Iterable[str], backend: str = "") -> tuple[str, ...]:
    """Return the companions that were asked for, in the order of the family; an NPU always wants torch-npu."""
    wanted = {wish.name for wish in request.wishes}
    if backend == NPU:
        wanted.add(TORCH_NPU)
    return tuple(name for name in family if name in wanted and name != TORCH)
