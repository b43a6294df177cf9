"""The table of signatures: its form, what it recognises, and that no text makes it slow."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from torchinstall.diagnose.symptoms import symptoms

DATA = Path(__file__).resolve().parents[2] / "index_data"

EXAMPLES = {
    "net-ssl-expired": "SSLError: certificate has expired (_ssl.c:1007)",
    "net-ssl-hostname": "certificate is not valid for 'files.example.org'",
    "net-ssl-ca": "[SSL: CERTIFICATE_VERIFY_FAILED] certificate verify failed: self-signed certificate in chain",
    "net-ssl-module": "the ssl module in Python is not available",
    "net-proxy-https": "Your proxy appears to only use HTTP and not HTTPS",
    "net-proxy": "OSError('Tunnel connection failed: 407 Proxy Authentication Required')",
    "net-dns": "error: dns error: failed to lookup address information: Name or service not known",
    "net-timeout": "HTTPSConnectionPool(host='x', port=443): Read timed out.",
    "net-reset": "ConnectionResetError: [Errno 104] Connection reset by peer",
    "net-unreachable": "[Errno 101] Network is unreachable",
    "net-http": "HTTP error 403 while getting https://mirror.example/torch.whl",
    "hash-mismatch": "ERROR: THESE PACKAGES DO NOT MATCH THE HASHES FROM THE REQUIREMENTS FILE.",
    "wheel-invalid": "zipfile.BadZipFile: Bad CRC-32 for file 'torch/lib/libtorch_cpu.so'",
    "disk-full": "OSError: [Errno 28] No space left on device",
    "ram": "Collecting torch\nKilled\n",
    "pep668": "error: externally-managed-environment",
    "no-pip": "/opt/app/bin/python: No module named pip",
    "win-access-denied": "PermissionError: [WinError 5] Access is denied: 'c10.dll'",
    "partial-dist": "WARNING: Ignoring invalid distribution -orch (c:\\py\\lib\\site-packages)",
    "site-permission": "[Errno 13] Permission denied: '/usr/lib/python3/dist-packages/torch'",
    "wrong-name": 'You tried to install "pytorch". The package named for PyTorch is "torch"',
    "stray-index": "Looking in indexes: https://download.pytorch.org/whl/cu126; ",
    "win-longpath": "[WinError 206] The filename or extension is too long",
    "wheel-unsupported": "torch-2.6.0-cp312-win_amd64.whl is not a supported wheel on this platform.",
    "numpy-abi": "A module that was compiled using NumPy 1.x cannot be run in NumPy 2.0.0",
    "docker-gpu-cap": 'could not select device driver "" with capabilities: [[gpu]].',
    "ncc-mount": "nvidia-container-cli: initialization error: load library failed",
    "nvml-mismatch": "Failed to initialize NVML: Driver/library version mismatch",
    "err802": "Unexpected error from cudaGetDeviceCount(). Error 802: system not yet initialized",
    "err804": "Error 804: forward compatibility was attempted on non supported HW",
    "device-nodes": "Error 304: OS call failed or operation not supported on this OS",
    "no-devices-found": "No devices were found",
    "kfd-perm": "Unable to open /dev/kfd read-write: Permission denied",
    "seat-permission": "cannot open /dev/dri/renderD128",
    "secure-boot": "modprobe: ERROR: could not insert 'nvidia': Key was rejected by service",
    "nvsmi-comm": "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.",
    "gpu-lost": "NVRM: GPU at PCI:0000:01:00: GPU has fallen off the bus",
    "device-busy": "CUDA error: all CUDA-capable devices are busy or unavailable",
    "device-full": "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB",
    "getdevicecount-oom": "cudaGetDeviceCount(). Error 2: out of memory",
    "cuda-unknown": "CUDA unknown error - this may be due to an incorrectly set up environment",
    "nvml-lib": "ImportError: libcuda.so.1: cannot open shared object file",
    "mask-empty": "CUDA error: invalid device ordinal",
    "mig-count": "with a MIG UUID torch.cuda.device_count() is wrong",
    "arch-list-build": "OSError: CUDA_HOME environment variable is not set. Please set it",
    "cuda-mismatch-build": "detected CUDA version (12) mismatches the version that was used to compile\nPyTorch (9.0)",
    "so-nvjitlink": "libcusparse.so.12: undefined symbol: __nvJitLinkComplete_12_4, version libnvJitLink.so.12",
    "so-nccl": "libtorch_cuda.so: undefined symbol: ncclCommRegister",
    "so-cudnn": "PyTorch was compiled  against (9, 1, 0) but found runtime version (8, 9, 2)",
    "so-ijit": "libtorch_cpu.so: undefined symbol: iJIT_NotifyEvent",
    "so-tls": "libgomp-d22c30c5.so.1: cannot allocate memory in static TLS block",
    "libstdcxx": "libstdc++.so.6: version `GLIBCXX_3.4.30' not found",
    "vcredist": "OSError: [WinError 126] The specified module could not be found",
    "illegal-instruction": "Illegal instruction (core dumped)",
    "ld-path": "after export LD_LIBRARY_PATH=/usr/local/cuda/lib64 it fails",
    "npu-hccl": "ImportError: libhccl.so: cannot open shared object file",
    "npu-hal": "libascend_hal.so: cannot open shared object file",
    "npu-atb": "libatb.so: undefined symbol: _ZN3atb6x",
    "npu-soc": "Unsupported soc version: Ascend310B4",
    "npu-autoload": "RuntimeError: Failed to load the backend extension: torch_npu.",
    "drv-too-old": "The NVIDIA driver on your system is too old (found version 12060).",
    "no-kernel": "CUDA error: no kernel image is available for execution on the device",
    "sm-incompatible": "NVIDIA GeForce RTX 5090 with CUDA capability sm_120 is not compatible with the current",
    "minmax-warning": "Found GPU0 NVIDIA GB10 which is of cuda capability 12.1.",
    "no-driver": "Found no NVIDIA driver on your system.",
    "rocblas-tensile": "rocBLAS error: Cannot read /x/TensileLibrary.dat: Illegal seek for GPU arch : gfx906",
    "hip-isa": "HSA_STATUS_ERROR_INVALID_ISA: The instruction set architecture is invalid.",
    "hip-no-code": "RuntimeError: HIP error: invalid device function",
    "hip-no-device": "hipErrorNoDevice: no ROCm-capable device is detected",
    "xpu-init": "RuntimeError: No XPU devices are available.",
    "mps-macos": "The MPS backend is supported on macOS 14.0+. Current OS version can be queried",
    "not-linked-xpu": "PyTorch is not linked with support for xpu devices",
    "cpu-build": "AssertionError: Torch not compiled with CUDA enabled",
    "cpu-version": "torch.__version__ is 2.6.0+cpu",
    "cpu-build-seen": "pip installs the CPU-only torch",
    "extra-index": "pip install --extra-index-url https://download.pytorch.org/whl/cu126",
    "detection": "hardware detection failed",
    "tv-nms": "RuntimeError: operator torchvision::nms does not exist",
    "so-cudart-missing": "libcudart.so.13: cannot open shared object file",
    "so-libtorch-missing": "libtorch_hip.so: cannot open shared object file",
    "so-torch-symbol": "_C.so: undefined symbol: _ZN3c104cuda9GetDeviceEPa",
    "companion-requires": "torchvision 0.21.0 requires torch==2.6.0, but you have torch 2.7.0",
    "triton-import": "ImportError: cannot import name 'JITFunction' from 'triton'",
    "nvidia-library-missing": "libcusparseLt.so.0: cannot open shared object file",
    "index-lost": "ERROR: No matching distribution found for nvidia-cudnn-cu12==9.1.0.70",
    "glibc": "/lib64/libm.so.6: version `GLIBC_2.29' not found",
    "musl": "the tag musllinux_1_2_x86_64",
    "conda-cuda": "nothing provides __cuda needed by pytorch",
    "uv-no-sdist": "it doesn't have a source distribution or wheel for the current platform",
    "companion-no-wheel": "`torchvision` (v0.25.0) only has wheels with the following Python ABI tag: `cp314t`",
    "no-wheel": "ERROR: Could not find a version that satisfies the requirement torch==2.3.0 (from versions: none)",
    "no-wheel-text": "torch==2.6.0+cu126 cannot be resolved",
    "conflict": "ERROR: ResolutionImpossible: for help visit",
    "torch-missing": "ModuleNotFoundError: No module named 'torch'",
    "torch-shadowed": "AttributeError: partially initialized module 'torch' has no attribute 'nn'",
    "nvrm-not-probed": "NVRM: The NVIDIA probe routine was not called for 1 device(s).",
    "cuda-unavailable": "Is CUDA available: False",
    "not-visible": "torch.cuda.is_available() returns False",
}


@pytest.fixture(scope="session")
def table(catalog):
    return catalog.signatures.rows


def test_form():
    document = json.loads((DATA / "signatures.json").read_text("utf-8"))
    schema = json.loads((DATA / "schema" / "signatures.schema.json").read_text("utf-8"))
    assert [e.message for e in Draft202012Validator(schema).iter_errors(document)] == []
    rows = [*document["rows"], *document["drivers"], *document["long_paths"], *document["dependents"]]
    assert {row["source"] for row in rows} == set(document["sources"])
    assert len({row["id"] for row in document["rows"]}) == len(document["rows"])
    assert [row["api"] for row in document["drivers"]] == sorted(row["api"] for row in document["drivers"])


def test_every_row_has_an_example(table):
    assert {row.id for row in table} == set(EXAMPLES)


@pytest.mark.parametrize("name", EXAMPLES)
def test_examples(table, name):
    found = symptoms(EXAMPLES[name], table)
    assert name in [symptom.signature.id for symptom in found]
    assert found[0].text


def unbounded(parsed) -> bool:
    """Tell whether a parsed pattern repeats anything without a limit."""
    inner = []
    for operation, argument in parsed:
        if str(operation) in {"MAX_REPEAT", "MIN_REPEAT"}:
            if int(argument[1]) > 1000:
                return True
            inner.append(argument[2])
        elif str(operation) == "SUBPATTERN":
            inner.append(argument[-1])
        elif str(operation) == "BRANCH":
            inner += argument[1]
    return any(unbounded(part) for part in inner)


def test_repetition_is_bounded(table):
    """Repetition without a limit can backtrack for minutes."""
    parser = pytest.importorskip("re._parser")
    assert unbounded(parser.parse("(a+)+b"))
    assert [row.id for row in table if unbounded(parser.parse(row.pattern))] == []


HOSTILE = [
    "a" * 200_000,
    "_ZN" + "c10" * 60_000,
    "torchvision " * 20_000,
    "No matching distribution found for " + "torch=" * 30_000,
    "CUDA_VISIBLE_DEVICES = " * 10_000,
    "(" * 200_000,
    " " * 200_000,
    "\n" * 200_000,
    "is_available" * 20_000,
    "Found GPU0 " + "x " * 100_000,
    "replaces " * 30_000,
]


@pytest.mark.parametrize("text", HOSTILE, ids=lambda text: text[:20].strip() or "blank")
def test_hostile_texts_cost_no_time(doctor, text):
    import hand

    begin = time.monotonic()
    doctor(hand.linux(hand.RTX_4090), text)
    assert time.monotonic() - begin < 3
