"""The joint choice of torch and its companions, by resolvelib.

A torch candidate depends on the companions that were asked for, each bound to that very build. So the
newest torch wins for which all of them exist, and nothing is ever assembled from parts of two variants.
"""

from __future__ import annotations

from resolvelib import AbstractProvider, BaseReporter, ResolutionImpossible, Resolver

from torchinstall.catalog.dependents import split
from torchinstall.model.request import Wish
from torchinstall.model.value import Value
from torchinstall.model.variant import NPU
from torchinstall.resolve.npu import TORCH_NPU
from torchinstall.resolve.wishes import admits

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from typing import Any, Protocol

    from torchinstall.catalog.catalog import Catalog
    from torchinstall.catalog.rows import Build, Companion
    from torchinstall.model.request import Request
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


class Provider(AbstractProvider):  # type: ignore[type-arg]
    """Answers resolvelib's questions from the rows that are left; parameter names are resolvelib's own."""

    def __init__(
        self,
        builds: Builds,
        companions: Sequence[str],
        request: Request,
        catalog: Catalog,
        sources: Sources,
        mode: str,
    ) -> None:
        self._builds = builds
        self._companions = companions
        self._request = request
        self._catalog = catalog
        self._sources = sources
        self._mode = mode

    def identify(self, requirement_or_candidate: Demand | Choice) -> str:
        """Return the project that this is about."""
        return requirement_or_candidate.name

    def get_preference(
        self,
        identifier: str,
        resolutions: Mapping[str, Choice],
        candidates: Mapping[str, Iterator[Choice]],
        information: Mapping[str, Iterator[Any]],
        backtrack_causes: Sequence[Any],
    ) -> Any:
        """Decide torch first: everything else follows it."""
        return (identifier != TORCH, identifier)

    def find_matches(
        self,
        identifier: str,
        requirements: Mapping[str, Iterator[Demand]],
        incompatibilities: Mapping[str, Iterator[Choice]],
    ) -> Callable[[], Iterator[Choice]]:
        """Return a way to go through the wheels of a project that meet all demands on it, best first."""
        demands = list(requirements[identifier])
        out = {choice.key for choice in incompatibilities[identifier]}

        def matches() -> Iterator[Choice]:
            # One by one: of two hundred builds, mostly the first is taken.
            for choice in self._torch() if identifier == TORCH else self._of_build(identifier, demands):
                if choice.key not in out and all(self.is_satisfied_by(demand, choice) for demand in demands):
                    yield choice

        return matches

    def is_satisfied_by(self, requirement: Demand, candidate: Choice) -> bool:
        """Tell whether a wheel meets a demand."""
        if requirement.build is not None and candidate.build != requirement.build:
            return False
        wish = requirement.wish
        return wish is None or admits(wish.specifier, candidate.version, pre=self._request.pre)

    def get_dependencies(self, candidate: Choice) -> Iterable[Demand]:
        """Return what a wheel brings along: torch brings the companions that were asked for."""
        if candidate.name != TORCH:
            row = candidate.row
            return [_required(text, candidate) for text in row.requires] if row is not None else []
        bound = [Demand(name=name, build=candidate.build) for name in self._companions]
        # What the user says of a companion comes with torch too: on its own it would have nothing to match.
        return bound + [
            Demand(name=wish.name, wish=wish, build=candidate.build)
            for wish in (*self._request.wishes, *self._request.constraints)
            if wish.name in self._companions and wish.specifier
        ]

    def _torch(self) -> Iterator[Choice]:
        for build in self._builds:
            place = self._sources.torch(build, self._mode)
            if place is not None:
                yield Choice(name=TORCH, version=build.torch, build=build, place=place)

    def _of_build(self, name: str, demands: Sequence[Demand]) -> Iterator[Choice]:
        build = next((demand.build for demand in demands if demand.build is not None), None)
        if build is None:
            return
        for row in self._catalog.companions(name, build):
            place = self._sources.companion(row, build, self._mode)
            if place is not None:
                yield Choice(name=name, version=row.version, build=build, place=place, row=row)


def _required(text: str, candidate: Choice) -> Demand:
    """Return what a wheel's metadata asks of another one, bound to the same build."""
    name, specifier = split(text)
    wish = Wish(name=name, specifier=specifier, text=text, origin=f"{candidate.name} {candidate.version}")
    return Demand(name=name, build=candidate.build, wish=wish)


def solve(
    builds: Builds,
    companions: Sequence[str],
    request: Request,
    catalog: Catalog,
    sources: Sources,
    mode: str,
) -> Solution | None:
    """Return the best joint choice among these builds (best first), or ``None``."""
    provider = Provider(builds, companions, request, catalog, sources, mode)
    demands = [
        Demand(name=wish.name, wish=wish) for wish in (*request.wishes, *request.constraints) if wish.name == TORCH
    ]
    demands = demands or [Demand(name=TORCH)]
    resolver: Resolver[Demand, Choice, str] = Resolver(provider, BaseReporter())
    try:
        # A conflict is found after at most one round a build and companion.
        result = resolver.resolve(demands, max_rounds=len(builds) * (len(companions) + 1) * 2 + 10)
    except ResolutionImpossible:
        return None
    return Solution(choices=dict(result.mapping))


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
