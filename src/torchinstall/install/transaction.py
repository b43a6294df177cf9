"""Install as one step: set aside, change, prove; keep the new state or bring exactly the old one back."""

from __future__ import annotations

import contextlib
import shutil
from pathlib import Path

from torchinstall.errors import InstallError, TargetError
from torchinstall.install.backend import Change, Job
from torchinstall.install.preflight import Space, check_space, check_target, target_paths
from torchinstall.install.process import terminations_as_interrupts, uninterrupted
from torchinstall.install.snapshot import OPEN, STATE_DIR, Snapshot
from torchinstall.model.value import Value
from torchinstall.model.verdict import FAILED, Verdict

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from torchinstall.install.backend import Installer
    from torchinstall.install.target import Target


class _LockedError(TargetError):
    """Another run has the environment: nothing in it is ours to clear away."""


class Outcome(Value):
    """How an installation ended. ``restored``: it failed its proof, and the environment is as it was.

    ``recovered``: an earlier run had been stopped in the middle, and its changes were undone first.
    """

    verdict: Verdict
    changes: tuple[Change, ...] = ()
    restored: bool = False
    recovered: bool = False


def install(
    job: Job,
    installer: Installer,
    *,
    verify: Callable[[], Verdict],
    environ: Mapping[str, str],
    keep: bool = False,
    space: Space | None = None,
    keep_previous: bool = True,
) -> Outcome:
    """Install a plan and prove it; the environment is as it was unless that succeeds.

    A verdict of ``failed`` restores (unless ``keep``); ``unproven`` stays. Any exception, interrupt or
    SIGTERM restores, and goes on. ``keep_previous`` leaves the former state for ``restore_previous``; an
    image build has no use for it. Raises ``TargetError`` where the target can't be changed or another run
    has it, and what the installer raises.
    """
    target = job.target
    try:
        check_target(target)
        check_space(target, space or Space(), environ)
        with locked(target), terminations_as_interrupts():
            recovered = _recover(target)
            outcome = _install(job, installer, verify, keep, keep_previous)
    except _LockedError:
        raise
    except BaseException:
        if target.created:
            _remove_created(target)
        raise
    if outcome.restored and target.created:
        _remove_created(target)
    return outcome.replace(recovered=recovered)


def restore_previous(target: Target) -> bool:
    """Undo the last installation in an environment; tell whether there was one that could be undone."""
    prefix = _prefix(target)
    if Snapshot.open(prefix) is None:
        return False
    check_target(target)
    with locked(target):
        snapshot = Snapshot.open(prefix)
        if snapshot is None or snapshot.created:
            # An environment that our run made has no former state; whoever wants it gone removes it.
            return False
        with uninterrupted():
            snapshot.restore()
            snapshot.discard()
        return True


@contextlib.contextmanager
def locked(target: Target) -> Iterator[None]:
    """Hold the environment's lock. Raises ``TargetError`` at once where another run holds it."""
    from filelock import FileLock, Timeout

    path = _prefix(target) / STATE_DIR / "lock"
    try:
        path.parent.mkdir(exist_ok=True)
        lock = FileLock(path, timeout=0)
        lock.acquire()
    except Timeout:
        raise _LockedError(
            f"{target.prefix} is locked by another run",
            why="two installations into one environment would spoil each other",
            todo=["wait until the other torchinstall has ended", "or use another environment: --venv DIR"],
        ) from None
    except OSError as error:
        raise TargetError(
            f"{path} can't be written",
            why=error.strerror or str(error),
            todo=["--venv DIR uses an environment of your own"],
        ) from error
    try:
        yield
    finally:
        # The lock file goes while it is still held: a run that opens it later makes a new one.
        _tidy(path.parent, lock_path=path)
        lock.release()
        _tidy(path.parent, lock_path=path)


def _install(job: Job, installer: Installer, verify: Callable[[], Verdict], keep: bool, keep_previous: bool) -> Outcome:
    target = job.target
    snapshot = Snapshot.take(_prefix(target), target_paths(target), created=target.created)
    try:
        changes = installer.install(job)
        verdict = verify()
    except BaseException:
        _undo(snapshot)
        raise
    if verdict.outcome == FAILED and not keep:
        _undo(snapshot)
        return Outcome(verdict=verdict, changes=changes, restored=True)
    if keep_previous and not snapshot.created:
        snapshot.commit()
    else:
        snapshot.discard()
    return Outcome(verdict=verdict, changes=changes)


def _undo(snapshot: Snapshot) -> None:
    if snapshot.created:
        return  # removed whole by the caller, after the lock in it is released
    with uninterrupted():
        snapshot.restore()
        snapshot.discard()


def _recover(target: Target) -> bool:
    """Undo what a run left behind that was killed in the middle; its snapshot is still open."""
    snapshot = Snapshot.open(_prefix(target))
    if snapshot is None or snapshot.state != OPEN or snapshot.created:
        return False
    with uninterrupted():
        snapshot.restore()
        snapshot.discard()
    return True


def _remove_created(target: Target) -> None:
    with uninterrupted():
        shutil.rmtree(_prefix(target), ignore_errors=True)


def _tidy(folder: Path, *, lock_path: Path) -> None:
    """Leave nothing of ours in the environment but a committed snapshot."""
    with contextlib.suppress(OSError):
        lock_path.unlink(missing_ok=True)
    with contextlib.suppress(OSError):
        folder.rmdir()  # stays where a snapshot is in it


def _prefix(target: Target) -> Path:
    if target.prefix is None:
        raise InstallError(
            "the prefix of the target environment isn't known",
            why=f"{target.python} was not asked for it",
            todo=["report this: a fact of the interpreter was left out"],
        )
    return Path(target.prefix)
