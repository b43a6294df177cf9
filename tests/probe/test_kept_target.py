"""The kept answer of an interpreter serves only while nothing has changed that it rests on."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

import pytest

from torchinstall.probe import kept_target
from torchinstall.probe.system import real_system
from torchinstall.probe.target import TargetFacts, TargetQuestion


@pytest.fixture
def python(tmp_path: Path) -> Path:
    """Return the interpreter of an environment of its own, all of it made an hour ago."""
    import venv

    venv.create(tmp_path / "env", symlinks=True, with_pip=False)
    site = next((tmp_path / "env").glob("lib/python*/site-packages"))
    (site / "torch-2.6.0.dist-info").mkdir()
    (site / "torch").mkdir()
    (site / "torch" / "version.py").write_text("__version__ = '2.6.0+cu124'\n", "utf-8")
    age(tmp_path / "env")
    return tmp_path / "env" / "bin" / "python"


def age(folder: Path, seconds: float = 3600) -> None:
    then = time.time() - seconds
    for path in (folder, *folder.rglob("*")):
        if not path.is_symlink():
            os.utime(path, (then, then))


def ask(python: Path, keep_in: Path) -> tuple[TargetFacts, bool]:
    """Return the facts, and whether the interpreter had to be started."""
    question = TargetQuestion(real_system(os.environ), str(python), keep_in=str(keep_in))
    return question.answer(), question._child is not None


def site_of(python: Path) -> Path:
    return next(python.parent.parent.glob("lib/python*/site-packages"))


def test_the_second_time_no_python_is_started(python: Path, tmp_path: Path) -> None:
    first, asked = ask(python, tmp_path / "kept")
    assert asked
    assert first.installed == {"torch": "2.6.0+cu124"}
    second, asked = ask(python, tmp_path / "kept")
    assert not asked
    assert second == first


@pytest.mark.parametrize("change", ["package", "version", "path file", "config"])
def test_a_change_is_seen(python: Path, tmp_path: Path, change: str) -> None:
    site = site_of(python)
    ask(python, tmp_path / "kept")
    assert not ask(python, tmp_path / "kept")[1]
    if change == "package":
        (site / "torch-2.6.0.dist-info").rename(site / "torch-2.7.0.dist-info")
        (site / "torch" / "version.py").unlink()
    elif change == "version":
        (site / "torch" / "version.py").write_text("__version__ = '2.6.0+cu126'\n", "utf-8")
    elif change == "path file":
        (site / "more.pth").write_text(f"{tmp_path}\n", "utf-8")
    else:
        with (python.parent.parent / "pyvenv.cfg").open("a", encoding="utf-8") as file:
            file.write("prompt = other\n")
    facts, asked = ask(python, tmp_path / "kept")
    assert asked
    wanted = {"package": "2.7.0", "version": "2.6.0+cu126"}.get(change, "2.6.0+cu124")
    assert facts.installed == {"torch": wanted}


def test_what_has_just_changed_is_not_kept(python: Path, tmp_path: Path) -> None:
    """Two changes within one tick of the file system's clock can't be told apart."""
    (site_of(python) / "new").mkdir()
    ask(python, tmp_path / "kept")
    assert ask(python, tmp_path / "kept")[1]


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"key": 1}', "\0", "[" * 5000])
def test_a_damaged_answer_is_passed_over(python: Path, tmp_path: Path, content: str) -> None:
    facts, _ = ask(python, tmp_path / "kept")
    (kept,) = (tmp_path / "kept").iterdir()
    kept.write_text(content, "utf-8")
    again, asked = ask(python, tmp_path / "kept")
    assert asked
    assert again == facts


def test_a_folder_that_cant_be_made_is_no_error(python: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", "utf-8")
    assert ask(python, tmp_path / "file" / "kept")[0].installed == {"torch": "2.6.0+cu124"}


def test_another_home_is_another_answer(python: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ask(python, tmp_path / "kept")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert ask(python, tmp_path / "kept")[1]


def test_what_is_kept_holds_every_place_of_the_path() -> None:
    """A folder that isn't there yet and comes later changes the answer: its absence is kept as well."""
    facts = {"python": {"prefix": "/nowhere"}, "folders": ["/nowhere/lib", *sys.path]}
    found = kept_target._rests_on("/nowhere/bin/python", facts)
    assert {"/nowhere/lib", "/nowhere/pyvenv.cfg", "/nowhere/lib/torch/version.py"} <= set(found)
