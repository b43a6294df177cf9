"""Any mixture of missing, broken and contradictory files gives facts and notes, never an exception."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from torchinstall.model.card import Card
from torchinstall.model.machine_json import machine_from_json, machine_to_json
from torchinstall.probe.detect import detect
from torchinstall.probe.fake import fake_system

DEVICE = "sys/bus/pci/devices/0000:01:00.0"
NODE = "sys/class/kfd/kfd/topology/nodes/1/properties"
PLACES = {
    f"{DEVICE}/vendor": [b"0x10de\n", b"0x1002\n", b"0x8086\n", b"0x19e5\n", b"0x1d94\n"],
    f"{DEVICE}/device": [b"0x2684\n", b"0x744c\n", b"0xffff\n"],
    f"{DEVICE}/class": [b"0x030000\n", b"0x120000\n", b"0x020000\n"],
    f"{DEVICE}/driver": ["link:../../../../bus/pci/drivers/nvidia", "link:driver", "link:", b""],
    f"{DEVICE}/mem_info_vram_total": [b"8589934592\n", b"-1\n"],
    "sys/module/nvidia/version": [b"580.95.05\n", b"580\n"],
    "proc/driver/nvidia/version": [b"NVRM version: NVIDIA UNIX x86_64 Kernel Module  580.95.05  Tue Sep 23\n"],
    "proc/driver/nvidia/gpus/0000:01:00.0/information": [b"Model: \t\t NVIDIA L4\nBus Location: \t 0000:02:00.0\n"],
    "proc/driver/nvidia/gpus/elsewhere/information": [b"Model:\n"],
    "dev/nvidiactl": [b""],
    "dev/nvidia0": [b""],
    "dev/dxg": [b""],
    "dev/kfd": [b""],
    "dev/davinci0": [b""],
    "dev/dri/renderD128": [b""],
    "lib/libnvidia-ml.so.1": [b"not a library"],
    NODE: [
        b"simd_count 192\nvendor_id 4098\ngfx_target_version 110000\nlocation_id 256\n",
        b"vendor_id 4098\nsimd_count",
    ],
    "sys/module/amdgpu/version": [b"6.16.6\n"],
    "opt/rocm/.info/version": [b"7.2.0-43\n"],
    "etc/os-release": [b'NAME="Ubuntu"\nVERSION_ID="22.04"\n', b"====\n=\nNAME"],
    "etc/nv_tegra_release": [b"# R36 (release), REVISION: 4.3, GCID: 1\n", b"# R (release), REVISION: \n"],
    "proc/device-tree/compatible": [b"nvidia,p3737\0nvidia,tegra234\0"],
    "usr/local/Ascend/driver/version.info": [b"Version=25.2.0\n"],
    "run/.containerenv": [b'engine="buildah-1.28.2"\n', b""],
    ".dockerenv": [b""],
    "proc/1/cmdline": [b"/bin/sh\0-c\0x\0", b"\0\0\0"],
    "proc/1/cgroup": [b"0::/docker/abc\n"],
    "proc/self/mountinfo": [
        b"1 0 0:1 / / rw - overlay overlay rw,lowerdir=/var/lib/docker/overlay2/x\n",
        b"\n \n1 2\n",
    ],
    "etc/hosts": [b"127.0.0.1 localhost buildkitsandbox\n"],
    "usr/bin/ldd": [b"ldd (GNU libc) 2.35\n", b"ldd (((\n"],
    "lib/apk/db/installed": [b"P:musl\nV:1.2.5-r0\n", b"P:musl\nV:\n"],
    "lib/ld-musl-x86_64.so.1": [b"\x7fELF\0"],
}
BINARIES = {
    "nvidia-smi": ["#!/bin/sh\necho 'index, name'\necho '0, Some card, more'\n", "#!/bin/sh\nexit 9\n", "no program"],
    "npu-smi": [
        "#!/bin/sh\necho '| 0     910B3   | OK | 1 / 2 |'\necho '| 0 | 0000:C1:00.0 | 0 / 0 |'\n",
        "#!/bin/sh\nexit 1\n",
    ],
    "sbatch": ["#!/bin/sh\n"],
}
GARBAGE = st.binary(max_size=80)
ENVIRON = st.dictionaries(
    st.sampled_from(
        ["CUDA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "CUDA_VERSION", "ROCM_PATH", "ASCEND_HOME_PATH", "container"]
    ),
    st.sampled_from(["", "-1", "0", "0,1", "GPU-", "MIG-x", "/", "relative", "void", "\u00e9\u00e8", ","]),
    max_size=3,
)


@st.composite
def machines(draw):
    files = {}
    for path in draw(st.lists(st.sampled_from(sorted(PLACES)), unique=True, max_size=14)):
        files[path] = draw(st.sampled_from(PLACES[path]) | GARBAGE | st.just("folder"))
    commands = {
        name: draw(st.sampled_from(BINARIES[name]))
        for name in draw(st.sets(st.sampled_from(sorted(BINARIES)), max_size=1))
    }
    kernel = draw(st.sampled_from([None, "6.8.0", "5.15.0-microsoft-standard-WSL2", "x"]))
    return (
        files,
        commands,
        {"kernel": kernel, "environ": draw(ENVIRON), "arch": draw(st.sampled_from([None, "x86_64", "?"]))},
    )


def lay_out(root, files, commands):
    for path, content in files.items():
        place = root / path
        place.parent.mkdir(parents=True, exist_ok=True)
        if content == "folder":
            place.mkdir(exist_ok=True)
        elif isinstance(content, str):
            place.symlink_to(content.removeprefix("link:") or "nowhere")
        else:
            place.write_bytes(content)
    for name, content in commands.items():
        place = root / "bin" / name
        place.parent.mkdir(exist_ok=True)
        place.write_text(content)
        place.chmod(0o755)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(machines())
def test_never_an_exception(drawn):
    files, commands, system = drawn
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        lay_out(root, files, commands)
        (root / "system.json").write_text(
            json.dumps({key: value for key, value in system.items() if value is not None})
        )
        machine = detect(fake_system(root), cards={"10de:2684": Card(vendor="nvidia", name="RTX 4090")}.get)
    # None of this is strange enough to stop a probe half-way: what is unusable is passed over, not tripped over.
    assert [note for note in machine.notes if "could not be probed" in note] == []
    assert machine_from_json(json.loads(json.dumps(machine_to_json(machine)))).gpus == machine.gpus
    vendor, code = files.get(f"{DEVICE}/vendor"), files.get(f"{DEVICE}/class")
    device = files.get(f"{DEVICE}/device")
    if vendor == b"0x10de\n" and code == b"0x030000\n" and device == b"0x2684\n":
        assert any(gpu.pci_id == "10de:2684" for gpu in machine.gpus)
        assert machine.nvidia is not None
