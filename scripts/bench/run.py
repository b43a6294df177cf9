#!/usr/bin/env python3
"""Measures torchinstall beside its rivals in one go, and prints a table of ratios.

usage: scripts/bench/run.py [--runs N] [--only WORD] [--rivals] [--json FILE] [--keep DIR]

Every case is a whole process. Cases are interleaved (A B C A B C ...), so that a machine whose speed drifts drifts
for all of them, and the unit is `python -I -c pass` of the very same interpreter: quote ratios, not milliseconds.
torchinstall is installed from this checkout into an environment of its own, with byte code, and started by its
console script. With --rivals other tools are installed from the configured index, each into an environment of its
own, and asked the same question where they can answer it without a network.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BASE = "bare python"
MACHINE = {
    "schema": 1,
    "os": {"name": "linux", "glibc": "2.35"},
    "arch": "x86_64",
    "python": {"version": "3.12.4"},
    "gpus": [{"vendor": "nvidia", "name": "NVIDIA GeForce RTX 4090", "compute_capability": "8.9"}],
    "drivers": {"nvidia": {"version": "580.95.05", "state": "ok"}},
}
RIVALS = {
    # name: (packages, console script, arguments of a question that needs no network)
    "torchruntime": (("torchruntime",), "python", ("-m", "torchruntime", "info")),
    "gpu-installer": (("gpu-installer",), "gpu-installer", ("--dry-run",)),
    "light-the-torch": (("light-the-torch", "pip<26.1"), "ltt", ("--version",)),
    "rigsolve": (("rigsolve",), "rigsolve", ("--version",)),
}


class Case:
    """One command line, and what its runs took in seconds."""

    def __init__(
        self, name: str, argv: list[str], *, stdin: str | None = None, env: dict[str, str] | None = None
    ) -> None:
        self.name = name
        self.argv = argv
        self.stdin = stdin
        self.env = env or {}
        self.seconds: list[float] = []
        self.code: int | None = None

    def run(self, cwd: Path, environ: dict[str, str]) -> float:
        began = time.perf_counter()
        done = subprocess.run(
            self.argv, stdin=subprocess.DEVNULL, capture_output=True, cwd=cwd, env=environ, check=False,
        )  # fmt: skip
        self.code = done.returncode
        return time.perf_counter() - began

    @property
    def median(self) -> float:
        return statistics.median(self.seconds)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=15, help="counted runs of each case (default 15)")
    parser.add_argument("--only", default="", help="only cases whose name has this word")
    parser.add_argument("--rivals", action="store_true", help="also install and time other tools")
    parser.add_argument("--json", type=Path, help="write the results here")
    parser.add_argument("--keep", type=Path, help="work in this folder and leave it")
    arguments = parser.parse_args()
    folder = arguments.keep or Path(tempfile.mkdtemp(prefix="torchinstall-bench-"))
    folder.mkdir(parents=True, exist_ok=True)
    try:
        environ = clean_environment(folder)
        cases = [case for case in build_cases(folder, rivals=arguments.rivals)
                 if case.name == BASE or arguments.only in case.name]  # fmt: skip
        measure(cases, arguments.runs, folder, environ)
        batches = batch(folder, environ) if arguments.only in "batch" else []
    finally:
        if not arguments.keep:
            shutil.rmtree(folder, ignore_errors=True)
    report(cases, batches)
    if arguments.json:
        arguments.json.write_text(json.dumps(document(cases, batches), indent=1) + "\n", "utf-8")
    return 0


def clean_environment(folder: Path) -> dict[str, str]:
    """Return an environment without anybody's settings for the tools that are timed."""
    strip = ("PIP_", "UV_", "TORCHINSTALL_", "CUDA_", "NVIDIA_", "CONDA_")
    environ = {name: value for name, value in os.environ.items() if not name.startswith(strip)}
    for name in ("VIRTUAL_ENV", "PYTHONPATH", "PYTHONDONTWRITEBYTECODE", "PYTHONUNBUFFERED"):
        environ.pop(name, None)
    return {**environ, "PIP_CONFIG_FILE": os.devnull, "XDG_CACHE_HOME": str(folder / "cache"), "NO_COLOR": "1"}


def environment_with(folder: Path, name: str, packages: list[str]) -> Path:
    """Make an environment with byte-compiled packages and return its folder of programs."""
    uv = shutil.which("uv") or str(Path(sys.executable).parent / "uv")
    place = folder / f"env-{name}"
    setup = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    if not place.exists():
        subprocess.run([uv, "venv", "-q", "--python", sys.executable, str(place)], check=True, env=setup)
        install = [uv, "pip", "install", "-q", "--compile-bytecode", "--python", str(place), *packages]
        subprocess.run(install, check=True, env=setup)
    return place / ("Scripts" if os.name == "nt" else "bin")


