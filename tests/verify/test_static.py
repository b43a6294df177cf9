"""Proof where no device can be: code list, shared libraries; and the steps beside the kernels."""

from __future__ import annotations

import os
import struct
from pathlib import Path

import pytest

from replica import Behaviour
from torchinstall.verify.check import verify
from torchinstall.verify.elf import read_library
from torchinstall.verify.judge import judge
from torchinstall.verify.libraries import Libraries
from torchinstall.verify.values import Expect, RawResult

PATH = {"PATH": os.environ["PATH"]}
STATIC = Expect(torch="2.15.0", variant="cu132", backend="cpu", static=True)


def elf(path: Path, *needed: str, soname: str = "", rpath: str = "", runpath: str = "") -> Path:
    """Write the smallest shared library that has a dynamic section."""
    names = [*needed, soname, rpath, runpath]
    strings, places = b"\0", {}
    for name in names:
        places[name] = len(strings)
        strings += name.encode() + b"\0"
    tags = [(1, places[name]) for name in needed]
    tags += [(tag, places[text]) for tag, text in ((14, soname), (15, rpath), (29, runpath)) if text]
    header, program = 64, 2 * 56
    table = header + program
    tags += [(5, table), (10, len(strings)), (0, 0)]
    dynamic = b"".join(struct.pack("<qQ", *tag) for tag in tags)
    begin = table + len(strings)
    size = begin + len(dynamic)
    data = b"\x7fELF\x02\x01\x01" + bytes(9)
    data += struct.pack("<HHIQQQIHHHHHH", 3, 62, 1, 0, header, 0, 0, 64, 56, 2, 0, 0, 0)
    data += struct.pack("<IIQQQQQQ", 1, 4, 0, 0, 0, size, size, 4096)
    data += struct.pack("<IIQQQQQQ", 2, 4, begin, begin, begin, len(dynamic), len(dynamic), 8)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data + strings + dynamic)
    return path


def test_what_a_library_needs_is_read(tmp_path):
    made = elf(tmp_path / "a.so", "libc.so.6", "libother.so", soname="a.so", rpath="$ORIGIN:/opt/x")
    found = read_library(str(made))
    assert (found.soname, found.needed, found.rpath) == ("a.so", ("libc.so.6", "libother.so"), ("$ORIGIN", "/opt/x"))
    assert read_library(str(elf(tmp_path / "b.so", runpath="$ORIGIN"))).runpath == ("$ORIGIN",)


BROKEN = [b"", b"\x7fELF", b"#!/bin/sh\n", b"\x7fELF\x02\x01" + b"\xff" * 200, b"\x7fELF\x01\x01"]


@pytest.mark.parametrize("data", BROKEN)
def test_what_is_no_library_is_none(tmp_path, data):
    path = tmp_path / "broken.so"
    path.write_bytes(data)
    assert read_library(str(path)) is None
    assert read_library(str(tmp_path / "absent.so")) is None


def test_a_cut_off_library_is_no_traceback(tmp_path):
    whole = elf(tmp_path / "a.so", "libc.so.6").read_bytes()
    for length in range(0, len(whole), 7):
        (tmp_path / "cut.so").write_bytes(whole[:length])
        read_library(str(tmp_path / "cut.so"))


def test_a_library_that_is_nowhere(tmp_path):
    elf(tmp_path / "torch/lib/libtorch_cpu.so", "libc10.so", "libc.so.6", "libgone.so.1", rpath="$ORIGIN")
    elf(tmp_path / "torch/lib/libc10.so", "libcuda.so.1")
    (missing,) = Libraries(str(tmp_path), {}, {}).unresolved()
    assert (missing.library, missing.package) == ("libgone.so.1", "torch")
    assert missing.needed_by == "torch/lib/libtorch_cpu.so"
    elf(tmp_path / "nvidia/gone/lib/libgone.so.1")
    assert Libraries(str(tmp_path), {}, {}).unresolved() == ()


