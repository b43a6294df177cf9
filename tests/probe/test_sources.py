"""Single sources: parsers and small rules on text in the real formats."""

from __future__ import annotations

import time

import pytest

from torchinstall.probe.amd import gfx_target
from torchinstall.probe.detect import detect
from torchinstall.probe.fake import fake_system
from torchinstall.probe.nvidia_files import procfs_driver, procfs_gpus
from torchinstall.probe.osinfo import architecture
from torchinstall.probe.pci import bus_address
from torchinstall.probe.smi import nvidia_smi_gpus, rows_of
from torchinstall.probe.windows import CLASS, adapter, nvidia_release


@pytest.mark.parametrize(
    ("line", "version", "module"),
    [
        ("NVRM version: NVIDIA UNIX x86_64 Kernel Module  390.48  Thu Mar 22 00:42:57 PDT 2018", "390.48", "closed"),
        ("NVRM version: NVIDIA UNIX x86 Kernel Module  169.12  Thu Feb 14 17:53:07 PST 2008", "169.12", "closed"),
        ("NVRM version:  NVIDIA UNIX Open Kernel Module for x86_64  515.57  Release Build", "515.57", "open"),
        (
            "NVRM version: NVIDIA UNIX Open Kernel Module for aarch64  580.95.05  Release Build  (a@b)",
            "580.95.05",
            "open",
        ),
        ("NVRM version: something else entirely", None, None),
        ("", None, None),
    ],
)
def test_procfs_driver(machine_folder, line, version, module):
    system = fake_system(machine_folder({"proc/driver/nvidia/version": f"{line}\nGCC version:  gcc version 12.2.0\n"}))
    assert procfs_driver(system) == (version, module)


def test_captured_proc_files(shared, machine_folder):
    """The captured files of many releases, where they are at hand."""
    files = sorted((shared / "fixtures" / "proc-driver-nvidia-version").glob("*.txt"))
    if not files:
        pytest.skip("no captures")
    root = machine_folder({"proc/driver/nvidia/version": ""})
    for path in files:
        (root / "proc/driver/nvidia/version").write_bytes(path.read_bytes())
        version, module = procfs_driver(fake_system(root))
        kind, _, rest = path.stem.partition("-")
        assert version == rest.split("-")[0], path.name
        assert module == ("open" if kind == "open" else "closed"), path.name


def test_captured_smi_rows(shared):
    files = sorted((shared / "fixtures" / "nvidia-smi-query").glob("*.csv"))
    if not files:
        pytest.skip("no captures")
    for path in files:
        rows = rows_of(path.read_text(), ("name",))
        assert rows, path.name
        assert all(row["name"].startswith("NVIDIA ") and row["driver_version"][:1].isdigit() for row in rows), path.name


def test_procfs_gpus(machine_folder):
    base = "proc/driver/nvidia/gpus"
    system = fake_system(
        machine_folder(
            {
                f"{base}/0000:01:00.0/information": "Model: \t\t Unknown\nGPU UUID: \t GPU-????????-????-????\n",
                f"{base}/0000:0B:00.0/information": (
                    "Model: \t\t NVIDIA L4\nBus Location: \t 0000:0b:00.0\nGPU Excluded:\t Yes\n"
                ),
            }
        )
    )
    first, second = procfs_gpus(system)
    assert (first.bus_id, first.name, first.uuid, first.excluded) == ("0000:01:00.0", None, None, False)
    assert (second.bus_id, second.name, second.excluded) == ("0000:0b:00.0", "NVIDIA L4", True)


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("00000000:0C:00.0", "0000:0c:00.0"),
        ("0000:01:00.0", "0000:01:00.0"),
        ("01:00.0", "0000:01:00.0"),
        ("00010000:3d:00.0", "10000:3d:00.0"),
        ("N/A", None),
        ("", None),
    ],
)
def test_bus_address(text, address):
    assert bus_address(text) == address


@pytest.mark.parametrize(
    ("number", "name"),
    [(90010, "gfx90a"), (110000, "gfx1100"), (90402, "gfx942"), (120001, "gfx1201"), (0, None), (-1, None)],
)
def test_gfx_target(number, name):
    assert gfx_target(number) == name


