#!/usr/bin/env python3
"""What a refresh of the catalogue costs: requests, bytes and seconds, against a stocked replica of the indexes.

usage: scripts/bench/refresh.py [--live] [--json FILE]

The replica holds every wheel that the shipped rows know (stubs of a few kilobytes), so that pages have their real
length. With --live two wheels of the configured default index are read into as well, and nothing is written.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "src")]
_OWN = ("PIP_", "UV_", "TORCHINSTALL_")


def main(argv: list[str] | None = None) -> int:
    """Measure, and print one line a case."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--live", action="store_true", help="also read into two wheels of the default index")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures there")
    options = parser.parse_args(argv)
    rows = [*replica(), *(_live() if options.live else [])]
    print(f"{'case':<44}{'requests':>9}{'MB':>10}{'share':>9}{'seconds':>9}")
    for row in rows:
        share = f"{row['share']:.2%}" if "share" in row else ""
        print(f"{row['case']:<44}{row['requests']:>9}{row['bytes'] / 1e6:>10.2f}{share:>9}{row['seconds']:>9.2f}")
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
    return 0


def replica() -> list[dict[str, object]]:
    from catalog.stock import Desk

    kept = dict(os.environ)
    for name in [name for name in os.environ if name.startswith(_OWN)]:
        del os.environ[name]
    os.environ |= {"PIP_CONFIG_FILE": os.devnull, "UV_NO_CONFIG": "1"}
    rows: list[dict[str, object]] = []
    with tempfile.TemporaryDirectory() as folder:
        desk = Desk(Path(folder))
        try:
            for case in ("full refresh, nothing kept", "refresh with nothing new"):
                begun = time.perf_counter()
                found = desk.json("catalog", "refresh")
                seconds = time.perf_counter() - begun
                rows.append(
                    {"case": case, "requests": found["requests"], "bytes": found["transferred"], "seconds": seconds}
                )
        finally:
            desk.close()
            os.environ.clear()
            os.environ.update(kept)
    return rows


def _live() -> list[dict[str, object]]:
    from torchinstall.app.base import App
    from torchinstall.index.default import default_index
    from torchinstall.index.measure import measure
    from torchinstall.index.simple import read_simple
    from torchinstall.install.settings import read_settings

    app = App(os.environ, Path.cwd())
    settings = read_settings(os.environ, cwd=Path.cwd())
    client = app.client(cert=settings.cert)
    newest = app.catalog.releases[0].torch
    index = settings.default_index or default_index()
    wheels = read_simple(index, "torch", session=client, limit_s=30).wheels
    rows: list[dict[str, object]] = []
    for arch in ("x86_64", "aarch64"):
        wheel = next(w for w in wheels if w.version == newest and "cp312" in w.abi and w.platform[0].endswith(arch))
        for what, code in (("tables", False), ("GPU code", True)):
            begun = time.perf_counter()
            found = measure(wheel, session=client, code=code)
            rows.append(
                {
                    "case": f"torch {newest} {arch}, {what}", "requests": found.requests, "bytes": found.transferred,
                    "share": found.transferred / found.size, "seconds": time.perf_counter() - begun,
                }
            )  # fmt: skip
    return rows


if __name__ == "__main__":
    sys.exit(main())
