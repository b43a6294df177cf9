from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
import time
from pathlib import Path

import pytest

from torchinstall.errors import UsageError
from torchinstall.probe import _interrogate, target
from torchinstall.probe.detect import detect
from torchinstall.probe.fake import fake_system
from torchinstall.probe.system import real_system
from torchinstall.probe.target import interrogate


@pytest.fixture(scope="module")
def venv(tmp_path_factory):
    folder = tmp_path_factory.mktemp("env") / "env"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True)
    return folder


def python_of(venv):
    return str(venv / ("Scripts/python.exe" if os.name == "nt" else "bin/python"))


@pytest.fixture
def site(venv):
    (folder,) = venv.glob("lib/python*/site-packages") if os.name == "posix" else [venv / "Lib" / "site-packages"]
    before = set(folder.iterdir())
    yield folder
    for path in set(folder.iterdir()) - before:
        subprocess.run(["rm", "-r", str(path)], check=True)


def distribution(site, name, version, installer="pip", own=None):
    folder = site / f"{name}-{version}.dist-info"
    folder.mkdir()
    (folder / "METADATA").write_text(f"Name: {name}\nVersion: {version}\n")
    if installer:
        (folder / "INSTALLER").write_text(f"{installer}\n")
    if own:
        (site / name).mkdir()
        (site / name / "version.py").write_text(
            f"from typing import Optional\n\n__version__ = '{own}'\ncuda = '12.4'\n"
        )
        (site / name / "__init__.py").write_text("raise SystemExit('torch must not be imported')\n")


def test_virtual_environment(venv, site):
    distribution(site, "torch", "2.6.0", own="2.6.0+cu124")
    distribution(site, "torchvision", "0.21.0+cu124", installer="uv")
    distribution(site, "nvidia_cublas_cu12", "12.4.5.8")
    distribution(site, "requests", "2.32.0")
    facts = interrogate(real_system(os.environ), python_of(venv))
    python = facts.python
    assert python.version == sys.version.split()[0]
    assert python.implementation == sys.implementation.name
    assert python.bits == 64
    assert python.environment == "venv"
    assert python.externally_managed is False
    assert python.free_threaded is (sysconfig.get_config_var("Py_GIL_DISABLED") == 1)
    assert Path(python.prefix).samefile(venv)
    assert Path(python.purelib).samefile(site)
    assert Path(python.scripts).samefile(Path(python_of(venv)).parent)
    assert python.path == python_of(venv)
    assert facts.installed == {"nvidia-cublas-cu12": "12.4.5.8", "torch": "2.6.0+cu124", "torchvision": "0.21.0+cu124"}
    assert facts.installed_by == {"nvidia-cublas-cu12": "pip", "torch": "pip", "torchvision": "uv"}


def test_torch_without_metadata_is_seen(venv, site):
    (site / "torch").mkdir()
    (site / "torch" / "version.py").write_text("__version__ = '2.8.0+metax3.1'\n")
    facts = interrogate(real_system(os.environ), python_of(venv))
    assert facts.installed == {"torch": "2.8.0+metax3.1"}
    assert facts.installed_by == {}


def test_version_file_that_is_garbage_leaves_the_metadata(venv, site):
    distribution(site, "torch", "2.7.1")
    (site / "torch").mkdir()
    (site / "torch" / "version.py").write_bytes(b"\xff\xfe__version__")
    assert interrogate(real_system(os.environ), python_of(venv)).installed == {"torch": "2.7.1"}


def test_chatty_start_does_not_matter(venv, site):
    (site / "noise.pth").write_text("import sys; print('<noise>{}'); sys.stderr.write('more')\n")
    assert interrogate(real_system(os.environ), python_of(venv)).python.environment == "venv"


def test_packages_of_the_calling_environment_do_not_leak(venv, tmp_path, monkeypatch):
    distribution(tmp_path, "torch", "9.9.9")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    assert interrogate(real_system(os.environ), python_of(venv)).installed == {}


@pytest.mark.parametrize(("kind", "mark"), [("tool", "uv-receipt.toml"), ("tool", "pipx_metadata.json")])
def test_tool_environments(venv, kind, mark):
    (venv / mark).write_text("")
    try:
        assert interrogate(real_system(os.environ), python_of(venv)).python.environment == kind
    finally:
        (venv / mark).unlink()


