#!/usr/bin/env python3
"""Measures torchinstall beside its rivals in one go, and prints a table of ratios.

usage: scripts/bench/run.py [--runs N] [--only PART,...] [--rivals] [--online] [--wheels DIR] [--batch N,...]
                            [--json FILE] [--with FILE] [--pages] [--keep DIR]

Every case is a whole process. Cases are interleaved (A B C A B C ...), so that a machine whose speed drifts drifts
for all of them, and the unit is `python -I -c pass` of the very same interpreter: quote ratios, not milliseconds.
torchinstall is installed from this checkout into an environment of its own, with byte code, and started by its
console script. Parts: cases, batch, install, refresh; all unless --only names some.

--rivals installs other tools from the configured index, each into an environment of its own, and asks them the same
question where they can answer it without a network. --online adds uv's own dry run over the network, and ours.
--wheels DIR, a folder with a CPU wheel of torch for this Python, adds what needs a real torch: verify against a plain
import, install against bare uv, the scan. --pages renews docs/benchmark.md, its plot and the README's table.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import platform
import shutil
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from batch import batches
from cases import LIMITS, cases
from report import lines, write_pages
from timing import Case, clean_environment, measure

NEEDED = ("uv", "packaging", "requests", "pypi_simple", "filelock")
PARTS = ("cases", "batch", "install", "refresh")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=15, help="counted runs of each case (default 15)")
    parser.add_argument("--only", default=",".join(PARTS), help="parts: cases, batch, install, refresh")
    parser.add_argument("--rivals", action="store_true", help="also install and time other tools")
    parser.add_argument("--online", action="store_true", help="also time uv's dry run over the network, and ours")
    parser.add_argument("--wheels", type=Path, metavar="DIR", help="a folder with a CPU wheel of torch")
    parser.add_argument("--batch", default="1000,10000,100000", help="numbers of machine lines")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the results there")
    parser.add_argument("--with", type=Path, dest="others", metavar="FILE", help="results that have the other parts")
    parser.add_argument("--pages", action="store_true", help="renew docs/benchmark.md, its plot and the README's table")
    parser.add_argument("--keep", type=Path, metavar="DIR", help="work in this folder and leave it")
    options = parser.parse_args()
    if missing := [name for name in NEEDED if importlib.util.find_spec(name) is None]:
        print(f"error: this Python has no {', '.join(missing)}; it needs what torchinstall needs:", file=sys.stderr)
        print("  python3 -m venv .venv && .venv/bin/pip install --editable .", file=sys.stderr)
        print("  .venv/bin/python scripts/bench/run.py ...", file=sys.stderr)
        return 2
    folder = (options.keep or Path(tempfile.mkdtemp(prefix="torchinstall-bench-"))).absolute()
    folder.mkdir(parents=True, exist_ok=True)
    try:
        results = run(folder, options)
    finally:
        if not options.keep:
            shutil.rmtree(folder, ignore_errors=True)
    if options.others:
        results = with_others(results, json.loads(options.others.read_text("utf-8")))
    print("\n".join(lines(results)))
    if options.json:
        options.json.write_text(json.dumps(results, indent=1) + "\n", "utf-8")
    if options.pages:
        write_pages(results)
    return 0


def run(folder: Path, options: argparse.Namespace) -> dict[str, object]:
    """Measure what was asked for, and return it all as one document."""
    parts = options.only.split(",")
    environ = clean_environment(folder)
    wheels = options.wheels.absolute() if options.wheels else None
    load = os.getloadavg()[0]
    found = cases(folder, rivals=options.rivals, online=options.online, wheels=wheels) if "cases" in parts else []
    measure(found, options.runs, folder, environ)
    unit = found[0].median if found else 0.0
    counts = tuple(int(word) for word in options.batch.split(",") if word)
    return {
        "date": time.strftime("%Y-%m-%d"),
        "python": platform.python_version(),
        "cpus": os.cpu_count(),
        "processor": processor(),
        "load": load,
        "runs": options.runs,
        "unit_ms": unit * 1000,
        "cases": [row(case, unit) for case in found],
        "batch": batches(folder, environ, counts) if "batch" in parts else [],
        "install": install(folder, wheels) if "install" in parts and wheels else [],
        "refresh": refresh() if "refresh" in parts else [],
    }


def with_others(results: dict[str, object], others: dict[str, object]) -> dict[str, object]:
    """Return results with the parts of another run that this one hasn't measured; the head is that of the cases."""
    if not results["cases"]:
        return {**others, **{part: results[part] for part in PARTS if results[part]}}
    return {**results, **{part: others[part] for part in PARTS if not results[part]}}


def row(case: Case, unit: float) -> dict[str, object]:
    return {
        "name": case.name,
        "ours": Path(case.argv[0]).stem == "torchinstall",
        "ratio": case.median / unit,
        "limit": LIMITS.get(case.name),
        "median_ms": case.median * 1000,
        "min_ms": min(case.seconds) * 1000,
        "runs": len(case.seconds),
        "failed": f"exit {case.code}: {case.said}" if case.failed else "",
    }


def install(folder: Path, wheels: Path) -> list[tuple[str, float, str]]:
    """Measure our whole install against bare uv, see install.py."""
    from install import measure as measure_install

    place = folder / "install"
    place.mkdir(exist_ok=True)
    return measure_install(place, wheels, 5)


def refresh() -> list[dict[str, object]]:
    """Measure what a refresh of the catalogue costs, see refresh.py."""
    from refresh import replica

    return replica()


def processor() -> str:
    """Return the name of the processor, as far as the system tells it."""
    try:
        text = Path("/proc/cpuinfo").read_text("utf-8")
    except OSError:
        return platform.processor() or platform.machine()
    names = [line.partition(":")[2].strip() for line in text.splitlines() if line.startswith("model name")]
    return names[0] if names else platform.machine()


if __name__ == "__main__":
    sys.exit(main())
