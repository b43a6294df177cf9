"""A real torch survives what a failing or killed upgrade does. TORCHINSTALL_TEST_WHEELS names a folder with one.

The folder has a CPU wheel of torch for this Python; its dependencies come from the index that uv is configured with.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from ground import kill_group, wait_for
from world import MACHINES, TAG, World

from replica import Behaviour
from torchinstall.install.journal import left_behind
from torchinstall.install.snapshot import Snapshot

FOLDER = os.environ.get("TORCHINSTALL_TEST_WHEELS")
INDEX = os.environ.get("UV_DEFAULT_INDEX") or os.environ.get("UV_INDEX_URL") or os.environ.get("PIP_INDEX_URL")
pytestmark = [
    pytest.mark.real,
    pytest.mark.slow,
    pytest.mark.skipif(FOLDER is None, reason="TORCHINSTALL_TEST_WHEELS names no folder with a real torch"),
]
MATMUL = "import torch; a = torch.arange(64.0).reshape(8, 8); print(torch.__version__, (a @ a).sum().item())"


@pytest.fixture(scope="module")
def _world(tmp_path_factory):
    wheel = next(Path(FOLDER).glob(f"torch-*+cpu-{TAG}-*.whl"))
    version = wheel.name.split("-")[1]

    def acting(build):
        return Behaviour("segfault-import") if build.torch != version.partition("+")[0] else None

    made = World(tmp_path_factory.mktemp("real"), acting)
    made.version = version
    yield made
    made.close()


@pytest.fixture
def world(_world, uv_binary):
    if not _world.venv.exists():
        subprocess.run([uv_binary, "venv", "-q", "--python", sys.executable, _world.venv], check=True)
        words = [uv_binary, "pip", "install", "-q", "--python", _world.venv, "--find-links", FOLDER]
        words += ["--default-index", INDEX] if INDEX else []
        subprocess.run([*words, f"torch=={_world.version}"], check=True)
        matmul(_world)  # so that byte code is there
    return _world


def matmul(world: World) -> str:
    python = str(world.venv / "bin" / "python")
    return subprocess.run([python, "-c", MATMUL], capture_output=True, text=True, check=True).stdout


def listing(world: World) -> dict[str, tuple[int, int]]:
    return {
        str(path): (path.lstat().st_size, path.lstat().st_mtime_ns)
        for path in world.venv.rglob("*")
        if "__pycache__" not in path.parts and not path.is_dir()
    }


def upgrade(world: World) -> subprocess.CompletedProcess[str]:
    return world.install("cpu-only", "torch", "--upgrade")


def test_a_failing_upgrade(world: World, record_property) -> None:
    record_property("fault", "a real torch, and an upgrade that dies in verify")
    before, product = listing(world), matmul(world)
    assert product.startswith(world.version)
    done = upgrade(world)
    assert done.returncode == 6, done.stdout + done.stderr
    assert "as it was" in done.stdout
    assert listing(world) == before
    assert matmul(world) == product


def test_killed_in_the_middle(world: World, record_property) -> None:
    record_property("fault", "a real torch, and an upgrade that is killed")
    before, product = listing(world), matmul(world)
    command = [sys.executable, "-m", "torchinstall", "--venv", str(world.venv), "torch", "--upgrade"]
    command += ["--sysroot", str(MACHINES / "cpu-only")]
    env = {**os.environ, **world.environ}
    site = next(world.venv.glob("lib/python*/site-packages"))
    process = subprocess.Popen(command, env=env, cwd=world.folder, stdin=subprocess.DEVNULL, start_new_session=True)
    wait_for(lambda: not (site / f"torch-{world.version}.dist-info").exists(), 60)
    kill_group(process)
    process.wait(10)
    assert left_behind(world.venv) is not None
    assert listing(world) != before
    done = upgrade(world)
    assert done.returncode == 6, done.stdout + done.stderr
    assert "was stopped in the middle" in " ".join(done.stdout.split())
    assert listing(world) == before
    assert matmul(world) == product


def test_setting_aside_and_bringing_back_takes_seconds(world: World) -> None:
    site = next(world.venv.glob("lib/python*/site-packages"))
    began = time.monotonic()
    snapshot = Snapshot.take(world.venv, [site, world.venv / "bin"])
    aside = time.monotonic() - began
    subprocess.run(["rm", "-rf", site / "torch"], check=True)
    began = time.monotonic()
    snapshot.restore()
    back = time.monotonic() - began
    snapshot.discard()
    print(f"set aside in {aside:.2f} s, brought back in {back:.2f} s")
    assert aside + back < 3
    assert matmul(world).startswith(world.version)
