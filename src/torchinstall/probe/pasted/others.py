"""The smaller sources: npu-smi, xpu-smi, CUDA's deviceQuery, files of /proc and /etc, what torch complains."""

from __future__ import annotations

import re

from torchinstall.model.machine import LINUX
from torchinstall.probe import npu_smi
from torchinstall.probe.facts import GpuFacts
from torchinstall.probe.jetson import release_of
from torchinstall.probe.native import cuda_version
from torchinstall.probe.nvidia_files import gpu_information, nvrm_version
from torchinstall.probe.pasted.draft import Draft
from torchinstall.probe.pci import INTEL, bus_address

_PROC_FOLDER = re.compile(r"/proc/driver/nvidia/gpus/([0-9a-f:.]{7,16})/information", re.IGNORECASE)
_INFORMATION = re.compile(r"^Model:\s", re.MULTILINE)
_CANN = re.compile(r"package_name\s*=\s*Ascend-cann-\S*?,?\s+version\s*=\s*([0-9][^\s,]*)", re.IGNORECASE)
_CANN_ARCH = re.compile(r"^arch\s*=\s*(x86_64|aarch64)\s*$", re.MULTILINE)
_ASCEND_DRIVER = re.compile(r"^Version=(\d\S*)[ \t]*$", re.MULTILINE)
_SOC = re.compile(r"nvidia,(tegra\d+)")
_BOARD = re.compile(r"^(NVIDIA Jetson [^\0\n]+)", re.MULTILINE)
_DEVICE = re.compile(r"^Device \d+: \"(.+)\"", re.MULTILINE)
_CAPABILITY = re.compile(r"CUDA Capability Major/Minor version number:\s*(\d+\.\d+)")
_QUERY_CUDA = re.compile(r"CUDA Driver Version / Runtime Version\s+(\d+\.\d+) /")
_XPU_NAME = re.compile(r"Device Name: *(Intel\S* [^|\n]{2,90})\|")
_XPU_ID = re.compile(r"PCI Device ID:\s*0x([0-9a-f]{4})", re.IGNORECASE)
_XPU_PLACE = re.compile(r"PCI BDF Address:\s*([0-9a-f:.]+)", re.IGNORECASE)
_LEVEL_ZERO = re.compile(r"Level Zero:\s*(\d+\.\d+(?:\.\d+)?)")
_TOO_NEW = re.compile(r"(NVIDIA [^\n]{2,60}?) with CUDA capability sm_(\d{2,3}) is not compatible")
_TOO_OLD = re.compile(r"driver on your system is too old \(found version (\d{4,5})\)")


def read_others(text: str, draft: Draft) -> None:
    """Add what any of these sources in the text tells."""
    for read in (_proc, _npu_smi, _jetson, _device_query, _xpu_smi, _torch):
        read(text, draft)


def _proc(text: str, draft: Draft) -> None:
    nvidia = draft.drivers["nvidia"]
    if (found := nvrm_version(text)) is not None:
        nvidia.put("version", found[0], "procfs")
        nvidia.put("kernel_module", found[1], "procfs")
        draft.os.put("name", LINUX, "procfs")
    starts = [match.start() for match in _INFORMATION.finditer(text)]
    gpus = []
    for number, start in enumerate(starts):
        listed = gpu_information(text[start : (*starts, len(text))[number + 1]])
        if listed is not None:
            gpu = GpuFacts("nvidia")
            for field in ("name", "bus_id", "uuid"):
                gpu.put(field, getattr(listed, field), "procfs")
            gpus.append(gpu)
    if not gpus:
        # grep names the file in front of each line, and the folder is the address.
        for address in dict.fromkeys(bus_address(folder) for folder in _PROC_FOLDER.findall(text)):
            gpu = GpuFacts("nvidia")
            gpu.put("bus_id", address, "procfs")
            gpus.append(gpu)
    draft.add_gpus(gpus)


