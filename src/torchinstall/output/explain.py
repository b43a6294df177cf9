"""An explanation as text, and as JSON."""

from __future__ import annotations

from torchinstall.output.language import localized_explanation
from torchinstall.output.lines import BAD, GOOD, NOTE, QUIET, Line, section
from torchinstall.output.text import need_text, said, way_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from torchinstall.model.explanation import Explanation
    from torchinstall.model.plan import Reason


def explanation_lines(explanation: Explanation, *, verbose: bool = False, lang: str = "en") -> list[Line]:
    """Return verdict, rules with their sources, what is chosen instead, and the ways that were checked."""
    explanation = localized_explanation(explanation, lang)
    style = GOOD if explanation.possible else BAD
    lines = section("Yes" if explanation.possible else "No", [explanation.verdict.text], style)
    lines += section("Why", [said(why.text, why.source, verbose=True) for why in explanation.why])
    lines += section("Needs", [need_text(need) for need in explanation.needs if need.met is not True], NOTE)
    lines += section("Mind", explanation.notes, NOTE)
    if explanation.chosen and explanation.chosen != (explanation.torch, explanation.variant):
        lines += section("Chosen", [f"torch {explanation.chosen[0]} ({explanation.chosen[1]})"])
    lines += section("Possible", [way_text(way) for way in explanation.ways])
    if verbose:
        lines += section("Data", [explanation.date], QUIET)
    return lines


def explanation_to_json(explanation: Explanation) -> dict[str, Any]:
    """Return the explanation as a document (schema 1)."""
    chosen = explanation.chosen
    return {
        "schema": 1,
        "what": explanation.what,
        "possible": explanation.possible,
        "torch": explanation.torch,
        "variant": explanation.variant,
        "verdict": _reason(explanation.verdict),
        "why": [_reason(why) for why in explanation.why],
        "needs": [
            {"what": n.what, "minimum": n.minimum, "found": n.found, "met": n.met, "note": n.note}
            for n in explanation.needs
        ],
        "chosen": {"torch": chosen[0], "variant": chosen[1]} if chosen else None,
        "ways": [
            {"torch": way.torch, "variant": way.variant, "if": way.reason.text, "command": way.command}
            for way in explanation.ways
        ],
        "notes": list(explanation.notes),
        "catalog": {"date": explanation.date},
    }


def _reason(why: Reason) -> dict[str, str]:
    return {"rule": why.rule, "text": why.text, "source": why.source}
