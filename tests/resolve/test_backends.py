"""ROCm, Ascend, XPU, Apple, CPU and the boards: what each machine gets, offline, by the shipped catalogue."""

from __future__ import annotations

import pytest

from hand import RTX_4090, linux, mac, nvidia, windows
from torchinstall.catalog.catalog import Catalog
from torchinstall.model.machine import AmdDriver, AscendDriver, Gpu, IntelDriver, Jetson, Machine, Os, Python
from torchinstall.model.plan import Plan
from torchinstall.model.request import Request
from torchinstall.resolve.resolve import resolve
from torchinstall.resolve.wishes import parse

NAMES = ("torch", "torchvision", "torchaudio", "torch-npu")
M2 = Gpu(vendor="apple", name="Apple M2", integrated=True)


def want(*texts: str, **more: object) -> Request:
    parsed = parse(texts, NAMES, origin="the command line")
    return Request(wishes=parsed.wishes, others=parsed.others, **more)


def amd(gfx: str | None = None, name: str | None = None, **more: object) -> Gpu:
    return Gpu(vendor="amd", gfx=gfx, name=name, **more)


def intel(name: str | None = None, pci_id: str | None = None, **more: object) -> Gpu:
    return Gpu(vendor="intel", name=name, pci_id=pci_id, **more)


def npu(soc: str) -> Gpu:
    return Gpu(vendor="ascend", name=f"Ascend {soc}", soc=soc)


def on_amd(*gpus: Gpu, python: str = "3.12.4", **stack: object) -> Machine:
    return linux(*gpus, python=python).replace(amd=AmdDriver(**stack))


def on_cann(
    soc: str, cann: str | None, python: str = "3.11.9", arch: str = "aarch64", driver: str = "25.5.0"
) -> Machine:
    return linux(npu(soc), python=python, arch=arch).replace(ascend=AscendDriver(driver=driver, cann=cann, state="ok"))


def jetson(name: str, cc: str, python: str = "3.12.4", **board: str) -> Machine:
    return linux(nvidia(name, cc, integrated=True), arch="aarch64", python=python, jetson=Jetson(**board))


WSL = Os(name="linux", glibc="2.39", wsl=True)
PAIR = want("torch", "torchvision")
TRIO = want("torch", "torchvision", "torchaudio")
TORCH = want("torch")

