"""Publish many wheels from rows as the catalogue has them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from replica.wheels import StubWheel

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from replica.server import Replica
    from replica.stubs import Behaviour

    Row = tuple[str, str, Sequence[str], Sequence[str]]


def publish(
    replica: Replica,
    rows: Iterable[Row],
    *,
    name: str = "torch",
    requires: Sequence[str] = (),
    behaviour: Behaviour | str | None = None,
    default: bool = False,
    requires_python: str | None = None,
) -> list[StubWheel]:
    """Publish ``name`` for rows of (version, variant, Python tags, platform tags); nothing is built yet.

    On a variant's index the version has the variant as local part (not on macOS, whose wheels have none; a
    version that comes with a local part keeps it). With ``default`` the wheels go to the stand-in of the
    default index, with the local part only inside. Returns the wheels, in the order of the rows.
    """
    wheels: list[StubWheel] = []
    for version, variant, pythons, platforms in rows:
        for platform in platforms:
            plain = default or "+" in version or platform.startswith("macosx")
            for python in pythons:
                wheel = StubWheel(
                    name=name,
                    version=version if plain else f"{version}+{variant}",
                    python=python,
                    platform=platform,
                    requires=tuple(requires),
                    variant="mps" if platform.startswith("macosx") else variant,
                    behaviour=behaviour,
                    requires_python=requires_python,
                )
                if default:
                    replica.add_default(wheel)
                else:
                    replica.add_wheel(variant, wheel)
                wheels.append(wheel)
    return wheels
