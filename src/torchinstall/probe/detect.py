"""What this machine is: every probe in order, the facts put together, nothing decided and nothing raised."""

from __future__ import annotations

import time

from torchinstall.model.machine import (
    LINUX,
    WINDOWS,
    AmdDriver,
    AscendDriver,
    Container,
    Gpu,
    IntelDriver,
    Jetson,
    Machine,
    NvidiaDriver,
    Os,
    Python,
)
from torchinstall.model.value import EMPTY
from torchinstall.probe import jetson, osinfo
from torchinstall.probe.amd import amd_facts
from torchinstall.probe.apple import apple_gpus
from torchinstall.probe.ascend import ascend_facts
from torchinstall.probe.container import Marks, accelerator_evidence, container_marks
from torchinstall.probe.facts import Facts, GpuFacts, VendorFacts
from torchinstall.probe.hpc import batch_system
from torchinstall.probe.intel import intel_facts
from torchinstall.probe.masks import apply_masks
from torchinstall.probe.nvidia import NvidiaFacts, nvidia_facts
from torchinstall.probe.pci import AMD, HUAWEI, NVIDIA, other_gpus, sysfs_pci_devices
from torchinstall.probe.target import TargetFacts, TargetQuestion
from torchinstall.probe.variables import build_hints, reported_variables
from torchinstall.probe.windows import registry_adapters

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any, TypeVar

    from torchinstall.model.card import CardLookup
    from torchinstall.model.value import Value
    from torchinstall.probe.pci import PciDevice
    from torchinstall.probe.system import System

    T = TypeVar("T")
    V = TypeVar("V", bound=Value)
    _Job = tuple[str, Callable[[System], VendorFacts], VendorFacts]

BUDGET = 4.0
"""Seconds for all foreign processes of one detection together."""


def detect(
    system: System,
    *,
    cards: CardLookup,
    python: Python | str | None = None,
    installed: Mapping[str, str] = EMPTY,
    installed_by: Mapping[str, str] = EMPTY,
    keep_in: str | None = None,
    meanwhile: Callable[[], None] | None = None,
) -> Machine:
    """Return the machine, each fact with its source; what couldn't be seen is ``None``, with a note saying why.

    ``cards`` looks a PCI id (``10de:2684``), or the SoC of a Tegra board (``tegra234``), up in the table of
    cards. ``python`` is the target's interpreter: its facts, with what is ``installed`` in it, or its path,
    and it is asked here while the probes run; without one a fake machine's own word counts. What it answers may
    be kept in the folder ``keep_in``, and serves until something changes that it rests on. ``meanwhile`` is done
    while it is waited for.

    Takes at most ``BUDGET`` seconds of foreign processes, and nothing that the machine is or isn't raises.
    Only a path that is no Python's is a ``UsageError``: that is about the call.
    """
    question = TargetQuestion(system, python, keep_in=keep_in) if isinstance(python, str) else None
    system.deadline = time.monotonic() + BUDGET
    try:
        seen = _Detection(system, cards).machine()
    finally:
        system.deadline = None
    given = system.given
    if question is not None:
        if meanwhile is not None and question.waiting:
            meanwhile()
        target = question.answer()
    elif isinstance(python, Python):
        target = TargetFacts(python=python, installed=installed, installed_by=installed_by)
    elif given is not None:
        target = TargetFacts(python=given.python, installed=given.installed, installed_by=given.installed_by)
    else:
        target = TargetFacts(python=Python(), installed=installed, installed_by=installed_by)
    return seen.replace(python=target.python, installed=dict(target.installed), installed_by=dict(target.installed_by))


