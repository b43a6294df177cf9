"""Fake machines: a folder in place of the machine, from which nothing of the running one leaks.

Files are read under the folder (its ``proc``, ``sys``, ``dev``, ``etc``, ``usr``), commands come from
its ``bin`` alone and native libraries from its ``lib``; ``system.json`` says what isn't a file, and
``registry.json`` holds the registry of a Windows machine.
"""

# Plain os.path: importing pathlib would cost more start-up time than all the calls here.
# ruff: noqa: PTH113, PTH115
from __future__ import annotations

import os

from torchinstall.errors import MachineFileError
from torchinstall.probe.system import System

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path
    from typing import Any

    from torchinstall.model.machine import Machine

_MAX_LINKS = 40
"""As in Linux: more links than that in one path are a loop."""


class FakeSystem(System):
    """A machine that is a folder; symbolic links, absolute ones too, end inside it."""

    def __init__(self, root: str, *, given: Machine, kernel: str | None, environ: Mapping[str, str]) -> None:
        super().__init__(environ=environ, os_name=given.os.name, arch=given.arch, kernel_release=kernel)
        self.root = root
        self.given = given

    def locate(self, path: str) -> str | None:
        """Return the real place of ``path`` under the folder, every link resolved inside it."""
        waiting = [part for part in reversed(path.split("/")) if part not in {"", "."}]
        done: list[str] = []
        links = 0
        while waiting:
            part = waiting.pop()
            if part == "..":
                del done[-1:]
                continue
            here = "/".join((self.root, *done, part))
            try:
                target = os.readlink(here)
            except (OSError, ValueError):
                done.append(part)
                continue
            links += 1
            if links > _MAX_LINKS:
                self.note(f"{path} is a loop of links")
                return None
            if target.startswith("/"):
                done.clear()
            waiting.extend(piece for piece in reversed(target.split("/")) if piece not in {"", "."})
        return "/".join((self.root, *done))

    def which(self, name: str, extra: Sequence[str] = ()) -> str | None:  # noqa: ARG002 - one folder is all there is
        """Return the command from the folder's ``bin``."""
        path = self.locate(f"/bin/{name}")
        if path is None or not os.path.isfile(path):
            return None
        if not os.access(path, os.X_OK):
            self.note(f"bin/{name} of the fake machine is not executable")
            return None
        return path

    def program(self, name: str, extra: Sequence[str] = ()) -> str | None:
        """Return the program inside the folder; an absolute path is one of the fake machine's."""
        return self.locate(name) if name.startswith("/") else self.which(name, extra)

    def libraries(self, name: str, folders: Iterable[str]) -> tuple[str, ...]:  # noqa: ARG002
        """Return the library of that name in the folder's ``lib``, if there is one."""
        path = self.locate(f"/lib/{name}")
        return (path,) if path is not None and os.path.isfile(path) else ()

    def child_environ(self) -> dict[str, str]:
        """Return the fake machine's own variables; its scripts find the shell's ordinary tools after its ``bin``."""
        environ = super().child_environ()
        environ["PATH"] = os.pathsep.join((f"{self.root}/bin", os.defpath))
        return environ

    def registry_keys(self, path: str, values: Sequence[str]) -> tuple[dict[str, object], ...]:
        """Return the keys that ``registry.json`` has under that path: a list of objects with the values."""
        import json

        text = self.read_text("/registry.json", 1024 * 1024)
        try:
            document = json.loads(text) if text else {}
            keys = document.get(path, [])
            return tuple({name: key[name] for name in values if name in key} for key in keys)
        except (ValueError, AttributeError, TypeError, RecursionError) as error:
            self.note(f"registry.json of the fake machine can't be used: {error}")
            return ()

    def glibc(self) -> str | None:
        """Return what ``system.json`` says; the running C library is another machine's."""
        return self.given.os.glibc if self.given else None


def fake_system(directory: Path) -> System:
    """Return the machine that the folder stands for.

    ``system.json`` may hold ``os`` (a name, or an object as in the machine JSON), ``os_version``, ``glibc``,
    ``musl``, ``arch``, ``kernel``, ``python``, ``environ``, ``installed`` and ``installed_by``. Raises
    ``MachineFileError`` where the folder is none or that file is broken.
    """
    from torchinstall.model.machine_json import machine_from_json

    root = str(directory.absolute())
    if not directory.is_dir():
        raise MachineFileError(
            f"{root} is not a folder", why="a fake machine is a folder of files", todo=["check the path of --sysroot"]
        )
    document = _document(directory / "system.json")
    system = document.get("os")
    os_facts = dict(system) if isinstance(system, dict) else {"name": system}
    for field, key in (("version", "os_version"), ("glibc", "glibc"), ("musl", "musl")):
        if document.get(key) is not None:
            os_facts[field] = document[key]
    # The files of a folder without a word on its system are those of Linux.
    os_facts["name"] = os_facts.get("name") or "linux"
    python = document.get("python")
    given = machine_from_json(
        {
            "os": os_facts,
            "arch": document.get("arch"),
            "python": {"version": python} if isinstance(python, str) else python,
            "installed": document.get("installed"),
            "installed_by": document.get("installed_by"),
            "environment": document.get("environ", document.get("environment")),
        }
    )
    kernel = document.get("kernel")
    if kernel is not None and not isinstance(kernel, str):
        raise MachineFileError(f"kernel in system.json is {kernel!r:.60}", why="a string is expected there")
    return FakeSystem(root, given=given, kernel=kernel or given.os.kernel, environ=given.environment)


def _document(path: Path) -> dict[str, Any]:
    import json

    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise MachineFileError(
            f"{path} can't be read: {error}",
            why="it says what isn't a file on the fake machine: os, arch, kernel, python, environ, installed",
            todo=["mend it, or take it away: every field may be absent"],
        ) from error
    if not isinstance(document, dict):
        raise MachineFileError(f"{path} holds no object", why='an object such as {"os": "linux"} is expected there')
    return document
