"""What a machine is. Every field may be unknown (``None``); nothing here is ever guessed."""

from __future__ import annotations

from torchinstall.model.value import EMPTY, Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

LINUX = "linux"
WINDOWS = "windows"
MACOS = "macos"

DRIVER_STATES = ("ok", "missing", "nouveau", "not-loaded", "library-mismatch", "no-device", "unknown")
"""What can be said of the NVIDIA driver; only ``ok`` and ``unknown`` leave a card usable."""


class Os(Value):
    """The operating system. ``version`` is the distribution on Linux, a number such as 14.5 on macOS."""

    name: str | None = None
    version: str | None = None
    glibc: str | None = None
    musl: str | None = None
    wsl: bool | None = None
    kernel: str | None = None


class Python(Value):
    """The target interpreter. ``environment``: venv, conda, system or tool."""

    version: str | None = None
    implementation: str | None = None
    bits: int | None = None
    free_threaded: bool | None = None
    environment: str | None = None
    externally_managed: bool | None = None
    path: str | None = None
    prefix: str | None = None
    arch: str | None = None
    purelib: str | None = None
    platlib: str | None = None
    scripts: str | None = None


class Container(Value):
    """A container round the machine. ``build``: an image is being built; ``gpu_access``: a device got in."""

    kind: str | None = None
    build: bool | None = None
    gpu_access: bool | None = None
    evidence: tuple[str, ...] = ()


class Gpu(Value):
    """One accelerator. ``vendor``: nvidia, amd, intel, ascend, apple, or another maker's name.

    ``compute_capability`` (NVIDIA), ``gfx`` (AMD), ``soc`` (Ascend) and ``family``
    (Intel) say what code it runs; ``driver`` is the kernel driver bound to it.
    """

    vendor: str
    name: str | None = None
    pci_id: str | None = None
    bus_id: str | None = None
    uuid: str | None = None
    compute_capability: str | None = None
    gfx: str | None = None
    soc: str | None = None
    family: str | None = None
    memory_mib: int | None = None
    integrated: bool | None = None
    visible: bool | None = None
    mig: bool | None = None
    driver: str | None = None


class NvidiaDriver(Value):
    """The NVIDIA driver. ``cuda``: newest CUDA it announces; ``libcuda``: what cuDriverGetVersion answers."""

    version: str | None = None
    cuda: str | None = None
    libcuda: str | None = None
    kernel_module: str | None = None
    state: str | None = None


class AmdDriver(Value):
    """The AMD stack: kernel version, amdgpu module version, DKMS or in-tree, installed ROCm."""

    kernel: str | None = None
    amdgpu: str | None = None
    dkms: bool | None = None
    rocm: str | None = None
    state: str | None = None


class IntelDriver(Value):
    """The Intel stack: kernel module (i915 or xe) and Level Zero loader."""

    kernel_module: str | None = None
    level_zero: str | None = None
    state: str | None = None


class AscendDriver(Value):
    """The Ascend stack: driver (HDK) and CANN toolkit versions."""

    driver: str | None = None
    cann: str | None = None
    state: str | None = None


class Jetson(Value):
    """A Tegra board. ``l4t`` such as 36.4.3; ``soc`` such as tegra234."""

    l4t: str | None = None
    jetpack: str | None = None
    soc: str | None = None
    model: str | None = None


class Machine(Value):
    """One machine with its target interpreter. ``gpus`` is ``None`` when nobody has looked.

    ``declared``: the accelerators were named by the user and not seen here.
    ``sources`` says of a fact (by JSON path) whence it is; ``notes`` what could not be seen, and why.
    """

    os: Os = Os()
    arch: str | None = None
    python: Python = Python()
    container: Container | None = None
    gpus: tuple[Gpu, ...] | None = None
    nvidia: NvidiaDriver | None = None
    amd: AmdDriver | None = None
    intel: IntelDriver | None = None
    ascend: AscendDriver | None = None
    jetson: Jetson | None = None
    hpc: str | None = None
    declared: bool = False
    installed: Mapping[str, str] = EMPTY
    installed_by: Mapping[str, str] = EMPTY
    environment: Mapping[str, str] = EMPTY
    sources: Mapping[str, str] = EMPTY
    notes: tuple[str, ...] = ()