class _Detection:
    """One run over one system."""

    def __init__(self, system: System, cards: CardLookup) -> None:
        self._system = system
        self._lookup = cards
        self._sources: dict[str, str] = {}

    def machine(self) -> Machine:
        """Ask every probe and put the facts together."""
        system = self._system
        os_facts = self._try("the operating system", lambda: osinfo.os_facts(system), Facts())
        arch = self._try("the architecture", lambda: osinfo.architecture(system), system.arch)
        board = self._try("Tegra", lambda: jetson.jetson_facts(system), None) if system.os_name == LINUX else None
        marks = self._try("the container", lambda: container_marks(system), None) if system.os_name == LINUX else None
        vendors, gpus = self._vendors(os_facts, board, arch, boxed=marks is not None)
        parts: dict[str, Any] = {
            name: self._value(cls, vendors[name].driver, f"drivers.{name}")
            for name, cls in _DRIVERS.items()
            if vendors[name].driver is not None
        }
        container = self._container(marks, gpus)
        clients = None
        if system.os_name == LINUX and not any(gpu.may_compute for gpu in gpus):
            clients = self._try("the batch system", lambda: batch_system(system), None)
        return Machine(
            os=self._value(Os, os_facts, "os"),
            arch=arch,
            container=container,
            gpus=tuple(self._value(Gpu, gpu, f"gpus[{number}]") for number, gpu in enumerate(gpus)),
            jetson=self._value(Jetson, board, "jetson") if board is not None else None,
            hpc=clients,
            environment=reported_variables(system),
            sources=self._sources,
            notes=tuple(system.notes),
            **parts,
        )

    def _vendors(
        self, os_facts: Facts, board: Facts | None, arch: str | None, *, boxed: bool
    ) -> tuple[dict[str, VendorFacts], list[GpuFacts]]:
        system, cards = self._system, self._cards
        devices: tuple[PciDevice, ...] = ()
        if system.os_name == LINUX:
            devices = self._try("the PCI bus", lambda: sysfs_pci_devices(system), ())
        elif system.os_name == WINDOWS:
            devices = self._try("the display adapters", lambda: registry_adapters(system), ())
        wsl = os_facts.get("wsl") is True
        bare = {
            name: VendorFacts(self._bare(devices, number, name)) for name, number in (("nvidia", NVIDIA), ("amd", AMD))
        }
        jobs: dict[str, _Job] = {
            "nvidia": (
                "NVIDIA",
                lambda view: nvidia_facts(view, devices, cards, wsl=wsl, tegra=board is not None),
                NvidiaFacts(bare["nvidia"].gpus, None),
            ),
            "amd": ("AMD", lambda view: amd_facts(view, devices, cards), bare["amd"]),
            "intel": ("Intel", lambda view: intel_facts(view, devices, cards), VendorFacts()),
            "ascend": ("Ascend", lambda view: ascend_facts(view, devices, cards), VendorFacts()),
        }
        vendors = self._side_by_side(jobs, devices)
        nvidia = vendors["nvidia"]
        if not isinstance(nvidia, NvidiaFacts):
            raise TypeError(nvidia)
        if board is not None:
            jetson.add_integrated(nvidia.gpus, board, cards)
        gpus = [gpu for facts in vendors.values() for gpu in facts.gpus]
        gpus += self._try("Apple", lambda: apple_gpus(system, arch), [])
        gpus += self._try("other accelerators", lambda: other_gpus(system, devices, cards), [])
        if boxed:
            _hide_not_granted(nvidia)
        self._try("the masks", lambda: apply_masks(system, gpus, nvidia.order), None)
        return vendors, gpus

    def _side_by_side(self, jobs: Mapping[str, _Job], devices: tuple[PciDevice, ...]) -> dict[str, VendorFacts]:
        """Run the probes; where several vendors may have tools that hang, all at once, so that they cost one limit."""
        views = {name: self._system.view() for name in jobs}
        found: dict[str, VendorFacts] = {}

        def run(name: str) -> None:
            what, probe, otherwise = jobs[name]
            view = views[name]
            found[name] = _try(view, what, lambda: probe(view), otherwise)

        nodes = " ".join(self._system.listdir("/dev"))
        seen = {device.vendor for device in devices} & {NVIDIA, AMD, HUAWEI}
        seen |= {vendor for vendor, node in ((NVIDIA, "nvidia"), (AMD, "kfd"), (HUAWEI, "davinci")) if node in nodes}
        if len(seen) > 1:
            from threading import Thread

            threads = [Thread(target=run, args=(name,), daemon=True) for name in jobs]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        else:
            for name in jobs:
                run(name)
        for view in views.values():
            for note in view.notes:
                self._system.note(note)
        return {name: found[name] for name in jobs}

    def _bare(self, devices: tuple[PciDevice, ...], vendor_id: str, vendor: str) -> list[GpuFacts]:
        """Return the cards by their PCI ids alone, for where their own probe failed: a card is never lost."""
        gpus = []
        for device in devices:
            if device.vendor == vendor_id:
                gpu = GpuFacts(vendor)
                gpu.put("pci_id", device.pci_id, "pci")
                gpus.append(gpu)
        return gpus

    def _container(self, marks: Marks | None, gpus: list[GpuFacts]) -> Container | None:
        if marks is None:
            return None
        system = self._system
        nothing: tuple[tuple[str, ...], bool | None] = ((), None)
        evidence, access = self._try("the container", lambda: accelerator_evidence(system, gpus), nothing)
        self._sources["container.kind"] = marks.kind_source
        if marks.build:
            self._sources["container.build"] = marks.build[0]
        return Container(
            kind=marks.kind,
            build=bool(marks.build),
            gpu_access=access,
            evidence=(*marks.build, *evidence, *(build_hints(system) if marks.build else ())),
        )

    def _cards(self, pci_id: str) -> Any:
        """Look a card up; a table that fails must not take the facts of the machine with it."""
        return self._try("the table of cards", lambda: self._lookup(pci_id), None)

    def _value(self, cls: type[V], facts: Facts | None, path: str) -> V:
        if facts is None:
            return cls()
        for field, source in facts.sources.items():
            self._sources[f"{path}.{field}"] = source
        return cls(**facts.values)

    def _try(self, what: str, probe: Callable[[], T], otherwise: T) -> T:
        return _try(self._system, what, probe, otherwise)


def _try(system: System, what: str, probe: Callable[[], T], otherwise: T) -> T:
    try:
        return probe()
    except Exception as error:  # noqa: BLE001 - a machine that no one has thought of must not stop the rest
        system.note(f"{what} could not be probed: {type(error).__name__}: {error}")
        return otherwise


_DRIVERS: dict[str, Any] = {"nvidia": NvidiaDriver, "amd": AmdDriver, "intel": IntelDriver, "ascend": AscendDriver}


def _hide_not_granted(nvidia: NvidiaFacts) -> None:
    """Mark cards of the host that weren't given to this container: NVML lists those that were."""
    granted = [gpu for gpu in nvidia.gpus if gpu.sources.get("name") == "nvml" or gpu.sources.get("uuid") == "nvml"]
    if not granted:
        return
    for gpu in nvidia.gpus:
        if gpu not in granted:
            gpu.put("visible", value=False, source="nvml")
