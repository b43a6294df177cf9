"""The built wheel, installed outside the checkout, has the data in it and plans the same."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
QUESTION = ("plan", "--gpu", "RTX 5090", "--driver", "570.86", "--offline", "--json", "torch", "torchvision")


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the interpreter of an environment that has the wheel, and of our packages nothing else."""
    folder = tmp_path_factory.mktemp("wheel")
    uv = Path(sys.executable).parent / "uv"
    env = {**os.environ, "UV_OFFLINE": "1"}
    # hatchling is a development dependency, so that building needs no network.
    build = [uv, "build", "--wheel", "--quiet", "--no-build-isolation", "--python", sys.executable, "--out-dir", folder]
    subprocess.run([*build, ROOT], check=True, env=env, cwd=folder)
    wheel = next(folder.glob("torchinstall-*.whl"))
    subprocess.run([uv, "venv", "--quiet", "--python", sys.executable, folder / "env"], check=True, env=env)
    site = next((folder / "env").glob("lib/python*/site-packages"))
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(site)
    # The libraries come from the environment that runs the tests; its path file for the checkout isn't followed.
    (site / "libraries.pth").write_text(next(path for path in sys.path if path.endswith("site-packages")) + "\n")
    return folder / "env" / "bin" / "python"


def test_it_runs_from_its_own_files(installed: Path, tmp_path: Path) -> None:
    code = "import torchinstall, torchinstall.catalog.locate as l; print(torchinstall.__file__, l.find_index_data())"
    done = subprocess.run([installed, "-c", code], capture_output=True, text=True, check=True, cwd=tmp_path)
    package, data = done.stdout.split()
    assert str(ROOT) not in package
    assert Path(data) == Path(package).parent / "_index_data"
    assert (Path(data) / "schema").is_dir()
    assert (Path(data) / "prepared.bin").is_file()  # what the rows come to, made by the build hook


def test_it_plans_the_same(installed: Path, tmp_path: Path) -> None:
    here = subprocess.run(
        [sys.executable, "-m", "torchinstall", *QUESTION], capture_output=True, text=True, check=True, cwd=tmp_path
    )
    there = subprocess.run(
        [installed, "-m", "torchinstall", *QUESTION], capture_output=True, text=True, check=True, cwd=tmp_path
    )
    assert json.loads(there.stdout)["torch"] == "2.11.0"
    assert there.stdout == here.stdout


def test_the_console_script_is_declared(installed: Path) -> None:
    site = next(installed.parent.parent.glob("lib/python*/site-packages"))
    entry = next(site.glob("torchinstall-*.dist-info/entry_points.txt")).read_text("utf-8")
    assert "torchinstall = torchinstall.__main__:run" in entry


def test_it_speaks_chinese(installed: Path, tmp_path: Path) -> None:
    words = ["-m", "torchinstall", "plan", "--machine", "nofile", "--lang", "zh"]
    done = subprocess.run([installed, *words], capture_output=True, text=True, check=False, cwd=tmp_path)
    assert "无法读取机器文件 nofile" in done.stderr
