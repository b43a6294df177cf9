"""Whether a file says what a plan says. Pure."""

from __future__ import annotations

import re

from torchinstall.index.location import canonical

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from torchinstall.model.plan import Pin

_PIN = re.compile(r'^[\s"-]*([A-Za-z0-9][\w.-]*)\s*(?:\[[^\]]*\])?\s*(?:==\s*([^\s;,"]+)|@\s*(\S+))', re.MULTILINE)
_WHEEL = re.compile(r"/[^/-]+-([^/-]+)-[^/]+\.whl")


def difference(was: str, should: str, *, name: str) -> tuple[str, ...]:
    """Return the lines of a unified diff, none where both say the same; comments and blank lines say nothing."""
    if said(was) == said(should):
        return ()
    import difflib

    lines = difflib.unified_diff(
        was.splitlines(), should.splitlines(), f"{name} (as it is)", f"{name} (as it should be)", n=1, lineterm=""
    )
    return tuple(lines)


def said(text: str) -> list[str]:
    """Return the lines that mean something, without the space around them."""
    lines = (line.strip() for line in text.splitlines())
    return [line for line in lines if line and not line.startswith("#")]


def pinned(text: str) -> dict[str, str]:
    """Return the versions that a requirements file pins, or the ``pip:`` part of a conda environment, by name.

    A wheel named by its address counts with the version in its name: whether an index was asked or not, the
    file says the same.
    """
    found = {}
    for name, version, address in _PIN.findall("\n".join(said(text))):
        wheel = _WHEEL.search(address)
        if version or wheel:
            found[canonical(name)] = version or wheel[1].replace("%2B", "+").replace("%2b", "+")  # type: ignore[index]
    return found


def holds(text: str, pins: Sequence[Pin]) -> bool:
    """Tell whether a text pins all of these."""
    have = pinned(text)
    return all(have.get(canonical(pin.name)) == pin.version for pin in pins)


def lock_difference(lock: Mapping[str, Any], pins: Sequence[Pin], *, name: str) -> tuple[str, ...]:
    """Return what a lock (pylock.toml, uv.lock) has instead of the pins; what it has beside them is its own affair."""
    rows = lock.get("packages") or lock.get("package") or []
    lines: list[str] = []
    for pin in pins:
        versions = [str(row.get("version")) for row in rows if canonical(str(row.get("name"))) == canonical(pin.name)]
        if pin.version not in versions:
            lines += [f"-{canonical(pin.name)} {version}" for version in dict.fromkeys(versions)]
            lines.append(f"+{canonical(pin.name)} {pin.version}")
    return (f"--- {name} (as it is)", f"+++ {name} (as it should be)", *lines) if lines else ()