INSTALLS = [
    # ROCm: the gfx decides, then the host's driver
    ("7900 XTX, ROCm 7.2, in-tree amdgpu", on_amd(amd("gfx1100"), amd("gfx1036", integrated=True), rocm="7.2.0", dkms=False, state="ok"), PAIR, "2.14.1", "rocm7.2"),
    ("7900 XTX, nothing known of the driver", linux(amd("gfx1100")), PAIR, "2.14.1", "rocm7.2"),
    ("7900 XTX by its PCI id", linux(Gpu(vendor="amd", pci_id="1002:744c")), TORCH, "2.14.1", "rocm7.2"),
    ("7900 XTX by its name", linux(amd(name="Radeon RX 7900 XTX")), TORCH, "2.14.1", "rocm7.2"),
    ("MI300X, amdgpu 6.16 of AMD's packages", on_amd(amd("gfx942"), amdgpu="6.16.6", dkms=True), PAIR, "2.14.1", "rocm7.14"),
    ("MI300X, amdgpu 6.12 of AMD's packages", on_amd(amd("gfx942"), amdgpu="6.12.12", dkms=True), PAIR, "2.14.1", "rocm7.2"),
    ("MI300X, host ROCm 7.14", on_amd(amd("gfx942"), rocm="7.14.0"), PAIR, "2.14.1", "rocm7.14"),
    ("MI300X, host ROCm 7.2 is below 7.14", on_amd(amd("gfx942"), rocm="7.2.4"), PAIR, "2.14.1", "rocm7.2"),
    ("MI300X with features in its target's name", linux(amd("gfx942:sramecc+:xnack-")), TORCH, "2.14.1", "rocm7.2"),
    ("MI350X", linux(amd("gfx950")), TORCH, "2.14.1", "rocm7.2"),
    ("MI250X", linux(amd("gfx90a")), TRIO, "2.14.1", "rocm7.2"),
    ("MI100", linux(amd("gfx908")), TORCH, "2.14.1", "rocm7.2"),
    ("RX 9070 XT", linux(amd("gfx1201")), TORCH, "2.14.1", "rocm7.2"),
    ("RX 7600", linux(amd("gfx1102")), TORCH, "2.14.1", "rocm7.2"),
    ("RX 6900 XT", linux(amd("gfx1030")), TORCH, "2.14.1", "rocm7.2"),
    ("Strix Halo, an integrated target", linux(amd("gfx1151", "Radeon 8060S", integrated=True)), TORCH, "2.14.1", "rocm7.2"),
    ("Strix Point", linux(amd("gfx1150", integrated=True)), TORCH, "2.14.1", "rocm7.2"),
    ("Radeon VII on a host with ROCm 7", on_amd(amd("gfx906", "Radeon VII"), rocm="7.2.0"), PAIR, "2.9.1", "rocm6.3"),
    ("MI25", linux(amd("gfx900", "MI25"), python="3.11.9"), PAIR, "2.5.1", "rocm6.2"),
    ("Radeon VII beside a 7900: both served", linux(amd("gfx906"), amd("gfx1100")), TORCH, "2.9.1", "rocm6.3"),
    ("a version of the user's", linux(amd("gfx1100")), want("torch==2.10.*"), "2.10.0", "rocm7.1"),
    ("a variant of the user's beats the driver rule", linux(amd("gfx1100")), want("torch<2.15", variant="rocm7.14"), "2.14.1", "rocm7.14"),
    ("no hardware, variant named: then unverified rows count", linux(), want("torch", variant="rocm7.2"), "2.15.0", "rocm7.2"),
    # AMD's own indexes
    ("RX 6700 XT: only AMD has code for it", linux(amd("gfx1031", "RX 6700 XT")), PAIR, "2.13.0", "rocm10.0.0"),
    ("RX 6600", linux(amd("gfx1032")), TRIO, "2.13.0", "rocm10.0.0"),
    ("RX 6700 XT beside an RX 6900 XT", linux(amd("gfx1031"), amd("gfx1030")), PAIR, "2.13.0", "rocm10.0.0"),
    ("7900 XTX on Windows", windows(amd("gfx1100", "RX 7900 XTX")), PAIR, "2.13.0", "rocm10.0.0"),
    ("7900 XTX on Windows, torch alone", windows(amd("gfx1100", "RX 7900 XTX")), TORCH, "2.14.0", "rocm10.1.0"),
    ("9070 XT on Windows", windows(amd("gfx1201")), TRIO, "2.13.0", "rocm10.0.0"),
    ("7900 XTX in WSL2", linux(amd("gfx1100")).replace(os=WSL), PAIR, "2.13.0", "rocm10.0.0"),
    ("integrated graphics, its ROCm named", linux(amd("gfx1103", integrated=True)), want("torch==2.14.1", variant="rocm7.14"), "2.14.1", "rocm7.14"),
    # no accelerator: CPU, said
    ("integrated Radeon alone", linux(amd("gfx1036", "Raphael", integrated=True)), PAIR, "2.14.1", "cpu"),
    ("Phoenix graphics alone", linux(amd("gfx1103", "780M", integrated=True)), PAIR, "2.14.1", "cpu"),
    ("Intel display adapter", linux(intel("HD Graphics 4000", "8086:0166", integrated=True)), TORCH, "2.14.1", "cpu"),
    ("Iris Xe beside a 4090", linux(intel("Iris Xe", "8086:9a49", integrated=True), RTX_4090, driver="580.95.05"), TORCH, "2.15.0", "cu132"),
    # Ascend: torch, torch-npu, CANN, Python as one row
    ("910B3, CANN 8.2", on_cann("910B3", "8.2.RC1"), TORCH, "2.6.0", "npu"),
    ("910B3, CANN 8.2 in small letters", on_cann("910B3", "8.2.rc1"), TORCH, "2.6.0", "npu"),
    ("910B3, CANN 8.3", on_cann("910B3", "8.3.RC1"), TORCH, "2.8.0", "npu"),
    ("910B3, CANN 8.5 carries the newest", on_cann("910B3", "8.5.0"), TORCH, "2.14.0", "npu"),
    ("910B3, CANN 9.1, x86_64", on_cann("910B3", "9.1.0", arch="x86_64"), PAIR, "2.14.0", "npu"),
    ("910B3, CANN unknown", linux(npu("910B3")), TORCH, "2.14.0", "npu"),
    ("910B3, torch of the user's", on_cann("910B3", "9.1.0"), want("torch==2.9.*"), "2.9.0", "npu"),
    ("910B3, torch-npu of the user's", on_cann("910B3", "9.2.0"), want("torch-npu==2.10.0.post7"), "2.10.0", "npu"),
    ("910C", on_cann("910_9391", "9.0.0"), TORCH, "2.14.0", "npu"),
    ("A3 as its tool prints it", on_cann("910", "9.0.0"), TORCH, "2.14.0", "npu"),
    ("310P3", on_cann("310P3", "8.1.RC1"), TORCH, "2.5.1", "npu"),
    ("950PR, CANN 9.1", on_cann("950PR", "9.1.0"), TORCH, "2.14.0", "npu"),
    ("Python 3.9 with CANN 9.1", on_cann("910B3", "9.1.0", python="3.9.18"), TORCH, "2.8.0", "npu"),
    ("Python 3.14 with CANN 9.2", on_cann("910B3", "9.2.0", python="3.14.0"), TORCH, "2.14.0", "npu"),
    ("CANN 8.0 release, not a candidate", on_cann("910B3", "8.0.0"), TORCH, "2.4.0", "npu"),
    ("torch-npu asked for on a machine without cards", linux(), want("torch-npu"), "2.14.0", "npu"),
    ("torch+cpu beside torch-npu is the npu variant", linux(), want("torch==2.13.0+cpu", "torch-npu"), "2.13.0", "npu"),
    # XPU: the families that a release lists
    ("Arc B580", linux(intel("Arc B580", "8086:e20b")), PAIR, "2.14.1", "xpu"),
    ("Arc A770 on Windows", windows(intel("Arc A770", "8086:56a0")), PAIR, "2.14.1", "xpu"),
    ("Arc A770, torch 2.5", linux(intel("Arc A770", "8086:56a0")), want("torch==2.5.1"), "2.5.1", "xpu"),
    ("Data Center GPU Max", linux(intel(pci_id="8086:0bd5")), TORCH, "2.14.1", "xpu"),
    ("Lunar Lake, integrated", linux(intel(pci_id="8086:64a0", integrated=True)), TORCH, "2.14.1", "xpu"),
    ("Panther Lake", linux(intel(pci_id="8086:b080", integrated=True)), want("torch>=2.12"), "2.14.1", "xpu"),
    ("no hardware, xpu named", linux(), want("torch<2.15", variant="xpu"), "2.14.1", "xpu"),
    # Apple
    ("macOS 14", mac("14.5", M2), TORCH, "2.15.0", "mps"),
    ("macOS 13: MPS up to torch 2.7", mac("13.6", M2), TORCH, "2.7.1", "mps"),
    ("macOS 12.7: MPS up to torch 2.4", mac("12.7.4", M2), TORCH, "2.4.1", "mps"),
    ("macOS 13 on the CPU: the tag alone decides", mac("13.6", M2), want("torch", variant="cpu"), "2.11.0", "mps"),
    ("macOS 13, Python 3.14, CPU: 2.10 needs macOS 14 for it", mac("13.6", M2, python="3.14.0"), want("torch==2.9.*", variant="cpu"), "2.9.1", "mps"),
    ("Intel Mac", mac("12.7", arch="x86_64", python="3.11.9"), PAIR, "2.2.2", "cpu"),
    ("Rosetta", mac("15.1", M2).replace(python=Python(version="3.11.9", arch="x86_64")), TORCH, "2.2.2", "cpu"),
    # boards and servers with ARM
    ("Orin, JetPack 7.2 known by its JetPack alone", jetson("Orin", "8.7", jetpack="7.2"), PAIR, "2.15.0", "cu132"),
    ("Orin, L4T 39.2", jetson("Orin", "8.7", l4t="39.2", soc="tegra234"), TORCH, "2.15.0", "cu132"),
    ("Thor, JetPack 7.0", jetson("NVIDIA Thor", "11.0", jetpack="7.0"), TORCH, "2.15.0", "cu132"),
    ("GB10", linux(nvidia("NVIDIA GB10", "12.1", integrated=True), driver="580.95.05", arch="aarch64"), PAIR, "2.15.0", "cu132"),
    ("GH200 on driver 550", linux(nvidia("NVIDIA GH200 480GB", "9.0"), driver="550.54.15", arch="aarch64"), TORCH, "2.14.1", "cu126"),
    ("GB200", linux(nvidia("NVIDIA GB200", "10.0"), driver="580.95.05", arch="aarch64"), TORCH, "2.15.0", "cu132"),
    # CPU on every platform, Pythons
    ("Linux", linux(), TRIO, "2.14.1", "cpu"),
    ("Linux on ARM", linux(arch="aarch64"), PAIR, "2.14.1", "cpu"),
    ("Windows", windows(), PAIR, "2.15.0", "cpu"),
    ("Windows on ARM, its wheel named", Machine(os=Os(name="windows"), arch="arm64", python=Python(version="3.12.1"), gpus=()), want("torch", variant="cpu"), "2.15.0", "cpu"),
    ("free-threaded 3.13 ends at 2.12.0", linux(RTX_4090, driver="580.95.05").replace(python=Python(version="3.13.1", free_threaded=True)), TORCH, "2.12.0", "cu130"),
    ("free-threaded 3.14", linux(RTX_4090, driver="580.95.05").replace(python=Python(version="3.14.1", free_threaded=True)), TORCH, "2.15.0", "cu132"),
    ("Python 3.8", linux(python="3.8.20"), TORCH, "2.4.1", "cpu"),
    ("CentOS 7's glibc", linux(glibc="2.17", python="3.11.9"), TORCH, "2.6.0", "cpu"),
]  # fmt: skip

