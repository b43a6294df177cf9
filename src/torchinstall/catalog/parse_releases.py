"""releases/torch-2.NN.json to rows: builds, their wheel tags, and the companions of each release."""

from __future__ import annotations

from torchinstall.catalog.row_reader import RowReader, top
from torchinstall.catalog.rows import WITHDRAWN, Build, Companion, Release, WheelTag

PLATFORMS = ("linux_x86_64", "linux_aarch64", "win_amd64", "win_arm64", "macos_arm64", "macos_x86_64")


def parse_releases(document: object, file: str) -> tuple[Release, ...]:
    """Return the releases of one file, as they stand there.

    Raises ``CatalogError``, naming file and row, for a row that is broken,
    that stands there twice, or that has no wheel tags to inherit.
    """
    releases = []
    seen: set[str] = set()
    for row in top(document, file).rows("releases", ("torch",)):
        release = _release(row)
        if release.torch in seen:
            row.fail(f"torch {release.torch} stands there twice")
        seen.add(release.torch)
        releases.append(release)
    return tuple(releases)


def _release(row: RowReader) -> Release:
    torch = row.text("torch")
    return Release(
        torch=torch,
        date=row.text("date"),
        requires_python=row.text("requires_python"),
        yanked=row.flag("yanked"),
        builds=_builds(row, torch),
        companions=_companions(row, torch),
        warnings=row.texts("warnings"),
    )


def _builds(release: RowReader, torch: str) -> tuple[Build, ...]:
    rows = list(release.rows("builds", ("variant", "platform")))
    defaults: dict[str, tuple[WheelTag, ...]] = {}
    for row in rows:
        if row.flag("default"):
            platform = row.text("platform")
            if platform in defaults:
                row.fail(f"{platform} has two default builds")
            defaults[platform] = wheel_tags(row)
    builds = []
    seen: set[tuple[str, str]] = set()
    for row in rows:
        build = _build(row, torch, defaults)
        if (build.variant, build.platform) in seen:
            row.fail(f"{build.variant} on {build.platform} stands there twice")
        seen.add((build.variant, build.platform))
        builds.append(build)
    return tuple(builds)


def _build(row: RowReader, torch: str, defaults: dict[str, tuple[WheelTag, ...]]) -> Build:
    platform = row.text("platform")
    if platform not in PLATFORMS:
        row.fail(f"'platform' is {platform!r}, not one of {', '.join(PLATFORMS)}")
    inherited = row.flag("inherited")
    if "wheels" in row.fields:
        wheels = wheel_tags(row)
    elif inherited:
        # Variants of one release are built for the same Pythons; only the default index was looked at.
        wheels = defaults.get(platform, ())
        if not wheels:
            row.fail(f"inherits its wheel tags, but {platform} has no default build")
    else:
        wheels = ()
    status = row.status()
    if row.flag("default") and status == WITHDRAWN:
        row.fail("is withdrawn, so it can't be the default build")
    return Build(
        torch=torch,
        variant=row.text("variant"),
        platform=platform,
        status=status,
        source=row.source(),
        checked=row.text("checked"),
        default=row.flag("default"),
        experimental=row.flag("experimental"),
        local=row.optional_text("local"),
        wheels=wheels,
        inherited=inherited,
        note=row.optional_text("note") or "",
    )


def _companions(release: RowReader, torch: str) -> tuple[Companion, ...]:
    companions = []
    seen: set[tuple[str, str, str, str]] = set()
    for row in release.rows("companions", ("name", "version")):
        companion = Companion(
            name=row.text("name"),
            version=row.text("version"),
            torch=torch,
            variants=row.texts("variants"),
            platforms=row.texts("platforms"),
            status=row.status(),
            source=row.source(),
            checked=row.text("checked"),
            pins_torch=row.flag("pins_torch"),
            wheels=wheel_tags(row),
            note=row.optional_text("note") or "",
        )
        for variant in companion.variants:
            for platform in companion.platforms:
                key = (companion.name, companion.version, variant, platform)
                if key in seen:
                    row.fail(f"{' '.join(key)} stands there twice")
                seen.add(key)
        companions.append(companion)
    return tuple(companions)


def wheel_tags(row: RowReader) -> tuple[WheelTag, ...]:
    """Return the wheel tags of a row: its object from platform tag to Python tags."""
    value = row.fields.get("wheels")
    if not isinstance(value, dict) or not value:
        row.fail("'wheels' isn't an object from platform tag to Python tags")
    inside = RowReader(value, row.file, f"{row.where}, wheels", row.sources)
    return tuple(WheelTag(platform=platform, pythons=inside.texts(platform)) for platform in value)
