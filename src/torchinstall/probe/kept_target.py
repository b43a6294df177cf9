"""What an interpreter answered the last time, while nothing that the answer rests on has changed.

A start of the target's Python takes longer than the rest of a plan. Its answer is kept with the size and the time
of change of every file and folder that it comes from: the interpreter, its environment's files, every folder
of packages, the path files and the version files in them. Whatever is in doubt, the interpreter is asked again;
an install always asks.
"""

# Plain os.path: importing pathlib would cost more start-up time than all the calls here.
# ruff: noqa: PTH103, PTH105, PTH108, PTH116, PTH118, PTH120, PTH123, PTH208
from __future__ import annotations

import json
import os
import time
from binascii import crc32

from torchinstall._version import __version__

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

FORM = 1
FRESH_S = 2.0
"""What changed so short a time ago may change again without its time of change telling."""
_MOST = 20_000
"""Bytes; an answer of an ordinary environment has about three thousand."""
_VERSION_FILES = ("torch", "torchvision", "torchaudio")

Mark = list[int] | None


class KeptTarget:
    """The kept answer of one interpreter. ``home``: the user's folder, whose packages count for a system's Python."""

    def __init__(self, folder: str, executable: str, script: str, home: str) -> None:
        self._path = os.path.join(folder, f"{crc32(executable.encode('utf-8', 'surrogateescape')):08x}.json")
        self._key = [FORM, __version__, executable, home, _mark(script)]

    def answer(self) -> dict[str, Any] | None:
        """Return the kept facts, ``None`` where there are none that hold."""
        try:
            with open(self._path, encoding="utf-8") as file:
                kept = json.load(file)
            if kept["key"] != self._key:
                return None
            marks: dict[str, Mark] = kept["marks"]
            if any(_mark(path) != mark for path, mark in marks.items()):
                return None
            facts: dict[str, Any] = kept["facts"]
        except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
            return None
        return facts

    def keep(self, facts: Mapping[str, Any]) -> None:
        """Keep an answer for the next time, if it can be seen when it no longer holds; never fails."""
        marks = {path: _mark(path) for path in _rests_on(self._key[2], facts)}
        limit = (time.time() - FRESH_S) * 1e9
        if any(mark is not None and mark[0] > limit for mark in marks.values()):
            return
        text = json.dumps({"key": self._key, "marks": marks, "facts": facts})
        if len(text) > _MOST:
            return
        beside = f"{self._path}.{os.getpid()}"
        try:
            os.makedirs(os.path.dirname(self._path), exist_ok=True)
            with open(beside, "w", encoding="utf-8") as file:
                file.write(text)
            os.replace(beside, self._path)
        except OSError:
            try:
                os.unlink(beside)
            except OSError:
                return


def _rests_on(executable: Any, facts: Mapping[str, Any]) -> list[str]:
    """Return every file and folder that the answer comes from."""
    prefix = str(facts.get("python", {}).get("prefix") or "")
    folders = [str(folder) for folder in facts.get("folders") or ()]
    found = [str(executable), prefix, os.path.join(prefix, "pyvenv.cfg"), *folders]
    for folder in folders:
        found += [os.path.join(folder, name, "version.py") for name in _VERSION_FILES]
        found += [os.path.join(folder, name) for name in _names(folder) if name.endswith((".pth", ".egg-link"))]
    return list(dict.fromkeys(found))


def _names(folder: str) -> Iterable[str]:
    try:
        return os.listdir(folder)
    except OSError:
        return ()


def _mark(path: str) -> Mark:
    """Return time of change, size and number of a file, ``None`` where there is none."""
    try:
        state = os.stat(path)
    except (OSError, ValueError):
        return None
    return [state.st_mtime_ns, state.st_size, state.st_ino]
