"""Facts decide: the same text calls for different things on different machines."""

from __future__ import annotations

import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import hand
from torchinstall.diagnose.batch import diagnoses
from torchinstall.diagnose.installed import read_installed
from torchinstall.errors import MachineFileError
from torchinstall.model.finding import ACTIONS
from torchinstall.model.machine import AmdDriver, AscendDriver, Container, Gpu, Machine, Os
from torchinstall.model.request import Request

NO_KERNEL = "CUDA error: no kernel image is available for execution on the device"
TOO_OLD = "The NVIDIA driver on your system is too old (found version 11040)."
NOT_COMPILED = "AssertionError: Torch not compiled with CUDA enabled"


def first(diagnosis):
    return diagnosis.findings[0]


def pair(plan):
    return plan.torch, plan.variant


# -- the wheel has no code for the card


def test_no_kernel_keeps_the_version_and_names_the_newest(doctor):
    answer = doctor(hand.linux(hand.GTX_1080), NO_KERNEL, {"torch": "2.8.0+cu128"})
    assert answer.action == "reinstall-with-variant"
    assert answer.reinstalling_helps
    assert pair(answer.plan) == ("2.8.0", "cu126")
    assert pair(answer.plan.alternatives[0]) == ("2.14.1", "cu126")
    assert "--variant cu126" in first(answer).command
    assert "2.8.0+cu128" in " ".join(first(answer).evidence)


def test_no_kernel_is_found_without_any_text(doctor):
    answer = doctor(hand.linux(hand.RTX_5090, driver="580.95.05"), installed={"torch": "2.6.0+cu126"})
    assert (answer.action, first(answer).id) == ("reinstall-with-variant", "no-kernel-image")
    assert answer.exit_code == 3


def test_a_pin_without_code_for_the_card_has_no_solution(doctor):
    wish = hand.want("torch==2.5.1")
    answer = doctor(hand.linux(hand.RTX_5090, driver="590.48"), NO_KERNEL, {"torch": "2.5.1+cu121"}, wish)
    assert answer.action == "no-solution"
    assert not answer.reinstalling_helps
    assert "2.14.1" in first(answer).remedy or "2.15" in first(answer).remedy


def test_the_hint_of_torch_is_overruled_where_it_names_what_never_was(doctor):
    text = (
        "Found GPU0 NVIDIA GeForce GTX 1080 which is of compute capability (CC) 6.1. "
        "Your installed torch==2.15.0+cu132 does not include kernels for this GPU. "
        "Please install PyTorch with a following CUDA configurations:  12.6"
    )
    answer = doctor(hand.linux(hand.GTX_1080, driver="580.95.05"), text, {"torch": "2.15.0+cu132"})
    assert answer.action == "pin-older-torch"
    assert pair(answer.plan) == ("2.14.1", "cu126")
    assert "it is wrong" in first(answer).remedy


def test_a_text_about_another_card_changes_none_that_has_a_name(doctor):
    text = (
        "NVIDIA GeForce RTX 5090 with CUDA capability sm_120 is not compatible with the current PyTorch installation."
    )
    answer = doctor(hand.linux(hand.nvidia("NVIDIA H100"), driver="535.154"), text, {"torch": "2.6.0+cu124"})
    assert answer.machine.gpus[0].compute_capability is None
    nameless = doctor(hand.linux(hand.nvidia("unknown")), text, {"torch": "2.6.0+cu124"})
    assert nameless.machine.gpus[0].compute_capability == "12.0"


def test_a_warning_about_a_card_that_is_served_is_a_false_alarm(doctor):
    spark = hand.nvidia("NVIDIA GB10", "12.1")
    text = (
        "Found GPU0 NVIDIA GB10 which is of cuda capability 12.1. Minimum and Maximum cuda capability is (8.0) - (12.0)"
    )
    answer = doctor(hand.linux(spark, driver="580.95.05", arch="aarch64"), text, {"torch": "2.9.1+cu130"})
    assert first(answer).id == "capability-false-alarm"
    assert not answer.reinstalling_helps


def test_code_that_is_there_and_an_error_all_the_same_is_another_package(doctor):
    answer = doctor(hand.linux(hand.RTX_4090), NO_KERNEL, {"torch": "2.8.0+cu128", "flash-attn": "2.8.3"})
    assert first(answer).id == "no-kernel-elsewhere"
    assert "flash-attn" in first(answer).cause
    assert answer.action == "fix-environment"


