"""nvidia-smi's query mode, for where NVML can't be loaded (a musl Python, a driver in an unusual place).

The banner is never read: its words changed with branch 610, and its "CUDA version" is no property of the machine.
"""

from __future__ import annotations

from torchinstall.model.value import Value
from torchinstall.model.version import is_driver_version
from torchinstall.probe.native import WSL_FOLDER, DeviceAnswer
from torchinstall.probe.pci import NVIDIA, bus_address

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from torchinstall.probe.process import Result
    from torchinstall.probe.system import System

_FIELDS: tuple[str, ...] = (
    "index",
    "name",
    "uuid",
    "pci.bus_id",
    "pci.device_id",
    "driver_version",
    "compute_cap",
    "memory.total",
    "mig.mode.current",
)
_OLD_FIELDS = tuple(field for field in _FIELDS if field != "compute_cap")
"""Releases up to 470 don't know compute_cap; it is the tool's age that counts, not the driver's."""

_NOT_A_FIELD = 2
NOT_FOUND = 6
NOT_LOADED = 9


class SmiAnswer(Value):
    """What nvidia-smi answered. ``rc`` as documented in its manual; ``text`` its complaint, first line."""

    rc: int | None
    driver: str | None = None
    gpus: tuple[DeviceAnswer, ...] = ()
    text: str = ""

    @property
    def mismatch(self) -> bool:
        """Whether it complained that kernel module and library are of different releases."""
        return "version mismatch" in self.text.lower()


def nvidia_smi_gpus(system: System) -> SmiAnswer | None:
    """Ask nvidia-smi for its devices; ``None`` where there is no such command."""
    result = _query(system, _FIELDS)
    if result is None:
        return None
    fields = _FIELDS
    if result.rc == _NOT_A_FIELD or "not a valid field" in result.out + result.err:
        fields = _OLD_FIELDS
        result = _query(system, fields) or result
    if result.rc != 0:
        complaint = (result.out.strip() or result.err.strip() or result.ending()).splitlines()[0].strip()
        said = "" if complaint == result.ending() else f": {complaint}"
        system.note(f"nvidia-smi failed ({result.ending()}){said}")
        return SmiAnswer(rc=result.rc, text=complaint)
    rows = rows_of(result.out, fields)
    if not rows and result.out.strip():
        system.note("nvidia-smi's answer has no form that is known here")
    driver = next((row["driver_version"] for row in rows if is_driver_version(row.get("driver_version", ""))), None)
    return SmiAnswer(rc=0, driver=driver, gpus=tuple(device_of(number, row) for number, row in enumerate(rows)))


def _query(system: System, fields: tuple[str, ...]) -> Result | None:
    return system.run(["nvidia-smi", f"--query-gpu={','.join(fields)}", "--format=csv"], extra=(WSL_FOLDER,))


def rows_of(text: str, fields: tuple[str, ...]) -> list[dict[str, str]]:
    """Return the rows of the CSV by field name; a headline, if there is one, names the columns."""
    lines = [[cell.strip() for cell in line.split(",")] for line in text.splitlines() if "," in line]
    columns = list(fields)
    if lines and "name" in lines[0]:
        columns = [cell.partition(" [")[0] for cell in lines.pop(0)]
    return [dict(zip(columns, cells, strict=True)) for cells in lines if len(cells) == len(columns)]


def device_of(number: int, row: Mapping[str, str]) -> DeviceAnswer:
    """Return the device of one row; ``number`` is its place where the row doesn't tell."""
    # "[N/A]", "[Not Supported]" and "[Unknown Error]" stand where a card has no answer.
    known = {key: value for key, value in row.items() if value and not value.startswith("[") and value != "N/A"}
    index, device = known.get("index", ""), known.get("pci.device_id", "").lower()
    memory = known.get("memory.total", "").split(" ")[0]
    capability = known.get("compute_cap", "")
    return DeviceAnswer(
        index=int(index) if index.isdigit() else number,
        name=known.get("name"),
        uuid=known.get("uuid"),
        bus_id=bus_address(known.get("pci.bus_id", "")),
        pci_id=pci_id_of(device),
        compute_capability=capability if capability.replace(".", "", 1).isdigit() else None,
        memory_mib=int(memory) if memory.isdigit() else None,
        mig={"Enabled": True, "Disabled": False}.get(known.get("mig.mode.current", "")),
    )


def pci_id_of(number: str) -> str | None:
    """Return ``10de:2684`` for ``0x268410DE``: the device in the upper half, the vendor in the lower."""
    digits = number.lower().removeprefix("0x")
    if len(digits) != len("268410de") or not digits.endswith(NVIDIA):
        return None  # cloud machines have been seen to answer 0
    return f"{digits[4:]}:{digits[:4]}"
