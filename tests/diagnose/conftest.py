from __future__ import annotations

import pytest

from torchinstall.catalog.catalog import Catalog
from torchinstall.catalog.load import load_catalog
from torchinstall.diagnose.doctor import diagnose
from torchinstall.model.request import Request


@pytest.fixture(scope="session")
def catalog() -> Catalog:
    return load_catalog()


@pytest.fixture(scope="session")
def doctor(catalog):
    """Diagnose a machine with what is said to be installed on it, and a text."""

    def run(machine, text="", installed=None, request=None, **fields):
        told = machine.replace(installed=installed or {}, **fields)
        return diagnose(told, request or Request(), catalog, text=text)

    return run
