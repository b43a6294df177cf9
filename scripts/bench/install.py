#!/usr/bin/env python3
"""Our whole install against the bare uv command with the same pins, in one run, with a real torch from a folder.

usage: scripts/bench/install.py --wheels DIR [--runs N] [--json FILE] [--stages]

DIR holds a CPU wheel of torch for this Python. It is served by the replica on the loopback; the dependencies are
fetched once, from the index that uv is configured with, into a folder that both sides are pointed at. Without
verification, since bare uv has none. Cold: an empty cache of uv for each run; warm: the cache of the run before.
torchinstall is built as a wheel and installed with byte code: some machines forbid that a first run writes it.
--stages shows what the parts of our own install take, cold and warm. TMPDIR names the disk; figures that don't depend
on one come from a file system in memory.
Also measured: setting an environment with that torch aside, and bringing it back.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "tests" / "e2e"), str(ROOT / "src"), str(Path(__file__).parent)]

from timing import environment_with  # noqa: E402

UV = str(Path(sys.executable).with_name("uv"))


def main(argv: list[str] | None = None) -> int:
    """Measure, and print the figures with the limits that they are meant to keep."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--wheels", type=Path, required=True, metavar="DIR", help="a folder with a CPU wheel of torch")
    parser.add_argument("--runs", type=int, default=5, help="counted runs of each (default 5)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures there")
    parser.add_argument("--stages", action="store_true", help="also show what the parts of our install take")
    options = parser.parse_args(argv)
    with tempfile.TemporaryDirectory() as folder:
        rows = measure(Path(folder), options.wheels, options.runs, stages=options.stages)
    for name, value, limit in rows:
        print(f"{name:<44}{value:>9.2f}   {limit}")
    if options.json:
        options.json.write_text(json.dumps([list(row) for row in rows], indent=1) + "\n", encoding="utf-8")
    return 0


def measure(folder: Path, wheels: Path, runs: int, *, stages: bool = False) -> list[tuple[str, float, str]]:
    """Return name, value and limit of each figure."""
    from world import MACHINES, TAG, World

    from replica import StubWheel

    wheel = next(wheels.glob(f"torch-*+cpu-{TAG}-*.whl"))
    version = wheel.name.split("-")[1]
    world = World(folder)
    real = StubWheel("torch", version, python=TAG, platform=wheel.stem.split("-")[-1])
    real.__dict__["content"] = wheel.read_bytes()
    projects = world.replica._variants["cpu"]["torch"]
    projects[:] = [other for other in projects if other.version != version]
    world.replica.add_wheel("cpu", real)
    links = _dependencies(folder, wheels, version)
    env = {**_plain(), **world.environ, "UV_FIND_LINKS": str(links)}
    del env["TORCHINSTALL_INDEX_DATA"]
    tool = environment_with(folder, "tool", [str(_checkout(folder, world.data))]) / "torchinstall"
    ours = [str(tool), f"torch=={version}", "--cpu", "--no-verify", "-q"]
    ours += ["--sysroot", str(MACHINES / "cpu-only")]
    bare = [UV, "pip", "install", "-q", f"torch=={version}", "--index", world.replica.url("cpu")]
    bare += ["--index-strategy", "unsafe-best-match"]
    seconds: dict[str, list[float]] = {"cold ours": [], "cold uv": [], "warm ours": [], "warm uv": []}
    try:
        for number in range(runs):
            for kind in ("cold", "warm"):
                # Who comes first alternates: what a run leaves to be written to the disk is the next one's burden.
                sides = [("uv", bare), ("ours", ours)]
                for name, argv in sides if number % 2 else sides[::-1]:
                    cache = folder / f"cache-{name}"
                    if kind == "cold":
                        shutil.rmtree(cache, ignore_errors=True)
                    seconds[f"{kind} {name}"].append(_install(folder, argv, {**env, "UV_CACHE_DIR": str(cache)}))
        aside, back = _snapshot(folder)
        if stages:
            cache = folder / "cache-ours"
            for kind in ("cold", "warm"):
                if kind == "cold":
                    shutil.rmtree(cache, ignore_errors=True)
                print(f"{kind}:", file=sys.stderr)
                told = [str(tool.with_name("python")), str(Path(__file__).with_name("stages.py")), *ours[1:]]
                _install(folder, told, {**env, "UV_CACHE_DIR": str(cache)})
    finally:
        world.close()
    best = {name: min(values) for name, values in seconds.items()}
    middle = {name: statistics.median(values) for name, values in seconds.items()}
    rows = [(f"{name}, seconds, median of {runs}", value, "") for name, value in middle.items()]
    rows.append(("cold: ours / bare uv (best)", best["cold ours"] / best["cold uv"], ""))
    rows.append(("cold: ours / bare uv (median)", middle["cold ours"] / middle["cold uv"], "at most 1.15"))
    rows.append(("warm: ours - bare uv, ms (best)", 1000 * (best["warm ours"] - best["warm uv"]), ""))
    rows.append(("warm: ours - bare uv, ms (median)", 1000 * (middle["warm ours"] - middle["warm uv"]), "at most 400"))
    rows.append(("setting aside, seconds", aside, ""))
    rows.append(("bringing back, seconds", back, "both at most 3"))
    return rows


def _checkout(folder: Path, data: Path) -> Path:
    """Copy what the wheel is built from, with data that name the replica: built in, they are read as a user's are."""
    copy = folder / "checkout"
    copy.mkdir()
    for name in ("src", "scripts"):
        shutil.copytree(ROOT / name, copy / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, copy / name)
    shutil.copytree(data, copy / "index_data")
    return copy


def _plain() -> dict[str, str]:
    """Return the environment without settings of uv, pip or ours."""
    kept = {name: v for name, v in os.environ.items() if not name.startswith(("UV_", "PIP_", "TORCHINSTALL_"))}
    kept.pop("VIRTUAL_ENV", None)
    return {**kept, "UV_NO_CONFIG": "1", "PIP_CONFIG_FILE": os.devnull}


def _dependencies(folder: Path, wheels: Path, version: str) -> Path:
    """Fetch what torch needs into a folder of wheels."""
    links = folder / "links"
    words = [sys.executable, "-m", "pip", "download", "-q", "--only-binary", ":all:", "--find-links", str(wheels)]
    subprocess.run([*words, "-d", str(links), f"torch=={version}"], check=True)
    for path in links.glob("torch-*"):
        path.unlink()
    return links


def _install(folder: Path, argv: list[str], env: dict[str, str]) -> float:
    venv = folder / "measured"
    shutil.rmtree(venv, ignore_errors=True)
    subprocess.run([UV, "venv", "-q", "--python", sys.executable, venv], check=True)
    where = ["--python", str(venv)] if argv[0] == UV else ["--venv", str(venv)]
    if hasattr(os, "sync"):
        os.sync()  # what the run before left to be written isn't this one's
    begun = time.perf_counter()
    subprocess.run([*argv, *where], check=True, env=env, cwd=folder, stdout=subprocess.DEVNULL)
    return time.perf_counter() - begun


def _snapshot(folder: Path) -> tuple[float, float]:
    """Set the last environment aside and bring it back after its torch was removed."""
    from torchinstall.install.snapshot import Snapshot

    venv = folder / "measured"
    site = next(venv.glob("lib/python*/site-packages"))
    begun = time.perf_counter()
    snapshot = Snapshot.take(venv, [site, venv / "bin"])
    aside = time.perf_counter() - begun
    shutil.rmtree(site / "torch")
    begun = time.perf_counter()
    snapshot.restore()
    return aside, time.perf_counter() - begun


if __name__ == "__main__":
    sys.exit(main())
