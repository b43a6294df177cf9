"""Verify an installed torch: run the check in the target's Python, and judge what it said."""

from __future__ import annotations

from torchinstall.errors import UsageError
from torchinstall.verify.judge import judge
from torchinstall.verify.run import DEFAULT_LIMIT, run_check

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from torchinstall.model.cause import Cause
    from torchinstall.model.verdict import Verdict
    from torchinstall.verify.values import Expect

VARIABLE = "TORCHINSTALL_VERIFY_TIMEOUT"


def verify(
    python: str,
    expect: Expect,
    causes: Sequence[Cause],
    *,
    environ: Mapping[str, str],
    timeout: float | None = None,
) -> Verdict:
    """Run a real kernel on every device that torch sees in the environment of ``python``.

    ``python`` is an absolute path. ``timeout`` in seconds; without one ``TORCHINSTALL_VERIFY_TIMEOUT`` of
    ``environ`` counts, else 120. Takes about three seconds with a CPU build; changes nothing in the
    environment. Raises ``UsageError`` for a limit that isn't a number above 0.
    """
    limit = time_limit(environ) if timeout is None else timeout
    return judge(run_check(python, expect=expect, timeout=limit, environ=environ), expect, causes)


def time_limit(environ: Mapping[str, str]) -> float:
    """Return the limit that the environment sets, in seconds."""
    text = environ.get(VARIABLE, "").strip()
    if not text:
        return DEFAULT_LIMIT
    try:
        limit = float(text)
    except ValueError:
        limit = 0.0
    if not 0 < limit <= 86400:  # noqa: PLR2004 - a day; infinity and NaN are out too
        raise UsageError(
            f"{VARIABLE} is {text!r}",
            why="it must be a number of seconds, above 0",
            todo=[f"set it to {DEFAULT_LIMIT:g}, or unset it"],
        )
    return limit
