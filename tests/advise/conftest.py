from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from torchinstall.advise.span import active
from torchinstall.advise.table import Table
from torchinstall.app.advise import advise, scan_target
from torchinstall.app.base import App
from torchinstall.catalog.catalog import Catalog
from torchinstall.catalog.load import load_catalog
from torchinstall.model.advice import Advised, Asking
from torchinstall.model.machine import Machine
from torchinstall.model.machine_json import machine_to_json
from torchinstall.model.options import Options

Advise = Callable[..., Advised]


@pytest.fixture(scope="session")
def catalog() -> Catalog:
    return load_catalog()


@pytest.fixture
def ask(tmp_path: Path) -> Advise:
    """Advice for a machine written by hand, by the catalogue alone."""
    app = App(os.environ, tmp_path)

    def ask(machine: Machine, to: str = "latest", uses: tuple[str, ...] = (), **more: object) -> Advised:
        options = Options(offline=True, variant=more.pop("variant", None))
        return advise(app, options, Asking(to=to, uses=uses, **more), json.dumps(machine_to_json(machine)))

    return ask


@pytest.fixture(scope="session")
def table(catalog: Catalog) -> Callable[..., Table]:
    """The rules of a scan on the way to a torch."""

    made: dict[tuple[str, str | None, str | None], Table] = {}

    def table(to: str = "2.15.0", installed: str | None = None, python: str | None = None) -> Table:
        key = (to, installed, python)
        if key not in made:
            rules = active(catalog.advice.migrations, installed=installed, to=to, python=python)
            made[key] = Table(rules, scan_target(catalog, to))
        return made[key]

    return table
