from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parents[1] / "e2e")]

from place import Place  # noqa: E402 - found by the line above


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory):
    made = Place(tmp_path_factory.mktemp("export"))
    yield made
    made.world.close()
