"""The files of a scan: found with regard to .gitignore, read, and checked on all cores."""

from __future__ import annotations

import os
from pathlib import Path

from torchinstall.errors import UsageError
from torchinstall.model.advice import Finding, Scan, Skipped
from torchinstall.model.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from torchinstall.advise.gitignore import Ignores
    from torchinstall.advise.table import Table

LARGEST = {"python": 3 << 19, "notebook": 16 << 20}
"""Bytes of a file that is still read; what is larger was written by a program, not by a person."""
LARGEST_OTHER = 1 << 20
_WORTH_A_POOL = 1 << 20
_CHUNK = 8
_NEVER = frozenset({
    ".git", ".hg", ".svn", "__pycache__", "node_modules", ".tox", ".nox", ".mypy_cache", ".ruff_cache", ".pytest_cache",
    ".ipynb_checkpoints", ".eggs", ".venv",
})  # fmt: skip


class File(Value):
    """A file to be scanned: where it is, how it is called in reports, how it is read, how many bytes it has."""

    path: str
    name: str
    kind: str
    size: int


def scan(paths: Sequence[str], cwd: Path, table: Table, *, progress: Callable[[int, int], None] | None = None) -> Scan:
    """Return what all files at and below these paths have. Raises ``UsageError`` for a path that isn't there.

    ``progress`` is given the files that are done and all there are, now and then.
    """
    files, skipped = find_files(paths, cwd)
    results = _each(files, table)
    findings: list[Finding] = []
    lines = silenced = 0
    for done, result in enumerate(results, start=1):
        findings += result.findings
        skipped += result.skipped
        lines += result.lines
        silenced += result.silenced
        if progress is not None:
            progress(done, len(files))
    return Scan(
        findings=tuple(findings),
        skipped=tuple(sorted(skipped, key=lambda one: one.file)),
        files=len(files),
        lines=lines,
        silenced=silenced,
    )


def find_files(paths: Sequence[str], cwd: Path) -> tuple[list[File], list[Skipped]]:
    """Return the files to scan, each once, in the order of their names, and what can't be scanned."""
    files: list[File] = []
    skipped: list[Skipped] = []
    seen: set[tuple[int, int]] = set()
    for text in paths:
        start = cwd / text
        if not os.path.lexists(start):
            raise UsageError(f"--scan {text}: there is no such file or folder", todo=["name a folder of Python code"])
        walk = _Walk(cwd, seen, files, skipped)
        if start.is_dir():
            walk.folder(start)
        else:
            walk.file(str(start), named=True)
    return files, skipped


def check_file(file: File, table: Table) -> Scan:
    """Return what one file has."""
    from torchinstall.advise.scan_file import scan_file

    try:
        data = Path(file.path).read_bytes()
    except OSError as error:
        return Scan(skipped=(Skipped(file=file.name, why=f"can't be read: {error.strerror or error}"),), files=1)
    return scan_file(file.name, data, file.kind, table)


