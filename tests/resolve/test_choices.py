"""The decision policy, row by row: what each machine gets, offline, by the shipped catalogue."""

from __future__ import annotations

import pytest

from hand import (
    GTX_1080,
    GTX_1080_TI,
    H100,
    K80,
    M3,
    RTX_3090,
    RTX_4090,
    RTX_5090,
    T4,
    V100,
    linux,
    mac,
    nvidia,
    want,
    windows,
)
from torchinstall.catalog.catalog import Catalog
from torchinstall.model.machine import Container, Gpu, Jetson, Machine
from torchinstall.resolve.resolve import resolve

PAIR = want("torch", "torchvision")

INSTALLS = [
    # the machine, the request, torch, variant
    ("pascal on 580", linux(GTX_1080_TI, driver="580.95.05"), PAIR, "2.14.1", "cu126"),
    ("ada on 580", linux(RTX_4090, driver="580.95.05"), PAIR, "2.15.0", "cu132"),
    ("ada on 535", linux(RTX_4090, driver="535.183.01"), PAIR, "2.14.1", "cu126"),
    ("hopper on 550", linux(H100, driver="550.54.15"), PAIR, "2.14.1", "cu126"),
    ("pascal beside ada", linux(GTX_1080, RTX_4090, driver="580.95.05"), PAIR, "2.14.1", "cu126"),
    ("volta beside blackwell", linux(V100, RTX_5090, driver="575.51.03"), PAIR, "2.10.0", "cu128"),
    ("blackwell on 570", linux(RTX_5090, driver="570.86"), want("torch"), "2.11.0", "cu128"),
    ("blackwell on 572, windows", windows(RTX_5090, driver="572.16"), PAIR, "2.11.0", "cu128"),
    ("blackwell on 610", linux(RTX_5090, driver="610.47.04"), PAIR, "2.15.0", "cu132"),
    ("volta on 570", linux(V100, driver="570.86.15"), PAIR, "2.14.1", "cu126"),
    ("turing on 580", linux(T4, driver="580.65.06"), PAIR, "2.15.0", "cu132"),
    ("turing a hair below 580.65.06", linux(T4, driver="580.65.05"), PAIR, "2.14.1", "cu126"),
    ("bare branch 580", linux(T4, driver="580"), PAIR, "2.15.0", "cu132"),
    ("ampere on 470", linux(RTX_3090, driver="470.256.02"), PAIR, "2.7.1", "cu118"),
    ("kepler 3.7 on 470", linux(K80, driver="470.256.02", python="3.11.2"), want("torch"), "2.3.1", "cu118"),
    ("no driver known", linux(RTX_4090), PAIR, "2.15.0", "cu132"),
    ("python 3.10", linux(RTX_4090, driver="580.95.05", python="3.10.14"), PAIR, "2.14.1", "cu130"),
    ("python 3.9", linux(RTX_4090, driver="580.95.05", python="3.9.19"), PAIR, "2.8.0", "cu128"),
    ("python unknown", linux(RTX_4090, driver="580.95.05", python=None), PAIR, "2.15.0", "cu132"),
    ("glibc 2.17", linux(RTX_3090, driver="580.95.05", glibc="2.17", python="3.11.2"), want("torch"), "2.6.0", "cu124"),
    ("a version of the user's", linux(RTX_4090, driver="580.95.05"), want("torch==2.12.*"), "2.12.1", "cu130"),
    ("a variant of the user's", linux(RTX_4090, driver="580.95.05", python="3.11.2"), want("torch==2.6.0+cu124"), "2.6.0", "cu124"),
    ("cpu machine", linux(), want("torch"), "2.14.1", "cpu"),
    ("cpu asked", linux(RTX_4090, driver="580.95.05"), want("torch<2.15", variant="cpu"), "2.14.1", "cpu"),
    ("cpu machine, windows", windows(), want("torch"), "2.15.0", "cpu"),
    ("cpu machine, aarch64", linux(arch="aarch64"), want("torch"), "2.14.1", "cpu"),
    ("gh200", linux(nvidia("NVIDIA GH200 480GB", "9.0"), driver="580.95.05", arch="aarch64"), want("torch"), "2.15.0", "cu132"),
    ("gb10", linux(nvidia("NVIDIA GB10", "12.1", integrated=True), driver="580.95.05", arch="aarch64"), want("torch"), "2.15.0", "cu132"),
    ("apple", mac("15.1", M3), want("torch"), "2.15.0", "mps"),
    ("apple on macOS 13", mac("13.6", M3), want("torch"), "2.7.1", "mps"),
    ("apple on macOS 13, cpu", mac("13.6", M3), want("torch", variant="cpu"), "2.11.0", "mps"),
    ("intel mac", mac("12.7", arch="x86_64"), want("torch"), "2.2.2", "cpu"),
    ("thor", linux(nvidia("NVIDIA Thor", "11.0", integrated=True), arch="aarch64", driver="580.00", jetson=Jetson(l4t="38.2.0", soc="tegra264")), want("torch"), "2.15.0", "cu132"),
    ("orin on jetpack 7.2", linux(nvidia("Orin", "8.7", integrated=True), arch="aarch64", jetson=Jetson(l4t="39.2.0", soc="tegra234")), want("torch"), "2.15.0", "cu132"),
    ("nouveau card beside a driven one", linux(nvidia("GT 710", "3.5", driver="nouveau"), RTX_4090.replace(driver="nvidia"), driver="580.95.05"), want("torch"), "2.15.0", "cu132"),
    ("pascal beside ada on 590: only ada counts", linux(GTX_1080, RTX_4090, driver="590.48.01"), want("torch"), "2.15.0", "cu132"),
    ("volta under the open module, beside blackwell", linux(V100, RTX_5090, driver="575.51.03").replace(nvidia=linux(V100, driver="575.51.03").nvidia.replace(kernel_module="open")), PAIR, "2.11.0", "cu128"),
    ("card without a bound driver beside a driven one", linux(V100.replace(driver="none"), RTX_5090.replace(driver="nvidia"), driver="580.95.05"), PAIR, "2.15.0", "cu132"),
    ("capability from the PCI id", linux(Gpu(vendor="nvidia", pci_id="10de:2684"), driver="580.95.05"), want("torch"), "2.15.0", "cu132"),
    ("forward compatibility", linux(H100, driver="535.183.01").replace(nvidia=linux(H100, driver="535.183.01").nvidia.replace(libcuda="13.0")), want("torch"), "2.15.0", "cu132"),
    ("wsl2 compares with windows minima", linux(RTX_4090, driver="580.65.06").replace(os=linux().os.replace(wsl=True)), want("torch"), "2.14.1", "cu126"),
    ("marker of docker alone", linux(container=Container(kind="docker")), want("torch"), "2.14.1", "cpu"),
    ("variant named without a card", linux(), want("torch", variant="cu126"), "2.14.1", "cu126"),
    ("unadvertised, named", linux(RTX_5090, driver="570.86"), want("torch", variant="cu129"), "2.13.0", "cu129"),
]  # fmt: skip

