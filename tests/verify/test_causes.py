"""The table of error texts: its form, what it recognises, and that no text makes it slow."""

from __future__ import annotations

import json
import re
import string
import time
from pathlib import Path

import pytest

from torchinstall.model.cause import causes_from_document
from torchinstall.verify.judge import judge
from torchinstall.verify.values import Expect, RawResult

SCHEMA = Path(__file__).resolve().parents[2] / "index_data" / "schema" / "verify_causes.schema.json"
KNOWN = {"torch", "variant", "device", "step", "found_cuda", "python", "limit"}

EXAMPLES = {
    "compiler-missing": "torch._inductor.exc.InvalidCxxCompiler: No working C++ compiler found in config",
    "no-kernel-image": "CUDA error: no kernel image is available for execution on the device",
    "no-kernel-image-hip": "HIP error: invalid device function",
    "invalid-image-hip": "HIP error: device kernel image is invalid",
    "rocblas-library": "rocBLAS error: Cannot read /x/TensileLibrary.dat: Illegal seek for GPU arch : gfx900",
    "gfx-override": "HSA_STATUS_ERROR_INVALID_ISA: The instruction set architecture is invalid.",
    "driver-too-old": "The NVIDIA driver on your system is too old (found version 12060). Please update",
    "driver-insufficient": "CUDA error: CUDA driver version is insufficient for CUDA runtime version",
    "vision-no-nms": "operator torchvision::nms does not exist",
    "vision-other-backend": "Could not run 'torchvision::nms' with arguments from the 'CUDA' backend.",
    "vision-other-cuda": "PyTorch and torchvision were compiled with different CUDA major versions.",
    "ascend-driver-library": "libascend_hal.so: cannot open shared object file: No such file or directory",
    "cann-library": "libhccl.so: cannot open shared object file: No such file or directory",
    "nnal": "libtorch_npu.so: undefined symbol: _ZN3atb15CreateOperationE",
    "npu-soc": "Unsupported soc version: Ascend950PR",
    "libcuda-missing": "libcuda.so.1: cannot open shared object file: No such file or directory",
    "nvjitlink": "libcusparse.so.12: undefined symbol: __nvJitLinkComplete_12_4, version libnvJitLink.so.12",
    "nccl": "libtorch_cuda.so: undefined symbol: ncclCommRegister",
    "torch-symbol": "_C.so: undefined symbol: _ZN3c104cuda9GetDeviceEPa",
    "libtorch-missing": "libtorch_hip.so: cannot open shared object file: No such file or directory",
    "cudart-missing": "libcudart.so.13: cannot open shared object file: No such file or directory",
    "glibc": "/lib64/libm.so.6: version `GLIBC_2.27' not found (required by libcurand.so.10)",
    "cudnn-mixed": "cuDNN error: CUDNN_STATUS_SUBLIBRARY_VERSION_MISMATCH",
    "library-missing": "libcusparseLt.so.0: cannot open shared object file: No such file or directory",
    "symbol-missing": "libfoo.so: undefined symbol: iJIT_NotifyEvent",
    "vcredist": "Microsoft Visual C++ Redistributable is not installed, this may lead to the DLL load failure.",
    "windows-dll": '[WinError 126] The specified module could not be found. Error loading "fbgemm.dll"',
    "cpu-build": "Torch not compiled with CUDA enabled",
    "mps-macos": "The MPS backend is supported on MacOS 14.0+. Current OS version can be queried",
    "fabric-manager": "Unexpected error from cudaGetDeviceCount(). Error 802: system not yet initialized",
    "driver-mismatch": "Error 803: system has unsupported display driver / cuda driver combination",
    "compat-library": "Error 804: forward compatibility was attempted on non supported HW",
    "device-nodes": "Error 304: OS call failed or operation not supported on this OS",
    "kfd": "Unable to open /dev/kfd read-write: Permission denied",
    "device-busy": "CUDA error: CUDA-capable device(s) is/are busy or unavailable",
    "init-out-of-memory": "Unexpected error from cudaGetDeviceCount(). Did you run some? Error 2: out of memory",
    "device-full": "CUDA out of memory. Tried to allocate 20.00 MiB.",
    "host-memory": "DefaultCPUAllocator: can't allocate memory: you tried to allocate 100 bytes.",
    "ecc": "CUDA error: uncorrectable ECC error encountered",
    "no-driver": "Found no NVIDIA driver on your system.",
    "bad-ordinal": "CUDA error: invalid device ordinal",
    "no-device": "No HIP GPUs are available",
    "xpu-init": "Failed to initialize XPU devices. The driver may not be installed",
    "hip-init": "HIP initialization: Unexpected error from hipGetDeviceCount(). Error 101: invalid",
    "cuda-unknown": "CUDA unknown error - this may be due to an incorrectly set up environment",
    "npu-autoload": "Failed to load the backend extension: torch_npu. You can disable extension auto-loading",
}