class _Walk:
    def __init__(self, cwd: Path, seen: set[tuple[int, int]], files: list[File], skipped: list[Skipped]) -> None:
        self.cwd = cwd
        self.seen = seen
        self.files = files
        self.skipped = skipped

    def folder(self, start: Path) -> None:
        """Walk a folder, the names of each in order; links to folders aren't followed, so circles end nowhere."""
        from torchinstall.advise.gitignore import is_ignored

        root, above = _ignores_above(start.absolute())
        stack: list[tuple[str, tuple[Ignores, ...]]] = [(str(start), above)]
        while stack:
            path, levels = stack.pop()
            try:
                entries = sorted(os.scandir(path), key=lambda entry: entry.name)
            except OSError as error:
                self.skip(path, f"can't be read: {error.strerror or error}")
                continue
            below = os.path.relpath(os.path.abspath(path), root).replace(os.sep, "/")  # noqa: PTH100 - no link is followed
            below = "" if below == "." else below
            own = [entry for entry in entries if entry.name == ".gitignore"]
            levels = (*levels, *_read_ignores(own[0].path, below)) if own else levels
            folders = []
            for entry in entries:
                is_folder = entry.is_dir(follow_symlinks=False)
                inner = f"{below}/{entry.name}" if below else entry.name
                if is_folder and (entry.name in _NEVER or os.path.lexists(os.path.join(entry.path, "pyvenv.cfg"))):  # noqa: PTH118
                    continue
                if levels and is_ignored(inner, levels, is_folder=is_folder):
                    continue
                if is_folder:
                    folders.append((entry.path, levels))
                else:
                    self.file(entry.path)
            stack += reversed(folders)

    def file(self, path: str, *, named: bool = False) -> None:
        """Take a file, if it is of a kind that is scanned."""
        from torchinstall.advise.requirement import PYTHON, REQUIREMENTS, kind_of

        base = os.path.basename(path)  # noqa: PTH119 - a Path for each of 100,000 files is slow
        kind = kind_of(base)
        if kind is None:
            if not named:
                return
            kind = REQUIREMENTS if base.endswith((".txt", ".in")) else PYTHON
        try:
            facts = os.stat(path)  # noqa: PTH116
        except OSError as error:
            broken = os.path.islink(path)  # noqa: PTH114
            self.skip(path, "is a broken link" if broken else f"can't be read: {error.strerror or error}")
            return
        key = (facts.st_dev, facts.st_ino)
        if not os.path.isfile(path) or (key in self.seen and facts.st_ino):  # noqa: PTH113
            return
        self.seen.add(key)
        limit = LARGEST.get(kind, LARGEST_OTHER)
        if facts.st_size > limit:
            self.skip(path, f"is larger than {limit / 2**20:g} MiB: generated, most likely")
            return
        self.files.append(File(path=path, name=self.name(path), kind=kind, size=facts.st_size))

    def skip(self, path: str, why: str) -> None:
        self.skipped.append(Skipped(file=self.name(path), why=why))

    def name(self, path: str) -> str:
        here = f"{self.cwd}{os.sep}"
        name = path.removeprefix(here).removeprefix(f".{os.sep}").replace(os.sep, "/")
        # A name that isn't text in any encoding must still be printed.
        return name.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def _ignores_above(start: Path) -> tuple[Path, tuple[Ignores, ...]]:
    """Return the root of the repository round a folder, and the .gitignore files on the way down to it."""
    root = next((folder for folder in (start, *start.parents) if (folder / ".git").exists()), start)
    levels: tuple[Ignores, ...] = _read_ignores(str(root / ".git" / "info" / "exclude"), "")
    folder = root
    for part in start.relative_to(root).parts:
        below = folder.relative_to(root).as_posix()
        levels += _read_ignores(str(folder / ".gitignore"), "" if below == "." else below)
        folder /= part
    return root, levels


def _read_ignores(path: str, below: str) -> tuple[Ignores, ...]:
    from torchinstall.advise.gitignore import read_ignores

    try:
        return (read_ignores(Path(path).read_text(encoding="utf-8", errors="replace"), below),)
    except OSError:
        return ()


def _each(files: list[File], table: Table) -> Iterator[Scan]:
    """Check the files, in their order; in several processes where that pays."""
    workers = min(_cores(), -(-len(files) // _CHUNK))
    if workers < 2 or sum(file.size for file in files) < _WORTH_A_POOL:  # noqa: PLR2004 - one core is no pool
        yield from (check_file(file, table) for file in files)
        return
    yield from _on_all_cores(files, table, workers)


def _on_all_cores(files: list[File], table: Table, workers: int) -> Iterator[Scan]:
    """Check the files in several processes; where one is killed, one after the other, so that the culprit is known."""
    from concurrent.futures.process import BrokenProcessPool

    done, chunk = 0, _CHUNK
    while done < len(files):
        try:
            for result in _pooled(files[done:], table, workers, chunk):
                done += 1
                yield result
        except BrokenProcessPool:  # noqa: PERF203 - once for each process that is killed
            if chunk == 1:
                why = "wasn't scanned: the process that scanned it was killed (memory?)"
                yield Scan(skipped=(Skipped(file=files[done].name, why=why),), files=1)
                done += 1
            workers = chunk = 1


def _pooled(files: list[File], table: Table, workers: int, chunk: int) -> Iterator[Scan]:
    from concurrent.futures import ProcessPoolExecutor

    pool = ProcessPoolExecutor(workers, initializer=_start_worker, initargs=(table,))
    try:
        yield from pool.map(_work, files, chunksize=chunk)
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


_tables: list[Table] = []
"""The rules of a worker process; empty in any other."""


def _start_worker(table: Table) -> None:
    import gc
    import signal

    # A tree has no cycles: collecting while it grows only costs time. Ctrl-C is the parent's to handle.
    gc.disable()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _tables[:] = [table]


def _work(file: File) -> Scan:
    return check_file(file, _tables[0])


def _cores() -> int:
    count: Iterable[int] | None = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else None
    return len(list(count)) if count is not None else os.cpu_count() or 1
