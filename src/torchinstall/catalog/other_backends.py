"""The look-ups of the other backends: ROCm, Ascend, XPU, JetPack, other makers, and packages that require torch."""

from __future__ import annotations

from torchinstall.model.variant import NPU

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from torchinstall.catalog.backend_rows import (
        AscendTables,
        Dependent,
        JetPack,
        Maker,
        RocmTables,
        VendorBuild,
        XpuTables,
    )
    from torchinstall.catalog.prepared import Prepared
    from torchinstall.catalog.rows import Build, Companion

_LIST_PLATFORM = "linux_x86_64"


class OtherBackends:
    """The part of the catalogue that reads the tables of the other backends."""

    _files: dict[str, Any]
    _builds: dict[str, tuple[Build, ...]]
    memo: dict[tuple[Any, ...], Any]
    _prepared: Prepared | None

    def _file(self, name: str, parse: Any) -> Any:
        raise NotImplementedError

    def _table(self, name: str, parser: str) -> Any:
        """Return a table by the name of its parser: a machine of NVIDIA's needs none of these."""
        if name not in self._files:
            from torchinstall.catalog import parse_backends

            return self._file(name, getattr(parse_backends, parser))
        return self._files[name]

    def builds(self, platform: str) -> tuple[Build, ...]:
        """Return every build of a platform."""
        raise NotImplementedError

    def default_variant(self, torch: str, platform: str) -> str | None:
        """Return the variant that the default index serves on a platform."""
        raise NotImplementedError

    @property
    def rocm(self) -> RocmTables:
        """What is known of ROCm wheels beside their rows."""
        tables: RocmTables = self._table("rocm.json", "parse_rocm")
        return tables

    @property
    def ascend(self) -> AscendTables:
        """The torch-npu releases, and what goes with them."""
        tables: AscendTables = self._table("ascend.json", "parse_ascend")
        return tables

    @property
    def xpu(self) -> XpuTables:
        """The Intel families that torch has wheels for."""
        tables: XpuTables = self._table("xpu.json", "parse_xpu")
        return tables

    @property
    def jetpacks(self) -> tuple[JetPack, ...]:
        """The JetPack lines with their L4T, newest first."""
        rows: tuple[JetPack, ...] = self._table("jetson.json", "parse_jetpacks")
        return rows

    @property
    def makers(self) -> tuple[Maker, ...]:
        """The makers of accelerators that have PyTorch builds of their own."""
        rows: tuple[Maker, ...] = self._table("vendors.json", "parse_makers")
        return rows

    def npu_builds(self, platform: str) -> tuple[Build, ...]:
        """Return the torch builds that a torch-npu is made for, newest first; their variant is ``npu``."""
        key = f"npu {platform}"
        if key not in self._builds:
            from torchinstall.catalog.npu_builds import npu_builds

            self._builds[key] = npu_builds(platform, self.ascend, self.builds(platform))
        return self._builds[key]

    def amd_builds(self, platform: str) -> tuple[VendorBuild, ...]:
        """Return the builds on AMD's own indexes for a platform, as they stand in the data."""
        return tuple(row for row in self.rocm.builds if row.build.platform == platform)

    @property
    def dependents(self) -> frozenset[str]:
        """The packages besides torch's companions of which it is known which torch they require."""
        key = ("names of dependents",)
        if key not in self.memo:
            ready = self._prepared
            self.memo[key] = ready.dependents if ready else frozenset(row.name for row in self._dependent_rows)
        names: frozenset[str] = self.memo[key]
        return names

    @property
    def on_default(self) -> frozenset[str]:
        """The packages that come from the default index, whatever index their torch comes from."""
        return self.dependents | {"torch-npu"}

    @property
    def _dependent_rows(self) -> tuple[Dependent, ...]:
        rows: tuple[Dependent, ...] = self._table("dependents.json", "parse_dependents")
        return rows

    def dependent_versions(self, name: str) -> tuple[str, ...]:
        """Return the releases of a dependent that are known, newest first."""
        return tuple(row.version for row in self._dependent_rows if row.name == name)

    def _dependents(self, name: str, build: Build) -> tuple[Companion, ...]:
        key = ("dependents", name, build.torch, build.variant, build.platform)
        if key not in self.memo:
            from torchinstall.catalog.dependents import dependents_of

            default = self.default_variant(build.torch, _LIST_PLATFORM)
            self.memo[key] = dependents_of(name, build, self._dependent_rows, default)
        found: tuple[Companion, ...] = self.memo[key]
        return found

    def _vendor_companions(self, name: str, build: Build) -> tuple[Companion, ...]:
        if build.variant == NPU:
            from torchinstall.catalog.npu_builds import npu_companions

            return npu_companions(build, self.ascend)
        for row in self.amd_builds(build.platform):
            if (row.build.torch, row.build.variant) == (build.torch, build.variant):
                return tuple(companion for companion in row.companions if companion.name == name)
        return ()
