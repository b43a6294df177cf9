"""NVML and libcuda through the real loader: compiled stand-ins that answer, fail, abort or hang."""

from __future__ import annotations

import shutil
import subprocess
import time
from pathlib import Path

import pytest

from torchinstall.probe.detect import detect
from torchinstall.probe.fake import fake_system
from torchinstall.probe.native import between_cookies, cuda_version

STUBS = Path(__file__).resolve().parent / "stubs"
COMPILER = shutil.which("cc") or shutil.which("gcc")
needs_compiler = pytest.mark.skipif(COMPILER is None, reason="no C compiler here")
LIBRARIES = {"nvml": "libnvidia-ml.so.1", "cuda": "libcuda.so.1"}


@pytest.fixture(scope="session")
def library(tmp_path_factory):
    """Compile a stand-in once for each set of definitions."""
    made = {}

    def compiled(name, *definitions):
        key = (name, *definitions)
        if key not in made:
            target = tmp_path_factory.mktemp("stub") / LIBRARIES[name]
            options = [f"-D{definition}" for definition in definitions]
            subprocess.run(
                [COMPILER, "-shared", "-fPIC", "-o", str(target), *options, str(STUBS / f"{name}.c")], check=True
            )
            made[key] = target.read_bytes()
        return made[key]

    return compiled


@pytest.fixture
def seen(machine_folder, nvidia_files, cards, library):
    """Detect a machine with one card in its files and these libraries; returns machine and seconds."""

    def see(nvml=None, cuda=None, files=None, **system):
        content = dict(nvidia_files if files is None else files)
        if nvml is not None:
            content["lib/libnvidia-ml.so.1"] = library("nvml", *nvml)
        if cuda is not None:
            content["lib/libcuda.so.1"] = library("cuda", *cuda)
        fake = fake_system(machine_folder(content, **system))
        start = time.monotonic()
        machine = detect(fake, cards=cards)
        return machine, time.monotonic() - start

    return see


@needs_compiler
def test_nvml_comes_before_files_and_table(seen):
    machine, _ = seen(nvml=())
    (gpu,) = machine.gpus
    assert gpu.name == "NVIDIA H200 (as NVML tells)"
    assert gpu.compute_capability == "9.0"
    assert gpu.pci_id == "10de:2335"
    assert gpu.bus_id == "0000:01:00.0"
    assert gpu.uuid == "GPU-00000000-aaaa-bbbb-cccc-dddddddddddd"
    assert gpu.memory_mib == 143771
    assert gpu.mig is True
    assert gpu.driver == "none"
    assert machine.nvidia.version == "580.82.07"
    assert machine.nvidia.cuda == "13.0"
    assert machine.nvidia.kernel_module == "open"
    assert machine.nvidia.state == "ok"
    assert machine.sources["gpus[0].compute_capability"] == "nvml"
    assert machine.sources["drivers.nvidia.version"] == "nvml"
    assert machine.sources["gpus[0].driver"] == "pci"
    assert machine.notes == ()


@needs_compiler
@pytest.mark.parametrize(
    ("definitions", "words"),
    [
        (("INSTANCES=0",), "without an instance"),
        (("INSTANCES=3",), "divided into 3 MIG instances"),
        (("VIRTUAL=2",), "is a virtual GPU"),
        (("FABRIC=1",), "error 802"),
        (("FABRIC=2",), "error 802"),
        (("FABRIC=3", "VIRTUAL=0"), None),
        (("FABRIC=0", "VIRTUAL=1"), None),
    ],
)
def test_what_keeps_programs_from_a_card_is_told(seen, definitions, words):
    machine, _ = seen(nvml=definitions)
    assert machine.nvidia.state == "ok"
    assert [note for note in machine.notes if words and words in note] == list(machine.notes)
    assert bool(machine.notes) is (words is not None)


@needs_compiler
@pytest.mark.parametrize("code", [304, 802, 803, 804, 999])
def test_what_keeps_cuda_from_starting_is_told(seen, code):
    machine, _ = seen(nvml=("COUNT=2",), cuda=(f"CUINIT={code}",), environ={"CUDA_VISIBLE_DEVICES": "0"})
    assert [note for note in machine.notes if f"error {code}" in note]
    assert machine.nvidia.libcuda == "13.1"
    assert len(machine.gpus) == 2


