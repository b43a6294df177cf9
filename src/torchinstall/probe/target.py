"""The target interpreter: asked by running a stand-alone script in it, never by importing anything of its packages."""

# Plain os.path: importing pathlib would cost more start-up time than all the calls here.
# ruff: noqa: PTH100, PTH118, PTH120
from __future__ import annotations

from torchinstall.errors import UsageError
from torchinstall.model.machine import MACOS, WINDOWS, Python
from torchinstall.model.value import EMPTY, Value
from torchinstall.probe.native import between_cookies

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from torchinstall.probe.kept_target import KeptTarget
    from torchinstall.probe.process import Result
    from torchinstall.probe.system import System

TIMEOUT = 15.0
"""Seconds; a first start on a slow network disk takes several."""

_WATCHED = frozenset(
    {
        "torch", "torchvision", "torchaudio", "torchtext", "torchdata", "torchcodec", "torchao", "torch-npu",
        "torch-tensorrt", "torch-xla", "intel-extension-for-pytorch", "oneccl-bind-pt", "functorch",
        "triton", "pytorch-triton", "pytorch-triton-rocm", "pytorch-triton-xpu", "triton-rocm", "triton-xpu",
        "triton-windows", "triton-ascend", "xformers", "flash-attn", "bitsandbytes", "vllm", "torch-musa",
        "torch-mlu", "torch-gcu", "torch-fl", "numpy", "pip", "uv",
    }
)  # fmt: skip
_WATCHED_FAMILIES = ("nvidia-", "cuda-", "rocm", "libtorch")
_ARCHES = {"amd64": "x86_64", "win32": "i686"}


class TargetFacts(Value):
    """What an interpreter is, and which packages of the torch family it has.

    ``installed`` holds versions with the local part of torch's own version file; ``installed_by`` who put
    them there: pip, uv, conda, ``distribution``, or ``unknown``.
    """

    python: Python
    installed: Mapping[str, str] = EMPTY
    installed_by: Mapping[str, str] = EMPTY


class TargetQuestion:
    """A started interrogation, so that other probes can run meanwhile; ``answer`` waits for it."""

    def __init__(self, system: System, executable: str, *, keep_in: str | None = None) -> None:
        """Start asking, unless an answer is kept in the folder ``keep_in`` that still holds."""
        import os

        self._system = system
        self._executable = executable
        self._cookie = f"<{os.urandom(12).hex()}>"
        self._script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "_interrogate.py")
        self._path = system.program(executable)
        self._child = None
        self._kept: KeptTarget | None = None
        self._known: Mapping[str, Any] | None = None
        if self._path is not None and system.given is None and keep_in is not None:
            from torchinstall.probe.kept_target import KeptTarget

            self._kept = KeptTarget(keep_in, self._path, self._script, system.environ.get("HOME", ""))
            self._known = self._kept.answer()
        if self._path is not None and system.given is None and self._known is None:
            self._child = system.start([self._path, "-I", self._script, self._cookie], TIMEOUT)

    @property
    def waiting(self) -> bool:
        """Tell whether an interpreter was started, whose answer takes a moment."""
        return self._child is not None

    def answer(self) -> TargetFacts:
        """Return the facts. Raises ``UsageError`` where what was named is no Python, saying what it answered."""
        given = self._system.given
        if given is not None:
            # The real interpreter would tell of another machine than the fake one.
            return TargetFacts(python=given.python, installed=given.installed, installed_by=given.installed_by)
        if self._known is not None:
            return _read(self._system, self._known["python"], self._known)
        if self._child is None:
            raise UsageError(
                f"there is no {self._executable}",
                why="an interpreter is named by its path, or by its name if a folder in PATH has it",
                todo=["check the path after --python"],
            )
        result = self._child.collect()
        facts = between_cookies(result.out, self._cookie)
        python = facts.get("python")
        if not isinstance(python, dict):
            raise _no_python(str(self._path), result)
        if self._kept is not None:
            self._kept.keep(facts)
        return _read(self._system, python, facts)


def interrogate(system: System, executable: str) -> TargetFacts:
    """Run a stand-alone script in the interpreter ``executable`` (a path, or a name in PATH) and return its facts.

    Raises ``UsageError`` where that is no Python, or gives no answer within ``TIMEOUT`` seconds.
    """
    return TargetQuestion(system, executable).answer()


def _read(system: System, python: Mapping[str, Any], facts: Mapping[str, Any]) -> TargetFacts:
    known = {name: value for name, value in python.items() if name in Python._fields and value is not None}
    arch = str(known.get("arch", "")).lower()
    if arch:
        arch = _ARCHES.get(arch, arch)
        known["arch"] = "aarch64" if arch == "arm64" and system.os_name not in {MACOS, WINDOWS} else arch
    versions, installers = facts.get("installed") or {}, facts.get("installed_by") or {}
    watched = sorted(name for name in versions if name in _WATCHED or name.startswith(_WATCHED_FAMILIES))
    return TargetFacts(
        python=Python(**known),
        installed={name: str(versions[name]) for name in watched},
        installed_by={name: by for name in watched if (by := str(installers.get(name, "unknown"))) != "unknown"},
    )


def _no_python(path: str, result: Result) -> UsageError:
    said = (result.err.strip() or result.out.strip()).splitlines()
    if result.rc is None and not result.timed_out:
        return UsageError(f"{path} can't be run", why=result.err, todo=["check the path after --python"])
    words = f" and said: {said[-1].strip():.200}" if said else ""
    why = f"run as a Python it ended with {result.ending()}{words}"
    if result.timed_out:
        why = f"it gave no answer within {TIMEOUT:g} s"
    return UsageError(
        f"{path} isn't a Python that can be asked",
        why=why,
        todo=["name another interpreter with --python", "or give its version only, as in --python 3.12"],
        details=result.err[-2000:],
    )
