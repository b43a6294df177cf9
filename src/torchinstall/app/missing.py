"""What a kept torch requires and an environment lacks: added, as uv and pip would add it."""

from __future__ import annotations

import re
from pathlib import Path

TYPE_CHECKING = False
if TYPE_CHECKING:
    from torchinstall.app.base import Planned
    from torchinstall.install.target import Target
    from torchinstall.model.inspection import Gap

_SHARES = re.compile(r"^\s*include-system-site-packages\s*=\s*true\s*$", re.IGNORECASE | re.MULTILINE)


def missing(planned: Planned, target: Target) -> tuple[Gap, ...]:
    """Return the requirements of the torch family that nothing in a virtual environment of its own meets.

    Elsewhere (system, user and shared environments) a package may come from a folder that isn't looked into.
    """
    from torchinstall.resolve.wishes import markers
    from torchinstall.verify.survey import lacking

    python = planned.machine.python
    roots = [path for path in (python.purelib, python.platlib) if path]
    if not target.exists or target.prefix is None or not roots or not _closed(Path(target.prefix)):
        return ()
    return lacking(roots, markers(planned.machine))


def with_missing(planned: Planned, gaps: tuple[Gap, ...]) -> Planned:
    """Return the plan with these requirements among the other packages; the torch family stays as it is."""
    wanted = tuple(dict.fromkeys(gap.wanted for gap in gaps))
    return planned.replace(plan=planned.plan.replace(others=(*planned.plan.others, *wanted)))


def words(gaps: tuple[Gap, ...]) -> list[str]:
    """Return what is missing, a line each."""
    return [f"{gap.package} {gap.version} requires {gap.wanted}, which isn't installed: it is added" for gap in gaps]


def _closed(prefix: Path) -> bool:
    try:
        return _SHARES.search((prefix / "pyvenv.cfg").read_text("utf-8", "replace")) is None
    except OSError:
        return False
