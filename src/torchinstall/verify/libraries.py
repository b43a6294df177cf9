"""Whether the shared libraries of torch are found, and whether the environment's own copies win.

The rules are those of ld.so(8): DT_RPATH where there is no DT_RUNPATH, LD_LIBRARY_PATH, DT_RUNPATH, the cache,
the standard folders. torch itself loads the nvidia packages first, so what they bring counts as found.
"""

from __future__ import annotations

import os
import re

from torchinstall.model.inspection import Shadow, Unresolved
from torchinstall.verify.elf import Library, read_library

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

_STANDARD = (
    "/lib64", "/usr/lib64", "/lib", "/usr/lib", "/lib/x86_64-linux-gnu", "/usr/lib/x86_64-linux-gnu",
    "/lib/aarch64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib/wsl/lib", "/usr/local/lib",
)  # fmt: skip
_CACHE = "/etc/ld.so.cache"
_DRIVER = re.compile(r"lib(?:cuda|nvidia-ml|nvcuvid|ze_loader|ascend\w*|drm\w*|hsa\w*|amdhip\w*)\.so")
"""Libraries of drivers: that they are missing is a fact of the machine, told by its own findings."""
_FULL = re.compile(r"\.so\.(\d+(?:\.\d+)+)$")
_SHARED = re.compile(r"\.so(?:\.\d+)*$")


class Libraries:
    """The shared libraries of one folder of packages (site-packages)."""

    def __init__(self, site: str, environ: Mapping[str, str], versions: Mapping[str, str]) -> None:
        self._site = site
        self._versions = versions
        self._searched = [part for part in environ.get("LD_LIBRARY_PATH", "").split(":") if part]
        self._files = self._own_files()
        self._by_name = {os.path.basename(path): path for path in self._files}  # noqa: PTH119
        self._read: dict[str, Library | None] = {}
        self._cache: bytes | None = None

    @property
    def count(self) -> int:
        """How many shared libraries the packages bring."""
        return len(self._files)

    def unresolved(self, packages: Iterable[str] = ("torch", "torchvision", "torchaudio")) -> tuple[Unresolved, ...]:
        """Return the libraries that these packages need and that are nowhere; those of drivers left out."""
        found: dict[str, Unresolved] = {}
        for path in self._files:
            package = self._package(path)
            if package not in packages:
                continue
            library = self._library(path)
            for name in library.needed if library is not None else ():
                if name in found or _DRIVER.match(name) or self._find(name, path, library) is not None:
                    continue
                found[name] = Unresolved(library=name, needed_by=os.path.relpath(path, self._site), package=package)
        return tuple(found.values())

    def shadows(self) -> tuple[Shadow, ...]:
        """Return the libraries of which LD_LIBRARY_PATH has another copy that the loader takes before ours."""
        if not self._searched:
            return ()
        found: dict[str, Shadow] = {}
        for path in self._files:
            library = self._library(path)
            if library is None:
                continue
            for name in library.needed:
                own = self._by_name.get(name)
                if own is None or name in found:
                    continue
                winner = self._find(name, path, library)
                if winner is None or self._inside(winner):
                    continue
                found[name] = Shadow(
                    library=name, own=os.path.relpath(own, self._site), other=winner,
                    own_version=self._version(own), other_version=self._version(winner),
                )  # fmt: skip
        return tuple(found.values())

    # How a library is found

    def _find(self, name: str, needing: str, library: Library | None) -> str | None:
        origin = os.path.dirname(needing)  # noqa: PTH120
        rpath = library.rpath if library is not None and not library.runpath else ()
        runpath = library.runpath if library is not None else ()
        for folder in (*_expanded(rpath, origin), *self._searched, *_expanded(runpath, origin)):
            place = f"{folder}/{name}"
            if os.path.exists(place):  # noqa: PTH110
                return os.path.realpath(place)
        if name in self._by_name:
            return self._by_name[name]
        for folder in _STANDARD:
            if os.path.exists(f"{folder}/{name}"):  # noqa: PTH110
                return f"{folder}/{name}"
        return f"{_CACHE}: {name}" if name.encode() in self._cached() else None

    def _cached(self) -> bytes:
        if self._cache is None:
            try:
                with open(_CACHE, "rb") as file:  # noqa: PTH123
                    self._cache = file.read()
            except OSError:
                self._cache = b""
        return self._cache

    def _inside(self, path: str) -> bool:
        return os.path.realpath(path).startswith(os.path.realpath(self._site) + os.sep)

    def _library(self, path: str) -> Library | None:
        if path not in self._read:
            self._read[path] = read_library(path)
        return self._read[path]

    # Which files there are

    def _own_files(self) -> list[str]:
        folders = [f"{self._site}/torch/lib", f"{self._site}/torch", f"{self._site}/torchvision"]
        folders += [
            f"{self._site}/{name}" for name in ("torchvision.libs", "torchaudio", "torchaudio/lib", "torch.libs")
        ]
        folders += self._nvidia()
        found = []
        for folder in folders:
            try:
                names = sorted(os.listdir(folder))  # noqa: PTH208
            except OSError:
                continue
            found += [f"{folder}/{name}" for name in names if _SHARED.search(name)]
        return found

    def _nvidia(self) -> list[str]:
        base = f"{self._site}/nvidia"
        try:
            return [f"{base}/{name}/lib" for name in sorted(os.listdir(base))]  # noqa: PTH208
        except OSError:
            return []

    def _package(self, path: str) -> str:
        return os.path.relpath(path, self._site).partition(os.sep)[0].partition(".")[0]

    def _version(self, path: str) -> str:
        """Return the full version of a library: of its real file's name, or of the nvidia package it is in."""
        real = os.path.realpath(path)
        if match := _FULL.search(real):
            return match[1]
        first, _, rest = os.path.relpath(real, os.path.realpath(self._site)).partition(os.sep)
        if first == "nvidia" and rest:
            wanted = f"nvidia-{rest.partition(os.sep)[0].replace('_', '-')}"
            return next((v for name, v in self._versions.items() if name.startswith(wanted)), "")
        return ""


def _expanded(paths: Iterable[str], origin: str) -> list[str]:
    return [path.replace("$ORIGIN", origin).replace("${ORIGIN}", origin) for path in paths]
