"""After uv or pip undid the choice: who did, and the project mended with the environment."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from place import UV
from world import MACHINES, World

from replica import Behaviour, Card, StubWheel

GPU = MACHINES / "gtx1080ti-580-closed"
CARD = Card("NVIDIA GeForce GTX 1080 Ti", (6, 1))
PROJECT = """\
[project]
name = "demo"
version = "1"
requires-python = ">=3.11"
dependencies = ["torch", "helper"]  # ours
"""


@pytest.fixture
def world(tmp_path: Path):
    world = World(tmp_path, Behaviour("works-cuda", cards=(CARD,)))
    helper = StubWheel(name="helper", version="1.0", python="py3", platform="any", requires=("torch>=2",))
    world.replica.add_default(helper)
    world.venv = tmp_path / ".venv"
    yield world
    world.close()


def tool(world: World, *words: str) -> None:
    import os

    env = {**os.environ, **world.environ}
    done = subprocess.run(words, cwd=world.folder, env=env, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr


def sync(world: World, *words: str) -> subprocess.CompletedProcess[str]:
    return world.run("--sync", "--sysroot", str(GPU), *words)


def test_a_uv_project(world: World) -> None:
    path = world.folder / "pyproject.toml"
    path.write_text(PROJECT)
    tool(world, UV, "sync", "-q", "--python", sys.executable)
    first = world.install(GPU.name, "torch", "--yes")
    assert first.returncode == 0, first.stdout + first.stderr
    assert world.versions()["torch"] == "2.14.1+cu126"
    # The very next sync brings the default build back: the project doesn't know.
    tool(world, UV, "sync", "-q")
    assert world.versions()["torch"] == "2.15.0+cu132"

    only_said = sync(world, "--dry-run")
    assert only_said.returncode == 0, only_said.stdout + only_said.stderr
    told = " ".join(only_said.stdout.split())
    assert "torch 2.14.1+cu126 was installed here; now it is 2.15.0+cu132, put there by uv" in told
    assert "Would do" in told
    assert "helper" in only_said.stdout
    assert path.read_text() == PROJECT

    done = sync(world)
    assert done.returncode == 0, done.stdout + done.stderr
    assert world.versions()["torch"] == "2.14.1+cu126"
    assert "Mended" in done.stdout
    assert "uv.lock was made anew" in done.stdout
    assert "# ours" in path.read_text()
    # And now it holds.
    tool(world, UV, "sync", "-q")
    assert world.versions()["torch"] == "2.14.1+cu126"
    again = sync(world, "--json")
    assert again.returncode == 0, again.stderr
    document = json.loads(again.stdout)
    assert (document["drifted"], document["mended"], document["changes"]) == (False, False, [])
    assert document["verdict"]["outcome"] == "proved"


def test_without_a_project_pip_is_named_and_undone(world: World) -> None:
    world.install(GPU.name, "torch")
    place = ["--python", str(world.venv / "bin" / "python"), "install", "-q", "--index-url", world.replica.default_url]
    tool(world, sys.executable, "-m", "pip", *place, "-U", "--force-reinstall", "torch", "helper")
    assert world.versions()["torch"] == "2.15.0+cu132"
    done = sync(world)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "put there by pip" in " ".join(done.stdout.split())
    assert "helper 1.0 requires it: torch>=2" in done.stdout
    assert world.versions()["torch"] == "2.14.1+cu126"
    assert not (world.folder / "pyproject.toml").exists()


@pytest.mark.parametrize("text", ["[project]\nname = \n", "[project\nname = 'demo'\n"])
def test_a_broken_project_is_left_alone_and_so_is_the_environment(world: World, text: str) -> None:
    world.install(GPU.name, "torch")
    path = world.folder / "pyproject.toml"
    path.write_text(text)
    done = sync(world)
    assert done.returncode == 2
    assert "isn't valid TOML" in done.stderr
    assert path.read_text() == text
    assert world.versions()["torch"] == "2.14.1+cu126"
