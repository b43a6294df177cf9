"""The check for machines with a GPU, run here on one without: every step answers, and a contradiction is told."""

from __future__ import annotations

import importlib.machinery
import importlib.util
import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
SCRIPT = ROOT / "scripts" / "gpu_check"


def run(*options, path=""):
    return subprocess.run(
        [sys.executable, str(SCRIPT), *map(str, options)], capture_output=True, text=True, timeout=120, check=False,
        env={"PATH": path, "HOME": "/nowhere", "LC_ALL": "C.UTF-8"},
    )  # fmt: skip


@pytest.fixture(scope="module")
def script():
    loader = importlib.machinery.SourceFileLoader("gpu_check", str(SCRIPT))
    spec = importlib.util.spec_from_loader("gpu_check", loader)
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    return module


@pytest.fixture
def target(tmp_path):
    """An interpreter with a torch that says what a CPU build says, as far as this check asks it."""
    environment = tmp_path / "env"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(environment)], check=True)
    (site,) = environment.glob("lib/python*/site-packages")
    (site / "torch").mkdir()
    (site / "torch" / "__init__.py").write_text(
        "class version:\n    cuda = hip = None\n__version__ = '2.14.1+cpu'\n"
        "class cuda:\n    is_available = staticmethod(lambda: False)\n"
    )
    (site / "torch" / "version.py").write_text("__version__ = '2.14.1+cpu'\ncuda = None\nhip = None\n")
    (site / "torch-2.14.1.dist-info").mkdir()
    (site / "torch-2.14.1.dist-info" / "METADATA").write_text("Metadata-Version: 2.1\nName: torch\nVersion: 2.14.1\n")
    return environment / "bin" / "python"


def test_every_step_answers_and_is_kept(tmp_path, target):
    result = run("--python", target, "--out", tmp_path / "out")
    summary = json.loads((tmp_path / "out" / "summary.json").read_text())
    steps = {step["step"]: step for step in summary["steps"]}
    # The stand-in computes nothing, so it can't be proved; all else must go well.
    bad = {name for name, step in steps.items() if not step.get("well", True)}
    assert bad <= {"verify-json", "verify-text"}, result.stdout
    assert {"detect-json", "plan-json", "capture", "detect-captured", "torch", "verify-json"} <= set(steps)
    assert summary["contradictions"] == []
    assert result.returncode == 1
    assert json.loads((tmp_path / "out" / "01-detect-json.out").read_text())["installed"] is not None
    assert (tmp_path / "out" / "host" / "system.json").exists()
    again = run("--out", tmp_path / "out")
    assert again.returncode == 2
    assert "is there already" in again.stderr


def test_contradictions_are_told(script, tmp_path):
    check = script.Check(tmp_path, None)
    card = {"vendor": "nvidia", "compute_capability": "8.9", "uuid": "GPU-1"}
    live = {"gpus": [card], "drivers": {"nvidia": {"version": "580.95.05", "state": "ok"}}}
    check.compare(live, {"gpus": [{**card, "uuid": "GPU-0"}], "drivers": live["drivers"]})
    check.compare_torch(live, {"cuda": "13.0", "devices": [{"capability": "8.9"}]})
    assert check.contradictions == []
    check.compare(live, {"gpus": [], "drivers": {"nvidia": {"version": "580.95.05", "state": "missing"}}})
    check.compare_torch(live, {"cuda": "13.0", "devices": [{"capability": "9.0"}]})
    check.compare_torch(live, {"cuda": "13.0", "devices": []})
    check.compare_torch({"gpus": [{"vendor": "amd", "gfx": "gfx1036"}]}, {"hip": "7", "devices": [{"gfx": "gfx1100"}]})
    assert len(check.contradictions) == 5
    assert check.finish() == 1


def test_a_step_that_hangs_or_does_not_start_is_a_bad_step(script, tmp_path, monkeypatch):
    monkeypatch.setattr(script, "LIMIT", 0.2)
    check = script.Check(tmp_path, None)
    check.step("hangs", [sys.executable, "-c", "import time; time.sleep(30)"])
    check.step("absent", [str(tmp_path / "absent")])
    assert [step["well"] for step in check.steps] == [False, False]
    assert check.finish() == 1
