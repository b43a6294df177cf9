"""Setting an environment aside and bringing it back."""

from __future__ import annotations

import os
import shutil
import time
from typing import TYPE_CHECKING

import pytest

from install.helpers import contents
from torchinstall.errors import InstallError, TargetError
from torchinstall.install import trees as module
from torchinstall.install.snapshot import Snapshot
from torchinstall.install.trees import STATE_DIR

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def env(tmp_path):
    """An environment with a package, its launcher, a man page outside, links, modes and a lib64."""
    prefix = tmp_path / "env"
    site = prefix / "lib" / "python3.11" / "site-packages"
    for folder in (site / "torch" / "lib", site / "torch-1.dist-info", site / "torch" / "__pycache__", prefix / "bin"):
        folder.mkdir(parents=True)
    (prefix / "lib64").symlink_to("lib")
    (prefix / "share" / "man").mkdir(parents=True)
    (site / "torch" / "__init__.py").write_text("old\n")
    (site / "torch" / "lib" / "libtorch.so.1").write_bytes(b"old" * 1000)
    (site / "torch" / "lib" / "libtorch.so").symlink_to("libtorch.so.1")
    (site / "torch" / "empty").mkdir()
    (site / "torch" / "__pycache__" / "x.pyc").write_text("cache")
    (site / "a.pth").write_text("import x\n")
    (site / "torch-1.dist-info" / "RECORD").write_text(
        'torch/__init__.py,,\n../../../bin/torchrun,,\n../../../share/man/torch.1,sha256=x,3\n"../../../share/a,b",,\n'
        "../../../../../outside-of-the-prefix,,\n"
    )
    (prefix / "share" / "man" / "torch.1").write_text("man")
    (prefix / "share" / "a,b").write_text("comma")
    (prefix / "bin" / "torchrun").write_text("#!old\n")
    (prefix / "bin" / "torchrun").chmod(0o755)
    (prefix / "bin" / "python").symlink_to("/usr/bin/python3")
    (tmp_path / "outside-of-the-prefix").write_text("not ours")
    return prefix


def roots(prefix: Path) -> list[Path]:
    site = prefix / "lib" / "python3.11" / "site-packages"
    return [site, prefix / "lib64" / "python3.11" / "site-packages", prefix / "bin"]


def spoil(prefix: Path) -> None:
    """What a half installation does: replaced, lost, new and retyped files, edits in place."""
    site = roots(prefix)[0]
    (site / "torch" / "__init__.py").unlink()
    (site / "torch" / "__init__.py").write_text("new, and longer\n")
    (site / "torch" / "lib" / "libtorch.so").unlink()
    (site / "torch" / "lib" / "libtorch.so").write_bytes(b"a file now")
    (site / "torch" / "lib" / "libtorch.so.1").unlink()
    (site / "torch" / "lib" / "libtorch.so.1").mkdir()
    (site / "torch" / "lib" / "libtorch.so.1" / "deep").write_text("x")
    (site / "torch" / "empty").rmdir()
    (site / "torch" / "empty").write_text("a file")
    shutil.rmtree(site / "torch-1.dist-info")
    (site / "torch-2.dist-info").mkdir()
    (site / "torch-2.dist-info" / "RECORD").write_text("torch/__init__.py,,\n../../../share/doc/new.txt,,\n")
    (site / "new").mkdir()
    (site / "new" / "__init__.py").write_text("")
    with (site / "a.pth").open("a") as file:
        file.write("import y\n")
    with (prefix / "bin" / "torchrun").open("a") as file:
        file.write("edited in place\n")
    (prefix / "bin" / "torchrun").chmod(0o644)
    (prefix / "bin" / "new-tool").write_text("x")
    (prefix / "share" / "man" / "torch.1").unlink()
    (prefix / "share" / "doc").mkdir()
    (prefix / "share" / "doc" / "new.txt").write_text("new")
    (prefix / ".lock").write_text("")


