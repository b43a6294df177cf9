"""The candidates: every build of the platform, each with the first rule that it fails."""

from __future__ import annotations

from torchinstall.catalog.rows import CHOSEN_OFFLINE, WITHDRAWN
from torchinstall.model.sentences import reason
from torchinstall.model.variant import CPU, MPS, NPU, backend, order
from torchinstall.model.version import numbers
from torchinstall.resolve import backends, rocm
from torchinstall.resolve.cards import wanted_variant
from torchinstall.resolve.selection import Selection
from torchinstall.resolve.shelf import shelf
from torchinstall.resolve.target import Target, why_no_wheel
from torchinstall.resolve.wishes import admits

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from torchinstall.catalog.catalog import Catalog
    from torchinstall.catalog.rows import Build
    from torchinstall.model.machine import Machine
    from torchinstall.model.plan import Reason
    from torchinstall.model.request import Request, Wish
    from torchinstall.resolve.backends import Verdicts


_LONG_NAMES = 60
"""Of many cards there are too many combinations to keep a sentence for each."""
_STRANGERS = 4096
"""Most sentences about other backends that are kept: one a variant, for as many names of cards."""


class Candidate:
    """One build, and by which rule it loses (``None``: it fits); the sentence is made when it is asked for."""

    __slots__ = ("_said", "_say", "build", "rule")

    def __init__(self, build: Build, rule: str | None, say: Callable[[], Reason] | None) -> None:
        self.build = build
        self.rule = rule
        self._say = say
        self._said: Reason | None = None

    @property
    def why_not(self) -> Reason | None:
        """The reason, in words; ``None`` where the build fits."""
        if self._said is None and self._say is not None:
            self._said = self._say()
        return self._said


class Candidates:
    """The candidates of one decision, best first; each is judged when it is come to, and once."""

    __slots__ = ("_builds", "_eligible", "_firsts", "_judge", "_judged")

    def __init__(
        self,
        builds: tuple[Build, ...] = (),
        judge: Callable[[Build], Candidate] | None = None,
        eligible: tuple[int, ...] = (),
        firsts: tuple[int, ...] = (),
    ) -> None:
        self._builds = builds
        self._judge = judge
        self._eligible = eligible
        self._firsts = firsts
        self._judged: list[Candidate | None] = [None] * len(builds)

    def __len__(self) -> int:
        return len(self._builds)

    def __getitem__(self, number: int) -> Candidate:
        found = self._judged[number]
        if found is None:
            if self._judge is None:
                raise IndexError(number)
            found = self._judged[number] = self._judge(self._builds[number])
        return found

    def __iter__(self) -> Iterator[Candidate]:
        return (self[number] for number in range(len(self._builds)))

    @property
    def builds(self) -> tuple[Build, ...]:
        """All builds, best first, unjudged."""
        return self._builds

    def eligible(self) -> Iterator[Candidate]:
        """Go through the candidates of the backend that counts, best first: no other can fit, whatever is changed."""
        judged = self._judged
        return (judged[number] or self[number] for number in self._eligible)

    @property
    def firsts(self) -> tuple[int, ...]:
        """The numbers of the two best builds of each variant, in order: the choice may be one, the other lost."""
        return self._firsts

    def fitting(self) -> Iterator[Build]:
        """Go through the builds that fit, best first."""
        return (candidate.build for candidate in self.eligible() if candidate.rule is None)

    def above(self, torch: str) -> Iterator[Candidate]:
        """Go through the candidates of releases newer than a torch version."""
        limit = numbers(torch)
        for number, build in enumerate(self._builds):
            if numbers(build.torch) <= limit:
                return
            yield self[number]


def candidates(
    machine: Machine,
    request: Request,
    selection: Selection,
    target: Target,
    catalog: Catalog,
    seen: Callable[[Build], bool],
) -> Candidates:
    """Return all builds of the target's platform, best first, each judged by all rules but those of its source.

    ``seen`` tells whether an index showed the very wheel in this run.
    """
    if target.platform is None:
        return Candidates()
    builds = _with_others(target.platform, selection, catalog)
    judge = _Judge(machine, request, selection, target, catalog, seen)
    return Candidates(builds, judge.judge, judge.eligible(builds), _firsts(builds, catalog))


def _firsts(builds: tuple[Build, ...], catalog: Catalog) -> tuple[int, ...]:
    known = shelf(catalog, ("firsts",))
    if id(builds) not in known:
        count: dict[str, int] = {}
        found = []
        for number, build in enumerate(builds):
            count[build.variant] = count.get(build.variant, 0) + 1
            if count[build.variant] <= 2:  # noqa: PLR2004 - the choice, and the best that lost
                found.append(number)
        known[id(builds)] = (builds, tuple(found))  # with the builds, so that their id stays theirs
    numbers_: tuple[int, ...] = known[id(builds)][1]
    return numbers_


def ranked(platform: str, catalog: Catalog) -> tuple[Build, ...]:
    """Return the builds of a platform, best first; sorted once for a catalogue."""
    key = ("ranked", platform)
    if key not in catalog.memo:
        found = sorted(catalog.builds(platform), key=lambda b: rank(b, platform, catalog), reverse=True)
        catalog.memo[key] = tuple(found)
    builds: tuple[Build, ...] = catalog.memo[key]
    return builds


def rank(build: Build, platform: str | None, catalog: Catalog) -> tuple[object, ...]:
    """Return the sort key of policy 4: newest torch; then the default variant; then the highest settled one."""
    return (
        numbers(build.torch),
        build.variant == preferred_variant(build.torch, platform, catalog),
        not build.experimental,
        order(build.variant),
        build.variant,
    )


