"""Regular expressions that are compiled when they are first used: start-up is a feature.

Compiling the patterns that a plan never looks at costs more than reading the modules that they stand in.
"""

from __future__ import annotations

import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class _Pattern:
    """Stands in for a compiled pattern; its methods are the compiled one's after the first use."""

    def __init__(self, text: str, flags: int = 0) -> None:
        self._said = text, flags

    def __getattr__(self, name: str) -> Any:
        text, flags = self._said
        found = getattr(re.compile(text, flags), name)
        self.__dict__[name] = found  # the next use doesn't come here
        return found


if TYPE_CHECKING:

    def pattern(text: str, flags: int = 0) -> re.Pattern[str]:
        """Return what ``re.compile`` would return, compiled when it is first used."""

else:
    pattern = _Pattern
