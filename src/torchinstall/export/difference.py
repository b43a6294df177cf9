"""Whether a file says what a plan says. Pure."""

from __future__ import annotations

import difflib


def difference(was: str, should: str, *, name: str) -> tuple[str, ...]:
    """Return the lines of a unified diff, none where both say the same; comments and blank lines say nothing."""
    if said(was) == said(should):
        return ()
    lines = difflib.unified_diff(
        was.splitlines(), should.splitlines(), f"{name} (as it is)", f"{name} (as it should be)", n=1, lineterm=""
    )
    return tuple(lines)


def said(text: str) -> list[str]:
    """Return the lines that mean something, without the space around them."""
    lines = (line.strip() for line in text.splitlines())
    return [line for line in lines if line and not line.startswith("#")]