BLOCKED = [
    ("RX 5700 XT", linux(amd("gfx1010", "RX 5700 XT")), TORCH, "rocm-no-wheel"),
    ("RX 580", linux(amd("gfx803", "RX 580")), TORCH, "rocm-no-wheel"),
    ("a gfx from tomorrow", linux(amd("gfx1300")), TORCH, "rocm-no-code"),
    ("7900 XTX without amdgpu", on_amd(amd("gfx1100"), state="not-loaded"), TORCH, "amd-not-loaded"),
    ("7900 XTX without /dev/kfd", on_amd(amd("gfx1100"), state="no-device"), TORCH, "amd-no-device"),
    ("Vega with torch 2.14", linux(amd("gfx906")), want("torch>=2.14"), "rocm-no-code"),
    ("Strix Halo with torch 2.10", linux(amd("gfx1151", integrated=True)), want("torch==2.10.*"), "rocm-no-code"),
    ("910B3, CANN 8.2, Python 3.12", on_cann("910B3", "8.2.RC1", python="3.12.4"), TORCH, "cann-too-old"),
    ("910B3, CANN 7.0 with torch 2.5", on_cann("910B3", "7.0.0"), want("torch==2.5.1"), "cann-too-old"),
    ("910B3, CANN of tomorrow", on_cann("910B3", "10.0.0"), TORCH, "cann-other"),
    ("950PR, CANN 8.5", on_cann("950PR", "8.5.0"), TORCH, "cann-soc"),
    ("910B3 wants torch 2.15", linux(npu("910B3")), want("torch==2.15.0"), "npu-newest"),
    ("910B3 without a driver", linux(npu("910B3")).replace(ascend=AscendDriver(state="missing")), TORCH, "ascend-missing"),
    ("910B3 wants cu130", linux(npu("910B3")).replace(declared=True), want("torch", variant="cu130"), "contradiction"),
    ("7900 XTX wants cu130", linux(amd("gfx1100")).replace(declared=True), want("torch", variant="cu130"), "contradiction"),
    ("B580 with torch 2.6", linux(intel("Arc B580", "8086:e20b")), want("torch<2.7"), "xpu-family"),
    ("B580 without a render node", linux(intel("Arc B580", "8086:e20b")).replace(intel=IntelDriver(state="no-device")), TORCH, "intel-no-device"),
    ("B580 on ARM", linux(intel("Arc B580", "8086:e20b"), arch="aarch64"), TORCH, ""),
    ("Orin, JetPack 6", jetson("Orin", "8.7", jetpack="6.2.1"), TORCH, "tegra-l4t"),
    ("Xavier", jetson("Xavier", "7.2", l4t="35.4.1"), TORCH, "tegra-none"),
    ("Hygon", linux(Gpu(vendor="hygon", name="K100_AI")), TORCH, "vendor-unsupported"),
    ("Moore Threads", linux(Gpu(vendor="mthreads", name="MTT S4000")), TORCH, "vendor-unsupported"),
    ("a maker of tomorrow", linux(Gpu(vendor="nobody", name="X1")), TORCH, "vendor-unknown"),
    ("Intel Mac wants 2.3", mac("12.7", arch="x86_64"), want("torch==2.3.0"), "no-such-version"),
    ("Windows on ARM, nothing seen", Machine(os=Os(name="windows"), arch="arm64", python=Python(version="3.12.1"), gpus=()), TORCH, "status"),
    ("2.6.0 never was cu121", linux(RTX_4090, driver="580.95.05"), want("torch==2.6.0+cu121"), "never-existed"),
    ("2.6.5 never was", linux(RTX_4090, driver="580.95.05"), want("torch==2.6.5"), "no-such-version"),
    ("a variant of no form", linux(RTX_4090, driver="580.95.05"), want("torch", variant="nonsense"), "unknown-variant"),
    ("cu999", linux(RTX_4090, driver="580.95.05"), want("torch", variant="cu999"), "unknown-variant"),
    ("Python 3.16", linux(RTX_4090, driver="580.95.05", python="3.16.0"), TORCH, "no-python"),
    ("macOS 10.15", mac("10.15.7", M2), TORCH, "macos"),
]  # fmt: skip