@pytest.mark.parametrize(
    ("system", "given", "arch"),
    [
        ("linux", "amd64", "x86_64"),
        ("linux", "arm64", "aarch64"),
        ("linux", "aarch64", "aarch64"),
        ("linux", "riscv64", "riscv64"),
        ("macos", "arm64", "arm64"),
        ("windows", "AMD64", "x86_64"),
        ("windows", "ARM64", "arm64"),
    ],
)
def test_architecture(machine_folder, system, given, arch):
    assert architecture(fake_system(machine_folder(os=system, arch=given))) == arch


def test_rosetta_is_told(machine_folder, cards):
    script = '#!/bin/sh\n[ "$2" = sysctl.proc_translated ] && echo 1\n'
    machine = detect(fake_system(machine_folder(commands={"sysctl": script}, os="macos", arch="x86_64")), cards=cards)
    assert machine.arch == "arm64"
    assert [gpu.vendor for gpu in machine.gpus] == ["apple"]
    assert any("Rosetta" in note for note in machine.notes)


def test_smi_without_headline(machine_folder):
    row = "0, NVIDIA L4, GPU-aa, 00000000:70:00.0, 0x27B810DE, 595.80, 8.9, 23034 MiB, [N/A]"
    answer = nvidia_smi_gpus(fake_system(machine_folder(commands={"nvidia-smi": f"#!/bin/sh\necho '{row}'\n"})))
    (gpu,) = answer.gpus
    assert (gpu.name, gpu.bus_id, gpu.pci_id, gpu.compute_capability) == (
        "NVIDIA L4",
        "0000:70:00.0",
        "10de:27b8",
        "8.9",
    )
    assert (gpu.memory_mib, gpu.mig, answer.driver) == (23034, None, "595.80")


@pytest.mark.parametrize("text", ["echo 'Mon Nov 30 | NVIDIA-SMI 580 | CUDA Version: 13.0'", "true", "echo ',,,'"])
def test_smi_that_answers_something_else_is_no_fact(machine_folder, text):
    answer = nvidia_smi_gpus(fake_system(machine_folder(commands={"nvidia-smi": f"#!/bin/sh\n{text}\n"})))
    assert (answer.gpus, answer.driver) == ((), None)


def test_windows_hardware_ids():
    device = adapter({"MatchingDeviceId": r"pci\ven_10de&dev_2684&subsys_16f110de&rev_a1"})
    assert device.pci_id == "10de:2684"
    assert adapter({"MatchingDeviceId": r"ROOT\BasicRender"}) is None


@pytest.mark.parametrize(
    ("number", "release"),
    [
        ("32.0.15.8129", "581.29"),
        ("31.0.15.3713", "537.13"),
        ("30.0.14.7141", "471.41"),
        ("27.21.14.5256", "452.56"),
        ("32.0.15.708", "507.08"),
        ("32.0.101", None),
        ("", None),
        (None, None),
    ],
)
def test_driver_numbers_of_windows(number, release):
    assert nvidia_release(number) == release


@pytest.mark.parametrize("text", ["", "[", "[]", '{"a": 1}', '{"%s": 7}', '{"%s": [7]}', '{"%s": [{"DriverDesc": 7}]}'])
def test_broken_registry_is_no_exception(machine_folder, cards, text):
    content = text.replace("%s", CLASS.replace("\\", "\\\\"))
    machine = detect(fake_system(machine_folder({"registry.json": content}, os="windows", arch="AMD64")), cards=cards)
    assert machine.gpus == ()
    assert [note for note in machine.notes if "could not be probed" in note] == []


def test_rocminfo_confirms_where_the_kernel_does_not_tell(machine_folder, cards):
    device = "sys/bus/pci/devices/0000:05:00.0"
    files = {f"{device}/vendor": "0x1002\n", f"{device}/device": "0x7530\n", f"{device}/class": "0x120000\n"}
    agent = "Agent 1\n  Name: gfx1250\n  Device Type: GPU\n  BDFID: 1280\n"
    script = f"#!/bin/sh\ncat <<'END'\n{agent}END\n"
    machine = detect(fake_system(machine_folder(files, {"rocminfo": script})), cards=cards)
    assert [(gpu.gfx, gpu.pci_id) for gpu in machine.gpus] == [("gfx1250", "1002:7530")]
    assert machine.sources["gpus[0].gfx"] == "rocminfo"