def test_two_cards_that_nothing_serves_together_are_hidden_from_each_other(doctor):
    answer = doctor(hand.linux(hand.K80, hand.RTX_5090), NO_KERNEL, {"torch": "2.7.0+cu128"})
    assert answer.action == "fix-environment"
    assert "CUDA_VISIBLE_DEVICES" in first(answer).command


# -- the driver


@pytest.mark.parametrize(
    ("driver", "installed", "box", "action"),
    [
        ("535.183.01", {"torch": "2.11.0+cu130"}, None, "reinstall-with-variant"),
        ("560.94", {"torch": "2.13.0+cu130", "vllm": "0.28.0"}, None, "upgrade-driver"),
        ("470.86", {"torch": "2.1.0+cu121"}, None, "upgrade-driver"),
        ("470.182.03", {"torch": "2.1.0+cu121"}, Container(kind="kubernetes"), "pin-older-torch"),
    ],
)
def test_an_old_driver_calls_for_what_can_be_changed(doctor, driver, installed, box, action):
    machine = hand.linux(hand.RTX_3090, driver=driver, container=box)
    with_text = doctor(machine, TOO_OLD, installed)
    assert with_text.action == action
    assert with_text.reinstalling_helps == (action != "upgrade-driver")
    # The facts alone say the same.
    assert doctor(machine, "", installed).action == action


def test_the_number_in_the_text_stands_for_the_driver(doctor):
    answer = doctor(Machine(os=Os(name="linux"), arch="x86_64"), TOO_OLD)
    assert answer.machine.nvidia.version == "470"
    assert answer.machine.nvidia.cuda == "11.4"
    assert answer.action == "upgrade-driver"
    assert "2.7.1+cu118" in first(answer).remedy


@pytest.mark.parametrize(
    ("state", "action"),
    [
        ("missing", "upgrade-driver"),
        ("nouveau", "upgrade-driver"),
        ("not-loaded", "fix-environment"),
        ("library-mismatch", "fix-environment"),
        ("no-device", "fix-environment"),
    ],
)
def test_a_broken_driver_is_no_matter_of_wheels(doctor, state, action):
    answer = doctor(hand.linux(hand.RTX_4090, state=state), installed={"torch": "2.8.0+cu128"})
    assert (answer.action, first(answer).id) == (action, f"driver-{state}")
    assert not answer.reinstalling_helps


# -- CPU builds


def test_a_cpu_build_beside_a_card_is_found_without_text(doctor):
    answer = doctor(hand.windows(hand.RTX_4090, driver="582.10"), installed={"torch": "2.9.1+cpu"})
    assert (answer.action, first(answer).id) == ("reinstall-with-variant", "cpu-build")
    assert answer.plan.torch == "2.9.1"
    assert answer.plan.variant.startswith("cu")


def test_a_version_without_local_part_is_what_the_default_index_serves(doctor):
    answer = doctor(hand.windows(hand.RTX_4090, driver="582.10"), installed={"torch": "2.9.1"})
    assert first(answer).id == "cpu-build"
    assert doctor(hand.linux(hand.RTX_4090, driver="580.95.05"), installed={"torch": "2.9.1"}).action == "none"


def test_a_cpu_build_on_a_machine_without_card_is_right(doctor):
    answer = doctor(hand.linux(), installed={"torch": "2.9.1+cpu"})
    assert (answer.action, answer.exit_code) == ("none", 0)


def test_an_unknown_card_gets_a_likely_answer_and_the_question(doctor):
    machine = hand.windows(hand.nvidia("unknown"))
    answer = doctor(machine, NOT_COMPILED, {"torch": "2.3.1+cpu"})
    assert answer.action == "reinstall-with-variant"
    assert first(answer).likely
    assert "card" in first(answer).question
    assert pair(answer.plan) == ("2.3.1", "cu121")


def test_a_build_for_another_maker_s_cards(doctor):
    card = Gpu(vendor="amd", name="Radeon RX 7900 XTX", gfx="gfx1100")
    answer = doctor(hand.linux(card), "torch.cuda.is_available() returns False", {"torch": "2.6.0+cu124"})
    assert (answer.action, first(answer).id) == ("reinstall-with-variant", "wrong-backend")
    assert answer.plan.variant.startswith("rocm")


