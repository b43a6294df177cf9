"""What a killed run left behind: seen by everybody, undone by the next run.

The open snapshot is the journal. Recovery goes by it alone; what metadata says
of a half-written tree isn't looked at.
"""

from __future__ import annotations

from pathlib import Path

from torchinstall.install.process import uninterrupted
from torchinstall.install.snapshot import OPEN, Snapshot, settle
from torchinstall.install.trees import STATE_DIR
from torchinstall.model.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from torchinstall.install.backend import Job


class LeftBehind(Value):
    """A run that was stopped in the middle. ``began`` in UTC (ISO 8601), ``wanted`` in words; empty if unknown."""

    prefix: str
    began: str = ""
    wanted: str = ""

    def words(self) -> str:
        """Return what happened in one sentence."""
        what = f" of {self.wanted}" if self.wanted else ""
        when = f" begun at {self.began}" if self.began else ""
        return f"an installation{what}{when} was stopped in the middle"


def left_behind(prefix: str | Path) -> LeftBehind | None:
    """Return what a killed run left in an environment, ``None`` where nothing is; changes nothing.

    A run that is still at work looks the same; whoever needs the difference takes the lock
    (``transaction.locked``).
    """
    snapshot = Snapshot.open(Path(prefix))
    if snapshot is None or snapshot.state != OPEN:
        return None
    note = snapshot.note
    return LeftBehind(prefix=str(prefix), began=note.get("began", ""), wanted=note.get("wanted", ""))


def note(job: Job) -> dict[str, str]:
    """Return what the journal says of a job: when it began and what it wanted."""
    from datetime import datetime, timezone

    wanted = ", ".join(f"{pin.name} {pin.version}" for pin in job.plan.packages)
    return {"began": datetime.now(timezone.utc).isoformat(timespec="seconds"), "wanted": wanted}


def recover(prefix: Path) -> bool:
    """Undo what a killed run left; tell whether there was something. The caller holds the lock.

    An environment that the killed run had made becomes the empty one that it was. Raises ``InstallError``
    naming files that can't be brought back; the snapshot then stays for the next try.
    """
    if not (prefix / STATE_DIR).is_dir():
        return False
    snapshot = Snapshot.open(prefix)
    if snapshot is None or snapshot.state != OPEN:
        settle(prefix)
        return False
    with uninterrupted():
        snapshot.restore_files()
        snapshot.discard()
    return True
