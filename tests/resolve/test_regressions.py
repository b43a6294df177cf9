"""Answers that were once wrong, each with the sentence of the policy that it broke."""

from __future__ import annotations

import pytest

from hand import GTX_1080, RTX_4090, RTX_5090, linux, nvidia, want, windows
from torchinstall.catalog.catalog import Catalog
from torchinstall.model.machine import (
    AmdDriver,
    AscendDriver,
    Container,
    Gpu,
    IntelDriver,
    Jetson,
    Machine,
    NvidiaDriver,
    Os,
)
from torchinstall.resolve.declare import gpu_from_text
from torchinstall.resolve.resolve import resolve

ADA = linux(RTX_4090, driver="580.95.05")


@pytest.mark.parametrize(
    "environment",
    [
        {"CUDA_VERSION": "12.4.1"},
        {"NVIDIA_VISIBLE_DEVICES": "all"},
        {"NVIDIA_REQUIRE_CUDA": "cuda>=12.4"},
        {"ROCM_VERSION": "6.2"},
        {"ASCEND_TOOLKIT_HOME": "/usr/local/Ascend"},
    ],
)
def test_a_container_that_speaks_of_an_accelerator_is_undetermined(environment, catalog: Catalog) -> None:
    box = Container(kind="docker", build=False, gpu_access=False)
    assert resolve(linux(container=box, environment=environment), want("torch"), catalog).outcome == "undetermined"


@pytest.mark.parametrize("environment", [{}, {"NVIDIA_VISIBLE_DEVICES": "void"}, {"NVIDIA_VISIBLE_DEVICES": "none"}])
def test_a_container_that_speaks_of_none_is_a_cpu_machine(environment, catalog: Catalog) -> None:
    box = Container(kind="docker", build=False, gpu_access=False)
    assert resolve(linux(container=box, environment=environment), want("torch"), catalog).variant == "cpu"


def test_a_conda_build_must_fit_like_any_other(catalog: Catalog) -> None:
    conda = {"installed_by": {"torch": "conda"}}
    cpu = ADA.replace(installed={"torch": "2.6.0+cpu"}, **conda)
    assert resolve(cpu, want("torch"), catalog).outcome == "blocked", "a CPU build never fits a machine with a card"
    pascal = linux(GTX_1080, driver="580.95.05").replace(installed={"torch": "2.15.0+cu132"}, **conda)
    assert resolve(pascal, want("torch"), catalog).blocked.rule == "vendor-build"
    alone = ADA.replace(installed={"torch": "2.6.0+cu124"}, **conda)
    assert resolve(alone, want("torch"), catalog).outcome == "satisfied"
    assert resolve(alone, want("torch", "torchvision"), catalog).outcome == "blocked", "torchvision isn't there"
    assert resolve(alone, want("torch", variant="cu126"), catalog).outcome == "blocked"
    assert resolve(alone, want("torch==2.6.0+cu126"), catalog).outcome == "blocked"
    plain = ADA.replace(installed={"torch": "2.6.0"}, **conda)
    assert resolve(plain, want("torch"), catalog).variant is None, "nobody knows which"


def test_a_vendors_build_stays_where_we_have_none(catalog: Catalog) -> None:
    metax = linux(Gpu(vendor="metax", name="MetaX C500")).replace(installed={"torch": "2.6.0+metax3.0.0"})
    assert resolve(metax, want("torch"), catalog).outcome == "satisfied"
    orin = linux(
        nvidia("Orin", "8.7", integrated=True), arch="aarch64", jetson=Jetson(l4t="36.4.3", soc="tegra234")
    ).replace(installed={"torch": "2.5.0a0+872d972e41.nv24.08"})
    assert resolve(orin, want("torch"), catalog).outcome == "satisfied"
    assert resolve(orin, want("torch>=2.10"), catalog).outcome == "blocked"


