"""Round an installation: its receipt and its undoing, mirrors, hashes, the other installer, projects with locks."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from ground import MACHINE, NEW, OLD, Ground, State, freeze
from world import MACHINES, TAG, World, tree

from replica import Replica
from torchinstall.install.receipt import read_receipt


@pytest.fixture(scope="module")
def _ground(tmp_path_factory):
    made = Ground(tmp_path_factory.mktemp("ground"))
    yield made
    made.close()


@pytest.fixture
def ground(_ground):
    _ground.world.replica.heal()
    yield _ground
    _ground.back()


def inner(files: dict) -> dict:
    return {name: content for name, content in files.items() if not name.startswith(".torchinstall/")}


def test_the_last_install_is_undone(ground: Ground) -> None:
    world = ground.world
    assert ground.upgrade().returncode == 0
    receipt = read_receipt(world.venv)
    assert (receipt.torch, receipt.variant, receipt.installer) == (NEW, "cu126", "uv")
    assert ("torch", f"{NEW}+cu126") in receipt.packages
    where = ("--venv", str(world.venv))
    done = world.run("restore", *where)
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"torch {NEW}+cu126" in done.stdout
    assert f"torch {OLD}+cu126" in done.stdout
    ground.assert_as_before()
    again = world.run("restore", *where, "--json")
    assert again.returncode == 2
    assert "nothing to undo" in json.loads(again.stdout)["error"]["what"]


def test_what_came_since_is_named_when_it_goes_with_the_undoing(ground: Ground) -> None:
    world = ground.world
    assert ground.upgrade().returncode == 0
    site = next(world.venv.glob("lib/python*/site-packages"))
    info = site / "later-1.2.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: later\nVersion: 1.2\n")
    (info / "RECORD").write_text("later-1.2.dist-info/METADATA,,\nlater-1.2.dist-info/RECORD,,\n")
    done = world.run("restore", "--venv", str(world.venv), "--json")
    assert done.returncode == 0, done.stdout + done.stderr
    assert json.loads(done.stdout)["lost"] == ["later==1.2"], "torch itself was to go"


def test_a_failed_install_keeps_the_way_back_of_the_one_before(ground: Ground) -> None:
    assert ground.upgrade().returncode == 0
    upgraded = tree(ground.world.venv)
    ground.world.replica.fault("/whl/*/torch/", status=500)
    assert ground.world.install(MACHINE, f"torch=={OLD}", "torchvision").returncode != 0
    assert tree(ground.world.venv) == upgraded
    ground.world.replica.heal()
    assert ground.world.run("restore", "--venv", str(ground.world.venv)).returncode == 0
    ground.assert_as_before()


def test_restore_needs_an_environment_that_was_changed(ground: Ground, tmp_path: Path) -> None:
    done = ground.world.run("restore", "--venv", str(tmp_path / "none"))
    assert done.returncode == 2, done.stdout + done.stderr


def test_a_constraints_file_keeps_others_from_replacing_torch(ground: Ground, uv_binary: str) -> None:
    done = ground.upgrade("--write-constraints", "keep.txt")
    assert done.returncode == 0, done.stdout + done.stderr
    text = (ground.folder / "keep.txt").read_text()
    assert f"torch=={NEW}+cu126\n" in text
    (ground.folder / "keep.txt").unlink()
    again = ground.world.install(MACHINE, "torch", "torchvision", "--write-constraints", "keep.txt")
    assert again.returncode == 0, again.stdout + again.stderr
    assert (ground.folder / "keep.txt").read_text() == text, "also where nothing had to change"
    before = freeze(ground.world)
    words = [uv_binary, "pip", "install", "--python", str(ground.world.venv), "-c", "keep.txt", "torch!=2.14.1", "-q"]
    env_index = ["--default-index", ground.world.replica.default_url]
    refused = subprocess.run([*words, *env_index], cwd=ground.folder, capture_output=True, check=False)
    assert refused.returncode != 0
    assert freeze(ground.world) == before


def test_a_project_with_a_lock_is_asked_about(ground: Ground) -> None:
    lock = ground.folder / "uv.lock"
    lock.write_text("version = 1\n")
    try:
        refused = ground.upgrade()
        assert refused.returncode == 2, refused.stdout + refused.stderr
        assert "uv sync" in refused.stderr
        ground.assert_as_before()
        assert ground.upgrade("--yes").returncode == 0
    finally:
        lock.unlink()


def test_pip_by_the_command_line(ground: Ground) -> None:
    """The same plan, the same set of packages, and the same way back."""
    assert ground.upgrade().returncode == 0
    by_uv = freeze(ground.world)
    ground.back()
    done = ground.upgrade("--installer", "pip")
    assert done.returncode == 0, done.stdout + done.stderr
    assert freeze(ground.world) == by_uv
    assert read_receipt(ground.world.venv).installer == "pip"
    assert ground.world.run("restore", "--venv", str(ground.world.venv)).returncode == 0
    ground.assert_as_before()


def test_pip_that_fails_leaves_the_environment(ground: Ground, record_property) -> None:
    record_property("fault", "pip: the wheel breaks off")
    ground.world.replica.fault(f"/whl/cu126/torch-{NEW}*.whl", truncate=50_000)
    done = ground.upgrade("--installer", "pip", PIP_RETRIES="0")
    assert done.returncode in {5, 8}, done.stdout + done.stderr
    ground.assert_as_before()


def test_what_a_change_breaks_is_said(ground: Ground) -> None:
    info = next(ground.world.venv.glob("lib/python*/site-packages")) / "old_friend-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: old-friend\nVersion: 1.0\nRequires-Dist: torch<2.14\n")
    (info / "RECORD").write_text("old_friend-1.0.dist-info/METADATA,,\n")
    done = ground.upgrade()
    assert done.returncode == 0, done.stdout + done.stderr
    assert "old-friend 1.0 requires torch<2.14" in done.stdout


# Mirrors


def name_mirror(world: World, **rows: tuple[str, str]) -> None:
    """Let the data know these mirrors, as name to address and kind, and no others."""
    path = world.data / "mirrors.json"
    document = json.loads(path.read_text("utf-8"))
    like = document["mirrors"][0]
    document["mirrors"] = [
        {**like, "name": name, "aliases": [], "url": url, "kind": kind} for name, (url, kind) in rows.items()
    ]
    path.write_text(json.dumps(document), "utf-8")


@pytest.fixture
def mirror(ground: Ground):
    """A second server with the same wheels."""
    with Replica() as other:
        for wheels in ground.world.replica._variants["cu126"].values():
            for wheel in wheels:
                other.add_wheel("cu126", wheel)
        yield other


def took_from(server: Replica) -> int:
    return sum(re.fullmatch(r"/whl/cu126/torch-.*\.whl", asked.path) is not None for asked in server.requests)


@pytest.mark.parametrize("kind", ["simple", "flat"])
def test_a_mirror_by_name(ground: Ground, mirror: Replica, kind: str) -> None:
    url = f"{mirror.index_base}/{{variant}}" if kind == "simple" else f"{mirror.base}/flat/{{variant}}/"
    name_mirror(ground.world, hometown=(url, kind))
    ground.fresh_cache()
    before = took_from(ground.world.replica)
    done = ground.upgrade("--mirror", "hometown")
    assert done.returncode == 0, done.stdout + done.stderr
    assert took_from(mirror) >= 1
    assert took_from(ground.world.replica) == before
    assert ground.world.versions()["torch"] == f"{NEW}+cu126"


def test_a_flat_mirror_by_its_address(ground: Ground, mirror: Replica) -> None:
    ground.fresh_cache()
    done = ground.upgrade("--mirror", f"{mirror.base}/flat/{{variant}}/")
    assert done.returncode == 0, done.stdout + done.stderr
    assert took_from(mirror) >= 1


def test_a_name_that_nobody_knows(ground: Ground) -> None:
    done = ground.upgrade("--mirror", "atlantis")
    assert done.returncode == 2
    assert "neither the name of a mirror nor an address" in done.stderr


def test_auto_takes_the_fastest_that_has_the_build(ground: Ground, mirror: Replica) -> None:
    """One mirror is slow, one is quick but lacks the build, one is dead, and the origin is slow as well."""
    with Replica() as slow, Replica() as empty:
        wheels = [wheel for rows in ground.world.replica._variants["cu126"].values() for wheel in rows]
        for wheel in wheels:
            slow.add_wheel("cu126", wheel)
            if NEW not in wheel.version:
                empty.add_wheel("cu126", wheel)
        for server in (slow, ground.world.replica):
            server.fault("/whl/cu126/*.whl", drip=0.05, chunk=30_000)
        name_mirror(
            ground.world,
            slow=(f"{slow.index_base}/{{variant}}", "simple"),
            empty=(f"{empty.index_base}/{{variant}}", "simple"),
            dead=("http://127.0.0.1:9/{variant}", "simple"),
            quick=(f"{mirror.index_base}/{{variant}}", "simple"),
        )
        ground.fresh_cache()
        done = ground.world.run(
            "plan", "--sysroot", str(MACHINES / MACHINE), "--venv", str(ground.world.venv),
            "torch", "torchvision", "--upgrade", "--mirror", "auto", "--json",
        )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    torch = json.loads(done.stdout)["packages"][0]
    assert torch["version"] == f"{NEW}+cu126"
    assert torch["index"].startswith(mirror.base)


def test_a_mirror_with_another_file_is_refused(ground: Ground, mirror: Replica) -> None:
    """Once its page says so, once only the file itself does."""
    where = f"{mirror.index_base}/{{variant}}"
    ground.fresh_cache()
    mirror.fault("/whl/cu126/torch/", wrong_hash=True)
    done = ground.upgrade("--mirror", where)
    assert done.returncode == 5, done.stdout + done.stderr
    assert "another" in done.stderr
    mirror.heal()
    mirror.fault("/whl/cu126/torch-*.whl", wrong_hash=True)
    done = ground.upgrade("--mirror", f"{mirror.base}/flat/{{variant}}/")
    assert done.returncode == 5, done.stdout + done.stderr
    assert "damaged" in done.stderr  # its end is another: uv meets that before it has the whole for a hash
    ground.assert_as_before()


def test_a_mirror_that_nobody_vouches_for(ground: Ground, mirror: Replica) -> None:
    """The origin can't be asked: that is said, and refused where hashes are required."""
    words = ("--mirror", f"{mirror.base}/flat/{{variant}}/")
    ground.fresh_cache()
    ground.world.replica.fault("/whl/*", status=500)
    refused = ground.upgrade("--require-hashes", *words)
    assert refused.returncode == 5, refused.stdout + refused.stderr
    assert "no known hash" in refused.stderr
    ground.assert_as_before()
    done = ground.upgrade(*words)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "vouches" in done.stdout


