"""Stand-alone check of an installed torch, run by the target's Python (3.8 or newer, isolated).

Usage: ``python -I _check_torch.py COOKIE {"backend": ...}``. It needs the standard library and torch alone.
Every step is announced on stdout before it runs, so that a crash or a time limit names its step. A line is
the cookie and one JSON object; whatever the libraries print goes to stderr.

The numbers are small multiples of 1/8: exact in fp16, bf16 and TF32, so that a right device gives the right
sum almost to the last digit, and a tolerance for partial sums in half precision is enough. The reference is computed
in plain Python: a torch that computes wrongly on every device can't agree with it.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
import time
import traceback
import warnings

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import Any, TextIO

SIZE = 64
LONGEST = 4000
COMPANIONS = ("torchvision", "torchaudio")


class CheckError(Exception):
    """A step that ran, with a result that isn't right."""


class Reporter:
    """Writes events to the real stdout, each line whole and at once."""

    def __init__(self, stream: TextIO, cookie: str) -> None:
        self._stream = stream
        self._cookie = cookie

    def say(self, **event: object) -> None:
        """Write one event."""
        self._stream.write("\n%s%s\n" % (self._cookie, json.dumps(event)))  # noqa: UP031 - also for old Pythons
        self._stream.flush()

    @contextlib.contextmanager
    def step(self, name: str, device: str | None = None) -> Iterator[dict[str, Any]]:
        """Announce a step, run it, and say how it ended; the error goes on to the caller."""
        self.say(event="start", step=name, device=device)
        end: dict[str, Any] = {"event": "end", "step": name, "device": device, "state": "ok", "detail": ""}
        begin = time.perf_counter()
        try:
            yield end
        except BaseException as error:
            traceback.print_exc()
            end["state"] = "failed"
            # torch wraps what its extensions die of: what is missing stands in the error behind the error.
            cause = f" ({error.__cause__})" if error.__cause__ is not None else ""
            end["error"] = {
                "type": type(error).__name__,
                "text": f"{error}{cause}"[:LONGEST],
                "code": _plain(getattr(error, "error_code", None)),
            }
            raise
        finally:
            end["seconds"] = round(time.perf_counter() - begin, 4)
            self.say(**end)


def _plain(value: object) -> object:
    return value if isinstance(value, (int, str)) else None


def real_stdout() -> TextIO:
    """Return the stdout that the parent reads, and let everything else that is printed go to stderr."""
    kept = os.dup(1)
    os.dup2(2, 1)
    sys.stdout = sys.stderr
    return os.fdopen(kept, "w", encoding="utf-8", errors="backslashreplace")


def main(arguments: Sequence[str]) -> int:
    """Run every step; exit code 0 says that the check came to its end, not that it went well."""
    reporter = Reporter(real_stdout(), arguments[0])
    request: dict[str, Any] = json.loads(arguments[1])
    _no_core_dump()
    _only_its_own_path()
    if request.get("backend") == "npu":
        # torch would load torch_npu while it is imported, and hide why that fails.
        os.environ["TORCH_DEVICE_BACKEND_AUTOLOAD"] = "0"
    reporter.say(event="python", version=sys.version.split()[0], prefix=sys.prefix, system=sys.platform)
    with contextlib.suppress(Exception, SystemExit):
        _check(reporter, request)
    reporter.say(event="finished")
    return 0


def _check(reporter: Reporter, request: dict[str, Any]) -> None:
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        try:
            with reporter.step("import"):
                import torch
            with reporter.step("versions") as end:
                end["facts"] = _versions(torch)
            backend = request.get("backend") or _backend(torch)
            if backend == "npu":
                # set_env.sh of CANN puts the compiler of its operators there, and -I has left it out.
                sys.path.extend(filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep)))
                with reporter.step("import-torch-npu") as end:
                    import torch_npu

                    end["facts"] = {"torch_npu": str(getattr(torch_npu, "__version__", ""))}
            with reporter.step("devices") as end:
                devices = _devices(torch, backend, end)
        finally:
            reporter.say(event="warnings", texts=[str(row.message)[:LONGEST] for row in seen[:20]])
    working = [place for place in devices if _device_works(reporter, torch, place)]
    if backend in ("cuda", "rocm") and working and sys.platform.startswith("linux"):
        _collectives(reporter, torch)
    _companions(reporter, torch, working)
    for place in working if request.get("compile") else ():
        with contextlib.suppress(Exception):
            _compile(reporter, torch, place)


