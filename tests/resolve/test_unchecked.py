"""Values that are made without a look at their fields are the ones that the constructor makes."""

from __future__ import annotations

from torchinstall.model.plan import Reason, Rejection
from torchinstall.model.sentences import ENGLISH, reason


def test_a_reason_is_what_its_constructor_makes() -> None:
    made = reason("yanked", torch="2.6.0")
    plain = Reason(rule="yanked", text=ENGLISH["yanked"].format(torch="2.6.0"), source="", params={"torch": "2.6.0"})
    assert made == plain
    assert list(made.__dict__) == list(plain.__dict__) == list(Reason._fields)
    assert repr(made) == repr(plain)


def test_a_rejection_has_its_fields_in_order() -> None:
    why = reason("yanked", torch="2.6.0")
    made = Rejection.unchecked({"torch": "2.6.0", "variant": "cu126", "reason": why})
    assert made == Rejection(reason=why, variant="cu126", torch="2.6.0")
    assert tuple(made.__dict__) == Rejection._fields
