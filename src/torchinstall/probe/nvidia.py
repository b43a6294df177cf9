"""NVIDIA cards and their driver: every source asked, the facts merged by precedence.

NVML before the files of /proc and /sys, these before the table of PCI ids. NVML is a confirmation on
ordinary Linux, and the only source in WSL2, on Windows and for cards newer than the table.
"""

from __future__ import annotations

from torchinstall.model.machine import WINDOWS
from torchinstall.model.value import Value
from torchinstall.probe.facts import Facts, GpuFacts, VendorFacts
from torchinstall.probe.native import (
    NativeAnswer,
    libcuda_question,
    library_candidates,
    native_folders,
    nvml_question,
)
from torchinstall.probe.nvidia_files import (
    DeviceNodes,
    ProcGpu,
    device_nodes,
    fabric_manager,
    module_file,
    procfs_driver,
    procfs_gpus,
    sysfs_module_version,
)
from torchinstall.probe.nvidia_state import Evidence, device_notes, driver_state, libcuda_note
from torchinstall.probe.pci import NVIDIA, REGISTRY, PciDevice, add_card, add_device
from torchinstall.probe.smi import SmiAnswer, nvidia_smi_gpus
from torchinstall.probe.windows import nvidia_release

TYPE_CHECKING = False
if TYPE_CHECKING:
    from torchinstall.model.card import CardLookup
    from torchinstall.probe.native import DeviceAnswer
    from torchinstall.probe.system import System

MASK = "CUDA_VISIBLE_DEVICES"


class _Seen(Value):
    """Everything that was asked, before it is merged."""

    devices: tuple[PciDevice, ...]
    module: str | None
    proc_version: str | None
    kernel_module: str | None
    proc_gpus: tuple[ProcGpu, ...]
    nodes: DeviceNodes
    nvml: NativeAnswer = NativeAnswer()
    libcuda: NativeAnswer = NativeAnswer()
    smi: SmiAnswer | None = None


class NvidiaFacts(VendorFacts):
    """The cards and the driver, and ``order``: the cards as CUDA numbers them, where libcuda told."""

    def __init__(self, gpus: list[GpuFacts], driver: Facts | None, order: tuple[str, ...] = ()) -> None:
        super().__init__(gpus, driver)
        self.order = order


def nvidia_facts(
    system: System, devices: tuple[PciDevice, ...], cards: CardLookup, *, wsl: bool = False, tegra: bool = False
) -> NvidiaFacts:
    """Return what is known of NVIDIA here. A machine without a trace of NVIDIA starts no process."""
    version, kernel_module = procfs_driver(system)
    seen = _Seen(
        devices=tuple(device for device in devices if device.vendor == NVIDIA),
        module=sysfs_module_version(system),
        proc_version=version,
        kernel_module=kernel_module,
        proc_gpus=procfs_gpus(system),
        nodes=device_nodes(system),
    )
    if not (_traces(seen) or tegra or _libraries(system)):
        return NvidiaFacts([], None)
    # Side by side: two libraries that hang cost one limit.
    nvml_child = nvml_question(system)
    libcuda_child = libcuda_question(system, devices=tegra or bool(system.environ.get(MASK)))
    nvml, libcuda = nvml_child.answer(), libcuda_child.answer()
    smi = None if nvml.loaded else nvidia_smi_gpus(system)
    seen = seen.replace(nvml=nvml, libcuda=libcuda, smi=smi)
    gpus = _merge(seen, cards)
    evidence = Evidence(
        bound=tuple(device.driver or "" for device in seen.devices),
        module=bool(seen.module or seen.proc_version),
        module_file=module_file(system, system.kernel_release) is not None,
        nodes=seen.nodes,
        nvml=nvml,
        smi=smi,
        wsl=wsl,
        windows=system.os_name == WINDOWS,
        registered=any(nvidia_release(device.driver_version) for device in seen.devices),
        tegra=tegra,
        libraries=bool(_libraries(system)),
    )
    state, source, note = driver_state(evidence)
    if state is None:
        return NvidiaFacts(gpus, None)
    if note:
        system.note(note)
    if seen.nodes.usable and seen.nodes.control and not system.may_use("/dev/nvidiactl"):
        system.note("/dev/nvidiactl can't be opened by this user: CUDA programs will find no device")
    for text in (*device_notes(nvml, fabric_manager(system)), libcuda_note(libcuda)):
        if text is not None:
            system.note(text)
    if not gpus and not tegra:
        gpus = _unnamed(seen, state, evidence)
    return NvidiaFacts(gpus, _driver(seen, state, source), tuple(gpu.bus_id for gpu in libcuda.gpus if gpu.bus_id))


