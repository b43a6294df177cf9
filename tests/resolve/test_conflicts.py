"""Wishes that clash: the smallest set of them is named, with where each was written; nothing is dumped."""

from __future__ import annotations

import pytest

from hand import GTX_1080, RTX_4090, linux, want
from torchinstall.catalog.catalog import Catalog
from torchinstall.model.request import Request, Wish
from torchinstall.resolve.decision import Question, decide
from torchinstall.resolve.resolve import resolve
from torchinstall.resolve.wishes import parse_file

HERE = linux(RTX_4090, driver="580.95.05")
NAMES = ("torch", "torchvision", "torchaudio")


def bound(text: str, origin: str) -> Wish:
    (wish,) = parse_file(text, NAMES, origin=origin).wishes
    return wish


CLASHES = [
    # the request, constraints, what must be named, what must not
    (("torch==2.14.1", "torchvision==0.20.1"), (), ("torch==2.14.1", "torchvision==0.20.1"), ()),
    (("torch==2.14.1", "torchvision==0.20.1", "torchaudio"), (), ("torch==2.14.1", "torchvision==0.20.1"), ("torchaudio",)),
    (("torch>=2.13", "torch<2.10"), (), ("torch>=2.13", "torch<2.10"), ()),
    (("torch", "torchvision==0.20.1", "torchaudio==2.10.0"), (), ("torchvision==0.20.1", "torchaudio==2.10.0"), ()),
    (("torch==2.14.1",), ("torch<2.14",), ("torch==2.14.1", "torch<2.14", "limits.txt:1"), ()),
    (("torch==2.14.1", "torchvision"), ("torch<2.14", "torchvision<0.40"), ("torch==2.14.1", "torch<2.14"), ("torchvision",)),
]  # fmt: skip


@pytest.mark.parametrize(("texts", "limits", "named", "unnamed"), CLASHES, ids=[" ".join(r[0] + r[1]) for r in CLASHES])
def test_the_smallest_set_is_named(texts, limits, named, unnamed, catalog: Catalog) -> None:
    asked = want(*texts).replace(constraints=tuple(bound(text, "limits.txt") for text in limits))
    plan = resolve(HERE, asked, catalog)
    assert plan.outcome == "blocked"
    assert plan.exit_code == 3
    assert plan.blocked is not None
    assert plan.blocked.rule == "conflict", plan.blocked.text
    assert all(text in plan.blocked.text for text in named), plan.blocked.text
    assert not any(text in plan.blocked.text for text in unnamed), plan.blocked.text


@pytest.mark.parametrize(("texts", "limits", "named", "unnamed"), CLASHES, ids=[" ".join(r[0] + r[1]) for r in CLASHES])
def test_nothing_of_the_set_can_be_left_out(texts, limits, named, unnamed, catalog: Catalog) -> None:
    """Each of the named wishes dropped alone makes the rest possible."""
    asked = want(*texts).replace(constraints=tuple(bound(text, "limits.txt") for text in limits))
    plan = resolve(HERE, asked, catalog)
    assert plan.blocked is not None
    told = [w for w in (*asked.wishes, *asked.constraints) if w.text in plan.blocked.text and w.specifier]
    assert len(told) >= 2
    for wish in told:
        less = asked.replace(
            wishes=tuple(w for w in told if w is not wish and w in asked.wishes),
            constraints=tuple(w for w in told if w is not wish and w in asked.constraints),
        )
        question = Question(machine=HERE, request=less, catalog=catalog)
        assert decide(question).solution is not None, wish.text


def test_a_constraint_that_is_in_the_way_has_its_removal_among_the_ways(catalog: Catalog) -> None:
    asked = want("torch==2.14.1").replace(constraints=(bound("torch<2.14", "/etc/pip/limits.txt"),))
    plan = resolve(HERE, asked, catalog)
    ways = {way.reason.rule: way for way in plan.alternatives}
    assert ways["if-constraint"].torch == "2.14.1"
    assert "/etc/pip/limits.txt:1" in ways["if-constraint"].reason.text


@pytest.mark.parametrize("texts", [("torch>=2.15",), ("torch>=2.15", "torchvision")])
def test_a_wish_that_the_machine_cant_fulfil_is_no_conflict(texts: tuple[str, ...], catalog: Catalog) -> None:
    plan = resolve(linux(GTX_1080, driver="580.95.05"), want(*texts), catalog)
    assert plan.blocked is not None
    assert plan.blocked.rule == "no-kernel"


def test_a_blocked_machine_is_told_before_its_wishes(catalog: Catalog) -> None:
    plan = resolve(linux(RTX_4090, state="missing"), want("torch==2.14.1", "torchvision==0.20.1"), catalog)
    assert plan.blocked is not None
    assert plan.blocked.rule == "driver-missing"


def test_an_empty_request_has_no_conflict(catalog: Catalog) -> None:
    assert resolve(HERE, Request(), catalog).outcome == "install"
