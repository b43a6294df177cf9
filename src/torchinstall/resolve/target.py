"""What a wheel must match: platform, Python tag, libc or macOS version."""

from __future__ import annotations

import re

from torchinstall.errors import UsageError
from torchinstall.model.machine import LINUX, MACOS, WINDOWS, Machine
from torchinstall.model.plan import Reason
from torchinstall.model.sentences import reason
from torchinstall.model.value import Value
from torchinstall.model.version import at_least, numbers

TYPE_CHECKING = False
if TYPE_CHECKING:
    from torchinstall.catalog.catalog import Catalog
    from torchinstall.catalog.rows import Build, WheelTag

_ARCHES = {
    "x86_64": "x86_64", "amd64": "x86_64", "x64": "x86_64",
    "aarch64": "aarch64", "arm64": "aarch64",
}  # fmt: skip
OTHER_ARCHES = frozenset(
    {"i386", "i486", "i586", "i686", "x86", "armv6l", "armv7l", "armv8l", "arm", "ppc64", "ppc64le", "s390x"}
    | {"riscv64", "loongarch64", "mips64"}
)
"""Architectures that exist, and that torch has no wheels for."""

_PLATFORMS = {
    (LINUX, "x86_64"): "linux_x86_64",
    (LINUX, "aarch64"): "linux_aarch64",
    (WINDOWS, "x86_64"): "win_amd64",
    (WINDOWS, "aarch64"): "win_arm64",
    (MACOS, "aarch64"): "macos_arm64",
    (MACOS, "x86_64"): "macos_x86_64",
}

# PEP 513, 571, 599: the glibc behind the manylinux names that don't say it themselves.
_MANYLINUX = {"manylinux1": "2.5", "manylinux2010": "2.12", "manylinux2014": "2.17"}


class Target(Value):
    """The target of an install. ``python`` such as 3.12 or 3.13t, ``python_tag`` such as cp312 or cp313t.

    What is ``None`` doesn't constrain.
    """

    platform: str | None
    os: str | None
    arch: str | None
    python: str | None = None
    python_tag: str | None = None
    implementation: str | None = None
    bits: int | None = None
    glibc: str | None = None
    musl: bool = False
    os_version: str | None = None


def known_arch(arch: str) -> bool:
    """Tell whether this is the name of an architecture at all."""
    return arch.lower() in _ARCHES or arch.lower() in OTHER_ARCHES


def check_known(machine: Machine) -> None:
    """Raise ``UsageError`` where the operating system or architecture is one that nobody knows."""
    if machine.os.name is not None and machine.os.name not in {LINUX, WINDOWS, MACOS}:
        raise UsageError(
            f"the operating system {machine.os.name!r} isn't known",
            why="torch has wheels for Linux, Windows and macOS",
            todo=["say linux, windows or macos"],
        )
    if machine.arch is not None and not known_arch(machine.arch):
        raise UsageError(
            f"the architecture {machine.arch!r} isn't known",
            why="torch has wheels for x86_64 and aarch64 (arm64)",
            todo=["say x86_64 or aarch64"],
        )


def target_of(machine: Machine) -> Target:
    """Return what a wheel must match on this machine; an x86_64 Python under Rosetta needs x86_64 wheels."""
    arch = machine.python.arch or machine.arch
    plain = _ARCHES.get(arch.lower(), arch.lower()) if arch else None
    version = machine.python.version
    tag = None
    short = None
    if version:
        parts = numbers(version)
        if len(parts) >= 2:  # noqa: PLR2004 - major and minor
            # A free-threaded Python is another one: 3.14t, as in its wheel tag and as uv calls it.
            free = "t" if machine.python.free_threaded else ""
            short = f"{parts[0]}.{parts[1]}{free}"
            tag = f"cp{parts[0]}{parts[1]}{free}"
    return Target(
        platform=_PLATFORMS.get((machine.os.name or "", plain or "")),
        os=machine.os.name,
        arch=plain,
        python=short,
        python_tag=tag,
        implementation=machine.python.implementation,
        bits=machine.python.bits,
        glibc=machine.os.glibc,
        musl=bool(machine.os.musl),
        os_version=machine.os.version if machine.os.name == MACOS else None,
    )


def unfit(target: Target) -> Reason | None:
    """Return why no torch wheel at all can run here, if that is so."""
    if target.bits == 32:  # noqa: PLR2004 - 32-bit
        return reason("python-bits")
    if target.implementation and target.implementation.lower() != "cpython":
        return reason("python-implementation", implementation=target.implementation)
    if target.platform is None:
        return reason("no-platform", platform=f"{target.os} {target.arch}")
    if target.musl:
        return reason("musl")
    return None


def wheel_for(build_wheels: tuple[WheelTag, ...], target: Target) -> WheelTag | None:
    """Return the first wheel of these that this target can take."""
    for wheel in build_wheels:
        if _python_fits(wheel, target) and _floor_met(wheel.platform, target):
            return wheel
    return None


def why_no_wheel(build: Build, target: Target) -> Reason | None:
    """Return why no wheel of this build can be installed on the target; ``None`` where one can."""
    if not build.wheels or wheel_for(build.wheels, target) is not None:
        return None  # of a build that nobody has looked at the tags aren't known; its status says so
    here = {"torch": build.torch, "variant": build.variant}
    with_python = [wheel for wheel in build.wheels if _python_fits(wheel, target)]
    if not with_python:
        pythons = ", ".join(python_names(build.wheels)) or "none known"
        return reason("no-python", python=target.python or "?", pythons=pythons, source=build.source, **here)
    floor = platform_floor(with_python[0].platform)
    if target.os == MACOS:
        return reason("macos-tag", minimum=floor, found=target.os_version, source=build.source, **here)
    return reason("glibc", minimum=floor, found=target.glibc, source=build.source, **here)


def mps_floor(build: Build, target: Target, catalog: Catalog) -> Reason | None:
    """Return why MPS of this build doesn't run on the target's macOS; ``None`` where it does, or nobody knows."""
    floor = catalog.mps_floor(build.torch)
    if floor is None or not target.os_version or at_least(target.os_version, floor[0]):
        return None
    return reason("macos-mps", torch=build.torch, minimum=floor[0], found=target.os_version, source=floor[1])


def python_names(wheels: tuple[WheelTag, ...]) -> tuple[str, ...]:
    """Return the Pythons that have a wheel, oldest first: ``3.10``, ``3.13t``; ``any`` for a py3 wheel."""
    tags = {tag for wheel in wheels for tag in wheel.pythons}
    if "py3" in tags:
        return ("any",)
    parsed = sorted((numbers(tag[2:])[0], tag) for tag in tags if tag.startswith("cp") and numbers(tag[2:]))
    names = [f"{str(number)[0]}.{str(number)[1:]}" + ("t" if tag.endswith("t") else "") for number, tag in parsed]
    return tuple(sorted(names, key=lambda name: (numbers(name), name)))


def platform_floor(tag: str) -> str:
    """Return the lowest glibc or macOS version of a platform tag, ``""`` where it names none."""
    if match := re.match(r"(?:manylinux|macosx)_(\d+)_(\d+)_", tag):
        return f"{match[1]}.{match[2]}"
    return _MANYLINUX.get(tag.split("_", 1)[0], "")


def _python_fits(wheel: WheelTag, target: Target) -> bool:
    return target.python_tag is None or target.python_tag in wheel.pythons or "py3" in wheel.pythons


def _floor_met(tag: str, target: Target) -> bool:
    floor = platform_floor(tag)
    found = target.os_version if target.os == MACOS else target.glibc
    return not floor or not found or at_least(found, floor)