def _traces(seen: _Seen) -> bool:
    return bool(seen.devices or seen.module or seen.proc_version or seen.nodes.control or seen.nodes.gpus)


def _libraries(system: System) -> bool:
    """Whether the driver's own library or tool lies where only a driver puts it."""
    if system.os_name == WINDOWS:
        return bool(library_candidates(system, "nvml"))
    if system.given is not None and library_candidates(system, "libnvidia-ml"):
        return True
    folders = (*native_folders(system), *_usual_folders(system))
    return any(system.exists(f"{folder}/libnvidia-ml.so.1") for folder in folders) or (
        system.which("nvidia-smi") is not None
    )


def _usual_folders(system: System) -> tuple[str, ...]:
    return (f"/usr/lib/{system.arch}-linux-gnu", "/usr/lib64", "/usr/lib")


def _merge(seen: _Seen, cards: CardLookup) -> list[GpuFacts]:
    gpus: list[GpuFacts] = []
    tool = "nvml" if seen.nvml.gpus else "nvidia-smi"
    for answer in seen.nvml.gpus or (seen.smi.gpus if seen.smi else ()):
        gpu = GpuFacts("nvidia")
        _add_answer(gpu, answer, tool)
        gpus.append(gpu)
    for answer in seen.libcuda.gpus:
        _add_answer(_of(gpus, answer.bus_id, create=not (seen.nvml.gpus or seen.smi)), answer, "libcuda")
    for listed in seen.proc_gpus:
        gpu = _of(gpus, listed.bus_id)
        gpu.put("name", listed.name, "procfs")
        gpu.put("uuid", listed.uuid, "procfs")
        gpu.put("bus_id", listed.bus_id, "procfs")
    for device in seen.devices:
        if device.bus_id is not None:
            add_device(_of(gpus, device.bus_id), device)
        elif not seen.nvml.gpus:
            # The registry of Windows keeps cards that are gone, and tells no address to match them by.
            gpu = GpuFacts("nvidia")
            add_device(gpu, device)
            gpus.append(gpu)
    for gpu in gpus:
        add_card(gpu, cards)
    # By bus address, as CUDA_DEVICE_ORDER=PCI_BUS_ID numbers them and NVML does; unknown addresses last.
    return sorted(gpus, key=lambda gpu: str(gpu.get("bus_id") or "~"))


def _of(gpus: list[GpuFacts], bus_id: str | None, *, create: bool = True) -> GpuFacts:
    for gpu in gpus:
        if bus_id is not None and gpu.get("bus_id") == bus_id:
            return gpu
    if len(gpus) == 1 and (bus_id is None or gpus[0].get("bus_id") is None):
        return gpus[0]  # the one card there is, told without an address by one of the two sources
    gpu = GpuFacts("nvidia")
    if create:
        gpus.append(gpu)
    return gpu


def _add_answer(gpu: GpuFacts, device: DeviceAnswer, source: str) -> None:
    for field in ("name", "pci_id", "bus_id", "uuid", "compute_capability", "memory_mib", "mig"):
        gpu.put(field, getattr(device, field), source)


def _unnamed(seen: _Seen, state: str, evidence: Evidence) -> list[GpuFacts]:
    """Return cards of which only the existence is known: silence would read as a machine without any."""
    number = len(seen.nodes.gpus) or int((evidence.wsl or evidence.windows) and state != "no-device")
    gpus = []
    for _ in range(number):
        gpu = GpuFacts("nvidia")
        gpu.sources["vendor"] = "device node" if seen.nodes.gpus else "driver library"
        gpus.append(gpu)
    return gpus


def _driver(seen: _Seen, state: str, source: str) -> Facts:
    driver = Facts()
    # Where module and library differ, the module is the one that runs.
    if state != "library-mismatch":
        driver.put("version", seen.nvml.driver, "nvml")
    driver.put("version", seen.module, "sysfs")
    driver.put("version", seen.proc_version, "procfs")
    driver.put("version", seen.smi.driver if seen.smi else None, "nvidia-smi")
    for device in seen.devices:
        driver.put("version", nvidia_release(device.driver_version), REGISTRY)
    driver.put("cuda", seen.nvml.cuda, "nvml")
    driver.put("libcuda", seen.libcuda.cuda, f"libcuda ({seen.libcuda.path})" if seen.libcuda.path else "libcuda")
    driver.put("kernel_module", seen.kernel_module, "procfs")
    driver.put("state", state, source)
    return driver
