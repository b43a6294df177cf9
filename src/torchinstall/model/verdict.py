"""The outcome of a verification."""

from __future__ import annotations

from torchinstall.model.value import EMPTY, Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

PROVED = "proved"
FAILED = "failed"
UNPROVEN = "unproven"


class Step(Value):
    """One step of the check. ``state``: ok, failed, skipped or crashed; ``seconds`` as measured in the child."""

    name: str
    state: str
    detail: str = ""
    device: str | None = None
    seconds: float | None = None


class Verdict(Value):
    """What was proved. ``outcome``: proved, failed (another wheel could cure it) or unproven (the cause is outside).

    ``cause`` is a short name, ``text`` the sentence for people, ``todo`` the next steps.
    """

    outcome: str
    cause: str = ""
    step: str = ""
    text: str = ""
    todo: tuple[str, ...] = ()
    torch: str | None = None
    variant: str | None = None
    backend: str | None = None
    devices: tuple[str, ...] = ()
    steps: tuple[Step, ...] = ()
    versions: Mapping[str, str] = EMPTY
    warnings: tuple[str, ...] = ()
    tail: str = ""
