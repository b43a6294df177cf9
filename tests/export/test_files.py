"""Bad input, and what must stay as it was."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from torchinstall.errors import UsageError
from torchinstall.export.difference import pinned
from torchinstall.export.dockerfile import dockerfile_text
from torchinstall.export.environment import environment_text
from torchinstall.export.places import public
from torchinstall.export.project import Part, edited, pythons_without_wheels
from torchinstall.export.requirements import requirements_text
from torchinstall.export.snippets import pdm_text, poetry_text
from torchinstall.model.plan import CatalogInfo, Pin, Plan

ROOT = Path(__file__).resolve().parents[2]
FAMILY = ("torch", "torchvision", "torchaudio")
PASCAL = ("--gpu", "GTX 1080 Ti", "--driver", "580.95.05", "--offline")


def run(*words: str, cwd: Path, **environ: str) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, "TORCHINSTALL_INDEX_DATA": str(ROOT / "index_data"), **environ}
    return subprocess.run(
        [sys.executable, "-m", "torchinstall", "export", *words],
        cwd=cwd, env=env, capture_output=True, text=True, timeout=60, check=False, stdin=subprocess.DEVNULL,
    )  # fmt: skip


def plan(
    torch: str = "2.14.1", variant: str = "cu126", index: str | None = None, platform: str = "linux_x86_64"
) -> Plan:
    place = index or f"https://whl.example/{variant}"
    local = "" if place == "default" else f"+{variant}"
    pins = tuple(
        Pin(name=name, version=f"{version}{local}", index=place)
        for name, version in [("torch", torch), ("torchvision", "0.29.1")]
    )
    return Plan(
        outcome="install", torch=torch, variant=variant, platform=platform, python="3.12", packages=pins,
        catalog=CatalogInfo(date="2026-11-30"),
    )  # fmt: skip


def project(text: str, *plans: Plan, **more: object) -> str:
    return edited(text, [Part(plan=one) for one in plans], name="demo", family=FAMILY, **more)


FULL = """\
# Made by hand.
[build-system]
requires = ["hatchling"]  # the back end

[project]
name = "demo"
version = "1"
dependencies = ["numpy>=1", "Torch"]  # short



[tool.uv]
dev-dependencies = ["pytest"]
constraint-dependencies = ["numpy<3"]
conflicts = [[{ extra = "a" }, { extra = "b" }]]

[[tool.uv.index]]
name = "corp"
url = "https://corp.example/simple"

[tool.uv.sources]
numpy = { index = "corp" }  # ours