def build_cases(folder: Path, *, rivals: bool) -> list[Case]:
    programs = environment_with(folder, "torchinstall", [str(ROOT)])
    tool, python, uv = (str(programs / name) for name in ("torchinstall", "python", "uv"))
    machine = folder / "machine.json"
    machine.write_text(json.dumps(MACHINE), "utf-8")
    other = environment_with(folder, "other", ["packaging"])
    cases = [
        Case(BASE, [python, "-I", "-c", "pass"]),
        Case("torchinstall --version", [tool, "--version"]),
        Case("plan --offline --machine FILE", [tool, "plan", "--offline", "--json", "--machine", str(machine)]),
        Case("plan --offline, three packages",
             [tool, "plan", "--offline", "--json", "--machine", str(machine), "torch", "torchvision", "torchaudio"]),
        Case("plan --offline, detected", [tool, "plan", "--offline", "--json", "--venv", str(other.parent)]),
        Case("detect", [tool, "detect", "--json", "--venv", str(other.parent)]),
        Case("uv --version", [uv, "--version"]),
        Case("uv dry run, offline",
             [uv, "pip", "install", "--dry-run", "--offline", "--python", str(other.parent), "packaging"]),
    ]  # fmt: skip
    if rivals:
        for name, (packages, program, words) in RIVALS.items():
            try:
                place = environment_with(folder, name, list(packages))
            except subprocess.CalledProcessError:
                print(f"{name}: can't be installed here, left out", file=sys.stderr)
                continue
            cases.append(Case(f"{name} {' '.join(words)}", [str(place / program), *words]))
    return cases


def measure(cases: list[Case], runs: int, folder: Path, environ: dict[str, str]) -> None:
    for case in cases:
        case.run(folder, environ)
    for _ in range(runs):
        for case in cases:
            case.seconds.append(case.run(folder, environ))


def batch(folder: Path, environ: dict[str, str]) -> list[dict[str, float]]:
    """Plan many different machines in one process: seconds and peak memory, to see that growth is linear."""
    tool = str(environment_with(folder, "torchinstall", [str(ROOT)]) / "torchinstall")
    results = []
    for count in (1000, 10000):
        source = folder / f"machines-{count}.jsonl"
        with source.open("w", encoding="utf-8") as file:
            for number in range(count):
                file.write(json.dumps({"id": number, "machine": different_machine(number)}) + "\n")
        began = time.perf_counter()
        with source.open(encoding="utf-8") as stdin:
            subprocess.run(
                [tool, "plan", "--machine", "-", "--json", "--offline"],
                stdin=stdin, stdout=subprocess.DEVNULL, cwd=folder, env=environ, check=True,
            )  # fmt: skip
        took = time.perf_counter() - began
        peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
        results.append({"machines": count, "seconds": took, "peak_mib": peak})
    return results


def different_machine(number: int) -> dict[str, object]:
    """Return the n-th of a family of machines no two of which are the same."""
    capabilities = ("6.1", "7.0", "7.5", "8.0", "8.6", "8.9", "9.0", "12.0")
    drivers = ("535.183.01", "550.54.15", "570.86.15", "575.57.08", "580.95.05", "590.48.01")
    pythons = ("3.10", "3.11", "3.12", "3.13", "3.14")
    names = {"name": "linux", "glibc": f"2.{28 + number % 12}"}
    gpu = {"vendor": "nvidia", "name": f"GPU {number}", "compute_capability": capabilities[number % 8]}
    return {
        "schema": 1,
        "os": names,
        "arch": "x86_64",
        "python": {"version": f"{pythons[number % 5]}.{number % 17}"},
        "gpus": [gpu],
        "drivers": {"nvidia": {"version": drivers[number % 6], "state": "ok"}},
    }


def report(cases: list[Case], batches: list[dict[str, float]]) -> None:
    unit = cases[0].median
    print(
        f"Python {platform.python_version()}, {os.cpu_count()} CPUs, {platform.machine()}, {time.strftime('%Y-%m-%d')}"
    )
    print(f"{'case':<44}{'x bare':>8}{'median ms':>11}{'min':>8}{'max':>8}")
    for case in cases:
        if not case.seconds:
            continue
        low, high = min(case.seconds) * 1000, max(case.seconds) * 1000
        failed = "" if case.code == 0 else f"   exit {case.code}"
        print(f"{case.name:<44}{case.median / unit:>8.2f}{case.median * 1000:>11.1f}{low:>8.1f}{high:>8.1f}{failed}")
    for row in batches:
        print(f"plan of {row['machines']:>6.0f} different machines: {row['seconds']:.1f} s, {row['peak_mib']:.0f} MiB")


def document(cases: list[Case], batches: list[dict[str, float]]) -> dict[str, object]:
    unit = cases[0].median
    return {
        "date": time.strftime("%Y-%m-%d"),
        "python": platform.python_version(),
        "cpus": os.cpu_count(),
        "unit_ms": unit * 1000,
        "cases": [
            {"name": case.name, "ratio": case.median / unit, "median_ms": case.median * 1000, "runs": len(case.seconds)}
            for case in cases
        ],
        "batch": batches,
    }


if __name__ == "__main__":
    sys.exit(main())
