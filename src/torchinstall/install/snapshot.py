"""Set an environment's installed tree aside, and bring exactly it back.

Files are set aside by hard links beside the environment, on its own file
system: 12,000 files take about a third of a second and no space. uv and pip
replace files and don't write into them, so a link keeps the old content; the
few kinds of files that are edited in place (launchers, ``.pth``, metadata) are
copied.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import stat
from pathlib import Path

from torchinstall.errors import InstallError, TargetError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

STATE_DIR = ".torchinstall"
OPEN = "open"
COMMITTED = "committed"

_SCHEMA = 1
_UV_LOCK = ".lock"  # uv makes it at its first use of an environment, and leaves it there
_LEAVE = {"__pycache__", STATE_DIR}
_COPY_UP_TO = 256 * 1024
_EDITED = (".pth", ".egg-link")
_METADATA = (".dist-info", ".egg-info")


class Snapshot:
    """The state of an environment at one moment, kept in ``<prefix>/.torchinstall/snapshot``.

    ``created``: the environment was made by this run, so that restoring removes it whole.
    ``state``: open while an installation runs; committed once it succeeded.
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
    ) -> None:
        self.prefix = prefix
        self.roots = tuple(roots)
        self.outside = tuple(outside)
        self.created = created
        self.had_lock = had_lock
        self.state = state

    @property
    def folder(self) -> Path:
        """Where the snapshot lies."""
        return self.prefix / STATE_DIR / "snapshot"

    @classmethod
    def take(cls, prefix: Path, paths: Iterable[Path], *, created: bool = False) -> Snapshot:
        """Set the trees at ``paths`` (purelib, platlib, scripts) aside, and what their RECORDs name outside.

        A former snapshot is thrown away. Raises ``TargetError`` where the environment can't be written.
        """
        roots = _distinct(paths)
        outside = () if created else _outside(roots, prefix)
        snapshot = cls(prefix, roots, outside, created=created, had_lock=(prefix / _UV_LOCK).exists())
        try:
            _remove(snapshot.folder)
            snapshot.folder.mkdir(parents=True)
            if not created:
                for number, root in enumerate(roots):
                    if root.is_dir():
                        _save_tree(str(root), str(snapshot.folder / f"tree{number}"))
                for number, path in enumerate(snapshot.outside):
                    _save_file(path, snapshot.folder / f"file{number}", copy=False)
            snapshot._write()
        except OSError as error:
            with contextlib.suppress(OSError):
                _remove(snapshot.folder)
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
            )
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def commit(self) -> None:
        """Mark the new state as good; the snapshot stays, for ``torchinstall restore``."""
        self.state = COMMITTED
        self._write()

    def discard(self) -> None:
        """Throw the snapshot away. What can't be removed now is left for the next run."""
        with contextlib.suppress(OSError):
            _remove_tree(str(self.folder))

    def restore(self) -> None:
        """Bring back exactly the former files: new ones go, changed and lost ones return, modes and links too.

        ``__pycache__`` is left as it is. Can be run again when it was stopped. Raises ``InstallError``
        naming the files that couldn't be brought back; the snapshot then stays.
        """
        if self.created:
            _remove(self.prefix)
            return
        new_outside = [path for path in _outside(self.roots, self.prefix) if path not in self.outside]
        failed: list[str] = []
        for number, root in enumerate(self.roots):
            saved = self.folder / f"tree{number}"
            if saved.is_dir():
                failed += _restore_tree(saved, root)
            elif root.is_dir():
                failed += _attempt(root, shutil.rmtree, root)
        for number, path in enumerate(self.outside):
            saved = self.folder / f"file{number}"
            path.parent.mkdir(parents=True, exist_ok=True)
            failed += _attempt(path, _restore_file, saved, path)
        if not self.had_lock:
            new_outside.append(self.prefix / _UV_LOCK)
        for path in new_outside:
            failed += _attempt(path, _remove, path)
            _remove_empty(path.parent, self.prefix)
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
        }
        # Written last and in one step: a snapshot without manifest is none.
        part = self.folder / "manifest.part"
        part.write_text(json.dumps(data), "utf-8")
        part.replace(self.folder / "manifest.json")


def _distinct(paths: Iterable[Path]) -> list[Path]:
    """Return the real folders, each once, none inside another (lib64 is often a link to lib)."""
    real = sorted({Path(os.path.realpath(path)) for path in paths})
    return [path for path in real if not any(other in path.parents for other in real)]


