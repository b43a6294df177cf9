"""Each exported file is installed by its own tool, and the environment is the plan's."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from place import UV, Place
from world import TAG

from replica import StubWheel

PASCAL = ("--gpu", "GTX 1080 Ti", "--driver", "580.95.05")
BLACKWELL = ("--gpu", "RTX 5090", "--driver", "580.95.05")
PASCAL_PLAN = {"torch": "2.14.1+cu126", "torchvision": "0.29.1+cu126", "transformers": "4.60.0"}
BLACKWELL_PLAN = {"torch": "2.15.0+cu132", "torchvision": "0.29.2+cu132"}
WANTED = ("torch", "torchvision", "transformers")


def written(place: Place, kind: str, *words: str) -> Path:
    path = place.folder / {"requirements": "requirements.txt", "pylock": "pylock.toml"}[kind]
    path.write_text(place.export(kind, *words), "utf-8")
    return path


def test_requirements_by_pip_and_by_uv(place: Place) -> None:
    path = written(place, "requirements", *PASCAL, *WANTED)
    by_pip, by_uv = place.environment("r-pip"), place.environment("r-uv")
    place.pip(by_pip, "-r", str(path))
    place.uv(by_uv, "-r", str(path))
    assert place.family(by_pip) == PASCAL_PLAN
    assert place.family(by_uv) == PASCAL_PLAN


def test_a_wheel_that_was_exchanged_is_refused_by_pip(place: Place) -> None:
    text = written(place, "requirements", *PASCAL, "torch").read_text("utf-8")
    assert text.count("#sha256=") == 1
    before, _, digest = text.rpartition("#sha256=")
    path = place.folder / "exchanged.txt"
    path.write_text(f"{before}#sha256={digest[1:].rstrip()}{digest[0]}\n", "utf-8")
    with pytest.raises(AssertionError, match=r"(?i)hash"):
        place.pip(place.environment("r-bad"), "-r", str(path))


def test_requirements_of_uvs_flavour(place: Place) -> None:
    path = written(place, "requirements", *PASCAL, "--installer", "uv", *WANTED)
    assert "--hash=sha256:" in path.read_text("utf-8")
    environment = place.environment("r-uv-own")
    place.uv(environment, "-r", str(path))
    assert place.family(environment) == PASCAL_PLAN


def test_requirements_without_a_look_carry_the_variant(place: Place) -> None:
    """Offline no wheel is known by URL; the pins and their page still give the plan, in both tools."""
    path = written(place, "requirements", *PASCAL, "--offline", "torch", "torchvision")
    assert " @ " not in path.read_text("utf-8")
    by_pip, by_uv = place.environment("o-pip"), place.environment("o-uv")
    place.pip(by_pip, "-r", str(path))
    place.uv(by_uv, "-r", str(path))
    expected = {name: version for name, version in PASCAL_PLAN.items() if name != "transformers"}
    assert place.family(by_pip) == place.family(by_uv) == expected


def test_a_folder_of_this_machine_is_said(place: Place) -> None:
    folder = place.folder / "folder of wheels"
    wheel = next(w for w in place.world.replica._variants["cu126"]["torch"] if w.version == "2.14.1+cu126")
    place.world.replica.flat_dir(folder, wheel)
    place.world.replica.fault("/whl/cu126/*", status=503)
    words = ("export", "--format", "requirements", "--python", sys.executable, *PASCAL, "torch")
    done = place.world.run(*words, UV_FIND_LINKS=str(folder))
    place.world.replica.heal()
    assert done.returncode == 0, done.stderr
    assert "is a folder of this machine" in " ".join(done.stderr.split())
    path = place.folder / "from-folder.txt"
    path.write_text(done.stdout, "utf-8")
    environment = place.environment("r-folder")
    place.pip(environment, "-r", str(path))
    assert place.family(environment) == {"torch": "2.14.1+cu126"}


def test_the_default_indexs_own_build(place: Place) -> None:
    path = written(place, "requirements", *BLACKWELL, "torch", "torchvision")
    environment = place.environment("r-default")
    place.pip(environment, "-r", str(path))
    assert place.family(environment) == BLACKWELL_PLAN


def test_rocm_has_one_index_and_says_what_is_left_out(place: Place) -> None:
    done = place.world.run("export", "--format", "requirements", "--gpu", "gfx1100", "torch", "transformers")
    assert done.returncode == 0, done.stderr
    lines = [line for line in done.stdout.splitlines() if not line.startswith("#")]
    assert lines[0] == f"--index-url {place.world.replica.url('rocm7.2')}"
    assert "transformers" not in done.stdout
    assert "transformers" in done.stderr


def test_pylock_by_uv_and_by_pip(place: Place) -> None:
    path = written(place, "pylock", *PASCAL, *WANTED)
    by_uv, by_pip = place.environment("l-uv"), place.environment("l-pip")
    place.tool(UV, "pip", "sync", "-q", "--python", str(by_uv), str(path))
    place.pip(by_pip, "-r", str(path))
    assert place.family(by_uv) == PASCAL_PLAN
    assert place.family(by_pip) == PASCAL_PLAN


def test_a_check_asks_for_what_matters(place: Place) -> None:
    """A lock is right while it has the plan's builds, whatever else has come out since; offline as online."""
    lock = written(place, "pylock", *PASCAL, *WANTED)
    plain = written(place, "requirements", *PASCAL, *WANTED)
    place.world.replica.add_default(StubWheel(name="transformers", version="4.61.0", python="py3", platform="any"))
    try:
        for kind, path in (("pylock", lock), ("requirements", plain)):
            check = ("-o", str(path), "--check")
            assert "is what this machine needs" in place.export(kind, *check, *PASCAL, *WANTED)
            assert "is what this machine needs" in place.export(kind, *check, *PASCAL, *WANTED, "--offline")
            told = place.export(kind, *check, *BLACKWELL, "torch", code=3)
            assert "2.15.0" in told
            assert "-torch" in told
            path.write_text(path.read_text("utf-8").replace("0.29.1", "0.28.0"), "utf-8")
            assert "torchvision" in place.export(kind, *check, *PASCAL, *WANTED, code=3)
    finally:
        wheels = place.world.replica._default["transformers"]
        wheels[:] = [wheel for wheel in wheels if wheel.version != "4.61.0"]


