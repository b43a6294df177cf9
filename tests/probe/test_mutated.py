"""The machines of tests/machines, damaged: files cut, garbled, emptied, exchanged, made huge or folders.

What comes of them is a machine that can be written as JSON, with notes in place of what couldn't be read;
never an exception, and never a probe that stopped half-way.
"""

from __future__ import annotations

import json
import shutil
import tempfile
import time
from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from torchinstall.model.card import Card
from torchinstall.model.machine_json import machine_from_json, machine_to_json
from torchinstall.probe.detect import detect
from torchinstall.probe.fake import fake_system

MACHINES = Path(__file__).resolve().parent.parent / "machines"
FOLDERS = sorted(path.parent for path in MACHINES.glob("*/expected.json") if path.parent.name != "rtx4090-hung-smi")
KEPT = {"system.json", "expected.json"}
CARDS = {
    pci_id: Card(pci_id=pci_id, **row) for pci_id, row in json.loads((MACHINES / "cards.json").read_text()).items()
}


def places(folder):
    return sorted(
        path for path in folder.rglob("*") if path.is_file() and not path.is_symlink() and path.name not in KEPT
    )


@st.composite
def damages(draw):
    folder = draw(st.sampled_from(FOLDERS))
    own = places(folder)
    damaged = {}
    if not own:
        return folder, damaged
    for path in draw(st.lists(st.sampled_from(own), unique=True, min_size=1, max_size=5)):
        content = path.read_bytes()
        how = draw(st.sampled_from(["cut", "garble", "empty", "exchange", "huge", "folder", "gone", "loop", "binary"]))
        if how == "cut":
            content = content[: draw(st.integers(0, len(content)))]
        elif how == "garble":
            place = draw(st.integers(0, len(content)))
            content = content[:place] + draw(st.binary(max_size=12)) + content[place + 3 :]
        elif how == "exchange":
            content = draw(st.sampled_from(own)).read_bytes()
        elif how in {"empty", "huge", "binary"}:
            content = {"empty": b"", "huge": content * (200_000 // (len(content) + 1) + 1), "binary": b"\x00\xff" * 40}[
                how
            ]
        damaged[path.relative_to(folder)] = how if how in {"folder", "gone", "loop"} else content
    return folder, damaged


def lay_out(folder, damaged, root):
    shutil.copytree(folder, root, symlinks=True)
    for path, content in damaged.items():
        place = root / path
        mode = place.stat().st_mode
        place.unlink()
        if content == "folder":
            place.mkdir()
        elif content == "loop":
            place.symlink_to(place.name)
        elif content != "gone":
            place.write_bytes(content)
            # A script keeps its permission, so that a damaged one is started and fails.
            place.chmod(mode)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(damages())
def test_damaged_machines(drawn):
    folder, damaged = drawn
    with tempfile.TemporaryDirectory() as temporary:
        root = Path(temporary) / "machine"
        lay_out(folder, damaged, root)
        start = time.monotonic()
        machine = detect(fake_system(root), cards=CARDS.get)
        assert time.monotonic() - start < 5.5
    assert [note for note in machine.notes if "could not be probed" in note] == []
    document = machine_to_json(machine)
    assert machine_to_json(machine_from_json(json.loads(json.dumps(document)))) == document
    # A card on the bus whose own files are whole is never lost by damage elsewhere.
    for device in sorted((folder / "sys/bus/pci/devices").glob("*")):
        if any(str(path).startswith(str(device.relative_to(folder))) for path in damaged):
            continue
        vendor, code = ((device / name).read_text().strip() for name in ("vendor", "class"))
        if vendor in {"0x10de", "0x1002"} and code.startswith(("0x03", "0x12")):
            number = f"{vendor[2:]}:{(device / 'device').read_text().strip()[2:]}"
            assert number in {gpu.pci_id for gpu in machine.gpus}, number
