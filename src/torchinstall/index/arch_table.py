"""The table of GPU architectures in ``torch/cuda/__init__.py`` (torch 2.11 and later), read without running it.

It says for what the CUDA builds of a release are compiled, not which of them
were published: that of 2.15.0 lists CUDA 12.6 and 13.4, which have no wheels.
"""

from __future__ import annotations

import ast

NAME = "PYTORCH_RELEASES_CODE_CC"
_HOSTS = {"x86_64": "linux_x86_64", "aarch64": "linux_aarch64"}

TYPE_CHECKING = False
if TYPE_CHECKING:
    Row = tuple[str, str, tuple[int, ...]]


def read_table(source: str) -> tuple[Row, ...]:
    """Return (CUDA version, platform, architectures) a row; the platform is ``""`` where the table names none.

    Nothing where there is no such table, or where it has another form.
    """
    literal = _assigned(source)
    try:
        table = ast.literal_eval(literal) if literal is not None else None
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return ()
    if not isinstance(table, dict):
        return ()
    rows: list[Row] = []
    for cuda, value in table.items():
        by_host = value if isinstance(value, dict) else {"": value}
        for host, archs in by_host.items():
            if isinstance(cuda, str) and host in {"", *_HOSTS} and _are_numbers(archs):
                rows.append((cuda, _HOSTS.get(host, ""), tuple(sorted(archs))))
    return tuple(rows)


def _assigned(source: str) -> ast.expr | None:
    """Return the expression that the module assigns to the table's name."""
    if NAME not in source:
        return None
    try:
        module = ast.parse(source)
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        return None
    for node in module.body:
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.target.id == NAME:
            return node.value
        if isinstance(node, ast.Assign) and any(isinstance(t, ast.Name) and t.id == NAME for t in node.targets):
            return node.value
    return None


def _are_numbers(archs: object) -> bool:
    return isinstance(archs, (set, list, tuple)) and bool(archs) and all(type(item) is int for item in archs)
