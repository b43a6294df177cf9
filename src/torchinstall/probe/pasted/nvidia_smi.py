"""What nvidia-smi prints for people: table, ``-L``, ``-q``, ``--version``, XML, CSV, and its complaints.

Branch 610 renamed the versions in all of them ("KMD Version", "CUDA UMD Version"); both names are read.
"""

from __future__ import annotations

import re

from torchinstall.model.machine import LINUX, WINDOWS
from torchinstall.model.version import is_driver_version
from torchinstall.probe.facts import GpuFacts
from torchinstall.probe.pasted.draft import Draft, vendor_of_name
from torchinstall.probe.pci import bus_address
from torchinstall.probe.smi import device_of, pci_id_of, rows_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from torchinstall.probe.native import DeviceAnswer

SOURCE = "nvidia-smi"

# In the table, in -q and in --version. "DRIVER version : Deprecated, see ..." has no number and is passed over.
_DRIVER = re.compile(r"\b(?:Driver|KMD) Version\s*:\s*(\d{2,4}\.\d+(?:\.\d+)?)", re.IGNORECASE)
_CUDA = re.compile(r"\bCUDA (?:UMD )?Version\s*:\s*(\d{1,2}\.\d+)", re.IGNORECASE)

_ROW = re.compile(
    r"^\s*\|\s*(\d+)\s+(\S.*?)\s+(?:On|Off|N/A|WDDM|TCC|MCDM|ERR!)\s*\|"
    r"\s*([0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]|N/A)\s+(?:On|Off|N/A)?\s*\|",
    re.IGNORECASE,
)
_MEMORY = re.compile(r"\|\s*[\d.]+\s*MiB\s*/\s*(\d+)\s*MiB\s*\|")
_MIG = re.compile(r"\|\s*(Enabled|Disabled)\s*\|\s*$")
_WINDOWS_HEAD = re.compile(r"^[ \t]*\|[ \t]*GPU[ \t]+Name[ \t]+(?:TCC/WDDM|Driver-Model)\s*\|", re.MULTILINE)

_LISTED = re.compile(r"^\s*GPU (\d+): (.+?) \(UUID: (\S+)\)\s*$")
_INSTANCE = re.compile(r"^\s+MIG \S+\s+Device\s+\d+:")

_BLOCK = re.compile(r"^GPU ([0-9A-Fa-f]{4,8}:[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.[0-7])\s*$", re.MULTILINE)
_XML_GPU = re.compile(r"<gpu id=\"([^\"]*)\">(.*?)(?:</gpu>|\Z)", re.DOTALL)

_COMPLAINTS = (
    ("couldn't communicate with the nvidia driver", "not-loaded"),
    ("driver/library version mismatch", "library-mismatch"),
    ("no devices were found", "no-device"),
    ("no nvidia graphics adapter probed", "not-loaded"),
    ("system has unsupported display driver / cuda driver combination", "library-mismatch"),
)


def read_nvidia_smi(text: str, draft: Draft) -> None:
    """Add what any of nvidia-smi's outputs in the text tells."""
    nvidia = draft.drivers["nvidia"]
    gpus = _table(text, draft) or _query(text, draft) or _csv(text, draft) or _xml(text, draft)
    gpus_listed = _list(text)
    draft.add_gpus(gpus)
    draft.add_gpus(gpus_listed)
    if match := _DRIVER.search(text):
        nvidia.put("version", match[1], SOURCE)
    if match := _CUDA.search(text):
        nvidia.put("cuda", match[1], SOURCE)
    plain = text.lower()
    for words, state in _COMPLAINTS:
        if words in plain:
            nvidia.put("state", state, SOURCE)
    if any(gpu.vendor == "nvidia" for gpu in (*gpus, *gpus_listed)):
        nvidia.put("state", "ok", SOURCE)  # without a running driver it lists nothing


def _new(name: str | None, address: str | None, uuid: str | None = None) -> GpuFacts:
    gpu = GpuFacts(vendor_of_name(name or ""))
    gpu.put("name", name, SOURCE)
    gpu.put("bus_id", address, SOURCE)
    gpu.put("uuid", uuid, SOURCE)
    if name and "nvgpu" in name:
        gpu.put("integrated", value=True, source=SOURCE)
    return gpu


