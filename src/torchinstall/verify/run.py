"""Run the check in the target's Python: a process of its own, with a time limit, killed as a group."""

from __future__ import annotations

import json
import os
import signal
import sys
import time

from torchinstall.model.variant import backend
from torchinstall.verify.values import RawResult

TYPE_CHECKING = False
if TYPE_CHECKING:
    import subprocess
    from collections.abc import Mapping
    from typing import Any

    from torchinstall.verify.values import Expect

DEFAULT_LIMIT = 120.0
"""Seconds. The first load of the CUDA libraries from a slow disk takes more than a minute."""

LAST_WORDS = 8000
_AFTER_KILL = 5.0

_NAMES = frozenset(
    {
        # finding libraries and files
        "PATH", "LD_LIBRARY_PATH", "LD_PRELOAD", "DYLD_LIBRARY_PATH", "DYLD_FALLBACK_LIBRARY_PATH",
        "HOME", "USER", "LOGNAME", "TMPDIR", "TEMP", "TMP", "LANG", "CONDA_PREFIX",
        "GLIBC_TUNABLES", "GPU_DEVICE_ORDINAL",
        # Windows starts no Python without these
        "SYSTEMROOT", "SYSTEMDRIVE", "WINDIR", "COMSPEC", "PATHEXT", "USERPROFILE", "APPDATA", "LOCALAPPDATA",
        "PROGRAMDATA", "PROGRAMFILES", "NUMBER_OF_PROCESSORS", "PROCESSOR_ARCHITECTURE",
    }
)  # fmt: skip
_PREFIXES = (
    "LC_", "XDG_", "CUDA_", "NVIDIA_", "CUDNN_", "CUBLAS_", "NCCL_", "HIP_", "HSA_", "ROCR_", "ROCM_", "ROCBLAS_",
    "HIPBLASLT_", "AMD_", "MIOPEN_", "ZE_", "ZES_", "SYCL_", "ONEAPI_", "UR_", "ASCEND_", "ATB_", "TORCH_", "PYTORCH_",
    "OMP_", "KMP_", "MKL_", "OPENBLAS_",
)  # fmt: skip
"""What torch and the vendors' libraries read: the check must see what the user's own programs will see."""

_MASKS = (
    "CUDA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES", "GPU_DEVICE_ORDINAL",
    "ZE_AFFINITY_MASK", "ONEAPI_DEVICE_SELECTOR", "ASCEND_RT_VISIBLE_DEVICES",
)  # fmt: skip
_IGNORED = ("PYTHONPATH", "PYTHONHOME")


def child_environment(environ: Mapping[str, str], *, npu: bool = False) -> dict[str, str]:
    """Return the variables that the check is given: those of the loader, the vendors and torch.

    ``npu``: with PYTHONPATH, in which CANN has the compiler of its operators.
    """
    return {
        name: value
        for name, value in environ.items()
        if name.upper() in _NAMES or name.upper().startswith(_PREFIXES) or (npu and name == "PYTHONPATH")
    }


def run_check(python: str, *, expect: Expect, timeout: float, environ: Mapping[str, str]) -> RawResult:
    """Run the check with ``python`` (an absolute path) and return what it said.

    ``timeout`` in seconds; at the limit, and at an interrupt, the whole process group is killed. Never
    raises for what the child does; ``RawResult.error`` says why it couldn't be started.
    """
    import subprocess

    script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "_check_torch.py")  # noqa: PTH118, PTH120, PTH100
    cookie = f"@{os.urandom(12).hex()}@"
    request = json.dumps(
        {"backend": expect.backend or backend(expect.variant or "") or None, "compile": expect.compile}
    )
    # -B: a check changes nothing, and an environment that is restored afterwards must be as it was.
    isolation = "-E" if expect.user_site else "-I"
    command = [python, isolation, "-B", "-X", "faulthandler", script, cookie, request]
    masks = {name: environ[name] for name in _MASKS if name in environ}
    npu = "npu" in {expect.backend, expect.variant}
    ignored = tuple(name for name in _IGNORED if environ.get(name) and not (npu and name == "PYTHONPATH"))
    begin = time.monotonic()

    def result(**fields: Any) -> RawResult:
        seconds = round(time.monotonic() - begin, 3)
        return RawResult(python=python, limit=timeout, seconds=seconds, masks=masks, ignored=ignored, **fields)

    try:
        child = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=child_environment(environ, npu=npu),
            cwd=os.path.dirname(script),  # noqa: PTH120 - a folder where nothing can be imported or loaded from
            **_own_group(),
        )
    except (OSError, ValueError) as error:
        return result(error=getattr(error, "strerror", None) or str(error))
    timed_out = False
    try:
        out, err = child.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        timed_out = child.poll() is None
        _kill_group(child)
        out, err = _rest(child)
    except BaseException:
        _kill_group(child)
        _rest(child)
        raise
    else:
        _kill_group(child)
    code = child.returncode
    return result(
        events=parse_events(out, cookie),
        returncode=code,
        signal=_signal_name(code),
        timed_out=timed_out,
        stderr=err.decode("utf-8", "replace")[-LAST_WORDS:],
    )


def parse_events(output: bytes, cookie: str) -> tuple[Mapping[str, Any], ...]:
    """Return the events in an output that may hold anything else too; a line that was cut is left out."""
    events: list[Mapping[str, Any]] = []
    for line in output.decode("utf-8", "replace").splitlines():
        _before, found, text = line.partition(cookie)
        if not found:
            continue
        try:
            event = json.loads(text)
        except ValueError:
            continue
        if isinstance(event, dict):
            events.append(event)
    return tuple(events)


def _own_group() -> dict[str, Any]:
    if sys.platform == "win32":
        import subprocess

        return {"creationflags": subprocess.CREATE_NEW_PROCESS_GROUP}
    return {"start_new_session": True}


def _kill_group(child: subprocess.Popen[bytes]) -> None:
    """Kill the child and what it started; also after a good end, when only its children can be left."""
    if sys.platform == "win32":
        if child.poll() is None:
            import subprocess

            system = os.environ.get("SYSTEMROOT", r"C:\Windows")
            killer = [rf"{system}\System32\taskkill.exe", "/F", "/T", "/PID", str(child.pid)]
            subprocess.run(killer, capture_output=True, timeout=_AFTER_KILL, check=False)
            child.kill()
        return
    try:
        os.killpg(child.pid, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        return


def _rest(child: subprocess.Popen[bytes]) -> tuple[bytes, bytes]:
    """Return what was written before the end; a process stuck in the driver can't be waited for."""
    import subprocess

    try:
        return child.communicate(timeout=_AFTER_KILL)
    except subprocess.TimeoutExpired as stuck:
        return stuck.stdout or b"", stuck.stderr or b""


def _signal_name(code: int | None) -> str | None:
    if code is None or code >= 0:
        return None
    try:
        return signal.Signals(-code).name
    except ValueError:
        return f"signal {-code}"
