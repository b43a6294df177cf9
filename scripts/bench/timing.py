"""Whole processes, interleaved, in units of bare Python; environments of their own for the tools that are timed."""

from __future__ import annotations

import os
import shutil
import statistics
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BASE = "bare python"
_STRIP = ("PIP_", "UV_", "TORCHINSTALL_", "CUDA_", "NVIDIA_", "CONDA_", "PYTHON")


class Case:
    """One command line, and what its runs took in seconds. ``before`` is run before each, untimed."""

    def __init__(
        self,
        name: str,
        argv: list[str],
        *,
        ok: tuple[int, ...] = (0,),
        before: list[str] | None = None,
        few: bool = False,
    ) -> None:
        self.name = name
        self.argv = argv
        self.ok = ok
        self.before = before
        self.few = few
        """Takes seconds: a fifth of the runs will do."""
        self.seconds: list[float] = []
        self.code: int | None = None
        self.said = ""

    def run(self, cwd: Path, environ: dict[str, str]) -> float:
        if self.before is not None:
            subprocess.run(self.before, check=True, cwd=cwd, env=environ)
        began = time.perf_counter()
        done = subprocess.run(
            self.argv, stdin=subprocess.DEVNULL, capture_output=True, cwd=cwd, env=environ, check=False, text=True,
        )  # fmt: skip
        took = time.perf_counter() - began
        self.code, self.said = done.returncode, (done.stderr or done.stdout).strip()[-200:]
        return took

    @property
    def failed(self) -> bool:
        return self.code not in self.ok

    @property
    def median(self) -> float:
        return statistics.median(self.seconds)


def clean_environment(folder: Path) -> dict[str, str]:
    """Return an environment without anybody's settings for the tools that are timed."""
    environ = {name: value for name, value in os.environ.items() if not name.startswith(_STRIP)}
    environ.pop("VIRTUAL_ENV", None)
    return {
        **environ, "PIP_CONFIG_FILE": os.devnull, "UV_NO_CONFIG": "1", "XDG_CACHE_HOME": str(folder / "cache"),
        "NO_COLOR": "1",
    }  # fmt: skip


def uv() -> str:
    """Return the uv to work with: that of this interpreter's environment, else the one on PATH."""
    beside = Path(sys.executable).parent / "uv"
    return str(beside) if beside.exists() else shutil.which("uv") or "uv"


def environment_with(folder: Path, name: str, packages: list[str]) -> Path:
    """Make an environment with byte-compiled packages, and return its folder of programs."""
    place = folder / f"env-{name}"
    setup = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    if not place.exists():
        subprocess.run([uv(), "venv", "-q", "--python", sys.executable, str(place)], check=True, env=setup)
        install = [uv(), "pip", "install", "-q", "--compile-bytecode", "--python", str(place), *packages]
        try:
            subprocess.run(install, check=True, env=setup)
        except subprocess.CalledProcessError:
            shutil.rmtree(place)
            raise
    return place / ("Scripts" if os.name == "nt" else "bin")


def measure(cases: list[Case], runs: int, folder: Path, environ: dict[str, str]) -> None:
    """Run every case once to warm up, then all of them in turn, so that a machine that drifts drifts for all."""
    for case in cases:
        case.run(folder, environ)
    for number in range(runs):
        for case in cases:
            if not case.few or number % 5 == 0:
                case.seconds.append(case.run(folder, environ))