def _table(text: str, draft: Draft) -> list[GpuFacts]:
    gpus: list[GpuFacts] = []
    for line in text.splitlines():
        if match := _ROW.match(line):
            gpus.append(_new(match[2].strip(), bus_address(match[3])))
        elif gpus and (match := _MEMORY.search(line)):
            gpus[-1].put("memory_mib", int(match[1]), SOURCE)
        elif gpus and (match := _MIG.search(line)):
            gpus[-1].put("mig", match[1] == "Enabled", SOURCE)
        elif "MIG devices:" in line or "Processes:" in line:
            break
    if gpus and _WINDOWS_HEAD.search(text):
        draft.os.put("name", WINDOWS, SOURCE)
    return gpus


def _list(text: str) -> list[GpuFacts]:
    gpus: list[GpuFacts] = []
    for line in text.splitlines():
        if match := _LISTED.match(line):
            gpus.append(_new(match[2], None, match[3] if match[3].startswith("GPU-") else None))
        elif gpus and _INSTANCE.match(line):
            gpus[-1].put("mig", value=True, source=SOURCE)
    return gpus


def _query(text: str, draft: Draft) -> list[GpuFacts]:
    pieces = _BLOCK.split(text)
    gpus = []
    for address, block in zip(pieces[1::2], pieces[2::2], strict=True):
        fields = _tree(block)
        gpu = _new(fields.get("Product Name"), bus_address(address), _uuid(fields.get("GPU UUID")))
        gpu.put("pci_id", pci_id_of(fields.get("PCI/Device Id", "")), SOURCE)
        memory = fields.get("FB Memory Usage/Total", "").partition(" ")[0]
        gpu.put("memory_mib", int(memory) if memory.isdecimal() else None, SOURCE)
        gpu.put("mig", {"Enabled": True, "Disabled": False}.get(fields.get("MIG Mode/Current", "")), SOURCE)
        if fields.get("GPU Virtualization Mode/Virtualization Mode") == "VGPU":
            draft.note(f"{gpu.get('name')} is a virtual GPU: the driver named here is the guest's")
        _system(fields.get("Driver Model/Current"), fields.get("Persistence Mode"), draft)
        gpus.append(gpu)
    return gpus


def _tree(block: str) -> dict[str, str]:
    """Return the fields of an indented list, each by the path of its headings; the first of a kind counts."""
    fields: dict[str, str] = {}
    above: list[tuple[int, str]] = []
    for line in block.splitlines():
        name, mark, value = line.partition(" : ")
        if not name.strip():
            continue
        depth = len(name) - len(name.lstrip())
        above = [(indent, heading) for indent, heading in above if indent < depth]
        if mark:
            fields.setdefault("/".join([*(heading for _, heading in above), name.strip()]), value.strip())
        else:
            above.append((depth, name.strip()))
    return fields


def _system(model: str | None, persistence: str | None, draft: Draft) -> None:
    """Only Windows has driver models; Linux' own tool shows one in WSL2, and has persistence there."""
    if model not in {"WDDM", "TCC", "MCDM"}:
        return
    if persistence in {"Enabled", "Disabled"}:
        draft.os.put("name", LINUX, SOURCE)
        draft.os.put("wsl", value=True, source=SOURCE)
    else:
        draft.os.put("name", WINDOWS, SOURCE)


