"""Packages that require a torch (vllm, xformers): chosen together with it, or passed on with a word about it."""

from __future__ import annotations

import pytest
from packaging.requirements import Requirement

from hand import GTX_1080, RTX_4090, linux
from torchinstall.catalog.catalog import Catalog
from torchinstall.model.machine import Gpu, Machine
from torchinstall.model.plan import Plan
from torchinstall.model.request import Request
from torchinstall.resolve.resolve import resolve
from torchinstall.resolve.wishes import parse

NEW = linux(RTX_4090, driver="580.95.05")
OLD_DRIVER = linux(RTX_4090, driver="550.54.15")
PASCAL = linux(GTX_1080, driver="580.95.05")
RADEON = linux(Gpu(vendor="amd", gfx="gfx1100", name="RX 7900 XTX"))


def planned(machine: Machine, catalog: Catalog, *texts: str) -> Plan:
    parsed = parse(texts, catalog.joint, origin="the command line")
    return resolve(machine, Request(wishes=parsed.wishes, others=parsed.others), catalog)


def versions(plan: Plan) -> dict[str, str]:
    return {pin.name: pin.version for pin in plan.packages}


@pytest.mark.parametrize(
    ("machine", "texts", "expected"),
    [
        (NEW, ("vllm",), {"torch": "2.14.0", "vllm": "0.33.0", "torchvision": "0.29.0", "torchaudio": "2.11.0"}),
        (NEW, ("vllm==0.20.0",), {"torch": "2.11.0", "vllm": "0.20.0"}),
        # what is compiled for CUDA 13 has no use on a driver of CUDA 12
        (OLD_DRIVER, ("vllm",), {"torch": "2.10.0", "vllm": "0.19.1"}),
        (NEW, ("xformers",), {"torch": "2.15.0", "xformers": "0.0.35"}),
        (NEW, ("xformers", "torch==2.9.1"), {"torch": "2.9.1", "xformers": "0.0.33.post2"}),
        (PASCAL, ("xformers", "torch"), {"torch": "2.14.1+cu126", "xformers": "0.0.35"}),
        (linux(RTX_4090, driver="580.95.05", python="3.10.14"), ("vllm",), {"torch": "2.13.0", "vllm": "0.31.0"}),
    ],
)
def test_it_is_chosen_with_the_torch_that_it_accepts(machine, texts, expected, catalog: Catalog) -> None:
    plan = planned(machine, catalog, *texts)
    assert plan.outcome == "install", plan.blocked
    assert {name: versions(plan).get(name) for name in expected} == expected


def test_the_plan_meets_all_that_its_metadata_says(catalog: Catalog) -> None:
    for machine in (NEW, OLD_DRIVER, PASCAL):
        for name in sorted(catalog.dependents):
            plan = planned(machine, catalog, name)
            found = versions(plan)
            row = next(r for r in catalog._dependent_rows if (r.name, r.version) == (name, found[name]))
            for text in row.requires:
                requirement = Requirement(text)
                assert requirement.specifier.contains(found[requirement.name].partition("+")[0]), text


def test_it_comes_from_the_default_index_and_torch_from_its_own(catalog: Catalog) -> None:
    pins = {pin.name: pin.index for pin in planned(PASCAL, catalog, "xformers").packages}
    assert pins == {"torch": catalog.index_url("cu126"), "xformers": "default"}


def test_two_that_want_different_torches_are_a_conflict(catalog: Catalog) -> None:
    plan = planned(NEW, catalog, "vllm==0.33.0", "xformers==0.0.34")
    assert plan.blocked is not None
    assert plan.blocked.rule == "conflict"
    assert "vllm==0.33.0" in plan.blocked.text
    assert "xformers==0.0.34" in plan.blocked.text


@pytest.mark.parametrize(
    ("machine", "texts"),
    [(NEW, ("vllm==99.0",)), (RADEON, ("vllm",)), (linux(), ("vllm",)), (NEW, ("torch", "torchao"))],
)
def test_what_isnt_known_is_passed_on_and_said(machine: Machine, texts: tuple[str, ...], catalog: Catalog) -> None:
    plan = planned(machine, catalog, *texts)
    assert plan.outcome == "install"
    assert texts[-1] in plan.others
    assert [warning.rule for warning in plan.warnings] == ["dependent-unknown"]


def test_other_packages_are_passed_on_without_a_word(catalog: Catalog) -> None:
    plan = planned(NEW, catalog, "torch", "requests>=2")
    assert plan.others == ("requests>=2",)
    assert plan.warnings == ()
