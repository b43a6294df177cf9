"""Killed in the middle (SIGKILL, a full disk, a disk that is read-only): what the next run finds and does."""

from __future__ import annotations

import io
import os
import shutil
import subprocess
import sys
import time
import zipfile
from pathlib import Path

import pytest
from ground import MACHINE, NEW, OLD, WHEEL, Ground, kill_group, odd, wait_for
from world import tree

from torchinstall.errors import TargetError
from torchinstall.install.journal import left_behind
from torchinstall.install.records import damaged
from torchinstall.install.target import Target
from torchinstall.install.transaction import recover_target

POINTS = 20


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


def at(prefix: Path) -> Target:
    site = next(prefix.glob("lib/python*/site-packages"))
    return Target(
        python=str(prefix / "bin" / "python"), prefix=str(prefix), origin="test", purelib=str(site), platlib=str(site),
        scripts=str(prefix / "bin"),
    )  # fmt: skip


def test_killed_at_twenty_points(ground: Ground, record_property) -> None:
    """The whole group dies at a moment of the transaction; the next run undoes it by the journal alone."""
    venv = ground.world.venv
    lock = venv / ".torchinstall" / "lock"

    def begun() -> subprocess.Popen[str]:
        process = ground.start()
        wait_for(lambda: lock.exists() or process.poll() is not None)
        return process

    whole = begun()
    started = time.monotonic()
    whole.communicate(timeout=60)
    took = time.monotonic() - started
    assert whole.returncode == 0
    ground.back()

    changed = half = 0
    for point in range(POINTS):
        process = begun()
        time.sleep(took * ((point + 0.3) / POINTS) ** 2)  # closest together where files are written
        kill_group(process)
        process.communicate(timeout=30)
        if ours_aside(tree(venv)) != ours_aside(ground.before.files):
            changed += 1
            if left_behind(venv) is not None and damaged([at(venv).purelib]):
                half += 1
        recover(venv)
        if (venv / ".torchinstall" / "snapshot").exists():
            ground.back()  # it was over before the kill: nothing was to be undone
        for leftover in ("lock", "busy"):
            (venv / ".torchinstall" / leftover).unlink(missing_ok=True)
        ground.assert_as_before(files_only=point % 5 != 0)
        record_property("fault", f"killed at point {point}")
    assert changed >= POINTS // 4, "most kills fell beside the transaction: the test shows nothing"
    print(f"{changed} of {POINTS} kills left a changed tree, {half} of them a half one")


def recover(venv: Path) -> None:
    """Undo as the next run does; while the installer of the killed one is still dying, that is refused, rightly."""
    until = time.monotonic() + 30
    while True:
        try:
            recover_target(at(venv))
        except TargetError:  # noqa: PERF203 - thirty seconds of patience
            if time.monotonic() > until:
                raise
            time.sleep(0.05)
        else:
            return


def ours_aside(files: dict) -> dict:
    return {name: content for name, content in files.items() if not name.startswith(".torchinstall/")}


def test_killed_and_run_again(ground: Ground, record_property) -> None:
    record_property("fault", "killed, then the same call again")
    kill_in_the_middle(ground)
    done = ground.upgrade()
    assert done.returncode == 0, done.stdout + done.stderr
    assert "was stopped in the middle" in " ".join(done.stdout.split())
    assert ground.world.versions()["torch"] == f"{NEW}+cu126"
    assert not damaged([at(ground.world.venv).purelib])


def test_killed_and_run_again_in_vain(ground: Ground, record_property) -> None:
    """The run after the kill fails as well: what was there before the first one is there again."""
    record_property("fault", "killed, then a run that fails")
    kill_in_the_middle(ground)
    ground.fresh_cache()
    ground.world.replica.fault(WHEEL, status=404)
    done = ground.upgrade(UV_HTTP_RETRIES="0")
    assert done.returncode in {5, 8}, done.stdout + done.stderr
    ground.assert_as_before()


def kill_in_the_middle(ground: Ground) -> None:
    """Kill while the proof hangs: everything of the new build is in place, nothing is proved."""
    site = at(ground.world.venv).purelib
    process = ground.start(TORCHINSTALL_VERIFY_TIMEOUT="60")
    wait_for(lambda: list(Path(site).glob(f"torch-{NEW}*.dist-info")) != [])
    kill_group(process)
    process.communicate(timeout=30)
    assert left_behind(ground.world.venv) is not None
    assert "torch" in left_behind(ground.world.venv).words()


def test_only_we_are_killed_and_the_installer_goes_on(ground: Ground, tmp_path: Path, record_property) -> None:
    """Its child holds the lock for as long as it writes; only then the next run undoes what it did."""
    record_property("fault", "killed, with the installer still at work")
    site = at(ground.world.venv).purelib
    fake = tmp_path / "uv"
    fake.write_text(
        '#!/bin/sh\ncase "$*" in *--version*) echo \'uv 0.13.9\'; exit 0;; *"pip compile"*) exit 1;; esac\n'
        f"touch {tmp_path}/began\nsleep 1.5\nrm -rf {site}/torch\n"
    )
    fake.chmod(0o755)
    process = ground.start(UV=str(fake))
    wait_for((tmp_path / "began").exists)
    process.kill()
    process.wait(10)
    second = ground.upgrade()
    assert second.returncode == 7, second.stdout + second.stderr
    assert "still at work" in second.stderr
    wait_for(lambda: not Path(site, "torch").exists())
    time.sleep(0.3)
    assert recover_target(at(ground.world.venv))
    kill_group(process)
    ground.assert_as_before()