def _only_its_own_path() -> None:
    """Leave the folder of this script out of the import path, where Python was started without ``-I``."""
    here = os.path.dirname(os.path.abspath(__file__))  # noqa: PTH100, PTH120
    if not sys.flags.isolated:
        sys.path[:] = [entry for entry in sys.path if os.path.abspath(entry or os.curdir) != here]  # noqa: PTH100


def _no_core_dump() -> None:
    """Keep a crash from leaving gigabytes behind."""
    with contextlib.suppress(ImportError, OSError, ValueError):
        import resource

        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _versions(torch: Any) -> dict[str, Any]:
    version = torch.version
    facts: dict[str, Any] = {
        "torch": str(torch.__version__),
        "inner": str(getattr(version, "__version__", torch.__version__)),
        "file": str(getattr(torch, "__file__", "")),
    }
    for name in ("cuda", "hip", "xpu", "git_version"):
        value = getattr(version, name, None)
        facts[name] = None if value is None else str(value)
    # Compiled in, and told without a device; torch.cuda.get_arch_list() wants one.
    flags = getattr(getattr(torch, "_C", None), "_cuda_getArchFlags", None)
    if flags is not None and (facts["cuda"] or facts["hip"]):
        facts["arches"] = str(flags() or "").split()
    return facts


def _backend(torch: Any) -> str:
    """Return what the build is for."""
    if getattr(torch.version, "hip", None):
        return "rocm"
    if getattr(torch.version, "cuda", None):
        return "cuda"
    if getattr(torch.version, "xpu", None):
        return "xpu"
    mps = getattr(getattr(torch, "backends", None), "mps", None)
    if sys.platform == "darwin" and mps is not None and mps.is_built() and mps.is_available():
        return "mps"
    from importlib.util import find_spec

    return "npu" if find_spec("torch_npu") is not None else "cpu"


def _module(torch: Any, kind: str) -> Any:
    return getattr(torch, "cuda" if kind in ("cuda", "rocm") else kind, None)


def _devices(torch: Any, backend: str, end: dict[str, Any]) -> list[str]:
    """Return the devices to check; raises what torch says where an accelerator was wanted and there is none."""
    if backend == "cpu":
        end["names"] = ["CPU"]
        return ["cpu"]
    kind = "cuda" if backend == "rocm" else backend
    module = _module(torch, kind)
    usable = torch.backends.mps if kind == "mps" else module
    if usable is None:
        raise CheckError("this torch has no %s" % kind)  # noqa: UP031
    available = bool(usable.is_available())
    count = 1 if kind == "mps" else int(module.device_count())
    end["count"] = count if available else 0
    if kind == "cuda":
        end["arches"] = [str(code) for code in module.get_arch_list()]
    if not available or count == 0:
        # The first use says why, in the words that people search for.
        torch.empty((1,), device=kind)
        raise CheckError("is_available() is %s and device_count() is %d" % (available, count))  # noqa: UP031
    end["names"] = [_name(module, kind, index) for index in range(count)]
    if kind == "cuda":
        end["capabilities"] = [list(module.get_device_capability(index)) for index in range(count)]
    return ["mps"] if kind == "mps" else ["%s:%d" % (kind, index) for index in range(count)]  # noqa: UP031


def _name(module: Any, kind: str, index: int) -> str:
    return "Apple GPU" if kind == "mps" else str(module.get_device_name(index))


