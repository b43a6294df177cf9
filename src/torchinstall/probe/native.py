"""What NVIDIA's native libraries answer: NVML and libcuda, each asked in a child process.

Both children are started before either is waited for, so that two slow libraries cost the time of one.
"""

from __future__ import annotations

from torchinstall.model.value import Value
from torchinstall.probe.pci import bus_address

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from torchinstall.probe.process import Child
    from torchinstall.probe.system import System

NVML_DRIVER_NOT_LOADED = 9
NVML_LIBRARY_MISMATCH = 18
NVML_NO_DEVICE = frozenset({6, 28})
"""nvmlReturn_t: not found, GPU not found."""

WSL_FOLDER = "/usr/lib/wsl/lib"

# Where drivers put their libraries when the loader isn't told: WSL2, Debian's alternatives, NixOS, Colab.
_LINUX_FOLDERS = (
    WSL_FOLDER,
    "/usr/lib/x86_64-linux-gnu/nvidia/current",
    "/usr/lib/aarch64-linux-gnu/nvidia/current",
    "/run/opengl-driver/lib",
    "/usr/lib64-nvidia",
    "/usr/lib/aarch64-linux-gnu/nvidia",
    "/usr/lib/aarch64-linux-gnu/tegra",
)
_WSL_DRIVERS = "/usr/lib/wsl/drivers"


class DeviceAnswer(Value):
    """One device as a library or tool lists it. ``index`` is its place in that source's order.

    ``instances``: MIG instances where MIG is on; ``virtual``: it is a part of a card, given to this guest;
    ``fabric``: state of the NVLink fabric, 1 not started, 2 being started, 3 ready.
    """

    index: int
    name: str | None = None
    uuid: str | None = None
    bus_id: str | None = None
    pci_id: str | None = None
    compute_capability: str | None = None
    memory_mib: int | None = None
    mig: bool | None = None
    instances: int | None = None
    virtual: bool | None = None
    fabric: int | None = None


class NativeAnswer(Value):
    """What a library answered. ``loaded``: the loader found it; ``code``: its last return value, 0 is success.

    ``driver`` and ``cuda`` are versions; ``ending`` says how the child ended if it ended badly.
    """

    loaded: bool = False
    code: int | None = None
    driver: str | None = None
    cuda: str | None = None
    path: str | None = None
    count: int | None = None
    gpus: tuple[DeviceAnswer, ...] = ()
    lost: tuple[int, ...] = ()
    ending: str = ""

    @property
    def ok(self) -> bool:
        """Whether the library did all that was asked."""
        return self.loaded and self.code == 0 and not self.ending


class NativeQuestion:
    """A child that was started; ``answer`` waits for it."""

    def __init__(self, system: System, what: str, script: str, library: str, *options: str) -> None:
        self._system = system
        self._what = what
        self._cookie = _cookie()
        candidates = library_candidates(system, library)
        self._child: Child | None = None
        if candidates:
            self._child = system.native(script, self._cookie, *options, *candidates)

    def answer(self) -> NativeAnswer:
        """Return the last facts that the child could tell; a hang or a crash is noted."""
        if self._child is None:
            return NativeAnswer()
        result = self._child.collect()
        facts = between_cookies(result.out, self._cookie)
        ending = "" if result.rc == 0 else result.ending()
        if ending:
            self._system.note(f"{self._what} was asked in a process of its own, which ended badly: {ending}")
        return _read(facts, ending)


def nvml_question(system: System) -> NativeQuestion:
    """Start asking NVML: driver, newest CUDA, every device. It doesn't obey CUDA_VISIBLE_DEVICES."""
    return NativeQuestion(system, "NVML", "_nvml_child.py", "nvml" if system.os_name == "windows" else "libnvidia-ml")


def libcuda_question(system: System, *, devices: bool) -> NativeQuestion:
    """Start asking libcuda for its version (compatibility libraries included) and, slower, for its ``devices``."""
    library = "nvcuda" if system.os_name == "windows" else "libcuda"
    return NativeQuestion(system, "libcuda", "_libcuda_child.py", library, "devices" if devices else "version")


def library_candidates(system: System, library: str) -> tuple[str, ...]:
    """Return what to hand to the loader for a library of the driver."""
    if system.os_name == "windows":
        environ = system.environ
        folders = [f"{environ.get('SystemRoot', environ.get('SYSTEMROOT', ''))}\\System32"]
        folders.append(f"{environ.get('ProgramFiles', '')}\\NVIDIA Corporation\\NVSMI")
        return system.libraries(f"{library}.dll", folders)
    return system.libraries(f"{library}.so.1", native_folders(system))


def native_folders(system: System) -> tuple[str, ...]:
    """Return the folders in which drivers keep their libraries outside the loader's path."""
    # In containers under WSL2 the driver's folder has a name of its own for every release.
    names = system.listdir(_WSL_DRIVERS) if system.is_dir(_WSL_DRIVERS) else ()
    return _LINUX_FOLDERS + tuple(f"{_WSL_DRIVERS}/{name}" for name in names if name.startswith("nv"))


def between_cookies(output: str, cookie: str) -> Mapping[str, Any]:
    """Return the last whole JSON object between two cookies; an empty one where there is none."""
    import json

    for piece in reversed(output.split(cookie)[1::2]):
        try:
            facts = json.loads(piece)
        except ValueError:
            continue
        if isinstance(facts, dict):
            return facts
    return {}


def cuda_version(number: object) -> str | None:
    """Return ``13.0`` for 13000; ``None`` for what can't be a CUDA version."""
    # A driver that isn't up yet has been seen to answer 0 or garbage with success.
    if not isinstance(number, int) or not 1000 <= number <= 99990:  # noqa: PLR2004
        return None
    return f"{number // 1000}.{number % 1000 // 10}"


def _cookie() -> str:
    import os

    return f"<{os.urandom(12).hex()}>"


def _read(facts: Mapping[str, Any], ending: str) -> NativeAnswer:
    code, count = facts.get("code"), facts.get("count")
    gpus = facts.get("gpus")
    return NativeAnswer(
        loaded=facts.get("loaded") is True,
        code=code if isinstance(code, int) else None,
        driver=facts.get("driver") or None,
        cuda=cuda_version(facts.get("cuda", facts.get("version"))),
        path=facts.get("path"),
        count=count if isinstance(count, int) else None,
        gpus=tuple(_device(gpu) for gpu in gpus) if isinstance(gpus, list) else (),
        lost=tuple(index for index, _ in facts.get("lost", ())),
        ending=ending,
    )


def _device(facts: Mapping[str, Any]) -> DeviceAnswer:
    known = {name: facts[name] for name in DeviceAnswer._fields if facts.get(name) is not None}
    if "bus_id" in known:
        known["bus_id"] = bus_address(known["bus_id"])
    return DeviceAnswer(**known)
