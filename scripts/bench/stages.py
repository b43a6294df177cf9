#!/usr/bin/env python3
"""Runs torchinstall in this interpreter and tells what each stage took, inner stages indented below their outer one.

usage: PYTHON scripts/bench/stages.py ARGUMENTS OF TORCHINSTALL

PYTHON is the interpreter of an environment that torchinstall is installed in. The table goes to standard error.
"""

from __future__ import annotations

import functools
import importlib
import sys
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

STAGES = {
    "torchinstall.app.base": ("App.seen", "App.planned", "App.request", "App._look"),
    "torchinstall.index.http": ("load",),
    "torchinstall.app.install": ("_recovered", "_with_what_others_need", "beforehand", "transact"),
    "torchinstall.app.transact": ("needed_space",),
    "torchinstall.install.transaction": (
        "install",
        "_check_whole",
        "write_receipt",
        "Snapshot.take",
        "Snapshot.commit",
    ),
    "torchinstall.install.uv": ("Uv.install", "check_sources", "run"),
}


class Clock:
    """What was measured, in the order in which it began."""

    def __init__(self) -> None:
        self.begun = time.perf_counter()
        self.depth = 0
        self.rows: list[tuple[int, str, float, float]] = []

    def watch(self, module: str) -> None:
        room = importlib.import_module(module)
        for name in STAGES[module]:
            owner_name, _, method = name.rpartition(".")
            owner = getattr(room, owner_name) if owner_name else room
            setattr(
                owner, method, self._timed(f"{module.removeprefix('torchinstall.')}.{name}", getattr(owner, method))
            )

    def _timed(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def timed(*args: Any, **more: Any) -> Any:
            number, began = len(self.rows), time.perf_counter()
            self.rows.append((self.depth, name, began - self.begun, 0.0))
            self.depth += 1
            try:
                return function(*args, **more)
            finally:
                self.depth -= 1
                row = self.rows[number]
                self.rows[number] = (*row[:3], time.perf_counter() - began)

        return timed


def main() -> int:
    """Run the command line, print the table, and return its exit code."""
    clock = Clock()
    from torchinstall.cli.main import main as run

    for module in STAGES:
        clock.watch(module)
    loaded = time.perf_counter() - clock.begun
    try:
        return run(sys.argv[1:])
    finally:
        whole = time.perf_counter() - clock.begun
        print(f"{'begun':>8} {'took, ms':>9}", file=sys.stderr)
        print(f"{0:8.0f} {1000 * loaded:9.1f}  load our own modules", file=sys.stderr)
        for depth, name, began, took in clock.rows:
            print(f"{1000 * began:8.0f} {1000 * took:9.1f}  {'  ' * depth}{name}", file=sys.stderr)
        print(f"{0:8.0f} {1000 * whole:9.1f}  all, without the start and the end of Python", file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main())
