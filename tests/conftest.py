"""Every test starts from a clean environment: no settings of the person or machine that runs it."""

from __future__ import annotations

import os
import shutil
import signal
import sys
from pathlib import Path

import pytest
from hypothesis import settings

# A failure of the README's command must be the change's, and be there again the next time; who looks for new ones
# runs with HYPOTHESIS_PROFILE=explore.
settings.register_profile("same", derandomize=True, deadline=None)
settings.register_profile("explore", deadline=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "same"))

ROOT = Path(__file__).resolve().parent.parent
SHARED = ROOT.parent / "shared"

_STRIP = (
    "PIP_", "UV_", "TORCHINSTALL_", "CUDA_", "NVIDIA_", "HIP_", "HSA_", "ROCR_", "ASCEND", "CONDA_",
    "SLURM_", "LSB_", "PBS_",
)  # fmt: skip
_STRIP_NAMES = {"VIRTUAL_ENV", "PYTHONPATH", "PYTHONHOME", "LD_LIBRARY_PATH", "PYTHONDONTWRITEBYTECODE", "ROCM_VERSION"}
_PROXIES = {"http_proxy", "https_proxy", "all_proxy"}


@pytest.fixture(autouse=True)
def clean_environment(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> None:
    for name in list(os.environ):
        if name.startswith(_STRIP) or name in _STRIP_NAMES or name.lower() in _PROXIES:
            monkeypatch.delenv(name)
    home = tmp_path_factory.mktemp("home")
    monkeypatch.setenv("HOME", str(home))
    for name in ("XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME"):
        monkeypatch.setenv(name, str(home / name.lower()))
    # pip reads system-wide files too; only this switches them all off.
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("UV_NO_CONFIG", "1")
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setenv("LC_ALL", "C.UTF-8")


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of handed-over material; tests that need it are skipped in a stranger's clone."""
    if not SHARED.is_dir():
        pytest.skip("no ../shared here")
    return SHARED


@pytest.fixture(scope="session")
def uv_binary() -> str:
    """The uv that is installed with torchinstall."""
    beside = Path(sys.executable).parent / ("uv.exe" if os.name == "nt" else "uv")
    found = str(beside) if beside.exists() else shutil.which("uv")
    assert found, "uv is a dependency and must be there"
    return found


def pytest_configure() -> None:
    """Let an interrupt interrupt: a shell starts what runs in its background with SIGINT ignored, children included."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


_WITH_NEWEST = {"e2e", "export"}
"""Folders of tests that install the newest torch of the replica, which has wheels for this Python alone."""


def pytest_collection_modifyitems(items) -> None:
    """Skip what takes the newest torch where it has no wheel: torch 2.15 needs Python 3.11."""
    if sys.version_info >= (3, 11):
        return
    for item in items:
        if item.path.parent.name in _WITH_NEWEST:
            item.add_marker(pytest.mark.skip(reason="the newest torch has no wheel for this Python"))


def pytest_terminal_summary(terminalreporter) -> None:
    """Say how many faults the fault table went through."""
    passed = terminalreporter.stats.get("passed", [])
    faults = [value for report in passed for name, value in report.user_properties if name == "fault"]
    if faults:
        terminalreporter.write_line(f"fault table: {len(faults)} cases, the environment as it was after each")
