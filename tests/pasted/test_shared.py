"""The captured outputs of many machines, where they are at hand: every file, and what its name says of it."""

from __future__ import annotations

import json
import re

import pytest

from torchinstall.catalog.load import load_catalog
from torchinstall.probe.amd import kfd_gpus
from torchinstall.probe.fake import fake_system
from torchinstall.probe.pasted import read_pasted

_DRIVER = re.compile(r"(?<![\d.])(\d{3}\.\d{2,3}(?:\.\d{2})?)(?![\d.])")


@pytest.fixture(scope="module")
def read():
    cards = load_catalog().card
    return lambda path: read_pasted(path.read_text(errors="replace"), cards=cards)


def files(shared, folder, pattern="*"):
    found = sorted((shared / "fixtures" / folder).glob(pattern))
    if not found:
        pytest.skip("no captures of this kind")
    return found


def only(machines):
    (machine,) = machines
    return machine


@pytest.mark.parametrize("folder", ["nvidia-smi-q", "nvidia-smi-query", "nvidia-smi-query-full", "nvidia-smi-table"])
def test_nvidia_smi(shared, read, folder):
    for path in files(shared, folder):
        machine = only(read(path))
        named = path.stem.split("__")
        if len(named) == 3:
            system, name, driver = named
            assert machine.nvidia.version == driver, path.name
            assert machine.os.name == ("windows" if system.startswith("windows") else None), path.name
            words = name.removesuffix("-mig").split("-")
            told = machine.gpus[0].name.lower().removesuffix("...").split()
            assert words[: len(told)] == told[: len(words)] or machine.gpus[0].name.endswith("..."), path.name
            assert (machine.gpus[0].mig is True) is ("-mig" in name), path.name
        elif "smi470" not in path.name and "wsl2-545" not in path.name and (number := _DRIVER.search(path.stem)):
            assert machine.nvidia.version == number[1], path.name
        if folder != "nvidia-smi-table":
            assert all(gpu.compute_capability for gpu in machine.gpus), path.name
            assert all(gpu.memory_mib for gpu in machine.gpus) or "mixed" in path.name, path.name


def test_nvidia_smi_tables_count_every_card(shared, read):
    want = {"thamada-A40x10": 10, "thamada-H100SXMx8": 8, "thamada-RTX6000Ada_x8": 8, "mig-a100x2-545.23.08": 2,
            "rtx-pro-6000-bw-mixed-mig": 3, "thamada-GH200": 1, "kepler-331.62-no-cuda": 1}  # fmt: skip
    seen = {}
    for path in files(shared, "nvidia-smi-table"):
        machine = only(read(path))
        if path.stem in want:
            seen[path.stem] = len(machine.gpus)
        text = path.read_text(errors="replace")
        assert len(machine.gpus or ()) == len(
            re.findall(r"^\|\s+\d+\s+\S.*\|\s+[0-9A-F]{8}:|^\|\s+\d+\s+GeForce GTX 680", text, re.MULTILINE)
        )
    assert seen == want
    mixed = only(read(shared / "fixtures/nvidia-smi-table/rtx-pro-6000-bw-mixed-mig.txt"))
    assert [gpu.mig for gpu in mixed.gpus] == [False, False, True]
    assert mixed.gpus[2].bus_id == "0001:04:00.0"
    cut = only(read(shared / "fixtures/nvidia-smi-table/snap-smi470-driver580.95.05.txt"))
    assert (cut.nvidia.version, cut.nvidia.cuda) == ("580.95.05", "13.0")


def test_nvidia_smi_lists_versions_and_complaints(shared, read):
    for path in files(shared, "nvidia-smi-L"):
        machine = only(read(path))
        assert (bool(machine.gpus[0].name), machine.nvidia.state) == (True, "ok"), path.name
        assert (machine.gpus[0].mig is True) is ("-mig" in path.name), path.name
    for path in files(shared, "nvidia-smi-version"):
        machine = only(read(path))
        assert machine.nvidia.version == path.stem.split("__")[2], path.name
        assert machine.nvidia.cuda, path.name
    states = {path.stem: only(read(path)).nvidia.state for path in files(shared, "nvidia-smi-error")}
    assert states == {
        "dmesg-probe-not-called": "not-loaded",
        "no-communicate": "not-loaded",
        "no-devices-5090-open": "no-device",
        "nvml-mismatch-550.144": "library-mismatch",
        "nvml-mismatch-old": "library-mismatch",
    }


def test_nvidia_smi_xml(shared, read):
    for path in files(shared, "nvidia-smi-xml"):
        machine = only(read(path))
        text = path.read_text()
        assert [gpu.name for gpu in machine.gpus] == re.findall(r"<product_name>(.*?)</product_name>", text), path.name
        assert all(gpu.bus_id and gpu.memory_mib for gpu in machine.gpus), path.name
        number = re.search(r"<driver_version>(\d[\d.]*)<", text)
        assert (machine.nvidia.version or "") == (number[1] if number else ""), path.name