def test_what_is_kept_carries_its_own_needs(catalog: Catalog) -> None:
    plan = resolve(ADA.replace(installed={"torch": "2.6.0+cu124"}), want("torch"), catalog)
    assert plan.outcome == "satisfied"
    assert [need.minimum for need in plan.needs] == ["525.60.13"]
    assert plan.devices[0].by == "sm_86"


@pytest.mark.parametrize(
    ("version", "cc", "variant"), [("525", "8.9", "cu126"), ("535", "8.6", "cu126"), ("580", "8.9", "cu130")]
)
def test_a_bare_branch_on_windows_stands_for_its_newest_release(version, cc, variant, catalog: Catalog) -> None:
    assert resolve(windows(nvidia("GPU", cc), driver=version), want("torch"), catalog).variant == variant


def test_a_bare_branch_on_windows_knows_its_cards(catalog: Catalog) -> None:
    plan = resolve(windows(nvidia("NVIDIA B300", "10.3"), driver="575"), want("torch"), catalog)
    assert plan.blocked is None or plan.blocked.rule != "blocked-new"


def test_an_apple_chip_is_no_linux_card(catalog: Catalog) -> None:
    plan = resolve(linux(Gpu(vendor="apple", name="Apple M3"), declared=True), want("torch"), catalog)
    assert plan.outcome == "blocked"


def test_masks_in_a_machine_file(catalog: Catalog) -> None:
    both = linux(GTX_1080, RTX_5090, driver="580.95.05")
    chosen = resolve(both.replace(environment={"CUDA_VISIBLE_DEVICES": "1"}), want("torch"), catalog)
    assert (chosen.torch, chosen.variant) == ("2.15.0", "cu132"), "a mask that names cards is the user's choice"
    for mask in ("", "-1"):
        hidden = linux(RTX_4090.replace(visible=False), driver="580.95.05", environment={"CUDA_VISIBLE_DEVICES": mask})
        plan = resolve(hidden, want("torch"), catalog)
        assert plan.variant == "cu132", "an empty mask hides nothing from the plan"
        assert any(warning.rule == "mask-empty" for warning in plan.warnings)
    uuid = linux(GTX_1080.replace(uuid="GPU-aa"), RTX_5090.replace(uuid="GPU-bb"), driver="580.95.05")
    chosen = resolve(uuid.replace(environment={"CUDA_VISIBLE_DEVICES": "GPU-aa"}), want("torch"), catalog)
    assert chosen.variant == "cu126"


def test_a_mask_that_names_no_card_is_warned_of(catalog: Catalog) -> None:
    ada = RTX_4090.replace(uuid="GPU-aa")
    two = (ada, RTX_4090.replace(uuid="GPU-bb"))
    amd = Gpu(vendor="amd", name="Radeon RX 7900 XTX", gfx="gfx1100")
    for gpus, variable, value, warned in (
        ((ada,), "CUDA_VISIBLE_DEVICES", "7", True),
        ((ada,), "CUDA_VISIBLE_DEVICES", "GPU-cc", True),
        ((ada,), "CUDA_VISIBLE_DEVICES", "NoDevFiles", True),
        (two, "CUDA_VISIBLE_DEVICES", "2,0", True),  # CUDA reads no further than what it doesn't know
        (two, "CUDA_VISIBLE_DEVICES", "1,7", False),
        ((RTX_4090,), "CUDA_VISIBLE_DEVICES", "GPU-cc", False),  # the card's own name isn't known
        (two, "CUDA_VISIBLE_DEVICES", "MIG-11111111-2222", False),  # an instance of either
        ((amd,), "HIP_VISIBLE_DEVICES", "3", True),
        ((amd,), "CUDA_VISIBLE_DEVICES", "3", True),
        ((ada, amd), "HIP_VISIBLE_DEVICES", "0", False),
        ((ada, amd), "HIP_VISIBLE_DEVICES", "1", True),
        ((ada,), "HIP_VISIBLE_DEVICES", "1", False),  # nobody reads it here
    ):
        machine = linux(*gpus, driver="580.95.05", environment={variable: value})
        plan = resolve(machine, want("torch"), catalog)
        assert plan.outcome == "install", "it hides nothing from the plan"
        told = [why.text for why in plan.warnings if why.rule == "mask-none"]
        assert bool(told) is warned, (variable, value)
        assert not told or f"{variable}={value} " in told[0]
    elsewhere = linux(ada, driver="580.95.05", environment={"CUDA_VISIBLE_DEVICES": "7"}, declared=True)
    assert not resolve(elsewhere, want("torch"), catalog).warnings, "what is set here says nothing of a named machine"


