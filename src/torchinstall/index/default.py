"""The index that pip and uv ask where nobody has configured another."""

from __future__ import annotations

import ast
import sys
from importlib.machinery import PathFinder

_PACKAGE = "pypi_simple"
_NAME = "PYPI_SIMPLE_ENDPOINT"


def default_index() -> str:
    """Return the address of the default index, as ``pypi-simple`` has it.

    The constant is read from the source of that package: importing it loads pydantic and Beautiful Soup, which
    takes longer than a whole plan over the network. Where there is no source to read, it is imported.
    """
    return _from_source() or _from_import()


def _from_source() -> str | None:
    if _PACKAGE in sys.modules:
        return None  # nothing is saved any more
    try:
        spec = PathFinder.find_spec(_PACKAGE)
        if spec is None or not spec.origin:
            return None
        with open(spec.origin, encoding="utf-8") as file:  # noqa: PTH123 - pathlib isn't loaded for this
            tree = ast.parse(file.read())
    except (OSError, ValueError, SyntaxError, ImportError):
        return None
    for statement in tree.body:
        targets = statement.targets if isinstance(statement, ast.Assign) else [getattr(statement, "target", None)]
        value = getattr(statement, "value", None)
        if any(isinstance(target, ast.Name) and target.id == _NAME for target in targets):
            return value.value if isinstance(value, ast.Constant) and isinstance(value.value, str) else None
    return None


def _from_import() -> str:
    from pypi_simple import PYPI_SIMPLE_ENDPOINT

    return str(PYPI_SIMPLE_ENDPOINT)