@pytest.mark.parametrize(
    ("search", "wins"), [({"rpath": "$ORIGIN/../../nvjit/lib"}, False), ({"runpath": "$ORIGIN/../../nvjit/lib"}, True)]
)
def test_rpath_wins_over_the_variable_and_runpath_doesn_t(tmp_path, search, wins):
    site, other = tmp_path / "site", tmp_path / "cuda-12.1/lib64"
    elf(site / "torch/lib/libtorch.so")
    elf(site / "nvidia/cusparse/lib/libcusparse.so.12", "libnvJitLink.so.12", **search)
    elf(site / "nvidia/nvjit/lib/libnvJitLink.so.12")
    elf(other / "libnvJitLink.so.12.1.105")
    (other / "libnvJitLink.so.12").symlink_to("libnvJitLink.so.12.1.105")
    shadows = Libraries(str(site), {"LD_LIBRARY_PATH": str(other)}, {"nvidia-nvjit-cu12": "12.8.61"}).shadows()
    assert bool(shadows) == wins
    for shadow in shadows:
        assert (shadow.library, shadow.own_version, shadow.other_version) == (
            "libnvJitLink.so.12",
            "12.8.61",
            "12.1.105",
        )
    assert Libraries(str(site), {}, {}).shadows() == ()


def test_a_build_is_proved_without_its_device(environment, causes):
    made = environment(Behaviour("works-cuda"))
    verdict = verify(made.python, STATIC, causes, environ=PATH)
    assert (verdict.outcome, verdict.cause, verdict.backend) == ("proved", "", "cpu")
    assert "no device" in verdict.text
    assert "libraries" in [step.name for step in verdict.steps]


def test_a_missing_library_is_found_without_loading_it(environment, causes):
    made = environment(Behaviour("works-cuda"))
    elf(made.site / "torch/lib/libtorch_cuda.so", "libcusparseLt.so.0")
    verdict = verify(made.python, STATIC, causes, environ=PATH)
    assert (verdict.outcome, verdict.cause, verdict.step) == ("failed", "missing-library", "libraries")
    assert "libcusparseLt.so.0" in verdict.text


def run(*events):
    hello, done = {"event": "python", "version": "3.12.1", "system": "linux"}, {"event": "finished"}
    return RawResult(python="/env/bin/python", limit=120, returncode=0, events=(hello, *events, done))


def versions(**facts):
    return {"event": "end", "step": "versions", "state": "ok", "facts": {"torch": "2.15.0+cu132", **facts}}


def test_code_that_the_card_needs_and_the_build_hasn_t(causes):
    arches = ["sm_75", "sm_80", "sm_90"]
    missing = judge(run(versions(arches=arches)), STATIC.replace(codes=("sm_60",)), causes)
    assert (missing.outcome, missing.cause) == ("failed", "code-missing")
    assert "sm_60" in missing.text
    assert judge(run(versions(arches=arches)), STATIC.replace(codes=("sm_80",)), causes).outcome == "proved"
    # A build that doesn't tell isn't blamed.
    assert judge(run(versions()), STATIC.replace(codes=("sm_60",)), causes).outcome == "proved"


def test_nccl_is_for_several_cards_and_never_blames_the_wheel(causes):
    broken = {"event": "end", "step": "nccl", "state": "failed", "error": {"type": "RuntimeError", "text": "no nccl"}}
    verdict = judge(run(versions(), broken), Expect(torch="2.15.0"), causes)
    assert verdict.outcome == "proved"
    assert any("nccl" in warning for warning in verdict.warnings)


def test_compile_is_tried_when_asked_for(environment, causes):
    made = environment(Behaviour("works-cpu"), version="2.15.0+cpu", variant="cpu")
    expect = Expect(torch="2.15.0", variant="cpu", backend="cpu")
    plain = verify(made.python, expect, causes, environ=PATH)
    assert "compile" not in [step.name for step in plain.steps]
    asked = verify(made.python, expect.replace(compile=True), causes, environ=PATH)
    assert "compile" in [step.name for step in asked.steps]


def test_a_missing_compiler_is_not_the_wheel_s_fault(causes):
    text = "InvalidCxxCompiler: No working C++ compiler found in torch._inductor.config.cpp.cxx"
    broken = {
        "event": "end",
        "step": "compile",
        "device": "cpu",
        "state": "failed",
        "error": {"type": "E", "text": text},
    }
    verdict = judge(run(versions(), broken), Expect(torch="2.15.0"), causes)
    assert (verdict.outcome, verdict.cause) == ("unproven", "compiler-missing")


def test_the_user_s_own_folder_can_be_looked_at(environment, causes, tmp_path):
    """Without -I neither PYTHONPATH nor the folder of the script may bring anything in."""
    made = environment(Behaviour("works-cpu"), version="2.15.0+cpu", variant="cpu")
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "json.py").write_text("raise SystemExit('a foreign json')")
    expect = Expect(torch="2.15.0", variant="cpu", backend="cpu", user_site=True)
    verdict = verify(made.python, expect, causes, environ={**PATH, "PYTHONPATH": str(tmp_path / "elsewhere")})
    assert verdict.outcome == "proved"
