"""Which signatures a text shows. The text alone is a first guess; the rules go by the facts."""

from __future__ import annotations

import re

from torchinstall.model.finding import Symptom

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from torchinstall.model.cause import Signature

EXCERPT = 160
"""Characters of a text that are shown as evidence."""


def symptoms(text: str, signatures: Sequence[Signature]) -> tuple[Symptom, ...]:
    """Return the signatures that stand in ``text``, in the order of the table, each once."""
    if not text.strip():
        return ()
    found = []
    for signature in signatures:
        match = re.search(signature.pattern, text, re.IGNORECASE)
        if match is not None:
            groups = tuple((name, value) for name, value in match.groupdict().items() if value)
            found.append(Symptom(signature=signature, text=excerpt(text, match), groups=groups))
    return tuple(found)


def excerpt(text: str, match: re.Match[str]) -> str:
    """Return the line of a match, cut round it."""
    begin = text.rfind("\n", 0, match.start()) + 1
    stop = text.find("\n", match.end())
    end = len(text) if stop < 0 else stop
    if end - begin > EXCERPT:
        begin = max(begin, match.start() - 40)
        end = min(end, begin + EXCERPT)
    return text[begin:end].strip()