def test_form(document):
    jsonschema = pytest.importorskip("jsonschema")
    jsonschema.validate(document, json.loads(SCHEMA.read_text(encoding="utf-8")))
    rows = document["rows"]
    assert {row["source"] for row in rows} == set(document["sources"])
    assert len({row["id"] for row in rows}) == len(rows)


def test_every_row_has_an_example(document):
    assert {row["id"] for row in document["rows"]} == set(EXAMPLES)


@pytest.mark.parametrize("name", EXAMPLES)
def test_examples(causes, name):
    """The row itself answers, not one before it; and its sentence is whole."""
    first = next(cause for cause in causes if re.search(cause.pattern, EXAMPLES[name], re.IGNORECASE))
    assert first.id == name
    verdict = judge(failed_at("matmul", EXAMPLES[name]), Expect(), causes)
    assert (verdict.outcome, verdict.cause) == (first.outcome, first.cause)
    assert "{" not in verdict.text + "".join(verdict.todo)


def test_sentences_use_only_names_that_exist(causes):
    for cause in causes:
        groups = set(re.compile(cause.pattern).groupindex)
        for text in (cause.text, *cause.todo):
            used = {name for _text, name, _spec, _how in string.Formatter().parse(text) if name}
            assert used <= KNOWN | groups, cause.id
        alternatives = {name for name in groups if f"{{{name}}}" in cause.text}
        for name in alternatives:
            match = re.search(cause.pattern, EXAMPLES[cause.id], re.IGNORECASE)
            assert match
            assert match[name], cause.id


@pytest.mark.parametrize(
    "text",
    ["lib" + "a." * 2000, "undefined symbol: " + "_" * 4000, "x" * 4000, "Permission denied " * 220, "/dev/kfd" * 500],
)
def test_no_text_is_slow(causes, text):
    start = time.perf_counter()
    for cause in causes:
        re.search(cause.pattern, text, re.IGNORECASE)
    assert time.perf_counter() - start < 1


def test_wrong_rows_are_refused(document):
    with pytest.raises(TypeError, match="surprise"):
        causes_from_document({**document, "rows": [{**document["rows"][0], "surprise": 1}]})
    with pytest.raises(KeyError):
        causes_from_document({**document, "sources": {}})


CAPTURED = {
    "cudnn-sublibrary-mismatch": "cudnn-mismatch",
    "driver-too-old": "driver-too-old",
    "error-802": "fabric-manager",
    "error-803": "driver-mismatch",
    "error-804": "compat-library",
    "nms-cpu-torchvision": "torchvision-mismatch",
    "nms-missing": "torchvision-mismatch",
    "undefined-symbol-nccl": "missing-symbol",
    "undefined-symbol-nvjitlink": "missing-symbol",
}


@pytest.mark.parametrize("name", CAPTURED)
def test_captured_texts(causes, shared, name):
    text = (shared / "fixtures" / "torch-error" / f"{name}.txt").read_text(encoding="utf-8")
    assert judge(failed_at("conv2d", text), Expect(), causes).cause == CAPTURED[name]


def failed_at(step, text, kind="RuntimeError"):
    facts = {"torch": "2.15.0+cu132", "inner": "2.15.0+cu132", "cuda": "13.2"}
    events = (
        {"event": "python", "version": "3.12.1", "system": "linux"},
        {"event": "start", "step": "versions"},
        {"event": "end", "step": "versions", "state": "ok", "facts": facts},
        {"event": "end", "step": "devices", "state": "ok", "names": ["NVIDIA L4"], "count": 1},
        {"event": "start", "step": step, "device": "cuda:0"},
        {"event": "end", "step": step, "device": "cuda:0", "state": "failed", "error": {"type": kind, "text": text}},
        {"event": "finished"},
    )
    return RawResult(python="/env/bin/python", limit=120, returncode=0, events=events)