BLOCKED = [
    ("pascal and blackwell", linux(GTX_1080, RTX_5090, driver="580.95.05"), PAIR, "no-tuple-all"),
    ("pascal on 590", linux(GTX_1080, driver="590.48.01"), PAIR, "blocked-dropped"),
    ("blackwell on 550", linux(RTX_5090, driver="550.54.15"), PAIR, "blocked-new"),
    ("blackwell under the closed module", linux(RTX_5090, driver="580.95.05").replace(nvidia=linux(RTX_5090, driver="580.95.05").nvidia.replace(kernel_module="closed")), PAIR, "blocked-module"),
    ("no device under the closed module", linux(RTX_5090.replace(driver="nvidia"), driver="570.124.06", state="no-device").replace(nvidia=linux(RTX_5090, driver="570.124.06", state="no-device").nvidia.replace(kernel_module="closed")), PAIR, "blocked-module"),
    ("no device under the open module", linux(RTX_5090.replace(driver="nvidia"), driver="570.124.06", state="no-device").replace(nvidia=linux(RTX_5090, driver="570.124.06", state="no-device").nvidia.replace(kernel_module="open")), PAIR, "driver-no-device"),
    ("card without a driver", linux(RTX_4090, state="missing"), PAIR, "driver-missing"),
    ("nouveau", linux(RTX_4090.replace(driver="nouveau"), state="nouveau"), PAIR, "driver-nouveau"),
    ("library mismatch", linux(RTX_4090, driver="580.95.05", state="library-mismatch"), PAIR, "driver-library-mismatch"),
    ("pascal wants 2.15", linux(GTX_1080, driver="580.95.05"), want("torch>=2.15"), "no-kernel"),
    ("musl", linux(RTX_4090, driver="580.95.05").replace(os=linux().os.replace(musl="1.2", glibc=None)), PAIR, "musl"),
    ("python 3.7", linux(RTX_4090, driver="580.95.05", python="3.7.9"), want("torch"), "no-python"),
    ("pypy", linux(python="3.11.9").replace(python=linux().python.replace(implementation="PyPy")), PAIR, "python-implementation"),
    ("32-bit python", windows().replace(python=windows().python.replace(bits=32)), PAIR, "python-bits"),
    ("ppc64le", linux(arch="ppc64le"), PAIR, "no-platform"),
    ("orin on jetpack 6", linux(nvidia("Orin", "8.7", integrated=True), arch="aarch64", jetson=Jetson(l4t="36.4.3", soc="tegra234")), want("torch"), "tegra"),
    ("require gpu on a cpu machine", linux(), want("torch", require_gpu=True), "require-gpu"),
    ("fermi", linux(nvidia("GeForce GTX 480", "2.0"), driver="390.157"), want("torch"), "no-kernel"),
]  # fmt: skip

