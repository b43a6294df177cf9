"""What a ROCm or XPU build requires of its own index is bound to it, so that no other index can serve it."""

from __future__ import annotations

from pathlib import Path

import pytest

from hand import linux, want
from replica import Replica, StubWheel
from torchinstall.app.base import App, Planned
from torchinstall.app.bound import bound_dependencies
from torchinstall.index.http import Client
from torchinstall.index.simple import read_simple
from torchinstall.install.settings import Settings
from torchinstall.model.plan import CatalogInfo, Pin, Plan

VERSION = "2.14.0+rocm10.1.0"


@pytest.fixture
def replica():
    requires = (
        "filelock",
        'triton-rocm~=3.8.0; platform_system == "Linux"',
        "rocm[libraries]==10.1.*",
        'amd-torch-device-gfx1100==10.1.0; extra == "device-gfx1100"',
        'amd-torch-device-gfx1201==10.1.0; extra == "device-gfx1201"',
    )
    with Replica() as running:
        running.add_wheel("amd", StubWheel("torch", VERSION, "py3", "any", requires=requires))
        for name, version in [("triton-rocm", "3.8.1"), ("rocm", "10.1.2"), ("filelock", "3.0"),
                              ("amd-torch-device-gfx1100", "10.1.0"), ("amd-torch-device-gfx1201", "10.1.0")]:  # fmt: skip
            running.add_wheel("amd", StubWheel(name, version, "py3", "any"))
        yield running


def planned(replica: Replica, variant: str, extras: tuple[str, ...] = ()) -> Planned:
    url = replica.url("amd")
    (wheel,) = read_simple(url, "torch", session=Client()).wheels
    pin = Pin(name="torch", version=VERSION, index=url, url=wheel.url, extras=extras)
    plan = Plan(outcome="install", torch="2.14.0", variant=variant, packages=(pin,), catalog=CatalogInfo(date="x"))
    return Planned(machine=linux(), request=want("torch"), plan=plan, settings=Settings())


def test_pins_and_the_device_code_of_the_chosen_card_are_bound(replica: Replica, tmp_path: Path) -> None:
    url = replica.url("amd")
    found = bound_dependencies(App({}, tmp_path), planned(replica, "rocm10.1.0", ("device-gfx1100",)))
    assert found == {"triton-rocm": url, "rocm": url, "amd-torch-device-gfx1100": url}


def test_without_the_extra_no_device_code(replica: Replica, tmp_path: Path) -> None:
    found = bound_dependencies(App({}, tmp_path), planned(replica, "rocm10.1.0"))
    assert set(found) == {"triton-rocm", "rocm"}


def test_what_is_on_the_default_index_stays_there(replica: Replica, tmp_path: Path) -> None:
    assert bound_dependencies(App({}, tmp_path), planned(replica, "cu126")) == {}


def test_nothing_is_asked_of_an_index_that_wasnt_looked_at(replica: Replica, tmp_path: Path) -> None:
    unseen = planned(replica, "rocm7.2")
    pin = unseen.plan.packages[0].replace(url=None)
    assert bound_dependencies(App({}, tmp_path), unseen.replace(plan=unseen.plan.replace(packages=(pin,)))) == {}