def _npu_smi(text: str, draft: Draft) -> None:
    gpus = npu_smi.chips(text)
    draft.add_gpus(gpus)
    ascend = draft.drivers["ascend"]
    ascend.put("driver", npu_smi.driver_version(text), npu_smi.SOURCE)
    if gpus:
        ascend.put("state", "ok", npu_smi.SOURCE)
    if match := _CANN.search(text):
        ascend.put("cann", match[1], "ascend_toolkit_install.info")
        if (arch := _CANN_ARCH.search(text)) and draft.arch is None:
            draft.arch = arch[1]
    if "ascendhal_version" in text and (match := _ASCEND_DRIVER.search(text)):
        ascend.put("driver", match[1], "version.info")


def _jetson(text: str, draft: Draft) -> None:
    release, soc, board = release_of(text), _SOC.findall(text), _BOARD.search(text)
    draft.jetson.put("l4t", release, "nv_tegra_release")
    draft.jetson.put("soc", soc[-1] if soc else None, "device tree")
    draft.tegra = draft.tegra or bool(release or soc)
    if not draft.tegra:
        return
    draft.os.put("name", LINUX, "nv_tegra_release")
    draft.arch = draft.arch or "aarch64"
    draft.jetson.put("model", board[1].strip("\0 ") if board else None, "device tree")
    if not any(gpu.vendor == "nvidia" for gpu in draft.gpus):
        gpu = GpuFacts("nvidia")
        gpu.put("integrated", value=True, source="device tree")
        gpu.put("name", draft.jetson.get("model"), "device tree")
        draft.add_gpus([gpu])


def _device_query(text: str, draft: Draft) -> None:
    pieces = _DEVICE.split(text)
    gpus = []
    for name, block in zip(pieces[1::2], pieces[2::2], strict=True):
        gpu = GpuFacts("nvidia")
        gpu.put("name", name, "deviceQuery")
        if match := _CAPABILITY.search(block):
            gpu.put("compute_capability", match[1], "deviceQuery")
        gpus.append(gpu)
    draft.add_gpus(gpus)
    if gpus and (match := _QUERY_CUDA.search(text)):
        draft.drivers["nvidia"].put("libcuda", match[1], "deviceQuery")
        draft.drivers["nvidia"].put("state", "ok", "deviceQuery")


def _xpu_smi(text: str, draft: Draft) -> None:
    names = _XPU_NAME.findall(text)
    numbers, places = _XPU_ID.findall(text), _XPU_PLACE.findall(text)
    gpus = []
    for place, name in enumerate(names):
        gpu = GpuFacts("intel")
        gpu.put("name", name.strip(), "xpu-smi")
        gpu.put("pci_id", f"{INTEL}:{numbers[place].lower()}" if len(numbers) == len(names) else None, "xpu-smi")
        gpu.put("bus_id", bus_address(places[place]) if len(places) == len(names) else None, "xpu-smi")
        gpus.append(gpu)
    draft.add_gpus(gpus)
    if match := _LEVEL_ZERO.search(text):
        draft.drivers["intel"].put("level_zero", match[1], "xpu-smi")


def _torch(text: str, draft: Draft) -> None:
    gpus = []
    for name, number in dict.fromkeys(_TOO_NEW.findall(text)):
        gpu = GpuFacts("nvidia")
        gpu.put("name", name.strip(), "torch's warning")
        gpu.put("compute_capability", f"{number[:-1]}.{number[-1]}", "torch's warning")
        gpus.append(gpu)
    same = [gpu for gpu in draft.gpus if gpu.get("name") in {new.get("name") for new in gpus}]
    for gpu in same:
        gpu.take(next(new for new in gpus if new.get("name") == gpu.get("name")))
    if not same:
        draft.add_gpus(gpus)
    if match := _TOO_OLD.search(text):
        draft.drivers["nvidia"].put("cuda", cuda_version(int(match[1])), "torch's error")
        draft.drivers["nvidia"].put("libcuda", cuda_version(int(match[1])), "torch's error")
