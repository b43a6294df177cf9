"""Which index pages are worth a look: those of the choice, and of better builds that only a look can allow."""

from __future__ import annotations

from torchinstall.model.sighting import DEFAULT, EXTRA, FIND_LINKS, MIRROR, PYTORCH, Listing
from torchinstall.model.value import Value
from torchinstall.resolve.joint import TORCH, companion_names
from torchinstall.resolve.mirrors import EITHER
from torchinstall.resolve.sources import shelf_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from torchinstall.catalog.catalog import Catalog
    from torchinstall.catalog.rows import Build
    from torchinstall.model.request import Request
    from torchinstall.resolve.decision import Decision

_MOST_VARIANTS = 6


class Page(Value):
    """One page to look at, in the terms of a listing."""

    url: str
    project: str
    kind: str = "simple"
    role: str = PYTORCH
    variant: str | None = None


class OwnSources(Value):
    """What uv and pip are configured with. ``default_index`` is a URL, or empty where none is to be asked.

    ``mirror`` is an address with ``{variant}`` in it, ``mirror_kind`` what lies there: simple, flat or either.
    """

    default_index: str
    extra_indexes: tuple[str, ...] = ()
    find_links: tuple[str, ...] = ()
    mirror: str | None = None
    mirror_kind: str = "simple"


def pages(decision: Decision, request: Request, catalog: Catalog, own: OwnSources) -> tuple[Page, ...]:
    """Return the pages to look at for this decision, the user's own sources first."""
    names = (TORCH, *companion_names(request, catalog.joint, decision.selection.backend))
    found = [
        Page(url=url, project=name, kind=kind, role=role)
        for name in names
        for kind, role, urls in (("flat", FIND_LINKS, own.find_links), ("simple", EXTRA, own.extra_indexes))
        for url in urls
    ]
    for build in _worth_asking(decision):
        for name in names:
            found += _home(build, name, catalog, own)
    return tuple(dict.fromkeys(found))


def offline(catalog: Catalog) -> tuple[Listing, ...]:
    """Return what there is to see of the indexes without a network: that they can't be looked at."""
    return tuple(
        Listing(url=url, role=role, project=TORCH, state="unreachable", error="--offline")
        for url, role in ((catalog.index_url(""), PYTORCH), ("the default index", DEFAULT))
    )


def _worth_asking(decision: Decision) -> list[Build]:
    """Return the chosen build, and those ranked above it that lose only because nobody has seen them."""
    chosen = decision.supply.ideal.build if decision.supply is not None else None
    builds: list[Build] = [] if chosen is None else [chosen]
    for candidate in decision.candidates:
        if candidate.build == chosen:
            break
        if candidate.why_not is not None and candidate.why_not.rule == "status":
            builds.append(candidate.build)
    variants: set[str] = set()
    asked = []
    for build in builds:
        variants.add(build.variant)
        if len(variants) > _MOST_VARIANTS:
            break
        asked.append(build)
    return asked


def _home(build: Build, name: str, catalog: Catalog, own: OwnSources) -> list[Page]:
    if build.default or name in catalog.on_default:
        return [Page(url=own.default_index, project=name, role=DEFAULT)] if own.default_index else []
    if build.index:
        return [Page(url=build.index, project=name, variant=build.variant)]
    found = []
    shelf = shelf_of(build)
    if own.mirror:
        url = own.mirror.replace("{variant}", shelf)
        kinds = ("simple", "flat") if own.mirror_kind == EITHER else (own.mirror_kind,)
        found += [Page(url=url, project=name, kind=kind, role=MIRROR, variant=shelf) for kind in kinds]
    found.append(Page(url=catalog.index_url(shelf), project=name, variant=shelf))
    return found