def _device_works(reporter: Reporter, torch: Any, place: str) -> bool:
    """Check one device step by step; after a failure the rest of its steps say nothing new and are left out."""
    steps: tuple[tuple[str, Callable[[Any, str], str | None]], ...] = (
        ("allocation", _allocation),
        ("kernel", _kernel),
        ("matmul", lambda torch, place: _matmul(torch, place, "float32", 1e-3)),
        ("fp16", lambda torch, place: _matmul(torch, place, "float16", 2e-2)),
        ("bf16", lambda torch, place: _matmul(torch, place, "bfloat16", 1e-1)),
        ("conv2d", _conv2d),
    )
    return all(_passes(reporter, torch, name, run, place) for name, run in steps)


def _passes(reporter: Reporter, torch: Any, name: str, run: Callable[[Any, str], str | None], place: str) -> bool:
    try:
        with reporter.step(name, place) as end:
            skipped = run(torch, place)
            if skipped:
                end["state"], end["detail"] = "skipped", skipped
    except Exception:  # noqa: BLE001 - the step has reported it
        return False
    return True


def _synchronize(torch: Any, place: str) -> None:
    """Wait for the device: errors of kernels are reported late otherwise, at a step that isn't to blame."""
    kind, _, index = place.partition(":")
    wait = getattr(_module(torch, kind), "synchronize", None) if kind != "cpu" else None
    if wait is not None:
        wait(int(index)) if index else wait()