UNDETERMINED = [
    ("image build", linux(container=Container(kind="buildkit", build=True, evidence=("BuildKit",))), "image-build"),
    ("container without the device", linux(RTX_4090, driver="580.95.05", container=Container(kind="docker", gpu_access=False, evidence=("/sys/module/nvidia",))), "container-no-device"),
    ("login node", linux(hpc="slurm"), "login-node"),
    ("nothing known of cards", linux().replace(gpus=None), "gpus-unknown"),
    ("a card nobody knows", linux(nvidia("NVIDIA XYZ 9000")), "card-unknown"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("machine", "request_", "torch", "variant"), [row[1:] for row in INSTALLS], ids=[r[0] for r in INSTALLS]
)
def test_installs(machine: Machine, request_, torch: str, variant: str, catalog: Catalog) -> None:
    plan = resolve(machine, request_, catalog)
    assert (plan.outcome, plan.torch, plan.variant) == ("install", torch, variant), plan.blocked
    assert plan.packages[0].name == "torch"
    assert {pin.name for pin in plan.packages} == {"torch"} | {wish.name for wish in request_.wishes}
    assert plan.exit_code == 0


@pytest.mark.parametrize(("machine", "request_", "rule"), [row[1:] for row in BLOCKED], ids=[r[0] for r in BLOCKED])
def test_blocked(machine: Machine, request_, rule: str, catalog: Catalog) -> None:
    plan = resolve(machine, request_, catalog)
    assert plan.outcome == "blocked"
    assert plan.exit_code == 3
    assert plan.blocked is not None
    assert plan.blocked.rule.startswith(rule), plan.blocked.text
    assert plan.packages == ()


@pytest.mark.parametrize(("machine", "rule"), [row[1:] for row in UNDETERMINED], ids=[r[0] for r in UNDETERMINED])
def test_undetermined(machine: Machine, rule: str, catalog: Catalog) -> None:
    plan = resolve(machine, want("torch"), catalog)
    assert (plan.outcome, plan.exit_code) == ("undetermined", 4)
    assert plan.blocked is not None
    assert plan.blocked.rule == rule
    # Naming the wheel, or that none is needed, settles it.
    assert resolve(machine, want("torch", variant="cpu"), catalog).outcome == "install"
    assert resolve(machine, want("torch", variant="cu126"), catalog).variant == "cu126" or rule == "card-unknown"


def test_two_cards_that_share_no_wheel_get_a_plan_each(catalog: Catalog) -> None:
    plan = resolve(linux(GTX_1080, RTX_5090, driver="580.95.05"), PAIR, catalog)
    alone = [(item.gpu, item.torch, item.variant) for item in plan.per_device]
    assert alone == [(0, "2.14.1", "cu126"), (1, "2.15.0", "cu132")]
    assert plan.per_device[1].hide == "CUDA_DEVICE_ORDER=PCI_BUS_ID CUDA_VISIBLE_DEVICES=1"


def test_companions_carry_the_variant(catalog: Catalog) -> None:
    plan = resolve(linux(GTX_1080_TI, driver="580.95.05"), PAIR, catalog)
    pins = {pin.name: (pin.version, pin.index) for pin in plan.packages}
    assert pins == {
        "torch": ("2.14.1+cu126", catalog.index_url("cu126")),
        "torchvision": ("0.29.1+cu126", catalog.index_url("cu126")),
    }
    assert plan.devices[0].runs == "yes"
    assert plan.devices[0].by == "sm_60"
    need = plan.needs[0]
    assert (need.what, need.minimum, need.found, need.met) == ("nvidia-driver", "525.60.13", "580.95.05", True)


def test_the_default_index_is_named_without_local_part(catalog: Catalog) -> None:
    plan = resolve(linux(RTX_4090, driver="580.95.05"), PAIR, catalog)
    assert [(pin.name, pin.version, pin.index) for pin in plan.packages] == [
        ("torch", "2.15.0", "default"),
        ("torchvision", "0.29.2", "default"),
    ]


def test_every_loser_has_a_reason(catalog: Catalog) -> None:
    plan = resolve(linux(RTX_5090, driver="570.86"), want("torch"), catalog)
    lost = {(r.torch, r.variant): r.reason.rule for r in plan.rejected}
    assert lost["2.15.0", "cu132"] == "driver-too-old"
    assert lost["2.14.1", "cu126"] == "no-kernel"
    assert lost["2.13.0", "cu129"] == "status"
    assert lost["2.15.0", "cu126"] == "withdrawn"
    assert lost["2.15.0", "cpu"] == "not-cpu"
    assert lost["2.10.0", "cu128"] == "not-newest"
    assert len(lost) + 1 == len(catalog.builds("linux_x86_64"))


def test_alternatives_are_the_changes_worth_knowing(catalog: Catalog) -> None:
    plan = resolve(linux(RTX_5090, driver="570.86"), want("torch"), catalog)
    ways = {(way.torch, way.variant): way.reason.rule for way in plan.alternatives}
    assert ways["2.15.0", "cu132"] == "if-driver"
    assert ways["2.13.0", "cu129"] == "if-cuda"


def test_a_blocked_plan_names_the_ways_out(catalog: Catalog) -> None:
    plan = resolve(linux(GTX_1080, driver="590.48.01"), PAIR, catalog)
    first = plan.alternatives[0]
    assert (first.torch, first.variant, first.reason.rule) == ("2.14.1", "cu126", "if-driver-branch")
    assert any(way.variant == "cpu" for way in plan.alternatives)
    python = resolve(linux(RTX_4090, driver="580.95.05", python="3.10.14"), want("torch==2.15.0"), catalog)
    assert python.outcome == "blocked"
    assert ("if-python", "3.11") in [(w.reason.rule, w.reason.params.get("python")) for w in python.alternatives]


def test_masked_cards_do_not_count(catalog: Catalog) -> None:
    machine = linux(GTX_1080.replace(visible=False), RTX_4090, driver="580.95.05")
    plan = resolve(machine.replace(environment={"CUDA_VISIBLE_DEVICES": "1"}), want("torch"), catalog)
    assert (plan.torch, plan.variant) == ("2.15.0", "cu132")
    assert [(d.gpu, d.runs) for d in plan.devices] == [(0, "left-out"), (1, "yes")]


def test_same_inputs_same_bytes(catalog: Catalog) -> None:
    from torchinstall.output.jsonout import dumps, plan_to_json

    machine = linux(GTX_1080, RTX_4090, driver="580.95.05")
    assert dumps(plan_to_json(resolve(machine, PAIR, catalog))) == dumps(plan_to_json(resolve(machine, PAIR, catalog)))


def test_a_conflict_names_the_wishes(catalog: Catalog) -> None:
    machine = linux(RTX_4090, driver="580.95.05")
    plan = resolve(machine, want("torch==2.14.1", "torchvision==0.20.1"), catalog)
    assert plan.outcome == "blocked"
    assert plan.blocked is not None
    assert plan.blocked.rule == "conflict"
    assert "torch==2.14.1" in plan.blocked.text
    assert "torchvision==0.20.1" in plan.blocked.text


def test_a_companions_version_moves_torch(catalog: Catalog) -> None:
    plan = resolve(linux(RTX_4090, driver="580.95.05"), want("torch", "torchvision==0.26.*"), catalog)
    assert (plan.packages[0].name, plan.packages[0].version) == ("torch", "2.11.0")


def test_a_constraint_binds_without_asking(catalog: Catalog) -> None:
    asked = want("torch")
    limit = want("torch<=2.14.1", "torchvision<=0.29.1").wishes
    plan = resolve(linux(RTX_4090, driver="580.95.05"), asked.replace(constraints=limit), catalog)
    assert (plan.torch, plan.variant) == ("2.14.1", "cu130")
    assert [pin.name for pin in plan.packages] == ["torch"]


def test_what_works_stays(catalog: Catalog) -> None:
    machine = linux(RTX_4090, driver="580.95.05").replace(installed={"torch": "2.13.0+cu130"})
    plan = resolve(machine, want("torch"), catalog)
    assert (plan.outcome, plan.torch, plan.variant) == ("satisfied", "2.13.0", "cu130")
    assert plan.alternatives[0].torch == "2.15.0"
    assert resolve(machine, want("torch", upgrade=True), catalog).torch == "2.15.0"
    assert resolve(machine, want("torch>=2.14"), catalog).outcome == "install"
    assert resolve(machine, want("torch", "torchvision"), catalog).outcome == "install"
    beside = machine.replace(installed={"torch": "2.13.0+cu130", "torchvision": "0.28.0+cu130"})
    assert resolve(beside, want("torch", "torchvision"), catalog).outcome == "satisfied"
    mixed = machine.replace(installed={"torch": "2.13.0+cu130", "torchvision": "0.28.0+cpu"})
    assert resolve(mixed, want("torch", "torchvision"), catalog).outcome == "install"


def test_a_cpu_build_never_fits_a_machine_with_a_card(catalog: Catalog) -> None:
    machine = linux(RTX_4090, driver="580.95.05").replace(installed={"torch": "2.15.0+cpu"})
    plan = resolve(machine, want("torch"), catalog)
    assert (plan.outcome, plan.variant) == ("install", "cu132")


@pytest.mark.parametrize("installed", ["2.7.0+metax3.1", "2.6.0a0+ecf3bae40a.nv25.01", "2.4.1+das.opt2.dtk2504"])
def test_a_vendors_build_is_left_alone(installed: str, catalog: Catalog) -> None:
    machine = linux(RTX_4090, driver="580.95.05").replace(installed={"torch": installed})
    assert resolve(machine, want("torch"), catalog).outcome == "satisfied"
    refused = resolve(machine, want("torch>=2.14"), catalog)
    assert (refused.outcome, refused.blocked.rule) == ("blocked", "vendor-build")
    assert resolve(machine, want("torch>=2.14", replace_vendor_build=True), catalog).outcome == "install"


def test_commands_are_the_whole_plan(catalog: Catalog) -> None:
    plan = resolve(linux(GTX_1080_TI, driver="580.95.05"), want("torch", "torchvision", "transformers"), catalog)
    url = catalog.index_url("cu126")
    family = ("torch==2.14.1+cu126", "torchvision==0.29.1+cu126", "--index-url", url)
    assert plan.commands["uv"] == ("uv", "pip", "install", *family, "&&", "uv", "pip", "install", "transformers")


def test_a_display_adapter_alone_is_named_and_beside_a_card_is_not(catalog) -> None:
    adapter = Gpu(vendor="intel", pci_id="8086:0166", driver="i915")
    alone = resolve(linux(adapter), want("torch"), catalog)
    assert alone.variant == "cpu"
    assert [why.rule for why in alone.warnings] == ["display-left"]
    beside = resolve(linux(adapter, RTX_4090, driver="580.95.05"), want("torch"), catalog)
    assert beside.variant == "cu132"
    assert beside.warnings == ()


def test_integrated_graphics_in_spite_of_it_without_what_has_no_such_wheels(catalog) -> None:
    phoenix = Gpu(vendor="amd", name="Phoenix1", gfx="gfx1103", integrated=True, driver="amdgpu")
    way = resolve(linux(phoenix), want("torch", "torchvision", "torchaudio"), catalog).alternatives[-1]
    assert (way.variant[:4], way.reason.rule) == ("rocm", "if-rocm-without")
    assert "without torchaudio" in way.reason.text
    assert "torchvision" in way.command
    assert "torchaudio" not in way.command
    way = resolve(linux(phoenix), want("torch", "torchvision"), catalog).alternatives[-1]
    assert way.reason.rule == "if-rocm"


@pytest.mark.parametrize(
    ("installed", "asked", "version", "torchvision"),
    [
        ({"torch": "2.13.0+cu130"}, want("torchvision"), "2.13.0", "0.28.0"),
        ({"torch": "2.13.0+cu126"}, want("torchvision"), "2.13.0+cu126", "0.28.0+cu126"),
        ({"torch": "2.13.0+cu130", "torchvision": "0.20.0+cu130"}, PAIR, "2.13.0", "0.28.0"),
        # An upgrade, another version or what doesn't fit is no reason to stay.
        ({"torch": "2.13.0+cu130"}, want("torchvision", upgrade=True), "2.15.0", "0.29.2"),
        ({"torch": "2.13.0+cu130"}, want("torch>=2.14", "torchvision"), "2.15.0", "0.29.2"),
        ({"torch": "2.13.0+cpu"}, want("torchvision"), "2.15.0", "0.29.2"),
    ],
)
def test_a_companion_is_taken_for_the_torch_that_is_there(catalog, installed, asked, version, torchvision) -> None:
    plan = resolve(linux(RTX_4090, driver="580.95.05").replace(installed=installed), asked, catalog)
    assert plan.outcome == "install"
    assert {pin.name: pin.version for pin in plan.packages} == {"torch": version, "torchvision": torchvision}
    stays = version.startswith("2.13")
    assert (plan.why[0].rule == "kept-beside") is stays
    assert any(way.reason.rule == "if-upgrade" for way in plan.alternatives) is stays


@pytest.mark.parametrize(
    "card",
    [Gpu(vendor="intel", pci_id="8086:e2ff", driver="xe"), Gpu(vendor="intel", name="Intel(R) Arc(TM) B770 Graphics")],
)
def test_an_intel_card_that_no_table_has_is_no_guess(catalog, card) -> None:
    plan = resolve(linux(card), want("torch"), catalog)
    assert (plan.outcome, plan.blocked.rule) == ("undetermined", "card-unlisted")
    assert resolve(linux(card), want("torch", variant="xpu"), catalog).variant == "xpu"
    assert resolve(linux(card), want("torch", variant="cpu"), catalog).variant == "cpu"


def test_cards_for_two_kernel_modules_come_with_a_warning(catalog) -> None:
    old, new = nvidia("Tesla V100", "7.0"), nvidia("B200", "10.0")
    plan = resolve(linux(old, new, driver="580.95.05"), want("torch"), catalog)
    assert [why.rule for why in plan.warnings] == ["modules-differ"]
    known = linux(old, new, driver="580.95.05")
    known = known.replace(nvidia=known.nvidia.replace(kernel_module="open"))
    assert [why.rule for why in resolve(known, want("torch"), catalog).warnings] == ["left-module"]
    assert resolve(linux(new, driver="580.95.05"), want("torch"), catalog).warnings == ()


@pytest.mark.parametrize("variant", ["foo", "cu12.6", "cu999"])
def test_a_variant_that_nobody_knows_is_named_as_such(catalog, variant) -> None:
    for machine in (linux(RTX_4090, driver="580.95.05"), linux(RTX_4090).replace(declared=True), linux()):
        plan = resolve(machine, want("torch", variant=variant), catalog)
        assert (plan.outcome, plan.blocked.rule) == ("blocked", "unknown-variant")
        assert "cu126" in plan.blocked.text