def test_a_variant_asked_for_anywhere_counts(catalog: Catalog) -> None:
    clash = resolve(ADA, want("torch", "torchvision==0.29.1+cpu"), catalog)
    assert clash.outcome == "blocked" or clash.variant == "cpu"
    vision = resolve(
        ADA.replace(python=ADA.python.replace(version="3.11.7")), want("torch", "torchvision==0.21.0+cu118"), catalog
    )
    assert (vision.torch, vision.variant) == ("2.6.0", "cu118")
    assert resolve(ADA, want("torch==2.6.0+cu124", variant="cu126"), catalog).outcome == "blocked"
    limit = want("torch==2.13.0+cu126").wishes
    bound = resolve(ADA, want("torch").replace(constraints=limit), catalog)
    assert (bound.torch, bound.variant) == ("2.13.0", "cu126")
    away = resolve(ADA, want("torch==2.14.1").replace(constraints=limit), catalog)
    assert away.outcome == "blocked"


def test_a_discrete_card_goes_before_integrated_graphics(catalog: Catalog) -> None:
    beside = Gpu(vendor="amd", name="Radeon 8060S", gfx="gfx1151", integrated=True, memory_mib=98304)
    machine = linux(RTX_4090.replace(memory_mib=24564), beside, driver="580.95.05")
    plan = resolve(machine.replace(amd=AmdDriver(rocm="7.2.0", state="ok")), want("torch"), catalog)
    assert plan.variant == "cu132"
    arc = Gpu(vendor="intel", name="Intel Arc Graphics", pci_id="8086:7d55", family="Meteor Lake-H", integrated=True)
    machine = linux(nvidia("NVIDIA GeForce RTX 4060", "8.9"), arc, state="missing")
    plan = resolve(machine.replace(intel=IntelDriver(kernel_module="i915", state="ok")), want("torch"), catalog)
    assert plan.outcome == "blocked"
    assert plan.blocked.rule == "driver-missing"


def test_a_driver_number_that_is_none_counts_as_unknown(catalog: Catalog) -> None:
    for version in ("", "abc"):
        machine = ADA.replace(nvidia=NvidiaDriver(version=version, state="ok"))
        plan = resolve(machine, want("torch"), catalog)
        assert plan.outcome == "install"
        assert plan.needs[0].met is None


def test_what_the_driver_announces_bounds_an_unknown_version(catalog: Catalog) -> None:
    machine = ADA.replace(nvidia=NvidiaDriver(version=None, cuda="12.4", state="ok"))
    plan = resolve(machine, want("torch"), catalog)
    assert plan.variant == "cu126", "a driver that announces CUDA 12.4 is of the 12 generation"


def test_a_lost_card_is_no_cpu_machine(catalog: Catalog) -> None:
    for state in ("no-device", "library-mismatch"):
        machine = linux().replace(nvidia=NvidiaDriver(version="580.95.05", state=state))
        plan = resolve(machine, want("torch"), catalog)
        assert plan.outcome in {"blocked", "undetermined"}


def test_an_old_jetpack_is_told_where_its_wheels_are(catalog: Catalog) -> None:
    machine = linux(nvidia("Orin", "8.7", integrated=True), arch="aarch64", jetson=Jetson(l4t="36.4.3", soc="tegra234"))
    assert "jetson-ai-lab" in resolve(machine, want("torch"), catalog).blocked.text
    bare = linux(arch="aarch64", jetson=Jetson(l4t="36.4.3", soc="tegra234"))
    assert resolve(bare, want("torch"), catalog).outcome != "install", "a Tegra board has its GPU, listed or not"


