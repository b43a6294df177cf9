"""Every way in which a torch can work or fail ends in the right outcome, cause and step."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from replica import Behaviour, Card
from torchinstall.verify.check import verify
from torchinstall.verify.values import Expect

CUDA = Expect(torch="2.15.0", variant="cu132", backend="cuda", cards=1)
LIMIT = 60.0


def look(environment, causes, expect=CUDA, timeout=LIMIT, **environ):
    return verify(environment.python, expect, causes, environ={"PATH": os.environ["PATH"], **environ}, timeout=timeout)


def states(verdict):
    return {(step.name, step.device): step.state for step in verdict.steps}


def test_a_good_build_is_proved(environment, causes):
    cards = (Card("NVIDIA L4", (8, 9)), Card("NVIDIA GeForce RTX 5090", (12, 0)))
    made = environment(Behaviour("works-cuda", cards=cards))
    made.add("torchvision", "0.30.0+cu132")
    made.add("torchaudio", "2.11.0+cu132")
    verdict = look(made, causes, CUDA.replace(cards=2, companions=("torchvision", "torchaudio")))
    assert (verdict.outcome, verdict.cause, verdict.step) == ("proved", "", "")
    assert verdict.devices == ("NVIDIA L4", "NVIDIA GeForce RTX 5090")
    assert (verdict.torch, verdict.variant, verdict.backend) == ("2.15.0", "cu132", "cuda")
    assert verdict.versions["torch"] == "2.15.0+cu132"
    assert verdict.versions["torchvision"] == "0.30.0+cu132"
    assert verdict.warnings == ()
    names = ("allocation", "kernel", "matmul", "fp16", "bf16", "conv2d", "nms")
    for device in ("cuda:0", "cuda:1"):
        assert [states(verdict)[name, device] for name in names] == ["ok"] * 7
    assert all(step.seconds is not None for step in verdict.steps)
    assert verdict.text == "torch 2.15.0 (cu132) computes rightly on NVIDIA L4, NVIDIA GeForce RTX 5090"


FAILURES = [
    ("no-kernel-image", "failed", "no-kernel-image", "kernel"),
    ("segfault", "failed", "crash", "kernel"),
    ("segfault-import", "failed", "crash", "import"),
    ("import-error", "failed", "missing-library", "import"),
    ("cpu-build", "failed", "cpu-build", "versions"),
    ("driver-too-old", "failed", "driver-too-old", "devices"),
    ("wrong-result", "failed", "wrong-result", "kernel"),
    ("out-of-memory", "unproven", "device-full", "allocation"),
    ("device-busy", "unproven", "device-busy", "allocation"),
    ("error-802", "unproven", "fabric-manager", "devices"),
    ("no-driver", "unproven", "no-driver", "devices"),
]


@pytest.mark.parametrize(("behaviour", "outcome", "cause", "step"), FAILURES)
def test_failures(environment, causes, behaviour, outcome, cause, step):
    verdict = look(environment(behaviour), causes)
    assert (verdict.outcome, verdict.cause, verdict.step) == (outcome, cause, step)
    assert verdict.text
    assert "{" not in verdict.text
    assert verdict.todo
    assert all("{" not in line for line in verdict.todo)


def test_what_people_read(environment, causes):
    verdict = look(environment("no-kernel-image"), causes)
    assert verdict.text == "torch 2.15.0 (cu132) has no code for cuda:0 (NVIDIA L4)"
    assert "CUDA 11.4" in look(environment("driver-too-old"), causes).text
    assert "SIGSEGV" in look(environment("segfault"), causes).text


def test_a_crash_names_its_step_and_keeps_the_last_words(environment, causes):
    verdict = look(environment("segfault"), causes)
    assert states(verdict)["kernel", "cuda:0"] == "crashed"
    assert states(verdict)["allocation", "cuda:0"] == "ok"
    assert "Segmentation fault" in verdict.tail


def test_code_for_one_card_of_two(environment, causes):
    """Only a kernel on every card shows it: the second one isn't served."""
    cards = (Card("NVIDIA L4", (8, 9)), Card("NVIDIA GeForce GTX 1080 Ti", (6, 1)))
    verdict = look(environment(Behaviour("works-cuda", cards=cards)), causes, CUDA.replace(cards=2))
    assert (verdict.outcome, verdict.cause, verdict.step) == ("failed", "no-kernel-image", "kernel")
    assert "GTX 1080 Ti" in verdict.text
    assert states(verdict)["conv2d", "cuda:0"] == "ok"
    assert ("matmul", "cuda:1") not in states(verdict)


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    stat = Path(f"/proc/{pid}/stat")
    return not stat.exists() or stat.read_text().rsplit(")", 1)[1].split()[0] != "Z"