def test_collect_env(shared, read):
    facts = {}
    for path in files(shared, "collect-env"):
        machine = only(read(path))
        assert machine.installed.get("torch") or "no-cuda" in path.name, path.name
        assert all((machine.python.version, machine.arch, machine.os.name)), path.name
        name = path.stem.split("-torch")[0]
        facts[name] = (machine.nvidia.version if machine.nvidia else None, [gpu.name for gpu in machine.gpus or ()])
    assert facts["gtx1080ti"] == ("515.65.01", ["NVIDIA GeForce GTX 1080 Ti"])
    assert facts["h100x8"] == ("535.154.05", ["NVIDIA H100"] * 8)
    assert facts["wsl2-rtx3090-rtx3080"] == ("560.94", ["NVIDIA GeForce RTX 3090", "NVIDIA GeForce RTX 3080"])
    assert facts["quadro-rtx6000"] == ("455.32.00", ["Quadro RTX 6000"])
    assert facts["windows-gtx1050ti"] == ("535.98", ["NVIDIA GeForce GTX 1050 Ti"])
    assert facts["rtx5090d"] == ("570.124.04", ["NVIDIA GeForce RTX 5090 D"])
    folder = shared / "fixtures/collect-env"
    assert only(read(folder / "wsl2-rtx3090-rtx3080-torch2.4.txt")).os.wsl is True
    assert only(read(folder / "windows-gtx1050ti-torch2.0-cu117.txt")).os.name == "windows"
    assert only(read(folder / "rocm-rx5700xt-gfx1010-torch2.7dev.txt")).gpus[0].gfx == "gfx1010"
    assert only(read(folder / "linux-cpu-wheel-ryzen6800u.txt")).gpus is None  # a CPU wheel doesn't look
    for path in folder.glob("jetson-*"):
        machine = only(read(path))
        assert (machine.jetson is not None, machine.gpus[0].integrated) == (True, True), path.name


def test_npu_smi(shared, read):
    chips = {}
    for folder in ("npu-smi-info", "ascend"):
        for path in files(shared, folder, "*np*.txt" if folder == "ascend" else "*.txt"):
            machine = only(read(path))
            chips[path.stem] = [gpu.soc for gpu in machine.gpus]
            assert all(gpu.bus_id and gpu.memory_mib for gpu in machine.gpus) or "info_m" in path.name, path.name
    assert chips["910b3-24.1.rc1.b030"] == ["910B3"]
    assert chips["910b2c-24.1.0"] == ["910B2C", "910B2C"]
    assert chips["910c-a3-26.0.rc2"] == chips["npu_smi_25.2.1_A3_Ascend910"] == ["910C", "910C"]
    assert chips["310p3-duo-new-layout"] == ["310P3"] * 4
    assert chips["310p3-reported-as-text"] == ["310P3"] * 2
    assert chips["npu_smi_25.7.rc1.6_Ascend950PR"] == ["950PR"]
    assert chips["npu_smi_info_m_910B3"] == ["910B3", "910B3"]
    for path in files(shared, "ascend", "*.info"):
        machine = only(read(path))
        assert f"install_{machine.ascend.cann}_{machine.arch}" in path.name


def test_lspci(shared, read):
    want = {"arc-a770": ["8086:56a0"], "b200-node": ["10de:2901"], "gpud-a10": ["10de:2236"],
            "gpud-a100": ["10de:20b2"] * 8, "ascend-910b-d802": ["19e5:d802"], "rx7900-744c": ["1002:744c"],
            "mixed-3080-5090-k": ["10de:2206", "10de:2b85"], "rx9070xt-k": ["1002:7550"]}  # fmt: skip
    seen = {path.stem: [gpu.pci_id for gpu in only(read(path)).gpus] for path in files(shared, "lspci-nn")}
    assert {name: seen[name] for name in want} == want
    assert all(seen.values())
    nouveau = [only(read(path)) for path in files(shared, "lspci-nn", "*nouveau*")]
    assert {machine.nvidia.state for machine in nouveau} == {"nouveau"}
    for path in files(shared, "lspci"):
        assert [(gpu.vendor, gpu.name) for gpu in only(read(path)).gpus] == [("amd", "Vega 20")] * 8


def test_files_of_the_driver(shared, read):
    for path in files(shared, "proc-driver-nvidia-version"):
        machine = only(read(path))
        kind, _, rest = path.stem.partition("-")
        assert (machine.nvidia.version, machine.nvidia.kernel_module) == (
            rest.split("-")[0], "open" if kind == "open" else "closed",
        )  # fmt: skip
    names = [[gpu.name for gpu in only(read(path)).gpus] for path in files(shared, "proc-driver-nvidia-gpus")]
    assert names == [["GeForce GTX 1070"], ["Tesla K80"], ["NVIDIA L4"], [None] * 4]


