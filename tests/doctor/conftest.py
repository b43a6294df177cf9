"""Environments that are broken for real, with stub wheels and (where a wheel is at hand) with a real torch."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import venv
from pathlib import Path

import pytest

from replica import StubWheel, install

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "e2e"))

CONFIGURED = dict(os.environ)
"""The environment before the tests' own clean one: it says where wheels are at hand."""

VERSION = f"python{sys.version_info.major}.{sys.version_info.minor}"
REAL_TORCH = "2.13.0"


class Environment:
    """A virtual environment without pip, and the doctor run on it."""

    def __init__(self, folder: Path) -> None:
        self.prefix = folder
        if not folder.exists():
            venv.create(folder, with_pip=False, symlinks=True)
        self.python = folder / "bin" / "python"
        self.site = folder / "lib" / VERSION / "site-packages"
        self.wheels = ""

    def add(self, name: str, version: str, **fields: object) -> None:
        install(StubWheel(name, version, **fields), self.site)  # type: ignore[arg-type]

    def doctor(self, *words: str, cwd: Path | None = None, **environ: str):
        """Return the exit code and the document of ``doctor --json``."""
        env = {**os.environ, "TORCHINSTALL_INDEX_DATA": str(ROOT / "index_data"), **environ}
        done = subprocess.run(
            [sys.executable, "-m", "torchinstall", "doctor", "--json", "--python", str(self.python), *words],
            cwd=cwd or self.prefix.parent, env=env, capture_output=True, text=True, timeout=120, check=False,
            stdin=subprocess.DEVNULL,
        )  # fmt: skip
        assert "bug in torchinstall" not in done.stderr, done.stderr
        return done.returncode, json.loads(done.stdout)


@pytest.fixture
def environment(tmp_path: Path) -> Environment:
    return Environment(tmp_path / "env")


def _wheel() -> Path | None:
    """Return a real torch wheel of a find-links folder that pip or uv is set to, ``None`` where there is none."""
    from torchinstall.install.settings import read_settings

    tag = f"cp{sys.version_info.major}{sys.version_info.minor}"
    for folder in read_settings(CONFIGURED, cwd=Path.cwd()).find_links:
        found = sorted(Path(folder).glob(f"torch-{REAL_TORCH}+cpu-{tag}-*.whl")) if "://" not in folder else []
        if found:
            return found[0]
    return None


NEEDED = ("filelock", "fsspec", "jinja2", "networkx", "setuptools", "sympy")
"""What torch requires and doesn't import: stubs stand in, so that an installer finds nothing missing."""


@pytest.fixture(scope="session")
def real(tmp_path_factory, uv_binary: str) -> Environment:
    """An environment with a real torch, installed once; a test that breaks it mends it."""
    wheel = _wheel()
    if wheel is None:
        pytest.skip("no folder of wheels is configured that has a real torch for this Python")
    made = Environment(tmp_path_factory.mktemp("real") / "env")
    for name in NEEDED:
        made.add(name, "80.0.0" if name == "setuptools" else "2026.1" if name == "fsspec" else "4.0")
    import typing_extensions

    made.add("typing_extensions", "4.15.0")
    shutil.rmtree(made.site / "typing_extensions")
    shutil.copy(typing_extensions.__file__, made.site)
    command = [uv_binary, "pip", "install", "--quiet", "--no-deps", "--offline", "--python", str(made.python)]
    command.append(str(wheel))
    subprocess.run(command, check=True, timeout=300, capture_output=True)
    made.wheels = str(wheel.parent)
    return made
