"""The one object through which probes touch the machine: files, commands, native libraries, environment.

A fake machine (see ``fake``) is the same object over a folder, so that every
probe runs on it unchanged.
"""

# Plain os.path: importing pathlib would cost more start-up time than all the calls here.
# ruff: noqa: PTH100, PTH110, PTH112, PTH113, PTH115, PTH117, PTH118, PTH120
from __future__ import annotations

import errno
import os
import stat
import sys
import time

from torchinstall.probe.process import Child, Result

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from typing_extensions import Self

    from torchinstall.model.machine import Machine

COMMAND_TIMEOUT = 2.0
"""Seconds for one command or native library; a healthy one answers in milliseconds."""

READ_LIMIT = 64 * 1024
"""Bytes; the files of /proc and /sys that matter are far smaller."""

# What a vendor's tool needs to find itself and its libraries. CUDA_VISIBLE_DEVICES and its kin are left
# out on purpose: a mask must not hide hardware from the probe; it is reported as a fact instead.
_PASSED = (
    "PATH", "HOME", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "TMPDIR",
    "SystemRoot", "SYSTEMROOT", "windir", "ProgramFiles", "ProgramData", "TEMP", "TMP",
)  # fmt: skip


class System:
    """The machine under ``root``. Nothing here raises for what a machine may look like; ``notes`` says what failed."""

    root = "/"
    given: Machine | None = None
    """What a fake machine says of itself beyond its files."""

    def __init__(
        self, *, environ: Mapping[str, str], os_name: str | None, arch: str | None, kernel_release: str | None
    ) -> None:
        self.environ = dict(environ)
        self.os_name = os_name
        self.arch = arch
        self.kernel_release = kernel_release
        self.notes: list[str] = []
        self.deadline: float | None = None

    def note(self, text: str) -> None:
        """Keep a sentence on what could not be seen; each one once."""
        if text not in self.notes:
            self.notes.append(text)

    def view(self) -> Self:
        """Return the same machine with notes of its own, for a probe that runs beside others."""
        other = type(self).__new__(type(self))
        other.__dict__.update(self.__dict__)
        other.notes = []
        return other

    # Files.

    def locate(self, path: str) -> str | None:
        """Return where the file of the machine lies on this host; ``None`` where a link leads nowhere."""
        return path

    def read_bytes(self, path: str, limit: int = READ_LIMIT) -> bytes | None:
        """Return the content of a regular file; ``None`` if it is missing, or (with a note) can't be read."""
        real = self.locate(path)
        if real is None:
            return None
        try:
            # Not blocking: a pipe in place of a file must not stop the probe.
            handle = os.open(real, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
        except (OSError, ValueError) as error:
            self._unreadable(path, error)
            return None
        try:
            if not stat.S_ISREG(os.fstat(handle).st_mode):
                return None
            content = b""
            while len(content) <= limit and (piece := os.read(handle, limit + 1 - len(content))):
                content += piece
        except OSError as error:
            self._unreadable(path, error)
            return None
        finally:
            os.close(handle)
        if len(content) > limit:
            self.note(f"{path} is larger than {limit} bytes and was not read")
            return None
        return content

    def read_text(self, path: str, limit: int = READ_LIMIT) -> str | None:
        """Return the content of a text file; ``None`` if it is missing, or (with a note) unreadable or binary."""
        content = self.read_bytes(path, limit)
        if content is None:
            return None
        if b"\0" in content:
            self.note(f"{path} is binary and was not read")
            return None
        return content.decode("utf-8", "replace")

    def read_line(self, path: str) -> str | None:
        """Return the first line of a text file, stripped; ``None`` for an empty one too."""
        text = self.read_text(path)
        return text.strip().split("\n", 1)[0].strip() or None if text else None

    def listdir(self, path: str) -> tuple[str, ...]:
        """Return the sorted names in a folder; none where it is missing, or (with a note) can't be listed."""
        real = self.locate(path)
        if real is None:
            return ()
        try:
            with os.scandir(real) as entries:
                return tuple(sorted(entry.name for entry in entries))
        except (OSError, ValueError) as error:
            self._unreadable(path, error)
            return ()

    def exists(self, path: str) -> bool:
        """Tell whether there is anything at ``path``."""
        real = self.locate(path)
        return real is not None and os.path.exists(real)

    def is_dir(self, path: str) -> bool:
        """Tell whether there is a folder at ``path``."""
        real = self.locate(path)
        return real is not None and os.path.isdir(real)

    def may_use(self, path: str) -> bool:
        """Tell whether this user may read and write the device node at ``path``."""
        real = self.locate(path)
        return real is not None and os.access(real, os.R_OK | os.W_OK)

    def readlink(self, path: str) -> str | None:
        """Return where a symbolic link points, unresolved; ``None`` where there is no link."""
        parent, _, name = path.rpartition("/")
        real = self.locate(parent or "/")
        if real is None:
            return None
        try:
            return os.readlink(f"{real.rstrip('/')}/{name}")
        except (OSError, ValueError):
            return None

    def _unreadable(self, path: str, error: Exception) -> None:
        missing = isinstance(error, OSError) and error.errno in {errno.ENOENT, errno.ENOTDIR}
        if not missing:
            self.note(f"{path} could not be read: {getattr(error, 'strerror', None) or error}")

    # Commands and native libraries.

    def which(self, name: str, extra: Sequence[str] = ()) -> str | None:
        """Return the absolute path of a command in PATH or ``extra``; the working directory is never searched."""
        suffixes = (".exe",) if self.os_name == "windows" else ("",)
        for folder in (*self.environ.get("PATH", "").split(os.pathsep), *extra):
            if not os.path.isabs(folder):
                continue
            for suffix in suffixes:
                path = f"{folder.rstrip('/')}/{name}{suffix}"
                if _is_program(path):
                    return path
        return None

    def program(self, name: str, extra: Sequence[str] = ()) -> str | None:
        """Return what to start for a command's name or absolute path."""
        return name if os.path.isabs(name) else self.which(name, extra)

    def start(self, argv: Sequence[str], timeout: float = COMMAND_TIMEOUT) -> Child:
        """Start a command by its absolute path; within ``detect`` its time counts against the budget of all."""
        if self.deadline is not None:
            timeout = min(timeout, max(self.deadline - time.monotonic(), 0.0))
        return Child(argv, self.child_environ(), timeout)

    def run(self, argv: Sequence[str], timeout: float = COMMAND_TIMEOUT, extra: Sequence[str] = ()) -> Result | None:
        """Run a command by name or absolute path and return its answer; ``None`` where there is no such command."""
        path = self.program(argv[0], extra)
        if path is None:
            return None
        return self.start([path, *argv[1:]], timeout).collect()

    def native(self, script: str, *arguments: str, timeout: float = COMMAND_TIMEOUT) -> Child | None:
        """Start a stand-alone script that loads a native library, in a Python of its own.

        A library that hangs or aborts takes only that process with it.
        """
        if not sys.executable:
            self.note("native libraries were not asked: this Python doesn't know its own path")
            return None
        folder = os.path.dirname(os.path.abspath(__file__))
        return self.start([sys.executable, "-I", "-S", os.path.join(folder, script), *arguments], timeout)

    def libraries(self, name: str, folders: Iterable[str]) -> tuple[str, ...]:
        """Return what to hand to the loader, in order: the bare name, then where it exists in ``folders``."""
        found = [path for folder in folders if self.exists(path := f"{folder}/{name}")]
        return (*found,) if self.os_name == "windows" else (name, *found)

    def child_environ(self) -> dict[str, str]:
        """Return the environment for foreign processes: only what they need."""
        environ = {name: self.environ[name] for name in _PASSED if name in self.environ}
        environ["LC_ALL"] = "C"
        return environ

    # What has no file.

    def registry_keys(self, path: str, values: Sequence[str]) -> tuple[dict[str, object], ...]:
        """Return these values of each key below one of HKEY_LOCAL_MACHINE; none outside Windows."""
        found: list[dict[str, object]] = []
        if sys.platform == "win32":
            import winreg
            from contextlib import suppress

            try:
                with winreg.OpenKey(winreg.HKEY_LOCAL_MACHINE, path) as top:
                    for number in range(winreg.QueryInfoKey(top)[0]):
                        # "Properties" is closed to users, and not every adapter has every value.
                        with suppress(OSError), winreg.OpenKey(top, winreg.EnumKey(top, number)) as inner:
                            found.append({})
                            for name in values:
                                with suppress(OSError):
                                    found[-1][name] = winreg.QueryValueEx(inner, name)[0]
            except OSError as error:
                self.note(f"the registry could not be read: {error}")
        return tuple(found)

    def hostname(self) -> str | None:
        """Return the host name that processes see."""
        name = self.read_line("/proc/sys/kernel/hostname") or self.read_line("/etc/hostname")
        return name or self.environ.get("HOSTNAME")

    def glibc(self) -> str | None:
        """Return the version of the running C library if it is glibc."""
        try:
            name, _, version = (os.confstr("CS_GNU_LIBC_VERSION") or "").partition(" ")
        except (AttributeError, OSError, ValueError):
            return None  # musl, macOS and Windows don't know the question
        return version or None if name == "glibc" else None


def _is_program(path: str) -> bool:
    return os.path.isfile(path) and os.access(path, os.X_OK)


def real_system(environ: Mapping[str, str]) -> System:
    """Return the running machine with this environment."""
    name = {"linux": "linux", "win32": "windows", "cygwin": "windows", "darwin": "macos"}.get(
        sys.platform, sys.platform
    )
    if os.name == "posix":
        kernel = os.uname()
        return System(environ=environ, os_name=name, arch=kernel.machine, kernel_release=kernel.release)
    # A 32-bit process on 64-bit Windows sees its own architecture in the first variable only.
    arch = environ.get("PROCESSOR_ARCHITEW6432") or environ.get("PROCESSOR_ARCHITECTURE")
    return System(environ=environ, os_name=name, arch=arch, kernel_release=None)
