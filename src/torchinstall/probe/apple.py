"""Apple silicon: every arm64 Mac has a GPU that PyTorch's plain wheel can use."""

from __future__ import annotations

from torchinstall.model.machine import MACOS
from torchinstall.probe.facts import GpuFacts

TYPE_CHECKING = False
if TYPE_CHECKING:
    from torchinstall.probe.system import System


def apple_gpus(system: System, arch: str | None) -> list[GpuFacts]:
    """Return the GPU of the chip, on a Mac of arm64."""
    if system.os_name != MACOS or arch != "arm64":
        return []
    gpu = GpuFacts("apple")
    gpu.put("name", sysctl(system, "machdep.cpu.brand_string"), "sysctl")
    gpu.put("integrated", value=True, source="architecture")
    memory = sysctl(system, "hw.memsize")
    gpu.put("memory_mib", int(memory) >> 20 if memory and memory.isdecimal() else None, "sysctl")
    return [gpu]


def sysctl(system: System, name: str) -> str | None:
    """Return one value of the kernel's."""
    answer = system.run(["sysctl", "-n", name], extra=("/usr/sbin",))
    return answer.out.strip() or None if answer is not None and answer.rc == 0 else None
