from __future__ import annotations

import pytest

from torchinstall.catalog.catalog import Catalog
from torchinstall.catalog.load import load_catalog


@pytest.fixture(scope="session")
def catalog() -> Catalog:
    return load_catalog()
