#!/usr/bin/env python3
"""Bring the files of index_data/ into their canonical form: one row a line, keys sorted.

A diff of the data then shows facts, never layout. With ``--check`` nothing is
written; files that are not in the canonical form are named, and the exit code is 1.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent / "index_data"


def canonical(document: Any) -> str:
    """Return the canonical text of one data file."""
    return _block(document, 0) + "\n"


def _block(item: Any, depth: int) -> str:
    pad, close = " " * (depth + 1), " " * depth
    if isinstance(item, dict) and item and (depth == 0 or _has_rows(item)):
        parts = (
            f"{pad}{json.dumps(key)}: {_block(item[key], depth + 1)}"
            for key in sorted(item, key=lambda k: _order(item, k))
        )
        return "{\n" + ",\n".join(parts) + f"\n{close}}}"
    if isinstance(item, dict) and item and depth == 1:
        # A table of texts, such as "sources": one entry a line.
        parts = (f"{pad}{json.dumps(key)}: {_line(item[key])}" for key in sorted(item))
        return "{\n" + ",\n".join(parts) + f"\n{close}}}"
    if isinstance(item, list) and any(isinstance(entry, dict) for entry in item):
        return "[\n" + ",\n".join(pad + _block(entry, depth + 1) for entry in item) + f"\n{close}]"
    return _line(item)


def _line(item: Any) -> str:
    return json.dumps(item, ensure_ascii=False, sort_keys=True)


def _has_rows(item: dict[str, Any]) -> bool:
    return any(isinstance(value, list) and any(isinstance(e, dict) for e in value) for value in item.values())


def _order(item: dict[str, Any], key: str) -> tuple[bool, bool, str]:
    """Plain fields first, then tables, then lists of rows."""
    value = item[key]
    rows = isinstance(value, list) and any(isinstance(entry, dict) for entry in value)
    return rows, isinstance(value, dict), key


def data_files(root: Path) -> list[Path]:
    """Return the data files under ``root``; the schemas have a layout of their own."""
    return sorted(path for path in root.rglob("*.json") if "schema" not in path.relative_to(root).parts)


def main(argv: list[str] | None = None) -> int:
    """Format, or with ``--check`` compare; the exit code is 0 when all files were in order."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 if a file would change")
    parser.add_argument("--root", type=Path, default=ROOT, help="the folder to format")
    options = parser.parse_args(argv)
    changed = []
    for path in data_files(options.root):
        text = path.read_text(encoding="utf-8")
        wanted = canonical(json.loads(text))
        if text != wanted:
            changed.append(path.relative_to(options.root))
            if not options.check:
                path.write_text(wanted, encoding="utf-8", newline="\n")
    for path in changed:
        print(f"{'not canonical' if options.check else 'formatted'}: {path}")
    return 1 if changed and options.check else 0


if __name__ == "__main__":
    sys.exit(main())
