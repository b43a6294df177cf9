"""The torch builds under an Ascend NPU: the CPU build of each torch that a torch-npu is made for."""

from __future__ import annotations

from torchinstall.catalog.rows import Build, Companion, WheelTag
from torchinstall.model.variant import CPU, NPU

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from torchinstall.catalog.backend_rows import AscendTables

TORCH_NPU = "torch-npu"


def npu_builds(platform: str, tables: AscendTables, builds: Iterable[Build]) -> tuple[Build, ...]:
    """Return an ``npu`` build for each CPU build of the platform that some torch-npu belongs to.

    Its wheel is the CPU wheel of the CPU index (torch-npu refuses a torch with CUDA in it, and the default
    index serves such ones); its Pythons are those that torch-npu has a wheel for too.
    """
    arch = platform.removeprefix("linux_")
    pythons: dict[str, set[str]] = {}
    for row in tables.rows:
        if row.arch == arch:
            pythons.setdefault(row.torch, set()).update(row.pythons)
    found = []
    for build in builds:
        if build.variant != CPU or build.torch not in pythons:
            continue
        both = tuple(
            WheelTag(platform=wheel.platform, pythons=tuple(t for t in wheel.pythons if t in pythons[build.torch]))
            for wheel in build.wheels
        )
        # The default index may serve the CPU build too (aarch64 up to 2.10): it is on the CPU index all the same.
        found.append(build.replace(variant=NPU, wheels=both, default=False, local=build.local or None))
    return tuple(found)


def npu_companions(build: Build, tables: AscendTables) -> tuple[Companion, ...]:
    """Return the torch-npu releases for a build, newest first."""
    arch = build.platform.removeprefix("linux_")
    return tuple(
        Companion(
            name=TORCH_NPU,
            version=row.torch_npu,
            torch=row.torch,
            variants=(NPU,),
            platforms=(build.platform,),
            status=row.status,
            source=row.source,
            checked=row.checked,
            pins_torch=True,
            wheels=row.wheels,
            on_default=True,
        )
        for row in tables.rows
        if row.torch == build.torch and row.arch == arch
    )
