"""Plans of many machines, a line each: seconds, and the memory that one of the processes takes at most."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time

from timing import ROOT, environment_with

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pathlib import Path

_PEAK = """
import resource, subprocess, sys
done = subprocess.run(sys.argv[1:])
sys.stderr.write(str(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss))
sys.exit(done.returncode)
"""
"""Runs a command; the memory of this process's children is that of the command alone."""


def batches(folder: Path, environ: dict[str, str], counts: tuple[int, ...]) -> list[dict[str, object]]:
    """Plan so many machines: all different, and for the largest number also those of a fleet of 500 kinds."""
    found = [_batch(folder, environ, count, kinds=None) for count in counts]
    return [*found, _batch(folder, environ, counts[-1], kinds=500)] if counts else []


def _batch(folder: Path, environ: dict[str, str], count: int, kinds: int | None) -> dict[str, object]:
    tool = str(environment_with(folder, "torchinstall", [str(ROOT)]) / "torchinstall")
    source = folder / f"machines-{count}-{kinds}.jsonl"
    with source.open("w", encoding="utf-8") as file:
        for number in range(count):
            machine = different_machine(number if kinds is None else number % kinds)
            file.write(json.dumps({"id": number, "machine": machine}) + "\n")
    began = time.perf_counter()
    with source.open(encoding="utf-8") as stdin:
        done = subprocess.run(
            [sys.executable, "-c", _PEAK, tool, "plan", "--machine", "-", "--json", "--offline"],
            stdin=stdin, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, cwd=folder, env=environ, check=True,
            text=True,
        )  # fmt: skip
    took = time.perf_counter() - began
    source.unlink()
    scale = 1 if sys.platform == "darwin" else 1024
    peak = int(done.stderr.split()[-1]) * scale / 2**20 if os.name == "posix" else 0.0
    return {"machines": count, "kinds": kinds or count, "seconds": took, "peak_mib": peak}


def different_machine(number: int) -> dict[str, object]:
    """Return the n-th of a family of machines no two of which are the same."""
    capabilities = ("6.1", "7.0", "7.5", "8.0", "8.6", "8.9", "9.0", "12.0")
    drivers = ("535.183.01", "550.54.15", "570.86.15", "575.57.08", "580.95.05", "590.48.01")
    pythons = ("3.10", "3.11", "3.12", "3.13", "3.14")
    return {
        "schema": 1,
        "os": {"name": "linux", "glibc": f"2.{28 + number % 12}"},
        "arch": "x86_64",
        "python": {"version": f"{pythons[number % 5]}.{number % 17}"},
        "gpus": [{"vendor": "nvidia", "name": f"GPU {number}", "compute_capability": capabilities[number % 8]}],
        "drivers": {"nvidia": {"version": drivers[number % 6], "state": "ok"}},
    }
