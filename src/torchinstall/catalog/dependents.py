"""Packages that require torch, as companions of the builds that they accept (vllm, xformers)."""

from __future__ import annotations

from torchinstall.catalog.rows import Build, Companion
from torchinstall.model.pattern import pattern
from torchinstall.model.variant import backend, toolkit
from torchinstall.model.version import numbers

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from torchinstall.catalog.backend_rows import Dependent

_NAMED = pattern(r"([a-z0-9-]+)(.*)")


def dependents_of(name: str, build: Build, rows: Iterable[Dependent], default: str | None) -> tuple[Companion, ...]:
    """Return the releases of a package that accept a build, newest first.

    ``default`` is the variant that the default index serves of that torch. What is published for CUDA goes
    with CUDA builds alone, and where its own code is compiled for one CUDA major, with that.
    """
    if backend(build.variant) != "cuda":
        return ()
    same_major = default is not None and numbers(toolkit(build.variant))[:1] == numbers(toolkit(default))[:1]
    return tuple(
        Companion(
            name=name,
            version=row.version,
            torch=build.torch,
            variants=(build.variant,),
            platforms=(build.platform,),
            status=row.status,
            source=row.source,
            checked=row.checked,
            wheels=tuple(wheel for wheel in row.wheels if _of_platform(wheel.platform, build.platform)),
            requires=tuple(text for text in row.requires if not text.startswith("torch=") and _name(text) != "torch"),
            on_default=True,
        )
        for row in rows
        if row.name == name
        and (same_major or not row.default_cuda)
        and _accepts(row, build.torch)
        and any(_of_platform(wheel.platform, build.platform) for wheel in row.wheels)
    )


def split(requirement: str) -> tuple[str, str]:
    """Return name and specifier of a plain requirement."""
    match = _NAMED.match(requirement)
    return (match[1], match[2]) if match else (requirement, "")


def _name(requirement: str) -> str:
    return split(requirement)[0]


def _accepts(row: Dependent, torch: str) -> bool:
    from packaging.specifiers import SpecifierSet

    wanted = [split(text)[1] for text in row.requires if _name(text) == "torch"]
    return all(SpecifierSet(specifier).contains(torch) for specifier in wanted)


def _of_platform(tag: str, platform: str) -> bool:
    return tag == platform or (tag.startswith("manylinux") and tag.endswith(platform.removeprefix("linux_")))