def _numbers(count: int, seed: int) -> list[float]:
    return [((index * seed + index // 7) % 17 - 8) / 8.0 for index in range(count)]


def _compare(got: Any, wanted: Sequence[float], tolerance: float) -> None:
    """Raise where a result is off: by more than ``tolerance``, relative to numbers above 1."""
    values = got.float().cpu().flatten().tolist()
    if len(values) != len(wanted):
        raise CheckError("wrong result: %d numbers instead of %d" % (len(values), len(wanted)))  # noqa: UP031
    for index, (value, right) in enumerate(zip(values, wanted)):  # noqa: B905 - old Pythons
        # Written so that a NaN is off too.
        if not abs(value - right) <= tolerance * max(1.0, abs(right)):
            raise CheckError("wrong result: number %d is %r instead of %r" % (index, value, right))  # noqa: UP031


def _allocation(torch: Any, place: str) -> None:
    torch.empty((1 << 18,), device=place)
    _synchronize(torch, place)


def _kernel(torch: Any, place: str) -> None:
    numbers = _numbers(1024, 5)
    result = torch.tensor(numbers).to(place) * 2.0 + 1.0
    _synchronize(torch, place)
    _compare(result, [number * 2.0 + 1.0 for number in numbers], 1e-6)


def _matmul(torch: Any, place: str, precision: str, tolerance: float) -> str | None:
    if precision == "bfloat16" and not _bf16(torch, place):
        return "the device has no bf16"
    left, right = _numbers(SIZE * SIZE, 5), _numbers(SIZE * SIZE, 11)
    kind = getattr(torch, precision)
    try:
        first = torch.tensor(left).reshape(SIZE, SIZE).to(place).to(kind)
        second = torch.tensor(right).reshape(SIZE, SIZE).to(place).to(kind)
        result = first @ second
        _synchronize(torch, place)
    except (NotImplementedError, RuntimeError) as error:
        if place == "cpu" and precision != "float32" and "not implemented for" in str(error):
            return "this torch has no %s product on the CPU" % precision  # noqa: UP031
        raise
    columns = [right[column::SIZE] for column in range(SIZE)]
    rows = [left[start : start + SIZE] for start in range(0, SIZE * SIZE, SIZE)]
    wanted = [sum(a * b for a, b in zip(row, column)) for row in rows for column in columns]  # noqa: B905
    _compare(result, wanted, tolerance)
    return None


def _bf16(torch: Any, place: str) -> bool:
    kind, _, index = place.partition(":")
    if kind == "cuda" and not getattr(torch.version, "hip", None):
        # is_bf16_supported() also counts emulation, for which cuBLAS has no product on older cards.
        return tuple(torch.cuda.get_device_capability(int(index or 0))) >= (8, 0)
    if kind == "mps":
        return False  # only from macOS 14 on; fp16 proves the half-precision path
    supported = getattr(_module(torch, kind), "is_bf16_supported", None) if kind != "cpu" else None
    return bool(supported()) if supported is not None else True


def _conv2d(torch: Any, place: str) -> None:
    """Check a convolution: the step that loads cuDNN or MIOpen."""
    channels, outputs, side, kernel = 2, 3, 10, 3
    data, weight = _numbers(channels * side * side, 5), _numbers(outputs * channels * kernel * kernel, 11)
    result = torch.nn.functional.conv2d(
        torch.tensor(data).reshape(1, channels, side, side).to(place),
        torch.tensor(weight).reshape(outputs, channels, kernel, kernel).to(place),
    )
    _synchronize(torch, place)
    wide = side - kernel + 1
    wanted = [
        sum(
            data[(c * side + y + i) * side + x + j] * weight[((o * channels + c) * kernel + i) * kernel + j]
            for c in range(channels)
            for i in range(kernel)
            for j in range(kernel)
        )
        for o in range(outputs)
        for y in range(wide)
        for x in range(wide)
    ]
    _compare(result, wanted, 1e-2)


def _collectives(reporter: Reporter, torch: Any) -> None:
    """Say which NCCL or RCCL the build brings; one that has none is whole all the same."""
    from importlib.util import find_spec

    if find_spec("torch.distributed") is None:
        return
    with contextlib.suppress(Exception), reporter.step("nccl") as end:
        from torch import distributed

        if not (distributed.is_available() and distributed.is_nccl_available()):
            end["state"], end["detail"] = "skipped", "this build has no NCCL"
            return
        version = torch.cuda.nccl.version()
        end["detail"] = ".".join(map(str, version)) if isinstance(version, tuple) else str(version)


def _compile(reporter: Reporter, torch: Any, place: str) -> None:
    """Check torch.compile: it needs a compiler, headers of Python, and Triton on most devices."""
    with reporter.step("compile", place):

        def shifted(value: Any) -> Any:
            return torch.relu(value * 2.0 + 1.0)

        numbers = _numbers(256, 5)
        result = torch.compile(shifted)(torch.tensor(numbers).to(place))
        _synchronize(torch, place)
        _compare(result, [max(number * 2.0 + 1.0, 0.0) for number in numbers], 1e-5)


def _companions(reporter: Reporter, torch: Any, working: Sequence[str]) -> None:
    from importlib.util import find_spec

    for name in COMPANIONS:
        if find_spec(name) is None:
            continue
        with contextlib.suppress(Exception), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            with reporter.step(name) as end:
                module = __import__(name)
                end["facts"] = {name: str(getattr(module, "__version__", ""))}
            for place in working if name == "torchvision" else ():
                # Ascend has its own operator package; there the CPU answer shows that the pair fits.
                _nms(reporter, torch, "cpu" if place.startswith("npu") else place)


def _nms(reporter: Reporter, torch: Any, place: str) -> None:
    """Check an operator of torchvision that is compiled for the very torch and device."""
    with reporter.step("nms", place):
        from torchvision.ops import nms

        boxes = [[0.0, 0.0, 10.0, 10.0], [1.0, 1.0, 11.0, 11.0], [20.0, 20.0, 30.0, 30.0]]
        kept = nms(torch.tensor(boxes).to(place), torch.tensor([0.9, 0.8, 0.7]).to(place), 0.5)
        _synchronize(torch, place)
        _compare(kept, [0.0, 2.0], 0.0)


if __name__ == "__main__":
    code = main(sys.argv[1:])
    sys.stderr.flush()
    # Whatever runs at the interpreter's end (CUDA teardown among it) is no part of the check, and may hang.
    os._exit(code)
