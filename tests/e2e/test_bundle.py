"""A bundle is made in one place and installed in another, without a network."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest
from world import MACHINES, TAG, World, tree

from replica import Behaviour, Card, StubWheel

CARD = Card("NVIDIA GeForce GTX 1080 Ti", (6, 1))
MACHINE = "gtx1080ti-580-closed"
VERSION = f"{sys.version_info[0]}.{sys.version_info[1]}"


@pytest.fixture(scope="module")
def _world(tmp_path_factory):
    made = World(tmp_path_factory.mktemp("bundle"), Behaviour("works-cuda", cards=(CARD,)))
    yield made
    made.close()


@pytest.fixture
def world(_world, tmp_path):
    _world.replica.heal()
    _world.venv = tmp_path / "venv"
    return _world


def make(world: World, folder: Path, *words: str, **more) -> subprocess.CompletedProcess[str]:
    """Bundle for the Pascal machine; this Python's version stands for the other side's."""
    sysroot = () if "--machine" in words or "--gpu" in words else ("--sysroot", str(MACHINES / MACHINE))
    python = () if "--python" in words else ("--python", VERSION)
    return world.run("bundle", str(folder), "torch", "torchvision", *sysroot, *python, *words, **more)


@pytest.fixture
def bundled(world, tmp_path):
    done = make(world, tmp_path / "b", "transformers")
    assert done.returncode == 0, done.stdout + done.stderr
    return tmp_path / "b"


def test_what_is_in_it(bundled: Path) -> None:
    manifest = json.loads((bundled / "manifest.json").read_text())
    assert (manifest["torch"], manifest["variant"], manifest["python"]) == ("2.14.1", "cu126", VERSION)
    assert {row["name"] for row in manifest["files"]} == {"torch", "torchvision", "transformers"}
    assert {path.name for path in (bundled / "wheels").iterdir()} == {row["filename"] for row in manifest["files"]}
    assert all(len(row["sha256"]) == 64 and row["size"] > 0 for row in manifest["files"])
    assert (bundled / "requirements.txt").read_text().count("--hash=sha256:") == 3
    assert manifest["plan"]["outcome"] == "install"


def test_it_installs_without_a_network(world: World, bundled: Path, tmp_path: Path) -> None:
    moved = shutil.copytree(bundled, tmp_path / "over there")
    asked = len(world.replica.requests)
    place = ("--venv", str(world.venv), "--sysroot", str(MACHINES / MACHINE))
    done = world.run("install", "--from", str(moved), *place, UV_DEFAULT_INDEX="http://127.0.0.1:9/")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Verified" in done.stdout
    assert world.versions()["torch"] == "2.14.1+cu126"
    assert world.versions()["transformers"] == "4.60.0"
    assert len(world.replica.requests) == asked


def test_what_a_bundle_wants_is_said_to_come_from_it(world: World, bundled: Path) -> None:
    """Nothing of it stands on the command line, and nobody configured its folder as a source."""
    words = ("install", "--dry-run", "--from", str(bundled), "--venv", str(world.venv), "--sysroot")
    done = world.run(*words, str(MACHINES / MACHINE))
    assert done.returncode == 0, done.stdout + done.stderr
    assert "cu126 is the variant that the bundle holds" in done.stdout
    assert "torch 2.14.1+cu126 comes from the bundle" in done.stdout
    assert "configured" not in done.stdout
    assert "can't be reached" not in done.stdout
    other = world.run(*words, str(MACHINES / "k80-470"))
    assert other.returncode == 3, other.stdout + other.stderr
    assert "torch==2.14.1+cu126 (from the bundle) excludes it" in other.stdout
    assert "command line" not in other.stdout


@pytest.mark.skipif(os.geteuid() != 0 or not sys.platform.startswith("linux"), reason="only root makes a namespace")
def test_it_installs_where_there_is_no_network_at_all(world: World, bundled: Path) -> None:
    if subprocess.run(["unshare", "-n", "true"], capture_output=True, check=False).returncode != 0:
        pytest.skip("this machine gives us no network namespace")
    words = ["install", "--from", str(bundled), "--venv", str(world.venv), "--sysroot", str(MACHINES / MACHINE)]
    command = ["unshare", "-n", sys.executable, "-m", "torchinstall", *words]
    env = {**os.environ, **world.environ, "UV_CACHE_DIR": str(bundled / "empty-cache")}
    done = subprocess.run(command, env=env, cwd=world.folder, capture_output=True, text=True, check=False, timeout=100)
    assert done.returncode == 0, done.stdout + done.stderr
    assert world.versions()["torch"] == "2.14.1+cu126"


def test_plain_python_is_enough(world: World, bundled: Path, tmp_path: Path) -> None:
    words = [sys.executable, str(bundled / "install.py"), "--venv", str(world.venv), "--no-verify"]
    env = {**os.environ, "PIP_INDEX_URL": "http://127.0.0.1:9/", "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
    done = subprocess.run(words, env=env, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=100)
    assert done.returncode == 0, done.stdout + done.stderr
    assert world.versions()["torchvision"] == "0.29.1+cu126"


def test_the_script_makes_its_environment_where_one_stands(bundled: Path, tmp_path: Path) -> None:
    """As with uv: the bundle itself may lie on a medium that can't be written."""
    here = tmp_path / "here"
    here.mkdir()
    words = [sys.executable, str(bundled / "install.py"), "--no-verify"]
    env = {**os.environ, "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
    before = tree(bundled)
    done = subprocess.run(words, env=env, cwd=here, capture_output=True, text=True, check=False, timeout=100)
    assert done.returncode == 0, done.stdout + done.stderr
    assert list(here.glob(".venv/lib/python*/site-packages/torch"))
    assert tree(bundled) == before
    told = subprocess.run([*words, "--help"], capture_output=True, text=True, check=True).stdout
    assert "current directory" in told


def test_a_free_threaded_python_has_wheels_of_its_own(world: World, tmp_path: Path) -> None:
    other = VERSION if sysconfig.get_config_var("Py_GIL_DISABLED") == 1 else "3.14t"
    done = make(world, tmp_path / "b", "--python", other)
    assert done.returncode == 2, done.stdout + done.stderr
    assert f"no bundle for Python {other} can be made" in done.stderr


def test_a_changed_bundle_is_refused(world: World, bundled: Path, tmp_path: Path) -> None:
    wheel = next((bundled / "wheels").glob("torch-*"))
    content = wheel.read_bytes()
    wheel.write_bytes(content[:-1] + b"x")
    place = ("--venv", str(world.venv), "--sysroot", str(MACHINES / MACHINE))
    done = world.run("install", "--from", str(bundled), *place)
    assert done.returncode == 5, done.stdout + done.stderr
    assert "not the file that was bundled" in done.stderr
    assert not world.venv.exists()
    by_script = [sys.executable, str(bundled / "install.py"), "--venv", str(tmp_path / "v")]
    assert subprocess.run(by_script, capture_output=True, check=False).returncode == 5
    wheel.unlink()
    assert "is missing" in world.run("install", "--from", str(bundled), *place).stderr


@pytest.mark.parametrize("text", ["", "{}", '{"schema": 99}', "[]", "not json"])
def test_what_isnt_a_bundle(world: World, tmp_path: Path, text: str) -> None:
    folder = tmp_path / "odd"
    folder.mkdir()
    if text:
        (folder / "manifest.json").write_text(text)
    done = world.run("install", "--from", str(folder), "--venv", str(world.venv))
    assert done.returncode == 2, done.stdout + done.stderr
    assert "Traceback" not in done.stderr


def test_a_manifest_that_names_files_elsewhere(world: World, bundled: Path) -> None:
    path = bundled / "manifest.json"
    manifest = json.loads(path.read_text())
    manifest["files"][0]["filename"] = "../../evil.whl"
    path.write_text(json.dumps(manifest))
    assert world.run("install", "--from", str(bundled), "--venv", str(world.venv)).returncode == 2


def wheels_asked(world: World) -> int:
    return sum(asked.method == "GET" and asked.path.endswith(".whl") for asked in world.replica.requests)


def test_it_goes_on_where_it_stopped(world: World, tmp_path: Path) -> None:
    """The connection is cut after so many bytes, every time; what has come isn't asked for again."""
    folder = tmp_path / "b"
    heavy = StubWheel(
        "torch", "2.14.1+cu126", python=TAG, platform="manylinux_2_17_x86_64", filler=900_000,
        behaviour=Behaviour("works-cuda", cards=(CARD,)),
    )  # fmt: skip
    projects = world.replica._variants["cu126"]["torch"]
    former = next(wheel for wheel in projects if wheel.version == "2.14.1+cu126")
    projects.remove(former)
    world.replica.add_wheel("cu126", heavy)
    try:
        world.replica.fault("/whl/cu126/torch-2.14.1*.whl", truncate=150_000)
        first = make(world, folder)
        assert first.returncode == 8, first.stdout + first.stderr
        assert not (folder / "manifest.json").exists()
        (part,) = (folder / "wheels").glob("torch-*.part")
        assert part.stat().st_size > 400_000
        before = world.replica.bytes_sent
        second = make(world, folder)
        assert second.returncode == 0, second.stdout + second.stderr
        assert world.replica.bytes_sent - before < 900_000
        assert (folder / "manifest.json").exists()
        world.replica.heal()
        asked = len(
            [asked for asked in world.replica.requests if asked.path.endswith(".whl") and asked.method == "GET"]
        )
        assert make(world, folder).returncode == 0
        again = len(
            [asked for asked in world.replica.requests if asked.path.endswith(".whl") and asked.method == "GET"]
        )
        assert again == asked
    finally:
        projects.remove(heavy)
        world.replica.add_wheel("cu126", former)


def test_for_another_system_and_python(world: World, tmp_path: Path) -> None:
    """Windows and Python 3.13 from here; the wheels are those of the target, not of this machine."""
    other = {"python": "cp313", "platform": "win_amd64"}
    world.replica.add_wheel(
        "cu126", StubWheel("torch", "2.14.1+cu126", requires=("colorama; sys_platform == 'win32'",), **other)
    )
    world.replica.add_default(StubWheel("colorama", "1.0", python="py3", platform="any"))
    folder = tmp_path / "b"
    words = ("--os", "windows", "--arch", "x86_64", "--python", "3.13", "--gpu", "GTX 1080 Ti", "--driver", "582.16")
    done = world.run("bundle", str(folder), "torch", *words)
    assert done.returncode == 0, done.stdout + done.stderr
    names = {path.name for path in (folder / "wheels").iterdir()}
    assert names == {"torch-2.14.1+cu126-cp313-cp313-win_amd64.whl", "colorama-1.0-py3-none-any.whl"}
    refused = world.run(
        "install", "--from", str(folder), "--venv", str(world.venv), "--sysroot", str(MACHINES / MACHINE)
    )
    assert refused.returncode in {3, 5}, refused.stdout + refused.stderr
    assert not world.venv.exists()


def test_a_blocked_plan_makes_no_bundle(world: World, tmp_path: Path) -> None:
    done = make(world, tmp_path / "b", "--gpu", "GTX 1080 Ti", "--driver", "590.48")
    assert done.returncode == 3, done.stdout + done.stderr
    assert not (tmp_path / "b").exists()
    assert tree(tmp_path) == {}


def test_it_is_made_with_the_network_or_not_at_all(world: World, tmp_path: Path) -> None:
    done = make(world, tmp_path / "b", "--offline")
    assert done.returncode == 2, done.stdout + done.stderr
    assert not (tmp_path / "b").exists()