def test_restore_brings_back_exactly_what_was(env):
    before = contents(env.parent)
    snapshot = Snapshot.take(env, roots(env))
    spoil(env)
    assert contents(env.parent) != before
    snapshot.restore()
    assert contents(env.parent) == before
    assert (roots(env)[0] / "torch" / "__pycache__" / "x.pyc").exists()
    snapshot.restore()  # a second time changes nothing
    assert contents(env.parent) == before
    snapshot.discard()
    assert not snapshot.folder.exists()


def test_restore_without_hard_links(env, monkeypatch):
    def refuse(*_args, **_more):
        raise OSError(18, "Invalid cross-device link")

    before = contents(env.parent)
    monkeypatch.setattr(module.os, "link", refuse)
    snapshot = Snapshot.take(env, roots(env))
    spoil(env)
    snapshot.restore()
    assert contents(env.parent) == before


def test_restore_of_a_tree_that_is_gone(env):
    before = contents(env.parent)
    snapshot = Snapshot.take(env, roots(env))
    shutil.rmtree(roots(env)[0])
    shutil.rmtree(env / "bin")
    snapshot.restore()
    assert contents(env.parent) == before


def test_a_killed_run_leaves_a_snapshot_that_the_next_one_finds(env):
    before = contents(env.parent)
    Snapshot.take(env, roots(env))
    spoil(env)
    found = Snapshot.open(env)
    assert found is not None
    assert found.state == "open"
    found.restore()
    assert contents(env.parent) == before
    found.commit()
    assert Snapshot.open(env).state == "committed"


def test_a_snapshot_that_was_never_finished_is_none(env):
    snapshot = Snapshot.take(env, roots(env))
    (snapshot.folder / "manifest.json").write_text('{"schema": 1')
    assert Snapshot.open(env) is None
    (snapshot.folder / "manifest.json").unlink()
    assert Snapshot.open(env) is None


def test_a_created_environment_is_removed_whole(env):
    snapshot = Snapshot.take(env, roots(env), created=True)
    snapshot.restore()
    assert not env.exists()


@pytest.mark.skipif(os.geteuid() == 0, reason="root writes everywhere")
def test_no_permission_is_told(env):
    env.chmod(0o500)
    with pytest.raises(TargetError):
        Snapshot.take(env, roots(env))


def test_a_failure_while_setting_aside_is_told_and_leaves_nothing(env, monkeypatch):
    def full(*_args, **_more):
        raise OSError(28, "No space left on device", "somewhere")

    monkeypatch.setattr(module.os, "link", full)
    monkeypatch.setattr(module.shutil, "copy2", full)
    with pytest.raises(TargetError, match="set aside") as caught:
        Snapshot.take(env, roots(env))
    assert "No space left" in caught.value.why
    assert not (env / STATE_DIR / "snapshot").exists()


def test_what_cant_be_brought_back_is_named_and_the_snapshot_stays(env, monkeypatch):
    snapshot = Snapshot.take(env, roots(env))
    spoil(env)
    real = module.restore_file

    def fail_once(saved, live):
        if live.name == "libtorch.so":
            raise OSError(16, "Device or resource busy")
        real(saved, live)

    monkeypatch.setattr(module, "restore_file", fail_once)
    with pytest.raises(InstallError, match="couldn't be brought back") as caught:
        snapshot.restore()
    assert "libtorch.so: Device or resource busy" in caught.value.why
    assert (roots(env)[0] / "torch" / "__init__.py").read_text() == "old\n"
    monkeypatch.undo()
    Snapshot.open(env).restore()
    assert (roots(env)[0] / "torch" / "lib" / "libtorch.so").is_symlink()


def test_ten_thousand_files_take_seconds_at_most(tmp_path):
    site = tmp_path / "lib" / "site-packages"
    for folder in range(100):
        (site / f"p{folder}").mkdir(parents=True)
        for file in range(100):
            (site / f"p{folder}" / f"m{file}.py").write_text("x")
    started = time.monotonic()
    snapshot = Snapshot.take(tmp_path, [site])
    assert time.monotonic() - started < 4
    started = time.monotonic()
    snapshot.restore()
    assert time.monotonic() - started < 4
