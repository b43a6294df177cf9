"""Which environment is meant, compared with what the real uv finds."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from install.helpers import target_at
from torchinstall.errors import InstallError, TargetError, UsageError
from torchinstall.install import preflight, uv_binary
from torchinstall.install.preflight import Space, check_space, check_target
from torchinstall.install.target import Target, find_target, is_tool_environment
from torchinstall.install.uv_binary import find_uv, uv_version
from torchinstall.model.machine import Python

THIS = f"{sys.version_info[0]}.{sys.version_info[1]}"


@pytest.fixture
def make(uv_binary):
    def make_venv(path: Path) -> Path:
        subprocess.run([uv_binary, "venv", "-q", "--python", sys.executable, str(path)], check=True)
        return path

    return make_venv


def find(cwd: Path, environ=None, **named):
    words = {"python": None, "venv": None, "system": False, **named}
    path = os.pathsep.join([str(Path(sys.base_prefix, "bin")), os.environ["PATH"]])  # the version of THIS is there
    env = {"PATH": path, "HOME": str(cwd), "PIP_CONFIG_FILE": os.devnull, "UV_NO_CONFIG": "1"}
    return find_target(**words, environ={**env, **(environ or {})}, cwd=cwd)


def uv_finds(uv_binary, cwd: Path, environ) -> str:
    """What uv itself installs into."""
    env = {"PATH": os.environ["PATH"], "HOME": str(cwd), "UV_NO_CONFIG": "1", **environ}
    words = [uv_binary, "pip", "install", "--dry-run", "--offline", "--verbose", "nothing-of-this-name"]
    done = subprocess.run(words, cwd=cwd, env=env, capture_output=True, text=True, check=False)
    (line,) = [line for line in done.stderr.splitlines() if line.startswith("Using Python")]
    return os.path.normpath(cwd / line.rpartition("environment at: ")[2])


def test_the_order_is_uvs(make, tmp_path, uv_binary):
    active, conda, above = make(tmp_path / "active"), make(tmp_path / "conda"), make(tmp_path / "work" / ".venv")
    (conda / "conda-meta").mkdir()
    (conda / "pyvenv.cfg").unlink()
    cwd = tmp_path / "work" / "deep" / "down"
    cwd.mkdir(parents=True)
    cases = [
        ({"VIRTUAL_ENV": str(active), "CONDA_PREFIX": str(conda)}, active, "VIRTUAL_ENV", "venv"),
        ({"CONDA_PREFIX": str(conda), "CONDA_DEFAULT_ENV": "conda"}, conda, "CONDA_PREFIX", "conda"),
        ({"CONDA_PREFIX": str(conda), "CONDA_DEFAULT_ENV": "base"}, above, f".venv in {tmp_path / 'work'}", "venv"),
        ({}, above, f".venv in {tmp_path / 'work'}", "venv"),
        ({"VIRTUAL_ENV": str(tmp_path / "gone")}, above, f".venv in {tmp_path / 'work'}", "venv"),
    ]
    for environ, prefix, origin, kind in cases:
        found = find(cwd, environ)
        assert (found.prefix, found.origin, found.kind) == (str(prefix), origin, kind)
        assert Path(found.python).exists()
        if kind == "venv":  # the pretended conda isn't one that uv can ask
            assert uv_finds(uv_binary, cwd, environ) == str(prefix)


def test_none_found_names_the_ways_out(tmp_path):
    with pytest.raises(UsageError, match="no virtual environment") as caught:
        find(tmp_path)
    assert any("--venv .venv" in step for step in caught.value.todo)
    assert any("--system" in step for step in caught.value.todo)


def test_venv_names_creates_and_refuses(make, tmp_path):
    there = make(tmp_path / "there")
    assert find(tmp_path, venv="there").prefix == str(there)
    planned = find(tmp_path, venv="new", python=THIS)
    assert (planned.exists, planned.created) == (False, False)
    assert Path(planned.python).exists()
    assert not (tmp_path / "new").exists()
    made = find(tmp_path, venv="new", python=THIS, create=True)
    assert (made.exists, made.created, made.origin) == (True, True, "--venv")
    assert Path(made.python).exists()
    assert find(tmp_path, venv="new", create=True).created is False
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "thesis.txt").write_text("mine")
    with pytest.raises(UsageError, match="isn't a virtual environment"):
        find(tmp_path, venv="full", create=True)
    with pytest.raises(UsageError, match=r"3\.99"):
        find(tmp_path, venv="other", python="3.99", create=True)
    assert not (tmp_path / "other").exists()


def test_python_by_path_folder_and_version(make, tmp_path):
    env = make(tmp_path / "env")
    for words in (str(env / "bin" / "python"), "env/bin/python", "env"):
        found = find(tmp_path, python=words)
        assert (found.prefix, found.origin) == (str(env), "--python")
    base = find(tmp_path, python=THIS)
    assert (base.kind, base.prefix) == ("system", None)
    assert subprocess.run([base.python, "-c", "pass"], check=False).returncode == 0
    active = find(tmp_path, {"VIRTUAL_ENV": str(env)}, python=THIS)
    assert active.prefix == str(env)
    for words in ("no/such/python", "3.99"):
        with pytest.raises(UsageError, match="Python"):
            find(tmp_path, python=words)


def test_system(make, tmp_path):
    env = make(tmp_path / ".venv")
    for named in ({"system": True}, {"environ": {"UV_SYSTEM_PYTHON": "1"}}):
        found = find(tmp_path, **named)
        assert (found.kind, found.system) == ("system", True)
        assert not found.python.startswith(str(env))


def test_the_tools_own_environment_is_never_the_target(make, tmp_path):
    tool, project = make(tmp_path / "tool"), make(tmp_path / ".venv")
    environ = {"VIRTUAL_ENV": str(tool)}
    # installed into the user's own environment, torchinstall may change it
    assert find(tmp_path, environ, own_prefix=str(tool)).prefix == str(tool)
    for mark in ("uv-receipt.toml", "pipx_metadata.json", "torchinstall-private"):
        (tool / mark).write_text("")
        assert find(tmp_path, environ, own_prefix=str(tool)).prefix == str(project)
        assert find(tmp_path, environ, own_prefix="/elsewhere").prefix == str(tool)
        for named in ({"venv": "tool"}, {"python": "tool"}):
            with pytest.raises(UsageError, match="runs from"):
                find(tmp_path, own_prefix=str(tool), **named)
        (tool / mark).unlink()


def test_uvx_environments_lie_in_a_tagged_cache(make, tmp_path):
    cached = make(tmp_path / "cache" / "archive-v0" / "abc")
    assert not is_tool_environment(cached)
    (tmp_path / "cache" / "CACHEDIR.TAG").write_text("")
    assert is_tool_environment(cached)


def test_facts_of_the_interpreter_are_taken_in():
    target = Target(python="/p/bin/python", prefix=None, origin="--python")
    facts = Python(prefix="/p", purelib="/p/site", platlib="/p/site64", scripts="/p/bin", externally_managed=True)
    whole = target.with_facts(facts)
    assert (whole.prefix, whole.purelib, whole.scripts) == ("/p", "/p/site", "/p/bin")
    assert whole.externally_managed is True


def test_uv_is_found_in_order_and_must_be_new_enough(tmp_path, monkeypatch, uv_binary):
    assert uv_version(uv_binary, os.environ).startswith("0.")
    assert find_uv({"UV": uv_binary, "PATH": ""}) == uv_binary
    old = tmp_path / "uv"
    old.write_text("#!/bin/sh\necho uv 0.4.30\n")
    old.chmod(0o755)
    # too old a one is passed over where a better one is there
    assert find_uv({"UV": str(old), "PATH": ""}) != str(old)
    monkeypatch.setattr(uv_binary_module(), "_candidates", lambda environ: [str(old)])
    with pytest.raises(InstallError, match=r"too old.*0\.4\.30"):
        find_uv({})
    monkeypatch.setattr(uv_binary_module(), "_candidates", lambda environ: [str(tmp_path / "none")])
    with pytest.raises(InstallError, match="isn't there") as caught:
        find_uv({})
    assert caught.value.todo


def uv_binary_module():
    return uv_binary


def test_a_target_that_is_externally_managed_needs_system(make, tmp_path):
    target = target_at(make(tmp_path / "env"), externally_managed=True)
    with pytest.raises(TargetError, match="externally managed") as caught:
        check_target(target)
    assert any("--venv" in step for step in caught.value.todo)
    check_target(target.replace(system=True))


def test_a_target_that_is_missing_or_read_only(make, tmp_path, monkeypatch):
    target = target_at(make(tmp_path / "env"))
    check_target(target)
    with pytest.raises(TargetError, match="has no Python"):
        check_target(target.replace(python=str(tmp_path / "gone")))
    real = os.access
    monkeypatch.setattr(preflight.os, "access", lambda path, mode: str(path) != target.scripts and real(path, mode))
    with pytest.raises(TargetError, match="can't be written") as caught:
        check_target(target)
    assert target.scripts in caught.value.what
    assert caught.value.exit_code == 7


def test_space_is_counted_by_file_system(make, tmp_path, monkeypatch):
    target = target_at(make(tmp_path / "env"))
    environ = {"UV_CACHE_DIR": str(tmp_path / "cache"), "TMPDIR": str(tmp_path)}
    usage = type("Usage", (), {"free": 1_000_000_000})
    monkeypatch.setattr("shutil.disk_usage", lambda path: usage)
    check_space(target, Space(), environ)
    # cache and environment share unpacked files where they lie on one file system
    check_space(target, Space(target=900_000_000, cache=900_000_000), environ)
    with pytest.raises(TargetError, match=r"1\.8 GB needed, 1\.0 GB free"):
        check_space(target, Space(target=900_000_000, cache=900_000_000), {**environ, "UV_LINK_MODE": "copy"})
    with pytest.raises(TargetError, match="not enough space"):
        check_space(target, Space(target=900_000_000, temp=200_000_000), environ)