def planned(machine: Machine, request: Request, catalog: Catalog) -> Plan:
    return resolve(machine, request, catalog)


@pytest.mark.parametrize(
    ("machine", "asked", "torch", "variant"), [r[1:] for r in INSTALLS], ids=[r[0] for r in INSTALLS]
)
def test_installs(machine: Machine, asked: Request, torch: str, variant: str, catalog: Catalog) -> None:
    plan = planned(machine, asked, catalog)
    assert (plan.outcome, plan.torch, plan.variant) == ("install", torch, variant), plan.blocked
    names = {pin.name for pin in plan.packages}
    assert {"torch"} | {wish.name for wish in asked.wishes} <= names
    assert ("torch-npu" in names) == (variant == "npu")


@pytest.mark.parametrize(("machine", "asked", "rule"), [r[1:] for r in BLOCKED], ids=[r[0] for r in BLOCKED])
def test_blocked(machine: Machine, asked: Request, rule: str, catalog: Catalog) -> None:
    plan = planned(machine, asked, catalog)
    assert plan.outcome == "blocked", (plan.torch, plan.variant)
    assert plan.blocked is not None
    assert plan.blocked.rule.startswith(rule), plan.blocked.text
    assert "{" not in plan.blocked.text


def test_amds_index_brings_the_code_by_extras(catalog: Catalog) -> None:
    plan = planned(windows(amd("gfx1201", "RX 9070 XT")), TRIO, catalog)
    pins = {pin.name: pin for pin in plan.packages}
    assert pins["torch"].extras == pins["torchvision"].extras == ("device-gfx1201",)
    assert pins["torchaudio"].extras == ()
    assert {pin.index for pin in plan.packages} == {"https://stable.repo.amd.com/rocm/whl-next"}
    assert pins["torchvision"].version == "0.28.0+rocm10.0.0"
    assert "torch[device-gfx1201]==2.13.0+rocm10.0.0" in plan.commands["uv"]


