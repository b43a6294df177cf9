"""Measuring a wheel: what it is, for which Pythons, which variant, and which GPU code is in it."""

from __future__ import annotations

import ast
import re

from packaging.version import InvalidVersion, Version

from torchinstall.index.arch_table import read_table
from torchinstall.index.fatbin import Scan, scan
from torchinstall.index.location import canonical
from torchinstall.index.remote import MAX_DIRECTORY, RemoteWheel, RemoteWheelError
from torchinstall.index.wheelname import split_wheel_name
from torchinstall.model.measured import SASS_STREAM, SASS_TABLE, Measured
from torchinstall.model.variant import CPU, XPU, backend, toolkit

TYPE_CHECKING = False
if TYPE_CHECKING:
    from torchinstall.index.http import Client
    from torchinstall.model.sighting import WheelFile

SHARE = 0.10
"""The largest share of a wheel that is read for its GPU code, unless all of it is wanted."""
LIBRARY = "torch/lib/libtorch_cuda.so"
_TABLE_FILE = "torch/cuda/__init__.py"
_LEAST = 1_000_000
_WHOLE_S = 900.0


def measure(wheel: WheelFile, *, session: Client, code: bool = True, whole: bool = False) -> Measured:
    """Return what is inside a wheel on a server, from METADATA, version.py, the arch table and the library.

    ``code``: also the GPU code, at most a tenth of the wheel; ``whole``: all of it, which tells code that
    every kernel has from code of a few. Raises ``RemoteWheelError`` where the wheel can't be read in parts,
    or isn't what its file name says.
    """
    seconds = {"seconds": _WHOLE_S} if whole else {}
    with RemoteWheel(wheel.url, session=session, most=MAX_DIRECTORY, **seconds) as remote:
        found = _described(wheel, remote)
        cuda = toolkit(found.variant) if found.variant and backend(found.variant) == "cuda" else ""
        if code and cuda:
            found = _with_code(found, remote, cuda, whole=whole)
        return found.replace(requests=remote.meter.requests, transferred=remote.meter.transferred, size=remote.size)


def _described(wheel: WheelFile, remote: RemoteWheel) -> Measured:
    parts = split_wheel_name(wheel.filename)
    if parts is None:
        raise RemoteWheelError("its name isn't that of a wheel")
    header = _header(remote.text(f"{parts[0]}-{parts[1]}.dist-info/METADATA"))
    name = (header.get("name") or [""])[0]
    version = (header.get("version") or [""])[0]
    if canonical(name) != wheel.name or not _same(version, wheel.version):
        raise RemoteWheelError(f"its file name says {wheel.name} {wheel.version}, its metadata {name} {version}")
    module = re.sub(r"[-.]", "_", parts[0])
    inner = variant = None
    table: tuple[tuple[str, str, tuple[int, ...]], ...] = ()
    if f"{module}/version.py" in remote.names:
        said = _assignments(remote.text(f"{module}/version.py"))
        inner = said.get("__version__")
        if inner is not None and not _same(inner.partition("+")[0], wheel.version.partition("+")[0]):
            raise RemoteWheelError(f"its version.py says {inner}")
        variant = _variant(said, wheel)
    if wheel.name == "torch" and _TABLE_FILE in remote.names:
        table = read_table(remote.text(_TABLE_FILE))
    return Measured(
        filename=wheel.filename,
        url=wheel.url,
        name=wheel.name,
        version=version,
        inner=inner,
        variant=variant,
        requires_python=next(iter(header.get("requires-python", ())), None),
        requires=tuple(header.get("requires-dist") or ()),
        table=table,
    )


def _with_code(found: Measured, remote: RemoteWheel, cuda: str, *, whole: bool) -> Measured:
    declared = _from_table(found, cuda)
    read: Scan | None = None
    notes: list[str] = []
    if LIBRARY in remote.names:
        read, why = _scanned(remote, whole=whole)
        if why:
            notes.append(why)
    if read is not None and read.settled and read.full:
        if declared and set(declared) != set(read.full):
            shown = " ".join(map(str, declared))
            notes.append(f"the table in the wheel says {shown}, which isn't what the library holds")
        return found.replace(
            sass=read.full, partial=read.partial, sass_from=SASS_STREAM, full=read.whole, notes=tuple(notes)
        )
    return found.replace(sass=declared, sass_from=SASS_TABLE if declared else "", notes=tuple(notes))


def _scanned(remote: RemoteWheel, *, whole: bool) -> tuple[Scan | None, str]:
    budget = remote.size if whole else max(int(remote.size * SHARE), _LEAST)
    meter = remote.meter
    most, meter.most = meter.most, meter.transferred + remote.size if whole else budget
    try:
        return scan(remote.stream(LIBRARY), stop_early=not whole), ""
    except RemoteWheelError as error:
        return None, f"the list of GPU code isn't complete: {error}"
    finally:
        meter.most = most + meter.transferred


def _from_table(found: Measured, cuda: str) -> tuple[int, ...]:
    platform = "linux_aarch64" if found.filename.endswith("aarch64.whl") else "linux_x86_64"
    # A table that doesn't tell hosts apart holds what any of them has: that of 2.11 names sm_110, of Arm alone.
    return next((archs for version, where, archs in found.table if version == cuda and where == platform), ())


def _variant(said: dict[str, str | None], wheel: WheelFile) -> str | None:
    local = (said.get("__version__") or "").partition("+")[2] or wheel.version.partition("+")[2]
    if backend(local):
        return local
    if any(tag.startswith("macosx") for tag in wheel.platform):
        return "mps" if any(tag.endswith("arm64") for tag in wheel.platform) else CPU
    if cuda := said.get("cuda"):
        return "cu" + cuda.replace(".", "")
    if hip := said.get("hip"):
        return "rocm" + ".".join(hip.split(".")[:2])
    if said.get("xpu"):
        return XPU
    return CPU if "cuda" in said else None


def _assignments(source: str) -> dict[str, str | None]:
    """Return the plain texts that a module assigns at its top level; ``None`` where it assigns none."""
    try:
        body = ast.parse(source).body
    except (SyntaxError, ValueError, MemoryError, RecursionError) as error:
        raise RemoteWheelError(f"its version.py isn't Python ({type(error).__name__})") from error
    found: dict[str, str | None] = {}
    for node in body:
        targets = (
            node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
        )
        value = getattr(node, "value", None)
        if isinstance(value, ast.Constant) and (value.value is None or isinstance(value.value, str)):
            found.update({target.id: value.value for target in targets if isinstance(target, ast.Name)})
    return found


def _header(text: str) -> dict[str, list[str]]:
    """Return the fields of METADATA by lower-case name; the description below is left out."""
    fields: dict[str, list[str]] = {}
    for line in text.replace("\r\n", "\n").partition("\n\n")[0].splitlines():
        name, colon, value = line.partition(":")
        if colon and not line[:1].isspace():
            fields.setdefault(name.strip().lower(), []).append(value.strip())
    return fields


def _same(left: str, right: str) -> bool:
    try:
        return Version(left) == Version(right)
    except InvalidVersion:
        return False
