"""The judge alone: outcomes of runs that no machine here can have."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from torchinstall.errors import UsageError
from torchinstall.verify.check import time_limit
from torchinstall.verify.found import variant_of
from torchinstall.verify.judge import judge
from torchinstall.verify.run import child_environment, parse_events
from torchinstall.verify.values import Expect, RawResult

HELLO = {"event": "python", "version": "3.12.1", "system": "linux"}
DONE = {"event": "finished"}


def raw(*events, **fields):
    return RawResult(**{"python": "/env/bin/python", "limit": 120, "returncode": 0, "events": events, **fields})


def versions(inner="2.15.0+cu132", **facts):
    return {"event": "end", "step": "versions", "state": "ok", "facts": {"torch": inner, "inner": inner, **facts}}


def start(step, device=None):
    return {"event": "start", "step": step, "device": device}


def fail(step, text, device=None, kind="RuntimeError"):
    return {
        "event": "end", "step": step, "device": device, "state": "failed", "error": {"type": kind, "text": text},
    }  # fmt: skip


@pytest.mark.parametrize(
    ("fields", "outcome", "cause"),
    [
        ({"returncode": -11, "signal": "SIGSEGV"}, "failed", "crash"),
        ({"returncode": -6, "signal": "SIGABRT"}, "failed", "crash"),
        ({"returncode": -4, "signal": "SIGILL"}, "failed", "illegal-instruction"),
        ({"returncode": -9, "signal": "SIGKILL"}, "unproven", "killed"),
        ({"returncode": -15, "signal": "SIGTERM"}, "unproven", "killed"),
        ({"returncode": -9, "signal": "SIGKILL", "timed_out": True}, "failed", "hang"),
        ({"returncode": 3221225477}, "failed", "crash"),
        ({"returncode": -1073741819}, "failed", "crash"),
        ({"returncode": 3221225501}, "failed", "illegal-instruction"),
        ({"returncode": 3}, "failed", "stopped"),
        ({"returncode": -6, "signal": "SIGABRT", "stderr": "rocBLAS error: Cannot read x"}, "failed", "no-gpu-library"),
    ],
)
def test_ends_before_the_end(causes, fields, outcome, cause):
    verdict = judge(raw(HELLO, versions(), start("matmul", "cuda:0"), **fields), Expect(), causes)
    assert (verdict.outcome, verdict.cause, verdict.step) == (outcome, cause, "matmul")
    assert verdict.steps[-1].state == "crashed"


def test_a_hang_of_what_is_left_after_the_end_is_none(causes):
    """The check came to its end; a process that it left behind kept the pipe open."""
    devices = {"event": "end", "step": "devices", "state": "ok", "names": ["CPU"]}
    verdict = judge(raw(HELLO, versions("2.15.0+cpu"), devices, DONE, timed_out=True), Expect(), causes)
    assert verdict.outcome == "proved"


def test_what_a_wheel_cures_goes_before_what_is_outside(causes):
    busy = fail("allocation", "CUDA error: all CUDA-capable devices are busy or unavailable", "cuda:0")
    kernel = fail("kernel", "CUDA error: no kernel image is available for execution on the device", "cuda:1")
    assert judge(raw(HELLO, versions(), busy, DONE), Expect(), causes).cause == "device-busy"
    assert judge(raw(HELLO, versions(), busy, kernel, DONE), Expect(), causes).cause == "no-kernel-image"


def test_masks_of_another_vendor_hide_nothing(causes):
    events = (HELLO, versions(), fail("devices", "No CUDA GPUs are available"), DONE)
    hidden = judge(raw(*events, masks={"CUDA_VISIBLE_DEVICES": ""}), Expect(), causes)
    other = judge(raw(*events, masks={"ZE_AFFINITY_MASK": "0"}), Expect(), causes)
    assert (hidden.cause, other.cause) == ("masked-devices", "no-device")


def test_a_text_that_says_more_goes_before_the_mask(causes):
    events = (HELLO, versions(), fail("devices", "Error 802: system not yet initialized"), DONE)
    assert judge(raw(*events, masks={"CUDA_VISIBLE_DEVICES": "0"}), Expect(), causes).cause == "fabric-manager"


def test_without_a_table_every_error_is_unknown():
    events = (HELLO, versions(), fail("kernel", "no kernel image is available for execution", "cuda:0"), DONE)
    assert judge(raw(*events), Expect()).cause == "unknown-error"


def test_npu_goes_with_the_cpu_build(causes):
    plugin = {"event": "end", "step": "import-torch-npu", "state": "ok", "facts": {"torch_npu": "2.8.0"}}
    devices = {"event": "end", "step": "devices", "state": "ok", "names": ["Ascend910B3"], "count": 1}
    expect = Expect(torch="2.8.0", variant="npu", backend="npu")
    verdict = judge(raw(HELLO, versions("2.8.0+cpu"), plugin, devices, DONE), expect, causes)
    assert (verdict.outcome, verdict.variant, verdict.versions["torch_npu"]) == ("proved", "npu", "2.8.0")
    missing = fail("import-torch-npu", "libhccl.so: cannot open shared object file", kind="ImportError")
    verdict = judge(raw(HELLO, versions("2.8.0+cpu"), missing, DONE), expect, causes)
    assert (verdict.outcome, verdict.cause) == ("unproven", "cann-not-loaded")


@pytest.mark.parametrize(
    ("facts", "variant"),
    [
        ({"inner": "2.15.0+cu132", "cuda": "13.2"}, "cu132"),
        ({"inner": "1.13.1+cu117.with.x", "cuda": "11.7"}, "cu117"),
        ({"inner": "2.6.0", "cuda": "12.6"}, "cu126"),
        ({"inner": "2.6.0a0+ecf3bae40a.nv25.01", "cuda": "12.8"}, "cu128"),
        ({"inner": "2.14.0+rocm7.14", "hip": "7.14.1"}, "rocm7.14"),
        ({"inner": "2.9.0", "hip": "6.4.43482-0f2d60242"}, "rocm6.4"),
        ({"inner": "2.9.0+xpu", "xpu": "20250201"}, "xpu"),
        ({"inner": "2.9.0", "system": "darwin"}, "mps"),
        ({"inner": "2.9.0", "system": "linux"}, "cpu"),
        ({"inner": "2.9.0+cpu", "system": "linux"}, "cpu"),
    ],
)
def test_variant_of_a_build(facts, variant):
    assert variant_of({"torch": facts["inner"], **facts}) == variant


def test_vendor_rocm_with_a_longer_number_is_the_planned_one(causes):
    devices = {"event": "end", "step": "devices", "state": "ok", "names": ["gfx1100"], "count": 1}
    run = raw(HELLO, versions("2.9.0+rocm7.2.1", hip="7.2.1"), devices, DONE)
    assert judge(run, Expect(variant="rocm7.2"), causes).outcome == "proved"
    assert judge(run, Expect(variant="rocm7.1"), causes).cause == "variant-mismatch"


events = st.lists(
    st.dictionaries(
        st.sampled_from(["event", "step", "state", "device", "facts", "error", "texts", "names", "count", "system"]),
        st.one_of(st.none(), st.sampled_from(["python", "start", "end", "warnings", "finished", "import", "failed"])),
    ),
    max_size=8,
)


@given(events, st.integers(-64, 2**32), st.booleans())
def test_the_judge_is_total(made, code, timed_out):
    made = [{k: v for k, v in event.items() if k in {"event", "step", "state", "device"}} for event in made]
    verdict = judge(raw(*made, returncode=code, timed_out=timed_out), Expect(torch="2.15.0", variant="cu132"))
    assert verdict.outcome in {"proved", "failed", "unproven"}
    assert verdict.text


def test_events_among_other_output():
    output = b'noise@c@{"event": "a"}\n\xff\xfe\n@c@{"event": "b"\n@c@[1]\nother\n@c@{"event": "c"}'
    assert [event["event"] for event in parse_events(output, "@c@")] == ["a", "c"]


def test_the_child_gets_what_torch_reads_and_no_more():
    given = {
        "PATH": "/bin", "LD_LIBRARY_PATH": "/x", "CUDA_VISIBLE_DEVICES": "0", "HSA_OVERRIDE_GFX_VERSION": "11.0.0",
        "PYTHONPATH": "/y", "PYTHONHOME": "/z", "AWS_SECRET_ACCESS_KEY": "s", "PIP_INDEX_URL": "u",
    }  # fmt: skip
    assert set(child_environment(given)) == {
        "PATH",
        "LD_LIBRARY_PATH",
        "CUDA_VISIBLE_DEVICES",
        "HSA_OVERRIDE_GFX_VERSION",
    }
    assert set(child_environment(given, npu=True)) - set(child_environment(given)) == {"PYTHONPATH"}


def test_time_limit():
    assert time_limit({}) == 120
    assert time_limit({"TORCHINSTALL_VERIFY_TIMEOUT": "2.5"}) == 2.5
    for text in ("soon", "0", "-3", "nan", "inf"):
        with pytest.raises(UsageError, match="TORCHINSTALL_VERIFY_TIMEOUT"):
            time_limit({"TORCHINSTALL_VERIFY_TIMEOUT": text})
