"""Verify an installed torch: run the check in the target's Python, and judge what it said."""

from __future__ import annotations

from torchinstall.errors import UsageError
from torchinstall.model.verdict import FAILED, PROVED, Step
from torchinstall.verify.judge import judge
from torchinstall.verify.run import DEFAULT_LIMIT, run_check
from torchinstall.verify.sentences import sentence

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from torchinstall.model.cause import Cause
    from torchinstall.model.verdict import Verdict
    from torchinstall.verify.values import Expect, RawResult

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
    raw = run_check(python, expect=expect, timeout=limit, environ=environ)
    verdict = judge(raw, expect, causes)
    if expect.static and verdict.outcome == PROVED:
        return _with_libraries(verdict, raw, environ)
    return verdict


def _with_libraries(verdict: Verdict, raw: RawResult, environ: Mapping[str, str]) -> Verdict:
    """Add to a proof without a device that every shared library is found: without one nothing has loaded them."""
    from torchinstall.verify.found import read
    from torchinstall.verify.libraries import Libraries

    facts = read(raw).facts
    place = str(facts.get("file") or "")
    if not str(facts.get("system", "")).startswith("linux") or not place:
        return verdict
    site = place.replace("\\", "/").rpartition("/torch/")[0]
    libraries = Libraries(site, environ, {})
    missing = libraries.unresolved()
    if not missing:
        step = Step(name="libraries", state="ok", detail=f"{libraries.count} shared libraries, nothing missing")
        return verdict.replace(steps=(*verdict.steps, step))
    first = missing[0]
    text, todo = sentence("library-missing", {"library": first.library, "needed_by": first.needed_by})
    step = Step(name="libraries", state="failed", detail=f"{first.library} is missing")
    return verdict.replace(
        outcome=FAILED, cause="missing-library", step="libraries", text=text, todo=todo, steps=(*verdict.steps, step)
    )


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
