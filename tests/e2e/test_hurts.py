"""Ways in which an install once hurt what was there, or went elsewhere."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest
from world import MACHINES, World, tree

from replica import Behaviour, Card

BROKEN = Behaviour("no-kernel-image", cards=(Card("NVIDIA GeForce RTX 4090", (8, 9)),))
WORKS = Behaviour("works-cuda", cards=(Card("NVIDIA GeForce RTX 4090", (8, 9)),))
MACHINE = "rtx4090-580-open"


def start(world: World, *words: str, **environ: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "torchinstall", "--sysroot", str(MACHINES / MACHINE), *words]
    env = {**os.environ, **world.environ, **environ}
    return subprocess.Popen(
        command, env=env, cwd=world.folder, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )


def test_an_empty_folder_that_was_there_stays(make_world) -> None:
    world: World = make_world(BROKEN)
    mine = world.folder / "mine"
    mine.mkdir(mode=0o700)
    done = world.run("--venv", str(mine), "--sysroot", str(MACHINES / MACHINE), "torch")
    assert done.returncode == 6, done.stdout + done.stderr
    assert mine.is_dir(), "the folder was the user's"
    assert not list(mine.iterdir())
    assert stat.S_IMODE(mine.stat().st_mode) == 0o700


def test_parents_that_were_made_go_again(make_world) -> None:
    world: World = make_world(BROKEN)
    done = world.run("--venv", str(world.folder / "a" / "b" / "c"), "--sysroot", str(MACHINES / MACHINE), "torch")
    assert done.returncode == 6, done.stdout + done.stderr
    assert not (world.folder / "a").exists()


@pytest.mark.parametrize(
    "setting", ['[pip]\ntarget = "{}"\n', '[pip]\nprefix = "{}"\n', '[pip]\ntorch-backend = "cpu"\n',
                'override-dependencies = ["torch<2"]\n', '[pip]\npython-platform = "macos"\n']
)  # fmt: skip
def test_settings_of_uv_do_not_send_the_install_elsewhere(make_world, setting: str) -> None:
    world: World = make_world(WORKS)
    elsewhere = world.folder / "elsewhere"
    file = world.folder / "own-uv.toml"
    file.write_text(setting.format(elsewhere), "utf-8")
    done = world.install(MACHINE, "torch", UV_CONFIG_FILE=str(file), UV_NO_CONFIG="0")
    assert done.returncode == 0, done.stdout + done.stderr
    assert world.versions()["torch"] == "2.15.0+cu132"
    assert not elsewhere.exists()


@pytest.mark.parametrize("variable", ["UV_OVERRIDE", "UV_EXCLUDE"])
def test_variables_of_uv_do_not_change_the_plan(make_world, variable: str) -> None:
    world: World = make_world(WORKS)
    file = world.folder / "override.txt"
    file.write_text("torch==2.9.1\n" if variable == "UV_OVERRIDE" else "torch\n", "utf-8")
    done = world.install(MACHINE, "torch", **{variable: str(file)})
    assert done.returncode == 0, done.stdout + done.stderr
    assert world.versions()["torch"] == "2.15.0+cu132"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_stop_at_any_moment_leaves_no_environment_behind(make_world, number: int) -> None:
    world: World = make_world(WORKS)
    for delay in (0.3, 0.6, 0.9, 1.2, 1.6):
        child = start(world, "--venv", str(world.venv), "torch")
        time.sleep(delay)
        child.send_signal(number)
        out, err = child.communicate(timeout=60)
        if child.returncode == 0 or "\nDone " in out:
            break  # it was over before the signal came
        assert not world.venv.exists(), (delay, out, err)


def test_two_runs_with_the_same_new_environment(make_world) -> None:
    world: World = make_world(WORKS)
    runs = [start(world, "--venv", str(world.venv), "torch") for _ in range(2)]
    ends = [(child.communicate(timeout=120), child.returncode) for child in runs]
    codes = sorted(code for _, code in ends)
    assert codes[0] == 0, ends
    assert codes[1] in {0, 7}, ends
    assert world.versions()["torch"] == "2.15.0+cu132"


def test_the_python_that_uv_is_told_is_the_one_that_is_planned_for(make_world) -> None:
    world: World = make_world(WORKS)
    other = next(
        (str(path) for path in map(Path, ("/usr/bin/python3",)) if path.exists() and str(path) != sys.executable), None
    )
    if other is None:
        pytest.skip("one Python only")
    done = world.run("plan", "--venv", str(world.venv), "--sysroot", str(MACHINES / MACHINE), "--json", UV_PYTHON=other)
    assert done.returncode in {0, 3}
    version = subprocess.run(
        [other, "-c", "import sys; print('%d.%d' % sys.version_info[:2])"], capture_output=True, text=True, check=True
    ).stdout.strip()
    assert f'"python": "{version}"' in done.stdout


def test_an_environment_that_cannot_be_looked_into(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from torchinstall.errors import TargetError
    from torchinstall.install.target import find_target, interpreter_in

    (tmp_path / "secret" / "bin").mkdir(parents=True)

    def refuse(_path: Path) -> bool:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "is_file", refuse)
    monkeypatch.setattr(Path, "iterdir", refuse)
    assert interpreter_in(tmp_path / "secret") is None
    with pytest.raises(TargetError, match="can't be looked into"):
        find_target(python=None, venv="secret", system=False, environ=os.environ, cwd=tmp_path)


def test_a_failed_install_touches_nothing_beside_the_environment(make_world) -> None:
    world: World = make_world(BROKEN)
    (world.folder / "file").write_text("mine", "utf-8")
    keep = {name: data for name, data in tree(world.folder).items() if not name.startswith(("uv-cache", "index_data"))}
    world.install(MACHINE, "torch")
    after = {name: data for name, data in tree(world.folder).items() if not name.startswith(("uv-cache", "index_data"))}
    assert after == keep