def test_killed_in_an_environment_that_was_being_made(ground: Ground, tmp_path: Path, record_property) -> None:
    record_property("fault", "killed in a new environment")
    world = ground.world
    former, world.venv = world.venv, tmp_path / "fresh"
    try:
        process = ground.start()
        wait_for(lambda: list(world.venv.glob("lib/python*/site-packages/torch-*.dist-info")) != [])
        kill_group(process)
        process.communicate(timeout=30)
        assert left_behind(world.venv) is not None
        shutil.rmtree(at(world.venv).purelib + "/torch", ignore_errors=True)
        done = world.install(MACHINE, "torch", "torchvision")
        assert done.returncode == 0, done.stdout + done.stderr
        assert "was stopped in the middle" in " ".join(done.stdout.split())
        assert world.versions()["torch"] == f"{NEW}+cu126"
    finally:
        world.venv = former


def test_half_a_torch_without_a_journal(ground: Ground, record_property) -> None:
    """uv alone was killed, or the disk was full: metadata says that all is well, and it isn't."""
    record_property("fault", "half a tree with whole metadata")
    site = Path(at(ground.world.venv).purelib)
    for name in ("__init__.py", "behaviour.json"):
        (site / "torch" / name).unlink()
    found = damaged([site])
    assert [(damage.name, damage.missing) for damage in found] == [("torch", 2)]
    done = ground.world.install(MACHINE, "torch==2.13.0", "torchvision")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "half installed" in " ".join(done.stdout.split())
    assert ground.world.versions()["torch"] == f"{OLD}+cu126"
    assert not damaged([site])


def test_a_slimmed_torch_that_works_is_left_alone(ground: Ground, record_property) -> None:
    """Images are made smaller by removing headers and tests; a passing kernel counts for more than RECORD."""
    record_property("fault", "files removed on purpose")
    assert ground.upgrade().returncode == 0
    site = Path(at(ground.world.venv).purelib)
    for number in range(100):
        (site / "torch" / "data" / f"f{number}.txt").unlink()
    assert [damage.missing for damage in damaged([site])] == [100]
    slim = tree(ground.world.venv)
    done = ground.world.install(MACHINE, "torch", "torchvision")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Verified" in done.stdout
    assert tree(ground.world.venv) == slim


@pytest.fixture
def small_disk(tmp_path: Path):
    """A file system of 24 MB."""
    if os.geteuid() != 0 or not sys.platform.startswith("linux"):
        pytest.skip("only root can mount a small file system")
    place = tmp_path / "disk"
    place.mkdir()
    done = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=24m", "none", place], capture_output=True, check=False)
    if done.returncode != 0:
        pytest.skip("this machine doesn't let us mount a file system")
    yield place
    subprocess.run(["umount", "-l", place], check=True)


@pytest.fixture
def on_small_disk(ground: Ground, small_disk: Path):
    """The environment, moved to the small disk."""
    world = ground.world
    former = world.venv
    world.venv = small_disk / "venv"
    done = world.install(MACHINE, f"torch=={OLD}", "torchvision")
    assert done.returncode == 0, done.stdout + done.stderr
    yield ground
    world.venv = former


def test_the_disk_is_full(on_small_disk: Ground, small_disk: Path, record_property) -> None:
    record_property("fault", "disk full")
    ground, world = on_small_disk, on_small_disk.world
    before = tree(world.venv)
    free = shutil.disk_usage(small_disk).free
    (small_disk / "ballast").write_bytes(b"x" * (free - 200_000))
    done = ground.upgrade()
    assert done.returncode == 7, done.stdout + done.stderr
    assert "not enough space" in done.stderr, "known before anything was changed"
    assert tree(world.venv) == before


def test_the_disk_fills_up_in_the_middle(on_small_disk: Ground, small_disk: Path, record_property) -> None:
    """A wheel that is far larger unpacked than anybody would guess: the installer runs into the wall."""
    record_property("fault", "disk full in the middle")
    ground, world = on_small_disk, on_small_disk.world
    good = ground.published()
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(good.content)) as source, zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as target:
        for name in source.namelist():
            data = source.read(name)
            if name.endswith("RECORD"):
                data = b"torch/zzz.bin,,40000000\n" + data
            if name != "torch/filler.bin":
                target.writestr(name, data)
        target.writestr("torch/zzz.bin", bytes(40_000_000))
    before = tree(world.venv)
    ground.fresh_cache()
    ground.publish(odd(good, out.getvalue()))
    try:
        done = ground.upgrade()
    finally:
        ground.publish(good)
        ground.fresh_cache()
    assert done.returncode == 7, done.stdout + done.stderr
    assert "the disk is full" in done.stderr
    assert tree(world.venv) == before


def test_the_disk_is_read_only(on_small_disk: Ground, small_disk: Path, record_property) -> None:
    record_property("fault", "read-only site-packages")
    ground, world = on_small_disk, on_small_disk.world
    before = tree(world.venv)
    subprocess.run(["mount", "-o", "remount,ro", small_disk], check=True)
    try:
        done = ground.upgrade()
    finally:
        subprocess.run(["mount", "-o", "remount,rw", small_disk], check=True)
    assert done.returncode == 7, done.stdout + done.stderr
    assert "can't be written" in done.stderr
    assert tree(world.venv) == before
