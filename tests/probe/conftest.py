from __future__ import annotations

import json
from pathlib import Path

import pytest

from torchinstall.model.card import Card

MACHINES = Path(__file__).resolve().parent.parent / "machines"


@pytest.fixture(scope="session")
def cards():
    """A table of cards of the tests' own: from a PCI id, or the name of a Tegra SoC, to a card."""
    rows = json.loads((MACHINES / "cards.json").read_text())
    table = {pci_id: Card(pci_id=pci_id, **row) for pci_id, row in rows.items()}
    return table.get


@pytest.fixture
def machine_folder(tmp_path):
    """A bare Linux machine to which a test adds what it is about: ``machine_folder(files, commands, **system)``."""

    def make(files=None, commands=None, links=None, **system):
        root = tmp_path / "machine"
        root.mkdir()
        given = {"os": "linux", "arch": "x86_64", "kernel": "6.8.0-49-generic", "glibc": "2.35", **system}
        (root / "system.json").write_text(json.dumps(given))
        for path, content in {"dev/null": "", **(files or {})}.items():
            place = root / path
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(content if isinstance(content, bytes) else content.encode())
        for name, content in (commands or {}).items():
            place = root / "bin" / name
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(content)
            place.chmod(0o755)
        for path, target in (links or {}).items():
            place = root / path
            place.parent.mkdir(parents=True, exist_ok=True)
            place.symlink_to(target)
        return root

    return make


@pytest.fixture
def nvidia_files():
    """The files of one RTX 4090 (10de:2684) with the open 580.95.05 driver, at 0000:01:00.0."""
    device = "sys/bus/pci/devices/0000:01:00.0"
    return {
        f"{device}/vendor": "0x10de\n",
        f"{device}/device": "0x2684\n",
        f"{device}/class": "0x030000\n",
        "sys/module/nvidia/version": "580.95.05\n",
        "proc/driver/nvidia/version": (
            "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.95.05  Release Build  (builder@host)\n"
        ),
        "dev/nvidiactl": "",
        "dev/nvidia0": "",
    }