def test_several_cards_have_their_extras_together(catalog: Catalog) -> None:
    plan = planned(linux(amd("gfx1031"), amd("gfx1030")), TORCH, catalog)
    assert plan.packages[0].extras == ("device-gfx1031", "device-gfx1030")
    named = planned(windows(), want("torch", variant="rocm10.0.0"), catalog)
    assert named.packages[0].extras == ("device-all",)


def test_an_index_of_one_family_is_named_by_its_folder(catalog: Catalog) -> None:
    plan = planned(linux(amd("gfx1031")), want("torch", variant="rocm7.13.0"), catalog)
    assert plan.packages[0].index == "https://repo.amd.com/rocm/whl/gfx103X-all"
    assert plan.packages[0].extras == ()


def test_amds_index_stays_out_where_pytorch_has_a_wheel(catalog: Catalog) -> None:
    plan = planned(linux(amd("gfx1100")), want("torch==2.14.0"), catalog)
    lost = {(r.torch, r.variant): r.reason.rule for r in plan.rejected}
    assert (plan.torch, plan.variant) == ("2.14.0", "rocm7.2")
    assert lost["2.14.0", "rocm7.14"] == "rocm-driver"
    # Versions are compared as numbers: 7.14 is the newer ROCm.
    assert planned(on_amd(amd("gfx1100"), rocm="7.14"), want("torch==2.14.0"), catalog).variant == "rocm7.14"
    assert {r.reason.rule for r in plan.rejected if r.variant == "rocm10.0.0" and r.torch == "2.13.0"} == {"version"}
    free = {(r.torch, r.variant): r.reason.rule for r in planned(linux(amd("gfx1100")), TORCH, catalog).rejected}
    assert free["2.14.0", "rocm10.1.0"] == "rocm-vendor"


