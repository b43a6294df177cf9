"""Machine values to JSON and back. Unknown is left out; a reader takes any part as absent."""

from __future__ import annotations

from torchinstall.errors import MachineFileError
from torchinstall.model.machine import (
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
from torchinstall.model.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any, TypeVar

    V = TypeVar("V", bound=Value)

SCHEMA = 1

_DRIVERS: dict[str, type[Value]] = {
    "nvidia": NvidiaDriver,
    "amd": AmdDriver,
    "intel": IntelDriver,
    "ascend": AscendDriver,
}
_BOOLS = {
    "wsl",
    "free_threaded",
    "externally_managed",
    "build",
    "gpu_access",
    "integrated",
    "visible",
    "mig",
    "dkms",
}
_INTS = {"memory_mib", "bits"}


def machine_to_json(machine: Machine) -> dict[str, Any]:
    """Return the Machine JSON document (schema 1); what is unknown is left out."""
    document: dict[str, Any] = {"schema": SCHEMA, "os": _known(machine.os), "arch": machine.arch}
    document["python"] = _known(machine.python)
    document["container"] = _known(machine.container) if machine.container else None
    document["gpus"] = None if machine.gpus is None else [_known(gpu) for gpu in machine.gpus]
    document["drivers"] = {name: _known(driver) for name in _DRIVERS if (driver := getattr(machine, name)) is not None}
    document["jetson"] = _known(machine.jetson) if machine.jetson else None
    if machine.hpc:
        document["hpc"] = machine.hpc
    if machine.declared:
        document["declared"] = True
    document["installed"] = dict(machine.installed)
    if machine.installed_by:
        document["installed_by"] = dict(machine.installed_by)
    document["environment"] = dict(machine.environment)
    document["sources"] = dict(machine.sources)
    if machine.notes:
        document["notes"] = list(machine.notes)
    return document


def machine_from_json(document: object) -> Machine:
    """Read a Machine JSON document.

    Raises ``MachineFileError`` where a field has a value of the wrong type,
    naming the field. Fields that are unknown to this version are passed over.
    """
    top = _mapping(document, "the document")
    schema = top.get("schema", SCHEMA)
    if schema != SCHEMA:
        raise MachineFileError(
            f"machine JSON has schema {schema!r}",
            why=f"this torchinstall reads schema {SCHEMA}",
            todo=["make the file anew with `torchinstall detect --json`"],
        )
    drivers = _mapping(top.get("drivers") or {}, "drivers")
    parts: dict[str, Any] = {
        name: _record(cls, drivers[name], f"drivers.{name}")
        for name, cls in _DRIVERS.items()
        if drivers.get(name) is not None
    }
    gpus = top.get("gpus")
    if gpus is not None:
        if not isinstance(gpus, list):
            raise _wrong("gpus", "a list", gpus)
        parts["gpus"] = tuple(_record(Gpu, gpu, f"gpus[{i}]") for i, gpu in enumerate(gpus))
    for name, cls in (("os", Os), ("python", Python), ("container", Container), ("jetson", Jetson)):
        if top.get(name) is not None:
            parts[name] = _record(cls, top[name], name)
    parts.update(_free_threaded(parts.get("python")))
    for name in ("installed", "installed_by", "environment", "sources"):
        if top.get(name) is not None:
            parts[name] = _strings(top[name], name)
    notes = top.get("notes") or []
    if not isinstance(notes, list):
        raise _wrong("notes", "a list", notes)
    return Machine(
        arch=_text(top.get("arch"), "arch"),
        hpc=_text(top.get("hpc"), "hpc"),
        declared=top.get("declared") is True,
        notes=tuple(printable(str(note)) for note in notes),
        **parts,
    )


def _free_threaded(python: Python | None) -> dict[str, Python]:
    """Return the Python of which ``3.14t`` was said, as a plan says it, with the mark where it belongs."""
    version = python.version if python is not None else None
    if python is None or not version or not version.endswith("t") or not version[:-1].replace(".", "").isdecimal():
        return {}
    return {"python": python.replace(version=version[:-1], free_threaded=True)}


def _known(value: Value) -> dict[str, Any]:
    return {
        name: list(item) if isinstance(item, tuple) else item
        for name, item in value.__dict__.items()
        if item is not None and item != ()
    }


def _mapping(item: object, where: str) -> Mapping[str, Any]:
    if not isinstance(item, dict):
        raise _wrong(where, "an object", item)
    return item


def _record(cls: type[V], item: object, where: str) -> V:
    fields = _mapping(item, where)
    values: dict[str, Any] = {}
    for name in cls._fields:
        value = fields.get(name)
        if value is None:
            continue
        if name in _BOOLS:
            if not isinstance(value, bool):
                raise _wrong(f"{where}.{name}", "true or false", value)
            values[name] = value
        elif name in _INTS:
            if isinstance(value, bool) or not isinstance(value, int):
                raise _wrong(f"{where}.{name}", "a whole number", value)
            values[name] = value
        elif name == "evidence":
            values[name] = tuple(printable(str(line)) for line in value) if isinstance(value, list) else ()
        else:
            values[name] = _text(value, f"{where}.{name}")
    if "vendor" in cls._fields and "vendor" not in values:
        raise MachineFileError(
            f"{where} has no vendor",
            why="an accelerator without its maker can't be matched with a wheel",
            todo=['add "vendor": nvidia, amd, intel, ascend or apple'],
        )
    return cls(**values)


def _strings(item: object, where: str) -> dict[str, str]:
    return {
        printable(str(key)): printable(str(value)) for key, value in _mapping(item, where).items() if value is not None
    }


def _text(value: object, where: str) -> str | None:
    if value is None:
        return None
    if not isinstance(value, str):
        raise _wrong(where, "a string", value)
    return printable(value)


def printable(text: str) -> str:
    """Return text that can be shown: what moves a cursor, ends a line or isn't a character becomes a space."""
    return text if text.isprintable() else "".join(sign if sign.isprintable() else " " for sign in text)


def _wrong(where: str, wanted: str, value: object) -> MachineFileError:
    return MachineFileError(
        f"{where} is {value!r:.60}",
        why=f"{wanted} is expected there",
        todo=["compare with the output of `torchinstall detect --json`"],
    )
