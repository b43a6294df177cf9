"""The answer to "why this, why not that": a verdict, the rules that decide, and ways that were checked."""

from __future__ import annotations

from torchinstall.model.plan import Alternative, Need, Reason
from torchinstall.model.value import Value


class Explanation(Value):
    """What can be said of one variant or version on one machine.

    ``torch`` and ``variant`` are the very build meant, as far as one is; ``why`` the rules that decide, the
    decisive one first; ``chosen`` what would be taken without the wish; ``ways`` each found by deciding
    again with that one thing changed; ``notes`` what the release itself has to be told about.
    """

    what: str
    possible: bool
    verdict: Reason
    torch: str | None = None
    variant: str | None = None
    why: tuple[Reason, ...] = ()
    needs: tuple[Need, ...] = ()
    chosen: tuple[str, str] | None = None
    ways: tuple[Alternative, ...] = ()
    notes: tuple[str, ...] = ()
    date: str = ""
    exit_code: int = 0
