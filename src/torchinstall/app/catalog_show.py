"""Showing what the catalogue knows: status, source and age of every row."""

from __future__ import annotations

from torchinstall.errors import UsageError
from torchinstall.model.catalog_report import Fact, Shown
from torchinstall.model.variant import NPU

TYPE_CHECKING = False
if TYPE_CHECKING:
    import datetime as dt
    from collections.abc import Iterable

    from torchinstall.app.base import App
    from torchinstall.catalog.catalog import Catalog
    from torchinstall.catalog.rows import ArchList, Build, Companion


def show(app: App, what: str | None) -> Shown:
    """Return what is known of a version (``2.15.0``, ``2.15``), a variant (``cu130``), one build, or of all.

    Raises ``UsageError`` where nothing is known of it.
    """
    import datetime as dt

    from torchinstall.catalog.load import load_catalog
    from torchinstall.catalog.locate import find_index_data

    catalog = app.catalog
    today = dt.datetime.now(tz=dt.timezone.utc).date()
    shown = Shown(
        what=what or "",
        date=catalog.date,
        shipped=load_catalog(find_index_data()).date,
        age=_age(catalog.date, today),
        refused=catalog.refused,
        overlay=_where(app) if catalog.overlay is not None else "",
        unreachable=_unreachable(catalog),
    )
    if what is None:
        from torchinstall.catalog.rows import CHOSEN_OFFLINE

        releases = tuple(
            (r.torch, r.date, tuple(dict.fromkeys(b.variant for b in r.builds if b.status in CHOSEN_OFFLINE)))
            for r in catalog.releases
        )
        return shown.replace(releases=releases)
    version, _, variant = what.partition("+")
    if not version[:1].isdigit():
        version, variant = "", what
    facts = tuple(_facts(catalog, version, variant, today))
    if not facts:
        names = ", ".join(dict.fromkeys(b.variant for r in catalog.releases[:4] for b in r.builds))
        raise UsageError(
            f"nothing is known of {what}",
            why="it is neither a torch release nor a variant of one",
            todo=[f"a version such as {catalog.releases[0].torch}, or one of: {names}", "torchinstall catalog refresh"],
        )
    return shown.replace(facts=facts)


def _facts(catalog: Catalog, version: str, variant: str, today: dt.date) -> Iterable[Fact]:
    for build in _builds(catalog, variant):
        if version and build.torch != version and not build.torch.startswith(f"{version}."):
            continue
        pythons = " ".join(catalog.pythons(build)) or "no wheel known"
        yield _fact("build", build, build, pythons + (" (default index)" if build.default else ""), today)
        code = catalog.arch_list(build)
        if code is not None:
            shown = " ".join(f"sm_{sm}" for sm in code.sass)
            inherited = f" (as on {code.inherited_from})" if code.inherited_from else ""
            yield _fact("code", build, code, shown + inherited, today)
        for name in catalog.joint[1:]:
            for row in catalog.companions(name, build)[:1]:
                yield _fact("companion", build, row, f"{name} {row.version}", today)


def _builds(catalog: Catalog, variant: str) -> Iterable[Build]:
    """Return the builds of a variant, or of all; those under an Ascend NPU stand in no release of their own."""
    if variant == NPU:
        for platform in ("linux_x86_64", "linux_aarch64"):
            yield from catalog.npu_builds(platform)
        return
    for release in catalog.releases:
        yield from (build for build in release.builds if not variant or build.variant == variant)


def _fact(kind: str, build: Build, row: Build | ArchList | Companion, text: str, today: dt.date) -> Fact:
    return Fact(
        kind=kind, torch=build.torch, variant=build.variant, platform=build.platform, status=row.status, text=text,
        source=row.source, checked=row.checked, age=_age(row.checked, today),
    )  # fmt: skip


def _where(app: App) -> str:
    from torchinstall.catalog.load import FolderReader, overlay_file
    from torchinstall.catalog.locate import find_index_data

    return str(overlay_file(FolderReader(find_index_data()), app.environ) or "")


def _unreachable(catalog: Catalog) -> tuple[str, ...]:
    pages = catalog.overlay.pages if catalog.overlay is not None else ()
    return tuple(f"{page['variant']}/{page['project']}" for page in pages if page["state"] == "unreachable")


def _age(day: str, today: dt.date) -> int:
    import datetime as dt

    try:
        return max((today - dt.date.fromisoformat(day)).days, 0)
    except ValueError:
        return 0