@pytest.mark.parametrize("installer", ["uv", "pip"])
def test_hashes_are_required_and_there(ground: Ground, installer: str) -> None:
    done = ground.upgrade("--require-hashes", "--installer", installer)
    assert done.returncode == 0, done.stdout + done.stderr
    assert ground.world.versions()["torch"] == f"{NEW}+cu126"


def test_credentials_are_used_and_never_shown(ground: Ground, mirror: Replica) -> None:
    secret = mirror.base.replace("http://", "http://me:hunter2@")
    ground.fresh_cache()
    done = ground.upgrade("-v", "--mirror", f"{secret}/whl/{{variant}}")
    assert done.returncode == 0, done.stdout + done.stderr
    assert any("Authorization" in asked.headers for asked in mirror.requests)
    plan = ground.world.run(
        "plan", "--sysroot", str(MACHINES / MACHINE), "torch", "--json", "--python", TAG[2:3] + "." + TAG[3:],
        "--mirror", f"{secret}/whl/{{variant}}",
    )  # fmt: skip
    receipt = (ground.world.venv / ".torchinstall" / "receipt.json").read_text()
    for text in (done.stdout, done.stderr, plan.stdout, plan.stderr, receipt):
        assert "hunter2" not in text
    shutil.rmtree(ground.world.venv / ".torchinstall", ignore_errors=True)


def test_the_state_is_really_compared(ground: Ground) -> None:
    """What all the tests of this kind rest on: a change is seen."""
    assert ground.upgrade().returncode == 0
    after = State(ground.world)
    assert inner(after.files) != inner(ground.before.files)
    assert after.freeze != ground.before.freeze
    assert after.torch != ground.before.torch