def test_amd_tools(shared, read):
    assert all(
        {gpu.gfx for gpu in only(read(path)).gpus} <= {"gfx908", "gfx1031"} for path in files(shared, "rocm-smi-json")
    )
    for folder in ("rocm-smi-table", "rocminfo"):
        for path in files(shared, folder):
            assert [gpu.gfx for gpu in only(read(path)).gpus] == ["gfx942"] * (4 if "_x4" in path.name else 1)
    static, listed = (only(read(shared / f"fixtures/amd-smi/mi210-{name}.txt")) for name in ("static", "list"))
    assert [(gpu.name, gpu.gfx) for gpu in static.gpus] == [("AMD Instinct MI210", "gfx90a")]
    assert [gpu.bus_id for gpu in listed.gpus] == ["0000:23:00.0"]
    kernel = only(read(files(shared, "dmesg")[0]))
    assert (kernel.gpus[0].gfx, kernel.amd.amdgpu) == ("gfx1100", "6.1.0")


def test_kfd(shared, tmp_path):
    want = {
        "mi300x-cpx-gfx942": "gfx942",
        "mi308x-gfx942": "gfx942",
        "rx7900xtx-gfx1100": "gfx1100",
        "vega10-gfx900": None,
    }
    for name, gfx in want.items():
        tree = shared / "fixtures/kfd" / name / "nodes"
        if not tree.is_dir():
            pytest.skip("no captures of this kind")
        topology = tmp_path / name / "sys/class/kfd/kfd/topology"
        topology.mkdir(parents=True)
        (topology / "nodes").symlink_to(tree)
        # The link leads out of the folder, so the files are laid in it instead.
        (topology / "nodes").unlink()
        for node in tree.iterdir():
            (topology / "nodes" / node.name).mkdir(parents=True)
            (topology / "nodes" / node.name / "properties").write_bytes((node / "properties").read_bytes())
        gpus = kfd_gpus(fake_system(tmp_path / name))
        assert {gpu.get("gfx") for gpu in gpus} == {gfx}, name
        assert all(gpu.get("pci_id").startswith("1002:") and gpu.get("bus_id") for gpu in gpus)


def test_device_query(shared, read):
    for path in files(shared, "cuda-deviceQuery"):
        machine = only(read(path))
        text = path.read_text()
        assert [gpu.name for gpu in machine.gpus] == re.findall(r'^Device \d+: "(.*)"', text, re.MULTILINE), path.name
        assert all(gpu.compute_capability for gpu in machine.gpus), path.name


def test_other_detectors(shared, read):
    for folder in ("gpustack-detect", "domestic"):
        for path in files(shared, folder):
            listed = json.loads(path.read_text())
            machine = only(read(path))
            assert [gpu.vendor for gpu in machine.gpus] == [item["manufacturer"] for item in listed], path.name
            assert all(gpu.bus_id and gpu.memory_mib for gpu in machine.gpus), path.name
    arc, flex = (only(read(path)) for path in files(shared, "xpu-smi"))
    assert (arc.gpus[0].vendor, arc.intel.level_zero, arc.nvidia) == ("intel", "1.28.6", None)
    assert flex.gpus[0].pci_id == "8086:56c0"


def test_clusters(shared, read):
    for path in files(shared, "k8s", "labels-*"):
        machine = only(read(path))
        assert machine.gpus, path.name
        assert machine.nvidia is None or re.fullmatch(r"\d+\.\d+(\.\d+)?", machine.nvidia.version), path.name
    assert only(read(shared / "fixtures/k8s/labels-gfd-old-a100.json")).nvidia.version == "455.06"
    assert len(only(read(shared / "fixtures/k8s/labels-openshift-g6.12xlarge-l4.json")).gpus) == 4
    for path in files(shared, "slurm", "*.json"):
        nodes = json.loads(path.read_text())["nodes"]
        machines = read(path)
        assert len(machines) == len(nodes), path.name
        for node, machine in zip(nodes, machines, strict=True):
            counts = [int(n) for n in re.findall(r"gpu:[a-z]\w*:(\d+)", node["gres"])]
            if "gpu" in node["gres"] and not counts:
                assert machine.gpus is None, path.name
            else:
                assert len(machine.gpus) == sum(counts), path.name
    assert [len(machine.gpus or ()) for machine in read(shared / "fixtures/slurm/sinfo-gres-mixed.txt")] == [4, 4, 4, 0]


def test_boards(shared, read):
    board = shared / "fixtures/jetson/orin-agx-r39.2"
    if not board.is_dir():
        pytest.skip("no captures of this kind")
    release = only(read(board / "etc_nv_tegra_release"))
    assert (release.jetson.l4t, release.gpus[0].integrated) == ("39.2.0", True)
    assert only(read(board / "proc_device-tree_compatible")).jetson.soc == "tegra234"


def test_what_torch_says(shared, read):
    told = {path.stem: read(path) for path in files(shared, "torch-error")}
    assert only(told["driver-too-old"]).nvidia.libcuda == "11.4"
    assert only(told["error-803"]).nvidia.state == "library-mismatch"
    assert only(told["not-compatible-warning-2.6"]).gpus[0].compute_capability == "12.0"
    assert told["nms-missing"] == []
