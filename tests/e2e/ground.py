"""One environment for many faults: made once, and looked at after each."""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

from world import MACHINES, TAG, World, tree

from replica import Behaviour, Card, StubWheel

MACHINE = "gtx1080ti-580-closed"
CARD = Card("NVIDIA GeForce GTX 1080 Ti", (6, 1))
INDEX = "cu126"
OLD, NEW = "2.13.0", "2.14.1"
FILES = 3000
"""In the new torch, so that linking them takes a moment."""
WHEEL = f"/whl/{INDEX}/torch-{NEW}*.whl"


def acting(behaviour: str = "works-cuda"):
    """What each build acts out: the old one works, the new one as said."""
    return lambda build: Behaviour("works-cuda" if build.torch != NEW else behaviour, cards=(CARD,))


class State:
    """What must be the same after every end but success."""

    def __init__(self, world: World) -> None:
        self.files = tree(world.venv)
        self.freeze = freeze(world)
        self.torch = imports(world)


def freeze(world: World) -> str:
    uv = str(Path(sys.executable).with_name("uv"))
    done = subprocess.run(
        [uv, "pip", "freeze", "-q", "--python", str(world.venv)], capture_output=True, text=True, check=True
    )
    return done.stdout


def imports(world: World) -> str:
    code = "import torch, torchvision; print(torch.__version__, torchvision.__version__)"
    python = str(world.venv / "bin" / "python")
    done = subprocess.run([python, "-c", code], capture_output=True, text=True, check=False)
    return done.stdout or done.stderr


class Odd(StubWheel):
    """A wheel with other bytes than its fields say; the page announces the hash that these bytes have."""

    odd = b""

    @property
    def content(self) -> bytes:  # type: ignore[override]
        return self.odd

    @property
    def _identity(self):
        return hashlib.sha256(self.odd).hexdigest(), len(self.odd)


def odd(wheel: StubWheel, content: bytes) -> StubWheel:
    made = Odd(**{name: getattr(wheel, name) for name in ("name", "version", "python", "platform")})
    object.__setattr__(made, "odd", content)
    return made


class Ground:
    """A world with torch and torchvision installed; ``back`` mends it where a fault got through."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._world: World | None = None

    @property
    def world(self) -> World:
        if self._world is None:
            self._world = World(self.folder, acting())
            self._cached_wheels()
            done = self._world.install(MACHINE, f"torch=={OLD}", "torchvision")
            assert done.returncode == 0, done.stdout + done.stderr
            self.before = State(self._world)
            shutil.copytree(self._world.venv, self.folder / "kept", symlinks=True)
        return self._world

    def _cached_wheels(self) -> None:
        """Give the new torch some weight, so that there is something to be stopped in the middle of."""
        assert self._world is not None
        files = tuple((f"torch/data/f{number}.txt", "x" * 200) for number in range(FILES))
        heavy = StubWheel(
            name="torch", version=f"{NEW}+{INDEX}", python=TAG, platform="manylinux_2_17_x86_64",
            behaviour=acting()(type("Build", (), {"torch": NEW})), files=files, filler=300_000,
        )  # fmt: skip
        self.publish(heavy)

    def publish(self, wheel: StubWheel) -> None:
        """Let a wheel take the place of the one of the same name."""
        replica = self.world.replica if self._world is not None else None
        assert replica is not None
        projects = replica._variants[INDEX][wheel.project]
        projects[:] = [other for other in projects if other.filename != wheel.filename]
        replica.add_wheel(INDEX, wheel)

    def published(self) -> StubWheel:
        return next(w for w in self.world.replica._variants[INDEX]["torch"] if w.version == f"{NEW}+{INDEX}")

    def fresh_cache(self) -> None:
        """Forget what uv has, so that everything is asked for again."""
        shutil.rmtree(self.folder / "uv-cache", ignore_errors=True)

    def asked_for_wheel(self, since: int) -> bool:
        """Tell whether the new torch itself was asked for, after so many requests."""
        return any(
            asked.path.startswith(f"/whl/{INDEX}/torch-{NEW}") and asked.path.endswith(".whl")
            for asked in self.world.replica.requests[since:]
        )

    def upgrade(self, *words: str, **more) -> subprocess.CompletedProcess[str]:
        return self.world.install(MACHINE, "torch", "torchvision", "--upgrade", *words, **more)

    def start(self, *words: str, **environ: str) -> subprocess.Popen[str]:
        """Start an upgrade in a process group of its own."""
        command = [sys.executable, "-m", "torchinstall", "--venv", str(self.world.venv)]
        command += ["--sysroot", str(MACHINES / MACHINE), "torch", "torchvision", "--upgrade", *words]
        env = {**os.environ, **self.world.environ, **environ}
        return subprocess.Popen(
            command, env=env, cwd=self.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            stdin=subprocess.DEVNULL, start_new_session=True,
        )  # fmt: skip

    def assert_as_before(self, *, files_only: bool = False) -> None:
        after = tree(self.world.venv)
        differing = [name for name in {*after, *self.before.files} if after.get(name) != self.before.files.get(name)]
        assert not differing, sorted(differing)[:8]
        if not files_only:
            assert freeze(self.world) == self.before.freeze
            assert imports(self.world) == self.before.torch

    def back(self) -> None:
        """After a test: heal the servers, and the environment where the test has failed or changed it."""
        if self._world is None:
            return
        self._world.replica.heal()
        if tree(self._world.venv) != self.before.files:
            shutil.rmtree(self._world.venv)
            shutil.copytree(self.folder / "kept", self._world.venv, symlinks=True)

    def close(self) -> None:
        if self._world is not None:
            self._world.close()


def wait_for(condition, timeout: float = 20.0) -> None:
    end = time.monotonic() + timeout
    while not condition():
        assert time.monotonic() < end, "it never came"
        time.sleep(0.002)


def kill_group(process: subprocess.Popen[str], number: int = signal.SIGKILL) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, number)