def test_conda_environment(monkeypatch, tmp_path):
    (tmp_path / "conda-meta").mkdir()
    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    assert _interrogate.environment_kind(str(tmp_path)) == "conda"
    assert _interrogate.environment_kind("/elsewhere") == "venv"


def test_externally_managed_binds_the_installation_only(monkeypatch, tmp_path):
    (tmp_path / "EXTERNALLY-MANAGED").write_text("[externally-managed]\n")
    paths = {"stdlib": str(tmp_path)}
    monkeypatch.setattr(sysconfig, "get_path", lambda name: paths.get(name, str(tmp_path)))
    monkeypatch.setattr(sys, "base_prefix", sys.prefix)
    assert _interrogate.python_facts()["externally_managed"] is True
    monkeypatch.setattr(sys, "base_prefix", "/elsewhere")
    assert _interrogate.python_facts()["externally_managed"] is False


def test_distribution_names(tmp_path):
    for name in (
        "torch-2.6.0.dist-info",
        "Flash_Attn-2.7.4.post1.dist-info",
        "numpy-1.26.4-py3.12.egg-info",
        "x.dist-info",
    ):
        (tmp_path / name).mkdir()
    versions, _ = _interrogate.installed([str(tmp_path), str(tmp_path / "none")])
    assert versions == {"torch": "2.6.0", "flash-attn": "2.7.4.post1", "numpy": "1.26.4"}


@pytest.mark.skipif(os.name != "posix", reason="shell scripts")
@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("echo Python was not found >&2; exit 9", "exit status 9 and said: Python was not found"),
        ("exit 0", "exit status 0"),
        ("kill -ABRT $$", "SIGABRT"),
    ],
)
def test_what_is_no_python_says_so(tmp_path, text, word):
    path = tmp_path / "python"
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    with pytest.raises(UsageError) as caught:
        interrogate(real_system(os.environ), str(path))
    assert str(path) in caught.value.what
    assert word in caught.value.why
    assert caught.value.todo


@pytest.mark.parametrize("name", ["/none/such/python", "no-such-python-3.99"])
def test_what_is_not_there_says_so(name):
    with pytest.raises(UsageError) as caught:
        interrogate(real_system(os.environ), name)
    assert name in caught.value.what


@pytest.mark.skipif(os.name != "posix", reason="shell scripts")
def test_a_python_that_hangs_is_given_up(tmp_path, monkeypatch):
    monkeypatch.setattr(target, "TIMEOUT", 0.3)
    path = tmp_path / "python"
    path.write_text("#!/bin/sh\nsleep 60\n")
    path.chmod(0o755)
    start = time.monotonic()
    with pytest.raises(UsageError, match="isn't a Python"):
        interrogate(real_system(os.environ), str(path))
    assert time.monotonic() - start < 3


def test_detect_asks_the_interpreter_that_it_is_given(venv, site, cards):
    distribution(site, "torch", "2.6.0", own="2.6.0+cu124")
    machine = detect(real_system(os.environ), cards=cards, python=python_of(venv))
    assert machine.python.environment == "venv"
    assert machine.installed == {"torch": "2.6.0+cu124"}
    given = detect(real_system(os.environ), cards=cards, python=machine.python, installed={"torch": "1.0"})
    assert (given.python, given.installed) == (machine.python, {"torch": "1.0"})


def test_fake_machine_keeps_its_own_python(machine_folder):
    system = fake_system(machine_folder(python="3.12.4", installed={"torch": "2.6.0"}))
    facts = interrogate(system, sys.executable)
    assert (facts.python.version, facts.installed) == ("3.12.4", {"torch": "2.6.0"})


def test_script_needs_nothing_newer_than_python_3_6():
    """The target may be older than torchinstall's own Python: no syntax or module that 3.6 lacks."""
    import ast

    text = Path(_interrogate.__file__).read_text()
    tree = ast.parse(text, feature_version=(3, 6))
    modules = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    assert modules <= {"json", "os", "re", "struct", "sys", "sysconfig", "site"}
    assert not any(isinstance(node, ast.NamedExpr) for node in ast.walk(tree))
