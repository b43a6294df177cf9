from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from world import World


@pytest.fixture
def world(tmp_path: Path):
    made = World(tmp_path)
    yield made
    made.close()


@pytest.fixture
def make_world(tmp_path: Path):
    made: list[World] = []

    def make(behaviour=None, **more) -> World:
        made.append(World(tmp_path, behaviour, **more))
        return made[-1]

    yield make
    for one in made:
        one.close()