@pytest.mark.skipif(os.name == "nt", reason="process groups of POSIX")
def test_a_hang_ends_at_the_limit_and_leaves_nothing(environment, causes):
    made = environment(Behaviour("hang", child=True))
    start = time.monotonic()
    verdict = look(made, causes, timeout=4.0)
    assert time.monotonic() - start < 9
    assert (verdict.outcome, verdict.cause, verdict.step) == ("failed", "hang", "kernel")
    assert "4 seconds" in verdict.text
    child = int(verdict.tail.split("child ")[1].split()[0])
    deadline = time.monotonic() + 5
    while alive(child) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not alive(child)


@pytest.mark.skipif(os.name == "nt", reason="process groups of POSIX")
def test_an_interrupt_leaves_nothing(environment, causes, monkeypatch):
    made, started = environment("hang"), []
    real = subprocess.Popen.communicate

    def interrupted(child, *args, **kwargs):
        if not started:
            started.append(child)
            raise KeyboardInterrupt
        return real(child, *args, **kwargs)

    monkeypatch.setattr(subprocess.Popen, "communicate", interrupted)
    with pytest.raises(KeyboardInterrupt):
        look(made, causes)
    assert started[0].returncode == -signal.SIGKILL


def test_noise_does_not_matter(environment, causes):
    made = environment("noise")
    (made.site / "talk.pth").write_text("import sys; sys.stdout.write('before anything, no line end')\n")
    verdict = look(made, causes)
    assert verdict.outcome == "proved"


def test_a_default_index_build_is_known_by_what_is_inside(environment, causes):
    made = environment(version="2.15.0", variant="cu132")
    assert look(made, causes).outcome == "proved"


def test_version_and_variant_must_be_the_planned_ones(environment, causes):
    made = environment(version="2.14.1+cu126")
    verdict = look(made, causes, CUDA)
    assert (verdict.outcome, verdict.cause, verdict.step) == ("failed", "version-mismatch", "versions")
    assert "2.14.1+cu126" in verdict.text
    verdict = look(made, causes, CUDA.replace(torch="2.14.1"))
    assert (verdict.outcome, verdict.cause) == ("failed", "variant-mismatch")
    assert look(made, causes, Expect(variant="cu126")).outcome == "proved"


def test_nothing_expected_takes_what_the_build_is_for(environment, causes):
    assert look(environment(), causes, Expect()).backend == "cuda"
    assert look(environment("works-cpu", version="2.15.0+cpu"), causes, Expect()).backend == "cpu"
    verdict = look(environment("no-driver"), causes, Expect())
    assert (verdict.outcome, verdict.cause) == ("unproven", "no-driver")


def test_cpu_on_purpose(environment, causes):
    made = environment("works-cpu", version="2.15.0+cpu")
    made.add("torchvision", "0.30.0+cpu")
    expect = Expect(torch="2.15.0", variant="cpu", backend="cpu", companions=("torchvision",))
    verdict = look(made, causes, expect)
    assert verdict.outcome == "proved"
    assert states(verdict)["nms", "cpu"] == "ok"
    assert verdict.text == "torch 2.15.0 (cpu) computes rightly on the CPU"


@pytest.mark.parametrize(("variant", "backend", "name"), [("xpu", "xpu", "Intel Arc B580"), ("rocm7.2", "rocm", "AMD")])
def test_other_accelerators(environment, causes, variant, backend, name):
    made = environment(version=f"2.15.0+{variant}")
    verdict = look(made, causes, Expect(torch="2.15.0", variant=variant, backend=backend))
    assert (verdict.outcome, verdict.variant, verdict.backend) == ("proved", variant, backend)
    assert verdict.devices[0].startswith(name)


def test_mps(environment, causes):
    made = environment("works-mps", version="2.15.0", variant="mps")
    verdict = look(made, causes, Expect(torch="2.15.0", variant="mps", backend="mps"))
    assert (verdict.outcome, verdict.devices) == ("proved", ("Apple GPU",))


