"""The memo of a batch is bounded, and never changes an answer."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from torchinstall.catalog.load import load_catalog
from torchinstall.model.request import Request
from torchinstall.resolve import asked

if TYPE_CHECKING:
    import pytest

CATALOG = load_catalog()


def lines(count: int) -> list[str]:
    capabilities = ("6.1", "8.9", "12.0")
    return [
        json.dumps(
            {
                "id": number,
                "machine": {
                    "os": {"name": "linux", "glibc": "2.35"},
                    "arch": "x86_64",
                    "gpus": [{"vendor": "nvidia", "name": "a card", "compute_capability": capabilities[number % 3]}],
                    "drivers": {"nvidia": {"version": "580.95.05", "state": "ok"}},
                },
            }
        )
        for number in range(count)
    ]


def answers(monkeypatch: pytest.MonkeyPatch, limit: int) -> tuple[list[object], int]:
    """Return all answers, and how often the decision was made."""
    made = 0
    plain = asked.resolve

    def counted(*words: object, **options: object) -> object:
        nonlocal made
        made += 1
        return plain(*words, **options)  # type: ignore[arg-type]

    with monkeypatch.context() as patch:
        patch.setattr(asked, "resolve", counted)
        patch.setattr(asked, "_MEMO_BYTES", limit)
        found = list(asked.plans(lines(12), Request(offline=True), CATALOG, lambda machine: machine))
    return found, made


def test_equal_questions_are_answered_once_while_there_is_room(monkeypatch: pytest.MonkeyPatch) -> None:
    roomy, made = answers(monkeypatch, 64 * 2**20)
    assert made == 3
    narrow, again = answers(monkeypatch, 0)
    assert again == 12
    assert narrow == roomy
    assert [identity for identity, _ in roomy] == list(range(12))
