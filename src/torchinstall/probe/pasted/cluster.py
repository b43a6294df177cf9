"""Fleets: a machine a node, from Kubernetes' node labels and Slurm's node lists."""

from __future__ import annotations

import re

from torchinstall.model.machine import LINUX, WINDOWS
from torchinstall.probe.facts import GpuFacts
from torchinstall.probe.pasted.draft import Draft
from torchinstall.probe.pci import AMD, INTEL

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

LABELS = "node labels"
SLURM = "slurm"

_SUFFIXES = re.compile(r"-(?:SHARED|MIG-\d+g\.\d+gb.*)$")
_INTEL_ID = re.compile(r"gpu\.intel\.com/device-id\.03[08][02]-([0-9a-f]{4})\.(?:present|count)")
_AMD_ID = re.compile(r"(?:beta\.)?amd\.com/gpu\.device-id\.([0-9a-f]{4})")
_NFD = re.compile(r"feature\.node\.kubernetes\.io/pci-(?:0300|0302|1200)_([0-9a-f]{4})\.present")
_PREFIXES = ("nvidia.com/", "amd.com/", "beta.amd.com/", "gpu.intel.com/", "node.kubernetes.io/npu.")
_PAIR = re.compile(r"^[ \t]*((?:[a-z0-9-]+\.)+[a-z]+/[\w.-]+)[ \t]*[=:][ \t]*\"?([\w.: -]*?)\"?,?[ \t]*$", re.MULTILINE)
_GRES = re.compile(r"gpu(?::([A-Za-z][\w.-]*))?:(\d+)(?:\([^)]*\))?")
_GRES_LINE = re.compile(r"(?:^|\s)(?:Gres=)?((?:gpu(?::[A-Za-z][\w.-]*)?:\d+(?:\([^)]*\))?)(?:,gpu\S+)?)(?:\s|$)")
_MAX = 64


def from_labels(labels: Mapping[str, str], draft: Draft, capacity: Mapping[str, str] | None = None) -> None:
    """Add what the labels of one node tell; how many devices there are also by its ``capacity``."""
    capacity = capacity or {}
    arch, system = labels.get("kubernetes.io/arch"), labels.get("kubernetes.io/os")
    if arch:
        draft.arch = {"amd64": "x86_64", "arm64": "aarch64"}.get(arch, arch)
    draft.os.put("name", {"linux": LINUX, "windows": WINDOWS}.get(system or ""), LABELS)
    draft.os.put("kernel", labels.get("feature.node.kubernetes.io/kernel-version.full"), LABELS)
    for read in (_nvidia, _amd, _intel, _ascend):
        read(labels, capacity, draft)
    if draft.gpus:
        return
    for name in labels:
        match = _NFD.fullmatch(name)
        vendor = {"10de": "nvidia", AMD: "amd", "19e5": "ascend"}.get(match[1]) if match else None
        if vendor:
            draft.gpus.append(_gpu(vendor))


def node(document: Mapping[str, Any]) -> Draft | None:
    """Return the machine of one node as ``kubectl get node -o json`` prints it; ``None`` for another object."""
    metadata = document.get("metadata")
    labels = metadata.get("labels") if isinstance(metadata, dict) else None
    if document.get("kind", "Node") != "Node" or not isinstance(metadata, dict) or not isinstance(labels, dict):
        return None
    draft = Draft()
    status = document.get("status")
    status = status if isinstance(status, dict) else {}
    info = status.get("nodeInfo")
    info = info if isinstance(info, dict) else {}
    if isinstance(info.get("osImage"), str):
        draft.os.put("version", info["osImage"], "node info")
    if isinstance(info.get("kernelVersion"), str):
        draft.os.put("kernel", info["kernelVersion"], "node info")
    given = {str(key): str(value) for key, value in labels.items()}
    for label, key in (("kubernetes.io/arch", "architecture"), ("kubernetes.io/os", "operatingSystem")):
        if isinstance(info.get(key), str):
            given.setdefault(label, info[key])
    capacity = status.get("capacity")
    from_labels(given, draft, {k: str(v) for k, v in capacity.items()} if isinstance(capacity, dict) else None)
    draft.looked = True
    draft.note(f"node {metadata.get('name', 'without a name')}")
    return draft


def labels_in(text: str) -> dict[str, str]:
    """Return the labels of accelerators that stand in a text, a pair a line."""
    return {name: value for name, value in _PAIR.findall(text) if name.startswith(_PREFIXES)}


def is_labels(document: Mapping[str, Any]) -> bool:
    """Tell whether a JSON object is a bare set of node labels."""
    return any(name.startswith(_PREFIXES) for name in document) and all(isinstance(v, str) for v in document.values())


def slurm_node(document: Mapping[str, Any]) -> Draft | None:
    """Return the machine of one node of ``scontrol show nodes --json``; ``None`` for another object."""
    gres = document.get("gres")
    if not isinstance(gres, str) or "architecture" not in document:
        return None
    draft = Draft()
    arch, system = document.get("architecture"), document.get("operating_system")
    draft.arch = arch if isinstance(arch, str) and arch else None
    draft.os.put("name", LINUX, SLURM)
    if isinstance(system, str) and system.startswith("Linux "):
        draft.os.put("kernel", system.split()[1], SLURM)
    gres_gpus(gres, draft)
    draft.note(f"node {document.get('hostname') or document.get('name') or 'without a name'}")
    return draft


def gres_lines(text: str) -> list[Draft]:
    """Return a machine for each line of ``sinfo`` or ``scontrol show node`` that names GPUs as resources."""
    drafts = []
    for line in text.splitlines():
        match = _GRES_LINE.search(line)
        if match:
            draft = Draft()
            gres_gpus(match[1], draft)
            drafts.append(draft)
    return drafts