@pytest.mark.parametrize("mask", ["", "-1", "7"])
def test_masked_devices(environment, causes, mask):
    verdict = look(environment(), causes, CUDA_VISIBLE_DEVICES=mask)
    assert (verdict.outcome, verdict.cause, verdict.step) == ("unproven", "masked-devices", "devices")
    assert f"CUDA_VISIBLE_DEVICES='{mask}'" in verdict.text


def test_a_mask_that_names_cards_is_passed_on(environment, causes):
    cards = (Card("NVIDIA L4", (8, 9)), Card("NVIDIA H200", (9, 0)))
    made = environment(Behaviour("works-cuda", cards=cards))
    verdict = look(made, causes, CUDA.replace(cards=2), CUDA_VISIBLE_DEVICES="1")
    assert (verdict.outcome, verdict.devices) == ("proved", ("NVIDIA H200",))
    assert verdict.warnings == ("torch sees 1 of 2 devices (CUDA_VISIBLE_DEVICES is set); only those were checked",)


COMPANIONS = [
    ("torchvision", "nms-missing", "torchvision-mismatch", "torchvision"),
    ("torchvision", "nms-cpu", "torchvision-mismatch", "nms"),
    ("torchvision", "import-error", "companion-mismatch", "torchvision"),
    ("torchaudio", "import-error", "missing-library", "torchaudio"),
]


@pytest.mark.parametrize(("name", "behaviour", "cause", "step"), COMPANIONS)
def test_companions(environment, causes, name, behaviour, cause, step):
    made = environment()
    made.add(name, "1.0+cu132", behaviour=behaviour)
    verdict = look(made, causes, CUDA.replace(companions=(name,)))
    assert (verdict.outcome, verdict.cause, verdict.step) == ("failed", cause, step)
    unasked = look(made, causes, CUDA)
    assert unasked.outcome == "proved"
    assert any(line.startswith(f"{step} doesn't work") for line in unasked.warnings)


def test_a_planned_companion_that_is_not_there(environment, causes):
    verdict = look(environment(), causes, CUDA.replace(companions=("torchvision",)))
    assert (verdict.outcome, verdict.cause, verdict.step) == ("failed", "companion-missing", "torchvision")


def test_no_torch(environment, causes):
    made = environment()
    for path in sorted((made.site / "torch").rglob("*"), reverse=True):
        path.rmdir() if path.is_dir() else path.unlink()
    (made.site / "torch").rmdir()
    verdict = look(made, causes)
    assert (verdict.outcome, verdict.cause, verdict.step) == ("failed", "torch-missing", "import")


@pytest.mark.skipif(os.name == "nt", reason="programs of POSIX")
@pytest.mark.parametrize("program", ["/bin/true", "/bin/sh", "/nowhere/python", "/etc/passwd"])
def test_a_target_that_is_no_python(causes, program):
    verdict = verify(program, CUDA, causes, environ={}, timeout=10)
    assert (verdict.outcome, verdict.cause, verdict.step) == ("failed", "target-not-python", "start")
    assert program in verdict.text


def test_an_error_that_nobody_knows(environment, causes):
    verdict = look(environment(Behaviour("raise", text="the moon is in the way")), causes)
    assert (verdict.outcome, verdict.cause, verdict.step) == ("failed", "unknown-error", "kernel")
    assert "the moon is in the way" in verdict.text


def test_texts_of_the_initialisation_are_read_from_warnings_too(environment, causes):
    made = environment(
        Behaviour("warn", text="Error 803: system has unsupported display driver / cuda driver combination")
    )
    verdict = look(made, causes)
    assert (verdict.outcome, verdict.cause) == ("unproven", "driver-mismatch")
    assert any("Error 803" in line for line in verdict.warnings)


def test_a_check_changes_nothing(environment, causes):
    made = environment()
    made.add("torchvision", "0.30.0+cu132")
    before = made.files()
    assert look(made, causes).outcome == "proved"
    assert made.files() == before


@pytest.mark.real
@pytest.mark.skipif(
    "TORCHINSTALL_TEST_TORCH" not in os.environ, reason="TORCHINSTALL_TEST_TORCH names no Python with torch"
)
def test_a_real_torch(causes):
    verdict = verify(REAL, Expect(), causes, environ=dict(os.environ), timeout=120)
    assert (verdict.outcome, verdict.cause) == ("proved", "")
    assert {step.name for step in verdict.steps} >= {"import", "kernel", "matmul", "fp16", "bf16", "conv2d"}


REAL = os.environ.get("TORCHINSTALL_TEST_TORCH", sys.executable)