def test_the_cpu_build_is_right_under_an_npu(doctor):
    card = Gpu(vendor="ascend", soc="910B3")
    answer = doctor(hand.linux(card, arch="aarch64"), installed={"torch": "2.6.0+cpu", "torch_npu": "2.6.0"})
    assert "cpu-build" not in [finding.id for finding in answer.findings]


def test_a_build_for_cards_is_right_where_there_is_none(doctor):
    assert doctor(hand.linux(), installed={"torch": "2.9.1+cu128"}).exit_code == 0


def test_rocm_libraries_that_dropped_a_card(doctor):
    card = Gpu(vendor="amd", name="AMD Instinct MI50", gfx="gfx906")
    answer = doctor(hand.linux(card), installed={"torch": "2.9.1+rocm6.4"})
    assert answer.action == "reinstall-with-variant"
    assert pair(answer.plan) == ("2.9.1", "rocm6.3")


def test_a_toolkit_that_is_too_old_can_be_exchanged(doctor):
    card = Gpu(vendor="ascend", soc="910B3")
    answer = doctor(hand.linux(card, arch="aarch64", ascend=AscendDriver(driver="25.2.0", cann="8.2.RC1", state="ok")))
    assert answer.action == "fix-environment"
    assert "CANN" in first(answer).cause


# -- companions and dependents


def test_companions_of_another_torch(doctor):
    installed = {"torch": "2.13.0+cpu", "torchvision": "0.27.0+cpu"}
    answer = doctor(hand.linux(), installed=installed)
    assert (answer.action, first(answer).id) == ("reinstall-with-variant", "companion-mismatch")
    assert "0.28.0" in first(answer).cause
    assert "torchvision" in first(answer).command
    right = {"torch": "2.13.0+cpu", "torchvision": "0.28.0+cpu"}
    assert doctor(hand.linux(), installed=right).action == "none"


def test_a_companion_of_another_variant(doctor):
    installed = {"torch": "2.9.1+cu128", "torchvision": "0.24.1+cpu"}
    answer = doctor(hand.linux(hand.RTX_4090, driver="580.95.05"), installed=installed)
    assert first(answer).id == "companion-mismatch"


def test_a_cuda_library_that_a_dependent_wants_names_the_build(doctor):
    text = "ImportError: libcudart.so.13: cannot open shared object file: No such file or directory"
    answer = doctor(hand.linux(), text, {"torch": "2.11.0+cu126", "vllm": "0.21.0"})
    assert pair(answer.plan) == ("2.11.0", "cu130")
    image = {"torch": "2.7.0a0+nv25.02", "torchaudio": "2.11.0"}
    answer = doctor(hand.linux(), text, image)
    assert answer.action == "fix-environment"


def test_an_extension_and_its_toolkit(doctor):
    text = "The detected CUDA version ({}) mismatches the version that was used to compile PyTorch ({})."
    newer = doctor(hand.linux(), text.format("12.2", "11.3"), {"torch": "2.0.1+cu117"})
    older = doctor(hand.linux(), text.format("11.8", "12.4"), {"torch": "2.6.0+cu124"})
    assert (newer.action, older.action) == ("reinstall-with-variant", "fix-environment")


# -- other makers


def test_integrated_graphics_before_the_card_is_hidden(doctor):
    apu = Gpu(vendor="amd", name="AMD Radeon Graphics", gfx="gfx1036", integrated=True)
    card = Gpu(vendor="amd", name="Radeon RX 7900 XT", gfx="gfx1100")
    text = "HIP error: device kernel image is invalid"
    answer = doctor(hand.linux(apu, card), text, {"torch": "2.9.1+rocm6.4"})
    assert answer.action == "fix-environment"
    assert "HIP_VISIBLE_DEVICES=1" in first(answer).command


def test_wsl_wants_other_rocm_wheels(doctor):
    card = Gpu(vendor="amd", name="Radeon RX 7900", gfx="gfx1100")
    machine = hand.linux(card).replace(os=Os(name="linux", wsl=True, glibc="2.39"))
    text = "torch.cuda.is_available() False in WSL"
    assert doctor(machine, text, {"torch": "2.7.0+rocm6.3"}).action == "reinstall-with-variant"
    assert doctor(machine, "hipErrorNoDevice").action == "fix-environment"


