"""The questions that resolvelib asks about torch and its companions, and their answers from the rows."""

from __future__ import annotations

from resolvelib import AbstractProvider, BaseReporter, ResolutionImpossible, Resolver

from torchinstall.catalog.dependents import split
from torchinstall.model.request import Wish
from torchinstall.resolve.joint import TORCH, Choice, Demand, Solution, torch_choices
from torchinstall.resolve.wishes import admits

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from typing import Any

    from torchinstall.catalog.catalog import Catalog
    from torchinstall.model.request import Request
    from torchinstall.resolve.joint import Builds
    from torchinstall.resolve.sources import Sources


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
            for choice in (
                torch_choices(self._builds, self._sources, self._mode)
                if identifier == TORCH
                else self._of_build(identifier, demands)
            ):
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


def solved(
    builds: Builds,
    companions: Sequence[str],
    wishes: Sequence[Wish],
    request: Request,
    catalog: Catalog,
    sources: Sources,
    mode: str,
) -> Solution | None:
    """Return the best joint choice among these builds (best first), or ``None``; ``wishes`` are those about torch."""
    provider = Provider(builds, companions, request, catalog, sources, mode)
    demands = [Demand(name=TORCH, wish=wish) for wish in wishes] or [Demand(name=TORCH)]
    resolver: Resolver[Demand, Choice, str] = Resolver(provider, BaseReporter())
    try:
        # A conflict is found after at most one round a build and companion.
        result = resolver.resolve(demands, max_rounds=len(builds) * (len(companions) + 1) * 2 + 10)
    except ResolutionImpossible:
        return None
    return Solution(choices=dict(result.mapping))