def test_rocminfo_is_not_run_for_what_the_kernel_tells(machine_folder, cards, tmp_path):
    node = "simd_count 192\nvendor_id 4098\ndevice_id 29772\ngfx_target_version 110000\nlocation_id 768\n"
    mark = tmp_path / "ran"
    folder = machine_folder(
        {"sys/class/kfd/kfd/topology/nodes/1/properties": node}, {"rocminfo": f"#!/bin/sh\ntouch {mark}\n"}
    )
    machine = detect(fake_system(folder), cards=cards)
    assert [gpu.gfx for gpu in machine.gpus] == ["gfx1100"]
    assert not mark.exists()


def test_hung_tools_cost_their_limit_and_a_note(machine_folder, cards):
    device = "sys/bus/pci/devices/0000:05:00.0"
    files = {f"{device}/vendor": "0x1002\n", f"{device}/device": "0x7530\n", f"{device}/class": "0x120000\n"}
    files |= {"dev/davinci0": "", "dev/nvidiactl": "", "dev/nvidia0": ""}
    hung = "#!/bin/sh\nexec sleep 60\n"
    folder = machine_folder(files, {"rocminfo": hung, "npu-smi": hung, "nvidia-smi": hung})
    start = time.monotonic()
    machine = detect(fake_system(folder), cards=cards)
    assert time.monotonic() - start < 5
    assert sorted(gpu.vendor for gpu in machine.gpus) == ["amd", "ascend", "nvidia"]
    assert len([note for note in machine.notes if "no answer in time" in note]) == 3


def test_amd_masks_stack(machine_folder, cards):
    node = "simd_count 192\nvendor_id 4098\ndevice_id 29772\ngfx_target_version 110000\ndomain 0\nlocation_id {}\n"
    nodes = {f"sys/class/kfd/kfd/topology/nodes/{n}/properties": node.format(n << 8) for n in (1, 2, 3)}
    environ = {"ROCR_VISIBLE_DEVICES": "1,2", "HIP_VISIBLE_DEVICES": "1"}
    machine = detect(fake_system(machine_folder(nodes, environ=environ)), cards=cards)
    assert [gpu.gfx for gpu in machine.gpus] == ["gfx1100"] * 3
    # HIP numbers what ROCR has left: its 1 is the third card.
    assert [gpu.visible for gpu in machine.gpus] == [False, False, True]


@pytest.mark.parametrize(
    ("files", "environ", "kind"),
    [
        ({"proc/1/cgroup": "12:pids:/docker/4f\n"}, {}, "docker"),
        ({"proc/1/cgroup": "0::/lxc.payload.box\n"}, {}, "lxc"),
        ({".singularity.d/runscript": ""}, {}, "apptainer"),
        ({".flatpak-info": ""}, {}, "flatpak"),
        ({"dev/lxd/sock": ""}, {}, "lxd"),
        ({"run/systemd/container": "systemd-nspawn\n"}, {}, "nspawn"),
        ({"run/systemd/container": "wsl\n"}, {}, None),
        ({}, {"container": "podman"}, "podman"),
        ({"run/.containerenv": 'engine="podman-5.2.1"\nname="x"\n'}, {}, "podman"),
        (
            {"proc/self/mountinfo": "1 0 0:2 / / rw - overlay overlay rw,lowerdir=/var/lib/containerd/x\n"},
            {},
            "containerd",
        ),
        ({"proc/self/mountinfo": "1 0 8:1 / / rw - ext4 /dev/sda1 rw\n"}, {}, None),
        # A layered root of a live system is no container.
        ({"proc/self/mountinfo": "1 0 0:2 / / rw - overlay overlay rw,lowerdir=/media/root-ro\n"}, {}, None),
        ({}, {}, None),
    ],
)
def test_kinds_of_containers(machine_folder, cards, files, environ, kind):
    box = detect(fake_system(machine_folder(files, environ=environ)), cards=cards).container
    assert (box.kind if box else None) == kind
    assert box is None or (box.build is False and box.evidence == ())


