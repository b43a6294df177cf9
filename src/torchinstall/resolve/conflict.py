"""Wishes that can't be had together: a smallest set of them, found by leaving one away after the other.

resolvelib's causes name every pair that met on the way; what a person needs is the set from which nothing
can be left out.
"""

from __future__ import annotations

from torchinstall.model.plan import Reason
from torchinstall.model.sentences import reason
from torchinstall.model.value import Value
from torchinstall.resolve.decision import Decision, Question, decide
from torchinstall.resolve.joint import TORCH

TYPE_CHECKING = False
if TYPE_CHECKING:
    from torchinstall.model.request import Request, Wish

_MOST_WISHES = 40
"""Each wish costs a decision; a file with more of them about the torch family is told by its first ones."""


class Item(Value):
    """One thing that could be left away: what a wish says of the version, or that a companion is wanted at all."""

    wish: Wish
    constraint: bool = False
    whole: bool = False

    @property
    def words(self) -> str:
        """Return how it is named to the user."""
        if self.whole:
            return self.wish.name
        return f"{self.wish.text} (from {self.wish.origin})"


def conflict(question: Question, decision: Decision) -> Reason | None:
    """Return the smallest set of wishes that nothing satisfies together; ``None`` where no two of them clash."""
    if decision.solution is not None or decision.undetermined or decision.selection.blocked is not None:
        return None
    items = _items(question.request)[:_MOST_WISHES]
    if len(items) < 2:  # noqa: PLR2004 - two make a conflict
        return None
    left: list[Item] = []
    for number, item in enumerate(items):
        rest = [*left, *items[number + 1 :]]
        if decide(question.replace(request=_only(question.request, rest))).solution is not None:
            left.append(item)
    if len(left) < 2:  # noqa: PLR2004 - one wish that the machine can't fulfil is no conflict
        return None
    return reason("conflict", wishes="; ".join(item.words for item in left))


def _items(request: Request) -> list[Item]:
    wanted = [Item(wish=wish) for wish in request.wishes if wish.specifier]
    bound = [Item(wish=wish, constraint=True) for wish in request.constraints if wish.specifier]
    names = [Item(wish=wish, whole=True) for wish in request.wishes if wish.name != TORCH]
    # Constraints are the last to be dropped: of two that say the same, what was typed is what one remembers.
    return [*names, *wanted, *bound]


def _only(request: Request, items: list[Item]) -> Request:
    """Return the request with only these of its demands; a wish for a companion goes with its version."""
    wishes = []
    for wish in request.wishes:
        said = any(item.wish is wish and not item.whole and not item.constraint for item in items)
        named = wish.name == TORCH or any(item.wish is wish and item.whole for item in items)
        if named or said:
            wishes.append(wish if said else wish.replace(specifier=""))
    constraints = tuple(
        wish for wish in request.constraints if any(item.wish is wish and item.constraint for item in items)
    )
    return request.replace(wishes=tuple(wishes), constraints=constraints)
