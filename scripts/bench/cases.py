"""What is asked of torchinstall, and of the others, as command lines."""

from __future__ import annotations

import json
import subprocess
import sys

from timing import BASE, ROOT, Case, environment_with

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pathlib import Path

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
LIMITS = {
    "torchinstall --version": 2.2,
    "plan --offline --machine FILE": 4.5,
    "plan --offline, detected, target kept": 6.0,
}
"""The most that a case is meant to take, in units of bare Python."""


def cases(folder: Path, *, rivals: bool, online: bool, wheels: Path | None) -> list[Case]:
    """Return all cases of whole processes, bare Python first."""
    programs = environment_with(folder, "torchinstall", [str(ROOT)])
    tool, python, uv = (str(programs / name) for name in ("torchinstall", "python", "uv"))
    machine = folder / "machine.json"
    machine.write_text(json.dumps(MACHINE), "utf-8")
    other = environment_with(folder, "other", ["packaging"]).parent
    plan = [tool, "plan", "--json"]
    kept = [
        python,
        "-c",
        "import pathlib, shutil; shutil.rmtree(pathlib.Path('cache/torchinstall'), ignore_errors=True)",
    ]
    dry = [uv, "pip", "install", "--dry-run", "--python", str(other)]
    found = [
        Case(BASE, [python, "-I", "-c", "pass"]),
        Case("torchinstall --version", [tool, "--version"]),
        Case("plan --offline --machine FILE", [*plan, "--offline", "--machine", str(machine)]),
        Case("plan --offline, three packages",
             [*plan, "--offline", "--machine", str(machine), "torch", "torchvision", "torchaudio"]),
        Case("plan --offline, detected, target asked", [*plan, "--offline", "--venv", str(other)], before=kept),
        Case("plan --offline, detected, target kept", [*plan, "--offline", "--python", str(other)]),
        Case("detect", [tool, "detect", "--json", "--venv", str(other)]),
        Case("doctor", [tool, "doctor", "--json", "--offline", "--venv", str(other)], ok=(0, 3, 4)),
        Case("uv --version", [uv, "--version"]),
        Case("uv dry run, offline, of a package that is there", [*dry, "--offline", "packaging"]),
    ]  # fmt: skip
    if online:
        found += [
            Case("uv dry run of torch, online", [*dry, "torch"], few=True),
            Case("plan of torch, online", [*plan, "--venv", str(other)], few=True, ok=(0, 8)),
        ]
    if wheels is not None:
        found += _with_torch(folder, tool, wheels)
    found += _rivals(folder) if rivals else []
    return found


def _with_torch(folder: Path, tool: str, wheels: Path) -> list[Case]:
    """Verify against a plain import of torch, and doctor, in an environment that has a real one."""
    wheel = max(wheels.glob("torch-*+cpu-*.whl"))
    place = environment_with(folder, "torch", [str(wheel)])
    python = str(place / "python")
    scan = folder / "scan"
    if not scan.exists():
        _something_to_scan(scan)
    return [
        Case("import torch", [python, "-c", "import torch"], few=True),
        Case("verify", [tool, "verify", "--json", "--venv", str(place.parent)], few=True, ok=(0, 9)),
        Case("doctor of an environment with torch",
             [tool, "doctor", "--json", "--offline", "--venv", str(place.parent)], few=True, ok=(0, 3, 4)),
        Case("advise --scan, 1,000 files",
             [tool, "advise", "--json", "--offline", "--venv", str(place.parent), "--scan", str(scan)],
             few=True, ok=(0, 3)),
    ]  # fmt: skip


def _something_to_scan(folder: Path) -> None:
    """Write a project of a thousand modules, each of a hundred lines that a scan has to look at."""
    body = "import torch\n\n" + "\n".join(
        f"def step_{n}(x):\n    y = torch.nn.functional.relu(x) + {n}\n"
        "    with torch.no_grad():\n        return y.sum()\n"
        for n in range(20)
    )
    folder.mkdir()
    for number in range(1000):
        (folder / f"module_{number}.py").write_text(body, "utf-8")


def _rivals(folder: Path) -> list[Case]:
    found = []
    for name, (packages, program, words) in RIVALS.items():
        try:
            place = environment_with(folder, name, list(packages))
        except subprocess.CalledProcessError:
            print(f"{name}: can't be installed here, left out", file=sys.stderr)
            continue
        found.append(Case(f"{name} {' '.join(words)}", [str(place / program), *words]))
    return found
