from __future__ import annotations

import json
from pathlib import Path

import pytest

from torchinstall.model.card import Card

MACHINES = Path(__file__).resolve().parent.parent / "machines"


@pytest.fixture(scope="session")
def cards():
    """The tests' own table of cards."""
    rows = json.loads((MACHINES / "cards.json").read_text())
    return {pci_id: Card(pci_id=pci_id, **row) for pci_id, row in rows.items()}.get