def _xml(text: str, draft: Draft) -> list[GpuFacts]:
    if "<nvidia_smi_log>" not in text:
        return []
    head = text.partition("<gpu id=")[0]
    nvidia = draft.drivers["nvidia"]
    for tag in ("kmd_version", "driver_version"):
        version = _tag(head, tag) or ""
        nvidia.put("version", version if is_driver_version(version) else None, SOURCE)
    for tag in ("cuda_umd_version", "cuda_version"):
        match = re.match(r"\d{1,2}\.\d+", _tag(head, tag) or "")
        nvidia.put("cuda", match[0] if match else None, SOURCE)
    gpus = []
    # Read as text: the document's own entities and definitions are none of our business.
    for address, block in _XML_GPU.findall(text):
        gpu = _new(_tag(block, "product_name"), bus_address(address), _uuid(_tag(block, "uuid")))
        gpu.put("pci_id", pci_id_of(_tag(block, "pci_device_id") or ""), SOURCE)
        memory = (_tag(block.partition("<fb_memory_usage>")[2], "total") or "").partition(" ")[0]
        gpu.put("memory_mib", int(memory) if memory.isdecimal() else None, SOURCE)
        gpu.put("mig", {"Enabled": True, "Disabled": False}.get(_tag(block, "current_mig") or ""), SOURCE)
        _system(_tag(block, "current_dm"), _tag(block, "persistence_mode"), draft)
        gpus.append(gpu)
    return gpus


def _tag(text: str, name: str) -> str | None:
    match = re.search(rf"<{name}>\s*([^<]*?)\s*</{name}>", text)
    return match[1] if match and match[1] not in {"", "N/A"} else None


def _uuid(text: str | None) -> str | None:
    return text if text and text.startswith("GPU-") else None


_CELL_NAME = re.compile(r"(?:NVIDIA|Tesla|GeForce|Quadro|TITAN|GRID)\b.*")
_SHAPES = (
    ("pci.bus_id", re.compile(r"[0-9A-Fa-f]{4,8}:[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.[0-7]")),
    ("pci.device_id", re.compile(r"0x[0-9A-Fa-f]{4}10DE", re.IGNORECASE)),
    ("uuid", re.compile(r"GPU-[0-9a-f-]{36}")),
    ("driver_version", re.compile(r"\d{3}\.\d{2,3}(?:\.\d{2,3})?")),
    ("compute_cap", re.compile(r"\d{1,2}\.\d")),
    ("memory.total", re.compile(r"\d{3,} MiB")),
    ("mig.mode.current", re.compile(r"Enabled|Disabled")),
)


def _csv(text: str, draft: Draft) -> list[GpuFacts]:
    lines = [line for line in text.splitlines() if "," in line]
    head = next(
        (n for n, line in enumerate(lines) if {"name", "driver_version", "compute_cap", "uuid"} & set(_cells(line))), -1
    )
    rows = rows_of("\n".join(lines[head:]), ()) if head >= 0 and "name" in _cells(lines[head]) else []
    rows = rows or [row for line in lines if (row := _by_shape(_cells(line)))]
    gpus = []
    for number, row in enumerate(rows):
        if row.get("name") == "name":
            continue  # the headline of a second run
        for column in ("driver_version", "kmd_version"):
            version = row.get(column, "")
            draft.drivers["nvidia"].put("version", version if is_driver_version(version) else None, SOURCE)
        _system(row.get("driver_model.current"), row.get("persistence_mode"), draft)
        gpus.append(_from_answer(device_of(number, row)))
    return gpus


def _cells(line: str) -> list[str]:
    return [cell.strip().partition(" [")[0] for cell in line.split(",")]


def _by_shape(cells: list[str]) -> dict[str, str]:
    """Tell the cells of a row without a headline apart by what they look like."""
    name = next((cell for cell in cells if _CELL_NAME.fullmatch(cell)), None)
    if name is None:
        return {}
    row = {"name": name}
    for cell in cells:
        field = next((field for field, shape in _SHAPES if shape.fullmatch(cell)), None)
        if field == "memory.total" and int(cell.split()[0]) > int(row.get(field, "0").split()[0]):
            row[field] = cell  # used and free memory look alike, and are less
        elif field is not None:
            row.setdefault(field, cell)
    return row if len(row) > 1 else {}


def _from_answer(answer: DeviceAnswer) -> GpuFacts:
    gpu = _new(answer.name, answer.bus_id, answer.uuid)
    for field in ("pci_id", "compute_capability", "memory_mib", "mig"):
        gpu.put(field, getattr(answer, field), SOURCE)
    return gpu
