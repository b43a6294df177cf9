"""Packages beside the torch family: in the same transaction, with what they draw in and what they allow."""

from __future__ import annotations

import pytest
from world import World, tree

from replica import Behaviour, Card, StubWheel

PASCAL = Behaviour("works-cuda", cards=(Card("NVIDIA GeForce GTX 1080 Ti", (6, 1)),))
MACHINE = "gtx1080ti-580-closed"


@pytest.fixture
def world(make_world) -> World:
    made: World = make_world(PASCAL)
    for name, requires in (
        ("accel", ("torch>=2.0", "torchvision")),
        ("onlyone", ("torch==2.12.0",)),
        ("impossible", ("torch>=2.15",)),
        ("besides", ()),
    ):
        made.replica.add_default(StubWheel(name=name, version="1.0", python="py3", platform="any", requires=requires))
    return made


def test_a_companion_that_is_drawn_in_is_of_the_same_variant(world: World) -> None:
    done = world.install(MACHINE, "torch", "accel")
    assert done.returncode == 0, done.stdout + done.stderr
    found = world.versions()
    assert (found["torch"], found["torchvision"]) == ("2.14.1+cu126", "0.29.1+cu126")
    assert found["accel"] == "1.0"


def test_the_needs_of_another_package_choose_the_torch(world: World) -> None:
    done = world.install(MACHINE, "torch", "onlyone")
    assert done.returncode == 0, done.stdout + done.stderr
    assert world.versions()["torch"] == "2.12.0+cu126"


def test_a_package_that_no_fitting_torch_satisfies_is_a_conflict(world: World) -> None:
    done = world.install(MACHINE, "torch", "impossible")
    assert done.returncode == 3, done.stdout + done.stderr
    assert "impossible" in done.stderr
    assert not world.venv.exists()


def test_a_package_beside_a_kept_torch(world: World) -> None:
    assert world.install(MACHINE, "torch==2.13.*").returncode == 0
    done = world.install(MACHINE, "besides")
    assert done.returncode == 0, done.stdout + done.stderr
    found = world.versions()
    assert (found["torch"], found["besides"]) == ("2.13.0+cu126", "1.0")
    again = world.install(MACHINE, "torch", "besides")
    assert again.returncode == 0, again.stdout + again.stderr
    drawn = world.install(MACHINE, "accel")
    assert drawn.returncode == 0, drawn.stdout + drawn.stderr
    found = world.versions()
    assert (found["torch"], found["torchvision"]) == ("2.13.0+cu126", "0.28.0+cu126")


def test_a_misspelt_package_is_told_by_its_name_before_anything_changes(world: World) -> None:
    assert world.install(MACHINE, "torch").returncode == 0
    before = tree(world.venv)
    done = world.install(MACHINE, "transfomers-x")
    assert done.returncode == 5, done.stdout + done.stderr
    assert "transfomers-x" in done.stderr
    assert tree(world.venv) == before


def test_a_dry_run_for_a_new_environment_is_complete(world: World) -> None:
    done = world.install(MACHINE, "torch", "accel", "--dry-run")
    assert done.returncode == 0, done.stdout + done.stderr
    for line in ("+ torch 2.14.1+cu126", "+ torchvision 0.29.1+cu126", "+ accel 1.0"):
        assert line in done.stdout
    assert not world.venv.exists()
