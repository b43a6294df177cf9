"""Set an environment's installed tree aside, and bring exactly it back.

The snapshot of the moment before an installation is also its journal: while it
is open, a run is at work, or was killed. How files are kept: ``trees``.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
from pathlib import Path

from torchinstall.errors import InstallError, TargetError
from torchinstall.install.trees import (
    STATE_DIR,
    attempt,
    distinct,
    outside,
    remove,
    remove_empty,
    remove_tree,
    restore_file,
    restore_tree,
    save_file,
    save_tree,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

RECEIPT = "receipt.json"
OPEN = "open"
COMMITTED = "committed"

_SCHEMA = 1
_UV_LOCK = ".lock"  # uv makes it at its first use of an environment, and leaves it there


class Snapshot:
    """The state of an environment at one moment, kept in ``<prefix>/.torchinstall/snapshot``.

    ``created``: the environment was made by this run, so that restoring removes it whole.
    ``state``: open while an installation runs; committed once it succeeded. ``note``: what for, in words.
    A former committed snapshot waits in ``former`` until this one is committed too.
    """

    def __init__(
        self,
        prefix: Path,
        roots: Sequence[Path],
        outside: Sequence[Path],
        *,
        created: bool,
        had_lock: bool = False,
        state: str = OPEN,
        note: Mapping[str, str] | None = None,
    ) -> None:
        self.prefix = prefix
        self.roots = tuple(roots)
        self.outside = tuple(outside)
        self.created = created
        self.had_lock = had_lock
        self.state = state
        self.note = dict(note or {})

    @property
    def folder(self) -> Path:
        """Where the snapshot lies."""
        return self.prefix / STATE_DIR / "snapshot"

    @property
    def former(self) -> Path:
        """Where the snapshot of the installation before lies while this one is open."""
        return self.prefix / STATE_DIR / "former"

    @classmethod
    def take(
        cls, prefix: Path, paths: Iterable[Path], *, created: bool = False, note: Mapping[str, str] | None = None
    ) -> Snapshot:
        """Set the trees at ``paths`` (purelib, platlib, scripts) aside, and what their RECORDs name outside.

        Raises ``TargetError`` where the environment can't be written.
        """
        roots = distinct(paths)
        had_lock = (prefix / _UV_LOCK).exists()
        snapshot = cls(prefix, roots, outside(roots, prefix), created=created, had_lock=had_lock, note=note)
        begun = False
        try:
            settle(prefix)
            if (last := cls.open(prefix)) is not None and last.state == COMMITTED:
                snapshot.folder.replace(snapshot.former)
            begun = True
            remove(snapshot.folder)
            snapshot.folder.mkdir(parents=True)
            for number, root in enumerate(roots):
                if root.is_dir():
                    save_tree(str(root), str(snapshot.folder / f"tree{number}"))
            for number, path in enumerate(snapshot.outside):
                save_file(path, snapshot.folder / f"file{number}", copy=False)
            if (receipt := prefix / STATE_DIR / RECEIPT).is_file():
                save_file(receipt, snapshot.folder / RECEIPT, copy=True)
            snapshot._write()
        except BaseException as error:
            if begun:
                snapshot.discard()
            if not isinstance(error, OSError):
                raise
            raise TargetError(
                f"the environment {prefix} couldn't be set aside before the change",
                why=f"{error.filename or prefix}: {error.strerror or error}",
                todo=["make room or give permission there", "--venv DIR uses another environment"],
            ) from error
        return snapshot

    @classmethod
    def open(cls, prefix: Path) -> Snapshot | None:
        """Return the snapshot that lies in an environment, ``None`` where there is none that is whole."""
        try:
            data = json.loads((prefix / STATE_DIR / "snapshot" / "manifest.json").read_text("utf-8"))
            if data["schema"] != _SCHEMA:
                return None
            return cls(
                prefix,
                [Path(path) for path in data["roots"]],
                [Path(path) for path in data["outside"]],
                created=data["created"] is True,
                had_lock=data["had_lock"] is True,
                state=data["state"],
                note=data.get("note"),
            )
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def commit(self) -> None:
        """Mark the new state as good; the snapshot stays, for ``torchinstall restore``."""
        self.state = COMMITTED
        self._write()
        with contextlib.suppress(OSError):
            remove_tree(str(self.former))

    def discard(self, *, former: bool = True) -> None:
        """Throw the snapshot away; with ``former`` the one before takes its place, else that goes too.

        What can't be removed now is left for the next run.
        """
        with contextlib.suppress(OSError):
            # Without its manifest it is none any more, whenever the rest is removed.
            (self.folder / "manifest.json").unlink(missing_ok=True)
            remove_tree(str(self.folder))
        with contextlib.suppress(OSError):
            if former:
                settle(self.prefix)
            else:
                remove_tree(str(self.former))

    def restore(self) -> None:
        """Bring back exactly the former files: new ones go, changed and lost ones return, modes and links too.

        ``__pycache__`` is left as it is. Can be run again when it was stopped. Raises ``InstallError``
        naming the files that couldn't be brought back; the snapshot then stays.
        """
        if self.created:
            remove(self.prefix)
            return
        self.restore_files()

    def restore_files(self) -> None:
        """Do as ``restore``, but leave an environment that was new as the empty one that it was."""
        new_outside = [path for path in outside(self.roots, self.prefix) if path not in self.outside]
        failed: list[str] = []
        for number, root in enumerate(self.roots):
            saved = self.folder / f"tree{number}"
            if saved.is_dir():
                failed += restore_tree(saved, root)
            elif root.is_dir():
                failed += attempt(root, shutil.rmtree, root)
        for number, path in enumerate(self.outside):
            saved = self.folder / f"file{number}"
            path.parent.mkdir(parents=True, exist_ok=True)
            failed += attempt(path, restore_file, saved, path)
        if not self.had_lock:
            new_outside.append(self.prefix / _UV_LOCK)
        for path in new_outside:
            failed += attempt(path, remove, path)
            remove_empty(path.parent, self.prefix)
        receipt = self.prefix / STATE_DIR / RECEIPT
        if (self.folder / RECEIPT).is_file():
            failed += attempt(receipt, restore_file, self.folder / RECEIPT, receipt)
        else:
            failed += attempt(receipt, remove, receipt)
        if failed:
            raise InstallError(
                f"{len(failed)} files of {self.prefix} couldn't be brought back",
                why=failed[0],
                todo=["close programs that use the environment", "then: torchinstall restore"],
                details="\n".join(failed[:20]),
            )

    def _write(self) -> None:
        data = {
            "schema": _SCHEMA,
            "state": self.state,
            "created": self.created,
            "had_lock": self.had_lock,
            "roots": [str(path) for path in self.roots],
            "outside": [str(path) for path in self.outside],
            "note": self.note,
        }
        # Written last and in one step: a snapshot without manifest is none.
        part = self.folder / "manifest.part"
        with part.open("w", encoding="utf-8") as file:
            file.write(json.dumps(data))
            file.flush()
            os.fsync(file.fileno())
        part.replace(self.folder / "manifest.json")


def settle(prefix: Path) -> None:
    """Bring the snapshots of a run that was stopped between two steps in order: one that is whole, or none."""
    state = prefix / STATE_DIR
    newest, former = state / "snapshot", state / "former"
    last = Snapshot.open(prefix)
    if last is None and newest.is_dir():
        remove_tree(str(newest))
    if former.is_dir() and last is None:
        former.replace(newest)
    elif former.is_dir() and last is not None and last.state == COMMITTED:
        remove_tree(str(former))
