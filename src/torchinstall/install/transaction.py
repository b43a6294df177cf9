"""Install as one step: set aside, change, prove; keep the new state or bring exactly the old one back."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

from torchinstall.errors import InstallError, TargetError
from torchinstall.install.backend import Change, Job
from torchinstall.install.journal import left_behind, note, recover
from torchinstall.install.preflight import Space, check_space, check_target, target_paths
from torchinstall.install.process import terminations_as_interrupts, uninterrupted
from torchinstall.install.receipt import write_receipt
from torchinstall.install.records import damaged
from torchinstall.install.snapshot import Snapshot
from torchinstall.install.target import remove_made
from torchinstall.install.trees import STATE_DIR
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
    with terminations_as_interrupts():
        try:
            check_target(target)
            check_space(target, space or Space(), environ)
            with locked(target) as held:
                recovered = recover(_prefix(target))
                outcome = _install(job.replace(held=held), installer, verify, keep, keep_previous)
        except _LockedError:
            raise
        except BaseException:
            if target.created:
                remove_created(target)
            raise
        if outcome.restored and target.created:
            remove_created(target)
    return outcome.replace(recovered=recovered)


def recover_target(target: Target) -> bool:
    """Undo what a killed run left in an environment; tell whether there was something.

    Raises ``TargetError`` where that run (or its installer) is still at work, or the environment can't be
    written.
    """
    prefix = _prefix(target)
    if left_behind(prefix) is None:
        return False
    with locked(target):
        return recover(prefix)


def restore_previous(target: Target) -> bool:
    """Undo the last installation in an environment; tell whether there was one that could be undone."""
    prefix = _prefix(target)
    if Snapshot.open(prefix) is None:
        return False
    check_target(target)
    with locked(target), terminations_as_interrupts():
        snapshot = Snapshot.open(prefix)
        if snapshot is None or snapshot.created:
            # An environment that our run made has no former state; whoever wants it gone removes it.
            return False
        with uninterrupted():
            snapshot.restore()
            snapshot.discard()
        return True


@contextlib.contextmanager
def locked(target: Target) -> Iterator[tuple[int, ...]]:
    """Hold the environment's lock. Raises ``TargetError`` at once where another run holds it.

    Yields descriptors for the installer to inherit: with them the lock outlives a killed run for as long as
    its installer goes on writing.
    """
    from filelock import FileLock, Timeout

    folder = _prefix(target) / STATE_DIR
    path = folder / "lock"
    try:
        folder.mkdir(exist_ok=True)
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
    held: tuple[int, ...] = ()
    try:
        held = _hold(folder / "busy", target)
        yield held
    finally:
        # The files go while they are still held: a run that opens them later makes new ones.
        _tidy(folder, (path, folder / "busy") if held or os.name == "nt" else (path,))
        for descriptor in held:
            os.close(descriptor)
        lock.release()
        _tidy(folder, (path,))


def _hold(path: Path, target: Target) -> tuple[int, ...]:
    """Lock a second file whose descriptor children may inherit; filelock's own is none of theirs."""
    if os.name != "posix":
        return ()
    import fcntl

    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        raise _LockedError(
            f"{target.prefix} is locked: the installer of a run that was killed is still at work",
            why="two installations into one environment would spoil each other",
            todo=["wait until it has ended (uv or pip in the list of processes), then try again"],
        ) from None
    except OSError:  # a file system without locks
        os.close(descriptor)
        return ()
    return (descriptor,)


def _install(job: Job, installer: Installer, verify: Callable[[], Verdict], keep: bool, keep_previous: bool) -> Outcome:
    target = job.target
    prefix = _prefix(target)
    changes: tuple[Change, ...] = ()
    snapshot: Snapshot | None = None
    try:
        snapshot = Snapshot.take(prefix, target_paths(target), created=target.created, note=note(job))
        changes = installer.install(job)
        _check_whole(job, installer.name)
        verdict = verify()
        if verdict.outcome != FAILED or keep:
            write_receipt(job, installer.name, changes)
            if keep_previous and not snapshot.created:
                snapshot.commit()
            else:
                snapshot.discard(former=False)
            return Outcome(verdict=verdict, changes=changes)
    except BaseException as error:
        if snapshot is not None:
            _undo(snapshot)
        if isinstance(error, OSError):
            raise TargetError(
                f"the environment {prefix} couldn't be finished",
                why=f"{error.filename or prefix}: {error.strerror or error}",
                todo=["make room or give permission there, then try again"],
            ) from error
        raise
    _undo(snapshot)
    return Outcome(verdict=verdict, changes=changes, restored=True)


def _check_whole(job: Job, installer: str) -> None:
    """Raise ``InstallError`` where the installer says it is done, and the torch family isn't all there."""
    hurt = damaged(target_paths(job.target), [pin.name for pin in job.plan.packages])
    if hurt:
        raise InstallError(
            f"{installer} says that it is done, but {hurt[0].name} isn't whole",
            why=hurt[0].words(),
            todo=["try again; a damaged copy in the cache goes with: uv cache clean torch"],
            details="\n".join(damage.words() for damage in hurt),
        )


def _undo(snapshot: Snapshot) -> None:
    if snapshot.created:
        return  # removed whole by the caller, after the lock in it is released
    with uninterrupted():
        snapshot.restore()
        snapshot.discard()


def remove_created(target: Target) -> None:
    """Remove an environment that this run made; a folder that was there before stays, as empty as it was."""
    with uninterrupted():
        remove_made(_prefix(target), target.folders)


def _tidy(folder: Path, paths: tuple[Path, ...]) -> None:
    """Leave nothing of ours in the environment but a committed snapshot and the receipt."""
    for path in paths:
        with contextlib.suppress(OSError):
            path.unlink(missing_ok=True)
    with contextlib.suppress(OSError):
        folder.rmdir()  # stays where something is in it


def _prefix(target: Target) -> Path:
    if target.prefix is None:
        raise InstallError(
            "the prefix of the target environment isn't known",
            why=f"{target.python} was not asked for it",
            todo=["report this: a fact of the interpreter was left out"],
        )
    return Path(target.prefix)
