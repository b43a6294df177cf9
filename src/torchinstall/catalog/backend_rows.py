"""The rows of the other backends: ROCm, Ascend, XPU, JetPack, and the makers that have builds of their own."""

from __future__ import annotations

from torchinstall.catalog.rows import Build, Companion, WheelTag
from torchinstall.model.value import Value


class RocmCode(Value):
    """The gfx targets that the wheels of one ROCm version have code for."""

    rocm: str
    gfx: tuple[str, ...]
    status: str
    source: str
    checked: str


class RocmFault(Value):
    """A gfx target that wheels list and that doesn't work: from ``rocm_from`` on, below ``rocm_below``.

    ``torch_from``: only in builds of this torch and later.
    """

    gfx: str
    rocm_from: str
    rocm_below: str | None
    torch_from: str | None
    status: str
    source: str
    checked: str


class RocmDriver(Value):
    """What wheels from one ROCm version on ask of the host: amdgpu from AMD's packages, or a ROCm of its own."""

    rocm: str
    dkms: str
    host_rocm: str
    status: str
    source: str
    checked: str


class Feature(Value):
    """Something that torch can do from a ROCm and a torch version on."""

    feature: str
    rocm_from: str
    torch_from: str
    status: str
    source: str
    checked: str


class Access(Value):
    """What the system must bring beside the wheel, on one platform. ``wsl``: in WSL2, or outside it."""

    platform: str
    what: str
    note: str
    wsl: bool
    status: str
    source: str
    checked: str


class NoWheel(Value):
    """gfx targets that nobody publishes a torch wheel for."""

    gfx: tuple[str, ...]
    name: str
    status: str
    source: str
    checked: str


class VendorBuild(Value):
    """A torch build on AMD's own index: the build, the gfx it serves, and its companions.

    ``extra`` names the extra that brings the device code (``device-{gfx}``); ``families`` the index folder
    (``{family}`` in the index URL) of each gfx, where there is one a family.
    """

    build: Build
    gfx: tuple[str, ...]
    extra: str = ""
    families: tuple[tuple[str, tuple[str, ...]], ...] = ()
    companions: tuple[Companion, ...] = ()


class RocmTables(Value):
    """What rocm.json holds."""

    code: dict[str, RocmCode]
    faults: tuple[RocmFault, ...]
    drivers: tuple[RocmDriver, ...]
    features: tuple[Feature, ...]
    access: tuple[Access, ...]
    none: tuple[NoWheel, ...]
    builds: tuple[VendorBuild, ...]


class NpuRow(Value):
    """One torch-npu release on one architecture, and the torch and CANN that it was made for.

    ``release`` is the TorchNPU release (26.2.0) that it belongs to; ``declares``: its dependencies besides
    torch; ``partial``: fewer wheels than its neighbours, as if the upload had stopped.
    """

    torch_npu: str
    torch: str
    arch: str
    wheels: tuple[WheelTag, ...]
    cann: str | None
    release: str | None
    prerelease: bool
    partial: bool
    declares: tuple[str, ...]
    status: str
    source: str
    checked: str

    @property
    def pythons(self) -> tuple[str, ...]:
        """Return the Python tags that have a wheel."""
        return tuple(dict.fromkeys(tag for wheel in self.wheels for tag in wheel.pythons))


class CannWindow(Value):
    """The CANN versions that TorchNPU releases from ``releases_from`` on run with."""

    releases_from: str
    cann_from: str
    cann_to: str
    status: str
    source: str
    checked: str


class CannDriver(Value):
    """The lowest driver (HDK) for CANN versions from ``cann_from`` on."""

    cann_from: str
    minimum: str
    status: str
    source: str
    checked: str


class Soc(Value):
    """A family of Ascend chips; ``pattern`` is a regular expression for their names without "Ascend"."""

    family: str
    pattern: str
    cann_from: str | None
    status: str
    source: str
    checked: str


class SetEnv(Value):
    """The script that puts CANN on the loader's path, from one CANN version on."""

    cann_from: str | None
    script: str
    status: str
    source: str
    checked: str


class Undeclared(Value):
    """A package that torch-npu imports and older releases don't declare, at the documented version."""

    name: str
    version: str
    pythons: tuple[str, ...]
    status: str
    source: str
    checked: str


class AscendTables(Value):
    """What ascend.json holds. ``cann_needs``: packages that CANN's own Python parts import."""

    rows: tuple[NpuRow, ...]
    windows: tuple[CannWindow, ...]
    drivers: tuple[CannDriver, ...]
    socs: tuple[Soc, ...]
    environment: tuple[SetEnv, ...]
    undeclared: tuple[Undeclared, ...]
    cann_needs: tuple[str, ...]


class XpuFamily(Value):
    """An Intel GPU family, and the first torch whose documentation lists it."""

    family: str
    torch_from: str
    status: str
    source: str
    checked: str


class XpuTables(Value):
    """What xpu.json holds."""

    families: tuple[XpuFamily, ...]
    access: tuple[Access, ...]


class JetPack(Value):
    """A JetPack line, and the L4T that it began with."""

    jetpack: str
    l4t: str
    status: str
    source: str
    checked: str


class Dependent(Value):
    """One release of a package that requires torch (vllm, xformers), as the default index serves it.

    ``requires``: what it says of torch and its companions. ``default_cuda``: its own code is compiled for
    the CUDA major of the torch that the default index serves.
    """

    name: str
    version: str
    requires: tuple[str, ...]
    wheels: tuple[WheelTag, ...]
    default_cuda: bool
    status: str
    source: str
    checked: str


class Maker(Value):
    """A maker of accelerators whose PyTorch isn't PyTorch's own, and where it is to be had.

    ``advice`` completes a sentence that ends in "take ..."; ``advice_zh`` is the same in Chinese.
    """

    vendor: str
    name: str
    device: str
    advice: str
    advice_zh: str
    aliases: tuple[str, ...]
    status: str
    source: str
    checked: str
