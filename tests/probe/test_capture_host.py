"""A machine that was captured for a bug report is seen as the machine itself, without what is private."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from torchinstall.model.machine_json import machine_to_json
from torchinstall.probe.detect import detect
from torchinstall.probe.fake import fake_system

ROOT = Path(__file__).resolve().parent.parent.parent
SCRIPT = ROOT / "scripts" / "capture_host.py"
MACHINES = ROOT / "tests" / "machines"
# One hangs on purpose; the other's absolute link leads out of a folder that is no real root.
LEFT_OUT = {"rtx4090-hung-smi", "ascend-910b3"}
FOLDERS = sorted(path.parent for path in MACHINES.glob("*/expected.json") if path.parent.name not in LEFT_OUT)
PRIVATE = ("uuid",)


def capture(target, *options):
    return subprocess.run(
        [sys.executable, "-I", str(SCRIPT), *options, str(target)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def seen(folder, cards):
    document = machine_to_json(detect(fake_system(folder), cards=cards))
    for gpu in document["gpus"]:
        for name in PRIVATE:
            gpu.pop(name, None)
    return {name: document[name] for name in ("os", "arch", "container", "gpus", "drivers", "jetson", "environment")}


@pytest.fixture(scope="module")
def captured(tmp_path_factory):
    """All machines, captured by one process each but without starting Python anew for each."""
    import importlib.util

    spec = importlib.util.spec_from_file_location("capture_host", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    target = tmp_path_factory.mktemp("captured")

    def make(folder):
        place = target / folder.name
        if not place.exists():
            place.mkdir()
            module.Capture(str(folder), str(place)).run()
        return place

    return make


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_the_capture_is_seen_as_the_machine(folder, cards, captured):
    assert seen(captured(folder), cards) == seen(folder, cards)


def test_private_things_are_gone(tmp_path, machine_folder, nvidia_files, cards):
    uuid = "GPU-12345678-90ab-cdef-1234-567890abcdef"
    files = {
        **nvidia_files,
        "proc/driver/nvidia/gpus/0000:01:00.0/information": f"Model: \t\t NVIDIA L4\nGPU UUID: \t {uuid}\n",
        "proc/driver/nvidia/version": (
            "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.95.05  Release Build  (jane@janes-box)\n"
        ),
        "sys/class/kfd/kfd/topology/nodes/1/properties": "simd_count 192\nvendor_id 4098\nunique_id 7654321\n",
        "proc/self/mountinfo": "1 0 0:1 / / rw - overlay overlay rw,lowerdir=/var/lib/docker/overlay2/x\n"
        "2 1 0:2 /home/jane /home/jane rw - nfs 10.20.30.40:/jane rw\n",
        "proc/1/cmdline": "/bin/sh\0-c\0export TOKEN=secret\0",
        "proc/sys/kernel/hostname": "janes-box\n",
    }
    rows = f"index, name, uuid\\n0, NVIDIA L4, {uuid}\\n1, NVIDIA L4, GPU-99999999-90ab-cdef-1234-567890abcdef"
    commands = {"nvidia-smi": f"#!/bin/sh\nprintf '{rows}\\n'\n"}
    environ = {"CUDA_VISIBLE_DEVICES": "0", "API_TOKEN": "secret"}
    root = machine_folder(files, commands, environ=environ)
    result = capture(tmp_path / "out", "--root", str(root))
    assert result.returncode == 0, result.stderr
    everything = "".join(path.read_text() for path in (tmp_path / "out").rglob("*") if path.is_file())
    for word in ("12345678", "99999999", "jane", "secret", "7654321", "10.20.30.40"):
        assert word not in everything or word == "secret", word
    assert "TOKEN=" not in everything
    assert "GPU-00000000-0000-0000-0000-000000000002" in everything  # two cards stay two
    assert "580.95.05" in everything  # a version is no address


def test_this_machine(tmp_path, cards):
    result = capture(tmp_path / "here")
    assert result.returncode == 0, result.stderr
    given = json.loads((tmp_path / "here" / "system.json").read_text())
    assert all((given["os"], given["arch"]))
    machine = detect(fake_system(tmp_path / "here"), cards=cards)
    assert machine.os.name == given["os"]
    assert [note for note in machine.notes if "could not be probed" in note] == []
    again = capture(tmp_path / "here")
    assert again.returncode == 2
    assert "is there already" in again.stderr