def test_an_amd_driver_that_gives_no_device(doctor):
    card = Gpu(vendor="amd", name="Radeon RX 7900", gfx="gfx1100")
    answer = doctor(hand.linux(card, amd=AmdDriver(state="no-device")), installed={"torch": "2.9.1+rocm6.4"})
    assert (answer.action, first(answer).id) == ("fix-environment", "amd-no-device")
    assert "usermod" in first(answer).command


def test_torch_npu_belongs_to_its_torch(doctor):
    card = Gpu(vendor="ascend", soc="910B3")
    answer = doctor(hand.linux(card, arch="aarch64"), installed={"torch": "2.6.0+cpu", "torch_npu": "2.5.1"})
    assert first(answer).id == "torch-npu-mismatch"
    text = "libhccl.so: cannot open shared object file"
    assert doctor(hand.linux(card, arch="aarch64"), text, {"torch": "2.5.1+cpu"}).action == "fix-environment"


def test_rosetta(doctor):
    answer = doctor(hand.mac("14.5", hand.M3, arch="x86_64"), installed={"torch": "2.2.2"})
    assert (answer.action, first(answer).id) == ("fix-environment", "rosetta")


# -- wheels that can't be had


@pytest.mark.parametrize(
    ("machine", "wanted", "action"),
    [
        (hand.linux(python="3.10.2"), "torch==2.15.0", "no-solution"),
        (hand.linux(glibc="2.27"), "torch==2.7.0", "pin-older-torch"),
        (hand.linux(), "torch==2.6.0", "install"),
        (hand.mac("14.5", arch="x86_64"), "torch==2.3.0", "no-solution"),
    ],
)
def test_one_sentence_of_pip_has_many_causes(doctor, machine, wanted, action):
    text = f"ERROR: Could not find a version that satisfies the requirement {wanted} (from versions: none)"
    assert doctor(machine, text).action == action
    assert doctor(machine, text, request=hand.want(wanted)).action == action


def test_alpine_has_no_wheels(doctor):
    machine = hand.linux().replace(os=Os(name="linux", musl="1.2"))
    assert doctor(machine, "No matching distribution found for torch").action == "no-solution"


def test_the_network_comes_before_its_consequences(doctor):
    text = (
        "WARNING: Retrying after SSLError(SSLCertVerificationError('self signed certificate'))\n"
        "ERROR: Could not find a version that satisfies the requirement torch (from versions: none)\n"
    )
    answer = doctor(hand.linux(), text)
    assert (answer.action, first(answer).id) == ("fix-environment", "net-ssl-ca")
    assert not answer.reinstalling_helps


def test_a_path_too_long_is_left_behind_with_the_release_that_has_it(doctor):
    answer = doctor(hand.windows(), "[WinError 206] The filename or extension is too long", {"torch": "2.13.0"})
    assert answer.action == "install"
    assert answer.plan.torch != "2.13.0"
    assert doctor(hand.windows(), "[WinError 206]", {"torch": "2.9.0"}).action == "fix-environment"


# -- masks, nothing, and nonsense


def test_a_mask_is_told(doctor):
    answer = doctor(hand.linux(hand.RTX_4090), "", {"torch": "2.8.0+cu128"}, environment={"CUDA_VISIBLE_DEVICES": ""})
    assert (answer.action, first(answer).id) == ("fix-environment", "masked-devices")
    named = doctor(hand.linux(hand.RTX_4090), "", {"torch": "2.8.0+cu128"}, environment={"CUDA_VISIBLE_DEVICES": "0"})
    assert named.action == "none"


@pytest.mark.parametrize("text", ["", "the cat sat on the mat", "日本語のエラーです"])
def test_what_isn_t_recognised_says_what_would_help(doctor, text):
    answer = doctor(Machine(os=Os(name="linux"), arch="x86_64"), text)
    assert answer.exit_code == 4
    assert answer.action == "none"
    assert "collect_env" in first(answer).remedy