def preferred_variant(torch: str, platform: str | None, catalog: Catalog) -> str | None:
    """Return the variant that the default index serves; Windows, where that is CPU, follows Linux x86_64."""
    if platform is None:
        return None
    return catalog.default_variant(torch, "linux_x86_64" if platform == "win_amd64" else platform)


def named_variant(request: Request, target: Target) -> str | None:
    """Return the variant that was asked for, in this platform's terms: on Apple silicon one wheel is CPU and MPS."""
    named = wanted_variant(request)
    return MPS if named == CPU and target.platform == "macos_arm64" else named


def _with_others(platform: str, selection: Selection, catalog: Catalog) -> tuple[Build, ...]:
    """Add what only one backend has: AMD's own builds, made out for these cards; the builds under an NPU."""
    builds = ranked(platform, catalog)
    if selection.backend not in {"rocm", NPU}:
        return builds
    known = shelf(catalog, ("others", platform, selection.backend))
    targets = tuple(dict.fromkeys(card.gpu.gfx for card in selection.cards))
    if targets not in known:
        offered = rocm.offered(platform, selection.cards, catalog)
        extra = offered if selection.backend == "rocm" else catalog.npu_builds(platform)
        known[targets] = tuple(sorted(builds + extra, key=lambda b: rank(b, platform, catalog), reverse=True))
    found: tuple[Build, ...] = known[targets]
    return found


class _Judge:
    """The rules of one decision, with what they share worked out once.

    What depends on few facts is kept with the catalogue (``memo``): which builds have a wheel for a Python
    and a libc, and which versions a requirement admits. Ten thousand machines have few of those.
    """

    def __init__(
        self,
        machine: Machine,
        request: Request,
        selection: Selection,
        target: Target,
        catalog: Catalog,
        seen: Callable[[Build], bool],
    ) -> None:
        self._machine, self._request, self._selection = machine, request, selection
        self._target, self._catalog, self._seen = target, catalog, seen
        self._named = named_variant(request, target)
        self._yanked = catalog.yanked
        self._wishes = [
            (wish, shelf(catalog, ("admits", wish.specifier, request.pre)))
            for wish in (*request.wishes, *request.constraints)
            if wish.name == "torch" and wish.specifier
        ]
        self._wheels = shelf(catalog, ("wheels", target))
        self._strangers = shelf(catalog, ("wrong backend", selection.backend))
        self._names: str | None = None
        self._kinds = {"cpu": (CPU, MPS), "mps": (MPS, CPU)}.get(selection.backend, (selection.backend,))
        self._rules: Verdicts = backends.verdicts(selection, machine, request, target, catalog)

    def eligible(self, builds: tuple[Build, ...]) -> tuple[int, ...]:
        """Return the numbers of the builds that are of the backend at all: no other can fit."""
        known = shelf(self._catalog, ("eligible", self._target.platform, self._kinds))
        key = (id(builds), self._named)
        if key not in known:
            numbered = tuple(
                number
                for number, build in enumerate(builds)
                if backend(build.variant) in self._kinds and (self._named is None or build.variant == self._named)
            )
            # The builds are kept with their numbers, so that no other tuple can come to have their id.
            known[key] = (builds, numbered)
        found: tuple[int, ...] = known[key][1]
        return found

    def judge(self, build: Build) -> Candidate:
        """Judge in the order that helps a reader most: what can never be, the request, the machine, the rest."""
        if build.status == WITHDRAWN:
            return Candidate(
                build,
                "withdrawn",
                lambda: reason("withdrawn", source=build.source, torch=build.torch, variant=build.variant),
            )
        if build.torch in self._yanked:
            return Candidate(build, "yanked", lambda: reason("yanked", torch=build.torch))
        if self._named is not None and build.variant != self._named:
            return Candidate(build, "other-variant", lambda: reason("other-variant", variant=self._named))
        for wish, known in self._wishes:
            fits = known.get(build.torch)
            if fits is None:
                fits = known[build.torch] = admits(wish.specifier, build.torch, pre=self._request.pre)
            if not fits:
                return Candidate(build, "version", lambda wish=wish: _excluded(wish))  # type: ignore[misc]
        kind = backend(build.variant)
        if kind not in self._kinds:
            rule = "not-cpu" if kind == CPU and self._selection.backend != "cpu" else "backend"
            return Candidate(build, rule, lambda: self._wrong_backend(build.variant, rule))
        key = (build.torch, build.variant)
        if key not in self._wheels:
            self._wheels[key] = why_no_wheel(build, self._target)
        if (why := self._wheels[key]) is not None:
            return Candidate(build, why.rule, lambda: why)
        if (failed := self._rules(build)) is not None:
            return Candidate(build, *failed)
        if build.status not in CHOSEN_OFFLINE and self._named is None and not self._seen(build):
            facts = {"status": build.status, "torch": build.torch, "variant": build.variant}
            return Candidate(build, "status", lambda: reason("status", source=build.source, **facts))
        return Candidate(build, None, None)

    def _wrong_backend(self, variant: str, rule: str) -> Reason:
        selection = self._selection
        if self._names is None:
            self._names = ", ".join(dict.fromkeys(card.name for card in selection.cards))
        names, known = self._names, self._strangers
        key = (names, variant)
        found: Reason | None = known.get(key)
        if found is None:
            target = names or f"a {selection.backend} machine"
            if selection.backend == "cpu":
                found = reason("backend", variant=variant, target="a machine without an accelerator")
            elif rule == "not-cpu":
                found = reason("not-cpu", target=target)
            else:
                found = reason("backend", variant=variant, target=target)
            if len(known) >= _STRANGERS:
                known.clear()
            if len(names) < _LONG_NAMES:
                known[key] = found
        return found


def _excluded(wish: Wish) -> Reason:
    return reason("version", requirement=wish.text, origin=wish.origin)