def gres_gpus(gres: str, draft: Draft) -> None:
    """Add the GPUs of a list of generic resources; what they are called there is each site's own choice."""
    draft.looked = True
    for model, count in _GRES.findall(gres):
        if not int(count):
            continue
        draft.hpc = SLURM
        if not model:
            draft.looked = False
            draft.note(f"{count} GPUs that Slurm doesn't name the model of: nvidia-smi on that node tells")
            continue
        for _ in range(min(int(count), _MAX)):
            gpu = _gpu(_maker(model))
            gpu.put("name", model, SLURM)
            draft.gpus.append(gpu)
    if draft.gpus:
        draft.note("Slurm knows no driver version, and calls GPUs what the site likes: nvidia-smi on that node tells")


def _maker(model: str) -> str:
    if re.match(r"mi\d{2,3}|w7|rx", model, re.IGNORECASE):
        return "amd"
    if re.match(r"max_?1\d{3}|pvc|arc", model, re.IGNORECASE):
        return "intel"
    return "ascend" if re.match(r"(?:ascend)?(?:910|310)", model, re.IGNORECASE) else "nvidia"


def _gpu(vendor: str) -> GpuFacts:
    gpu = GpuFacts(vendor)
    gpu.sources["vendor"] = LABELS
    return gpu


def _count(*texts: str | None) -> int:
    number = next((text for text in texts if text and text.isdecimal()), "0")
    return min(int(number), _MAX)


def _nvidia(labels: Mapping[str, str], capacity: Mapping[str, str], draft: Draft) -> None:
    own = {name.removeprefix("nvidia.com/"): value for name, value in labels.items() if name.startswith("nvidia.com/")}
    number = _count(own.get("gpu.count"), capacity.get("nvidia.com/gpu"))
    if not number and "gpu.compute.major" not in own and "gpu.product" not in own:
        return
    product = own.get("gpu.product", "")
    shared = _SUFFIXES.search(product)
    name = _SUFFIXES.sub("", product).replace("-", " ")
    parts = [own.get(f"cuda.driver.{part}", "") for part in ("major", "minor", "rev")]
    nvidia = draft.drivers["nvidia"]
    nvidia.put("version", own.get("cuda.driver-version.full"), LABELS)
    nvidia.put("version", ".".join(part for part in parts if part), LABELS)
    runtime = own.get("cuda.runtime-version.full")
    if runtime is None and own.get("cuda.runtime.major"):
        runtime = f"{own['cuda.runtime.major']}.{own.get('cuda.runtime.minor', '0')}"
    nvidia.put("cuda", runtime, LABELS)
    if nvidia.get("version"):
        nvidia.put("state", "ok", LABELS)
    instances = any(name.startswith("mig-") and name.endswith(".count") for name in own) or "MIG" in (
        shared[0] if shared else ""
    )
    for _ in range(number or 1):
        gpu = _gpu("nvidia")
        gpu.put("name", name, LABELS)
        if own.get("gpu.compute.major"):
            gpu.put("compute_capability", f"{own['gpu.compute.major']}.{own.get('gpu.compute.minor', '0')}", LABELS)
        memory = own.get("gpu.memory", "")
        gpu.put("memory_mib", int(memory) if memory.isdecimal() else None, LABELS)
        gpu.put("mig", value=True if instances else None, source=LABELS)
        draft.gpus.append(gpu)
    if own.get("vgpu.present") == "true":
        draft.note("the GPUs are virtual ones: the driver named here is the guest's")


def _amd(labels: Mapping[str, str], capacity: Mapping[str, str], draft: Draft) -> None:
    counted = {m[1]: value for name, value in labels.items() if (m := _AMD_ID.fullmatch(name))}
    number = labels.get("amd.com/gpu.device-id") or next(iter(counted), None)
    total = _count(capacity.get("amd.com/gpu"), counted.get(number or ""))
    if number is None and not total:
        return
    for _ in range(total or 1):
        gpu = _gpu("amd")
        gpu.put("pci_id", f"{AMD}:{number}" if number else None, LABELS)
        gpu.put("name", labels.get("amd.com/gpu.product-name", "").replace("_", " "), LABELS)
        memory = re.fullmatch(r"(\d+)G", labels.get("amd.com/gpu.vram", ""))
        gpu.put("memory_mib", int(memory[1]) * 1024 if memory else None, LABELS)
        draft.gpus.append(gpu)
    version = labels.get("amd.com/gpu.driver-version", "")
    draft.drivers["amd"].put("amdgpu", version if re.match(r"\d+\.\d", version) else None, LABELS)


def _intel(labels: Mapping[str, str], _capacity: Mapping[str, str], draft: Draft) -> None:
    for name, value in labels.items():
        match = _INTEL_ID.fullmatch(name)
        if match and not any(gpu.get("pci_id") == f"{INTEL}:{match[1]}" for gpu in draft.gpus):
            for _ in range(_count(labels.get(f"{name.rpartition('.')[0]}.count"), value) or 1):
                gpu = _gpu("intel")
                gpu.put("pci_id", f"{INTEL}:{match[1]}", LABELS)
                draft.gpus.append(gpu)


def _ascend(labels: Mapping[str, str], capacity: Mapping[str, str], draft: Draft) -> None:
    counts = {name: value for name, value in capacity.items() if name.startswith("huawei.com/Ascend")}
    chip = labels.get("node.kubernetes.io/npu.chip.name")
    for _ in range(_count(*counts.values()) or int(chip is not None)):
        gpu = _gpu("ascend")
        soc = (chip or "").removeprefix("Ascend")
        gpu.put("name", f"Ascend {soc}" if soc else None, LABELS)
        gpu.put("soc", soc if soc != "910" else None, LABELS)
        draft.gpus.append(gpu)