@needs_compiler
def test_the_stub_of_the_toolkit_is_told(seen):
    machine, _ = seen(nvml=(), cuda=("STUB",))
    assert machine.nvidia.libcuda is None
    assert [note for note in machine.notes if "stub" in note]


@needs_compiler
def test_windows_asks_its_own_library(machine_folder, cards, library):
    files = {"lib/nvml.dll": library("nvml"), "lib/nvcuda.dll": library("cuda")}
    machine = detect(fake_system(machine_folder(files, os="windows", arch="AMD64", glibc=None)), cards=cards)
    assert machine.nvidia.state == "ok"
    assert machine.nvidia.version == "580.82.07"
    assert machine.nvidia.libcuda == "13.1"
    assert [gpu.pci_id for gpu in machine.gpus] == ["10de:2335"]


@needs_compiler
def test_every_card_goes_through(seen):
    machine, _ = seen(nvml=("COUNT=2",))
    assert [gpu.compute_capability for gpu in machine.gpus] == ["9.0", "8.9"]
    assert [gpu.mig for gpu in machine.gpus] == [True, None]


@needs_compiler
def test_libcuda_tells_its_own_version(seen):
    machine, _ = seen(nvml=(), cuda=())
    assert machine.nvidia.libcuda == "13.1"
    assert machine.nvidia.cuda == "13.0"
    assert machine.sources["drivers.nvidia.libcuda"].endswith("libcuda.so.1)")


@needs_compiler
@pytest.mark.parametrize(("number", "version"), [("0", None), ("13000", "13.0"), ("999999", None)])
def test_senseless_cuda_versions_are_no_facts(seen, number, version):
    machine, _ = seen(nvml=(f"CUDA={number}",))
    assert machine.nvidia.cuda == version


@needs_compiler
def test_library_of_another_release_than_the_module(seen):
    machine, _ = seen(nvml=("INIT=18",))
    assert machine.nvidia.state == "library-mismatch"
    assert machine.nvidia.version == "580.95.05"
    assert machine.sources["drivers.nvidia.state"] == "nvml"
    assert [gpu.compute_capability for gpu in machine.gpus] == ["8.9"]


@needs_compiler
def test_driver_installed_but_not_loaded(seen, nvidia_files):
    files = {path: text for path, text in nvidia_files.items() if path.startswith("sys/bus")}
    machine, _ = seen(nvml=("INIT=9",), files=files)
    assert machine.nvidia.state == "not-loaded"
    assert machine.nvidia.version is None


@needs_compiler
def test_no_device_found_by_nvml(seen):
    machine, _ = seen(nvml=("COUNT=0",))
    assert machine.nvidia.state == "no-device"
    assert [gpu.pci_id for gpu in machine.gpus] == ["10de:2684"]


@needs_compiler
def test_other_failures_leave_the_state_open(seen):
    machine, _ = seen(nvml=("INIT=999",))
    assert machine.nvidia.state == "unknown"
    assert any("999" in note for note in machine.notes)


@needs_compiler
def test_library_that_aborts_takes_nothing_with_it(seen):
    machine, _ = seen(nvml=("ABORT",), cuda=("ABORT",))
    assert machine.nvidia.state == "unknown"
    assert machine.nvidia.version == "580.95.05"
    assert [gpu.compute_capability for gpu in machine.gpus] == ["8.9"]
    assert sum("SIGABRT" in note for note in machine.notes) == 2


@needs_compiler
def test_two_libraries_that_hang_cost_one_limit(seen):
    machine, seconds = seen(nvml=("HANG",), cuda=("HANG",))
    assert seconds < 3.5
    assert machine.nvidia.state == "unknown"
    assert machine.nvidia.version == "580.95.05"
    assert [gpu.compute_capability for gpu in machine.gpus] == ["8.9"]
    assert sum("no answer in time" in note for note in machine.notes) == 2