def test_a_compat_library_beside_a_geforce(doctor):
    path = {"LD_LIBRARY_PATH": "/usr/local/cuda/compat:/usr/lib"}
    answer = doctor(hand.linux(hand.RTX_4090), "", {"torch": "2.8.0+cu128"}, environment=path)
    assert (answer.action, first(answer).id) == ("fix-environment", "compat-library")
    assert doctor(hand.linux(hand.H100), "", {"torch": "2.8.0+cu128"}, environment=path).action == "none"


def test_a_healthy_machine_keeps_what_it_has(doctor):
    answer = doctor(hand.linux(hand.RTX_4090, driver="580.95.05"), installed={"torch": "2.8.0+cu128"})
    assert (answer.action, answer.exit_code, answer.findings) == ("none", 0, ())
    assert answer.plan.outcome == "satisfied"


@given(
    text=st.one_of(st.text(max_size=300), st.sampled_from([NO_KERNEL, TOO_OLD, NOT_COMPILED, "hipErrorNoDevice"])),
    installed=st.dictionaries(
        st.sampled_from(["torch", "torchvision", "torchaudio", "torch-npu", "vllm", "numpy"]), st.text(max_size=20)
    ),
    gpus=st.lists(
        st.builds(
            Gpu,
            vendor=st.sampled_from(["nvidia", "amd", "intel", "ascend", "apple", "hygon", ""]),
            name=st.one_of(st.none(), st.text(max_size=10)),
            compute_capability=st.sampled_from([None, "6.1", "8.9", "12.0", "99.9"]),
            gfx=st.sampled_from([None, "gfx1100", "gfx1036", "gfx9999"]),
        ),
        max_size=3,
    ),
    system=st.sampled_from(["linux", "windows", "macos", None]),
)
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_every_report_gets_an_answer(doctor, text, installed, gpus, system):
    machine = Machine(os=Os(name=system), arch="x86_64", gpus=tuple(gpus))
    answer = doctor(machine, text, installed)
    assert answer.action in ACTIONS
    assert answer.exit_code in {0, 3, 4}
    for finding in answer.findings:
        assert finding.cause
        assert finding.action in ACTIONS


# -- what is installed, as people write it


@pytest.mark.parametrize(
    ("text", "release", "variant", "vendor"),
    [
        ("2.8.0+cu128", "2.8.0", "cu128", False),
        ("2.9+cu128", "2.9.0", "cu128", False),
        ("2.9.1 (cpu)", "2.9.1", "cpu", False),
        ("2.3.1 (cpu, 159.8 MB wheel)", "2.3.1", "cpu", False),
        ("cu128 build", None, "cu128", False),
        ("2.x+cu12", None, None, False),
        ("2.7.0a0 nv (CUDA 12.8)", "2.7.0", None, True),
        ("2.6.0+metax3.0", "2.6.0", None, True),
        ("nonsense", None, None, False),
    ],
)
def test_installed_is_read_leniently(catalog, text, release, variant, vendor):
    found = read_installed(hand.linux().replace(installed={"torch": text}), "linux_x86_64", catalog)
    assert (found.release, found.variant, found.vendor) == (release, variant, vendor)


# -- batch


def test_batch_answers_each_line_in_its_place(catalog):
    lines = [
        json.dumps(
            {"id": 1, "machine": {"schema": 1, "os": {"name": "linux"}, "arch": "x86_64", "gpus": []}, "error": "x"}
        ),
        "{broken",
        json.dumps({"id": 3, "machine": {"schema": 1}, "error": 7}),
        json.dumps({"id": 4, "machine": {"schema": 1, "os": {"name": "linux"}, "arch": "x86_64"}, "request": []}),
    ]
    answers = list(diagnoses(lines, Request(), catalog, lambda machine: machine))
    assert [identity for identity, _ in answers] == [1, None, 3, 4]
    assert isinstance(answers[1][1], MachineFileError)
    assert isinstance(answers[2][1], MachineFileError)
    assert answers[3][1].exit_code in {0, 3, 4}


def test_a_cpu_build_that_is_meant_is_no_fault(doctor):
    machine, installed = hand.linux(hand.RTX_4090, driver="580.95.05"), {"torch": "2.13.0+cpu"}
    assert doctor(machine, "", installed).action == "reinstall-with-variant"
    meant = doctor(machine, "", installed, Request(variant="cpu"))
    assert (meant.action, [f for f in meant.findings if f.severity != "note"]) == ("none", [])
