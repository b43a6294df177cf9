"""Which changes of an API lie between what is installed and the target."""

from __future__ import annotations

from torchinstall.model.advice import Change, Migration
from torchinstall.model.value import Value
from torchinstall.model.version import at_least

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

ALWAYS = "0"


class Active(Value):
    """A rule of the scan with the change that applies."""

    rule: Migration
    change: Change


def active(
    migrations: Iterable[Migration], *, installed: str | None, to: str, python: str | None = None
) -> tuple[Active, ...]:
    """Return the rules that have something to say on the way from ``installed`` to ``to``.

    With nothing known to be installed, every change up to the target counts. ``python`` is the target's,
    such as 3.14; rules for newer Pythons need it to be known.
    """
    found = []
    for rule in migrations:
        if rule.python_from and not (python and at_least(python, rule.python_from)):
            continue
        change = _last(rule.changes, installed, to)
        if change is not None:
            found.append(Active(rule=rule, change=change))
    return tuple(found)


def _last(changes: tuple[Change, ...], installed: str | None, to: str) -> Change | None:
    last = None
    for change in changes:
        reached = change.since == ALWAYS or at_least(to, change.since)
        new = change.since == ALWAYS or installed is None or not at_least(installed, change.since)
        over = change.until is not None and at_least(to, change.until)
        if reached and new and not over and (last is None or at_least(change.since, last.since)):
            last = change
    return last