@needs_compiler
def test_what_was_told_before_a_hang_is_kept(seen):
    machine, seconds = seen(nvml=("HANG_LATE",))
    assert seconds < 3.5
    assert machine.nvidia.version == "580.82.07"
    assert machine.nvidia.cuda == "13.0"
    assert any("no answer in time" in note for note in machine.notes)


@needs_compiler
def test_library_that_is_no_library(machine_folder, nvidia_files, cards):
    files = {**nvidia_files, "lib/libnvidia-ml.so.1": b"\x7fELF, not really"}
    machine = detect(fake_system(machine_folder(files)), cards=cards)
    assert machine.nvidia.state == "ok"
    assert machine.sources["drivers.nvidia.version"] == "sysfs"


@needs_compiler
def test_wsl_with_nvml(seen):
    machine, _ = seen(nvml=(), files={"dev/dxg": ""}, kernel="5.15.167.4-microsoft-standard-WSL2")
    assert machine.os.wsl is True
    assert machine.nvidia.state == "ok"
    assert [gpu.name for gpu in machine.gpus] == ["NVIDIA H200 (as NVML tells)"]


@needs_compiler
def test_wsl_whose_driver_does_not_answer_still_has_a_card(seen):
    machine, _ = seen(nvml=("INIT=999",), files={"dev/dxg": ""}, kernel="5.15.167.4-microsoft-standard-WSL2")
    assert machine.nvidia.state == "unknown"
    assert [gpu.vendor for gpu in machine.gpus] == ["nvidia"]


@needs_compiler
def test_cards_of_the_host_that_the_container_was_not_given(seen, nvidia_files):
    second = {path.replace("01:00", "02:00"): text for path, text in nvidia_files.items() if path.startswith("sys/bus")}
    machine, _ = seen(nvml=(), files={**nvidia_files, **second, ".dockerenv": ""})
    assert machine.container.gpu_access is True
    assert [(gpu.bus_id, gpu.visible) for gpu in machine.gpus] == [("0000:01:00.0", None), ("0000:02:00.0", False)]


@needs_compiler
@pytest.mark.parametrize(
    ("environ", "visible"),
    [
        # libcuda numbers the card at 02:00 first; with the variable it is the bus that counts.
        ({"CUDA_VISIBLE_DEVICES": "0"}, [False, True]),
        ({"CUDA_VISIBLE_DEVICES": "1"}, [True, False]),
        ({"CUDA_VISIBLE_DEVICES": "0", "CUDA_DEVICE_ORDER": "PCI_BUS_ID"}, [True, False]),
        ({"CUDA_VISIBLE_DEVICES": "1,0"}, [True, True]),
        ({"CUDA_VISIBLE_DEVICES": "GPU-1"}, [False, True]),
        ({"CUDA_VISIBLE_DEVICES": "0,-1,1"}, [False, True]),
        ({"CUDA_VISIBLE_DEVICES": "-1"}, [None, None]),
        ({"CUDA_VISIBLE_DEVICES": ""}, [None, None]),
        ({"CUDA_VISIBLE_DEVICES": "7"}, [None, None]),
        ({}, [None, None]),
    ],
)
def test_masks(seen, environ, visible):
    machine, _ = seen(nvml=("COUNT=2",), cuda=(), environ=environ)
    assert [gpu.visible for gpu in machine.gpus] == visible
    assert dict(machine.environment) == environ
    hides_nothing = "CUDA_VISIBLE_DEVICES" in environ and visible == [None, None]
    assert any("names no accelerator" in note for note in machine.notes) is hides_nothing


def test_only_whole_answers_between_cookies_count():
    output = 'noise <c>{"a": 1}<c>\nnoise <c>{"a": 2}<c> <c>{"a": 3'
    assert between_cookies(output, "<c>") == {"a": 2}
    assert between_cookies("<c>[1]<c>", "<c>") == {}
    assert between_cookies("", "<c>") == {}


def test_cuda_versions():
    assert cuda_version(12080) == "12.8"
    assert cuda_version(True) is None
    assert cuda_version("13000") is None