[tool.ruff]
line-length = 88
"""


class TestProjectText:
    def test_everything_of_others_stays(self) -> None:
        lines = project(FULL, plan()).splitlines()
        missing = [line for line in FULL.splitlines() if line not in lines]
        # The two arrays that got a row of ours, and nothing else.
        assert [line.split(" =")[0] for line in missing] == ["dependencies", "constraint-dependencies"]
        assert '"numpy<3"' in "\n".join(lines)
        assert "  # short" in "\n".join(lines)

    @pytest.mark.parametrize("text", ["", FULL, FULL.replace('dependencies = ["numpy>=1", "Torch"]  # short\n', "")])
    @pytest.mark.parametrize(
        "plans", [[plan()], [plan(), plan("2.15.0", "cu132", "default")], [plan(), plan(platform="win_amd64")]]
    )
    def test_a_second_time_changes_nothing(self, text: str, plans: list[Plan]) -> None:
        once = project(text, *plans)
        assert project(once, *plans) == once

    @pytest.mark.parametrize("text", ["", FULL])
    def test_the_way_there_doesnt_show(self, text: str) -> None:
        straight = project(text, plan("2.15.0", "cu132"))
        by_extras = project(project(text, plan(), plan("2.15.0", "cu132", "default")), plan("2.15.0", "cu132"))
        assert said(by_extras) == said(straight)

    def test_the_family_is_bound_by_name_and_nothing_else(self) -> None:
        import tomlkit

        document = tomlkit.parse(project(FULL, plan())).unwrap()
        ours = [row for row in document["tool"]["uv"]["index"] if row["name"] != "corp"]
        assert [(row["url"], row["explicit"]) for row in ours] == [("https://whl.example/cu126", True)]
        sources = document["tool"]["uv"]["sources"]
        assert {name: row["index"] for name, row in sources.items()} == {
            "numpy": "corp", "torch": ours[0]["name"], "torchvision": ours[0]["name"],
        }  # fmt: skip

    def test_what_a_rocm_build_requires_is_bound_and_goes_with_it(self) -> None:
        import tomlkit

        index = "https://whl.example/rocm7.2"
        rocm = Part(plan=plan("2.14.1", "rocm7.2"), bound={"triton-rocm": index})
        once = edited(FULL, [rocm], name="demo", family=FAMILY)
        document = tomlkit.parse(once).unwrap()
        assert "triton-rocm" in document["project"]["dependencies"]
        assert document["tool"]["uv"]["sources"]["triton-rocm"]["index"] == "torchinstall-rocm7-2"
        assert edited(once, [rocm], name="demo", family=FAMILY) == once
        after = project(once, plan())
        assert "triton-rocm" not in after
        assert said(after) == said(project(FULL, plan()))

    def test_extras_exclude_each_other(self) -> None:
        import tomlkit

        document = tomlkit.parse(project(FULL, plan(), plan("2.15.0", "cu132", "default"))).unwrap()
        assert document["tool"]["uv"]["conflicts"][-1] == [{"extra": "cu126"}, {"extra": "cu132"}]
        assert document["tool"]["uv"]["conflicts"][0] == [{"extra": "a"}, {"extra": "b"}]
        assert document["project"]["optional-dependencies"]["cu132"] == ["torch==2.15.0", "torchvision==0.29.1"]

    @pytest.mark.parametrize(
        "source",
        [
            'torch = { git = "https://x.example/torch" }',
            'torch = [{ index = "corp", marker = "a" }]',
            'Torch.path = "w.whl"',
        ],
    )
    def test_sources_of_somebody_else(self, source: str) -> None:
        text = FULL.replace("[tool.uv.sources]\n", f"[tool.uv.sources]\n{source}\n")
        with pytest.raises(UsageError, match="other sources"):
            project(text, plan())
        assert "corp" in project(text, plan(), replace=True)

    @pytest.mark.parametrize(
        ("promised", "told"),
        [(">=3.8", True), (">=3.10", True), (">=3.11", False), (">=3.12,<3.13", False), ("", True)],
    )
    def test_a_python_that_the_plan_has_no_wheels_for(self, promised: str, told: bool) -> None:
        one = plan("2.15.0", "cu132").replace(pythons=("3.11", "3.12", "3.13", "3.13t"))
        line = f'requires-python = "{promised}"\n' if promised else ""
        words = pythons_without_wheels(f'[project]\nname = "x"\nversion = "1"\n{line}', one)
        assert bool(words) == told
        assert not told or '">=3.11"' in words

    def test_dependencies_made_by_the_back_end(self) -> None:
        with pytest.raises(UsageError, match="aren't in pyproject"):
            project('[project]\nname = "x"\ndynamic = ["version", "dependencies"]\n', plan())


def said(text: str) -> list[str]:
    return [line.strip() for line in text.splitlines() if line.strip()]


def test_credentials_never_reach_a_file() -> None:
    secret = plan(index="https://me:hunter2@whl.example/cu126")
    pins = tuple(pin.replace(url="https://me:hunter2@whl.example/torch.whl") for pin in secret.packages)
    secret = secret.replace(packages=pins)
    texts = [
        requirements_text(secret), requirements_text(secret, flavour="uv"), project("", secret), poetry_text(secret),
        pdm_text(secret),
    ]  # fmt: skip
    for text in texts:
        assert "hunter2" not in text
        assert "whl.example" in text
    assert public("https://h.example/a@b") == "https://h.example/a@b"


@pytest.mark.parametrize(
    "one", [plan(), plan("2.15.0", "cu132", "default"), plan("2.14.1", "rocm7.2"), plan(variant="cpu")]
)
def test_no_extra_index_ever(one: Plan) -> None:
    one = one.replace(others=("transformers",))
    made = [
        requirements_text(one), requirements_text(one, flavour="uv"), environment_text(one), dockerfile_text(one),
        poetry_text(one), pdm_text(one),
    ]  # fmt: skip
    for text in made:
        assert "extra-index" not in text
        assert one.torch in text


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("torch==2.14.1+cu126", {"torch": "2.14.1+cu126"}),
        ("torch[opt]==2.14.1+cu126 --hash=sha256:00", {"torch": "2.14.1+cu126"}),
        (
            "torch @ https://h.example/cu126/torch-2.14.1%2Bcu126-cp311-cp311-linux_x86_64.whl#sha256=0",
            {"torch": "2.14.1+cu126"},
        ),
        ('      - "torch_npu==2.14.0"', {"torch-npu": "2.14.0"}),
        ("# torch==1.0", {}),
        ("torch>=2", {}),
        ("--find-links https://h.example/whl/torch/", {}),
    ],
)
def test_what_a_line_pins(line: str, expected: dict[str, str]) -> None:
    assert pinned(line) == expected


class TestFiles:
    def test_broken_toml_is_left_alone(self, tmp_path: Path) -> None:
        path = tmp_path / "pyproject.toml"
        path.write_text("[project\nname = 1\n")
        done = run("--format", "uv", *PASCAL, cwd=tmp_path)
        assert done.returncode == 2
        assert "isn't valid TOML" in done.stderr
        assert "line 1" in done.stderr
        assert path.read_text() == "[project\nname = 1\n"

    def test_other_sources_are_left_alone(self, tmp_path: Path) -> None:
        path = tmp_path / "pyproject.toml"
        text = FULL + '[tool.uv.sources.torch]\nindex = "corp"\n'
        path.write_text(text)
        done = run("--format", "uv", *PASCAL, cwd=tmp_path)
        assert done.returncode == 2, done.stdout
        assert "--yes" in done.stderr
        assert path.read_text() == text
        assert run("--format", "uv", "--yes", *PASCAL, cwd=tmp_path).returncode == 0
        assert "torchinstall-cu126" in path.read_text()

    def test_line_ends_and_permissions_stay(self, tmp_path: Path) -> None:
        path = tmp_path / "pyproject.toml"
        path.write_bytes(FULL.replace("\n", "\r\n").encode())
        path.chmod(0o640)
        assert run("--format", "uv", *PASCAL, cwd=tmp_path).returncode == 0
        data = path.read_bytes()
        assert data.count(b"\n") == data.count(b"\r\n") > FULL.count("\n")
        assert path.stat().st_mode & 0o777 == 0o640
        assert [child.name for child in tmp_path.iterdir()] == ["pyproject.toml"]

    def test_a_read_only_project(self, tmp_path: Path) -> None:
        folder = tmp_path / "project"
        folder.mkdir()
        if os.geteuid() == 0:
            done = run("--format", "requirements", "-o", "/proc/torchinstall/requirements.txt", *PASCAL, cwd=folder)
        else:
            folder.chmod(0o555)
            done = run("--format", "requirements", "-o", "requirements.txt", *PASCAL, cwd=folder)
            folder.chmod(0o755)
        assert done.returncode == 7, done.stdout + done.stderr
        assert "can't be written" in done.stderr
        assert list(folder.iterdir()) == []

    def test_dry_run_shows_and_writes_nothing(self, tmp_path: Path) -> None:
        done = run("--format", "uv", "--dry-run", *PASCAL, cwd=tmp_path)
        assert done.returncode == 0
        assert '+    "torch",' in done.stdout
        assert list(tmp_path.iterdir()) == []

    def test_check_of_a_file(self, tmp_path: Path) -> None:
        path = tmp_path / "requirements.txt"
        assert run("--format", "requirements", "--check", *PASCAL, cwd=tmp_path).returncode == 3
        assert run("--format", "requirements", "-o", "requirements.txt", *PASCAL, cwd=tmp_path).returncode == 0
        path.write_text("# reviewed by me\n\n" + path.read_text())
        assert run("--format", "requirements", "--check", *PASCAL, cwd=tmp_path).returncode == 0
        done = run("--format", "requirements", "--check", "--cpu", "--offline", cwd=tmp_path)
        assert done.returncode == 3
        assert re.search(r"^\+torch==[0-9.]+\+cpu$", done.stdout, re.MULTILINE)

    def test_a_blocked_plan_writes_nothing(self, tmp_path: Path) -> None:
        done = run("--format", "uv", "--gpu", "GTX 1080 Ti", "--driver", "590.48.01", "--offline", cwd=tmp_path)
        assert done.returncode == 3
        assert "no longer supports" in done.stderr
        assert list(tmp_path.iterdir()) == []

    def test_several_machines_want_a_format_for_it(self, tmp_path: Path) -> None:
        done = run("--format", "requirements", "--variant", "cu126,cpu", "--offline", cwd=tmp_path)
        assert done.returncode == 2
        assert "--format uv" in done.stderr

    def test_the_format_must_be_named(self, tmp_path: Path) -> None:
        done = run("--offline", cwd=tmp_path)
        assert done.returncode == 2
        assert "requirements" in done.stderr

    def test_for_a_machine_that_somebody_reported(self, tmp_path: Path) -> None:
        smi = tmp_path / "smi.csv"
        smi.write_text("name, driver_version, compute_cap\nNVIDIA GeForce GTX 1080 Ti, 580.95.05, 6.1\n")
        done = run("--format", "requirements", "--report", str(smi), "--offline", cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        assert "torch==2.14.1+cu126" in done.stdout
        both = run("--format", "requirements", "--report", str(smi), "--machine", str(smi), cwd=tmp_path)
        assert both.returncode == 2

    def test_json(self, tmp_path: Path) -> None:
        done = run("--format", "dockerfile", "--json", *PASCAL, cwd=tmp_path)
        document = json.loads(done.stdout)
        assert document["plans"][0]["variant"] == "cu126"
        assert 'ARG TORCHINSTALL_GPU="GTX 1080 Ti"' in document["text"]


def test_options_of_a_requirements_file_are_no_packages_of_an_image() -> None:
    others = ("--extra-index-url http://user:secret@127.0.0.1/simple", "numpy")
    text = dockerfile_text(plan().replace(others=others))
    (command,) = (line for line in text.splitlines() if "torchinstall --venv" in line)
    assert command.endswith("torchvision==0.29.1 numpy")
    assert "# In your requirements file: --extra-index-url http://127.0.0.1/simple" in text


OWN = """\
[project]
name = "p"
version = "0.1"
requires-python = ">=3.11,<3.12"
"""


@pytest.mark.parametrize(
    ("own", "words", "pinned_to"),
    [
        ('dependencies = ["torch==2.12.0"]', ["torch"], "2.12.0"),
        ('dependencies = ["torch>=2.5,<2.8"]', ["torch", "torchvision"], "2.7.1"),
        ('dependencies = ["torch==2.6.0 ; sys_platform == \'win32\'"]', ["torch<2.9"], "2.8.0"),
        ('dependencies = []\n[project.optional-dependencies]\ngpu = ["torch==2.12.0"]', ["torch"], "2.12.0"),
        ('dependencies = []\n[dependency-groups]\ntrain = ["torch<2.12"]', ["torch"], "2.11.0"),
        (
            'optional-dependencies = {old = ["torch<2.9"]}\n[tool.uv]\nconflicts = [[{extra = "old"}, {extra = "x"}]]',
            ["torch==2.12.0"], "2.12.0",
        ),
    ],
)  # fmt: skip
def test_what_the_project_says_of_torch_counts_whatever_is_asked_for(
    tmp_path: Path, own: str, words: list[str], pinned_to: str
) -> None:
    file = tmp_path / "pyproject.toml"
    file.write_text(OWN + own + "\n", "utf-8")
    done = run("--format", "uv", "--gpu", "RTX 4090", "--offline", *words, cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert f'"torch=={pinned_to} ; sys_platform' in file.read_text("utf-8")


def test_what_contradicts_the_project_is_a_conflict_and_leaves_it(tmp_path: Path) -> None:
    file = tmp_path / "pyproject.toml"
    file.write_text(text := OWN + 'dependencies = ["torch==2.12.0"]\n', "utf-8")
    done = run("--format", "uv", "--gpu", "RTX 4090", "--offline", "torch==2.13.0", cwd=tmp_path)
    assert done.returncode == 3
    assert "torch==2.12.0 (from pyproject.toml)" in " ".join((done.stdout + done.stderr).split())
    assert file.read_text("utf-8") == text
