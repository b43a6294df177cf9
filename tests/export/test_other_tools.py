"""Poetry and PDM lock and install the exported lines; skipped where they aren't on PATH."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from place import Place

PASCAL = ("--gpu", "GTX 1080 Ti", "--driver", "580.95.05", "torch", "torchvision")
HEAD = '[project]\nname = "demo"\nversion = "1"\nrequires-python = ">=3.11,<3.12"\n'


def have(place: Place, name: str, text: str, *words: str) -> dict[str, str]:
    """Let a tool install a project file; return what the environment has then."""
    tool = shutil.which(name)
    if tool is None:
        pytest.skip(f"{name} isn't on PATH")
    folder: Path = place.folder / name
    folder.mkdir()
    (folder / "pyproject.toml").write_text(text, "utf-8")
    env = {
        **os.environ, "POETRY_VIRTUALENVS_IN_PROJECT": "true", "POETRY_CACHE_DIR": str(folder / "cache"),
        "PDM_CHECK_UPDATE": "0", "PDM_IGNORE_SAVED_PYTHON": "0",
    }  # fmt: skip
    # An environment of its own: PDM would take the one that the tests run in.
    python = place.environment(f"{name}/.venv") / "bin" / "python"
    if name == "pdm":
        subprocess.run([tool, "use", "-f", str(python)], cwd=folder, env=env, check=True, capture_output=True)
    done = subprocess.run([tool, *words], cwd=folder, env=env, capture_output=True, text=True, check=False, timeout=200)
    assert done.returncode == 0, done.stdout + done.stderr
    return place.family(folder / ".venv")


def test_poetry(place: Place) -> None:
    source = f'[[tool.poetry.source]]\nname = "main"\nurl = "{place.world.replica.default_url}"\npriority = "primary"\n'
    head = f'{HEAD}dependencies = ["torch", "torchvision"]\n[tool.poetry]\npackage-mode = false\n{source}\n'
    installed = have(place, "poetry", head + place.export("poetry", *PASCAL), "install", "-n")
    assert installed == {"torch": "2.14.1+cu126", "torchvision": "0.29.1+cu126"}


def test_pdm(place: Place) -> None:
    source = f'\n[[tool.pdm.source]]\nname = "pypi"\nurl = "{place.world.replica.default_url}"\n'
    text = place.export("pdm", *PASCAL).replace("[project]\n", HEAD) + source + "\n[tool.pdm]\ndistribution = false\n"
    assert have(place, "pdm", text, "install") == {"torch": "2.14.1+cu126", "torchvision": "0.29.1+cu126"}