def test_variables_outside_a_container_are_no_evidence(machine_folder, cards):
    machine = detect(fake_system(machine_folder(environ={"CUDA_VERSION": "12.4"})), cards=cards)
    assert machine.container is None
    assert machine.environment == {"CUDA_VERSION": "12.4"}


def test_secrets_are_not_told(machine_folder, cards):
    environ = {"ROCM_TOKEN": "hush-hush", "NVIDIA_API_KEY": "hush-hush", "ROCM_VERSION": "7.0"}
    machine = detect(fake_system(machine_folder({".dockerenv": ""}, environ=environ)), cards=cards)
    assert machine.container.evidence == ("ROCM_TOKEN", "ROCM_VERSION=7.0")
    assert "hush-hush" not in repr(machine)


@pytest.mark.parametrize(
    ("commands", "found"),
    [
        (("qsub", "qstat"), "pbs"),
        (("qsub", "qconf"), "sge"),
        (("bsub",), "lsf"),
        (("sinfo",), "slurm"),
        (("make",), None),
    ],
)
def test_batch_systems(machine_folder, cards, commands, found):
    scripts = dict.fromkeys(commands, "#!/bin/sh\n")
    assert detect(fake_system(machine_folder(commands=scripts)), cards=cards).hpc == found


def test_module_and_nodes_without_a_listed_card(machine_folder, cards):
    """A sandbox that shows the driver but no bus: the cards are counted by their nodes, not passed over."""
    files = {"proc/driver/nvidia/version": "NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.54.15  x\n"}
    nodes = {"dev/nvidiactl": "", "dev/nvidia0": "", "dev/nvidia3": ""}
    machine = detect(fake_system(machine_folder({**files, **nodes})), cards=cards)
    assert [gpu.vendor for gpu in machine.gpus] == ["nvidia", "nvidia"]
    assert (machine.nvidia.version, machine.nvidia.state) == ("550.54.15", "ok")


def test_card_given_to_a_virtual_machine(machine_folder, cards, nvidia_files):
    files = {path: text for path, text in nvidia_files.items() if path.startswith("sys/bus")}
    links = {"sys/bus/pci/devices/0000:01:00.0/driver": "../../../../bus/pci/drivers/vfio-pci"}
    machine = detect(fake_system(machine_folder(files, links=links)), cards=cards)
    assert [gpu.driver for gpu in machine.gpus] == ["vfio-pci"]
    assert machine.nvidia.state == "missing"


def test_unknown_accelerator_is_noted(machine_folder, cards):
    device = "sys/bus/pci/devices/0000:05:00.0"
    files = {f"{device}/vendor": "0x1ae0\n", f"{device}/device": "0x0062\n", f"{device}/class": "0x120000\n"}
    machine = detect(fake_system(machine_folder(files)), cards=cards)
    assert machine.gpus == ()
    assert any("1ae0:0062" in note for note in machine.notes)


def test_cuda_mask_is_for_nvidia_where_there_is_some(machine_folder, cards, nvidia_files):
    node = "simd_count 192\nvendor_id 4098\ndevice_id 29772\ngfx_target_version 110000\ndomain 0\nlocation_id 768\n"
    amd = {"sys/class/kfd/kfd/topology/nodes/1/properties": node}
    root = machine_folder({**amd, **nvidia_files}, environ={"CUDA_VISIBLE_DEVICES": "GPU-none,0"})
    assert [gpu.visible for gpu in detect(fake_system(root), cards=cards).gpus] == [None, None]
    (root / "system.json").write_text('{"environ": {"CUDA_VISIBLE_DEVICES": "0"}}')
    assert [gpu.visible for gpu in detect(fake_system(root), cards=cards).gpus] == [True, None]
    for path in nvidia_files:
        (root / path).unlink()
    assert [gpu.visible for gpu in detect(fake_system(root), cards=cards).gpus] == [True]