def test_reasons_that_are_true(catalog: Catalog) -> None:
    unknown = resolve(ADA, want("torch", variant="bogus"), catalog)
    assert "bogus" in unknown.blocked.text
    gone = resolve(linux(GTX_1080, driver="580.95.05"), want("torch==2.15.0", variant="cu126"), catalog)
    assert "cu126" in gone.blocked.text
    assert "2.15.0" in gone.blocked.text
    unnamed = linux(nvidia(None, "6.1"), nvidia(None, "12.0"), driver="580.95.05")
    assert resolve(unnamed, want("torch"), catalog).blocked.rule == "no-tuple-all"


def test_an_installed_newer_torch_is_not_put_back_unasked(catalog: Catalog) -> None:
    for installed in ("2.16.0+cu132", "2.16.0.dev20261101+cu132"):
        plan = resolve(ADA.replace(installed={"torch": installed}), want("torch"), catalog)
        assert plan.outcome == "satisfied" or any(w.rule == "downgrade" for w in plan.warnings)


@pytest.mark.parametrize(("name", "outcome"), [("GeForce RTX 4090", False), ("L40S", True)])
def test_forward_compatibility_is_for_datacenter_cards(name: str, outcome: bool, catalog: Catalog) -> None:
    machine = linux(nvidia(name, "8.9"), driver="535.104.05")
    machine = machine.replace(nvidia=machine.nvidia.replace(libcuda="13.0"))
    plan = resolve(machine, want("torch"), catalog)
    assert (plan.variant or "").startswith("cu13") is outcome


@pytest.mark.parametrize(
    ("driver", "rule"),
    [
        (NvidiaDriver(version="550.54.14", state="ok"), "if-driver"),
        (NvidiaDriver(version="580.95.05", state="library-mismatch"), "if-driver-works"),
        (NvidiaDriver(state="missing"), "if-driver-installed"),
        (NvidiaDriver(state="nouveau"), "if-driver-installed"),
        (NvidiaDriver(state="not-loaded"), "if-driver-answers"),
    ],
)
def test_the_change_of_driver_is_the_one_that_would_help(driver: NvidiaDriver, rule: str, catalog: Catalog) -> None:
    plan = resolve(linux(RTX_4090).replace(nvidia=driver), want("torch>=2.12"), catalog)
    ways = [way for way in plan.alternatives if way.reason.rule.startswith("if-driver")]
    assert [way.reason.rule for way in ways] == [rule], plan.outcome


def test_windows_follows_what_the_default_index_serves_on_linux(catalog: Catalog) -> None:
    rules = {why.rule for why in resolve(windows(RTX_4090, driver="581.42"), want("torch"), catalog).why}
    assert "chosen-as-linux" in rules, rules
    assert "chosen-default" not in rules, "there it serves CPU builds"


@pytest.mark.parametrize(("gpu", "family"), [("gfx1100", "ROCm"), ("cc:12.0", None)])
def test_a_backend_without_wheels_for_the_platform_is_said_to_be_that(gpu: str, family: str | None, catalog) -> None:
    card = gpu_from_text(gpu, catalog)
    machine = linux(card, driver="595.45.04" if family is None else None, arch="aarch64")
    plan = resolve(machine, want("torch"), catalog)
    assert (plan.blocked.params.get("backend") if plan.blocked else None) == family


def test_an_ascend_card_where_torch_npu_has_no_wheels(catalog: Catalog) -> None:
    cards = (Gpu(vendor="ascend"), Gpu(vendor="intel"))
    machine = Machine(os=Os(name="windows"), arch="x86_64", gpus=cards, ascend=AscendDriver(cann="7.0.0"))
    assert resolve(machine, want("torch"), catalog).outcome == "blocked"
