"""Every folder under tests/machines is a machine; what must be seen there stands in its expected.json."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from torchinstall.model.machine_json import machine_from_json, machine_to_json
from torchinstall.probe.detect import detect
from torchinstall.probe.fake import fake_system
from torchinstall.probe.system import real_system

MACHINES = Path(__file__).resolve().parent.parent / "machines"
FOLDERS = sorted(path.parent for path in MACHINES.glob("*/expected.json"))


def differences(expected, found, where=""):
    """Name every place where the expected part isn't what was found; ``None`` expects an unknown fact."""
    if isinstance(expected, dict) and isinstance(found, dict):
        return [
            line for key, value in expected.items() for line in differences(value, found.get(key), f"{where}.{key}")
        ]
    if isinstance(expected, list) and isinstance(found, list) and len(expected) == len(found):
        pairs = enumerate(zip(expected, found, strict=True))
        return [line for number, (e, f) in pairs for line in differences(e, f, f"{where}[{number}]")]
    return [] if expected == found else [f"{where}: expected {expected!r}, found {found!r}"]


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_machine(folder, cards, monkeypatch):
    # Whatever the real machine's variables say must not matter.
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "7")
    monkeypatch.setenv("CUDA_VERSION", "99.9")
    expected = json.loads((folder / "expected.json").read_text())
    document = machine_to_json(detect(fake_system(folder), cards=cards))
    assert differences(expected, document) == []
    # What is printed can be read again, and names its sources.
    again = machine_to_json(machine_from_json(json.loads(json.dumps(document))))
    assert again == document
    for number, gpu in enumerate(document["gpus"]):
        unsourced = [name for name in gpu if name != "vendor" and f"gpus[{number}].{name}" not in document["sources"]]
        assert unsourced == []


def test_there_are_machines():
    assert len(FOLDERS) >= 100


def test_difference_is_seen():
    assert differences({"a": [{"b": 1}]}, {"a": [{"b": 2}]}) == [".a[0].b: expected 1, found 2"]
    assert differences({"a": None}, {"a": 1}) == [".a: expected None, found 1"]
    assert differences({"a": [1]}, {"a": [1, 2]}) != []


def test_this_machine_agrees_with_its_own_files(cards):
    """The real path runs the same probes: os, C library and architecture are those of the running process."""
    machine = detect(real_system(os.environ), cards=cards)
    assert machine.os.name in {"linux", "macos", "windows"}
    assert machine.arch
    if machine.os.name == "linux":
        assert machine.os.kernel == os.uname().release
        assert (machine.os.glibc is None) != (machine.os.musl is None)
    if not Path("/sys/bus/pci/devices").is_dir() or machine.gpus:
        pytest.skip("no PCI bus, or accelerators here")
    box = machine.container
    assert machine.nvidia is None
    assert box is None or box.build or box.evidence == ()