def test_what_rocm_needs_beside_the_wheel(catalog: Catalog) -> None:
    plan = planned(on_amd(amd("gfx1100"), rocm="7.2.0", state="ok"), TORCH, catalog)
    (need,) = plan.needs
    assert (need.what, need.met) == ("amdgpu", True)
    assert "render" in need.note
    assert "rocm-feature" in [why.rule for why in plan.why]
    assert "rocm-feature" not in [w.rule for w in planned(linux(amd("gfx906")), TORCH, catalog).why]
    assert [n.what for n in planned(linux(amd("gfx1100")).replace(os=WSL), TORCH, catalog).needs] == ["librocdxg"]


def test_an_integrated_card_beside_a_discrete_one_is_hidden_at_run_time(catalog: Catalog) -> None:
    plan = planned(on_amd(amd("gfx1036", integrated=True), amd("gfx1100"), state="ok"), TORCH, catalog)
    assert plan.environment == {"HIP_VISIBLE_DEVICES": "1"}
    assert [(d.gpu, d.runs) for d in plan.devices] == [(0, "left-out"), (1, "yes")]
    assert planned(linux(amd("gfx1100")), TORCH, catalog).environment == {}


@pytest.mark.parametrize(("gfx", "variant"), [("gfx1103", "rocm7.14"), ("gfx1036", "rocm10.1.0")])
def test_integrated_graphics_have_their_rocm_plan_among_the_alternatives(
    gfx: str, variant: str, catalog: Catalog
) -> None:
    plan = planned(linux(amd(gfx, "Radeon Graphics", integrated=True)), TORCH, catalog)
    (way,) = plan.alternatives
    assert (way.variant, way.command) == (variant, f"--variant {variant} torch=={way.torch}")
    # and what is proposed is what happens
    asked = want(f"torch=={way.torch}", variant=variant)
    named = planned(linux(amd(gfx, "Radeon Graphics", integrated=True)), asked, catalog)
    assert (named.outcome, named.torch) == ("install", way.torch)


