"""The Python interface: what a program sees that imports torchinstall."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "e2e"))

from world import MACHINES, World

import torchinstall
from replica import Behaviour, Card
from torchinstall.errors import BlockedError, UndeterminedError, UsageError, VerifyError

PASCAL = {"gpu": "GTX 1080 Ti", "driver": "580.95.05", "offline": True}
MACHINE = {
    "os": {"name": "linux", "glibc": "2.35"},
    "arch": "x86_64",
    "python": {"version": "3.12.4"},
    "gpus": [{"vendor": "nvidia", "name": "NVIDIA H100", "compute_capability": "9.0"}],
    "drivers": {"nvidia": {"version": "535.183.01", "state": "ok"}},
}


def python(code: str, cwd: Path) -> str:
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        capture_output=True,
        text=True,
        check=False,
        cwd=cwd,
        env=os.environ,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_plan_of_a_declared_machine() -> None:
    plan = torchinstall.plan("torch", "torchvision", **PASCAL)
    assert (plan.outcome, plan.variant) == ("install", "cu126")
    assert [pin.name for pin in plan.packages] == ["torch", "torchvision"]


@pytest.mark.parametrize("form", ["value", "document", "text"])
def test_plan_of_a_machine_from_elsewhere(form: str) -> None:
    from torchinstall.model.machine_json import machine_from_json

    machine = {"value": machine_from_json(MACHINE), "document": MACHINE, "text": json.dumps(MACHINE)}[form]
    plan = torchinstall.plan("torch", machine=machine, offline=True)
    assert (plan.torch, plan.variant, plan.python) == ("2.14.1", "cu126", "3.12")


def test_several_cards_and_what_cannot_be_is_an_answer() -> None:
    plan = torchinstall.plan(gpu=["GTX 1080", "RTX 5090"], driver="580.95.05", python="3.12", offline=True)
    assert plan.outcome == "blocked"
    assert [one.variant for one in plan.per_device] == ["cu126", "cu132"]


def test_detect_of_another_machine() -> None:
    machine = torchinstall.detect(sysroot=MACHINES / "rtx4090-580-open")
    assert machine.gpus is not None
    assert machine.gpus[0].compute_capability == "8.9"


def test_errors_have_what_the_command_says() -> None:
    with pytest.raises(torchinstall.TorchInstallError) as caught:
        torchinstall.plan("torch", gpu="RTX 9999 Ultra")
    assert isinstance(caught.value, UsageError)
    assert caught.value.exit_code == 2
    assert "9999" in caught.value.what


def test_diagnose_a_report(tmp_path: Path) -> None:
    text = "RuntimeError: CUDA error: no kernel image is available for execution on the device\n"
    (tmp_path / "log.txt").write_text(text)
    found = torchinstall.diagnose(str(tmp_path / "log.txt"), machine=MACHINE)
    assert "no-kernel-image" in [finding.id for finding in found.findings]


@pytest.mark.parametrize(
    "before", ["", "import torchinstall.install.uv, torchinstall.verify.run", "from torchinstall.install import uv"]
)
def test_functions_stay_functions_whatever_was_imported(before: str, tmp_path: Path) -> None:
    """The packages install and verify share their names with functions."""
    out = python(
        f"""
        {before}
        import torchinstall
        try:
            torchinstall.verify(venv="nothing-here")
        except torchinstall.TorchInstallError as error:
            print(type(error).__name__)
        from torchinstall import install
        try:
            install("torch==", venv="env")
        except torchinstall.TorchInstallError as error:
            print(type(error).__name__)
        from torchinstall.install.uv import Uv
        print(Uv.name)
        """,
        tmp_path,
    )
    assert out.split() == ["UsageError", "RequirementError", "uv"]


def test_importing_it_imports_nothing(tmp_path: Path) -> None:
    out = python(
        "import sys; before = set(sys.modules); import torchinstall; print(*set(sys.modules) - before)", tmp_path
    )
    assert sorted(out.split()) == ["torchinstall", "torchinstall._version"]
    assert set(torchinstall.__all__) <= set(dir(torchinstall))
    with pytest.raises(AttributeError, match="no attribute 'detekt'"):
        torchinstall.detekt  # noqa: B018


class TestInstall:
    @pytest.fixture
    def world(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest):
        behaviour = getattr(request, "param", "works-cuda")
        world = World(tmp_path, Behaviour(behaviour, cards=(Card("NVIDIA GeForce RTX 4090", (8, 9)),)))
        for name, value in world.environ.items():
            monkeypatch.setenv(name, value)
        monkeypatch.chdir(tmp_path)
        yield world
        world.close()

    MACHINE = MACHINES / "rtx4090-580-open"

    def test_it_installs_and_proves(self, world: World, capfd: pytest.CaptureFixture[str]) -> None:
        done = torchinstall.install("torch", venv=world.venv, sysroot=self.MACHINE)
        assert done.changed
        assert done.verdict is not None
        assert done.verdict.outcome == "proved"
        assert world.versions()["torch"] == ("2.15.0+cu132" if sys.version_info >= (3, 11) else "2.14.1+cu130")
        assert capfd.readouterr().out == "", "a library prints nothing"

    @pytest.mark.parametrize("world", ["no-kernel-image"], indirect=True)
    def test_what_fails_its_proof_is_an_error_and_gone(self, world: World) -> None:
        with pytest.raises(VerifyError) as caught:
            torchinstall.install("torch", venv=world.venv, sysroot=self.MACHINE)
        assert caught.value.exit_code == 6
        assert not world.venv.exists()

    def test_what_cannot_be_is_an_error_before_anything_changes(self, world: World) -> None:
        with pytest.raises(BlockedError):
            torchinstall.install("torch", venv=world.venv, sysroot=MACHINES / "gtx480-390")
        with pytest.raises(UndeterminedError):
            torchinstall.install("torch", venv=world.venv, sysroot=MACHINES / "buildah-build")
        assert not world.venv.exists()


def test_types_of_the_interface(tmp_path: Path) -> None:
    """A user's type checker sees functions with types, though the names are shared with packages."""
    pytest.importorskip("mypy")
    good = Path(__file__).with_name("typed.py")
    bad = tmp_path / "bad.py"
    bad.write_text('import torchinstall\n\ntorchinstall.plan(gpu=1)\ntorchinstall.install("torch", venw="x")\n')
    words = [sys.executable, "-m", "mypy", "--strict", "--no-incremental", "--config-file", os.devnull]
    env = {**os.environ, "MYPYPATH": str(Path(__file__).parents[2] / "src")}
    done = subprocess.run(
        [*words, str(good), str(bad)], capture_output=True, text=True, check=False, env=env, cwd=tmp_path
    )
    told = [line.split("error: ")[1] for line in done.stdout.splitlines() if "error: " in line]
    assert len(told) == 2, done.stdout + done.stderr
    assert told[0].startswith('Argument "gpu"')
    assert told[1].startswith('Unexpected keyword argument "venw"')