def _outside(roots: Sequence[Path], prefix: Path) -> list[Path]:
    """Return the files under ``prefix`` but outside the roots that RECORD files name (man pages, headers, data)."""
    real_prefix = Path(os.path.realpath(prefix))
    found: dict[Path, None] = {}
    for record in (record for root in roots for record in root.glob("*.dist-info/RECORD")):
        try:
            text = record.read_text("utf-8", "replace")
        except OSError:
            continue
        for line in text.splitlines():
            if not line.startswith(("../", '"../')):
                continue
            name = line[1:].split('"')[0] if line.startswith('"') else line.split(",")[0]
            path = Path(os.path.normpath(record.parent.parent / name))
            inside = any(root in path.parents for root in roots)
            if not inside and real_prefix in path.parents and path.is_file():
                found[path] = None
    return list(found)


def _save_tree(source: str, target: str) -> None:
    # Strings and not Path objects: they take longer than the links themselves.
    os.mkdir(target)  # noqa: PTH102
    name = source.rpartition(os.sep)[2]
    metadata = name.endswith(_METADATA) or name in {"bin", "Scripts"}
    with os.scandir(source) as entries:
        for entry in entries:
            if entry.name in _LEAVE:
                continue
            place = f"{target}{os.sep}{entry.name}"
            if entry.is_dir(follow_symlinks=False):
                _save_tree(entry.path, place)
            elif entry.is_symlink():
                os.symlink(os.readlink(entry.path), place)  # noqa: PTH115, PTH211
            elif entry.is_file():
                edited = metadata or entry.name.endswith(_EDITED)
                _save_file(entry.path, place, copy=edited and entry.stat().st_size <= _COPY_UP_TO)
    shutil.copystat(source, target)


def _save_file(source: str | Path, target: str | Path, *, copy: bool) -> None:
    if not copy:
        try:
            os.link(source, target, follow_symlinks=False)
        except OSError:  # another file system, or one without links: FAT, some network shares
            pass
        else:
            return
    shutil.copy2(source, target, follow_symlinks=False)


def _restore_tree(saved: Path, live: Path) -> list[str]:
    """Make ``live`` the same as ``saved``; return what failed, in words."""
    failed: list[str] = []
    try:
        if not _is_real_dir(live):
            _remove(live)
            live.mkdir(parents=True)
        wanted = {entry.name: entry for entry in os.scandir(saved)}
        for entry in list(os.scandir(live)):
            if entry.name not in wanted and entry.name not in _LEAVE:
                failed += _attempt(live / entry.name, _remove, live / entry.name)
    except OSError as error:
        return [*failed, f"{live}: {error.strerror or error}"]
    for name, entry in wanted.items():
        place = live / name
        if entry.is_dir(follow_symlinks=False):
            failed += _restore_tree(Path(entry.path), place)
        else:
            failed += _attempt(place, _restore_file, Path(entry.path), place)
    failed += _attempt(live, shutil.copystat, saved, live)
    return failed


def _restore_file(saved: Path, live: Path) -> None:
    if _same(saved, live):
        return
    if _is_real_dir(live):
        shutil.rmtree(live)
    part = live.with_name(f"{live.name}.part{os.getpid()}")
    # Linked or copied, never moved: a restore that was stopped must find the saved file again.
    _save_file(saved, part, copy=False)
    part.replace(live)


def _same(saved: Path, live: Path) -> bool:
    try:
        first, second = saved.lstat(), live.lstat()
    except OSError:
        return False
    if (first.st_dev, first.st_ino) == (second.st_dev, second.st_ino):
        return True
    if first.st_mode != second.st_mode or first.st_size != second.st_size:
        return False
    if stat.S_ISLNK(first.st_mode):
        return saved.readlink() == live.readlink()
    return first.st_mtime_ns == second.st_mtime_ns and saved.read_bytes() == live.read_bytes()


def _is_real_dir(path: Path) -> bool:
    return path.is_dir() and not path.is_symlink()


def _remove(path: Path) -> None:
    if _is_real_dir(path):
        shutil.rmtree(path)
    elif path.is_symlink() or path.exists():
        path.unlink()


def _remove_tree(folder: str) -> None:
    """Remove a tree of ours; a third of the time that ``shutil.rmtree`` takes to be safe from others."""
    with os.scandir(folder) as entries:
        for entry in list(entries):
            if entry.is_dir(follow_symlinks=False):
                _remove_tree(entry.path)
            else:
                os.unlink(entry.path)  # noqa: PTH108
    os.rmdir(folder)  # noqa: PTH106


def _remove_empty(folder: Path, stop: Path) -> None:
    with contextlib.suppress(OSError):
        while folder != stop and stop in folder.parents:
            folder.rmdir()
            folder = folder.parent


def _attempt(path: Path, action: object, *arguments: object) -> Iterator[str]:
    try:
        action(*arguments)  # type: ignore[operator]
    except OSError as error:
        yield f"{path}: {error.strerror or error}"