def test_the_pip_part_of_a_conda_environment(place: Place) -> None:
    """conda writes the lines under ``pip:`` to a file and hands it to pip."""
    yaml = place.export("environment", *PASCAL, *WANTED)
    lines = [line.strip().removeprefix("- ") for line in yaml.splitlines()]
    inner = [json.loads(line) for line in lines if line.startswith('"')]
    path = place.folder / "conda-pip.txt"
    path.write_text("\n".join(inner), "utf-8")
    environment = place.environment("conda")
    place.pip(environment, "-U", "-r", str(path))
    assert place.family(environment) == PASCAL_PLAN
    assert f"python={sys.version_info[0]}.{sys.version_info[1]}" in yaml


class TestProject:
    """A uv project: lock, sync and run give the plan, and go on doing so."""

    TEXT = """\
# Ours.
[project]
name = "demo"
version = "1"
requires-python = ">=3.11"
dependencies = [
  "torch>=2.4",  # the framework
  "transformers",
]
"""

    def project(self, place: Place, name: str, text: str = TEXT) -> Path:
        folder = place.folder / name
        folder.mkdir()
        (folder / "pyproject.toml").write_text(text, "utf-8")
        return folder

    def export(self, place: Place, folder: Path, *words: str, code: int = 0) -> str:
        return place.export("uv", "-o", str(folder / "pyproject.toml"), *words, code=code)

    def uv(self, place: Place, folder: Path, *words: str) -> str:
        return place.tool(UV, *words, "--python", sys.executable, cwd=folder).stdout

    def test_lock_sync_and_run_give_the_plan(self, place: Place) -> None:
        folder = self.project(place, "one")
        self.export(place, folder, *PASCAL, "torch", "torchvision")
        text = (folder / "pyproject.toml").read_text("utf-8")
        assert text.startswith(self.TEXT.split('"transformers"')[0])
        self.uv(place, folder, "lock")
        self.uv(place, folder, "sync")
        assert place.family(folder / ".venv") == PASCAL_PLAN
        out = self.uv(place, folder, "run", "python", "-c", "import torch; print(torch.__version__)")
        assert out.strip() == "2.14.1+cu126"
        # A lock from before is told too.
        lock = folder / "uv.lock"
        text = lock.read_text("utf-8")
        lock.write_text(text.replace('version = "2.14.1+cu126"', 'version = "2.13.0+cu126"'), "utf-8")
        assert "uv.lock" in self.export(place, folder, "--check", *PASCAL, code=3)
        lock.write_text(text, "utf-8")
        # A later sync doesn't undo it.
        self.uv(place, folder, "sync", "--upgrade")
        assert place.family(folder / ".venv") == PASCAL_PLAN

    def test_another_card_changes_the_build_and_a_second_run_nothing(self, place: Place) -> None:
        folder = self.project(place, "two")
        path = folder / "pyproject.toml"
        self.export(place, folder, *PASCAL, "torch", "torchvision")
        self.uv(place, folder, "sync")
        first = path.read_text("utf-8")
        self.export(place, folder, *PASCAL, "torch", "torchvision")
        assert path.read_text("utf-8") == first
        assert "is what this machine needs" in self.export(place, folder, "--check", *PASCAL)
        told = self.export(place, folder, "--check", *BLACKWELL, code=3)
        assert "-" in told
        assert "torch==2.15.0" in told
        assert path.read_text("utf-8") == first
        self.export(place, folder, *BLACKWELL, "torch", "torchvision")
        self.uv(place, folder, "sync")
        assert place.family(folder / ".venv") == {**BLACKWELL_PLAN, "transformers": "4.60.0"}

    def test_two_kinds_of_machines_in_one_project(self, place: Place) -> None:
        folder = self.project(place, "extras")
        self.export(
            place, folder, "--gpu", "GTX 1080 Ti", "--gpu", "RTX 5090", "--driver", "580.95.05", "torch", "torchvision"
        )
        self.uv(place, folder, "lock")
        for extra, torch in (("cu126", "2.14.1+cu126"), ("cu132", "2.15.0+cu132")):
            self.uv(place, folder, "sync", "--extra", extra)
            assert place.family(folder / ".venv")["torch"] == torch
        # Back to one machine: no extra is left over.
        self.export(place, folder, *PASCAL, "torch", "torchvision")
        text = (folder / "pyproject.toml").read_text("utf-8")
        assert "conflicts" not in text
        assert "optional-dependencies" not in text

    def test_variants_by_name(self, place: Place) -> None:
        folder = self.project(place, "variants")
        self.export(place, folder, "--variant", "cu126,cpu", "torch")
        self.uv(place, folder, "sync", "--extra", "cpu")
        assert place.family(folder / ".venv")["torch"].endswith("+cpu")

    def test_two_platforms_are_told_by_markers(self, place: Place) -> None:
        folder = self.project(place, "platforms")
        machines = folder / "fleet.jsonl"
        linux = {
            "os": {"name": "linux", "glibc": "2.35"},
            "arch": "x86_64",
            "gpus": [],
            "python": {"version": "3.11.7"},
        }
        mac = {
            "os": {"name": "macos", "version": "15.0"},
            "arch": "arm64",
            "gpus": [{"vendor": "apple", "name": "Apple M3"}],
        }
        machines.write_text(f"{json.dumps(linux)}\n{json.dumps(mac)}\n", "utf-8")
        self.export(place, folder, "--machine", str(machines), "--offline", "torch")
        text = (folder / "pyproject.toml").read_text("utf-8")
        assert "sys_platform == 'darwin'" in text
        self.uv(place, folder, "sync")
        assert place.family(folder / ".venv")["torch"].endswith("+cpu")

    def test_a_new_project(self, place: Place) -> None:
        folder = place.folder / "New One"
        folder.mkdir()
        self.export(place, folder, *PASCAL, "torch", "torchvision", "transformers")
        self.uv(place, folder, "sync")
        assert place.family(folder / ".venv") == PASCAL_PLAN

    def test_what_the_project_requires_counts(self, place: Place) -> None:
        folder = self.project(place, "older", self.TEXT.replace("torch>=2.4", "torch>=2.4,<2.14"))
        self.export(place, folder, *PASCAL)
        self.uv(place, folder, "sync")
        assert place.family(folder / ".venv")["torch"] == "2.13.0+cu126"

    def test_what_a_rocm_build_requires_comes_from_its_index(self, place: Place) -> None:
        """The default index has a package of the same name and version, put there by somebody else."""
        replica = place.world.replica
        name, version = "triton-rocm", "3.5.0"
        torch = StubWheel(
            name="torch", version="2.14.1+rocm7.2", python=TAG, platform="manylinux_2_17_x86_64",
            requires=(f"{name}=={version}",),
        )  # fmt: skip
        published = replica._variants["rocm7.2"]["torch"]
        published[:] = [wheel for wheel in published if wheel.filename != torch.filename]
        replica.add_wheel("rocm7.2", torch)
        replica.add_wheel("rocm7.2", StubWheel(name=name, version=version, python="py3", platform="any"))
        trap = (("triton_rocm/trap.py", "raise SystemExit('trapped')"),)
        replica.add_default(StubWheel(name=name, version=version, python="py3", platform="any", files=trap))
        folder = self.project(place, "rocm")
        self.export(place, folder, "--gpu", "gfx1100", "torch")
        self.uv(place, folder, "sync")
        assert place.family(folder / ".venv")["torch"] == "2.14.1+rocm7.2"
        site = next((folder / ".venv").glob("lib/python*/site-packages"))
        assert (site / "triton_rocm").is_dir()
        assert not (site / "triton_rocm" / "trap.py").exists()