def test_an_override_of_the_chip_is_reported_and_not_followed(catalog: Catalog) -> None:
    spoofed = linux(amd("gfx1031")).replace(environment={"HSA_OVERRIDE_GFX_VERSION": "10.3.0"})
    plan = planned(spoofed, PAIR, catalog)
    assert [w.rule for w in plan.warnings] == ["hsa-override"]
    assert (plan.torch, plan.variant) == ("2.13.0", "rocm10.0.0")
    assert "HSA_OVERRIDE_GFX_VERSION" not in plan.environment


def test_an_unknown_amd_card_is_undetermined(catalog: Catalog) -> None:
    plan = planned(linux(amd(name="Radeon of tomorrow")), TORCH, catalog)
    assert (plan.outcome, plan.blocked.rule if plan.blocked else "") == ("undetermined", "gfx-unknown")


def test_torch_under_an_npu_is_the_cpu_build_of_the_cpu_index(catalog: Catalog) -> None:
    plan = planned(on_cann("910B3", "9.1.0", arch="x86_64"), PAIR, catalog)
    pins = {pin.name: (pin.version, pin.index) for pin in plan.packages}
    cpu = catalog.index_url("cpu")
    assert pins["torch"] == ("2.14.0+cpu", cpu)
    assert pins["torchvision"] == ("0.29.0+cpu", cpu)
    assert pins["torch-npu"] == ("2.14.0", "default")
    # The default index had CPU builds for ARM once; torch comes from the CPU index all the same.
    arm = planned(on_cann("910B3", "8.5.0"), want("torch==2.9.0"), catalog)
    assert arm.packages[0].index == cpu


def test_an_older_torch_npu_brings_what_it_forgets_to_declare(catalog: Catalog) -> None:
    old = planned(on_cann("910B3", "8.2.RC1"), TORCH, catalog)
    assert {(p.name, p.version) for p in old.packages} >= {("numpy", "1.26.2"), ("torch-npu", "2.6.0")}
    assert "pyyaml" in {pin.name for pin in old.packages}
    new = planned(on_cann("910B3", "9.2.0"), TORCH, catalog)
    assert {pin.name for pin in new.packages} == {"torch", "torch-npu"}
    assert "attrs" in new.others
    assert {"torch-npu==2.14.0", "attrs"} <= set(new.commands["uv"])


def test_cann_and_driver_stand_among_the_needs(catalog: Catalog) -> None:
    plan = planned(linux(npu("910B3")), TORCH, catalog)
    needs = {need.what: (need.minimum, need.found, need.met) for need in plan.needs}
    assert needs == {"cann": ("8.5", None, None), "ascend-driver": ("25.0", None, None)}
    late = planned(on_cann("910B3", "9.1.0", driver="25.0.1"), TORCH, catalog)
    assert {need.what: need.met for need in late.needs} == {"cann": True, "ascend-driver": False}
    assert any(warning.rule == "need-unmet" for warning in late.warnings)
    newest = planned(linux(npu("950PR")), TORCH, catalog)
    assert newest.needs[0].minimum == "9.0"


