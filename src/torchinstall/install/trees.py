"""Trees of installed files: kept by hard links or copies, brought back, removed.

Files are set aside by hard links beside the environment, on its own file
system: 12,000 files take about a third of a second and no space. uv and pip
replace files and don't write into them, so a link keeps the old content; the
few kinds of files that are edited in place (launchers, ``.pth``, metadata) are
copied.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import stat
from pathlib import Path

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

STATE_DIR = ".torchinstall"
"""The folder of ours in an environment."""

_LEAVE = {"__pycache__", STATE_DIR}
_COPY_UP_TO = 256 * 1024
_EDITED = (".pth", ".egg-link")
_METADATA = (".dist-info", ".egg-info")


def distinct(paths: Iterable[Path]) -> list[Path]:
    """Return the real folders, each once, none inside another (lib64 is often a link to lib)."""
    real = sorted({Path(os.path.realpath(path)) for path in paths})
    return [path for path in real if not any(other in path.parents for other in real)]


def outside(roots: Sequence[Path], prefix: Path) -> list[Path]:
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


def save_tree(source: str, target: str) -> None:
    """Keep a folder and all below it, byte code aside."""
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
                save_tree(entry.path, place)
            elif entry.is_symlink():
                os.symlink(os.readlink(entry.path), place)  # noqa: PTH115, PTH211
            elif entry.is_file():
                edited = metadata or entry.name.endswith(_EDITED)
                save_file(entry.path, place, copy=edited and entry.stat().st_size <= _COPY_UP_TO)
    shutil.copystat(source, target)


def save_file(source: str | Path, target: str | Path, *, copy: bool) -> None:
    """Keep a file by a hard link where that goes, else by a copy."""
    if not copy:
        try:
            os.link(source, target, follow_symlinks=False)
        except OSError:  # another file system, or one without links: FAT, some network shares
            pass
        else:
            return
    shutil.copy2(source, target, follow_symlinks=False)


def restore_tree(saved: Path, live: Path) -> list[str]:
    """Make ``live`` the same as ``saved``; return what failed, in words."""
    return _restore(str(saved), str(live))


def _restore(saved: str, live: str) -> list[str]:
    failed: list[str] = []
    have: dict[str, os.DirEntry[str]] = {}
    try:
        if os.path.isdir(live) and not os.path.islink(live):  # noqa: PTH112, PTH114 - strings, as in save_tree
            have = {entry.name: entry for entry in os.scandir(live)}
        else:
            remove(Path(live))
            os.makedirs(live)  # noqa: PTH103
        wanted = {entry.name: entry for entry in os.scandir(saved)}
        one_disk = os.stat(saved).st_dev == os.stat(live).st_dev  # noqa: PTH116
    except OSError as error:
        return [f"{live}: {error.strerror or error}"]
    for name in have:
        if name not in wanted and name not in _LEAVE:
            failed += attempt(Path(live, name), remove, Path(live, name))
    for name, entry in wanted.items():
        place = f"{live}{os.sep}{name}"
        if entry.is_dir(follow_symlinks=False):
            failed += _restore(entry.path, place)
        elif name in have and one_disk and have[name].inode() == entry.inode():
            continue  # the very file: nobody has replaced it
        else:
            failed += attempt(Path(place), restore_file, Path(entry.path), Path(place))
    failed += attempt(Path(live), shutil.copystat, saved, live)
    return failed


def restore_file(saved: Path, live: Path) -> None:
    """Put a kept file back in its place in one step."""
    if not os.path.lexists(live):
        save_file(saved, live, copy=False)
        return
    if _same(saved, live):
        return
    if _is_real_dir(live):
        shutil.rmtree(live)
    part = live.with_name(f"{live.name}.part{os.getpid()}")
    # Linked or copied, never moved: a restore that was stopped must find the saved file again.
    save_file(saved, part, copy=False)
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


def remove(path: Path) -> None:
    """Remove a file, a link or a whole folder, where it is there."""
    if _is_real_dir(path):
        shutil.rmtree(path)
    elif path.is_symlink() or path.exists():
        path.unlink()


def remove_tree(folder: str) -> None:
    """Remove a tree of ours; a third of the time that ``shutil.rmtree`` takes to be safe from others."""
    with os.scandir(folder) as entries:
        for entry in list(entries):
            if entry.is_dir(follow_symlinks=False):
                remove_tree(entry.path)
            else:
                os.unlink(entry.path)  # noqa: PTH108
    os.rmdir(folder)  # noqa: PTH106


def remove_empty(folder: Path, stop: Path) -> None:
    """Remove a folder and those above it, as long as they are empty, up to ``stop``."""
    with contextlib.suppress(OSError):
        while folder != stop and stop in folder.parents:
            folder.rmdir()
            folder = folder.parent


def attempt(path: Path, action: object, *arguments: object) -> Iterator[str]:
    """Do it; yield what failed, in words."""
    try:
        action(*arguments)  # type: ignore[operator]
    except OSError as error:
        yield f"{path}: {error.strerror or error}"
