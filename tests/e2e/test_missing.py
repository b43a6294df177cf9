"""What torch requires and somebody removed: an install and ``doctor --fix`` add it, and torch stays."""

from __future__ import annotations

import dataclasses
import json
import shutil
from typing import TYPE_CHECKING

from replica import Behaviour, Card, StubWheel

if TYPE_CHECKING:
    from world import World

MACHINE = "rtx4090-580-open"
WORKS = Behaviour("works-cuda", cards=(Card("NVIDIA GeForce RTX 4090", (8, 9)),))


def requiring(world: World, *requires: str) -> None:
    """Let every torch of the default index require something, and serve it."""
    for wheel in world.replica._default.pop("torch"):
        world.replica.add_default(dataclasses.replace(wheel, requires=requires))
    world.replica.add_default(StubWheel(name="sympy", version="1.14.0", python="py3", platform="any"))


def without(world: World, name: str) -> None:
    site = next(world.venv.glob("lib/python*/site-packages"))
    shutil.rmtree(site / name, ignore_errors=True)
    for info in site.glob(f"{name}-*.dist-info"):
        shutil.rmtree(info)


def torch_file(world: World) -> tuple[int, int]:
    """What changes as soon as torch is put in anew."""
    found = next(world.venv.glob("lib/python*/site-packages/torch/__init__.py")).stat()
    return found.st_ino, found.st_mtime_ns


def test_an_install_adds_what_is_missing_and_leaves_torch(make_world) -> None:
    world: World = make_world(WORKS)
    requiring(world, "sympy>=1.13.3", "never-there; sys_platform == 'plan9'", "optional; extra == 'all'")
    assert world.install(MACHINE, "torch").returncode == 0
    before = torch_file(world)
    without(world, "sympy")
    dry = world.install(MACHINE, "torch", "--dry-run")
    assert "sympy" in dry.stdout + dry.stderr
    assert "sympy" not in world.versions()
    done = world.install(MACHINE, "torch")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "requires sympy>=1.13.3, which isn't installed" in done.stdout + done.stderr
    assert "never-there" not in done.stdout + done.stderr
    assert world.versions()["sympy"] == "1.14.0"
    assert torch_file(world) == before
    again = world.install(MACHINE, "torch")
    assert again.returncode == 0
    assert "sympy" not in again.stdout + again.stderr


def test_what_shares_the_packages_of_another_python_lacks_nothing(make_world) -> None:
    world: World = make_world(WORKS)
    requiring(world, "sympy>=1.13.3")
    assert world.install(MACHINE, "torch").returncode == 0
    without(world, "sympy")
    settings = world.venv / "pyvenv.cfg"
    settings.write_text(
        settings.read_text("utf-8").replace(
            "include-system-site-packages = false", "include-system-site-packages = true"
        ),
        "utf-8",
    )
    done = world.install(MACHINE, "torch")
    assert "sympy" not in done.stdout + done.stderr
    assert "sympy" not in world.versions()


def test_the_doctor_names_it_and_its_fix_adds_it(make_world) -> None:
    world: World = make_world(WORKS)
    requiring(world, "sympy>=1.13.3")
    assert world.install(MACHINE, "torch").returncode == 0
    before = torch_file(world)
    without(world, "sympy")
    found = world.install(MACHINE, "--json", command="doctor")
    document = json.loads(found.stdout)
    assert found.returncode == 3
    (finding,) = [finding for finding in document["findings"] if finding["severity"] != "note"]
    assert (finding["id"], finding["severity"]) == ("dependency-missing", "warning")
    assert "torch 2.15.0 requires sympy>=1.13.3; nothing is installed" in finding["cause"]
    done = world.install(MACHINE, "--fix", "--yes", command="doctor")
    assert done.returncode == 0, done.stdout + done.stderr
    assert world.versions()["sympy"] == "1.14.0"
    assert torch_file(world) == before


def test_what_cannot_be_had_leaves_all_as_it_was(make_world) -> None:
    world: World = make_world(WORKS)
    requiring(world, "sympy>=1.13.3")
    assert world.install(MACHINE, "torch").returncode == 0
    without(world, "sympy")
    del world.replica._default["sympy"]
    shutil.rmtree(world.folder / "uv-cache")
    before = torch_file(world)
    done = world.install(MACHINE, "torch")
    assert done.returncode == 5, done.stdout + done.stderr
    assert "sympy" in done.stderr
    assert torch_file(world) == before