@pytest.mark.parametrize(
    ("cann", "script"),
    [("8.2.RC1", "/usr/local/Ascend/ascend-toolkit/set_env.sh"), ("9.1.0", "/usr/local/Ascend/cann/set_env.sh")],
)
def test_the_script_that_sets_the_environment_is_told(cann: str, script: str, catalog: Catalog) -> None:
    plan = planned(on_cann("910B3", cann), TORCH, catalog)
    assert plan.environment == {"set_env.sh": f"source {script}"}


def test_too_old_a_cann_has_both_ways_out(catalog: Catalog) -> None:
    plan = planned(on_cann("910B3", "8.2.RC1", python="3.12.4"), TORCH, catalog)
    ways = {way.reason.rule: (way.torch, way.variant) for way in plan.alternatives}
    assert ways["if-cann-any"] == ("2.14.0", "npu")
    assert ways["if-python"] == ("2.6.0", "npu")


@pytest.mark.parametrize("version", ["2.10.0.post6", "2.7.1.post6", "2.13.0rc1"])
def test_half_an_upload_and_a_pre_release_are_taken_only_by_name(version: str, catalog: Catalog) -> None:
    row = next(r for r in catalog.ascend.rows if r.torch_npu == version)
    plain = planned(on_cann("910B3", "9.1.0"), want(f"torch=={row.torch}"), catalog)
    assert {pin.name: pin.version for pin in plain.packages}["torch-npu"] != version
    named = planned(on_cann("910B3", None), want(f"torch-npu=={version}"), catalog)
    assert {pin.name: pin.version for pin in named.packages}["torch-npu"] == version


def test_an_npu_machine_keeps_the_pair_that_fits(catalog: Catalog) -> None:
    here = on_cann("910B3", "9.1.0", arch="x86_64").replace(installed={"torch": "2.13.0+cpu", "torch-npu": "2.13.0"})
    assert planned(here, TORCH, catalog).outcome == "satisfied"
    lone = here.replace(installed={"torch": "2.13.0+cpu"})
    assert planned(lone, TORCH, catalog).outcome == "install"
    wrong = here.replace(installed={"torch": "2.13.0+cu130", "torch-npu": "2.13.0"})
    assert planned(wrong, TORCH, catalog).outcome == "install"


def test_a_jetson_names_nvidias_index_and_the_jetpack_that_would_do(catalog: Catalog) -> None:
    plan = planned(jetson("Orin", "8.7", jetpack="6.2"), TORCH, catalog)
    assert plan.blocked is not None
    assert "jetson-ai-lab" in plan.blocked.text
    assert ("if-l4t", "2.15.0") in [(way.reason.rule, way.torch) for way in plan.alternatives]


def test_a_maker_with_builds_of_its_own_is_told_by_name(catalog: Catalog) -> None:
    plan = planned(linux(Gpu(vendor="hygon", name="K100_AI")), TORCH, catalog)
    assert plan.blocked is not None
    assert "DTK" in plan.blocked.text
    assert plan.packages == ()


def test_rosetta_proposes_an_arm_python(catalog: Catalog) -> None:
    plan = planned(mac("15.1", M2).replace(python=Python(version="3.11.9", arch="x86_64")), TORCH, catalog)
    assert [(way.torch, way.variant, way.reason.rule) for way in plan.alternatives] == [
        ("2.15.0", "mps", "if-arm-python")
    ]


def test_a_python_without_wheels_has_its_neighbour_proposed(catalog: Catalog) -> None:
    plan = planned(linux(RTX_4090, driver="580.95.05", python="3.16.0"), TORCH, catalog)
    assert ("if-python", "3.15") in [(w.reason.rule, w.reason.params.get("python")) for w in plan.alternatives]
    old = planned(linux(RTX_4090, driver="580.95.05", python="3.7.9"), TORCH, catalog)
    assert ("if-python", "3.8") in [(w.reason.rule, w.reason.params.get("python")) for w in old.alternatives]
